#!/bin/sh
# What the manual promises of results: runs that can be cut in two, snapshots, spacing, agreement with scipy.ndimage.
# Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# ---------------------------------------------------------------- spacing

v16f()
{
    v16 --work f64 --out-type f64 "$@"
}

# With spacing S along all axes a derivative is what the matrix makes of the one in samples: halves and quarters are
# exact.
is_divided() # FILTER S FACTOR
{
    v16f -f "$1" --spacing "$2,$2,$2" -o spaced.raw
    v16f -f "$1" -f "matrix:$3" -o scaled.raw
    same "$1 with spacing $2 is divided by it" spaced.raw scaled.raw
    v16f -f "$1" -o plain.raw
    v16f -f "$1" --spacing 1,1,1 -o ones.raw
    same "$1 with spacing 1 is what it is without" plain.raw ones.raw
    differ "$1 with spacing $2 is another" spaced.raw plain.raw
}

for axis in x y z; do
    is_divided sobel:$axis 2 0.5
    is_divided prewitt:$axis 0.5 2
done
is_divided gradient 4 0.25
is_divided laplace 2 0.25
is_divided star:6 0.5 4
v16 -f star:2 --spacing 0.3,7,1.1 -o star.raw
v16 -f laplace --spacing 0.3,7,1.1 -o laplace.raw
same 'star:2 is laplace, with spacing, too' star.raw laplace.raw
v16 -f sobel:y --spacing 3,1,3 -o across.raw
v16 -f sobel:y -o plain.raw
same 'spacing across a derivative does not count' across.raw plain.raw

for filter in gauss:1 box:1 unsharp:1,1 sharpen identity matrix:2 seven:1,2,3,4,5,6,7 twentyseven:1,2,3,4; do
    refuses 2 'voxfilt: --spacing: no stage of this chain uses it' v16 -f "$filter" --spacing 1,2,3 -o out
done
for filter in heat gauss:1u unsharp:1u,1 laplace star:4 sobel:x prewitt:y gradient; do
    accepts "--spacing means something to $filter, before others" '' \
        v16 -f "$filter" -f box:1 --spacing 1,2,3 -o spaced.raw
done

# ---------------------------------------------------------------- the scale of a nonlinear flux

for flux in pm1 pm2; do
    reason='differences well above it stay, those well below it are smoothed'
    refuses 2 "voxfilt: --flux: heat: $flux needs a --scale: $reason" v16 --flux $flux -o out
done
refuses 2 'imgheat: --flux: heat: tanh needs a --scale: no update changes a sample by more than alpha*dt times it' \
    imgheat -f heat --flux tanh -o out gray.png
accepts 'a default scale is enough' '' v8 --scale 9 -f heat --flux tanh -f heat --flux pm1 --scale 1 -o scaled.raw

# ---------------------------------------------------------------- runs in two

v16f -f gauss:0.5 -o v16d.raw

# Ten steps through a pipe into ten steps are twenty, and what stands between them is ten.
composes() # TYPE FILE OPTION...
{
    type=$1 file=$2
    shift 2
    voxfilt -i "$file" -n 16 -t "$type" "$@" -s 20 -o twenty.raw
    voxfilt -i "$file" -n 16 -t "$type" "$@" -s 10 -o ten.raw
    voxfilt -n 16 -t "$type" "$@" -s 10 < "$file" | tee snapshot.raw | voxfilt -n 16 -t "$type" "$@" -s 10 > both.raw
    same "10 steps and 10 steps are 20: $type $*" both.raw twenty.raw
    same "tee between them has the 10: $type $*" snapshot.raw ten.raw
    differ "which are not the 20: $type $*" ten.raw twenty.raw
}

