#!/bin/sh
# Files that describe their volumes: recognition, what headers say, what is kept, conversion, refusals. Prints a line a case
# and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

convert()
{
    voxfilt -f identity "$@"
}

make_volume -d 6,5,4 -t u16 -o scan.raw
cp scan.raw samples

# ---------------------------------------------------------------- every format, from raw and back

for form in nii nii.gz hdr nrrd nhdr mha mhd npy; do
    convert -i samples -d 6,5,4 -t u16 -o scan.$form
    accepts "$form is recognised by what it holds" '' convert -i scan.$form -o back.raw
    same "$form: the samples are the same" scan.raw back.raw
    accepts "$form: a filter reads it" '' voxfilt -i scan.$form -f gauss:1 -o filtered.raw
    voxfilt -i scan.raw -d 6,5,4 -t u16 -f gauss:1 -o plain.raw
    same "$form: and filters it as raw samples" plain.raw filtered.raw
    accepts "$form: --format may name it" '' convert -i scan.$form --format $form -o named.raw
    same "$form: with the same samples" scan.raw named.raw
done
for form in nii nii.gz nrrd mha npy; do
    piped scan.$form voxfilt -f identity > back.$form
    same "$form through a pipe stays what it is" scan.$form back.$form
    from scan.raw voxfilt -d 6,5,4 -t u16 -f identity --out-format $form > there.$form
    same "$form by --out-format" scan.$form there.$form
done
convert -i scan.raw -d 6,5,4 -t u16 -j 1 -o one.nii.gz
convert -i scan.raw -d 6,5,4 -t u16 -j 4 -o four.nii.gz
same 'threads do not change a compressed file' one.nii.gz four.nii.gz
gzip -t scan.nii.gz
result $? 'gzip finds no fault with what is compressed'
gzip -dc scan.nii.gz > unpacked.nii
same 'and unpacks the file that it would have been' scan.nii unpacked.nii
gzip -c scan.raw > scan.raw.gz
accepts 'raw samples compressed by gzip' '' convert -i scan.raw.gz -d 6,5,4 -t u16 -o back.raw
same 'are unpacked' scan.raw back.raw
convert -i scan.raw -d 6,5,4 -t u16 -o ours.raw.gz
gzip -dc ours.raw.gz > back.raw
same 'and compressed' scan.raw back.raw
refuses 2 'voxfilt: scan.raw.gz: raw samples, compressed by gzip, need -n N or -d X[,Y[,Z]]' convert -i scan.raw.gz -o out

# ---------------------------------------------------------------- samples beside a header replace no input

cp scan.raw own.raw
for form in mhd nhdr; do
    refuses 2 "voxfilt: own.raw: an input would be replaced by the samples of own.$form" \
        voxfilt -i own.raw -d 6,5,4 -t u16 -f gauss:1 -o own.$form
    refuses 2 "voxfilt: own.raw: an input would be replaced by the samples of own.$form" \
        from own.raw voxfilt -d 6,5,4 -t u16 -f gauss:1 -o own.$form
done
same 'the input stays as it is' scan.raw own.raw
convert -i scan.raw -d 6,5,4 -t u16 -o pair.mhd
refuses 2 'voxfilt: pair.raw: an input would be replaced by the samples of pair.nhdr' \
    voxfilt -i pair.mhd -f gauss:1 -o pair.nhdr
refuses 2 'voxfilt: --output: pair.raw: samples of the input would be replaced' voxfilt -i pair.mhd -o pair.raw
refuses 2 'voxfilt: --tee: pair.raw: samples of the input would be replaced' voxfilt -i pair.mhd --tee 1:pair.raw -o out
refuses 2 'voxfilt: --preview: ./pair.raw: samples of the input would be replaced' \
    voxfilt -i pair.mhd --preview ./pair.raw -o out
refuses 2 'voxfilt: --report: ./pair.raw: samples of the input would be replaced' \
    voxfilt -i pair.mhd --report=json:./pair.raw -o out
refuses 2 'voxfilt: --report: pair.raw: samples of the input would be replaced' \
    from pair.mhd voxfilt --report=json:pair.raw -o out
mkdir both
refuses 2 'voxfilt: --report: pair.raw: samples of the input would be replaced' \
    voxfilt scan.raw pair.mhd --report=text:pair.raw -o both/
ls both > ../left
[ ! -s ../left ] && cmp scan.raw pair.raw
result $? 'before anything runs, so that they stay as they are'
echo old > report.json
accepts 'another file may be replaced' '' from pair.mhd voxfilt --report=json:report.json -f identity -o same.raw
same 'and standard input is read from its start' scan.raw same.raw
accepts 'a header and its samples are replaced together' '' voxfilt -i pair.mhd -f gauss:1 -o pair.mhd
voxfilt -i scan.raw -d 6,5,4 -t u16 -f gauss:1 -o expected.raw
same 'by the result' expected.raw pair.raw

# ---------------------------------------------------------------- a header speaks for itself

for option in '--type u16' '--endian little' '--skip 352' '--channels 2'; do
    # shellcheck disable=SC2086  # an option and its value
    refuses 2 "voxfilt: scan.nii: a NIfTI file, whose header replaces ${option%% *}; --format raw reads the whole file as samples" \
        convert -i scan.nii $option -o out
done
refuses 2 'voxfilt: scan.nii: a NIfTI file, whose header replaces -n and -d; --format raw reads the whole file as samples' \
    convert -i scan.nii --format nii -d 6,5,4 -o out
refuses 2 'voxfilt: out.nii: --level: the format nii takes no level of compression' \
    convert -i scan.raw -d 6,5,4 -t u16 --level 3 -o out.nii
convert -i scan.nii --level 9 -o best.nii.gz
gzip -dc best.nii.gz > unpacked.nii
same '--level is that of the compression' scan.nii unpacked.nii
make_volume -n 32 -t u16 -o noise.raw
for level in '' 3 6; do
    voxfilt -i noise.raw -n 32 -t u16 -f gauss:2 ${level:+--level $level} -o level$level.nii.gz
done
same 'it is 3 by default' level.nii.gz level3.nii.gz
differ 'and not 6' level.nii.gz level6.nii.gz
accepts 'a volume under the name of a picture' 'voxfilt: slice.png: a NIfTI file is written, despite the name
' convert -i scan.nii -o slice.png
voxfilt --list > ../list
for form in raw raw.gz nii nii.gz hdr nrrd nhdr mha mhd npy; do
    grep -q "^  $form " ../list
    result $? "--list has $form"
done

# ---------------------------------------------------------------- spacing

voxfilt -i scan.raw -d 6,5,4 -t u16 --spacing 0.5,0.5,2 -f heat -s 3 -o spaced.nii
voxfilt -i scan.raw -d 6,5,4 -t u16 --spacing 0.5,0.5,2 -f heat -s 6 -o six.raw
voxfilt -i spaced.nii -f heat -s 3 -o six-again.nii
convert -i six-again.nii -o three-and-three.raw
voxfilt -i scan.raw -d 6,5,4 -t u16 --spacing 0.5,0.5,2 -f heat -s 3 -o three.raw
voxfilt -i three.raw -d 6,5,4 -t u16 --spacing 0.5,0.5,2 -f heat -s 3 -o expected.raw
same 'spacing of a header reaches the heat stage' expected.raw three-and-three.raw
differ 'and makes a difference' expected.raw six.raw
accepts '--spacing overrides it, and says so' 'voxfilt: spaced.nii: --spacing 1,1,1 instead of 0.5,0.5,2 in the header
' voxfilt -i spaced.nii --spacing 1,1,1 -f heat -s 3 -o overridden.nii
voxfilt -i three.raw -d 6,5,4 -t u16 -f heat -s 3 -o expected.raw
convert -i overridden.nii -o overridden.raw
same 'and counts' expected.raw overridden.raw
accepts 'and stands in the header that is written' 'voxfilt: overridden.nii: --spacing 2,2,2 instead of 1,1,1 in the header
' voxfilt -i overridden.nii --spacing 2,2,2 -f heat -s 1 -o out.nii

