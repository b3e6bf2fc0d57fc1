#!/bin/sh
# imgheat's PNG codec and a 3×3 matrix against other programs, on one picture; and its codec against vips, on eight
# kinds of generated pictures and eight real ones, which pip fetches. Whole processes, in turn.
# Usage: png_rivals.sh [ROUNDS [SIDE]], in a build directory. What is not installed is left out; Debian has
# libvips-tools imagemagick graphicsmagick python3-opencv.
set -eu

# shellcheck source=bench/rivals.sh
. "$(dirname "$0")/rivals.sh"
side=${2:-4096}

versions()
{
    "$build/imgheat" --version
    sed -n 's/^#define PNG_LIBPNG_VER_STRING "\(.*\)"/libpng \1/p' "$(pkg-config --variable=includedir libpng)/png.h"
    ! has vips || vips --version
    ! has convert || convert -version | sed -n '1s/^Version: \(ImageMagick [^ ]*\).*/\1/p'
    ! has gm || gm version | sed -n '1s/ Q.*//p'
    ! has_module cv2 || python3 -c 'import cv2; print("OpenCV", cv2.__version__)'
}

# What reads a PNG and writes it again as it is.
copies()
{
    echo "imgheat | $build/imgheat -q -D cpu -f identity in.png -o imgheat.png"
    echo "libpng | ./libpng_rival in.png libpng.png"
    ! has vips || echo "vips | vips copy in.png vips.png"
    ! has convert || echo "ImageMagick | convert in.png magick.png"
    ! has gm || echo "GraphicsMagick | gm convert in.png gm.png"
    ! has_module cv2 || echo "OpenCV | python3 $sources/opencv_rival.py copy in.png cv2.png"
}

matrices()
{
    echo "imgheat | $build/imgheat -q -D cpu -f 'matrix:1,2,1;2,4,2;1,2,1/16' in.png -o imgheat.png"
    ! has vips || echo "vips | vips conv in.png vips.png mask.mat --precision integer"
    ! has convert || echo "ImageMagick | convert in.png -define convolve:scale='!'" \
        "-morphology Convolve '3x3: 1,2,1 2,4,2 1,2,1' magick.png"
    ! has gm || echo "GraphicsMagick | gm convert in.png -convolve 1,2,1,2,4,2,1,2,1 gm.png"
    ! has_module cv2 || echo "OpenCV | python3 $sources/opencv_rival.py matrix in.png cv2.png"
}

# FILE COLUMN NAME: the median of the column in the lines of the name.
median()
{
    awk -v column="$2" -v name="$3" '$1 == name { print $column }' "$1" | sort -n | awk '
        { value[NR] = $1 }
        END { print value[int((NR + 1) / 2)] }'
}

# Seconds that reading and writing took, by imgheat's report and by libpng's own calls, in turn. Threads share imgheat's
# work, so its two may overlap.
parts()
{
    for _ in $(seq "$rounds"); do
        "$build/imgheat" -q -D cpu -f identity in.png -o imgheat.png --report=json > report 2>&1
        sed 's/.*"seconds": {[^}]*"read": \([0-9.]*\)[^}]*"write": \([0-9.]*\).*/imgheat \1 \2/' report
        ./libpng_rival in.png libpng.png
    done > parts
    printf '%-24s %9s %9s\n' '' reading writing
    for name in imgheat libpng; do
        printf '%-24s %9.3f %9.3f\n' "$name" "$(median parts 2 "$name")" "$(median parts 3 "$name")"
    done
}

make_kinds()
{
    for kind in photo noisy screenshot map; do
        "$build/samples/make_picture" -d "$side,$side" --content "$kind" -o "kinds/$kind.png"
    done
    "$build/samples/make_picture" -d "$side,$side" --content photo --gray -o kinds/gray.png
    "$build/samples/make_picture" -d "$side,$side" --content noisy --depth 16 -o kinds/deep.png
    "$build/samples/make_picture" -d "$side,$side" --content soft --rgba -o kinds/soft.png
    "$build/samples/make_picture" -d 48,48 -o kinds/tiny.png
}

# Without their metadata, which vips writes in another way.
fetch_real()
{
    pip download -q --no-deps --no-binary :all: pillow==9.5.0
    pip download -q --no-deps --only-binary :all: scikit-image==0.24.0
    unzip -q -o ./scikit_image-*.whl 'skimage/data/*.png'
    tar xzf ./*illow-*.tar.gz
    for name in astronaut camera coffee horse logo page; do
        vips copy "skimage/data/$name.png" "kinds/real-$name.png[strip]"
    done
    for name in exif radial_gradients; do
        vips copy ./*illow-*/Tests/images/"$name.png" "kinds/real-$name.png[strip]"
    done
}

# A line for each picture: seconds, processor seconds and bytes of imgheat with two threads, and of vips.
hold_against_vips()
{
    printf '%-24s %8s %8s %10s %8s %8s %10s\n' picture imgheat processor bytes vips processor bytes
    for picture in kinds/*.png; do
        printf '%s\n' "imgheat | $build/imgheat -q -j 2 -D cpu -f identity $picture -o imgheat.png" \
            "vips | vips copy $picture vips.png" | take_turns > turns
        awk -v name="$(basename "$picture" .png)" -v ours="$(wc -c < imgheat.png)" -v theirs="$(wc -c < vips.png)" '
            $1 == "imgheat" { seconds = $2; processor = $5 }
            $1 == "vips" {
                printf "%-24s %8.3f %8.3f %10d %8.3f %8.3f %10d\n", name, seconds, processor, ours, $2, $5, theirs
            }' turns
    done
}

# shellcheck disable=SC2046  # flags are words
${CC:-cc} -O2 -o libpng_rival "$sources/libpng_rival.c" $(pkg-config --cflags --libs libpng)
"$build/samples/make_picture" -d "$side,$side" -o in.png
printf '3 3 16 0\n1 2 1\n2 4 2\n1 2 1\n' > mask.mat

versions
echo "$(getconf _NPROCESSORS_ONLN) cores; $side × $side RGB, 8 bit"
printf '\n3 × 3 matrix, seconds of the whole process\n'
matrices | take_turns
sizes ./*.png
printf '\nread and written as it is, seconds of the whole process\n'
copies | take_turns
sizes ./*.png
printf '\nread and written as it is, seconds within\n'
parts
if has vips; then
    mkdir kinds
    make_kinds
    ! { has pip && has unzip; } || fetch_real
    printf '\nread and written as it is, two threads, at the default levels\n'
    hold_against_vips
fi
