#!/bin/sh
# A Gaussian of sigma 1.5 from JPEG to JPEG, at quality 90 without subsampling: imgheat against vips and ImageMagick, on
# a picture of 24 megapixels and on a dozen of 2, with one thread and with two. Whole processes, in turn.
# Usage: jpeg_rivals.sh [ROUNDS], in a build directory. What is not installed is left out; Debian has libvips-tools
# imagemagick.
set -eu

# shellcheck source=bench/rivals.sh
. "$(dirname "$0")/rivals.sh"

blurs() # THREADS
{
    echo "imgheat, $1 | $build/imgheat -q -D cpu -j $1 -f gauss:1.5 in.jpg -o imgheat.jpg"
    ! has vips || echo "vips, $1 | VIPS_CONCURRENCY=$1 vips gaussblur in.jpg 'vips.jpg[Q=90,no-subsample]' 1.5" \
        "--precision float --min-ampl 0.001"
    ! has convert || echo "ImageMagick, $1 | MAGICK_THREAD_LIMIT=$1 convert in.jpg -blur 6x1.5 -quality 90" \
        "-sampling-factor 4:4:4 magick.jpg"
}

dozens() # THREADS
{
    echo "imgheat, $1 | $build/imgheat -q -D cpu -j $1 -f gauss:1.5 dozen/*.jpg -o imgheat/"
    ! has vips || echo "vips, $1 | for file in dozen/*.jpg; do VIPS_CONCURRENCY=$1 vips gaussblur \$file" \
        "\"vips/\${file#dozen/}[Q=90,no-subsample]\" 1.5 --precision float --min-ampl 0.001; done"
    ! has mogrify || echo "ImageMagick, $1 | MAGICK_THREAD_LIMIT=$1 mogrify -path magick -blur 6x1.5 -quality 90" \
        "-sampling-factor 4:4:4 dozen/*.jpg"
}

"$build/imgheat" --version
! has vips || vips --version
! has convert || convert -version | sed -n '1s/^Version: \(ImageMagick [^ ]*\).*/\1/p'
mkdir dozen imgheat vips magick
"$build/samples/make_picture" -d 6000,4000 --content noisy -o in.png
"$build/imgheat" -q -f identity in.png -o in.jpg
for number in 1 2 3 4 5 6 7 8 9 10 11 12; do
    "$build/samples/make_picture" -d 1600,1200 --content noisy --seed $number -o in.png
    "$build/imgheat" -q -f identity in.png -o dozen/$number.jpg
done
printf '\n6000 × 4000, seconds of the whole process, by threads\n'
{ blurs 1; blurs 2; } | take_turns
sizes ./*.jpg
printf '\na dozen of 1600 × 1200\n'
{ dozens 1; dozens 2; } | take_turns
