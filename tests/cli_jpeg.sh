#!/bin/sh
# JPEG on the command line: samples as djpeg decodes them, files as cjpeg writes them, what stands beside the samples,
# and what is refused. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

libjpeg=$(sed -n 's/^#define JPEG_LIBRARY "\(.*\)"/\1/p' "${top_builddir:?}/config.h")
tiny='\377\330\377\300\000\013\010\000\001\000\001\001\001\021\000'
# shellcheck disable=SC2059  # escapes are wanted
printf "$tiny" > tiny.jpg
if [ -z "$libjpeg" ]; then
    refuses 3 'imgheat: tiny.jpg: a JPEG picture: this program was built without libjpeg' imgheat tiny.jpg -o out
    conclude
    exit
fi
needs cjpeg djpeg python3
pixels="python3 ${top_srcdir:?}/tests/pixels.py"

identity()
{
    imgheat -f identity "$@"
}

# ---------------------------------------------------------------- samples

"${MAKE_PICTURE:?}" -d 101,67 --rgb -o rgb.png
"$MAKE_PICTURE" -d 101,67 --gray -o gray.png
$pixels --pnm rgb.png gray.png
for extents in 1,1 7,9 8,8 16,17 33,15; do
    "$MAKE_PICTURE" -d $extents --rgb -o $extents.png
done
$pixels --pnm 1,1.png 7,9.png 8,8.png 16,17.png 33,15.png

# Every kind of JPEG in several sizes, as djpeg decodes it.
while read -r options; do
    for picture in rgb 1,1 7,9 8,8 16,17 33,15; do
        has_turn || continue
        name=$(echo "$picture $options" | tr -d ' -')
        # shellcheck disable=SC2086  # words
        cjpeg $options "$picture.png.pnm" > "$name.jpg" && djpeg -pnm "$name.jpg" > "$name.wanted" &&
            identity "$name.jpg" -o "$name.png" || result 1 "$name is decoded"
        echo "$name" >> ../names
    done
done << END
-quality 100 -sample 1x1
-quality 85 -sample 2x2
-quality 75 -sample 2x1 -progressive
-quality 90 -sample 1x2 -restart 1
-quality 60 -grayscale
-quality 30 -grayscale -progressive
-quality 80 -rgb
-quality 80 -sample 2x2 -arithmetic
END
# shellcheck disable=SC2046  # words
$pixels --pnm $(sed 's/$/.png/' ../names)
while read -r name; do
    same "$name: samples as djpeg decodes them" "$name.wanted" "$name.png.pnm"
done < ../names

# ---------------------------------------------------------------- files

for quality in 1 50 90 100; do
    for picture in rgb gray; do
        cjpeg -baseline -quality $quality -sample 1x1 $picture.png.pnm > wanted.jpg
        accepts "$picture at quality $quality" '' identity --quality $quality $picture.png -o $picture.jpg
        same 'the file that cjpeg writes' wanted.jpg $picture.jpg
    done
done
cjpeg -quality 90 -sample 1x1 rgb.png.pnm > wanted.jpg
accepts 'the default quality is 90' '' identity rgb.png -o rgb.jpeg
same 'so it is' wanted.jpg rgb.jpeg
accepts 'to standard output goes the format of the input' '' from wanted.jpg into rgb-twice.jpg identity
accepts 'as it does into a file' '' identity wanted.jpg -o again.jpg
same 'the same' again.jpg rgb-twice.jpg
mkdir filtered
accepts 'into a folder, too' '' identity rgb.png wanted.jpg -o filtered/
folder_holds filtered rgb.png wanted.jpg
same 'as JPEG' again.jpg filtered/wanted.jpg
accepts 'a name that is none of a picture does not change the format' 'imgheat: raw.tif: a JPEG picture is written, despite the name
' identity wanted.jpg -o raw.tif
same 'a JPEG' again.jpg raw.tif
accepts 'frames by their names' '' imgheat -s 2 --frames 'h-%d.jpg' gray.png -o last.png
djpeg h-0.jpg > ../stdout
result $? 'are JPEGs'

# ---------------------------------------------------------------- what stands beside the samples

