#!/bin/sh
# What people look at: previews, pixel by pixel, the same wherever the data comes from and goes to. Prints a line a case and
# fails if one does.
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
for type in u8 i8 u16 i16 u32 i32 u64 i64 f32 f64; do
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
refuses 2 'voxfilt: --preview: it is for one input, not for 2' voxfilt -d 40,30,20 vol.raw vol2.raw -o dir/ --preview a.png
refuses 4 'voxfilt: --preview: missing/a.png: No such file or directory' \
    voxfilt -i vol.raw -d 40,30,20 -t f32 -o out --preview missing/a.png
ends 'a preview on a full disk' 4 'voxfilt: --preview: /dev/full: No space left on device
' voxfilt -i vol.raw -d 40,30,20 -t f32 -o kept.raw --preview /dev/full
voxfilt -i vol.raw -d 40,30,20 -t f32 -o plain.raw
same 'and the output is complete' kept.raw plain.raw
rm -f p.png
head -c 5000 vol.raw > short.raw
ends 'a pipe that ends early' 3 'voxfilt: standard input: length: 5000 bytes, but 40 × 30 × 20 f32 take 96000
' from short.raw voxfilt -d 40,30,20 -t f32 -o out --preview p.png
[ ! -e p.png ] && ! ls -- *.part > ../parts 2>&1
result $? 'without a run there is no preview'
voxfilt -i vol.raw -d 40,30,20 -t f32 --explain --preview p.png > plan && grep -q ' for the preview$' plan && [ ! -e p.png ]
result $? 'a plan counts its memory, and draws nothing'

conclude
