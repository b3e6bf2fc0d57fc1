#!/bin/sh
# How a picture changes as heat flows along its edges, but not across them: frames, and an animation if ffmpeg or
# ImageMagick is installed.
#
# Usage: heat-movie.sh [FOLDER [PICTURE.png]]        needs imgheat on PATH; FOLDER is ./heat-movie by default
set -eu

[ $# -le 2 ] || { echo 'Usage: heat-movie.sh [FOLDER [PICTURE.png]]' >&2; exit 2; }
folder=${1:-heat-movie} picture=${2:-$(dirname "$0")/picture.png}
mkdir -p "$folder"

has()
{
    command -v "$1" > /dev/null
}

imgheat -f heat -s 120 --flux pm2 --scale 12 --frames "$folder/frame-%02d.png" --every 8 -o "$folder/last.png" "$picture"

cd "$folder"
if has ffmpeg; then
    ffmpeg -v error -y -framerate 8 -i frame-%02d.png -plays 0 -f apng heat.png
    movie=heat.png
elif convert -version 2> /dev/null | grep -q ImageMagick; then
    convert -delay 12 frame-*.png heat.gif
    movie=heat.gif
else
    movie='frame-*.png (neither ffmpeg nor ImageMagick is installed to join them)'
fi
echo "in $folder: $movie"
