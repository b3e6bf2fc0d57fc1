#!/bin/sh
# A 3×3 matrix on many PNGs: one call of imgheat, a call for each of them, and vips and mogrify over the same files.
# Seconds of each round, and their medians; the files of both ways of ours are compared.
#
# Usage: many_files.sh BUILD [FILES [SIDE [ROUNDS]]], by default 64 files of 2048 × 2048, five rounds, in $TMPDIR.
set -eu

[ $# -ge 1 ] || { echo 'Usage: many_files.sh BUILD [FILES [SIDE [ROUNDS]]]' >&2; exit 2; }
build=$(cd "$1" && pwd)
files=${2-64}
side=${3-2048}
rounds=${4-5}
PATH=$build:$build/samples:$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
matrix='1 2 1; 2 4 2; 1 2 1'
cd "$folder"

has()
{
    command -v "$1" > has
}

make_inputs()
{
    mkdir in
    for number in $(seq "$files"); do
        make_picture -d "$side,$side" --seed "$number" -o "in/$number.png"
    done
}

one_call()
{
    imgheat -q -f "matrix:$matrix/16" -o one_call/ in/*.png
}

a_call_each()
{
    for file in in/*.png; do
        imgheat -q -f "matrix:$matrix/16" -o "a_call_each/${file#in/}" "$file"
    done
}

# One file a call is all that it takes.
vips_each()
{
    printf '3 3 16 0\n%s\n' "$matrix" | sed 's/; /\n/g' > matrix.mat
    for file in in/*.png; do
        vips conv "$file" "vips_each/${file#in/}" matrix.mat
    done
}

mogrify_all()
{
    mogrify -path mogrify_all -define convolve:scale='!' -morphology Convolve '3x3: 1,2,1 2,4,2 1,2,1' in/*.png
}

# What is already under the outputs' names is as good as new: every way writes over it from the second round on.
take_time() # WAY
{
    mkdir -p "$1"
    begun=$(date +%s%N)
    "$1"
    ended=$(date +%s%N)
    awk -v ns=$((ended - begun)) 'BEGIN { printf "%.3f\n", ns / 1e9 }' >> "$1.seconds"
}

median()
{
    sort -n "$1" | awk '{ value[NR] = $1 } END { print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }'
}

make_inputs
ways='one_call a_call_each'
has vips && ways="$ways vips_each"
has mogrify && ways="$ways mogrify_all"
for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    for way in $ways; do
        take_time "$way"
    done
done

imgheat --version
has vips && vips --version
has mogrify && mogrify -version | head -n 1
echo "$(getconf _NPROCESSORS_ONLN) processors, $files PNGs of $side × $side, $(du -sk in | cut -f 1) KiB"
for way in $ways; do
    echo "$way: median $(median "$way.seconds") s of $(xargs < "$way.seconds")"
done
diff -r one_call a_call_each && echo 'one_call and a_call_each wrote the same bytes'
