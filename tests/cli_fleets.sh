#!/bin/sh
# One volume, or one picture, on several GPUs, which are emulated: the samples of the CPU. Prints a line a case and fails if
# one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

needs_emulated_gpus

# voxfilt on all of so many GPUs, whose streams are eager or lazy, and which reach each other or do not, by turns.
turn=0
fleet() # COUNT ARGUMENT...
{
    gpus=$1 list=0 k=1
    shift
    while [ $k -lt "$gpus" ]; do
        list=$list,$k
        k=$((k + 1))
    done
    turn=$((turn + 1))
    streams=eager links=all
    [ $((turn % 2)) = 1 ] && streams=lazy
    [ $((turn / 2 % 2)) = 1 ] && links=none
    CUDA_EMULATION_DEVICES=$gpus CUDA_EMULATION_STREAMS=$streams CUDA_EMULATION_LINKS=$links \
        "$emulated" --program=voxfilt -D cuda:$list "$@"
}

# A job on each fleet, against the CPU. Lines "shares" tell that it was one, unless there are too few planes.
on_fleets() # NAME COUNTS ARGUMENT...
{
    name=$1 counts=$2
    shift 2
    has_turn || return 0
    voxfilt -q -D cpu "$@" -o expected.raw
    for count in $counts; do
        fleet "$count" -q "$@" -o fleet.raw 2> ../stderr && cmp expected.raw fleet.raw
        result $? "$name: $count GPUs"
    done
}

make_volume -d 13,9,47 -t u16 -o tall.raw
make_volume -d 40,211,1 -t f32 -o flat.raw

# ---------------------------------------------------------------- edges, filters, extents

for edge in reflect mirror nearest wrap constant:7 hold; do
    on_fleets "heat, -e $edge" '2 3 5' -i tall.raw -d 13,9,47 -t u16 -f heat -s 9 -e $edge
    on_fleets "a picture's rows, -e $edge" '2 5' -i flat.raw -d 40,211 -t f32 -f heat -s 17 -e $edge
    on_fleets "a wide star, -e $edge" '3' -i tall.raw -d 13,9,47 -t u16 -f star:8 -f scale:0.01,5 -s 3 -e $edge
    on_fleets "a chain, -e $edge" '1 3' -i tall.raw -d 13,9,47 -t u16 \
        -f gauss:1 -e $edge -f unsharp:1,0.5 -e $edge -f heat -s 4 -e $edge -f gradient -e $edge
    on_fleets "a bilateral mean, -e $edge" '2 3' -i tall.raw -d 13,9,47 -t u16 -f bilateral:1,9000 -s 3 -e $edge
    on_fleets "chains of passes, -e $edge" '2 3' -i tall.raw -d 13,9,47 -t u16 \
        -f log:0.7 -e $edge -f dog:0.4,1 -s 2 -e $edge -f gradmag:0.6 -e $edge --out-type f32
    on_fleets "ranks, -e $edge" '2 3' -i tall.raw -d 13,9,47 -t u16 \
        -f median:1 -s 2 -e $edge -f max:4 -e $edge -f percentile:2,20,ball -e $edge
done
for planes in 1 2 3 4 5 7 16 17; do
    for edge in reflect wrap hold; do
        on_fleets "$planes planes, -e $edge" '2 5' -i tall.raw -d 13,9,$planes -t u16 --skip $((2 * 13 * 9 * (47 - planes))) \
            -f heat -s 11 -e $edge -f gauss:0.7 -e $edge
    done
done
for planes in 1 2 3 5 17 47; do
    for edge in reflect mirror constant:3 hold; do
        on_fleets "$planes planes, -e wrap between $edge" '2 5' -i tall.raw -d 13,9,$planes -t u16 \
            --skip $((2 * 13 * 9 * (47 - planes))) -f gauss:0.7 -e $edge -f heat -s 7 -e wrap -f scale:1.5,3 -f heat -s 5 -e $edge
    done
done
on_fleets '-e wrap before hold, --until' '2 3' -i tall.raw -d 13,9,47 -t u16 -f star:8 -f scale:0.01,5 -e wrap \
    -f heat -e hold --until 90 -s 60 --check-every 3
