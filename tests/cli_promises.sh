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

for filter in gauss:1 box:1 bilateral:1,9 dog:1,2 unsharp:1,1 median:1 max:1 sharpen identity matrix:2 seven:1,2,3,4,5,6,7 \
    twentyseven:1,2,3,4; do
    refuses 2 'voxfilt: --spacing: no stage of this chain uses it, and the output does not keep it' v16 -f "$filter" --spacing 1,2,3 -o out
done
accepts '--spacing may be for the header of the output alone' '' v16 -f identity --spacing 0.5,0.25,2 -o spaced.nrrd
grep -aqx 'spacings: 0.5 0.25 2' spaced.nrrd
result $? 'which keeps it'
accepts 'a header alone may be asked for by --out-format' '' v16 -f identity --spacing 0.5,0.25,2 --out-format mha -o spaced
accepts 'spacing that the output does not keep is told' 'voxfilt: spaced.nrrd: left out: spacing
' voxfilt -i spaced.nrrd -f identity -o spaced.npy
for filter in heat gauss:1u gauss:1,order=1,0,0 bilateral:1u,9 unsharp:1u,1 laplace star:4 sobel:x prewitt:y gradient log:1 dog:1u,2 gradmag:1; do
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
    sh -c "$line" > ../stdout 2> ../stderr && [ ! -s ../stderr ] && grep -qE ' (12|48) x (12|48)' ../stdout
    result $? "$line"
done < ../shown
[ "$(wc -l < ../shown)" -ge 5 ]
result $? 'commands that measure are found'
rm -rf ../cache
accepts 'imgheat measures extents that are given' '' imgheat --bench -d 30,20 -D cpu -f laplace
grep -q '^laplace: 30 x 20 f32' ../stdout
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
refuses 2 'voxfilt: standard input has no name for an output in into/' from v8.raw voxfilt -n 8 -t u8 -o into/

# ---------------------------------------------------------------- what options stand for

v8 -o bare.raw
v8 -f heat -s 10 --alpha 1 --dt 0.125 -e reflect --flux linear -o spelled.raw
same 'without a filter, ten steps of heat' bare.raw spelled.raw
imgheat rgb.png -o bare.png
imgheat -i rgb.png -f heat -s 10 --alpha 1 --dt 0.125 -e reflect --level 6 -o spelled.png
same 'of a picture, too, and level 6; and -i is an operand' bare.png spelled.png
v16 --spacing 2,3,4 --alpha 2 -s 1 -o bare.raw
v16 --spacing 2,3,4 --alpha 2 --dt 0.25 -s 1 -o spelled.raw
same 'dt is 0.125 times the square of the smallest spacing, by alpha' bare.raw spelled.raw
tail -c +7169 v16.raw | head -c 1024 > seventh.raw
for spec in gauss:1.2 median:1 'bilateral:1,2' erode:1 laplace gradmag:0.8 'heat --flux pm1 --scale 1'; do
    # shellcheck disable=SC2086  # words are wanted
    {
        v16 --planes 7:8 --axes xy -f $spec -o plane.raw
        voxfilt -q -i seventh.raw -t f32 -d 16,16 -f $spec -o picture.raw
    }
    same "$spec --axes xy filters plane by plane" plane.raw picture.raw
done
v16 -f scale:2,0 -f scale:1,5 -o forth.raw
v16 -f scale:1,5 -f scale:2,0 -o back.raw
differ 'stages run in the order given' forth.raw back.raw
accepts 'a third extent of 1 is an axis' '' voxfilt -i v8.raw -t u8 -d 64,8,1 -f sobel:z -o flat.raw
voxfilt -i eight.raw -t u16 -d 2,2 --endian big -f scale:1,1 -o big.raw
[ "$(bytes big.raw)" = '0 2 2 4 4 6 6 8' ]
result $? 'the output has the byte order of the input'
voxfilt -i eight.raw -t u16 -d 2,2 -f scale:1,1 -o little.raw
[ "$(bytes little.raw)" = '1 1 3 3 5 5 7 7' ]
result $? 'which is little-endian by itself'
voxfilt -i eight.raw -t u8 -d 2,2 --skip 0.0045K -f identity -o skipped.raw
[ "$(bytes skipped.raw)" = '4 5 6 7' ]
result $? 'a fraction of K is rounded down'
printf '\000\002\004\006' > even.raw
printf '\001\003\005\007' > uneven.raw
voxfilt -i eight.raw -t u8 -d 2,2 --channels 2 -f gauss:1 -o both.raw
for name in even uneven; do
    voxfilt -i $name.raw -t u8 -d 2,2 -f gauss:1 -o $name.out
done
for name in even uneven; do
    bytes $name.out | tr ' ' '\n' > ../$name
done
[ "$(bytes both.raw)" = "$(paste -d ' ' ../even ../uneven | xargs)" ]
result $? 'every channel is filtered alone'

# A line of the plan.
plans() # WORDS COMMAND...
{
    words=$1
    shift
    "$@" -q --explain > ../stdout 2> ../stderr && grep -qF -e "$words" ../stdout
    result $? "$words: $*"
}
plans 'heat, 16 steps, edge reflect; alpha 3, dt 0.0416667,' v16 --sigma 2 --alpha 3
plans 'heat, 5 steps, edge reflect; alpha 1, dt 0.121,' v16 --sigma 1.1
plans 'heat, 16 steps, edge reflect; alpha 1, dt 0.5,' v16 --sigma 2 --spacing 2,3,4
plans 'heat, 4 steps, edge reflect; alpha 1, dt 0.5,' v16 --sigma 2u --spacing 2,3,4
plans 'stage 1   gauss:1, 1 step, edge reflect' v16 --until 1 -f gauss:1 -f heat
plans 'stage 2   heat, at most 1000 steps, edge reflect;' v16 --until 1 -f gauss:1 -f heat
v16 -q -f gauss:1 -f identity -e wrap --explain | grep -qx 'stage 2   identity, 1 step'
result $? 'a stage that reads no neighbours has no edge'
plans 'rung blocked: asked for, tile 8 x 8' v16 --rung blocked --tile 8

