#!/bin/sh
# CUDA's own checkers watch the kernels: memory, races, memory that nobody wrote, and barriers. Volumes are so large that
# grids have several tiles. It takes some minutes of a GPU, so that it runs only where VOXFILT_SANITIZERS is set.
set -u

[ -n "${VOXFILT_SANITIZERS:-}" ] || { echo 'VOXFILT_SANITIZERS is not set'; exit 77; }

# shellcheck source=tests/casebook.sh
. "$(dirname "$0")/casebook.sh"
found=99

refuse() # WHY
{
    echo "$1"
    [ -n "${REQUIRE_GPU:-}" ] && exit 1
    exit 77
}

command -v compute-sanitizer > ../stdout || refuse 'compute-sanitizer is not installed'
"${VOXFILT:?}" -D cuda --bench=json -n 8 --rung naive > ../rows 2> ../stderr || refuse "$(cat ../stderr)"

"${MAKE_VOLUME:?}" -n 160 -t f32 -o f32.raw &&
    "$MAKE_VOLUME" -n 160 -t u16 -o u16.raw &&
    "${MAKE_PICTURE:?}" -d 1000,700 --gray -o gray.png &&
    "$MAKE_PICTURE" -d 1000,700 --rgb -o rgb.png &&
    "$MAKE_PICTURE" -d 1000,700 --rgba -o rgba.png || exit 1

# One checker over a command, which ends well, be it that --until is not reached.
watch() # TOOL COMMAND...
{
    tool=$1
    more=
    shift
    # Otherwise it loses count of the barriers of many blocks, and finds faults that are none.
    [ "$tool" = synccheck ] && more="--num-cuda-barriers 32768"
    # shellcheck disable=SC2086  # words
    timeout 500 compute-sanitizer --tool "$tool" $more --error-exitcode $found "$@" > "../$tool.log" 2>&1
    status=$?
    { [ $status = 0 ] || [ $status = 7 ]; } && grep -q 'SUMMARY: 0 ' "../$tool.log"
}

# All checkers at once over a command.
job() # COMMAND...
{
    failed=
    for tool in memcheck racecheck initcheck synccheck; do
        { watch $tool "$@" || : > "../$tool.failed"; } &
    done
    wait
    for tool in memcheck racecheck initcheck synccheck; do
        if [ -e "../$tool.failed" ]; then
            failed="$failed $tool"
            tail -n 30 "../$tool.log"
            rm "../$tool.failed"
        fi
    done
    shift
    [ -z "$failed" ]
    result $? "$*${failed:+ (found by$failed)}"
}

volume() # OPTION...
{
    job "$VOXFILT" -D cuda -q -i f32.raw -n 160 -t f32 -o /dev/null "$@"
}

picture() # FILE OPTION...
{
    file=$1
    shift
    job "${IMGHEAT:?}" -D cuda -q -i "$file" -o /dev/null "$@"
}

# Of 96 samples a side, which are several tiles of what takes one step a pass.
block() # OPTION...
{
    job "$VOXFILT" -D cuda -q -i block.raw -n 96 -t f32 -o /dev/null "$@"
}

# A dense window of unlike weights, of so many samples along each axis.
window() # NX NY NZ
{
    awk -v nx="$1" -v ny="$2" -v nz="$3" 'BEGIN {
        for (i = 0; i < nx * ny * nz; i++)
            print i % nx - int(nx / 2), int(i / nx) % ny - int(ny / 2), int(i / (nx * ny)) - int(nz / 2), 1 / (i + nx * ny * nz)
    }'
}

for edge in reflect nearest hold mirror wrap constant; do
    volume -s 10 -e $edge
    volume -s 10 -e $edge --work f64
done
volume -s 1
volume -s 3
volume --flux pm1 --scale 20 -s 3
volume -f gauss:1.5 -f scale:2,1 --out-type u8
volume -f abs -f power:0.4 -f gauss:1 -f ln -f gauss:1 -f threshold:0 -f exp
for edge in reflect hold constant:3; do
    volume -f gauss:1 -e $edge --rung passes
    volume -f gauss:1.5 -e $edge --rung passes --work f64
    volume -f gauss:40 -e $edge --work f64
    volume -f unsharp:1.5,1 -e $edge --rung passes
    volume -f unsharp:3,1 -e $edge
done
for edge in reflect hold wrap; do
    block -f log:1.5 -e $edge
    block -f gradmag:2 -e $edge --work f64
    block -f bilateral:1,20 -e $edge
    block -f bilateral:2,20 -e $edge --work f64
done
volume --alpha 10 --dt 1 --force -s 50
volume --until 1e-3 --check-every 4 -s 12
volume -f twentyseven:0.1,0.05,0.02,0.01 -s 3
volume -f star:4
volume -f star:4 -s 4
volume -f star:4 -s 4 --work f64
volume -s 8 -e mirror
volume -s 8 -e constant:3 --work f64
for options in '-e mirror -s 8' '-e constant:3 -s 8' '-f twentyseven:0.1,0.05,0.02,0.01 -s 4 -e mirror --work f64'; do
    # shellcheck disable=SC2086  # words
    job "$VOXFILT" -D cuda -q -i f32.raw -d 125,256,128 -t f32 -o /dev/null $options
done
head -c $((4 * 64 * 64 * 64)) f32.raw > small.raw
for options in '-s 20' '-s 20 -e hold' '-s 20 -e constant:3 --work f64'; do
    # shellcheck disable=SC2086  # words
    job "$VOXFILT" -D cuda -q -i small.raw -n 64 -t f32 -o /dev/null $options
done
head -c $((4 * 96 * 96 * 96)) f32.raw > block.raw
window 5 5 5 > cube.taps
window 5 5 1 > plane.taps
for edge in reflect hold wrap; do
    block -f gradient -e $edge
    block -f star:8 -e $edge
    block -f taps:cube.taps -e $edge
    block --flux pm2 --scale 20 -s 3 -e $edge
done
block -f star:6 --work f64
block -f sobel:x
block -f taps:plane.taps
block --flux pm1 --scale 20 -s 2 --work f64
block --flux tanh --scale 20 -s 2
block --flux pm2 --scale 20 -s 2 --inner 3 --reaction 0.1
volume -f laplace --out-range auto --out-type u8
job "$VOXFILT" -D cuda -q -i u16.raw -n 160 -t u16 -f sobel:x --out-type u8 -o /dev/null

for edge in reflect hold constant wrap; do
    picture gray.png -s 24 -e $edge
done
picture gray.png -s 24 --work f64
picture gray.png -f 'matrix:1 2 1; 2 4 2; 1 2 1/16' -s 14
picture gray.png -f 'matrix:1 2 1; 2 4 2; 1 2 1/16' -s 14 -e mirror --work f64
picture rgb.png --flux pm2 --scale 20 -s 5
picture rgb.png --flux pm2 --scale 20 -s 5 --flux-channels separate
picture rgb.png --flux pm1 --scale 20 -s 3 --flux-channels separate
picture gray.png --flux tanh --scale 20 -s 2
picture rgba.png -f sobel:x
picture rgba.png -f bilateral:1,20
picture rgb.png --linear -s 4
picture gray.png -f gauss:2
picture rgb.png -f unsharp:3,1
for side in 5 9 13 23; do
    window $side $side 1 > square.taps
    picture gray.png -f taps:square.taps
done

conclude
