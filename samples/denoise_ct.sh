#!/bin/sh
# Take the noise out of a CT volume and keep its edges, then measure what that did.
#
# Scanner data are 12 bits in u16, and slices lie farther apart than pixels within a slice: --spacing tells heat to
# flow accordingly. Perona-Malik conducts little where neighbours differ by more than --scale: noise of 200 counts goes,
# the skull stays.
#
# Usage: denoise_ct.sh IN.raw X,Y,Z OUT.raw      e.g. make_volume -d 128,128,64 -t u16 -o in.raw
#                                                     denoise_ct.sh in.raw 128,128,64 out.raw
set -eu

[ $# -eq 3 ] || { echo 'Usage: denoise_ct.sh IN.raw X,Y,Z OUT.raw' >&2; exit 2; }

voxfilt -i "$1" -d "$2" -t u16 --spacing 0.5,0.5,1 \
    -f heat -s 30 --flux pm2 --scale 300 \
    --stats -o "$3"