on_fleets 'rows, -e mirror before wrap' '2 5' -i flat.raw -d 40,211 -t f32 -f unsharp:2,1 -e mirror -f heat -s 17 -e wrap \
    -f gradient -e nearest
on_fleets 'fluxes' '3' -i tall.raw -d 13,9,47 -t u16 -f heat -s 5 --flux pm2 --scale 900 --inner 2
on_fleets 'f64' '3' -i tall.raw -d 13,9,47 -t u16 --work f64 -f heat -s 7 -e wrap
on_fleets 'channels' '3' -i tall.raw -d 13,3,47 --channels 3 -t u16 -f heat -s 5
on_fleets 'sobel' '5' -i tall.raw -d 13,9,47 -t u16 -f sobel:z
on_fleets 'passes along one axis' '2 5' -i tall.raw -d 13,9,47 -t u16 -f box:3 -s 3 -f gauss:2

# ---------------------------------------------------------------- what is looked at, and what is written

on_fleets '--until' '3' -i tall.raw -d 13,9,47 -t u16 -f heat --until 90 -s 60 --check-every 3
on_fleets '--out-range=auto' '3' -i tall.raw -d 13,9,47 -t u16 -f laplace --out-range=auto
on_fleets '--crop' '3' -i tall.raw -d 13,9,47 -t u16 -f heat --crop 2:9,1:5,13:38
on_fleets '--planes' '5' -i tall.raw -d 13,9,47 -t u16 -f heat -e wrap --planes 20:22
voxfilt -q -D cpu --stats --report=json:expected.json -i tall.raw -d 13,9,47 -t u16 -o expected.raw
fleet 3 -q --stats --report=json:fleet.json -i tall.raw -d 13,9,47 -t u16 -o fleet.raw
for end in input output; do
    sed -n "s/.*\"$end\": \[\({\"min[^]]*\)\].*/\1/p" expected.json > expected
    sed -n "s/.*\"$end\": \[\({\"min[^]]*\)\].*/\1/p" fleet.json > found
    cmp expected found
    result $? "--stats of the $end"
done
tees() # EDGE OPTION...
{
    edge=$1
    shift
    voxfilt -q -D cpu -i tall.raw -d 13,9,47 -t u16 -f gauss:1 -e "$edge" -f heat -s 9 -e "$edge" "$@" \
        --tee 0:wanted.0 --tee 4:wanted.4 --tee 9:wanted.9 -o expected.raw
    fleet 3 -q -i tall.raw -d 13,9,47 -t u16 -f gauss:1 -e "$edge" -f heat -s 9 -e "$edge" "$@" \
        --tee 0:tee.0 --tee 4:tee.4 --tee 9:tee.9 -o fleet.raw
    same "--tee, -e $edge $*: the output" fleet.raw expected.raw
    for step in 0 4 9; do
        same "--tee $step, -e $edge $*" tee.$step wanted.$step
    done
}
tees hold
tees wrap
voxfilt -q -D cpu -i tall.raw -d 13,9,47 -t u16 -f gauss:1 -e wrap -f heat -s 9 -e hold --tee 0:wanted.0 --tee 4:wanted.4 \
    -o expected.raw
fleet 3 -q -i tall.raw -d 13,9,47 -t u16 -f gauss:1 -e wrap -f heat -s 9 -e hold --tee 0:tee.0 --tee 4:tee.4 -o fleet.raw
same '--tee, -e wrap before hold: the output' fleet.raw expected.raw
for step in 0 4; do
    same "--tee $step, -e wrap before hold" tee.$step wanted.$step
done
tees reflect --planes 7:40
voxfilt -q -D cpu -i tall.raw -d 13,9,47 -t u16 -f heat -s 3 --tee 0:wanted.0 -o expected.raw
fleet 3 -q -i tall.raw -d 13,9,47 -t u16 -f heat -s 3 --tee 0:tee.0 -o fleet.raw
same '--tee of the input' tee.0 wanted.0
voxfilt -q -D cpu -i tall.raw -d 13,9,47 -t u16 -f heat -s 20 -o expected.raw
fleet 3 -q -d 13,9,47 -t u16 -f heat -s 20 < tall.raw > fleet.raw
same 'from a pipe into a pipe' fleet.raw expected.raw
head -c 9000 tall.raw > short.raw
refuses 3 'voxfilt: standard input: length: it ends before the last of 5499 u16 samples' \
    piped short.raw fleet 3 -q -d 13,9,47 -t u16 -o out
