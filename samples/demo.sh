#!/bin/sh
# Both filters on generated samples: what ./bootstrap demo runs. Needs voxfilt, imgheat, make_volume and make_picture
# on PATH.
#
# Usage: demo.sh FOLDER
set -eu

[ $# -eq 1 ] || { echo 'Usage: demo.sh FOLDER' >&2; exit 2; }
folder=$1
mkdir -p "$folder"
cd "$folder"

# Name each file when it is there.
made()
{
    printf '  %-24s %s\n' "$1" "$2"
}

echo "in $folder:"

make_picture -d 640,480 -o picture.png
made picture.png 'a picture with noise'

# shellcheck disable=SC2002  # as a filter stands in a pipe
cat picture.png | imgheat > picture-heat.png
made picture-heat.png 'after ten steps of heat: the noise is gone, and so are fine lines'

imgheat -f heat -s 40 --flux pm2 --scale 20 -o picture-denoised.png picture.png
made picture-denoised.png 'after 40 steps of Perona-Malik: heat that stops at edges'

imgheat -f unsharp:1.5,0.8 -o picture-unsharp.png picture-denoised.png
made picture-unsharp.png 'that, sharpened by an unsharp mask'

imgheat -f gauss:1 -f gradient -f matrix:3 -o picture-edges.png picture.png
made picture-edges.png 'its edges: the length of the gradient of a Gaussian, times 3'

make_volume -n 64 -t f32 -o volume.raw
made volume.raw 'a phantom of a head with noise, 64 x 64 x 64 f32'

voxfilt -i volume.raw -n 64 -o volume-heat.raw
made volume-heat.raw 'after ten steps of heat'

voxfilt -i volume.raw -n 64 -t f32 -f gauss:1.5 -o volume-gauss.raw
made volume-gauss.raw 'after a Gaussian of sigma 1.5'

voxfilt -i volume.raw -n 64 -t f32 -f gauss:1 -f gradient -o volume-edges.raw
made volume-edges.raw 'its surfaces: the length of the gradient of a Gaussian'
