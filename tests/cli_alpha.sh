#!/bin/sh
# Alpha in volumes: which channel a file says is alpha, what that does to colour, and that outputs say it again. Prints a line
# a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

convert()
{
    voxfilt -f identity "$@"
}

channel() # NUMBER FILE, of four of u8
{
    od -An -v -tu1 -w4 "$2" | awk -v number="$1" '{ print $number }'
}

field() # FILE
{
    sed -n '/^kinds/p; /^$/q' "$1"
}

mkdir s one got
for seed in 1 2 3 4 5; do
    make_picture -d 40,30 --rgba --seed $seed -o s/$seed.png
done
cp s/3.png one/0.png
accepts 'a stack of pictures has alpha' '' convert -i 's/%d.png' -o rgba.nrrd
[ "$(field rgba.nrrd)" = 'kinds: RGBA-color domain domain domain' ]
result $? 'which NRRD says'
accepts 'as NIfTI does' '' convert -i rgba.nrrd -o rgba.nii
convert -i rgba.nii -o rgba.raw
channel 4 rgba.raw | sort -u | tr '\n' ' ' > ../alphas
[ "$(wc -w < ../alphas)" -gt 1 ] && grep -qw 255 ../alphas
result $? 'of many values'

# ---------------------------------------------------------------- what imgheat does

# Filters along x and y alone, or whose weight along z is that of the middle on one plane.
for options in '-f identity' '-f gradient' '-f sobel:x' '-f scale:-1,255' '-f gradient -f scale:0.5,20 --out-range auto'; do
    for mode in premultiply separate; do
        # shellcheck disable=SC2086  # words
        voxfilt -q -i 'one/%d.png' $options --alpha-mode $mode -o 'got/%d.png'
        # shellcheck disable=SC2086
        imgheat -q one/0.png $options --alpha-mode $mode -o want.png
        case $options in *sobel*) continue ;; esac # of three axes
        same "$options, $mode: as a picture" got/0.png want.png
        rm got/0.png
    done
done
blur='matrix:1 2 1; 2 4 2; 1 2 1/16'
for mode in premultiply separate; do
    voxfilt -q -i 'one/%d.png' -f "$blur" -s 3 -f gradient -f "$blur" --alpha-mode $mode -o 'got/%d.png'
    imgheat -q one/0.png -f "$blur" -s 3 -f gradient -f "$blur" --alpha-mode $mode -o want-$mode.png
    same "a chain, $mode: as a picture" got/0.png want-$mode.png
    rm got/0.png
done
differ 'the mode matters' want-premultiply.png want-separate.png

# ---------------------------------------------------------------- in any format, on any road

for options in '-f gauss:1' '-f gradient' '-f heat -s 20 -e hold' '-f unsharp:1,2 -f laplace -f box:1'; do
    # shellcheck disable=SC2086  # words
    {
        voxfilt -i rgba.nrrd -q -D cpu $options -o wanted.raw
        for input in 's/%d.png' rgba.nii; do
            voxfilt -i "$input" -q $options -o found.raw
            same "$options: $input" wanted.raw found.raw
        done
        for way in '-j 3' '-m 1M -j 1' '--work f32'; do
            voxfilt -i rgba.nrrd -q $options $way -o found.raw
            same "$options: $way" wanted.raw found.raw
        done
        for k in 1 2 3; do
            voxfilt -i rgba.nrrd -q $options --part $k/3 --out-format raw
        done > found.raw
        same "$options: parts" wanted.raw found.raw
        voxfilt -i rgba.nrrd -q $options --crop 3:30,5:20,1:4 -o found.raw
        voxfilt -i wanted.raw -q -d 40,30,5 -t u8 --channels 4 -f identity --crop 3:30,5:20,1:4 -o cut.raw
        same "$options: a region" cut.raw found.raw
        voxfilt -q $options < rgba.nrrd > found.nrrd
        convert -q -i found.nrrd -o found.raw
        same "$options: from a pipe into one" wanted.raw found.raw
        voxfilt -i rgba.nrrd -q $options --slice z=2 -o slice.png
        rm -f got/0.png
        voxfilt -i rgba.nrrd -q $options --planes 2:3 -o 'got/%d.png'
        same "$options: a slice is a picture" slice.png got/0.png
    }
done
{
    printf 'NRRD0004\ntype: uchar\ndimension: 5\nsizes: 4 40 30 5 2\nkinds: RGBA-color space space space list\nencoding: raw\n\n'
    cat rgba.raw rgba.raw
} > series.nrrd
voxfilt -q -i rgba.nrrd -f gauss:1 -o one.raw
cat one.raw one.raw > wanted.raw
accepts 'a series has alpha' '' voxfilt -i series.nrrd -f gauss:1 -o found.raw
same 'each volume is filtered with it' wanted.raw found.raw
voxfilt -q -i series.nrrd --volume 1 -f gauss:1 -o found.raw
same 'and one of them alone' one.raw found.raw

# ---------------------------------------------------------------- what it means

voxfilt -q -i rgba.nrrd -f gauss:1 --alpha-mode separate -o separate.raw
accepts 'channels that are counted are alike' '' voxfilt -i rgba.nrrd --channels 4 -f gauss:1 -o plain.nrrd
[ "$(field plain.nrrd)" = 'kinds: vector domain domain domain' ]
result $? 'and nothing says that one is alpha'
convert -q -i plain.nrrd -o plain.raw
same 'as where each channel is by itself' separate.raw plain.raw
differ 'colour is weighted by alpha otherwise' one.raw plain.raw
voxfilt -q -i rgba.nrrd -f gradient -o edges.raw
voxfilt -q -i rgba.nrrd --channels 4 -f gradient -o plain.raw
for number in 1 2 3; do
    channel $number edges.raw > ../edges
    channel $number plain.raw > ../plain
    same "a gradient of colour $number" ../edges ../plain
