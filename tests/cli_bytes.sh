#!/bin/sh
# The same bytes by any way, and those of an exact Gaussian. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

v16 --until 0.5 --check-every 1 --report -o until.raw 2> ../stderr
steps=$(sed -n 's/^steps     \([0-9]*\), RMS change of the last 0\.4.*/\1/p' ../stderr)
v16 -s "${steps:-0}" -o steps.raw
same '--until stops where --steps would' until.raw steps.raw

v16 -e wrap -f gauss:1 -f box:1 -o defaults.raw
v16 -f gauss:1 -e wrap -f box:1 -e wrap -o each.raw
v16 -f gauss:1 -e wrap -f box:1 -o own.raw
same 'options before the first filter are for all stages' defaults.raw each.raw
differ 'options after a filter are its own' defaults.raw own.raw
v16 -f gauss:1 -f box:1 --out-type f64 --work f64 -o chain.raw
v16 -f gauss:1 --out-type f64 --work f64 -o part.raw
voxfilt -i part.raw -t f64 -n 16 -f box:1 -o parts.raw
same 'nothing is rounded between stages' chain.raw parts.raw

# The same bytes for any number of threads and any instruction set.
agree() # NAME COMMAND...
{
    name=$1
    shift
    "$@" -j 1 > ../one
    for threads in 2 7; do
        "$@" -j $threads | cmp - ../one || { result 1 "$name: $threads threads"; return; }
    done
    with_isa baseline "$@" | cmp - ../one && [ -s ../one ]
    result $? "$name: 1, 2, 7 threads and the baseline build agree"
}
agree heat v16
agree pm1 v16 --flux pm1 --scale 9 -e mirror
agree tanh v16 --flux tanh --scale 9 --inner 2 --reaction 0.01 -e constant:3
agree 'a chain' v16 -f unsharp:1.5,2 -e wrap -f gradient -f matrix:'1 2;3 4/5' -s 2 -e hold --out-type u16
agree 'double precision' v16 --work f64 --flux pm2 --scale 9 --out-type f64
agree until v16 --until 0.5
# Rows so wide that a tile of the CPU keeps none of them for all planes at once, even on one thread.
seq 20000 | head -c 92160 > wide.raw
wide() { voxfilt -i wide.raw -d 512,2,90 -t u8 --work f64 --out-type f64 -D cpu "$@"; }
wide --rung naive -o naive.raw
wide --rung fused -o fused.raw
same 'planes in runs' naive.raw fused.raw
agree 'planes in runs' wide
agree 'a picture' imgheat rgba.png
agree 'linear light' imgheat --linear -f gauss:2 rgba.png
agree '16 bits' imgheat -f unsharp:1,1 -f sobel:x deep.png

# A Gaussian of a picture of bytes against the one in double that awk computes: rounded once and to nearest, it is never
# more than half a count away, and no darker or lighter. --level 0 leaves the samples readable.
samples() # PNG FILE
{
    od -An -v -tu1 "$1" | awk '
        { for (i = 1; i <= NF; i++) b[n++] = $i }
        function word(at) { return ((b[at] * 256 + b[at + 1]) * 256 + b[at + 2]) * 256 + b[at + 3] }
        END {
            for (at = 8; at < n; at += 12 + size) {
                size = word(at)
                if (b[at + 4] == 73 && b[at + 5] == 72) { # IHDR
                    width = word(at + 8); colour = b[at + 17]
                }
                if (b[at + 4] == 73 && b[at + 5] == 68) # IDAT
                    for (i = 0; i < size; i++) z[count++] = b[at + 8 + i]
            }
            row = width * (colour == 2 ? 3 : 1)
            for (at = 2; !final; at += 5 + size) { # stored blocks, after the header of zlib
                if (z[at] > 1) { print "not stored"; exit }
                final = z[at]
                size = z[at + 1] + 256 * z[at + 2]
                for (i = 0; i < size; i++) line[total++] = z[at + 5 + i]
            }
            print width, total / (row + 1), row / width
            for (i = 0; i < total; i++)
                if (i % (row + 1) > 0) print line[i]
                else if (line[i] != 0) { print "filtered"; exit }
        }'
}

is_exact_gauss() # NAME PNG
{
    imgheat --level 0 -f identity "$2" -o plain.png
    imgheat --level 0 -f gauss:3 "$2" -o gauss.png
    samples plain.png > ../plain
    samples gauss.png > ../gauss
    paste ../plain ../gauss | awk -v sigma=3 '
        function reflect(i, extent) { return i < 0 ? -1 - i : i >= extent ? 2 * extent - 1 - i : i }
        NR == 1 { width = $1; height = $2; channels = $3; next }
        { before[NR - 2] = $1; after[NR - 2] = $2 }
        END {
            if (NR - 1 != width * height * channels || NR < 1000) { print "samples are missing: " NR; exit 1 }
            for (i = -12; i <= 12; i++) sum += weight[i] = exp(-i * i / (2 * sigma * sigma))
            for (y = 0; y < height; y++) for (x = 0; x < width; x++) for (c = 0; c < channels; c++) {
                v = 0
                for (i = -12; i <= 12; i++)
                    v += weight[i] / sum * before[(y * width + reflect(x + i, width)) * channels + c]
                pass[(y * width + x) * channels + c] = v
            }
            for (y = 0; y < height; y++) for (x = 0; x < width; x++) for (c = 0; c < channels; c++) {
                v = 0
                for (i = -12; i <= 12; i++)
                    v += weight[i] / sum * pass[(reflect(y + i, height) * width + x) * channels + c]
                error = after[(y * width + x) * channels + c] - v
                bias += error
                if (error < 0) error = -error
                if (error > worst) worst = error
            }
            bias /= NR - 1
            printf "      at most %.4f off, bias %+.4f\n", worst, bias
            exit !(worst < 0.51 && bias < 0.01 && bias > -0.01)
        }'
    result $? "gauss:3 is exact: $1"
}
make_picture -d 160,120 --gray -o wide.png
make_picture -d 100,80 --seed 5 -o colour.png
imgheat -f laplace -f matrix:-5 -o harsh.png wide.png
is_exact_gauss 'gray' wide.png
is_exact_gauss 'RGB' colour.png
is_exact_gauss 'noise' harsh.png

# The picture of README.md is what these commands make.
if has base64; then
    "${top_srcdir:?}/samples/phantom-svg.sh" > phantom.svg
    same 'the picture of README.md is of today' phantom.svg "$top_srcdir/samples/phantom.svg"
else
    skip 'the picture of README.md: base64 is not here'
fi

conclude