for type in f32 f64; do
    file=v16.raw
    [ "$type" = f32 ] || file=v16d.raw
    for edge in reflect wrap constant:3 hold; do
        composes "$type" "$file" -f heat -e "$edge"
    done
    composes "$type" "$file" -f heat --flux pm2 --scale 9
    composes "$type" "$file" -f heat --flux tanh --scale 9 --inner 2 --reaction 0.01
    composes "$type" "$file" -f gauss:0.7
    composes "$type" "$file" -f unsharp:1,0.1 -e mirror
    voxfilt -i "$file" -n 16 -t "$type" -f gauss:1 -f gradient -f matrix:3 -o chain.raw
    voxfilt -n 16 -t "$type" -f gauss:1 < "$file" | voxfilt -n 16 -t "$type" -f gradient |
        voxfilt -n 16 -t "$type" -f matrix:3 > stages.raw
    same "a chain is its stages, one run each: $type" chain.raw stages.raw
done
imgheat -s 20 -o twenty.png rgb.png
imgheat -s 10 < rgb.png | imgheat -s 10 > both.png
differ 'pictures are rounded in between' twenty.png both.png

# ---------------------------------------------------------------- commands that documents show

# Those that measure, on less data.
sed -n 's/^    \([a-z]* --\(bench\|tune\) .*\)/\1/p' "${top_srcdir:?}/README.md" "$top_srcdir/kernels/README.md" |
    sed 's/ *#.*//; s/16384/48/g; s/512/12/g; s/ -D cpu//; s/$/ -D cpu/' > ../shown
while read -r line; do
    sh -c "$line" > ../stdout 2> ../stderr && [ ! -s ../stderr ] && grep -qE ' (12|48) × (12|48)' ../stdout
    result $? "$line"
done < ../shown
[ "$(wc -l < ../shown)" -ge 5 ]
result $? 'commands that measure are found'
rm -rf ../cache
accepts 'imgheat measures extents that are given' '' imgheat --bench -d 30,20 -D cpu -f laplace
grep -q '^laplace: 30 × 20 f32' ../stdout
result $? 'and names them'
refuses 2 'imgheat: -d: 30,20,1: expected X,Y, whole numbers above 0' imgheat --bench -d 30,20,1
reason='pictures have their own extents; it is for --bench and --tune without a file'
refuses 2 "imgheat: -d: $reason" imgheat -d 40,30 -o out gray.png
refuses 2 "imgheat: -d: $reason" imgheat --bench -d 40,30 gray.png

# An output directory, as of imgheat.
mkdir into
accepts 'an output goes into a directory under the name of its input' '' v8 -o into/
accepts 'which needs no slash' '' voxfilt -i v16.raw -n 16 -t f32 -o into
[ "$(ls into)" = "$(printf 'v16.raw\nv8.raw')" ]
result $? 'both are there'
refuses 2 'voxfilt: standard input has no name to take in into/' from v8.raw voxfilt -n 8 -t u8 -o into/

# ---------------------------------------------------------------- sentences of the manual

accepts 'a long option may be cut short' '' v16 --ste 3 -o short.raw
v16 --steps 3 -o whole.raw
same 'and is the same' short.raw whole.raw
refuses 4 'imgheat: --flip: No such file or directory' env POSIXLY_CORRECT=1 imgheat -o into/ gray.png --flip

size=$(wc -c < gray.png)
accepts '--format=raw takes a picture for samples' '' \
    voxfilt -i gray.png -d "$((size)),1" -t u8 --format raw -f identity -o picture.raw
same 'which it copies' gray.png picture.raw
{ head -c 1024 /dev/zero && cat eight.raw; } > kept.raw
voxfilt -i kept.raw -d 4,2 -t u8 --skip 1K -f identity -o skipped.raw
same 'K stands for 1024' eight.raw skipped.raw
accepts '--explain leaves --report and --stats without a word' '' v8 --explain --report --stats -o unwritten.raw
[ ! -e unwritten.raw ]
result $? 'and writes nothing'

