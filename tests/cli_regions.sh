#!/bin/sh
# A part of the result: --crop, --planes and --slice write what the whole run has there, with its place in space. Prints a
# line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# Of a raw volume of 21 by 15 by 30 samples of so many bytes, what a box has, on standard output.
cut_box() # FILE BYTES X0 X1 Y0 Y1 Z0 Z1
{
    z=$7
    while [ "$z" -lt "$8" ]; do
        y=$5
        while [ "$y" -lt "$6" ]; do
            tail -c +$((((z * 15 + y) * 21 + $3) * $2 + 1)) "$1" | head -c $((($4 - $3) * $2))
            y=$((y + 1))
        done
        z=$((z + 1))
    done
}

volume()
{
    voxfilt -i scan.raw -d 21,15,30 -t u16 "$@"
}

make_volume -d 21,15,30 -t u16 -o scan.raw

# ---------------------------------------------------------------- the same samples

for job in '-f heat -s 12' '-f gauss:1.5 -e wrap' '-f unsharp:1,2 -e constant:5 --out-type f32' '-f identity' \
    '-f heat --until 20 -s 200 --check-every 3' '-f sobel:x --out-range auto' '-f heat -s 40 -m 90K' \
    '-f dog:0.5,1.3 -e hold -f gradmag:1 -s 2 --out-type f32' \
    '-f bilateral:1,5000 -e wrap' '-f median:1 -e hold -f min:4 -f percentile:2,70,ball -e wrap' \
    '-f box:2 -e hold -f gradient -e mirror --work f64' '-f identity --out-endian big'; do
    case $job in
    *f32) bytes=4 ;;
    *) bytes=2 ;;
    esac
    # shellcheck disable=SC2086  # words
    volume -q $job -o whole.raw
    cut_box whole.raw $bytes 0 21 0 15 11 14 > expected.raw
    # shellcheck disable=SC2086
    volume -q $job --planes 11:14 -o planes.raw
    same "$job: --planes" planes.raw expected.raw
    # shellcheck disable=SC2086
    piped scan.raw voxfilt -q -d 21,15,30 -t u16 $job --planes 11:14 > piped.raw
    same "$job: --planes of a pipe" piped.raw expected.raw
    cut_box whole.raw $bytes 3 8 4 15 20 30 > expected.raw
    for threads in 1 3; do
        # shellcheck disable=SC2086
        volume -q -j $threads $job --crop 3:8,4:,20: -o box.raw
        same "$job: --crop on $threads threads" box.raw expected.raw
    done
done
voxfilt -i scan.raw -d 21,450 -t u16 -f heat -o flat.raw
cut_box flat.raw 2 0 21 0 15 2 4 > expected.raw
voxfilt -i scan.raw -d 21,450 -t u16 -f heat --planes 30:60 -o rows.raw
same 'planes of a plane are its rows' rows.raw expected.raw
cut_box flat.raw 2 20 21 0 15 0 30 > expected.raw
voxfilt -i scan.raw -d 21,450 -t u16 -f heat --crop 20:,: -o column.raw
same 'a column' column.raw expected.raw
volume -f heat --crop :,: -o all.raw
volume -f heat -o whole.raw
same 'the crop that leaves out nothing' all.raw whole.raw
voxfilt -i eight.raw -d 1,1,8 -t u8 -f identity --planes 7: -o last.raw
[ "$(bytes last.raw)" = 7 ]
result $? 'the last plane alone'
make_volume -d 21,15,30 -t u16 --channels 3 -o colour.raw 2> ../stderr ||
    cat scan.raw scan.raw scan.raw > colour.raw
voxfilt -i colour.raw -d 21,15,30 -t u16 --channels 3 -f gauss:1 -o whole.raw
cut_box whole.raw 6 1 3 2 4 5 7 > expected.raw
voxfilt -i colour.raw -d 21,15,30 -t u16 --channels 3 -f gauss:1 --crop 1:3,2:4,5:7 -o box.raw
same 'channels stay together' box.raw expected.raw

for picture in gray rgb rgba deep; do
    imgheat -f gauss:2 $picture.png -o whole.png
    imgheat -f identity --crop 7:20,11:13 whole.png -o expected.png
    imgheat -f gauss:2 --crop 7:20,11:13 $picture.png -o box.png
    same "$picture: --crop" box.png expected.png
    piped $picture.png imgheat -f gauss:2 --planes 11:13 > rows.png
    imgheat -f identity --crop :,11:13 whole.png -o expected.png
    same "$picture: --planes" rows.png expected.png
