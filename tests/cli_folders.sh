#!/bin/sh
# Several volumes in one call of voxfilt: the files of single calls, in every format, bad ones told, names that clash.
# Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# Two directories hold the same.
same_folders() # NAME A B
{
    [ -n "$(ls -A "$2")" ] && diff -r "$2" "$3"
    result $? "$1"
}

# ---------------------------------------------------------------- inputs

mkdir in single
n=0
for form in nii nii.gz hdr nrrd nhdr mha mhd npy; do
    n=$((n + 1))
    make_volume -d $((20 + n)),9,$((40 - n)) -t u16 -o scan.raw
    voxfilt -i scan.raw -d $((20 + n)),9,$((40 - n)) -t u16 -f identity -o "in/$n.$form"
done
volumes=$(find in -name '[0-9].*' ! -name '*.raw' ! -name '*.img' | sort)
for volume in $volumes; do
    voxfilt -j 1 -f gauss:1.2 -f heat "$volume" -o "single/${volume#in/}"
done

voxfilt -i v64.raw -n 64 -t f32 -f identity --level 1 -o large.nrrd

# ---------------------------------------------------------------- the same files

accepts 'an operand is an input' '' voxfilt -f gauss:1.2 -f heat in/4.nrrd -o operand.nrrd
same 'as --input is' operand.nrrd single/4.nrrd
for threads in 1 2 7; do
    empty_folder made
    # shellcheck disable=SC2086  # words
    accepts "-j $threads: every format" '' voxfilt -j $threads -f gauss:1.2 -f heat $volumes -o made/
    same_folders "-j $threads: headers and samples of single calls" single made
done
empty_folder made
# shellcheck disable=SC2086
accepts 'little memory' '' voxfilt -j 3 -m 1M -f gauss:1.2 -f heat $volumes -o made
same_folders 'little memory: the same files' single made
cp -r in own
# shellcheck disable=SC2046
accepts 'volumes in their own directory' '' \
    voxfilt -j 2 -f gauss:1.2 -f heat $(find own -name '[0-9].*' ! -name '*.raw' ! -name '*.img') -o own/
same_folders 'are replaced by their outputs, and so are their samples' single own
empty_folder made
accepts '-n and --type are for every raw volume' '' voxfilt -n 8 -t u8 v8.raw scan_8x8x8_u8.raw -o made/
v8 -o one.raw
same 'the first' one.raw made/v8.raw
same 'and the second' one.raw made/scan_8x8x8_u8.raw

# ---------------------------------------------------------------- --out-format names the files

empty_folder made
cp in/5.nhdr 5.txt
cp in/5.raw .
accepts 'endings of other formats are replaced' '' \
    voxfilt -f identity --out-format nrrd in/2.nii.gz in/4.nrrd in/6.mha 5.txt -o made/
folder_holds made 2.nrrd 4.nrrd 6.nrrd 5.txt.nrrd
voxfilt -f identity in/2.nii.gz -o converted.nrrd
same 'as for a single file' converted.nrrd made/2.nrrd
empty_folder made
accepts 'into headers with their samples beside them' '' \
    voxfilt -f identity --out-format mhd in/1.nii in/8.npy -o made/
folder_holds made 1.mhd 1.raw 8.mhd 8.raw
accepts 'one volume, too' '' voxfilt -f identity --out-format npy in/1.nii -o made/
folder_holds made 1.mhd 1.raw 8.mhd 8.raw 1.npy

# ---------------------------------------------------------------- bad ones among good ones

head -c 900 in/4.nrrd > cut.nrrd
for threads in 1 4; do
    empty_folder made
    ends "-j $threads: bad ones are told in order, and the others are done" 3 \
        "voxfilt: cut.nrrd: length: samples of exactly 820 bytes, but 24 x 9 x 36 u16 take 15552
voxfilt: none.nii: No such file or directory
voxfilt: rgb.png: a PNG picture: imgheat filters pictures
" voxfilt -j $threads -f gauss:1.2 -f heat in/1.nii cut.nrrd none.nii in/7.mhd rgb.png in/5.nhdr -o made/
    folder_holds made 1.nii 5.nhdr 5.raw 7.mhd 7.raw
    same "-j $threads: one of the good ones" single/7.raw made/7.raw
done
empty_folder made
ends 'one that needs more memory than there is' 6 \
    'voxfilt: large.nrrd: --memory: this job needs 320 KiB (327680 bytes), and 100 KiB are allowed
' voxfilt -j 2 -m 100K -f gauss:1 in/1.nii large.nrrd -o made/
folder_holds made 1.nii

# ---------------------------------------------------------------- operands as other programs take them

refuses 2 'voxfilt: out.nrrd: operands are inputs, and there is no such file; did you mean --output out.nrrd?' \
    voxfilt in/4.nrrd out.nrrd
refuses 2 'voxfilt: 2 inputs need a directory, --output DIR/; did you mean to replace in/1.nii with --output in/1.nii?' \
    voxfilt in/4.nrrd in/1.nii
refuses 2 'voxfilt: single: operands are inputs, and this one is a directory; did you mean --output single?' \
    voxfilt in/4.nrrd single
refuses 2 'voxfilt: 2 inputs need a directory: --output DIR/' voxfilt in/4.nrrd in/1.nii -o out.nrrd

# ---------------------------------------------------------------- names that clash

mkdir other
cp in/4.nrrd other
cp in/5.nhdr other/5.mhd
cp in/5.raw other/5.raw
ln -s other/5.raw link.raw
empty_folder made
refuses 2 'voxfilt: in/4.nrrd and other/4.nrrd would have the same name in made/' \
    voxfilt in/4.nrrd other/4.nrrd -o made/
refuses 2 'voxfilt: in/1.nii and other/1.nrrd would have the same name in made/' \
    voxfilt --out-format mha in/1.nii in/4.nrrd other/1.nrrd -o made/
refuses 2 'voxfilt: standard input has no name for an output in made/' voxfilt in/4.nrrd - -o made/
refuses 2 'voxfilt: made/5.nhdr and made/5.raw could both be written into 5.raw' \
    voxfilt in/5.nhdr other/5.raw -o made/
refuses 2 'voxfilt: made/5.nhdr and made/5.mhd could both be written into 5.raw' \
    voxfilt in/5.nhdr other/5.mhd -o made/
refuses 2 'voxfilt: link.raw: it would be replaced by the output for in/5.nhdr' \
    voxfilt in/5.nhdr -n 4 link.raw -o other/
mkdir led
cp in/5.raw other/linked.raw
ln -s linked.nhdr led/5.nhdr
refuses 2 'voxfilt: led/5.nhdr and led/linked.raw could both be written into linked.raw' \
    voxfilt in/5.nhdr other/linked.raw -o led/
[ -z "$(ls -A made)" ]
result $? 'and nothing was written'

# ---------------------------------------------------------------- what is told

empty_folder made
voxfilt -j 2 --stats -f gauss:1 in/4.nrrd none.nii in/1.nii -o made/ 2> ../stderr
sed -n 's/  min .*//p; /->/p; /none/p' ../stderr > ../told
printf '%s\n' 'in/4.nrrd -> made/4.nrrd' 'input  channel 0' 'output channel 0' 'voxfilt: none.nii: No such file or directory' \
    'in/1.nii -> made/1.nii' 'input  channel 0' 'output channel 0' | diff - ../told
result $? '--stats: files in order, each with its lines'
voxfilt -j 2 --report=json:report.json -f gauss:1 in/4.nrrd in/1.nii -o made/
grep -c '"input": "in/[14]' report.json | grep -q '^2$'
result $? '--report: a line for each'

conclude