cat tall.raw v8.raw > long.raw
refuses 3 'voxfilt: standard input: length: it goes on after the last of 5499 u16 samples' \
    piped long.raw fleet 3 -q -d 13,9,47 -t u16 -o out


# ---------------------------------------------------------------- files

for format in nrrd npy raw.gz; do
    voxfilt -q -D cpu -i tall.raw -d 13,9,47 -t u16 -f heat -s 7 -o wanted.$format
    fleet 3 -q -i tall.raw -d 13,9,47 -t u16 -f heat -s 7 -o fleet.$format
    same "into .$format" fleet.$format wanted.$format
done
voxfilt -q -D cpu -i wanted.nrrd -f heat -s 3 -e wrap -o expected.raw
fleet 3 -q -i wanted.nrrd -f heat -s 3 -e wrap -o fleet.raw
same 'from .nrrd' fleet.raw expected.raw
{
    printf 'NRRD0004\ntype: ushort\nendian: little\ndimension: 4\nsizes: 13 9 15 3\n'
    printf 'kinds: domain domain domain time\nencoding: raw\n\n'
    head -c $((2 * 13 * 9 * 15 * 3)) tall.raw
} > series.nrrd
voxfilt -q -D cpu -i series.nrrd -f heat -s 5 -e wrap -o wanted.nrrd
fleet 3 -q -i series.nrrd -f heat -s 5 -e wrap -o fleet.nrrd
same 'a series of volumes' fleet.nrrd wanted.nrrd

{
    printf 'NRRD0004\ntype: uchar\ndimension: 4\nsizes: 4 13 9 22\nkinds: RGBA-color domain domain domain\nencoding: raw\n\n'
    head -c $((4 * 13 * 9 * 22)) tall.raw
} > rgba.nrrd
for options in '-f heat -s 12' '-f gauss:1 -f gradient -f box:1 -s 2 --out-type f32' '--alpha-mode separate -f unsharp:1,2'; do
    # shellcheck disable=SC2086  # words
    {
        voxfilt -q -D cpu -i rgba.nrrd $options -o wanted.nrrd
        fleet 1 -q -i rgba.nrrd $options -o fleet.nrrd
        same "with alpha: $options" fleet.nrrd wanted.nrrd
        fleet 3 -q -i rgba.nrrd $options -o fleet.nrrd
        same "with alpha: $options, by three" fleet.nrrd wanted.nrrd
    }
done

# ---------------------------------------------------------------- pictures

for picture in rgba rgb; do
    imgheat -q -D cpu -f gauss:3 -f sharpen -o expected.png $picture.png
    CUDA_EMULATION_DEVICES=3 "$emulated" -q -D cuda:0,1,2 -f gauss:3 -f sharpen -o fleet.png $picture.png
    same "$picture: a picture's strips on three GPUs" fleet.png expected.png
done

imgheat -q -D cpu -s 6 --every 2 --frames 'wanted-%d.png' -o expected.png rgba.png
CUDA_EMULATION_DEVICES=2 "$emulated" -q -D cuda:0,1 -s 6 --every 2 --frames 'frame-%d.png' -o fleet.png rgba.png
for frame in 0 1 2 3; do
    same "--frames: frame $frame" frame-$frame.png wanted-$frame.png
done

# ---------------------------------------------------------------- what is said

CUDA_EMULATION_DEVICES=3 "$emulated" --program=voxfilt -D cuda:0,2 --explain -i tall.raw -d 13,9,47 -t u16 -f heat -s 9 |
    grep -q '^shares  *2, of up to 24 planes and [1-9][0-9]* beside them on each side, handed over directly$'
