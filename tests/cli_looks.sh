#!/bin/sh
# What people look at: previews, pixel by pixel, states on the way, and plots. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# Pixels of a picture have these colours.
shows() # NAME FILE "X,Y COLOUR"...
{
    name=$1 file=$2
    shift 2
    if ! has python3; then
        skip "$name: python3 is not here"
        return
    fi
    # shellcheck disable=SC2046  # words are wanted
    python3 "${top_srcdir:?}/tests/pixels.py" "$file" $(printf '%s\n' "$@" | cut -d ' ' -f 1) > ../have
    printf '%s\n' "$@" | cut -d ' ' -f 2 | diff - ../have
    result $? "$name"
}

# ---------------------------------------------------------------- previews: what they show

# 2 x 3 x 4 samples of 32 pixels: 0 but for one of 200 in the middle of all three sections, at 1,1,2. The panels of z = 2
# begin at 16,72, at 152,72 and at 288,72, those of y = 1 at 16,240, those of x = 1 at 16,440.
{ printf '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\310'; printf '\0\0\0\0\0\0\0\0'; } > spot.raw
accepts 'a preview' '' voxfilt -i spot.raw -d 2,3,4 -t u8 -f scale:0.5,0 -o out --preview p.png
shows 'z = 2: x to the right, y down' p.png '17,73 000000' '47,103 000000' '49,105 ffffff' '79,135 ffffff' '17,137 000000'
shows 'y = 1: x to the right, z down' p.png '49,320 ffffff' '17,320 000000' '49,288 000000'
shows 'x = 1: y to the right, z down' p.png '49,520 ffffff' '17,520 000000' '81,520 000000'
shows 'after: half of it; the difference falls' p.png '185,105 808080' '153,105 000000' '321,105 0550ae' '289,105 ffffff'
accepts 'a preview of what rises' '' voxfilt -i spot.raw -d 2,3,4 -t u8 -f scale:1,20 -o out --preview p.png
shows 'what rises is red' p.png '289,73 b2182b' '321,105 b2182b'

# A NaN in one of two channels: the first alone is shown.
{ printf '\0\0\300\177\0\0\200\77'; printf '\0\0\200\77\0\0\300\177'; printf '\0\0\0\0\0\0\0\0'; } > nan.raw
voxfilt -i nan.raw -d 3,1,1 --channels 2 -t f32 -f identity -o out --preview p.png
shows 'a NaN has a colour, and is that of the first channel' p.png '20,76 009e73' '60,76 ffffff' '100,76 000000'

# A wide step in spacing: the section is drawn to scale.
make_volume -d 40,30,20 -t f32 -o vol.raw
accepts 'spacing' '' voxfilt -i vol.raw -d 40,30,20 -t f32 --spacing 0.5,0.5,2 -o out --preview p.png
shows 'sections are drawn to scale: 160 by 120 pixels, then 160 by 320' p.png '176,80 808080' '177,80 ffffff' \
    '20,192 808080' '20,193 ffffff' '20,263 808080' '20,584 808080'

# 576 samples, 0 and 200 by turns: for each pixel the mean of two.
i=0
while [ $i -lt 1152 ]; do printf '\0\310\0\310' && i=$((i + 1)); done > turns.raw
accepts 'more samples than pixels' '' voxfilt -i turns.raw -d 576,8 -t u8 -f scale:0.5,0 -o out --preview p.png
shows 'as many samples on each pixel: no stripes' p.png '20,76 ffffff' '21,76 ffffff' '22,76 ffffff' '303,76 ffffff' \
    '304,76 808080' '320,76 000000' '626,76 0550ae' '627,76 0550ae' '628,76 0550ae' '911,76 0550ae' '912,76 808080'

# ---------------------------------------------------------------- previews: upright