# A header may have more axes than its grid, or one alone: a distance for each of them.
respaced() # NAME HEADER FILE EXPECTED
{
    { printf '%b' "$2" && head -c 120 scan.raw; } > "$3"
    voxfilt -q -i "$3" --spacing 2,2,3 -f heat -s 1 -o "respaced-$3"
    grep -aqx "$4" "respaced-$3"
    result $? "$1: spacing fits the header"
    accepts "$1: which is read" "voxfilt: respaced-$3: left out: spacing
" convert -i "respaced-$3" -o back.raw
}
respaced 'a series of one' 'NRRD0004\ntype: uint8\ndimension: 4\nsizes: 6 5 4 1\nspacings: 1 1 1 7\nencoding: raw\n\n' \
    series.nrrd 'spacings: 2 2 3 7'
respaced 'one channel' 'NRRD0004\ntype: uint8\ndimension: 4\nsizes: 1 6 5 4\nkinds: vector space space space\nencoding: raw\n\n' \
    channel.nrrd 'spacings: nan 2 2 3'
respaced 'one axis' 'NRRD0004\ntype: uint8\ndimension: 1\nsizes: 120\nencoding: raw\n\n' line.nrrd 'spacings: 2'
respaced 'mha: a series of one' 'NDims = 4\nDimSize = 6 5 4 1\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n' \
    series.mha 'ElementSpacing = 2 2 3 1'
respaced 'mha: the distance between volumes' \
    'NDims = 4\nDimSize = 6 5 4 1\nElementSpacing = 1 1 1 7\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n' \
    distant.mha 'ElementSpacing = 2 2 3 7'

# ---------------------------------------------------------------- what is not understood is kept

# A byte of a file, by its offset from 0.
poke() # FILE OFFSET BYTES
{
    # shellcheck disable=SC2059  # escapes are wanted
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2> ../dd
}
cp scan.nii noted.nii
poke noted.nii 148 'scanned on a Sunday'
poke noted.nii 112 '\000\000\000\100'
scale='voxfilt: noted.nii: a sample v stands for the value 2 v + 0
'
accepts 'a slope is told' "$scale" convert -i noted.nii -o kept.nii
same 'fields that mean nothing here are kept, and the slope' noted.nii kept.nii
accepts 'a range that is asked for ends the slope' "${scale}voxfilt: noted.nii: left out: scl_slope, scl_inter
" \
    voxfilt -i noted.nii -f identity --out-range=0,65535 -o mapped.nii
cp scan.nii shown.nii
poke shown.nii 124 '\000\000\200\077\000\000\000\077'
convert -i shown.nii -o kept.nii
same 'cal_min and cal_max are kept' shown.nii kept.nii
voxfilt -q -i shown.nii -f identity --out-range=0,65535 -o still.nii
same 'but not if samples are mapped' "$(voxfilt -q -i scan.nii -f identity --out-range=0,65535 -o plain.nii && echo plain.nii)" still.nii
accepts 'a range of a smoothed volume is kept' '' voxfilt -i shown.nii -f gauss:1 -o smooth.nii
[ "$(dd if=smooth.nii bs=1 skip=124 count=8 2> ../dd | od -An -tx1)" = ' 00 00 80 3f 00 00 00 3f' ]
result $? 'as it was'
accepts 'that of a derivative is not, and named' 'voxfilt: shown.nii: left out: cal_max, cal_min
' voxfilt -i shown.nii -f gradient -o steep.nii
[ "$(dd if=steep.nii bs=1 skip=124 count=8 2> ../dd | od -An -tx1)" = ' 00 00 00 00 00 00 00 00' ]
result $? 'and is 0'
cp noted.nii ct.nii
poke ct.nii 116 '\000\000\200\304'
inter() # FILE
{
    dd if="$1" bs=1 skip=116 count=4 2> ../dd | od -An -tx1
}
voxfilt -q -i ct.nii -f laplace -s 2 --tee 0:before.nii --tee 1:between.nii --out-type i32 -o after.nii
[ "$(inter before.nii)$(inter between.nii)$(inter after.nii)" = ' 00 00 80 c4 00 00 00 00 00 00 00 00' ]
result $? 'a state before a derivative has its intercept, and those after it have none'
voxfilt -i ct.nii -f laplace -e hold --explain 2> ../stderr > ../plan
grep -q '^stage 1   proportion: from here on samples are proportional to their values$' ../plan
result $? 'what edges keep has the intercept of the rest'
voxfilt -i ct.nii -f gauss:1 -e hold --explain 2> ../stderr > ../plan
grep -q proportion ../plan
[ $? = 1 ]
result $? 'which needs no stage where constants stay'
voxfilt -q -i ct.nii -f clamp:0,0 -o flat.nii
for spec in gauss:1,order=1,0,0 log:1 gradmag:1; do
    voxfilt -q -i flat.nii -f $spec -e constant:0 --out-type f32 -o level.raw
    [ -s level.raw ] && [ "$(tr -d '\000' < level.raw | wc -c)" = 0 ]
    result $? "$spec of values of 0 among zeros is 0: each pass has the edge of values"
done
cp ct.nii falling.nii
poke falling.nii 112 '\000\000\000\300'
for filter in tophat:1 blackhat:1; do
    voxfilt -q -i falling.nii -f $filter -f $filter --out-type f32 -o stages.nii
    voxfilt -q -i falling.nii -f $filter -s 2 --out-type f32 -o steps.nii
    same "$filter: under a negative slope two steps are two stages" stages.nii steps.nii
done
# Multiplying by -2 loses nothing, so that values come out the same to the bit, but for the sign of 0.
poke falling.nii 116 '\000\000\000\000'
voxfilt -q -i falling.nii -f power:1 --out-type f64 -o values.nii
for chain in '-f gauss:1 -f gradient -s 2' '-f order:1,3 -s 2 -f percentile:1,80,ball' '-f tophat:1 -s 2 -f median:1' \
    '-f open:1 -e constant:-5 -f blackhat:1 -s 2 -e hold' '-f log:0.6 -e constant:3 -f max:1' '-f min:1 -f abs -f unsharp:1,2' \
    '-f gradmag:1 -s 2 -f clamp:-300,60' '-f bilateral:0.6,90 -s 2' '-f heat --flux pm1 --scale 300 -s 3 -f threshold:-500,7,-9' \
    '-f morphgrad:1 -s 2 -f scale:-0.5,3'; do
    # shellcheck disable=SC2086  # words are wanted
    voxfilt -q -i falling.nii $chain --work f64 --out-type f64 -o of-samples.nii
    # shellcheck disable=SC2086
    voxfilt -q -i values.nii $chain -o of-values.nii
    voxfilt -q -i of-samples.nii -f power:1 -o samples.raw
    voxfilt -q -i of-values.nii -f scale:1,0 -o values.raw
    same "$chain: samples of a negative slope are filtered as their values are" samples.raw values.raw
