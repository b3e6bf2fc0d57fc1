#!/bin/sh
# Stacks of PNG, TIFF and raw files: names that differ in a number, in and out. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

convert()
{
    voxfilt -f identity "$@"
}

count()
{
    set -- "$1"/*
    [ -e "$1" ] || set --
    echo $#
}

names()
{
    (cd "$1" && printf '%s ' *)
}

make_volume -d 6,5,4 -t u16 -o scan.raw
make_volume -d 18,5,3 -t u8 -o rgb.raw
mkdir s rgb flat
convert -i scan.raw -d 6,5,4 -t u16 -o 's/%04d.png'
[ "$(names s)" = '0000.png 0001.png 0002.png 0003.png ' ]
result $? 'a picture a plane, from 0 on'
accepts 'a stack is read' '' convert -i 's/%04d.png' -o back.raw --out-endian little
same 'and has the samples' scan.raw back.raw
convert -i rgb.raw -d 6,5,3 -t u8 --channels 3 -o 'rgb/p%d.png' --level 1
convert -i 'rgb/p%d.png' -o back.raw
same 'so has one in colour' rgb.raw back.raw
voxfilt -i scan.raw -d 6,5,4 -t u16 --spacing 1,1,2 -f heat -o heat.raw
voxfilt -q -i 's/%04d.png' --spacing 1,1,2 -f heat -o stack.raw --out-endian little
same 'planes are filtered as those of a volume' heat.raw stack.raw
imgheat -f identity s/0002.png -o one.png
same 'a picture is one for imgheat, too' s/0002.png one.png

mkdir ones
cp s/0000.png ones/001.png
cp s/0001.png ones/002.png
convert -i 'ones/%03d.png' -o 'flat/%d.png'
[ "$(names flat)" = '1.png 2.png ' ] && cmp -s s/0001.png flat/2.png
result $? 'a stack that begins with 1 begins with 1 again'
convert -i 'ones/%03d.png' -f scale:1,1 -o 'ones/%03d.png'
convert -i 'ones/%03d.png' -f scale:1,-1 -o flat.raw
head -c 120 scan.raw > head.raw
convert -i flat.raw -d 6,5,2 -t u16 --endian big --out-endian little -o back.raw
[ "$(count ones)" = 2 ] && same 'a stack may replace itself' head.raw back.raw

mkdir closed
cp s/0000.png closed/1.png
for number in 0 2; do
    ln -s $number.png closed/$number.png
    refuses 4 "voxfilt: closed/$number.png: Too many levels of symbolic links" convert -i 'closed/%d.png' -o closed.raw
    rm closed/$number.png
done

# ---------------------------------------------------------------- all or nothing

mkdir none
accepts 'samples that are cut off are counted' \
    "voxfilt: none/%d.png: 1 sample (50 %) was cut off at 255
" sh -c 'printf "\377\000\000\001" | voxfilt -i - -d 2,1,1 -t u16 -f identity --out-type u8 -o none/%d.png'
rm -f none/*
head -c 200 scan.raw > short.raw
from short.raw voxfilt -d 6,5,4 -t u16 -f identity -o 'none/%d.png' 2> ../stderr
[ "$(count none)" = 0 ]
result $? 'after an error there is no picture, and no temporary'
sh -c 'ulimit -f 0; trap "" XFSZ; voxfilt -i scan.raw -d 6,5,4 -t u16 -f identity -o "none/%d.png"' 2> ../stderr
[ $? = 4 ] && [ "$(count none)" = 0 ]
result $? 'nor after one of writing'

# ---------------------------------------------------------------- refusals

cp -r s gap
rm gap/0002.png
refuses 3 'voxfilt: gap/0002.png: missing, but the stack goes on to number 3' convert -i 'gap/%04d.png' -o out
rm gap/0000.png gap/0001.png
refuses 4 'voxfilt: gap/%04d.png: there is neither gap/0000.png nor gap/0001.png' convert -i 'gap/%04d.png' -o out
cp -r s mixed
cp rgb/p1.png mixed/0002.png
refuses 3 'voxfilt: mixed/0002.png: IHDR: 6 x 5, 3 channels of u8, but the stack has 6 x 5, 1 channel of u16' \
    convert -i 'mixed/%04d.png' -o out.raw
head -c 60 s/0001.png > mixed/0002.png
convert -i 'mixed/%04d.png' -o out.raw 2> ../stderr
[ $? = 3 ] && grep -q '^voxfilt: mixed/0002.png: IDAT: ' ../stderr && [ ! -e out.raw ]
result $? 'a damaged picture is named'
printf 'no picture\n' > mixed/0002.png
convert -i 'mixed/%04d.png' -o out.raw 2> ../stderr
[ $? = 3 ] && grep -q '^voxfilt: mixed/0002.png: ' ../stderr && [ ! -e out.raw ]
result $? 'so is a file that is none'
refuses 2 'voxfilt: none/0.png: a PNG holds u8 or u16, not f32 (--out-type, --out-range)' \
    convert -i scan.raw -d 6,5,2 -t f32 -o 'none/%d.png'
refuses 2 'voxfilt: none/0.png: a PNG holds gray or RGB, not 5 channels without alpha' \
    convert -i scan.raw -d 6,2,2 -t u16 --channels 5 -o 'none/%d.png'
refuses 2 'voxfilt: s/0003.png: it would continue the stack of 3; remove it first' \
    convert -i scan.raw -d 6,5,3 --skip 60 -t u16 -o 's/%04d.png'
refuses 2 'voxfilt: standard output: pictures need names with a number, as slices/%04d.png; --out-format chooses another format' \
    convert -i 's/%04d.png'
refuses 2 'voxfilt: s/0000.png: a stack of PNG pictures, whose header replaces -n and -d; --format raw reads the whole file as samples' \
    convert -i 's/%04d.png' -d 6,5 -o out

# Names that may be meant as those of a stack.
mkdir odd
for name in odd/s%x.nrrd odd/s%04d.nii odd/%d-%d.raw; do
    accepts "$name is one file" "voxfilt: $name: one file: the name of a stack has one %d or %04d, and ends in .png, .tif, .tiff or .raw
" convert -i scan.raw -d 6,5,4 -t u16 -o "$name"
done
accepts 'with --out-format it is one on purpose' '' convert -i scan.raw -d 6,5,4 -t u16 --out-format raw -o odd/s%u.raw

# ---------------------------------------------------------------- what would replace a picture

mkdir to
tee() # OUTPUT OPTION...
{
    output=$1
    shift
    voxfilt -q -i scan.raw -d 6,5,4 -t u16 -o "$output" "$@"
}
refuses 2 'voxfilt: --preview: s/0002.png: an input would be replaced' voxfilt -i 's/%04d.png' -o out --preview s/0002.png
refuses 2 'voxfilt: --tee: ./s/0002.png: an input would be replaced' voxfilt -i 's/%04d.png' -o out --tee 1:./s/0002.png
refuses 2 'voxfilt: --preview: to/2.png: an output goes there' tee 'to/%d.png' --preview to/2.png
refuses 2 'voxfilt: --report: to/2.png: an output goes there' tee 'to/%d.png' --report=json:to/2.png
refuses 2 'voxfilt: --tee: to/2.png: an output goes there' tee 'to/%d.png' --tee 1:to/2.png
refuses 2 'voxfilt: --tee: to/%02d.png: an output goes there' tee 'to/%d.png' --tee '1:to/%02d.png'
refuses 2 'voxfilt: --tee: to/%d.png: --preview goes there' tee out --tee '1:to/%d.png' --preview to/2.png
refuses 2 'voxfilt: --tee: to/%d.png: another state goes there' tee out --tee 1:to/2.png --tee '2:to/%d.png'
accepts 'other names are in nobody'"'"'s way' '' tee 'to/%d.png' --tee '1:to/a%d.png' --tee 2:to/02.png --preview to/x.png
for name in to/%d.png to/%02d.png; do
    refuses 2 "voxfilt: $name: --slice writes one picture: its name has no %d" tee "$name" --slice z=1
done
refuses 2 'voxfilt: to/%d.png: --slice writes one picture: its name has no %d' tee out --slice z=1 --tee 1:to/%d.png
mkdir one two all
convert -i scan.raw -d 6,5,4 -t u16 -o 'one/%d.png'
convert -i scan.raw -d 6,5,4 -t u16 -o 'two/%02d.png'
refuses 2 'voxfilt: all/%d.png and all/%02d.png could both have a picture of the same name' \
    voxfilt 'one/%d.png' 'two/%02d.png' -o all/
convert -i scan.raw -d 6,5,4 -t u16 -o 'two/b%d.png'
accepts 'stacks of other names go together' '' voxfilt -f identity 'one/%d.png' 'two/b%d.png' -o all/
same 'as the one' one/3.png all/3.png
same 'and as the other' two/b3.png all/b3.png
refuses 4 'voxfilt: absent/%04d.png: there is neither absent/0000.png nor absent/0001.png' \
    convert -i 'absent/%04d.png' -o out
refuses 4 'voxfilt: absent/0.png: No such file or directory' convert -i scan.raw -d 6,5,4 -t u16 -o 'absent/%d.png'

# ---------------------------------------------------------------- files of TIFF and raw samples

make_volume -d 24,20,30 -t u16 -o cube.raw
cube()
{
    voxfilt -q -i cube.raw -d 24,20,30 -t u16 "$@"
}
# Filters the stack of this ending.
stack() # ENDING OPTION...
{
    ending=$1
    shift
    dims=
    [ "$ending" != raw ] || dims='-d 24,20 -t u16'
    # shellcheck disable=SC2086  # words
    voxfilt -q -i "$ending/%03d.$ending" $dims "$@"
}
cube -f gauss:1 -o blurred.raw
cube -f gauss:0.25 --planes 11:21 -o ten.raw
for ending in png tif tiff raw; do
    [ "${ending#tif}" = "$ending" ] || reads_tiff || continue
    mkdir $ending
    cube -f identity -o "$ending/%03d.$ending"
    stack "$ending" -f identity --out-format raw --out-endian little -o back.raw
    same "$ending: the samples come back" back.raw cube.raw
    stack "$ending" -f gauss:1 --out-format raw --out-endian little -o back.raw
    same "$ending: and are filtered as a volume" back.raw blurred.raw
    for threads in 1 9; do
        stack "$ending" -j $threads -f gauss:1 -o "$ending/t$threads.%d.$ending"
    done
    for k in 1 2 3 4; do
        stack "$ending" -f gauss:1 --part $k/4 -o "$ending/p%d.$ending"
    done
    equal=0
    for k in 0 6 7 14 15 21 22 29; do
        cmp "$ending/t1.$k.$ending" "$ending/t9.$k.$ending" && cmp "$ending/t1.$k.$ending" "$ending/p$k.$ending" || equal=1
    done
    [ $equal = 0 ] && [ "$(count "$ending")" = 120 ]
    result $? "$ending: files are the same for any threads, and those of all parts are the whole"
    touch "$ending/30.$ending"
    refuses 2 "voxfilt: $ending/30.$ending: it would continue the stack of 30; remove it first" \
        stack "$ending" --part 1/4 -f identity -o "$ending/%d.$ending"
    refuses 2 "voxfilt: $ending/%03d.$ending: --part: it would replace files that other parts read" \
        stack "$ending" --part 1/2 -o "$ending/%03d.$ending"
    refuses 2 "voxfilt: --piece: cat cannot join files of the format $ending; --part writes complete ones" \
        stack "$ending" --piece 1/2 -o "$ending/x%d.$ending"
    # Ten planes need one more on either side: their files are opened, and the first.
    for k in 001 002 003 004 005 006 007 008 009 022 023 024 025 026 027 028 029; do
        printf x > "$ending/$k.$ending"
    done
    stack "$ending" -f gauss:0.25 --planes 11:21 --out-format raw --out-endian little -o back.raw
    same "$ending: ten planes need twelve files and the first" back.raw ten.raw
    stack "$ending" -f gauss:0.25 -o "none/%d.$ending" 2> ../stderr
    [ $? = 3 ] && [ "$(count none)" = 0 ] && grep -q "^voxfilt: $ending/001.$ending: " ../stderr && [ "$(wc -l < ../stderr)" = 1 ]
    result $? "$ending: a damaged one is named, and leaves nothing"
    stack "$ending" -f gauss:0.25 --out-format raw > out.raw 2> ../stderr
    [ $? = 3 ] && [ ! -s out.raw ]
    result $? "$ending: into a pipe, before the first byte"
done

# Raw files.
accepts 'a volume of raw files, too' '' sh -c "voxfilt -i 'raw/t1.%d.raw' -d 24,20 -t u16 -f identity > pages.raw"
same 'has all their samples' pages.raw blurred.raw
voxfilt -q -i 'raw/t1.%d.raw' -d 24,20 -t u16 --spacing 1,1,3 -f heat -o back.raw
voxfilt -q -i blurred.raw -d 24,20,30 -t u16 --spacing 1,1,3 -f heat -o wanted.raw
same 'distances of raw files are given for three axes' back.raw wanted.raw
accepts 'the type of raw files follows from the length of the first' \
    'voxfilt: raw/t1.0.raw: 2 bytes a sample, taken as u16 (if they are signed: -t i16; if floating point: -t f16)
' voxfilt -i 'raw/t1.%d.raw' -d 24,20 -f identity -o back.raw
refuses 2 'voxfilt: raw/t1.%d.raw: each file is a plane: give -d X,Y' voxfilt -i 'raw/t1.%d.raw' -d 24,20,30 -t u16 -o out
truncate -s 959 raw/t1.7.raw
refuses 3 'voxfilt: raw/t1.7.raw: length: 959 bytes, but 24 x 20 u16 take 960' \
    voxfilt -i 'raw/t1.%d.raw' -d 24,20 -t u16 -o out.raw
refuses 4 'voxfilt: raw/t1.%d.raw: No such file or directory' \
    voxfilt -i 'raw/t1.%d.raw' --format raw -d 24,20,30 -t u16 -o out

reads_tiff || { conclude; exit; }

# What TIFF files say of distances, and one file of all planes.
cube --spacing 0.5,0.25,2 -f identity -o 'tif/h%d.tif'
voxfilt -i 'tif/h%d.tif' --explain > ../stdout
grep -qx 'grid      24 x 20 x 30, 1 channel, spacing 0.5 0.25 2' ../stdout
result $? 'distances are told by each file'
accepts 'planes are those of one file' '' sh -c "voxfilt -i 'tif/h%d.tif' -f identity > pages.tif"
cube --spacing 0.5,0.25,2 -f identity -o wanted.tif
same 'with the header of one' pages.tif wanted.tif
cube --spacing 0.5,0.25,2 -f identity -o unit.nii
voxfilt -q unit.nii -f identity --level 6 -o 'tif/u%d.tif'
voxfilt -q -i 'tif/u%d.tif' -f identity -o back.nii
voxfilt -i back.nii --explain > ../stdout
grep -qx 'grid      24 x 20 x 30, 1 channel, spacing 0.5 0.25 2' ../stdout && tail -c 28800 back.nii | cmp - cube.raw
result $? 'deflated files have them, too'

# Files that differ from the first.
mkdir unlike
convert -i scan.raw -d 6,5,3 --skip 60 -t u16 -o 'unlike/%d.tif'
differs() # WORDS OPTION...
{
    words=$1
    shift
    convert -q -i scan.raw --endian little "$@" -o unlike/1.tif
    refuses 3 "voxfilt: unlike/1.tif: $words" convert -i 'unlike/%d.tif' -o out.raw
}
not=': not that of the first file of the stack'
like=', but the stack has 6 x 5, 1 channel of u16'
differs "ImageWidth: 5 x 5, 1 channel of u16$like" -d 5,5 -t u16 --skip 190
differs "ImageLength: 6 x 4, 1 channel of u16$like" -d 6,4 -t u16 --skip 192
differs "SamplesPerPixel: 6 x 5, 2 channels of u16$like" -d 6,5 -t u16 --channels 2 --skip 120
differs "BitsPerSample: 6 x 5, 1 channel of u8$like" -d 6,5 -t u8 --skip 210
differs "SampleFormat: 6 x 5, 1 channel of i16$like" -d 6,5 -t i16 --skip 180
differs "byte order$not" -d 6,5 -t u16 --out-endian big --skip 180
differs "spacing$not" -d 6,5 -t u16 --spacing 2,2 --skip 180
differs '2 planes, but each file of a stack is one' -d 6,5,2 -t u16 --skip 120

conclude