# 3 x 3 x 3 samples of 32 pixels, of which that at 0,0,1 is 200: in the first section, at 16,96 under letters at 16,72.
printf '\0\0\0\0\0\0\0\0\0\310\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' > corner.raw
lying() # FIELD...
{
    printf 'NRRD0004\ntype: uint8\ndimension: 3\nsizes: 3 3 3\nencoding: raw\ndata file: corner.raw\n' > lying.nhdr
    printf '%s\n' "$@" >> lying.nhdr
    voxfilt -q -i lying.nhdr -f gauss:1 --out-format raw -o out --preview p.png
}
lying 'spacings: 1 1 1'
shows 'without an orientation x is to the right and y down' p.png '17,73 ffffff' '17,105 000000' '17,168 808080'
lying 'space: LPS' 'space directions: (1,0,0) (0,1,0) (0,0,1)'
shows 'to the left of a patient is left, with letters' p.png '16,74 202020' '17,100 000000' '84,100 ffffff' '84,190 000000'
lying 'space: right-anterior-superior' 'space directions: (1,0,0) (0,1,0) (0,0,1)'
shows 'the front is up' p.png '16,74 202020' '17,190 ffffff' '17,100 000000' '84,100 000000'
lying 'space: LPS' 'space directions: (0,0,1) (1,0,0) (0,1,0)'
shows 'the head is up, where x runs there' p.png '16,74 202020' '84,190 ffffff' '84,100 000000' '17,190 000000'
cp p.png head.png
lying 'space: LPS' 'space directions: (0,0.1,0.9949874371066199) (1,0,0) (0,0.9949874371066199,-0.1)'
same 'axes that are a little oblique are those of the closest sides' p.png head.png
voxfilt -q -i lying.nhdr -f identity -o lying.nii
for codes in '\000\000\001\000' '\001\000\000\000'; do
    # shellcheck disable=SC2059  # octal escapes
    printf "$codes"'\000\000\000\077\000\000\000\277\000\000\000\077' | dd of=lying.nii bs=1 seek=252 conv=notrunc 2> ../stderr
    voxfilt -q -i lying.nii -f gauss:1 --out-format raw -o out --preview p.png
    same "by sform or qform of NIfTI: codes $codes" p.png head.png
done
printf '\000\000\000\000' | dd of=lying.nii bs=1 seek=252 conv=notrunc 2> ../stderr
voxfilt -q -i lying.nii -f gauss:1 --out-format raw -o out --preview p.png
shows 'not if neither tells of a patient' p.png '17,73 ffffff' '17,105 000000'
meta() # FIELD...
{
    printf 'ObjectType = Image\nNDims = 3\nDimSize = 3 3 3\nElementType = MET_UCHAR\n' > lying.mhd
    printf '%s\n' "$@" 'ElementDataFile = corner.raw' >> lying.mhd
    voxfilt -q -i lying.mhd -f gauss:1 --out-format raw -o out --preview p.png
}
meta 'AnatomicalOrientation = IRA'
same 'by AnatomicalOrientation of MetaImage' p.png head.png
meta 'TransformMatrix = 0 0 1 1 0 0 0 1 0' 'AnatomicalOrientation = RAI'
same 'by TransformMatrix, if it is there' p.png head.png
meta 'AnatomicalOrientation = RRA'
shows 'not by what is no orientation' p.png '17,73 ffffff' '17,105 000000'
meta 'DistanceUnits = cm' 'ElementSpacing = 1 1 1'
cp p.png cm.png
lying 'spacings: 1 1 1' 'units: "cm" "cm" "cm"'
same 'the scale has the unit of NRRD and of MetaImage' p.png cm.png
lying 'spacings: 1 1 1' 'units: "cm" "cm" "mm"'
cp p.png samples.png
lying 'spacings: 1 1 1'
same 'not one that is of some axes alone' p.png samples.png
differ 'centimetres are no samples' p.png cm.png
lying 'space: LPS' 'space directions: (0,0,1) (1,0,0) (0,1,0)' 'space units: "mm" "mm" "mm"'
same 'patients are in millimetres' p.png head.png
lying 'space: LPS' 'space directions: (0,0,1) (1,0,0) (0,1,0)' 'space units: "um" "um" "um"'
differ 'unless they are told to be in another unit' p.png head.png
rm -f lying.nii
accepts 'other formats have the distances in millimetres' '' \
    voxfilt -i lying.nhdr -f identity -o millimetres.mhd
grep -q '^ElementSpacing = 0.001 0.001 0.001$' millimetres.mhd
result $? 'as many'

# ---------------------------------------------------------------- previews: the same from everywhere