# A marker; its data in the escapes of printf, or those in ../data where there are none.
marker() # CODE [DATA]
{
    # shellcheck disable=SC2059
    [ $# = 1 ] || printf "$2" > ../data
    size=$(($(wc -c < ../data) + 2))
    # shellcheck disable=SC2059
    printf "\\377\\$1\\$(printf '%o' $((size >> 8)))\\$(printf '%o' $((size & 255)))"
    cat ../data
}

# A copy of FILE with the markers on standard input behind its head, of SOI and APP0.
with_markers() # FILE
{
    head -c 20 "$1"
    cat
    tail -c +21 "$1"
}

{
    printf '\000\000\377\000'
    awk 'BEGIN { for (i = 0; i < 65276; i++) printf "%c", 33 + i * 7 % 90 }'
} > profile.icc
{
    marker 341 'Exif\000\000II*\000\010\000\000\000\000\000\000\000\000\000'
    marker 341 'http://ns.adobe.com/xap/1.0/\000<x:xmpmeta/>'
    marker 376 'a comment'
    marker 376 'another one'
    { printf 'ICC_PROFILE\000\001\002' && head -c 65000 profile.icc; } > ../data
    marker 342
    { printf 'ICC_PROFILE\000\002\002' && tail -c +65001 profile.icc; } > ../data
    marker 342
} > ../markers
cjpeg -sample 1x1 -grayscale gray.png.pnm > plain.jpg
with_markers plain.jpg < ../markers > rich.jpg
accepts 'Exif, XMP, comments and a profile' '' identity rich.jpg -o direct.jpg
accepts 'go into a PNG' '' identity rich.jpg -o rich.png
accepts 'and back' '' identity rich.png -o back.jpg
same 'the same' direct.jpg back.jpg
for text in Exif '<x:xmpmeta/>' 'a comment' 'another one'; do
    [ "$(grep -ac "$text" back.jpg)" -gt 0 ]
    result $? "$text is kept"
done
djpeg -icc kept.icc back.jpg > ../stdout
same 'and so is the profile' profile.icc kept.icc
[ "$(grep -ac 'eXIf' rich.png)" -gt 0 ]
result $? 'Exif is a chunk of the PNG'
refuses 3 'imgheat: rich.jpg: iCCP: --linear supports sRGB and gAMA, not this profile' imgheat --linear rich.jpg -o out
{ printf 'ICC_PROFILE\000\001\002' && head -c 65000 profile.icc; } > ../data
marker 342 | with_markers plain.jpg > torn.jpg
accepts 'a profile of which a piece is missing' 'imgheat: torn.jpg: left out: iCCP (a piece of it is missing)
' identity torn.jpg -o torn.png

# Resolutions: the unit, and two numbers, at the end of APP0.
for density in '\001\000\110\000\110' '\002\000\034\000\035' '\000\000\002\000\001' '\000\000\001\000\001'; do
    # shellcheck disable=SC2059
    { head -c 13 plain.jpg && printf "$density" && tail -c +19 plain.jpg; } > dense.jpg
    identity dense.jpg -o dense.png && identity dense.png -o dense-out.jpg
    # shellcheck disable=SC2059
    printf "$density" > ../wanted
    tail -c +14 dense-out.jpg | head -c 5 > ../found
    same "the resolution $density comes back from a PNG" ../wanted ../found
done

{ marker 355 'Photoshop' && marker 342 'MPF\000'; } | with_markers plain.jpg > others.jpg
{ cat others.jpg && printf 'a second picture'; } > trailing.jpg
accepts 'what is left out is named' 'imgheat: trailing.jpg: left out: APP2, APP13, 16 bytes after the picture
' identity trailing.jpg -o out.jpg
accepts 'from a pipe, too' 'imgheat: standard input: left out: APP2, APP13, 16 bytes after the picture
' piped trailing.jpg identity -o out.jpg
{ cat plain.jpg && head -c 200000 /dev/zero; } > padded.jpg
accepts 'however much follows' 'imgheat: standard input: left out: 200000 bytes after the picture
' piped padded.jpg identity -o out.jpg
{ chunk iCCP 'name\000\000no profile' && chunk pHYs '\000\377\377\377\000\000\000\001\000'; } | with_chunks gray.png > odd.png
accepts 'neither what is no profile nor what is no density can be written' 'imgheat: odd.png: left out: iCCP, pHYs
' identity odd.png -o odd.jpg
{ chunk gAMA '\000\000\261\217' && chunk tEXt 'Title\000t' && chunk tEXt 'Comment\000kept'; } |
    with_chunks gray.png > texts.png
chunk tEXt 'Comment\000late' | with_late_chunks texts.png > late.png
accepts 'what a JPEG cannot hold is named' 'imgheat: late.png: left out: gAMA, tEXt, tEXt
' identity late.png -o late.jpg
[ "$(grep -ac kept late.jpg)" -gt 0 ]
result $? 'a comment is kept'
{ chunk gAMA '\000\000\261\217' && chunk sRGB '\000'; } | with_chunks gray.png > srgb.png
accepts 'sRGB is what a JPEG is taken for' '' identity srgb.png -o srgb.jpg
imgheat --linear plain.jpg -o linear.png && identity plain.jpg -o plain.png && imgheat --linear plain.png -o linear-png.png
same 'and --linear works as with a PNG' linear.png linear-png.png

# ---------------------------------------------------------------- refusals

"$MAKE_PICTURE" -d 20,10 --rgba -o rgba.png
"$MAKE_PICTURE" -d 20,10 --gray --depth 16 -o deep.png
refuses 2 'imgheat: out.jpg: a JPEG holds gray or RGB, and no alpha' identity rgba.png -o out.jpg
refuses 2 'imgheat: out.jpg: a JPEG holds u8, not u16' identity deep.png -o out.jpg
refuses 2 'imgheat: out.png: --quality: the format png keeps samples as they are' identity rgb.png --quality 80 -o out.png
refuses 2 'imgheat: out.jpg: --level: the format jpg takes no level of compression' identity rgb.png --level 3 -o out.jpg
refuses 2 'imgheat: --quality: 0: expected a whole number from 1 to 100' identity --quality 0 rgb.png -o out.jpg
refuses 2 'imgheat: --quality: 101: expected a whole number from 1 to 100' identity --quality 101 rgb.png -o out.jpg
refuses 3 'voxfilt: plain.jpg: a JPEG picture: imgheat filters pictures' voxfilt -i plain.jpg -o out

# SOF with these bits and channels, and the begin of a scan.
head_of() # BITS CHANNELS
{
    case $2 in
    2) length=016 channels='\001\021\000\002\021\000' scan='\012\002\001\000\002\000' ;;
    4) length=024 channels='\001\021\000\002\021\000\003\021\000\004\021\000' scan='\016\004\001\000\002\000\003\000\004\000' ;;
    *) length=013 channels='\001\021\000' scan='\010\001\001\000' ;;
    esac
    # shellcheck disable=SC2059
    printf "\\377\\330\\377\\301\\000\\$length\\$1\\000\\010\\000\\010\\00$2$channels\\377\\332\\000$scan\\000\\077\\000"
    printf '%080d' 0
}
head_of 010 4 > cmyk.jpg
head_of 010 2 > two.jpg
head_of 014 1 > bits.jpg
refuses 3 'imgheat: cmyk.jpg: SOF: 4 channels: CMYK, which are not supported' imgheat cmyk.jpg -o out
refuses 3 'imgheat: two.jpg: SOF: 2 channels, which are not supported' imgheat two.jpg -o out
refuses 3 'imgheat: bits.jpg: Unsupported JPEG data precision 12' imgheat bits.jpg -o out
refuses 3 'imgheat: tiny.jpg: the file ends early' imgheat tiny.jpg -o out
cjpeg rgb.png.pnm > whole.jpg
head -c 900 whole.jpg > short.jpg
refuses 3 'imgheat: short.jpg: the file ends early' imgheat short.jpg -o out
size=$(wc -c < whole.jpg)
{ head -c $((size - 40)) whole.jpg && printf '\377\320\377\321' && tail -c 36 whole.jpg; } > damaged.jpg
imgheat damaged.jpg -o out 2> ../stderr
[ $? = 3 ] && grep -q '^imgheat: damaged.jpg: Corrupt JPEG data' ../stderr && [ ! -e out ]
result $? 'what libjpeg warns of is damage'
# A picture of 65500 x 65500 in a file of a kilobyte.
sof=$(LC_ALL=C grep -abo "$(printf '\377\300')" plain.jpg | head -n 1 | cut -d : -f 1)
{ head -c $((sof + 5)) plain.jpg && printf '\377\334\377\334' && tail -c +$((sof + 10)) plain.jpg; } > huge.jpg
refuses 3 'imgheat: huge.jpg: the file is too short for the size that SOF gives' imgheat huge.jpg -o out

mkdir broken
: > "broken/$libjpeg"
without_libjpeg()
{
    (LD_LIBRARY_PATH=$PWD/broken${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} && export LD_LIBRARY_PATH && "$@")
}
refuses 3 "imgheat: plain.jpg: a JPEG picture, but libjpeg cannot be loaded: $PWD/broken/$libjpeg: file too short" \
    without_libjpeg imgheat plain.jpg -o out
accepts 'where libjpeg is broken, PNG works' '' without_libjpeg identity gray.png -o gray-again.png

conclude