done
voxfilt -q -i scan.nii -f identity --spacing 0.5,2,1 -o measured.nii
poke measured.nii 123 '\002'
voxfilt -q -i measured.nii -f gauss:1.5u -f unsharp:2u,1 -o units.raw
for spec in 'gauss:1.5mm -f unsharp:2mm,1' 'gauss:1500um,1500um,1500um -f unsharp:2000um,1' 'gauss:0.15cm,0.15,0.15 -f unsharp:0.2cm,1'; do
    # shellcheck disable=SC2086  # words are wanted
    voxfilt -q -i measured.nii -f $spec -o other.raw
    same "$spec is 1.5 units of a file in millimetres" units.raw other.raw
done
poke measured.nii 123 '\003'
voxfilt -q -i measured.nii -f gauss:1.5um -f unsharp:2um,1 -o other.raw
same 'and micrometres are those of a file that has them' units.raw other.raw
refuses 2 'voxfilt: --filter: gauss:6mm: the input has no unit of length; u instead of it is a unit of the spacing' \
    voxfilt -i scan.nrrd -f gauss:6mm -o out
voxfilt -i ct.nii -f gauss:1 -f threshold:300 --explain 2> ../stderr > ../plan
grep -q '^stage 2   values: from here on samples are values$' ../plan
result $? 'nor a slope what is above a threshold, so that a filter takes values'
# What a refusal tells to give makes the command work, and the result is that of the values themselves.
voxfilt -q -i ct.nii -f power:1 --out-type f32 --out-format npy -o values.npy
for options in '-f ln' '-f exp' '-f power:0.5' '-f abs' '-f ln -f gauss:1' '--reaction 0.1 -s 3' '--reaction 0.1 -e constant:9 --flux pm1 --scale 30'; do
    # shellcheck disable=SC2086  # words are wanted
    voxfilt -i ct.nii $options -o out > ../stdout 2> ../stderr
    [ $? = 2 ] && [ ! -e out ] &&
        grep -q '^voxfilt: ct.nii: [a-z0-9.:]*: a sample v stands for 2 v + -1024, and u16 would round what becomes of values: give --out-type f32$' ../stderr
    result $? "$options: integers are refused"
    # shellcheck disable=SC2046,SC2086  # and those of the hint
    voxfilt -q -i ct.nii $options $(sed 's/.*: give //' ../stderr) -o given.raw && voxfilt -q -i values.npy $options -o wanted.raw
    same "$options: and the hint works" wanted.raw given.raw
done
cp scan.nii falling.nii
poke falling.nii 112 '\000\000\200\277'
for pair in 'min:1 max:1' 'order:1,1,ball order:1,5,ball' 'median:1 median:1'; do
    voxfilt -q -i falling.nii -f "${pair% *}" -o falling.raw
    voxfilt -q -i scan.nii -f "${pair#* }" -o rising.raw
    same "a negative slope turns the order around: $pair" falling.raw rising.raw
done
accepts 'and no note names them any more' 'voxfilt: mapped.nii: left out: descrip
' convert -i mapped.nii -o mapped.raw
convert -q -i noted.nii --out-endian big -o big.nii
convert -q -i big.nii --out-endian little -o little.nii
same 'there and back through the other byte order' noted.nii little.nii
differ 'which is another one' noted.nii big.nii

# ---------------------------------------------------------------- damage

head -c 100 scan.nii > short.nii
refuses 3 'voxfilt: short.nii: header: the file ends within it' convert -i short.nii -o out
head -c 500 scan.nii > short.nii
refuses 3 'voxfilt: short.nii: length: samples of exactly 148 bytes, but 6 x 5 x 4 u16 take 240' convert -i short.nii -o out
cat scan.nii scan.nii > long.nii
refuses 3 'voxfilt: long.nii: length: samples of exactly 832 bytes, but 6 x 5 x 4 u16 take 240' convert -i long.nii -o out
head -c 200 scan.nii.gz > short.nii.gz
ends 'a compressed file that ends early' 3 'voxfilt: short.nii.gz: gzip: it ends early
' convert -i short.nii.gz -o out
cp scan.nii.gz broken.nii.gz
poke broken.nii.gz "$(($(wc -c < scan.nii.gz) - 8))" '\000'
refuses 3 'voxfilt: broken.nii.gz: gzip: incorrect data check' convert -i broken.nii.gz -o out
cp scan.nii.gz flags.nii.gz
poke flags.nii.gz 3 '\240'
refuses 3 'voxfilt: flags.nii.gz: gzip: unknown header flags set' convert -i flags.nii.gz -o out
{ gzip -c scan.raw && gzip -c scan.raw | head -c 12; } > half.raw.gz
refuses 3 'voxfilt: half.raw.gz: gzip: it ends early' convert -i half.raw.gz -d 6,5,4 -t u16 -o out
cp scan.nii wide.nii
poke wide.nii 42 '\377\177\377\177\377\177'
refuses 3 'voxfilt: wide.nii: length: samples of exactly 240 bytes, but 32767 x 32767 x 32767 u16 take 70362301923326' \
    convert -i wide.nii -o out
printf 'nothing' > empty.nii
refuses 3 'voxfilt: empty.nii: sizeof_hdr: neither 348 nor 540' convert -i empty.nii -o out

# ---------------------------------------------------------------- samples in a file of their own

refuses 2 'voxfilt: scan.img: raw samples need -n N or -d X[,Y[,Z]]; 240 bytes (the header scan.hdr beside it may describe it)' \
    convert -i scan.img -o out

refuses 3 'voxfilt: lone.hdr: image file: lone.img: No such file or directory' \
    sh -c 'cp scan.hdr lone.hdr && voxfilt -f identity -i lone.hdr -o out'
mkdir elsewhere
cp scan.img elsewhere/linked.img
cp scan.hdr linked.hdr
ln -s elsewhere/linked.img linked.img
accepts 'a link into a folder below is followed' '' convert -i linked.hdr -o back.raw
same 'to the samples' scan.raw back.raw
cp scan.hdr elsewhere/up.hdr
ln -s ../scan.img elsewhere/up.img
refuses 3 'voxfilt: elsewhere/up.hdr: image file: up.img: outside the folder of the header; --allow-outside reads it anyway' \
    convert -i elsewhere/up.hdr -o out
accepts 'which it does' '' convert -i elsewhere/up.hdr --allow-outside -o back.raw
same 'with the samples' scan.raw back.raw
mkfifo fifo.img
cp scan.hdr fifo.hdr
refuses 3 'voxfilt: fifo.hdr: image file: fifo.img: not a regular file; --allow-outside reads it anyway' \
    convert -i fifo.hdr -o out
for form in nhdr mhd; do
    refuses 2 "voxfilt: standard output: $form needs a regular file, since the samples go beside it" \
        convert -i scan.nii --out-format $form
done
refuses 2 'voxfilt: standard output: hdr needs a regular file, since the samples go beside it' \
    convert -i scan.nii --out-format hdr

# ---------------------------------------------------------------- NRRD

