#!/bin/sh
# Outputs that several threads write at once, and room that is taken for them at the start. Prints a line a case and fails
# if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# In a file system in memory, eight threads fill files through mappings.
memory=
if [ "$(stat -f -c %T /dev/shm)" = tmpfs ] && memory=$(mktemp -d /dev/shm/voxfilt.XXXXXX); then
    trap 'rm -rf "$work" "$memory"' EXIT
fi

# Two batches and a bit.
make_volume -d 300,256,60 -t f32 -o scan.raw

volume()
{
    voxfilt -i scan.raw -d 300,256,60 -t f32 -q "$@"
}

# ---------------------------------------------------------------- any order

for job in '-f heat -s 3' '-f heat -s 40 -m 6M' '-f identity' '-f identity --out-endian big' '-f gauss:1 --out-type u8' \
    '-f gauss:1 --planes 7:41' '-f gauss:1 --crop 3:299,5:255,2:55' '-f heat -s 2 --part 2/3' '-f heat -e wrap -s 3' \
    '-f laplace --out-range auto --out-type u16'; do
    for format in raw npy nhdr tif; do
        has_turn || continue
        # shellcheck disable=SC2086  # words
        volume -j 1 $job --out-format $format -o one.$format && volume -j 5 $job --out-format $format -o many.$format
        # The samples of a header stand beside it.
        ext=${format%nhdr}
        same "$job: $format" "one.${ext:-raw}" "many.${ext:-raw}"
        [ -n "$memory" ] || continue
        # shellcheck disable=SC2086
        volume -j 8 $job --out-format $format -o "$memory/many.$format"
        same "$job: $format, in a file system in memory" "one.${ext:-raw}" "$memory/many.${ext:-raw}"
    done
done

# Each volume of a series has its own place.
{ printf 'NRRD0004\ntype: float\ndimension: 4\nsizes: 300 256 20 3\nendian: little\nencoding: raw\n\n'
    cat scan.raw; } > series.nrrd
for job in '-f heat' '-f identity' '-f gauss:1 --out-type u8'; do
    # shellcheck disable=SC2086
    voxfilt -q -j 1 -i series.nrrd $job -o one.nrrd && voxfilt -q -j 5 -i series.nrrd $job -o many.nrrd
    same "$job: a series" one.nrrd many.nrrd
done

# ---------------------------------------------------------------- room

# The input never ends: only an output that is found to be too long at the start ends the run.
mkfifo endless
exec 9<> endless
for form in raw npy tif; do
    head -c 5000 scan.raw >&9
    refuses 4 "voxfilt: out.$form: File too large" sh -c "trap '' XFSZ; ulimit -f 100
        timeout 60 voxfilt -i endless -d 300,256,60 -t f32 -f heat -o out.$form"
done
printf 'NRRD0004\ntype: float\ndimension: 3\nsizes: 300 256 60\nendian: little\nencoding: raw\ndata file: endless\n' \
    > endless.nhdr
refuses 4 "voxfilt: out.raw: File too large" sh -c "trap '' XFSZ; ulimit -f 100
    timeout 20 voxfilt -i endless.nhdr --allow-outside -f heat -o out.raw"

# Whoever cuts the temporary file short takes samples that were written.
cut_short() # FOLDER
{
    rm -f endless cut.stderr
    mkfifo endless
    voxfilt -j 8 -i endless -d 300,256,60 -t f32 -f identity -o "$1/cut.raw" 2> cut.stderr &
    run=$!
    exec 9> endless
    head -c 9000000 scan.raw >&9
    part=
    tries=0
    until part=$(find "$1" -name '*.part' -size +9000k) && [ -n "$part" ] || [ $tries = 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    [ -n "$part" ] && : > "$part"
    tail -c +9000001 scan.raw | head -c $((300 * 256 * 60 * 4 - 9000000)) >&9
    exec 9>&-
    wait $run
    [ $? = 4 ] && [ "$(cat cut.stderr)" = "voxfilt: $1/cut.raw: the temporary file has been truncated" ] &&
        [ -z "$(ls -A "$1")" ]
}
if [ -n "$memory" ]; then
    rm -f "$memory"/*
    cut_short "$memory"
    result $? 'a temporary file that somebody cuts short'
fi

# Where there is no name yet, there is nothing to take room for.
voxfilt -i scan.raw -d 300,256,60 -t f32 -f identity > copied.raw
same 'standard output' scan.raw copied.raw

# While a GPU starts, which takes it some seconds here, the output gets its room.
needs_emulated_gpus
starting() # MILLISECONDS ARGUMENT...
{
    milliseconds=$1
    shift
    CUDA_EMULATION_START=$milliseconds exec timeout 60 "$emulated" --program=voxfilt -D cuda -i scan.raw -d 300,256,60 -t f32 \
        -q "$@"
}

# Whether its temporary has a length, so many tenths of a second from now at most.
has_room() # TENTHS
{
    tenths=$1
    until [ -n "$(find early -name '*.part' -size +17M)" ]; do
        [ "$tenths" -gt 0 ] || return 1
        tenths=$((tenths - 1))
        sleep 0.1
    done
}

mkdir early
(starting 20000 -f identity -o early/out.raw) &
has_room 50
result $? 'room is taken while a GPU starts'
kill $!
{ wait $!; } 2> ../stderr
[ -z "$(ls -A early)" ]
result $? 'and given back if the program ends meanwhile'

(starting 1500 -f identity -o early/out.raw --explain > plan) &
! has_room 10
result $? 'what is only explained takes none'
wait $!

echo old > early/out.raw
refuses 6 'voxfilt: --memory: this job needs 78.9 KiB (80768 bytes), and 1.0 KiB are allowed' \
    env CUDA_EMULATION_DEVICES=1 "$emulated" --program=voxfilt -D cuda -j 2 -i scan.raw -d 300,256,60 -t f32 -f heat -m 1k \
    -o early/out.raw
[ "$(ls -A early)" = out.raw ] && [ "$(cat early/out.raw)" = old ]
result $? 'where the plan is refused, the old output stays'
refuses 4 'voxfilt: early/out.raw: File too large' sh -c "trap '' XFSZ; ulimit -f 100
    '$emulated' --program=voxfilt -D cuda -i scan.raw -d 300,256,60 -t f32 -f identity -o early/out.raw"
[ "$(ls -A early)" = out.raw ] && [ "$(cat early/out.raw)" = old ]
result $? 'and where there is too little room'

(starting 0 -f identity -o early/out.raw) && same 'a device that has started' scan.raw early/out.raw
mkfifo early/pipe
(starting 0 -f identity -o early/pipe) &
cat early/pipe > copied.raw
same 'a pipe that is read later' scan.raw copied.raw

conclude