# How many steps apart --until checks.
picture()
{
    imgheat rgb.png "$@"
}
plane()
{
    voxfilt -i v16.raw -t f32 -d 64,64 "$@"
}
for case in 'v16 100 heat' 'v16 26 twentyseven:.1,.05,.03,.03' 'v16 4 gauss:1' 'plane 140 heat' 'plane 5 gauss:1' \
    'picture 140 heat' 'picture 78 matrix:1,2,1;2,4,2;1,2,1/16' 'picture 5 gauss:1'; do
    # shellcheck disable=SC2086  # words
    set -- $case
    plans "checked: one step in $2, and the last" "$1" -f "$3" --until 1e-30
done

nine=$(seq 9 | sed 's/.*/-f scale:1,&/')
# shellcheck disable=SC2086  # words
v16 $nine --explain > explained.txt
# shellcheck disable=SC2086
v16 $nine -f gauss:1 $nine --explain > between.txt
[ "$(grep -c 'while samples are converted' explained.txt)" = 8 ] && [ "$(grep -c '^          scale: ' explained.txt)" = 1 ] &&
    [ "$(grep -c 'while samples are converted' between.txt)" = 8 ] && [ "$(grep -c '^          scale: ' between.txt)" = 10 ]
result $? 'four scale stages at each end cost no pass'

printf '\000\000\300\177\000\000\200\077\000\000\000\100' > nan.raw
voxfilt -i nan.raw -t f32 -d 3,1 -f identity --stats -o copied.raw 2> ../stderr
grep -q '^output channel 0  min 1  max 2  mean 1.5  deviation 0.5  L2 2.236[0-9]*  NaN 1$' ../stderr
result $? '--stats leave NaNs out and count them'

wide=$(seq -s ' ' 1024)
accepts 'a matrix of 1024 columns' '' v16 -f "matrix:$wide" -o wide.raw
refuses 2 "voxfilt: --filter: matrix:$wide 1: a matrix has 1 to 1024 rows and columns" v16 -f "matrix:$wide 1" -o out

for excess in 65536 65537; do
    { head -c $excess /dev/zero; make_volume -n 64 -t u8; } > behind.raw
    advice=''
    [ $excess = 65537 ] || advice=" (fits: --skip $excess)"
    refuses 3 "voxfilt: behind.raw: length: $((262144 + excess)) bytes, but 64 x 64 x 64 u8 take 262144$advice" \
        voxfilt -i behind.raw -n 64 -t u8 -o out
done

# No update by the flux tanh is more than alpha dt K.
v16 --flux tanh --scale 3 -s 1 -o moved.raw
od -An -v -tf4 -w4 v16.raw > ../before
od -An -v -tf4 -w4 moved.raw | paste ../before - | awk '
    { change = $2 - $1; if (change < 0) change = -change; if (change > most) most = change }
    END { exit !(NR == 4096 && most > 0.374 && most < 0.37501) }'
result $? 'tanh changes nothing by more than alpha dt K'

# Wisdom without XDG_CACHE_HOME.
mkdir home
(unset XDG_CACHE_HOME && HOME=$PWD/home imgheat --tune -D cpu gray.png > ../stdout)
[ "$(cd home && find . -type f)" = ./.cache/voxfilt/wisdom ]
result $? 'wisdom is kept in ~/.cache, and nothing else'
# A line for extents of the same class, another for twice as many, another work type, another kind of stage.
for case in '1 20,12' '1 24,15' '2 40,24' '3 20,12 --work f64' '4 20,12 -f laplace'; do
    # shellcheck disable=SC2086  # words
    imgheat --tune -D cpu -d ${case#* } > ../stdout
    [ "$(sed 1d ../cache/voxfilt/wisdom | wc -l)" -eq "${case%% *}" ]
    result $? "--tune -d ${case#* }: as many lines as cases that differ"
done
rm -r ../cache
refuses 2 'voxfilt: --steps: x: expected a whole number' v8 -s x --report=json:refused.json -o out
[ ! -e refused.json ]
result $? 'options that are refused leave no report'

# A GPU is not even looked for where there is little to do, and under a limit on addresses.
looks_for_gpu() # COMMAND...
{
    LD_DEBUG=libs "$@" 2>&1 | grep -q libcuda
}
if looks_for_gpu voxfilt --list; then
    large='voxfilt -i v64.raw -n 64 -t f32 -s 1000000000 --explain'
    ! looks_for_gpu v8 -o little.raw
    result $? 'a little work looks for no GPU'
    # shellcheck disable=SC2086  # words
    looks_for_gpu $large
    result $? 'a lot does'
    # shellcheck disable=SC3045  # where the shell cannot limit addresses, this is skipped
    if (ulimit -v 4000000 && voxfilt --version) > ../bare 2>&1; then
        # shellcheck disable=SC2086,SC3045
        ! (ulimit -v 4000000 && looks_for_gpu $large)
        result $? 'but not under a limit on addresses'
    else
        skip 'a limit on addresses'
    fi
else
    skip 'whether a GPU is looked for: there is no CUDA here, or no way to see it'
fi

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
    miss_reader 'the table of scipy.ndimage: python3 with scipy is not here'
fi

conclude
