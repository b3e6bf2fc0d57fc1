#!/bin/sh
# What the manual promises of results: runs that can be cut in two, snapshots, spacing, agreement with scipy.ndimage. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# ---------------------------------------------------------------- spacing

v16f()
{
    v16 --work f64 --out-type f64 "$@"
}

# With spacing S along all axes a derivative is what the matrix makes of the one in samples: halves and quarters are exact.
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
    accepts "--spacing means something to $filter, before others" '' v16 -f "$filter" -f box:1 --spacing 1,2,3 -o spaced.raw
done

# ---------------------------------------------------------------- the scale of a nonlinear flux

for flux in pm1 pm2; do
    refuses 2 "voxfilt: --flux: heat: $flux needs a --scale: differences well above it stay, those well below it are smoothed" \
        v16 --flux $flux -o out
done
refuses 2 'imgheat: --flux: heat: tanh needs a --scale: no update changes a sample by more than alpha·dt times it' \
    imgheat -f heat --flux tanh -o out gray.png
accepts 'a default scale is enough' '' v8 --scale 9 -f heat --flux tanh -f heat --flux pm1 --scale 1 -o scaled.raw

conclude