# A header and samples; lines in the escapes of printf.
nrrd() # NAME LINES
{
    # shellcheck disable=SC2059  # escapes are wanted
    printf "NRRD0004\\ntype: ushort\\ndimension: 3\\nsizes: 6 5 4\\n$2\\n" > "$1"
}
reads() # NAME FILE
{
    accepts "$1" '' convert -i "$2" -o back.raw
    same "$1: the samples" scan.raw back.raw
}
little='endian: little'
nrrd a.nrrd "encoding: raw\\n$little\\n" && cat scan.raw >> a.nrrd
reads 'nrrd: raw' a.nrrd
nrrd a.nrrd "encoding: gzip\\n$little\\n" && gzip -c scan.raw >> a.nrrd
reads 'nrrd: gzip' a.nrrd
nrrd a.nrrd "encoding: gz\\n$little\\n" && head -c 100 scan.raw | gzip -c >> a.nrrd && tail -c +101 scan.raw | gzip -c >> a.nrrd
reads 'nrrd: gzip in two members' a.nrrd
nrrd a.nrrd "encoding: hex\\n$little\\n" && od -An -v -tx1 scan.raw >> a.nrrd
reads 'nrrd: hex' a.nrrd
nrrd a.nrrd 'encoding: ascii\n' && od -An -v -tu2 scan.raw >> a.nrrd
reads 'nrrd: ascii' a.nrrd
nrrd a.nrrd "encoding: raw\\n$little\\nline skip: 2\\nbyte skip: 3\\n" && { printf 'one\ntwo\nabc' && cat scan.raw; } >> a.nrrd
reads 'nrrd: lines and bytes are skipped' a.nrrd
nrrd a.nrrd "encoding: raw\\n$little\\nbyte skip: -1\\n" && { printf 'what is before' && cat scan.raw; } >> a.nrrd
reads 'nrrd: samples at the end' a.nrrd
nrrd a.nrrd "encoding: gzip\\n$little\\nbyte skip: -1\\n" && gzip -c scan.raw >> a.nrrd
refuses 3 'voxfilt: a.nrrd: byte skip: -1 is for samples that are not compressed' convert -i a.nrrd -o out
for z in 0 1 2 3; do
    tail -c +$((60 * z + 1)) scan.raw | head -c 60 > plane$z.raw
done
nrrd a.nhdr "encoding: raw\\n$little\\ndata file: LIST\\nplane0.raw\\nplane1.raw\\nplane2.raw\\nplane3.raw"
reads 'nrrd: a list of files' a.nhdr
nrrd a.nhdr "encoding: raw\\n$little\\ndata file: plane%%01d.raw 0 3 1"
reads 'nrrd: a pattern of files' a.nhdr
for z in 0 1 2 3; do
    mv plane$z.raw turned$((3 - z)).raw
done
nrrd a.nhdr "encoding: raw\\n$little\\ndata file: turned%%01d.raw 3 0 -1"
reads 'nrrd: a pattern that goes down' a.nhdr
nrrd a.nhdr "encoding: raw\\n$little\\ndata file: turned%%01d.raw 0 3 -1"
refuses 3 'voxfilt: a.nhdr: data file: turned%01d.raw: not a pattern with a valid range of numbers' convert -i a.nhdr -o out
for z in 0 1 2 3; do
    mv turned$((3 - z)).raw plane$z.raw
done
nrrd a.nhdr "encoding: raw\\n$little\\ndata file: plane%%s.raw 0 3 1"
refuses 3 'voxfilt: a.nhdr: data file: plane%s.raw: not a pattern with a valid range of numbers' convert -i a.nhdr -o out
nrrd a.nhdr "encoding: raw\\n$little\\ndata file: plane%%d.raw 0 2000000000 1"
refuses 3 'voxfilt: a.nhdr: data file: 2000000001 files for 20 rows of samples' convert -i a.nhdr -o out
nrrd a.nhdr "encoding: raw\\n$little\\ndata file: a.nhdr"
refuses 3 'voxfilt: a.nhdr: data file: a.nhdr: the header itself; --allow-outside reads it anyway' convert -i a.nhdr -o out
nrrd a.nrrd "encoding: raw\\n$little\\nspace directions: (0,0.5,0) (0.3,0,0.4) (0,0,2)\\nspace origin: (1,2,3)\\nnote:=kept\\n# kept, too\\n" &&
    cat scan.raw >> a.nrrd
voxfilt -i a.nrrd -f heat -s 3 -o heated.nrrd
convert -i heated.nrrd -o heated.raw
voxfilt -i scan.raw -d 6,5,4 -t u16 --spacing 0.5,0.5,2 -f heat -s 3 -o expected.raw
same 'nrrd: spacing from directions' expected.raw heated.raw
for line in 'note:=kept' '# kept, too' 'space origin: (1,2,3)' 'space directions: (0,0.5,0) (0.3,0,0.4) (0,0,2)'; do
    grep -aqxF "$line" heated.nrrd
    result $? "nrrd: $line"
done
voxfilt -q -i a.nrrd --spacing 1,0.25,2 -f heat -s 1 -o spaced.nrrd
grep -aqxF 'space directions: (0,1,0) (0.15,0,0.2) (0,0,2)' spaced.nrrd &&
    ! grep -aq '^spacings:' spaced.nrrd
result $? 'nrrd: --spacing scales the vectors and keeps where they point'
spread() # SPACINGS DIRECTIONS
{
    nrrd spread.nrrd "encoding: raw\\n$little\\n${2:+space: LPS\\nspace directions: $2\\n}${1:+spacings: $1\\n}" &&
        cat scan.raw >> spread.nrrd
}
apart='(1,0,0) (0,0.5,0) (0,0,2)'
spread '1 0.5 3' "$apart"
refuses 3 'voxfilt: spread.nrrd: spacings: 3 on axis 3, but its vector of space directions has the length 2' \
    convert -i spread.nrrd -o out
spread '1 nan 2' "$apart"
accepts 'nrrd: spacings may say what directions say, or nothing' '' convert -i spread.nrrd -o spread.mha
grep -aqx 'ElementSpacing = 1 0.5 2' spread.mha
result $? 'nrrd: which then count'
voxfilt -q -i spread.nrrd --spacing 2,2,2 -f heat -s 1 -o spaced.nrrd
grep -aqx 'space directions: (2,0,0) (0,2,0) (0,0,2)' spaced.nrrd && grep -aqx 'spacings: 2 nan 2' spaced.nrrd
result $? 'nrrd: --spacing replaces both'
spread 'nan nan 2' '(1,0,0) (0,0.5,0) none'
accepts 'nrrd: each axis may have one of them' 'voxfilt: spread.nrrd: left out: space, space directions
' convert -i spread.nrrd -o spread.mha
grep -aqx 'ElementSpacing = 1 0.5 2' spread.mha
result $? 'nrrd: and then it counts'
spread '1 -0.5 2'
accepts 'nrrd: a distance against the order of samples is named' 'voxfilt: spread.nrrd: left out: spacings
' convert -i spread.nrrd -o spread.mha
for distance in 0 inf; do
    spread "1 $distance 2"
    refuses 3 "voxfilt: spread.nrrd: spacings: 1 $distance 2: a distance that is 0 or infinite" convert -i spread.nrrd -o out
done
for vectors in "$apart (0,0,3)" '(1,0,0) (0,0,0) (0,0,2)'; do
    spread '' "$vectors"
    refuses 3 "voxfilt: spread.nrrd: space directions: $vectors: not a vector or none for each axis" \
        convert -i spread.nrrd -o out
done
nrrd many.nrrd "encoding: raw\\n$little\\nspace directions: (0,0,0,0,0,0,0,0,1) (0,1,0) (0,0,1)\\n" && cat scan.raw >> many.nrrd
refuses 3 'voxfilt: many.nrrd: space directions: (0,0,0,0,0,0,0,0,1) (0,1,0) (0,0,1): not a vector or none for each axis' \
    convert -i many.nrrd -o out