accepts 'a preview of a file' '' voxfilt -i vol.raw -d 40,30,20 -t f32 -s 7 -o plain.raw --preview file.png
accepts 'a preview of a pipe' '' piped vol.raw voxfilt -d 40,30,20 -t f32 -s 7 -o out --preview pipe.png
same 'of a pipe as of a file' file.png pipe.png
accepts 'on one thread' '' voxfilt -i vol.raw -d 40,30,20 -t f32 -s 7 -j 1 -o out --preview one.png
same 'for any number of threads' file.png one.png
cp vol.raw vol2.raw
accepts 'in little memory' '' voxfilt -i vol.raw -d 40,30,20 -t f32 -s 7 -m 330K -o small.raw --preview small.png
same 'for any memory' file.png small.png
same 'and the output is that without a preview' plain.raw small.raw
voxfilt -i vol.raw -d 40,30,20 -t f32 -s 7 -o plain2.raw
same 'whatever memory' plain.raw plain2.raw
for type in u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64; do
    has_turn || continue
    voxfilt -i vol.raw -d 40,30,20 -t f32 -f identity --out-type $type -o typed.raw -q
    voxfilt -i typed.raw -d 40,30,20 -t $type -f identity --out-endian big -o swapped.raw
    voxfilt -i typed.raw -d 40,30,20 -t $type -f gauss:1 -o out -q --preview little.png
    voxfilt -i swapped.raw -d 40,30,20 -t $type --endian big -f gauss:1 -o out -q --preview big.png
    same "$type: of either byte order" little.png big.png
done
voxfilt -i vol.raw -d 40,30,20 -t f32 -f identity -o bits.nrrd --preview bits.png
shows 'bits that are copied are looked at, too' bits.png '800,150 ffffff' '767,150 808080'
accepts 'over spool files' '' voxfilt -i vol.raw -d 40,30,20 -t f32 -e wrap -s 7 -m 330K -o out --preview spool.png
voxfilt -i vol.raw -d 40,30,20 -t f32 -e wrap -s 7 -o out --preview wrap.png
same 'a preview over spool files' spool.png wrap.png

# ---------------------------------------------------------------- previews: what is refused

refuses 2 'voxfilt: --preview: out: an output goes there' voxfilt -i vol.raw -d 40,30,20 -t f32 -o out --preview out
refuses 2 'voxfilt: --preview: vol.raw: an input would be replaced' \
    voxfilt -i vol.raw -d 40,30,20 -t f32 -o out --preview vol.raw
refuses 2 'voxfilt: --preview: ./r.json: --report goes there' \
    voxfilt -i vol.raw -d 40,30,20 -t f32 -o out --report=json:r.json --preview ./r.json
refuses 2 'voxfilt: --preview: given twice' voxfilt -i vol.raw -n 3 --preview a.png --preview b.png
refuses 2 'voxfilt: --preview: not allowed with --bench and --tune, which filter nothing' voxfilt --bench --preview a.png
mkdir -p dir
refuses 2 'voxfilt: --preview: only one input is allowed, not 2' voxfilt -d 40,30,20 vol.raw vol2.raw -o dir/ --preview a.png
refuses 4 'voxfilt: --preview: missing/a.png: No such file or directory' \
    voxfilt -i vol.raw -d 40,30,20 -t f32 -o out --preview missing/a.png
ends 'a preview on a full disk' 4 'voxfilt: --preview: /dev/full: No space left on device
' voxfilt -i vol.raw -d 40,30,20 -t f32 -o kept.raw --preview /dev/full
voxfilt -i vol.raw -d 40,30,20 -t f32 -o plain.raw
same 'and the output is complete' kept.raw plain.raw
rm -f p.png
head -c 5000 vol.raw > short.raw
ends 'a pipe that ends early' 3 'voxfilt: standard input: length: 5000 bytes, but 40 x 30 x 20 f32 take 96000
' from short.raw voxfilt -d 40,30,20 -t f32 -o out --preview p.png
[ ! -e p.png ] && ! ls -- *.part > ../parts 2>&1
result $? 'without a run there is no preview'
voxfilt -i vol.raw -d 40,30,20 -t f32 --explain --preview p.png > plan && grep -q ' for the preview$' plan && [ ! -e p.png ]
result $? 'a plan counts its memory, and draws nothing'

# ---------------------------------------------------------------- states on the way

# States of a run are the outputs of shorter ones, by bytes, in any memory and from a pipe.
v() # STEPS OPTION...
{
    steps=$1
    shift
    voxfilt -i vol.raw -d 40,30,20 -t f32 -f gauss:1 -f heat -s "$steps" "$@"
}

for edge in reflect mirror nearest wrap constant:3 hold; do
    for n in 0 1 6 13; do
        v $n -e $edge -o $n.raw
    done
    for memory in 1G 330K 150K 100K; do
        rm -f tee*.raw
        v 13 -e $edge -m $memory -o all.raw --tee 6:tee6.raw --tee 0:tee0.raw --tee 13:tee13.raw --tee 1:tee1.raw
        for n in 0 1 6 13; do
            same "$edge, in $memory: step $n" $n.raw tee$n.raw
        done
        same "$edge, in $memory: the output" 13.raw all.raw
    done