done

# ---------------------------------------------------------------- what is read

# Of a sparse volume of 16 GiB, three planes and what they need.
if truncate -s 17179869184 large.raw 2> ../stderr; then
    accepts 'no more than is needed is read' '' \
        timeout 20 voxfilt -D cpu -i large.raw -d 512,512,16384 -t f32 -s 4 --planes 9000:9003 -o few.raw
    [ "$(wc -c < few.raw)" = 3145728 ]
    result $? 'and three planes are written'
    rm large.raw
else
    skip 'what is read: no sparse files'
fi
# A stream is read to its end, which says that it is whole.
head -c 18000 scan.raw > short.raw
ends 'a stream that ends early is refused, though its part is there' 3 \
    'voxfilt: standard input: length: it ends before the last of 9450 u16 samples
' piped short.raw voxfilt -d 21,15,30 -t u16 -f identity --planes 1:3 -o few.raw
volume -f identity -o scan.nii.gz
head -c $(($(wc -c < scan.nii.gz) - 6)) scan.nii.gz > cut.nii.gz
rm -f few.nii
voxfilt cut.nii.gz -f identity --planes 1:3 -o few.nii 2> ../stderr
[ $? = 3 ] && [ ! -e few.nii ]
result $? 'and so is compressed data without its end'

# ---------------------------------------------------------------- the place in space

volume -f identity -o plain.nrrd
{
    printf 'NRRD0004\ntype: uint16\ndimension: 3\nspace: left-posterior-superior\nsizes: 21 15 30\n'
    printf 'space directions: (0,2,0) (0.5,0,0) (0,0,-3)\nkinds: domain domain domain\nendian: little\n'
    printf 'encoding: raw\nspace origin: (10,20,30)\ntumour:=yes\n\n'
    cat scan.raw
} > placed.nrrd
accepts 'a region of an NRRD file' '' voxfilt placed.nrrd -f gauss:1 --crop 4:9,2:,7:17 -o box.nrrd
sed '/^$/q' box.nrrd | sort > told
printf '%s\n' '' 'NRRD0004' 'dimension: 3' 'encoding: raw' 'endian: little' 'kinds: domain domain domain' \
    'sizes: 5 13 10' 'space directions: (0,2,0) (0.5,0,0) (0,0,-3)' 'space origin: (11,28,9)' \
    'space: left-posterior-superior' 'tumour:=yes' 'type: uint16' | sort | diff - told
result $? 'has its sizes and its origin'
volume -f gauss:1 -o whole.raw
cut_box whole.raw 2 4 9 2 15 7 17 > expected.raw
rm -f back.raw
voxfilt box.nrrd -f identity -o back.raw
same 'and its samples' back.raw expected.raw
voxfilt -q placed.nrrd --spacing 4,0.5,3 -f gauss:1u --crop 4:9,2:,7:17 -o spaced.nrrd
grep -q '^space origin: (11,36,9)$' spaced.nrrd && grep -q '^space directions: (0,4,0) (0.5,0,0) (0,0,-3)$' spaced.nrrd
result $? 'along the directions that --spacing makes of them'

{
    printf 'ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\n'
    printf 'TransformMatrix = 0 1 0 1 0 0 0 0 -1\nOffset = 10 20 30\nElementSpacing = 2 0.5 3\n'
    printf 'DimSize = 21 15 30\nElementType = MET_USHORT\nElementDataFile = LOCAL\n'
    cat scan.raw
} > placed.mha
accepts 'a region of a MetaImage file' '' voxfilt placed.mha -f gauss:1 --crop 4:9,2:,7:17 -o box.mha
grep -a -q '^DimSize = 5 13 10$' box.mha && grep -a -q '^Offset = 11 28 9$' box.mha &&
    grep -a -q '^TransformMatrix = 0 1 0 1 0 0 0 0 -1$' box.mha
result $? 'has its sizes and its offset'
rm -f back.raw
voxfilt box.mha -f identity -o back.raw
same 'and its samples' back.raw expected.raw