for place in '(1,2,3' '(1,2,3;' '(1,2,3) 4' '1,2,3' '('; do
    nrrd broken.nrrd "encoding: raw\\n$little\\nspace directions: $apart\\nspace origin: $place\\n" && cat scan.raw >> broken.nrrd
    for cut in '' '--crop 1:5,1:4,1:3' '--planes 1:3' '--part 1/2'; do
        refuses 3 "voxfilt: broken.nrrd: space origin: $place: not a vector" convert $cut -i broken.nrrd -o out.nrrd
    done
done
nrrd broken.nrrd "encoding: raw\\n$little\\nspace directions: $apart\\nspace origin: (1,2)\\n" && cat scan.raw >> broken.nrrd
refuses 3 'voxfilt: broken.nrrd: space origin: (1,2): not as many parts as the space directions' \
    convert --planes 1:3 -i broken.nrrd -o out.nrrd
convert -i a.nrrd --level 9 -o packed.nrrd
convert -i packed.nrrd -o still.nrrd
same 'nrrd: what is compressed stays so' "$(grep -aqx 'encoding: gzip' still.nrrd && echo packed.nrrd)" packed.nrrd
accepts 'nrrd: and is read back' 'voxfilt: still.nrrd: left out: spacing, space directions, space origin, note
' convert -i still.nrrd -o back.raw
same 'nrrd: with the same samples' scan.raw back.raw
printf 'NRRD0004\ntype: short\ndimension: 4\nsizes: 6 5 4\nencoding: raw\n\n' > bad.nrrd
refuses 3 'voxfilt: bad.nrrd: sizes: 3 values for dimension 4' convert -i bad.nrrd -o out
printf 'NRRD0004\ntype: uchar\ndimension: 4\nsizes: 3 6 5 4\nkinds: RGB-color domain domain domain\nencoding: raw\n\n' > rgb.nrrd
head -c 240 scan.raw >> rgb.nrrd && head -c 120 scan.raw >> rgb.nrrd
convert -i rgb.nrrd -o rgb.raw
tail -c 360 rgb.nrrd > expected.raw
same 'nrrd: an axis of colours is one of channels' expected.raw rgb.raw

accepts 'nrrd: which other formats have as well' '' convert -i rgb.nrrd -o rgb.nii
accepts 'nrrd: or which are named' 'voxfilt: rgb.nrrd: left out: kinds
' convert -i rgb.nrrd -o rgb.mha
sed 's/RGB-color/vector/' rgb.nrrd > vector.nrrd
accepts 'nrrd: what channels are in any format is not' '' convert -i vector.nrrd -o vector.mha
{ printf 'NRRD0004\ntype: uchar\ndimension: 4\nsizes: 6 5 4 2\nkinds: domain domain domain list\nencoding: raw\n\n'
    cat scan.raw; } > list.nrrd
accepts 'nrrd: a list of volumes is a series' '' convert -i list.nrrd -o list.mha
grep -aqx 'DimSize = 6 5 4 2' list.mha
result $? 'nrrd: of them'
sed 's/domain list/list domain/' list.nrrd > bad.nrrd
refuses 3 'voxfilt: bad.nrrd: kinds: axis 3 holds channels, but only the first axis may' convert -i bad.nrrd -o out

for word in x ++5 -; do
    printf 'NRRD0004\ntype: short\ndimension: 1\nsizes: 1\nencoding: ascii\n\n%s\n' "$word" > words.nrrd
    refuses 3 "voxfilt: words.nrrd: text: $word: not a number of type i16" convert -i words.nrrd -o out
done

# ---------------------------------------------------------------- what other formats keep

# The first sample's place and the vectors along the axes.
place() # NRRD
{
    echo "$(sed -n 's/^space origin: //p; /^$/q' "$1") $(sed -n 's/^space directions: //p; /^$/q' "$1")"
}
turned='space: right-anterior-superior\nspace directions: (0,0.5,0) (-0.25,0,0) (0,0,2)\nspace origin: (1,2,-3)\n'
nrrd turned.nrrd "encoding: raw\\n$little\\n$turned" && cat scan.raw >> turned.nrrd
for form in nii nii.gz hdr nhdr mha mhd; do
    accepts "$form: a place in space is kept, and nothing is left out" '' convert -i turned.nrrd -o turned.$form
    accepts "$form: and is read" '' convert -i turned.$form -o turned.mha
    accepts "$form: and written again" '' convert -i turned.mha -o again.nrrd
    [ "$(place again.nrrd)" = '(-1,-2,-3) (0,-0.5,0) (0.25,0,0) (0,0,2)' ]
    result $? "$form: as it was"
    convert -q -i turned.$form -o again.raw
    same "$form: with the samples" scan.raw again.raw
done
accepts 'a region of it has its own place' '' convert -i turned.nrrd --crop 2:5,1:4,1:3 -o region.mha
grep -aqx 'Offset = -0.75 -3 -1' region.mha && grep -aqx 'TransformMatrix = 0 -1 0 1 0 0 0 0 1' region.mha
result $? 'where its first sample is'
accepts '--spacing moves samples apart' 'voxfilt: turned.nrrd: --spacing 1,1,2 instead of 0.5,0.25,2 in the header
' voxfilt -f gauss:1u -i turned.nrrd --spacing 1,1,2 -o spaced.mha
grep -aqx 'Offset = -1 -2 -3' spaced.mha && grep -aqx 'ElementSpacing = 1 1 2' spaced.mha
result $? 'and the first one stays'
accepts 'what another format does not keep is named' 'voxfilt: turned.nrrd: left out: spacing, space, space directions, space origin
' convert -i turned.nrrd -o turned.npy
convert -i turned.nrrd -o turned.nii
accepts 'so is the place that NIfTI has' 'voxfilt: turned.nii: left out: spacing, sform
' convert -i turned.nii -o turned.npy
accepts 'and the place that MetaImage has' 'voxfilt: turned.mha: left out: spacing, Offset, TransformMatrix
' convert -i turned.mha -o turned.npy
convert -i scan.raw -d 6,5,4 -t u16 -o half.nii
poke half.nii 252 '\001\000\000\000\363\004\065\077\363\004\065\077\000\000\000\000'
accepts 'half a turn in qform' '' convert -i half.nii -o half.mha
grep -aqx 'TransformMatrix = 0 -1 0 -1 0 0 0 0 -1' half.mha
result $? 'is exact, although its numbers are rounded'
accepts 'a transform whose lengths are not the spacing is left out' 'voxfilt: uneven.nii: left out: sform
' sh -c 'cp turned.nii uneven.nii && printf "\000\000\000\101" | dd of=uneven.nii bs=1 seek=80 conv=notrunc 2> ../dd &&
    voxfilt -f identity -i uneven.nii -o uneven.mha'
