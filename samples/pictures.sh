#!/bin/sh
# Clean and sharpen all PNG pictures of a folder into another one, as after scanning: light noise goes by heat that
# stops at edges, an unsharp mask brings the letters back. Filtering in linear light keeps bright details as bright.
#
# Usage: pictures.sh FROM TO
set -eu

[ $# -eq 2 ] || { echo 'Usage: pictures.sh FROM TO' >&2; exit 2; }

mkdir -p "$2"
imgheat --linear -f heat -s 8 --flux pm2 --scale 16 -f unsharp:1.5,0.8 -o "$2/" "$1"/*.png
