#!/bin/sh
# One picture of each family of filters, all of the same input: gallery/README.md shows them beside it.
#
# Usage: gallery.sh [FOLDER [PICTURE.png]]        needs imgheat on PATH; FOLDER is ./gallery by default
set -eu

[ $# -le 2 ] || { echo 'Usage: gallery.sh [FOLDER [PICTURE.png]]' >&2; exit 2; }
folder=${1:-gallery} picture=${2:-$(dirname "$0")/picture.png}
mkdir -p "$folder"

# The picture of a family: NAME, and how imgheat filters.
show()
{
    name=$1
    shift
    imgheat "$@" -o "$folder/$name.png" "$picture"
    echo "$name: imgheat $*"
}

show voxel -f threshold:110,0,255
show axes -f gauss:6,0
show rank -f median:2
show morphology -f open:2,ball
show derivative -f gradmag:1.5 --out-range auto
show bilateral -f bilateral:3,40

# A mask that is 0 where all channels have an edge: these pixels stay as they are.
imgheat -f gradmag:1 -f threshold:12,255,0 -o "$folder/flat.png" "$picture"
show mask --mask "$folder/flat.png" -f gauss:3

# What is darker than 40, such as ink, is cut off there and is missing. It stays, and does not run into what is beside it.
imgheat -f clamp:40,255 -o "$folder/ink.png" "$picture"
picture=$folder/ink.png
show missing --missing 40 -f gauss:3