done
voxfilt -i vol.raw -d 40,30,20 -t f32 -s 9 -e wrap -m 100K --explain --tee 5:x.raw > plan
grep -q 'passes over .* spool file' plan
result $? 'some of it was over spool files'
grep -q '^tee       after 5 steps: x.raw$' plan && grep -q '^          1 state: 93.8 KiB more to write; fused steps end at each$' plan && [ ! -e x.raw ]
result $? 'a plan says what a tee costs'
piped vol.raw voxfilt -d 40,30,20 -t f32 -f gauss:1 -f heat -s 13 -e hold -j 1 --tee 6:pipe6.raw > all.raw
same 'a tee of a pipe' 6.raw pipe6.raw
v 6 -e hold -o 6.nii.gz
v 13 -e hold -o all.raw --tee 6:tee6.nii.gz
same 'in a format of its own' 6.nii.gz tee6.nii.gz
for region in --crop=3:20,4:9,2:15 --planes=5:9 --slice=y=3; do
    v 6 "$region" -q -o region.png
    v 13 "$region" -q -o all.png --tee 6:tee.png
    same "$region" region.png tee.png
done
voxfilt -i vol.raw -d 40,30,20 -t f32 -f scale:999,0 -f heat -s 6 --out-type u8 -o out 2> ../alone
voxfilt -i vol.raw -d 40,30,20 -t f32 -f scale:999,0 -f heat -s 13 --out-type u8 -o other --tee 6:out 2> ../both
rm -f out
[ -s ../alone ] && [ "$(grep -c ': out: ' ../both)" = 1 ] && grep ': out: ' ../both | diff ../alone -
result $? 'losses of a tee are told, as those of an output'
ends 'a full disk' 4 'voxfilt: /dev/full: No space left on device
' v 13 -o out --tee 6:/dev/full
[ ! -e out ]
result $? 'takes the output with it'
# An output so small that it is written only when it is complete.
ends 'an output on a full disk' 4 'voxfilt: /dev/full: No space left on device
' v8 -s 3 -o /dev/full --tee 1:gone1.raw --tee 2:gone2.nhdr
ls gone* > ../left 2> ../stderr
[ ! -s ../left ]
result $? 'takes the tees with it, and their samples beside a header'
rm -f tee.raw
ends 'a pipe that ends early' 3 'voxfilt: standard input: length: 5000 bytes, but 40 x 30 x 20 f32 take 96000
' from short.raw voxfilt -d 40,30,20 -t f32 -o out --tee 1:tee.raw
[ ! -e tee.raw ] && ! ls -- *.part > ../parts 2>&1
result $? 'without a run there is no tee'
refuses 2 'voxfilt: --tee: 7:x.raw: the last stage takes 6 steps' v 6 -o out --tee 7:x.raw
refuses 2 'voxfilt: --tee: 7:x.raw: the last stage takes 1 step' v 1 -o out --tee 7:x.raw
refuses 2 'voxfilt: --tee: not allowed with --until, which finds its last step by itself' v 9 --until 1 -o out --tee 7:x.raw
refuses 2 'voxfilt: --tee: not allowed with --out-range=auto: each state has its own range' \
    v 9 --out-type u8 --out-range auto -o out --tee 7:x.raw
refuses 2 'voxfilt: --tee: every state is the input: no stage changes a sample' \
    voxfilt -i vol.raw -d 40,30,20 -t f32 -f identity -s 3 -o out --tee 1:x.raw
refuses 2 'voxfilt: --tee: scale:2,0 as the last stage has no states of its own' \
    voxfilt -i vol.raw -d 40,30,20 -t f32 -f scale:2,0 -s 3 -o out --tee 1:x.raw
