#!/bin/sh
# A Gaussian of sigma 1 on a stack of files, a plane each, from PNG to PNG and from TIFF to TIFF: voxfilt against scipy
# with tifffile, which holds the volume in memory. Whole processes, in turn; and the files that a region of ten planes
# opens, where strace is installed.
# Usage: stack_rivals.sh [ROUNDS [FILES [SIDE]]], in a build directory, with tifffile, imagecodecs and scipy.
set -eu

# shellcheck source=bench/rivals.sh
. "$(dirname "$0")/rivals.sh"
files=${2:-200} side=${3:-2048}

ways() # ENDING
{
    echo "voxfilt, $1 | $build/voxfilt -q -D cpu -i $1/%04d.$1 -f gauss:1 -o out/%04d.$1"
    ! { has_module tifffile && has_module scipy.ndimage; } ||
        echo "scipy, $1 | python3 $sources/stack_rival.py $1 theirs"
}

mkdir png tif out theirs
python3 "$sources/stack_rival.py" make tif "$files" "$side"
"$build/voxfilt" -q -i tif/%04d.tif -f identity -o png/%04d.png
"$build/voxfilt" --version
echo "$(getconf _NPROCESSORS_ONLN) cores; $files × $side × $side, u8; MiB:"
du -sm tif png
{ ways png; ways tif; } | take_turns
if has strace; then
    middle=$((files / 2))
    strace -f -e trace=openat -o calls "$build/voxfilt" -q -i tif/%04d.tif -f gauss:0.25 \
        --planes $middle:$((middle + 10)) -o out/ten%d.tif
    echo "ten planes open $(grep -c 'tif/[0-9]*\.tif' calls) of $files files"
fi