# The same in qform, and then another place in it, and other coordinates.
cp turned.nii both.nii
poke both.nii 252 '\001\000\001\000\000\000\000\000\000\000\000\000\363\004\065\077\000\000\200\077\000\000\000\100\000\000\100\300'
accepts 'two transforms that agree are kept as one' '' convert -i both.nii -o both.mha
cp both.nii moved.nii
poke moved.nii 268 '\000\000\000\100'
accepts 'of two that do not agree, the one that is left out is named' 'voxfilt: moved.nii: left out: qform
' convert -i moved.nii -o moved.nrrd
[ "$(place moved.nrrd)" = '(-1,-2,-3) (0,-0.5,0) (0.25,0,0) (0,0,2)' ]
result $? 'and the other one is sform'
accepts 'NIfTI keeps both' '' convert -i moved.nii -o kept.nii
same 'as they are' moved.nii kept.nii
cp both.nii longer.nii
poke longer.nii 280 '\000\000\000\000\000\000\200\277'
accepts 'if sform has other distances, qform is kept' 'voxfilt: longer.nii: left out: sform
' convert -i longer.nii -o longer.nrrd
place longer.nrrd | tr ' (),' '\n' | awk 'NF { printf "%.4f ", $1 }' > rounded
[ "$(sed 's/-0.0000/0.0000/g' rounded)" = '-1.0000 -2.0000 -3.0000 0.0000 -0.5000 0.0000 0.2500 0.0000 0.0000 0.0000 0.0000 2.0000 ' ]
result $? 'and has its place, but for rounding'
cp both.nii standard.nii
poke standard.nii 252 '\004\000\004\000'
accepts 'what the coordinates are of is named' 'voxfilt: standard.nii: left out: sform_code, qform_code
' convert -i standard.nii -o standard.nrrd
accepts 'unless the transforms are named' 'voxfilt: standard.nii: left out: spacing, sform, qform
' convert -i standard.nii -o standard.npy
cp turned.nii flattened.nii
poke flattened.nii 280 '\000\000\000\077\000\000\200\076\000\000\000\000\000\000\200\077\000\000\000\000\000\000\000\000'
accepts 'a transform into a plane is left out' 'voxfilt: flattened.nii: left out: sform
' convert -i flattened.nii -o flattened.mha
convert -i scan.raw -d 6,5,4 -t u16 -o plain.nii
plain='\000\000\200\077'
zero='\000\000\000\000'
poke plain.nii 252 '\001\000\001\000'
poke plain.nii 280 "$plain$zero$zero$zero$zero$plain$zero$zero$zero$zero$plain$zero"
accepts 'transforms that say nothing are not named' '' convert -i plain.nii -o plain.npy
accepts 'nor if --spacing replaces what they say' 'voxfilt: plain.nii: --spacing 2,2,2 instead of 1,1,1 in the header
voxfilt: plain.nii: left out: spacing
' voxfilt -i plain.nii --spacing 2,2,2 -f heat -s 1 -o plain.npy
poke plain.nii 268 '\000\000\000\100'
accepts 'the one that does is' 'voxfilt: plain.nii: left out: qform
' convert -i plain.nii -o plain.npy
poke plain.nii 280 '\000\000\000\100'
accepts 'and one that is longer than the spacing' 'voxfilt: plain.nii: left out: sform, qform
' convert -i plain.nii -o plain.npy
accepts 'a slope and a description are named' "${scale}voxfilt: noted.nii: left out: scl_slope, scl_inter, descrip
" convert -i noted.nii -o noted.npy
accepts 'MetaImage has a slope' "${scale}voxfilt: noted.nii: left out: descrip
" convert -i noted.nii -o noted.mha
grep -aqx 'ElementToIntensityFunctionSlope = 2' noted.mha
result $? 'which is kept'
cp scan.nii turning.nii
poke turning.nii 39 '\071'
accepts 'dim_info is named' 'voxfilt: turning.nii: left out: dim_info
' convert -i turning.nii -o turning.mha
nrrd keyed.nrrd "encoding: raw\\n$little\\nspace: unheard-of\\nlabels: \"x\" \"y\" \"z\"\\n# a comment\\nkey:=value: of it\\n" &&
    cat scan.raw >> keyed.nrrd
accepts 'fields and keys are named as they are' 'voxfilt: keyed.nrrd: left out: space, labels, key
' convert -i keyed.nrrd -o keyed.mha
accepts 'nothing is left out where the format stays' '' convert -i keyed.nrrd -o kept.nhdr
accepts 'a field that says nothing is not named' '' sh -c '{
    printf "NDims = 2\nDimSize = 6 20\nOffset = 0 0\nTransformMatrix = 1 0 0 1\nElementType = MET_USHORT\n"
    printf "ElementDataFile = LOCAL\n" && cat scan.raw; } > flat.mha && voxfilt -f identity -i flat.mha -o flat.npy'
accepts 'a picture has no place in space' 'voxfilt: flat.mha: left out: Offset
' sh -c '{ printf "NDims = 2\nDimSize = 6 20\nOffset = 1 2\nElementType = MET_USHORT\nElementDataFile = LOCAL\n" &&
    cat scan.raw; } > flat.mha && voxfilt -f identity -i flat.mha -o flat.nrrd'
{ printf 'NDims = 4\nDimSize = 6 5 2 2\nOffset = 1 2 3 0\nElementSpacing = 1 1 2 9\nElementType = MET_USHORT\nElementDataFile = LOCAL\n'
    cat scan.raw; } > series.mha
accepts 'a series has its place, and the distance between volumes is named' 'voxfilt: series.mha: left out: ElementSpacing[3]
' convert -i series.mha -o series.nrrd
grep -aqx 'space: left-posterior-superior-time' series.nrrd &&
    grep -aqx 'space directions: (1,0,0,0) (0,1,0,0) (0,0,2,0) (0,0,0,1)' series.nrrd &&
    grep -aqx 'space origin: (1,2,3,0)' series.nrrd
result $? 'and time for the fourth dimension'
accepts 'and it is read' '' convert -i series.nrrd -o series.nii
accepts 'and the NIfTI file, too' '' convert -i series.nii -o series2.mha
grep -aqx 'Offset = 1 2 3 0' series2.mha && grep -aqx 'TransformMatrix = 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1' series2.mha
result $? 'as it was'

cp scan.nii five.nii
poke five.nii 40 '\005\000\006\000\005\000\001\000\002\000\002\000'
poke five.nii 92 '\000\000\000\100\000\000\100\100\000\000\200\100'
accepts 'the distances along all axes of a series are named' 'voxfilt: five.nii: left out: pixdim[4], pixdim[5]
' convert -i five.nii -o five.nrrd

# A series in NRRD, whose lines are in the escapes of printf, as a file of another format.
stepped() # NAME LINES LEFT-OUT OUTPUT
{
    # shellcheck disable=SC2059  # escapes are wanted
    { printf "NRRD0004\\ntype: ushort\\ndimension: 4\\nsizes: 6 5 2 2\\nencoding: raw\\n$little\\n$2\\n" && cat scan.raw; } > stepped.nrrd
    accepts "$1" "${3:+voxfilt: stepped.nrrd: left out: $3
}" convert -i stepped.nrrd -o "$4"
}
stepped 'nrrd: the distance between volumes is named' 'spacings: 1 1 1 2.5\n' 'spacings[3]' stepped.mha
stepped 'nrrd: beside the spacing' 'spacings: 1 1 3 2.5\n' 'spacing, spacings[3]' stepped.npy
stepped 'nrrd: unless it is that of every series' 'spacings: 1 1 3 1\n' '' stepped.mha
stepped 'nrrd: or the format stays' 'spacings: 1 1 1 2.5\n' '' stepped.nhdr
time='space: LPST\nspace directions: (1,0,0,0) (0,1,0,0) (0,0,3,0) (0,0,0,2.5)\nspace origin: (1,2,3,0)\n'
stepped 'nrrd: a direction may tell it' "$time" 'space directions[3]' stepped.mha
stepped 'nrrd: and the origin the time of the first volume' \
    'space: LPST\nspace directions: (1,0,0,0) (0,1,0,0) (0,0,3,0) (0,0,0,1)\nspace origin: (1,2,3,7)\n' \
    'space origin[3]' stepped.mha
