#!/bin/sh
# The surfaces in a volume: smooth, take the length of the gradient, and write it as bytes that any viewer reads.
#
# Stages of a chain pass full precision on, so rounding to u8 happens once, at the end. SIGMA is in samples; larger
# values leave only larger structures.
#
# Usage: edges.sh IN.raw N SIGMA OUT.raw         IN.raw holds N x N x N samples of f32
set -eu

[ $# -eq 4 ] || { echo 'Usage: edges.sh IN.raw N SIGMA OUT.raw' >&2; exit 2; }

voxfilt -i "$1" -n "$2" -t f32 -f "gauss:$3" -f gradient --out-type u8 -o "$4"
