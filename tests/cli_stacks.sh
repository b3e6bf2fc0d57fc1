#!/bin/sh
# Stacks of PNG pictures: names that differ in a number, in and out. Prints a line a case and fails if one does.
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
refuses 3 'voxfilt: mixed/0002.png: IHDR: 6 x 5, 3 channels of u8, but the stack has 6 x 5, 1 of u16' \
    convert -i 'mixed/%04d.png' -o out
head -c 60 s/0001.png > mixed/0002.png
convert -i 'mixed/%04d.png' -o out.raw 2> ../stderr
[ $? = 3 ] && grep -q '^voxfilt: mixed/0002.png: IDAT: ' ../stderr && [ ! -e out.raw ]
result $? 'a damaged picture is named'
printf 'no picture\n' > mixed/0002.png
convert -i 'mixed/%04d.png' -o out 2> ../stderr
[ $? = 3 ] && grep -q '^voxfilt: mixed/0002.png: ' ../stderr && [ ! -e out ]
result $? 'so is a file that is none'
refuses 2 'voxfilt: none/%d.png: a PNG holds u8 or u16, not f32 (--out-type, --out-range)' \
    convert -i scan.raw -d 6,5,2 -t f32 -o 'none/%d.png'
refuses 2 'voxfilt: none/%d.png: a PNG has at most 4 channels, not 5' \
    convert -i scan.raw -d 6,2,2 -t u16 --channels 5 -o 'none/%d.png'
refuses 2 'voxfilt: s/0003.png: it would continue the stack of 3; remove it first' \
    convert -i scan.raw -d 6,5,3 --skip 60 -t u16 -o 's/%04d.png'
refuses 2 'voxfilt: standard output: pictures need names with a number, as slices/%04d.png; --out-format chooses another format' \
    convert -i 's/%04d.png'
refuses 2 'voxfilt: s/0000.png: a stack of PNG pictures, whose header replaces -n and -d; --format raw reads the whole file as samples' \
    convert -i 's/%04d.png' -d 6,5 -o out

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

conclude