# Numbers of a header, little end first.
floats() # FILE AT COUNT
{
    od -An -v -tf4 -j "$2" -N $((4 * $3)) "$1" | xargs
}
volume -f identity -o plain.nii
# qform: half a turn about x, in millimetres of 2, 0.5 and 3; sform: the same with axes that are not square.
float()
{
    case $1 in
    0) printf '\000\000\000\000' ;;
    0.5) printf '\000\000\000\077' ;;
    1) printf '\000\000\200\077' ;;
    2) printf '\000\000\000\100' ;;
    3) printf '\000\000\100\100' ;;
    10) printf '\000\000\040\101' ;;
    20) printf '\000\000\240\101' ;;
    30) printf '\000\000\360\101' ;;
    esac
}
floats_of()
{
    for number in "$@"; do
        float "$number"
    done
}
{
    head -c 76 plain.nii
    floats_of 1 2 0.5 3
    tail -c +93 plain.nii | head -c 160
    printf '\001\000\001\000'
    floats_of 1 0 0 10 20 30 2 0 0 10 0 0.5 1 20 0 0 3 30
    tail -c +329 plain.nii
} > placed.nii
[ "$(wc -c < placed.nii)" = "$(wc -c < plain.nii)" ]
result $? 'a NIfTI header by hand'
accepts 'a region of a NIfTI file' '' voxfilt placed.nii -f gauss:1 --crop 4:9,2:,7:17 -o box.nii
[ "$(od -An -v -tu2 -j 40 -N 8 box.nii | xargs)" = '3 5 13 10' ]
result $? 'has its sizes'
[ "$(floats box.nii 256 6)" = '1 0 0 18 19 9' ]
result $? 'the offset of its qform'
[ "$(floats box.nii 280 12)" = '2 0 0 18 0 0.5 1 28 0 0 3 51' ]
result $? 'and that of its sform'
rm -f back.raw
voxfilt box.nii -f identity -o back.raw
same 'and its samples' back.raw expected.raw
for form in nii.gz hdr nhdr mhd npy; do
    volume -f identity -o form.$form
    rm -f back.raw
    voxfilt form.$form -f gauss:1 --crop 4:9,2:,7:17 -o box.$form
    voxfilt box.$form -f identity -o back.raw
    same "a region of a file $form" back.raw expected.raw
done

# ---------------------------------------------------------------- states on the way

for region in '--planes 3:5' '--crop 2:7,3:9,4:8' '--part 2/3' '--slice z=4'; do
    for edge in reflect wrap; do
        # shellcheck disable=SC2086  # words
        volume -q -f heat -s 3 -e $edge $region -o expected.nrrd
        # shellcheck disable=SC2086
        volume -q -f heat -s 9 -e $edge $region --tee 3:state.nrrd -o last.nrrd
        same "--tee with $region, -e $edge" state.nrrd expected.nrrd
        rm -f state.nrrd expected.nrrd
    done
done

# ---------------------------------------------------------------- slices

volume -f gauss:1 -o whole.raw
cut_box whole.raw 2 0 21 0 15 12 13 > expected.raw
accepts 'a slice of u16 is what it is' '' volume -f gauss:1 --slice z=12 -o slice.png
png_of() # FILE WIDTH HEIGHT
{
    voxfilt -q -i "$1" -d "$2",1,"$3" -t u16 -f identity --slice y=0 -o expected.png
}
png_of expected.raw 21 15
same 'along z' slice.png expected.png
cut_box whole.raw 2 0 21 14 15 0 30 > expected.raw
png_of expected.raw 21 30
volume -f gauss:1 --slice y=14 -o slice.png
same 'along y' slice.png expected.png
cut_box whole.raw 2 0 1 0 15 0 30 > expected.raw
png_of expected.raw 15 30
volume -f gauss:1 --slice x=0 -o slice.png
same 'along x' slice.png expected.png
volume -f gauss:1 --slice x=0 > slice.png
same 'into a pipe' slice.png expected.png
accepts 'bytes give 8 bits' '' v8 -f identity --slice z=3 -o slice.png
[ "$(od -An -v -tu1 -j 24 -N 2 slice.png | xargs)" = '8 0' ]
result $? 'of gray'
printf '\000\000\000\000\000\000\200\077\000\000\000\100\000\000\300\177' > four.raw
accepts 'floats are windowed, and a note says how' 'voxfilt: slice.png: 0 to 2 became 0 to 65535
' voxfilt -i four.raw -d 4,1,1 -t f32 -f identity --slice z=0 -o slice.png
printf '\000\000\000\200\377\377\000\000' > four16.raw
png_of four16.raw 4 1
same 'to nearest even, and NaN is black' slice.png expected.png
accepts 'constant samples are black' 'voxfilt: slice.png: 0, the only value, became 0
' from four.raw voxfilt -d 1,1,4 -t f32 -f identity --slice z=0 -o slice.png
accepts 'and a note says that none is finite' 'voxfilt: slice.png: no value is finite; -inf became 0, inf 65535, and NaN 0
' voxfilt -i four.raw -d 4,1,1 -t f32 -f identity --slice x=3 -o slice.png
accepts '--out-range windows them, too' '' \
    voxfilt -q -i four.raw -d 4,1,1 -t f32 -f identity --slice z=0 --out-range 0,2 -o slice.png