result $? '--explain tells of the shares'
CUDA_EMULATION_DEVICES=3 "$emulated" --program=voxfilt -D cuda:0,2 --explain=json -i tall.raw -d 13,9,47 -t u16 -f heat -s 9 |
    awk -v RS='[,{}]' '/"planned_bytes"/ { planned = $NF } /"(fields|buffers|kernels|sums|input|other)": [0-9]/ { sum += $NF }
        END { exit planned == 0 || planned != sum }'
result $? 'and its parts of the memory are those of all devices'
CUDA_EMULATION_LINKS=none CUDA_EMULATION_DEVICES=2 "$emulated" --program=voxfilt -D cuda:0,1 --report -i tall.raw \
    -d 13,9,47 -t u16 -f heat -s 9 -o fleet.raw 2> ../stderr
grep -q "^shares .* through the host's memory\$" ../stderr &&
    [ "$(grep -c '^  *cuda:[01]: computed [0-9.]* s, was handed [1-9][0-9.]* KiB in [0-9.]* s$' ../stderr)" = 2 ]
result $? '--report has a line for each GPU'
CUDA_EMULATION_DEVICES=3 "$emulated" --program=voxfilt -D cuda:0,1,2 -q --report=json:report.json -i tall.raw \
    -d 13,9,47 -t u16 -f heat -s 9 -o fleet.raw
[ "$(grep -o '{"device": "cuda:[012]", "compute": [^,]*, "handed_bytes": [1-9][0-9]*, "handed_seconds": [0-9.e-]*}' report.json |
    wc -l)" = 3 ]
result $? 'and --report=json a member'
alone()
{
    note=$1
    shift
    accepts "$note" "voxfilt: tall.raw: computing on cuda:0 alone: $note
" env CUDA_EMULATION_DEVICES=2 "$emulated" --program=voxfilt -D cuda:0,1 -i tall.raw -d 13,9,47 -t u16 "$@" -o fleet.raw
}
alone 'identity alone is copied: nothing is computed' -f identity
alone 'the grid is too large for the memory of 2 together' -f heat -s 4 -m 20K
full() # COMMAND...: no file grows beyond 4 KiB
{
    sh -c 'ulimit -f 8; trap "" XFSZ; exec "$@"' sh "$@"
}
refuses 4 'voxfilt: fleet.raw: File too large' \
    full env CUDA_EMULATION_DEVICES=2 "$emulated" --program=voxfilt -D cuda:0,1 -i tall.raw -d 13,9,47 -t u16 -o fleet.raw
voxfilt -q -D cpu -i tall.raw -d 13,9,47 -t u16 -f heat -s 20 -o expected.raw
accepts 'a GPU whose memory another process has' \
    'voxfilt: tall.raw: computing on cuda:0 alone: the grid is too large for the memory of 3 together
' env CUDA_EMULATION_FILLED=268434000 CUDA_EMULATION_DEVICES=3 "$emulated" --program=voxfilt -D cuda:0,1,2 -i tall.raw \
    -d 13,9,47 -t u16 -f heat -s 20 -o fleet.raw
same 'its samples' fleet.raw expected.raw
refuses 6 'voxfilt: the device: this job needs 5.3 KiB there, and 1.4 KiB are free' \
    env CUDA_EMULATION_FILLED=268434000 CUDA_EMULATION_DEVICES=3 "$emulated" --program=voxfilt -D cuda:2,1 -i tall.raw \
    -d 13,9,47 -t u16 -f heat -s 20 -o out
refuses 2 'voxfilt: --device: cuda:0,1: --part takes one device' \
    env CUDA_EMULATION_DEVICES=2 "$emulated" --program=voxfilt -D cuda:0,1 -i tall.raw -d 13,9,47 -t u16 --part 1/2 -o out
CUDA_EMULATION_DEVICES=3 "$emulated" --program=voxfilt -D cuda:all --explain -i tall.raw -d 13,9,47 -t u16 |
    grep -q '^device  *cuda:0: .* (.* predicted for 1 of 3)$'
result $? 'cuda:all takes no more than help'

# ---------------------------------------------------------------- the bench, and wisdom