# What a tap three samples ahead reads in the rows 0 1 2 3 and 4 5 6 7.
printf '3 0 0 1\n' > three-ahead.taps
reads() # EDGE BYTES
{
    voxfilt -i eight.raw -t u8 -d 4,2 -f taps:three-ahead.taps -e "$1" -o read.raw
    [ "$(bytes read.raw)" = "$2" ]
    result $? "edge $1 reads $2"
}
reads reflect '3 3 2 1 7 7 6 5'
reads mirror '3 2 1 0 7 6 5 4'
reads nearest '3 3 3 3 7 7 7 7'
reads wrap '3 0 1 2 7 4 5 6'
reads constant '3 0 0 0 7 0 0 0'
reads constant:9 '3 9 9 9 7 9 9 9'
reads hold '3 1 2 3 7 5 6 7'
voxfilt -i eight.raw -t u8 -d 1,8 -f taps:three-ahead.taps -e mirror -o alone.raw
same 'a row of one sample reads itself' eight.raw alone.raw

# Between two numbers a NaN that no common build makes, and what becomes of it.
printf '\000\000\200\077\001\002\240\377\000\000\200\077' > payload.raw
voxfilt -i payload.raw -d 3,1 -t f32 -f identity -o copied.raw
same 'identity alone copies the bits of a NaN' payload.raw copied.raw
voxfilt -q -i payload.raw -d 3,1 -t f32 -f seven:1,0,0,0,0,0,0 -o quiet.raw
[ "$(bytes quiet.raw)" = '0 0 128 63 0 0 192 127 0 0 128 63' ]
result $? 'weights of zero spread no NaN, and NaN is written as 7fc00000'
voxfilt -q -i payload.raw -d 3,1 -t f32 -f identity --out-type f64 -o double.raw
[ "$(bytes double.raw)" = '0 0 0 0 0 0 240 63 0 0 0 0 0 0 248 127 0 0 0 0 0 0 240 63' ]
result $? 'or as 7ff8000000000000'

# The sine of 2^20 is a number, that of the next one is not.
printf '\000\000\200\111\001\000\200\111' > large.raw
voxfilt -q -i large.raw -d 2,1 -t f32 -f heat --dt 0 -s 1 --reaction 1 -o sine.raw
bytes sine.raw | grep -q '^[0-9 ]* 0 0 192 127$' && ! bytes sine.raw | grep -q '^0 0 192 127'
result $? 'the sine of more than 2^20 is NaN'

imgheat --sigma 2 -o samples.png gray.png
imgheat --sigma 2u -o units.png gray.png
same 'the spacing of pictures is 1' samples.png units.png
imgheat -o plain.png gray.png
{ cat gray.png && echo behind; } > longer.png
accepts 'bytes after the end of a picture are not looked at' '' imgheat -o behind.png longer.png
same 'and change nothing' plain.png behind.png

# The signals for which shells need a hand: those that they keep from their jobs.
for signal in INT QUIT XCPU XFSZ; do
    if ! takes_signal $signal > ../signal 2>&1 || ! has timeout; then
        skip "SIG$signal is ignored here, or there is no timeout"
        continue
    fi
    # shellcheck disable=SC3045  # where the shell cannot limit cores, there may be one in the folder that is removed
    (ulimit -c 0; timeout -k 9 -s $signal 0.5 \
        voxfilt -i v64.raw -n 64 -t f32 -s 1000000000 -o killed.raw) 2> ../stderr
    status=$?
    ! ls killed.raw* > ../parts 2>&1 && [ $status -ge 124 ] && [ $status != 137 ]
    result $? "SIG$signal ends a run and leaves nothing"
done

# ---------------------------------------------------------------- scipy.ndimage

if python3 -c 'import scipy.ndimage' > ../has 2>&1; then
    python3 "${top_srcdir:?}/tests/ndimage.py" > ../agreement
    result $? 'the table of scipy.ndimage is tried'
    while read -r status name; do
        result "$status" "$name"
    done < ../agreement
else
    skip 'the table of scipy.ndimage: python3 with scipy is not here'
fi

conclude