stepped 'nrrd: which is named once' "$time" 'spacing, space, space directions, space origin' stepped.npy

# ---------------------------------------------------------------- MetaImage

convert -i scan.raw -d 6,5,4 -t u16 --level 6 -o packed.mha
reads 'mha: compressed' packed.mha
grep -aqx 'CompressedData = True' packed.mha
result $? 'mha: and says so'
size=$(sed -n '/^CompressedDataSize = 0*\([0-9]*\)$/s//\1/p' packed.mha)
data=$(grep -abom 1 'LOCAL' packed.mha | cut -d: -f1)
[ "$size" = $(($(wc -c < packed.mha) - data - 6)) ]
result $? 'mha: and how much'
refuses 2 'voxfilt: standard output: a compressed mha needs a regular file, since its size comes first' \
    convert -i packed.mha
printf 'NDims = 3\nDimSize = 6 5 4\nElementType = MET_USHORT\nElementDataFile = LIST\nplane0.raw\nplane1.raw\nplane2.raw\nplane3.raw\n' > a.mhd
reads 'mhd: a list of files' a.mhd
printf 'NDims = 3\nDimSize = 6 5 4\nElementType = MET_USHORT\nHeaderSize = -1\nElementDataFile = scan.nii\n' > a.mhd
reads 'mhd: samples at the end of a file' a.mhd
meta="NDims = 3\\nDimSize = 6 5 4\\nElementType = MET_USHORT"
printf "$meta\\nHeaderSize = -1\\nCompressedData = True\\nElementDataFile = packed.mha\\n" > a.mhd
refuses 3 'voxfilt: packed.mha: HeaderSize: -1 is for samples that are not compressed' convert -i a.mhd -o out
convert -i scan.raw -d 6,5,4 -t u16 --level 6 -o zipped.mhd
{ printf 'header' && cat zipped.zraw; } > later.zraw
printf "$meta\\nHeaderSize = 6\\nCompressedData = True\\nElementDataFile = later.zraw\\n" > a.mhd
reads 'mhd: what is skipped is not compressed' a.mhd
{ printf "$meta\\nHeaderSize = 100\\nElementDataFile = LOCAL\\n%8s" && cat scan.raw; } > later.mha
reads 'mha: what is skipped begins with the header' later.mha
sed 's/HeaderSize = 100/HeaderSize = 010/' later.mha > early.mha
refuses 3 'voxfilt: early.mha: HeaderSize: 10: the header itself has 92 bytes' convert -i early.mha -o out
printf "$meta\\nHeaderSize = 999\\nElementDataFile = scan.raw\\n" > a.mhd
refuses 3 'voxfilt: scan.raw: HeaderSize: the file ends before 999 bytes' convert -i a.mhd -o out
cp scan.hdr far.hdr
cp scan.img far.img
poke far.hdr 108 '\000\000\200\104'
refuses 3 'voxfilt: far.img: vox_offset: the file ends before 1024 bytes' convert -i far.hdr -o out
refuses 3 'voxfilt: scan.raw.gz: --skip: the file ends before 999 bytes' \
    convert -i scan.raw.gz -d 6,5,4 -t u16 --skip 999 -o out
printf 'NDims = 3\nDimSize = 6 5 4\nElementType = MET_USHORT\nComment = kept\nElementSpacing = 1 2 3\nElementDataFile = scan.raw\n' > a.mhd
convert -i a.mhd -o b.mha
grep -aqx 'Comment = kept' b.mha && grep -aqx 'ElementSpacing = 1 2 3' b.mha
result $? 'mhd: fields are kept'
printf 'NDims = 3\nDimSize = 6 5 4\nElementType = MET_USHORT\nElementDataFile = /etc/passwd\n' > a.mhd
refuses 3 'voxfilt: a.mhd: ElementDataFile: /etc/passwd: outside the folder of the header; --allow-outside reads it anyway' \
    convert -i a.mhd -o out

placed() # LINES
{
    printf "$meta\\n$1\\nElementDataFile = LOCAL\\n" > placed.mha && cat scan.raw >> placed.mha
}
scaled='ElementToIntensityFunctionSlope = 2\nElementToIntensityFunctionOffset = 5\nElementMax = 9'
placed "$scaled"
convert -q -i placed.mha -o scaled.mha
[ "$(grep -ac '^Element[TM][oa]' scaled.mha)" = 3 ]
result $? 'mha: what values mean is kept'
voxfilt -q -i placed.mha -f identity --out-range=0,65535 -o scaled.mha
grep -aq '^Element[TM][oa]' scaled.mha
[ $? = 1 ]
result $? 'mha: but not if samples are mapped'
accepts 'mha: extremes are named that hold no longer' \
    'voxfilt: placed.mha: a sample v stands for the value 2 v + 5
