#!/bin/sh
# The edges of a picture at three scales: blur it by a Gaussian, and take the length of the gradient.
#
# Stages pass on full precision, so values are rounded only once, at the end, where --out-range stretches them from black
# to white. A larger sigma leaves only larger structures. The same for a volume:
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