bench() # ARGUMENT...: of three GPUs
{
    XDG_CACHE_HOME=$PWD/cache CUDA_EMULATION_DEVICES=3 "$emulated" --program=voxfilt -D cuda:2,0,1 "$@"
}
for edge in wrap hold; do
    bench --bench -d 6,5,40 -f heat -e $edge --rung naive > table
    [ "$(grep -c '^on [23] devices: [0-9.]* ms a step, [0-9.]* GCells/s, [0-9.]* % of [23] times the speed of one; bytes equal$' table)" = 2 ] &&
        [ "$(grep -c '^  cuda:[012]: computed [0-9.]* ms a step, was handed [1-9][0-9]* B in [0-9.]* ms$' table)" = 5 ]
    result $? "--bench, -e $edge: a line for each GPU"
done
bench --bench -d 6,5,3 -f heat --rung naive | grep -qx 'on 3 devices: a share has fewer planes than a pass reads beside it'
result $? '--bench of shares that are too small'
bench --bench=json -d 6,5,40 -f heat --rung naive > table
[ "$(grep -c '"devices": [23], "steps": 1, "equal": true, .*"share_of_ideal": .*"shares": \[{"device": "cuda:2", .*"handed_bytes": 1' table)" = 2 ]
result $? '--bench=json has a row for two and for three'
whole() # EXTENTS RUNGS OPERATIONS
{
    bench --bench=json -D cuda -d "$1" -f gauss:1 --rung passes > table
    grep -q "\"table\": \"gauss:1\", .*\"rung\": \"$2\", \"operations\": $3, .*\"comment\": \"what a plan takes\"" table
    result $? "--bench of passes on $1 samples: $2"
}
whole 12,12,12 'passes + passes + passes' 3
! is_whole_run || whole 128,64,32 passes 1
bench --tune -d 64,64,64 -f heat --rung naive > table
[ "$(grep -c ', [23] together.*once\|, [23] together.*often' cache/voxfilt/wisdom)" = 2 ]
result $? '--tune keeps the speed of two and of three'
wise() # SPEED-OF-TWO SPEED-OF-THREE: how many of three GPUs are taken, where one takes 26 seconds
{
    sed -e "/together/!s/	[^	]*\$/	1e7/" -e "/, 2 together/s/[^	]*\$/$1/" -e "/, 3 together/s/[^	]*\$/$2/" cache/voxfilt/wisdom > wisdom
    cp wisdom cache/voxfilt/wisdom
    truncate -s 262144 cube.raw
    XDG_CACHE_HOME=$PWD/cache CUDA_EMULATION_DEVICES=3 "$emulated" --program=voxfilt -D cuda:all --explain -i cube.raw -n 64 \
        -t u8 -s 1000 | sed -n 's/^device .* predicted for \([123]\) of 3)$/\1/p'
}
[ "$(wise 2e7 1e7)" = 2 ]
result $? 'cuda:all takes two where wisdom says that three are slower'
[ "$(wise 2e9 3e9)" = 2 ]
result $? 'and two where three save less than a third one takes to start'
[ "$(wise 2e7 3e7)" = 3 ]
result $? 'and three where it says that they are faster'
[ "$(wise 1e3 3e7)" = 1 ]
result $? 'and one where two are slower'

truncate -s 134217728 zeros.raw
CUDA_EMULATION_MEMORY=80000000000 CUDA_EMULATION_DEVICES=3 \
    "$emulated" --program=voxfilt -D cuda:all --explain -n 512 -t u8 -s 100000 -i zeros.raw |
    grep -q '^device  *cuda:0,1,2: .* (.* predicted for 3 of 3)$'
result $? 'and all of them for long runs'

# ---------------------------------------------------------------- what a plan says of other kernels

for pair in '4,5,6 bilateral:1,20 resident: only chains of taps' '4,5,6 median:1 resident: only chains of taps' \
    '4,5,6 gauss:1 resident: only all seven taps of the star' '4,5 bilateral:1,20 resident: it is for volumes' \
    '4,5 gauss:1 plane: it is for volumes'; do
    extents=${pair%% *} words=${pair#* }
    fleet 1 -d "$extents" -t u8 -f "${words%% *}" --explain < /dev/zero > ../plan 2> ../stderr && grep -q "^ *not ${words#* }\$" ../plan
    result $? "-d $extents: -f ${words%% *} is not ${words#* }"
done

conclude