voxfilt: placed.mha: left out: ElementMax
' voxfilt -i placed.mha -f laplace --out-type i32 -o scaled.mha
[ "$(grep -a '^Element[TM][oa]' scaled.mha)" = "$(printf '%s' 'ElementToIntensityFunctionSlope = 2
ElementToIntensityFunctionOffset = 0')" ]
result $? 'mha: and an offset of a derivative is 0'
for wrong in 'Slope = none: not a finite number' 'Slope = 0: all samples would stand for one value' \
    'Offset = 1e999: not a finite number'; do
    placed "ElementToIntensityFunction${wrong%:*}"
    refuses 3 "voxfilt: placed.mha: ElementToIntensityFunction${wrong%% =*}: ${wrong#*= }" convert -i placed.mha -o out
done
nrrd least.nrrd "encoding: raw\\n$little\\nmin: 1\\nmax: 2\\nold min: 3\\nold max: 4\\n" && cat scan.raw >> least.nrrd
accepts 'nrrd: extremes are kept' '' convert -i least.nrrd -o kept.nrrd
[ "$(grep -acE '^(old )?(min|max): ' kept.nrrd)" = 4 ]
result $? 'nrrd: if nothing changed'
accepts 'nrrd: or else named' 'voxfilt: least.nrrd: left out: min, max
' convert -i least.nrrd --crop :3,:,: -o kept.nrrd
accepts 'nrrd: so is what the range stands for' 'voxfilt: least.nrrd: left out: min, max, old min, old max
' voxfilt -i least.nrrd -f sobel:x --out-type i32 -o kept.nrrd
grep -aqE '^(old )?(min|max): ' kept.nrrd
[ $? = 1 ]
result $? 'nrrd: and left out'
nrrd cut.nrrd "encoding: raw\\n$little\\nspace dimension: 3\\nspace origin: (1,2,3)\\naxis mins: 1 2 3\\n" && cat scan.raw >> cut.nrrd
accepts 'nrrd: fields that a region has not are named' 'voxfilt: cut.nrrd: left out: space origin, axis mins
' convert -i cut.nrrd --crop 1:3,:,: -o kept.nrrd
accepts 'nrrd: and kept without one' '' convert -i cut.nrrd -o kept.nrrd
grep -aqx 'space origin: (1,2,3)' kept.nrrd && grep -aqx 'axis mins: 1 2 3' kept.nrrd
result $? 'nrrd: as they are'
cp scan.hdr extended.hdr
poke extended.hdr 348 '\001\000\000\000\040\000\000\000\006\000\000\000a comment of its own    '
cp scan.img extended.img
convert -i extended.hdr -o whole.nii
gzip -c extended.hdr > packed.hdr.gz
cp scan.img packed.img
convert -i packed.hdr.gz -o packed.nii
same 'extensions of a compressed header are kept' whole.nii packed.nii
mirrored='TransformMatrix = 0 1 0 -1 0 0 0 0 1\nOffset = 1 2 3\nElementSpacing = -1 2 3'
placed "$mirrored"
accepts 'mha: a distance below 0 turns the axis' '' convert -i placed.mha -o placed.nrrd
[ "$(place placed.nrrd)" = '(1,2,3) (0,-1,0) (-2,0,0) (0,0,3)' ]
result $? 'mha: as in ITK'
convert -i placed.mha --crop 2:,1:,1: -o region.mha
grep -aqx 'Offset = -1 0 6' region.mha && grep -aqx 'ElementSpacing = -1 2 3' region.mha
result $? 'mha: and has its place in a region'
voxfilt -q -i placed.mha --spacing 2,2,2 -f heat -s 1 -o spaced.mha
grep -aqx 'ElementSpacing = -2 2 2' spaced.mha
result $? 'mha: and keeps its sign with --spacing'
placed 'ElementSpacing = -1 1 1'
accepts 'mha: which is named where it is left out' 'voxfilt: placed.mha: left out: ElementSpacing
' convert -i placed.mha -o placed.npy
placed 'TransformMatrix = 2 0 0 0 2 0 0 0 2'
accepts 'mha: vectors that are not of length 1 are left out' 'voxfilt: placed.mha: left out: TransformMatrix
' convert -i placed.mha -o placed.nrrd
accepts 'mha: and named in any case' 'voxfilt: placed.mha: left out: TransformMatrix
' convert -i placed.mha -o placed.npy
placed 'Offset = 1 2 3\nCenterOfRotation = 4 5 6\nElementSpacing = 1 2 3\nElementSize = 1 2 4'
accepts 'mha: a center and a size of elements are named' 'voxfilt: placed.mha: left out: CenterOfRotation, ElementSize
' convert -i placed.mha -o placed.nrrd
for line in 'ElementSpacing = 1 0 2: a distance of 0' 'ElementSpacing = 1 2: not 3 finite numbers' \
    'ElementSpacing = 1 nan 3: not 3 finite numbers' 'Offset = 1 2: not 3 finite numbers' \
    'TransformMatrix = 0 1 1 0: not 9 finite numbers'; do
    placed "${line%:*}"
    refuses 3 "voxfilt: placed.mha: ${line%% =*}: ${line#*= }" convert -i placed.mha -o out
done
placed 'Offset = 1 2 3\nOrigin = 1 2 4'
refuses 3 'voxfilt: placed.mha: Origin: other numbers than in Offset' convert -i placed.mha -o out
placed 'Offset = 0 2 3\nOrigin = -0 2 3 4\nElementSpacing = 1 2 3 4'
accepts 'mha: numbers after the last axis mean nothing' '' convert -i placed.mha -o placed.nrrd
[ "$(place placed.nrrd)" = '(0,2,3) (1,0,0) (0,2,0) (0,0,3)' ]
result $? 'mha: as in ITK, and -0 is 0'
meta="NDims = 4\\nDimSize = 6 5 2 2\\nElementType = MET_USHORT"
placed 'TransformMatrix = 0 1 0 -1 0 0 0 0 1\nOffset = 1 2 3\nElementSpacing = 1 2 3'
accepts 'mha: a series may tell of the axes in space alone' '' convert -i placed.mha -o placed.nrrd
[ "$(place placed.nrrd)" = '(1,2,3,0) (0,1,0,0) (-2,0,0,0) (0,0,3,0) (0,0,0,1)' ]
result $? 'mha: and is at their place'
voxfilt -q -i placed.mha --spacing 2,2,2 -f identity -o spaced.mha
grep -aqx 'ElementSpacing = 2 2 2 1' spaced.mha
result $? 'mha: and has a distance along each axis with --spacing'
placed 'Offset = 1 2 3 7'
accepts 'mha: the time of the first volume is named' 'voxfilt: placed.mha: left out: Offset[3]
' convert -i placed.mha -o placed.nrrd
placed 'TransformMatrix = 1 0 0 1 0 1 0 0 0 0 1 0 0 0 0 1'
accepts 'mha: a matrix in which it has a part is left out' 'voxfilt: placed.mha: left out: TransformMatrix
' convert -i placed.mha -o placed.nrrd

# ---------------------------------------------------------------- NumPy

refuses 2 'voxfilt: out.npy: a NumPy file does not say which axis holds channels, and there are 3' \
    convert -i rgb.nrrd -o out.npy
printf '\000\001\001\000\001\000' > truths.raw
convert -i truths.raw -d 3,2 -t u8 -o numbers.npy
LC_ALL=C sed 's/|u1/|b1/' numbers.npy > truths.npy
accepts 'npy: what is true is 1 of u8' '' convert -i truths.npy -o back.npy
same 'npy: and is written as that' numbers.npy back.npy
head -c 70 scan.npy > short.npy
refuses 3 'voxfilt: short.npy: header: the file ends within it' convert -i short.npy -o out
# Fortran's order: the first axis of the shape, z, is the fastest.
{ head -c 128 scan.npy | sed 's/False/True /' | head -c 128
    x=0
    while [ $x -lt 6 ]; do
        y=0
        while [ $y -lt 5 ]; do
            for z in 0 1 2 3; do
                tail -c +$((1 + 2 * ((z * 5 + y) * 6 + x))) scan.raw | head -c 2
            done
            y=$((y + 1))
        done
        x=$((x + 1))
    done
} > turned.npy
reads "npy: Fortran's order" turned.npy
piped turned.npy voxfilt -f identity --out-format raw > back.raw
same "npy: Fortran's order through a pipe" scan.raw back.raw
head -c 300 turned.npy > short.npy
refuses 3 'voxfilt: short.npy: length: samples of exactly 172 bytes, but 6 x 5 x 4 u16 take 240' convert -i short.npy -o out
{ printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<u2', 'fortran_order': True, 'shape': (64, 128, 256), }"
    head -c 4194304 /dev/zero; } > large.npy
voxfilt -i large.npy -m 4M -f identity -o out 2> ../refusal
[ $? = 6 ] && grep -q '^voxfilt: --memory: this job needs 8' ../refusal
result $? 'npy: what turns the axes counts as memory'
voxfilt -i large.npy -m 12M -f identity --explain > ../plan
grep -q '^memory .*, 8.0 MiB for reading the input$' ../plan
result $? 'npy: and has its share in the plan'

# ---------------------------------------------------------------- reports beside headers

# Not in the place of the samples, which go beside some headers.
for pair in rep.mhd:rep.raw rep.mhd:rep.zraw rep.nhdr:rep.raw rep.nhdr:rep.raw.gz rep.hdr:rep.img; do
    refuses 2 "voxfilt: --report: ${pair#*:}: an output goes there" \
        v8 -f identity -o "${pair%:*}" "--report=json:${pair#*:}"
done
accepts 'a report has any other name' '' v8 -f identity -o rep.mhd --report=json:rep.json
same 'and the samples are there' v8.raw rep.raw

conclude
