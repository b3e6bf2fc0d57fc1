#!/bin/sh
# What the manual promises of results: runs that can be cut in two, snapshots, spacing, agreement with scipy.ndimage.
# Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# ---------------------------------------------------------------- spacing

v16f()
{
    v16 --work f64 --out-type f64 "$@"
}

# With spacing S along all axes a derivative is what the matrix makes of the one in samples: halves and quarters are
# exact.
is_divided() # FILTER S FACTOR
{
    v16f -f "$1" --spacing "$2,$2,$2" -o spaced.raw
    v16f -f "$1" -f "matrix:$3" -o scaled.raw
    same "$1 with spacing $2 is divided by it" spaced.raw scaled.raw
    v16f -f "$1" -o plain.raw
    v16f -f "$1" --spacing 1,1,1 -o ones.raw
    same "$1 with spacing 1 is what it is without" plain.raw ones.raw
    differ "$1 with spacing $2 is another" spaced.raw plain.raw
}

for axis in x y z; do
    is_divided sobel:$axis 2 0.5
    is_divided prewitt:$axis 0.5 2
done
is_divided gradient 4 0.25
is_divided laplace 2 0.25
is_divided star:6 0.5 4
v16 -f star:2 --spacing 0.3,7,1.1 -o star.raw
v16 -f laplace --spacing 0.3,7,1.1 -o laplace.raw
same 'star:2 is laplace, with spacing, too' star.raw laplace.raw
v16 -f sobel:y --spacing 3,1,3 -o across.raw
v16 -f sobel:y -o plain.raw
same 'spacing across a derivative does not count' across.raw plain.raw

for filter in gauss:1 box:1 unsharp:1,1 sharpen identity matrix:2 seven:1,2,3,4,5,6,7 twentyseven:1,2,3,4; do
    refuses 2 'voxfilt: --spacing: no stage of this chain heeds it' v16 -f "$filter" --spacing 1,2,3 -o out
done
for filter in heat gauss:1u unsharp:1u,1 laplace star:4 sobel:x prewitt:y gradient; do
    accepts "--spacing means something to $filter, before others" '' \
        v16 -f "$filter" -f box:1 --spacing 1,2,3 -o spaced.raw
done

# ---------------------------------------------------------------- the scale of a nonlinear flux

for flux in pm1 pm2; do
    reason='differences well above it stay, those well below it are smoothed'
    refuses 2 "voxfilt: --flux: heat: $flux needs a --scale: $reason" v16 --flux $flux -o out
done
refuses 2 'imgheat: --flux: heat: tanh needs a --scale: no update changes a sample by more than alpha·dt times it' \
    imgheat -f heat --flux tanh -o out gray.png
accepts 'a default scale is enough' '' v8 --scale 9 -f heat --flux tanh -f heat --flux pm1 --scale 1 -o scaled.raw

# ---------------------------------------------------------------- runs in two

v16f -f gauss:0.5 -o v16d.raw

# Ten steps through a pipe into ten steps are twenty, and what stands between them is ten.
composes() # TYPE FILE OPTION...
{
    type=$1 file=$2
    shift 2
    voxfilt -i "$file" -n 16 -t "$type" "$@" -s 20 -o twenty.raw
    voxfilt -i "$file" -n 16 -t "$type" "$@" -s 10 -o ten.raw
    voxfilt -n 16 -t "$type" "$@" -s 10 < "$file" | tee snapshot.raw | voxfilt -n 16 -t "$type" "$@" -s 10 > both.raw
    same "10 steps and 10 steps are 20: $type $*" both.raw twenty.raw
    same "tee between them has the 10: $type $*" snapshot.raw ten.raw
    differ "which are not the 20: $type $*" ten.raw twenty.raw
}

for type in f32 f64; do
    file=v16.raw
    [ "$type" = f32 ] || file=v16d.raw
    for edge in reflect wrap constant:3 hold; do
        composes "$type" "$file" -f heat -e "$edge"
    done
    composes "$type" "$file" -f heat --flux pm2 --scale 9
    composes "$type" "$file" -f heat --flux tanh --scale 9 --inner 2 --reaction 0.01
    composes "$type" "$file" -f gauss:0.7
    composes "$type" "$file" -f unsharp:1,0.1 -e mirror
    voxfilt -i "$file" -n 16 -t "$type" -f gauss:1 -f gradient -f matrix:3 -o chain.raw
    voxfilt -n 16 -t "$type" -f gauss:1 < "$file" | voxfilt -n 16 -t "$type" -f gradient |
        voxfilt -n 16 -t "$type" -f matrix:3 > stages.raw
    same "a chain is its stages, one run each: $type" chain.raw stages.raw
done
imgheat -s 20 -o twenty.png rgb.png
imgheat -s 10 < rgb.png | imgheat -s 10 > both.png
differ 'pictures are rounded in between' twenty.png both.png

# ---------------------------------------------------------------- commands that documents show

# Those that measure, on less data.
sed -n 's/^    \([a-z]* --\(bench\|tune\) .*\)/\1/p' "${top_srcdir:?}/README.md" "$top_srcdir/kernels/README.md" |
    sed 's/ *#.*//; s/16384/48/g; s/512/12/g; s/ -D cpu//; s/$/ -D cpu/' > ../shown
while read -r line; do
    sh -c "$line" > ../stdout 2> ../stderr && [ ! -s ../stderr ] && grep -qE ' (12|48) × (12|48)' ../stdout
    result $? "$line"
done < ../shown
[ "$(wc -l < ../shown)" -ge 5 ]
result $? 'commands that measure are found'
rm -rf ../cache
accepts 'imgheat measures extents that are given' '' imgheat --bench -d 30,20 -D cpu -f laplace
grep -q '^laplace: 30 × 20 f32' ../stdout
result $? 'and names them'
refuses 2 'imgheat: -d: 30,20,1: expected X,Y, whole numbers above 0' imgheat --bench -d 30,20,1
reason='pictures have their own extents; it is for --bench and --tune without a file'
refuses 2 "imgheat: -d: $reason" imgheat -d 40,30 -o out gray.png
refuses 2 "imgheat: -d: $reason" imgheat --bench -d 40,30 gray.png

# An output directory, as of imgheat.
mkdir into
accepts 'an output goes into a directory under the name of its input' '' v8 -o into/
accepts 'which needs no slash' '' voxfilt -i v16.raw -n 16 -t f32 -o into
[ "$(ls into)" = "$(printf 'v16.raw\nv8.raw')" ]
result $? 'both are there'
refuses 2 'voxfilt: standard input has no name to take in into/' from v8.raw voxfilt -n 8 -t u8 -o into/

# ---------------------------------------------------------------- scipy.ndimage

if python3 -c 'import scipy.ndimage' > ../has 2>&1; then
    python3 "${top_srcdir:?}/tests/ndimage.py" > ../agreement
    result $? 'the table of scipy.ndimage is tried'
    while read -r status name; do
        result "$status" "$name"
    done < ../agreement
else
    skip 'the table of scipy.ndimage: python3 with scipy is not here'
fi

conclude