refuses 2 'voxfilt: --tee: out: an output goes there' v 9 -o out --tee 7:out
refuses 2 'voxfilt: --tee: x.raw: an output goes there' v 9 -o x.nhdr --tee 7:x.raw
refuses 2 'voxfilt: --tee: out.raw: an output goes there' v 9 -o out.raw --tee 7:out.nhdr
refuses 2 'voxfilt: --tee: vol.raw: an input would be replaced' v 9 -o out --tee 7:vol.raw
refuses 2 'voxfilt: --tee: x.png: --preview goes there' v 9 -o out --tee 7:x.png --preview x.png
refuses 2 'voxfilt: --tee: ./x: another state goes there' v 9 -o out --tee 7:x --tee 6:./x
refuses 2 'voxfilt: --tee: x.mhd: another state goes there' v 9 -o out --tee 7:x.nhdr --tee 6:x.mhd
refuses 2 'voxfilt: --tee: /dev/stdout: an output goes there' v 9 --tee 7:-
v 9 -o out --tee 7:- --tee 6:- 2>&1 >out.raw | grep -q '^voxfilt: --tee: -: another state goes there'
result $? 'two states cannot share standard output'
accepts 'but a device takes all that comes' '' v 9 -o /dev/null --tee 7:/dev/null --tee 6:/dev/null
refuses 2 'voxfilt: --tee: 7: expected N:FILE, where N is a number of steps' v 9 -o out --tee 7
refuses 2 'voxfilt: --tee: -1:x: expected N:FILE, where N is a number of steps' v 9 -o out --tee=-1:x
refuses 2 'voxfilt: --tee: not allowed with --bench and --tune, which filter nothing' voxfilt --bench --tee 1:x

make_picture -d 60,50 --rgba -o in.png
for n in 0 4 8; do
    imgheat -s $n --flux pm2 --scale 20 -o "$n.png" in.png
done
accepts 'frames' '' imgheat -s 11 --flux pm2 --scale 20 --frames 'f-%03d.png' --every 4 -o last.png in.png
[ "$(echo f-*.png)" = 'f-000.png f-001.png f-002.png' ]
result $? 'so many, by their numbers'
same 'frame 0 is the input' 0.png f-000.png
same 'frame 1' 4.png f-001.png
same 'frame 2' 8.png f-002.png
accepts 'losses of all frames are told at once' 'imgheat: cut-%d.bmp: a PNG picture is written, despite the name
imgheat: last.png: 2506 samples (70 %) were cut off at 255
imgheat: cut-%d.bmp: 16375 samples (65 %) were cut off at 255
' imgheat -f scale:3,0 -f heat -s 6 --frames 'cut-%d.bmp' -o last.png rgb.png
accepts 'frames of every step' '' imgheat -s 3 --frames 'g %d.png' -o last.png in.png
[ -s 'g 0.png' ] && [ -s 'g 3.png' ] && [ ! -e 'g 4.png' ]
result $? 'three, and the input'
refuses 2 'imgheat: --frames: f.png: expected a name with %d or %04d in it, once' imgheat --frames f.png -o out in.png
refuses 2 'imgheat: --frames: %d-%d: expected a name with %d or %04d in it, once' imgheat --frames %d-%d -o out in.png
refuses 2 'imgheat: --every: 0: expected a whole number above 0' imgheat --frames %d.png --every 0 -o out in.png
refuses 2 'imgheat: --every: it needs --frames' imgheat --every 2 -o out in.png
refuses 2 'imgheat: --frames: not allowed with --tee' imgheat --tee 1:a.png --frames %d.png -o out in.png
refuses 2 'imgheat: --frames: f-1.png: an output goes there' imgheat --frames f-%d.png -o f-1.png in.png
refuses 6 'imgheat: --frames: 1001 frames, but at most 900; --every 2 is enough' imgheat -s 1000 --frames f-%d.png -o out in.png

# The same from the fields of a GPU, whose kernels run here as C++ for the host.
emulated=${top_builddir:-.}/tests/imgheat_emulated
if [ -x "$emulated" ]; then
    for memory in 1G 700K; do
        "$emulated" --program=voxfilt -D cuda -i vol.raw -d 40,30,20 -t f32 -f gauss:1 -f heat -s 13 -e hold -m $memory \
            -o all.raw --tee 6:tee6.raw --tee 0:tee0.raw --preview gpu.png
        same "a GPU, in $memory: step 0" 0.raw tee0.raw
        same "a GPU, in $memory: step 6" 6.raw tee6.raw
        same "a GPU, in $memory: the output" 13.raw all.raw
    done
    v 13 -e hold -o out --preview cpu.png
    same 'a GPU: the preview' cpu.png gpu.png
else
    skip 'states on a GPU: imgheat_emulated is not built'
fi

# ---------------------------------------------------------------- plots

