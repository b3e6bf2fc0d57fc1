#!/bin/sh
# The picture of README.md: the middle slice of the phantom before and after, as SVG on standard output. Needs voxfilt and
# make_volume on PATH. The bytes are the same from every machine; a test compares them with phantom.svg.
set -eu

n=96
low=20 high=150 # the samples that are shown black and white

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

little() # BYTES VALUE
{
    awk -v bytes="$1" -v value="$2" 'BEGIN {
        while (bytes-- > 0) { printf "\\%03o", value % 256; value = int(value / 256) } }'
}

# A slice as a bitmap of 256 grays, the first row on top.
bitmap() # VOLUME
{
    size=$((n * n))
    # shellcheck disable=SC2059  # escapes are wanted
    printf "BM$(little 4 $((1078 + size)))$(little 4 0)$(little 4 1078)"
    # shellcheck disable=SC2059
    printf "$(little 4 40)$(little 4 $n)$(little 4 $((4294967296 - n)))$(little 2 1)$(little 2 8)"
    # shellcheck disable=SC2059
    printf "$(little 16 0)$(little 4 256)$(little 4 0)"
    # shellcheck disable=SC2059
    printf "$(awk -v low=$low -v high=$high 'BEGIN {
        for (i = 0; i < 256; i++) {
            gray = int((i - low) * 255 / (high - low))
            gray = gray < 0 ? 0 : gray > 255 ? 255 : gray
            printf "\\%03o\\%03o\\%03o\\000", gray, gray, gray
        } }')"
    tail -c +$((size * n / 2 + 1)) "$1" | head -c $size
}

panel() # LEFT VOLUME CAPTION
{
    echo "<text x=\"$(($1 + 144))\" y=\"310\">$3</text>"
    echo "<image x=\"$1\" width=\"288\" height=\"288\" href=\"data:image/bmp;base64,"
    bitmap "$2" | base64
    echo '"/>'
}

cd "$work"
make_volume -n $n -t u8 -o vol.raw
voxfilt -q -i vol.raw -n $n -o heat.raw
voxfilt -q -i vol.raw -n $n --flux pm2 --scale 12 -s 30 -o edges.raw

cat <<'END'
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 320" font-family="sans-serif" font-size="15" fill="#808080" text-anchor="middle">
<style>image { image-rendering: pixelated }</style>
END
panel 0 vol.raw 'the phantom, with noise'
panel 296 heat.raw 'voxfilt'
panel 592 edges.raw 'voxfilt --flux pm2 --scale 12 -s 30'
echo '</svg>'
