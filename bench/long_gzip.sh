#!/bin/sh
# Volumes larger than memory through a pipe in 1 GiB of addresses: a step of heat on 2048 x 2048 x N samples of u16 that come
# as .nii.gz, as .nrrd compressed by gzip, and as plain .nrrd; each beside what only moves the same bytes.
# Usage: bench/long_gzip.sh BUILD [GIB], where BUILD is the folder of a build; 64 GiB by default. 1 GiB is held in a file.
set -eu

build=${1:?the folder of a build}
gib=${2:-64}
planes=$((gib * 128))
block=128 # planes in the file, 1 GiB
voxfilt=$build/voxfilt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A block of planes that compress to a seventh or so: a phantom, smoothed, in few values.
"$build/samples/make_volume" -d 2048,2048,8 -t u16 |
    "$voxfilt" -q -d 2048,2048,8 -t u16 -f gauss:4 -f scale:0.05,0 > "$work/slab"
for _ in $(seq $((block / 8))); do
    cat "$work/slab"
done > "$work/block"
"$voxfilt" -q -i "$work/block" -d "2048,2048,$block" -t u16 -f identity -o "$work/block.raw.gz"

nrrd_header() # ENCODING
{
    printf 'NRRD0004\ntype: ushort\ndimension: 3\nsizes: 2048 2048 %d\nendian: little\nencoding: %s\n\n' "$planes" "$1"
}

# That of a volume of one plane, with another number in its place.
nii_header()
{
    head -c 8388608 "$work/slab" | "$voxfilt" -q -d 2048,2048,1 -t u16 -f identity --out-format nii | head -c 352 > "$work/one"
    head -c 46 "$work/one"
    # shellcheck disable=SC2059  # escapes are wanted
    printf "\\$(printf %o $((planes % 256)))\\$(printf %o $((planes / 256)))"
    tail -c +49 "$work/one"
}

blocks() # FILE
{
    for _ in $(seq "$gib"); do
        cat "$1"
    done
}

# A member for the header, and one for each block.
nii_gz()
{
    nii_header | gzip -c
    blocks "$work/block.raw.gz"
}

# The samples alone are compressed.
nrrd_gz()
{
    nrrd_header gzip
    blocks "$work/block.raw.gz"
}

nrrd()
{
    nrrd_header raw
    blocks "$work/block"
}

filter()
{
    # shellcheck disable=SC3045  # limits on addresses are not in every shell
    (ulimit -v 1048576 && "$build/tests/long_volume" watch "$voxfilt" -q -D cpu -s 1 --out-format raw 2> "$work/peak")
}

unpack()
{
    gzip -dc | cat
}

# NAME GENERATOR COMMAND: seconds, bytes that came out, and the most memory where it was watched.
measure()
{
    rm -f "$work/peak"
    begun=$(date +%s%N)
    bytes=$($2 | $3 | wc -c)
    ended=$(date +%s%N)
    awk -v name="$1" -v seconds=$(((ended - begun) / 1000000)) -v bytes="$bytes" -v peak="$(cat "$work/peak" 2> "$work/none")" '
        BEGIN { printf "%-28s %8.1f s  %12s bytes  %s\n", name, seconds / 1000, bytes, peak == "" ? "" : int(peak / 1024) " MiB" }'
}

"$voxfilt" --version
printf '%d cores; 2048 × 2048 × %d u16, %d GiB, compressed to %.1f %%\n' "$(getconf _NPROCESSORS_ONLN)" "$planes" "$gib" \
    "$(echo "scale=3; 100 * $(wc -c < "$work/block.raw.gz") / 1073741824" | bc)"
measure 'nii.gz | voxfilt' nii_gz filter
measure 'nii.gz | gzip -dc | cat' nii_gz unpack
measure 'nrrd, gzip | voxfilt' nrrd_gz filter
measure 'nrrd, raw | voxfilt' nrrd filter
measure 'nrrd, raw | cat' nrrd cat