same 'in the same way' slice.png expected.png
accepts 'signed bytes' 'voxfilt: slice.png: -1 to 2 became 0 to 255
' from eight.raw voxfilt -d 2,2,2 -t i8 -f scale:1,-1 --slice z=0 -o slice.png
volume -f gauss:1 --slice z=12 --level 9 -o small.png
differ '--level is that of the PNG' small.png expected.png
accepts 'three channels are colours' '' \
    voxfilt -i colour.raw -d 21,15,30 -t u16 --channels 3 -f identity --slice x=3 -o slice.png
[ "$(od -An -v -tu1 -j 25 -N 1 slice.png | xargs)" = 2 ]
result $? 'of RGB'

# The chunk pHYs of a PNG, as its data in hexadecimal digits; nothing without one.
distance_of() # FILE
{
    od -An -v -tx1 "$1" | tr -d ' \n' | sed -n 's/.*70485973\(.\{18\}\).*/\1/p'
}

volume -f identity --spacing 0.5,0.5,2 --slice x=3 -o slice.png
[ "$(distance_of slice.png)" = 000f42400003d09000 ]
result $? 'distances that differ are told as a ratio where the unit is not known'
volume -f identity --spacing 0.5,0.5,2 --slice z=3 -o slice.png
[ "$(distance_of slice.png)" = '' ]
result $? 'equal ones are not'
volume -f identity --spacing 0.5,0.5,2 -o unit.nii
for unit in '2 000007d0000001f401' '3 001e84800007a12001' '1 000f42400003d09000'; do
    printf '%b' "\\00${unit%% *}" | dd of=unit.nii bs=1 seek=123 conv=notrunc 2> ../stderr
    voxfilt -i unit.nii -f identity --slice y=3 -o slice.png
    [ "$(distance_of slice.png)" = "${unit#* }" ]
    result $? "distances in the unit of xyzt_units = ${unit%% *}, or as a ratio where there are few a metre"
done
voxfilt -i unit.nii -f gauss:1 --out-type f32 --slice y=3 -q -o slice.png
[ "$(distance_of slice.png)" = "${unit#* }" ]
result $? 'of samples that are windowed, too'
volume --spacing 0.5,2,1 -f heat -o 'page%d.png'
[ "$(distance_of page7.png)" = 000f42400003d09000 ]
result $? 'and of the pictures of a stack'
printf 'NRRD0004\ntype: uint16\ndimension: 3\nsizes: 21 15 30\nspace: LPS\nspace directions: (0,0,-1) (1,0,0) (0,1,0)\nendian: little\nencoding: raw\ndata file: scan.raw\n' > lying.nhdr
for slice in x=3 y=4 z=5; do
    volume -f identity --slice $slice -o expected.png
    voxfilt -i lying.nhdr -f identity --slice $slice -q -o slice.png
    same "$slice: the order is that of indices, whatever the orientation" slice.png expected.png
done
mkdir made
accepts 'into a directory, with the ending of a picture' '' volume -f identity --slice z=1 -o made/
[ -s made/scan.png ]
result $? 'as scan.png'
accepts 'a name of another kind is told of' 'voxfilt: slice.nrrd: a PNG picture is written, despite the name
' volume -f identity --slice z=1 -o slice.nrrd

# ---------------------------------------------------------------- what is told, and what is refused

volume --crop 3:8,4:,20: -f gauss:1 --explain > ../stdout
grep -q '^region    x 3:8, y 4:15, z 20:30 of the result$' ../stdout
result $? '--explain says what is written'
volume --crop 3:8,4:,20: -f gauss:1 --report=json:report.json -o box.raw
grep -q '"region": \[\[3, 8\], \[4, 15\], \[20, 30\]\]' report.json
result $? 'and so does the report'
volume --crop 3:8,4:,20: -f gauss:1 --report -o box.raw 2> ../stderr
grep -q '^region    x 3:8, y 4:15, z 20:30 of the result$' ../stderr
result $? 'as text, too'
accepts 'losses are counted in what is written' 'voxfilt: box.raw: 1 sample (100 %) was cut off at 255
' volume -q -v --crop 3:4,4:5,20:21 -f scale:1,70000 --out-type u8 -o box.raw