# The texts of a plot are readable, and it has so many bars or dots and dashed lines.
draws() # NAME FILE BOXES DOTS DASHED [TEXT]...
{
    name=$1 file=$2
    printf 'boxes %s\ndots %s\ndashed %s\n' "$3" "$4" "$5" > ../wanted
    shift 5
    if ! has python3; then
        skip "$name: python3 is not here"
        return
    fi
    python3 "${top_srcdir:?}/tests/texts.py" "$file" > ../have && tail -n 3 ../have | diff ../wanted -
    drawn=$?
    for text in "$@"; do
        grep -q -x -e "$text" ../have || { echo "missing: $text"; cat ../have; drawn=1; }
    done
    result $drawn "$name"
}

# A bar for each line of the table, one more for the key of what a plan takes; the line of the copy, and that of its key.
accepts '--bench --plot' '' voxfilt -d 20,12,10 -D cpu --bench --plot bench.svg
bars=$(grep -c ' equal ' ../stdout)
draws 'a bench' bench.svg $((bars + 1)) 0 2 'heat: 20 x 12 x 10 f32 on .*' 'naive, 1 step' 'GCells/s' \
    'the speed of a copy, .* GB/s: .* GCells/s if each step is a pass over memory' 'what a plan takes'
accepts '--bench=json --plot of two stages' '' imgheat -D cpu -f sobel:x -f heat --bench=json --plot bench.svg in.png
draws 'two charts' bench.svg "$(($(grep -c '"seconds_per_step"' ../stdout) + 2))" 0 4 'Mpx/s' 'heat: 60 x 50 f32 on .*'
accepts '--bench --plot of one sample' '' voxfilt -d 1,1,1 -D cpu -f star:8 --bench --plot bench.svg
draws 'one sample' bench.svg $(($(grep -c ' equal ' ../stdout) + 1)) 0 2 'does not apply'

u() # OPTION...
{
    voxfilt -i vol.raw -d 40,30,20 -t f32 -e hold --check-every 4 -o out "$@"
}

accepts '--until --plot' '' u --until 0.5 --plot until.svg --report=json:until.json
if has python3; then
    checks=$(python3 -c 'import json; print(json.load(open("until.json"))["check_count"])')
    steps=$(python3 -c 'import json; print(json.load(open("until.json"))["steps"])')
    draws 'the changes of --until' until.svg 0 "$checks" 1 'RMS change of a step: heat' 'steps' '--until 0.5' \
        "stopped after $steps steps: the last change is .*"
fi
ends '--until in vain' 7 'voxfilt: out: --until 1e-09 was not reached: the RMS change of step 9 is 0.824953
' u --until 1e-9 -s 9 --plot until.svg
draws 'what was not reached' until.svg 0 3 1 'not reached after 9 steps: the last change is 0.825'
head -c 4 /dev/zero > one.raw
accepts '--until of one sample' '' voxfilt -i one.raw -n 1 -t f32 --until 0.1 -o out --plot until.svg
draws 'a change of 0' until.svg 0 0 1 'not drawn: 1 that is 0 or not finite'
voxfilt -q -i one.raw -n 1 -t f32 --until 0.1 -s 0 -o out --plot until.svg
draws 'no step' until.svg 0 0 1 'no step was checked'
printf '\0\0\300\177' > one.raw
voxfilt -q -i one.raw -n 1 -t f32 --until 0.1 --check-every 1 -s 5000 -o out --plot until.svg
draws 'more checks than are kept' until.svg 0 0 1 'the latest 4096 of 5000 checks' 'not drawn: 4096 that are 0 or not finite'
rm -f until.svg
refuses 2 'voxfilt: --plot: it needs --bench, --tune or --until' \
    voxfilt -i vol.raw -d 40,30,20 -t f32 -o out --plot until.svg
refuses 2 'voxfilt: --plot: out: an output goes there' u --until 1 --plot out
refuses 2 'voxfilt: --plot: p.svg: --preview goes there' u --until 1 --preview p.svg --plot p.svg
refuses 2 'voxfilt: --plot: vol.raw: an input would be replaced' voxfilt -i vol.raw -d 40,30,20 -t f32 --bench --plot vol.raw
refuses 4 'voxfilt: --plot: missing/a.svg: No such file or directory' u --until 1 --plot missing/a.svg
refuses 2 'voxfilt: --plot: only one input is allowed, not 2' voxfilt -d 40,30,20 vol.raw vol2.raw -o dir/ --until 1 --plot a.svg
ends 'a plot on a full disk' 4 'voxfilt: --plot: /dev/full: No space left on device
' u --until 1 --plot /dev/full

conclude
