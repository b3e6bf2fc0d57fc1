#!/bin/sh
# The edges in a picture, at three scales: the length of the gradient of a Gaussian.
#
# Stages of a chain pass full precision on, so rounding happens once, at the end, where --out-range stretches what came
# out to black and white. A larger sigma leaves only larger structures. For a volume it is the same:
#     voxfilt -i vol.nii.gz -f gauss:1.5 -f gradient --out-type u8 --out-range auto -o surfaces.nii.gz
#
# Usage: edges.sh [FOLDER [PICTURE.png]]        needs imgheat on PATH; FOLDER is ./edges by default
set -eu

[ $# -le 2 ] || { echo 'Usage: edges.sh [FOLDER [PICTURE.png]]' >&2; exit 2; }
folder=${1:-edges} picture=${2:-$(dirname "$0")/picture.png}
mkdir -p "$folder"

for sigma in 1 2 4; do
    imgheat -f "gauss:$sigma" -f gradient --out-range auto -o "$folder/edges-$sigma.png" "$picture"
    echo "$folder/edges-$sigma.png"
done