volume -q -f heat --crop 3:9 -o columns.nrrd
volume -q -f heat --crop 3:9,:,: -o expected.nrrd
same 'axes without a range are whole' expected.nrrd columns.nrrd

box='expected X0:X1[,Y0:Y1[,Z0:Z1]], where an end may be left out'
for given in 1 1,2 1:2,3 1:2,3:4,5:6,7:8 -1:3,: '' a:b,c:d 1:2,; do
    refuses 2 "voxfilt: --crop: $given: $box" volume --crop="$given" -o out
done
for given in 3 : 1:2:3 -1:4; do
    [ "$given" = : ] || refuses 2 "voxfilt: --planes: $given: expected A:B, where an end may be left out" \
        volume --planes="$given" -o out
done
refuses 2 'voxfilt: --planes: 5:5: a range is empty: its end is the first index beyond it' volume --planes 5:5 -o out
refuses 2 'voxfilt: --crop: 9:3,:: a range is empty: its end is the first index beyond it' volume --crop 9:3,: -o out
refuses 2 'voxfilt: --crop: x=5:50 is not within 0:21' volume --crop 5:50,: -o out
refuses 2 'voxfilt: --crop: z=30: is not within 0:30' volume --crop :,:,30: -o out
refuses 2 'voxfilt: --planes: z=29:31 is not within 0:30' volume --planes 29:31 -o out
refuses 2 'imgheat: --planes: y=29:31 is not within 0:30' imgheat --planes 29:31 gray.png -o out
refuses 2 'voxfilt: --crop: 3 ranges for 2 axes' voxfilt -i scan.raw -d 21,450 -t u16 --crop :,:,: -o out
refuses 2 'imgheat: --crop: 3 ranges for 2 axes' imgheat --crop :,:,: gray.png -o out
refuses 2 'voxfilt: --slice: z=30: the last one is z=29' volume --slice z=30 -o out
refuses 2 'voxfilt: --slice: this grid has two axes, so it is a slice already' \
    voxfilt -i scan.raw -d 21,450 -t u16 --slice y=3 -o out
for given in q=1 z z= z=-1 =3 ''; do
    refuses 2 "voxfilt: --slice: $given: expected x=K, y=K or z=K" volume --slice="$given" -o out
done
refuses 2 'imgheat: --slice: no such option (voxfilt has it)' imgheat --slice z=1 gray.png -o out
refuses 2 'voxfilt: out: a PNG holds gray or RGB, not 2 channels without alpha' \
    voxfilt -i scan.raw -d 3,75,21 -t u16 --channels 2 --slice z=1 -o out
refuses 2 'voxfilt: --stats: not allowed with --planes: it adds up whole volumes' volume --stats --planes 1:2 -o out
refuses 2 'voxfilt: --preview: not allowed with --crop: it shows whole volumes' \
    volume --preview p.png --crop 1:2,: -o out
refuses 2 'voxfilt: --out-format: not allowed with --slice: a slice is a PNG' \
    volume --out-format nrrd --slice z=1 -o out
refuses 2 'voxfilt: --out-endian: not allowed with --slice: a slice is a PNG' \
    volume --out-endian big --slice z=1 -o out
refuses 2 'voxfilt: --crop: 1:2,:: --planes is given, too' volume --planes 1:2 --crop 1:2,: -o out
refuses 2 'voxfilt: --planes: given twice' volume --planes 1:2 --planes 1:2 -o out
refuses 2 'voxfilt: --slice: not allowed with --bench and --tune, which filter nothing' \
    voxfilt -n 8 --bench --slice z=1
refuses 4 'voxfilt: /dev/full: No space left on device' volume --planes 1:2 -o /dev/full

# ---------------------------------------------------------------- too wide a range

printf '\377\377\377\377\377\377\357\377\377\377\377\377\377\377\357\177' > wide.raw
refuses 6 'voxfilt: out: -1.79769313e+308 and 1.79769313e+308 are too far apart for one range of gray (--out-range)' \
    voxfilt -i wide.raw -d 2,1,1 -t f64 -f identity --slice z=0 -o out
refuses 6 'voxfilt: --out-range=auto: -1.79769313e+308 and 1.79769313e+308 are too far apart' \
    voxfilt -i wide.raw -d 2,1,1 -t f64 -f identity --out-range auto -o out

conclude