done
channel 4 edges.raw > ../edges
channel 4 rgba.raw > ../plain
same 'leaves alpha as it is' ../edges ../plain

# One colour, but for pixels that nobody sees.
count=0
while [ $count -lt 64 ]; do
    printf '\012\024\036\377\310\310\310\000\012\024\036\144\310\000\310\000\012\024\036\001\012\024\036\200'
    count=$((count + 1))
done > flat.raw
{
    printf 'NRRD0004\ntype: uchar\ndimension: 4\nsizes: 4 6 8 8\nkinds: rgba-COLOR none none none\nencoding: raw\n\n'
    cat flat.raw
} > flat.nrrd
voxfilt -q -i flat.nrrd -f gauss:1 -o found.raw
[ "$(od -An -v -tu1 -w4 found.raw | awk '{ print $1, $2, $3 }' | sort -u)" = '10 20 30' ]
result $? 'the colour of transparent voxels does not bleed'
sed 's/RGBA-color/4-color/' rgba.nrrd > four.nrrd
accepts 'four colours have no alpha' 'voxfilt: four.nrrd: --alpha-mode has no effect: there is no alpha
' voxfilt -i four.nrrd -f gauss:1 --alpha-mode premultiply -o found.raw
same 'and are filtered alike' separate.raw found.raw

# Where another type has its opaque, alpha goes.
for type in u16 u32 i32 u64 f32 f64; do
    voxfilt -q -i rgba.nrrd -f identity --out-type $type -o typed.nrrd
    voxfilt -q -i typed.nrrd -f gauss:1 --out-type u8 -o found.raw
    same "$type: alpha weights colour, and returns" one.raw found.raw
    voxfilt -q -i typed.nrrd -f gradient --out-type u8 -o found.raw
    same "$type: edges" edges.raw found.raw
done
printf '\144\144\144\377\144\144\144\000' > two.raw
{
    printf 'NRRD0004\ntype: uchar\ndimension: 3\nsizes: 4 2 1\nkinds: RGBA-color domain domain\nencoding: raw\n\n'
    cat two.raw
} > two.nrrd
[ "$(voxfilt -q -i two.nrrd -f identity --out-type f32 --out-format raw | od -An -tfF | xargs)" = '100 100 100 1 100 100 100 0' ]
result $? 'in floating point 1 is opaque'
[ "$(voxfilt -q -i two.nrrd -f identity --out-type i8 --out-format raw | od -An -td1 | xargs)" = '100 100 100 127 100 100 100 0' ]
result $? 'and in other types their largest value'
voxfilt -q -i rgba.nrrd -f identity --out-type f32 -o typed.nrrd
voxfilt -q -i typed.nrrd -f identity --slice z=2 -o slice.png
imgheat --stats -f identity slice.png -o out.png 2>&1 | grep -q 'channel 3.*max 65535'
result $? 'a slice of them is opaque in a picture, too'

# ---------------------------------------------------------------- what is said

refuses 2 'voxfilt: --alpha-mode: other: expected premultiply or separate' voxfilt --alpha-mode other
accepts 'raw samples have no alpha' 'voxfilt: rgba.raw: --alpha-mode has no effect: there is no alpha
' voxfilt -i rgba.raw -d 40,30,5 -t u8 --channels 4 -f gauss:1 --alpha-mode separate -o found.raw
accepts 'a mode that nothing heeds is named' 'voxfilt: rgba.nrrd: --alpha-mode has no effect: no stage filters alpha
' voxfilt -i rgba.nrrd -f gradient --alpha-mode separate -o found.raw
refuses 2 'voxfilt: rgba.nrrd: an NRRD file, whose header replaces --channels; --format raw reads the whole file as samples' \
    voxfilt -i rgba.nrrd --channels 3 -f gauss:1 -o out.nrrd
refuses 2 'voxfilt: four.nrrd: an NRRD file, whose header replaces --channels; --format raw reads the whole file as samples' \
    voxfilt -i four.nrrd --channels 4 -f gauss:1 -o out.nrrd
accepts 'what has no word for alpha is named' 'voxfilt: rgba.nrrd: left out: kinds
' convert -i rgba.nrrd -o out.mha
accepts 'of NIfTI, too' 'voxfilt: rgba.nii: left out: datatype
' convert -i rgba.nii -o out.mha
convert -i rgba.raw -d 80,30,5 -t u8 --channels 2 -o 'got/ga%d.png'
accepts 'of gray with alpha' 'voxfilt: got/ga0.png: left out: IHDR: alpha
' convert -i 'got/ga%d.png' -o out.nrrd
accepts 'which TIFF tells' '' convert -i 'got/ga%d.png' -o out.tif
voxfilt --explain -i rgba.nrrd -f gauss:1 -f gradient -f box:1 > ../explained
grep -q '^work      f32, alpha premultiplied$' ../explained &&
    grep -q '^stage 2   uncover: from here on colour is not multiplied by alpha$' ../explained &&
    grep -q '^stage 4   cover: from here on colour is multiplied by alpha$' ../explained
result $? 'the plan says where colour is multiplied'

conclude
