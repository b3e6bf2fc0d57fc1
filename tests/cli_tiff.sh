#!/bin/sh
# TIFF stacks: pages as planes, what is written, what descriptions tell, refusals; what others write, if tifffile is there.
# Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

convert()
{
    voxfilt -f identity "$@"
}

make_volume -d 6,5,4 -t u16 -o scan.raw
cat > scan.mhd <<END
ObjectType = Image
NDims = 3
DimSize = 6 5 4
ElementSpacing = 0.3 0.7 2.5
ElementType = MET_USHORT
ElementDataFile = scan.raw
END
convert -i scan.mhd -o scan.tif
if ! convert -i scan.tif -o back.raw 2> ../stderr && grep -q 'built without libtiff' ../stderr; then
    echo 'this build has no libtiff'
    exit 77
fi

# ---------------------------------------------------------------- libtiff

libtiff=$(sed -n 's/^#define TIFF_LIBRARY "\(.*\)"/\1/p' "${top_builddir:?}/config.h")

without_libtiff() # COMMAND...
{
    (LD_LIBRARY_PATH=$PWD/broken${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} && export LD_LIBRARY_PATH && "$@")
}

mkdir broken
: > "broken/$libtiff"
accepts 'where libtiff is broken, other formats work' '' without_libtiff convert -i scan.mhd -o back.nrrd
accepts 'and so does writing TIFF' '' without_libtiff convert -i scan.mhd -o back.tif
same 'as ever' scan.tif back.tif
refuses 3 "voxfilt: scan.tif: a TIFF file, but libtiff cannot be loaded: $PWD/broken/$libtiff: file too short" \
    without_libtiff voxfilt -f identity -i scan.tif -o out
zlib=$(ldd "$VOXFILT" | awk '/libz\./ { print $3 }')
ln -sf "$zlib" "broken/$libtiff"
refuses 3 "voxfilt: scan.tif: a TIFF file, but libtiff cannot be loaded: $zlib: undefined symbol: TIFFClientOpen" \
    without_libtiff voxfilt -f identity -i scan.tif -o out

# ---------------------------------------------------------------- in and out

same 'a stack has the samples' scan.raw back.raw
convert -i scan.tif -o scan.tiff
same 'a .tiff is a .tif' scan.tif scan.tiff
cp scan.tif nameless
accepts 'a stack is recognised by what it holds' 'voxfilt: nameless: left out: spacing
' convert -i nameless -o back.raw
same 'whatever its name' scan.raw back.raw
from scan.tif voxfilt -f identity > back.tif
same 'from a redirected file to a pipe it stays what it is' scan.tif back.tif
refuses 2 'voxfilt: standard input: a TIFF file is not read in order, so it must be a regular file' \
    piped scan.tif voxfilt -f identity --out-format raw
for level in 0 1 6; do
    for order in little big; do
        convert -i scan.tif --level $level --out-endian $order -o coded.tif
        convert -i coded.tif --out-endian little -o back.raw
        same "level $level, $order-endian: the samples" scan.raw back.raw
        convert -i scan.raw -d 6,5,4 -t u16 --out-endian $order -o ordered.raw
        convert -i coded.tif -o back.raw
        same "level $level, $order-endian: raw output has the order of the file" ordered.raw back.raw
        voxfilt -i coded.tif --explain | grep -q 'grid  *6 x 5 x 4, 1 channel, spacing 0.3 0.7 2.5'
        result $? "level $level, $order-endian: the grid, and spacings to the last digit"
    done
done
convert -i scan.tif --level 1 -j 1 -o one.tif
convert -i scan.tif --level 1 -j 4 -o four.tif
same 'threads do not change a compressed stack' one.tif four.tif
refuses 2 'voxfilt: standard output: a compressed tif is not written in order: it needs a regular file, by its name (-o)' \
    convert -i scan.tif --level 6
voxfilt -i scan.tif -f gauss:1 -o filtered.raw
voxfilt -i scan.mhd -f gauss:1 -o plain.raw
same 'planes are filtered as those of raw samples' plain.raw filtered.raw
voxfilt -i one.tif -m 1M -f gauss:1 -o filtered.raw
same 'compressed ones, too' plain.raw filtered.raw
for extents in 1,1,1 7,5 1,9 3,1,2; do
    make_volume -d "$(echo $extents,1 | cut -d, -f-3)" -t f32 -o small.raw
    convert -i small.raw -d $extents -t f32 -o small.tif
    voxfilt -i small.tif -f heat -o small.out.raw
    voxfilt -i small.raw -d $extents -t f32 -f heat -o small.plain.raw
    same "$extents: planes and axes are kept" small.plain.raw small.out.raw
done
make_volume -d 18,5,4 -t u8 -o rgb.raw
convert -i rgb.raw -d 6,5,4 -t u8 --channels 3 -o rgb.tif
convert -i rgb.tif -o back.raw
same 'channels stay interleaved' rgb.raw back.raw
cp scan.tif own.tif
accepts 'an output may replace its input' '' convert -i own.tif --level 6 -o own.tif
convert -i own.tif -o back.raw
same 'and has its samples' scan.raw back.raw

# ---------------------------------------------------------------- refusals

bytes4() # NUMBER, as a little-endian file has it
{
    for shift in 0 8 16 24; do
        # shellcheck disable=SC2059  # a byte in octal
        printf "$(printf '\\%03o' $(($1 >> shift & 255)))"
    done
}

# Where an entry of the first directory stands. These files are little-endian.
entry() # FILE TAG
{
    directory=$(od -An -tu4 -j4 -N4 "$1" | tr -d ' ')
    count=$(od -An -tu2 -j"$directory" -N2 "$1" | tr -d ' ')
    od -An -v -tu2 -w12 -j$((directory + 2)) -N$((12 * count)) "$1" |
        awk -v tag="$2" -v at=$((directory + 2)) '$1 == tag { print at + 12 * (NR - 1) }'
}

# A copy whose first directory has another value in an entry.
with() # FILE TAG BYTES
{
    cp "$1" changed.tif
    # shellcheck disable=SC2059  # bytes in octal
    printf "$3" | dd of=changed.tif bs=1 seek=$(($(entry "$1" "$2") + 8)) conv=notrunc 2> ../stderr
}

refuses_page() # MESSAGE
{
    refuses 3 "voxfilt: changed.tif: page $1" convert -i changed.tif -o out
}

with scan.tif 262 '\000'
refuses_page '2: PhotometricInterpretation: 1, but not on the first page'
with scan.tif 262 '\005'
refuses_page '1: PhotometricInterpretation: 5: CMYK, which is not supported'
with scan.tif 262 '\010'
refuses_page '1: PhotometricInterpretation: 8: neither gray nor RGB'
with scan.tif 258 '\014'
refuses_page '1: BitsPerSample: 12, which is not supported'
with scan.tif 339 '\006'
refuses_page '1: SampleFormat: 6, which is not supported'
with scan.tif 259 '\006'
refuses_page '1: Compression: 6: old-style JPEG, which is not supported'
with scan.tif 259 '\143'
refuses_page '1: Compression: 99, which is not supported'
with scan.tif 256 '\007'
refuses_page '1: StripByteCounts: 60, which cannot be'
with scan.tif 257 '\003'
refuses_page '2: ImageLength: 5, but 3 on the first page'
with scan.tif 273 '\377\377\377\177'
refuses_page '1: StripOffsets: outside the file'
with one.tif 256 '\377\377\377\177'
convert -i changed.tif -o out 2> ../stderr
[ $? = 3 ] && [ "$(wc -l < ../stderr)" = 1 ] && grep -q '^voxfilt: changed.tif: page 1: StripByteCounts: ' ../stderr && [ ! -e out ]
result $? 'a claim that the compressed samples cannot keep'
sed 's/images=4/images=5/' scan.tif > changed.tif
refuses_page '1: ImageDescription: images: 5, but the file has 4 pages'
sed 's/slices=4/slices=3/' scan.tif > changed.tif
refuses_page '1: ImageDescription: 1 channels, 3 slices, 1 frames, but 4 pages'
head -c 300 scan.tif > changed.tif
convert -i changed.tif -o out 2> ../stderr
[ $? = 3 ] && [ "$(wc -l < ../stderr)" = 1 ] && grep -q '^voxfilt: changed.tif: page 1: ' ../stderr && [ ! -e out ]
result $? 'a stack that is cut off is refused in one line'
head -c $(($(wc -c < scan.tif) - 1)) scan.tif > changed.tif
refuses_page '4: directory: the file ends within it'
gzip -c scan.tif > scan.tif.gz
refuses 3 'voxfilt: scan.tif.gz: magic: a TIFF file compressed by gzip as a whole, which is not supported' \
    convert -i scan.tif.gz -o out
refuses 3 'voxfilt: scan.raw: magic: not that of a TIFF file' convert -i scan.raw --format tif -o out
refuses 2 'voxfilt: scan.tif: a TIFF file, whose header replaces --type; --format raw reads the whole file as samples' \
    convert -i scan.tif -t u8 -o out

# Of 40 million strips, whose places take more memory than there is.
# shellcheck disable=SC3045  # where the shell cannot limit addresses, or a sanitizer needs all of them, this is skipped
if (ulimit -v 400000; voxfilt --version) > ../bare 2>&1; then
    tag() # NUMBER TYPE COUNT VALUE
    {
        bytes4 $(($2 << 16 | $1))
        bytes4 "$3"
        bytes4 "$4"
    }
    strips=40000000
    {
        printf 'II*\000\010\000\000\000\011\000'
        tag 256 3 1 1; tag 257 4 1 $strips; tag 258 3 1 8; tag 259 3 1 1; tag 262 3 1 1
        tag 273 4 $strips 200; tag 277 3 1 1; tag 278 4 1 1; tag 279 4 $strips 200
    } > strips.tif
    truncate -s $((200 + 4 * strips)) strips.tif
    (ulimit -v 400000; voxfilt -D cpu -j 1 -f identity -i strips.tif -o out) 2> ../stderr
    [ $? -eq 6 ] && [ "$(wc -l < ../stderr)" = 1 ] && grep -q '^voxfilt: strips.tif: page 1: ' ../stderr && [ ! -e out ]
    result $? 'libtiff has no memory'
    rm strips.tif
else
    skip 'a limit on addresses'
fi

# ---------------------------------------------------------------- tags that are left out

# A copy whose first directory has another tag in place of one.
retagged() # FILE TAG BYTES
{
    [ "$1" = tagged.tif ] || cp "$1" tagged.tif
    # shellcheck disable=SC2059  # bytes in octal
    printf "$3" | dd of=tagged.tif bs=1 seek="$(entry "$1" "$2")" conv=notrunc 2> ../stderr
}

retagged scan.tif 283 '\035\001'
retagged tagged.tif 296 '\062\001'
retagged tagged.tif 339 '\350\375'
convert -i tagged.tif -o back.tif 2> ../stderr
[ $? = 0 ] && [ "$(wc -l < ../stderr)" = 2 ] && grep -q '^voxfilt: tagged.tif: page 1: .*PageName' ../stderr &&
    grep -qx 'voxfilt: tagged.tif: left out: PageName, DateTime, Tag 65000' ../stderr
result $? "tags that tell more are named, and libtiff's first warning"
accepts 'and are gone' 'voxfilt: back.tif: left out: spacing
' convert -i back.tif -o back.raw
same 'but the samples are there' scan.raw back.raw
sed 's/ImageJ=1.53t/a heart, 3T /' scan.tif > changed.tif
accepts 'as is a description that is not of a stack' 'voxfilt: changed.tif: left out: ImageDescription
' convert -i changed.tif -o back.tif

sed 's/loop=false/min=12.345/' scan.tif > changed.tif
accepts "ImageJ's min stays where samples do" '' convert -i changed.tif -o back.tif
grep -aqx 'min=12.345' back.tif
result $? 'as it was'
accepts 'and is left out where they change' 'voxfilt: changed.tif: left out: min
' voxfilt -i changed.tif -f median:1 -o back.tif
accepts 'or by another format' 'voxfilt: changed.tif: left out: min
' convert -i changed.tif -o back.nrrd
sed 's/loop=false/min 12.345/' scan.tif > changed.tif
accepts 'or all of them, if they are none' 'voxfilt: changed.tif: left out: ImageDescription
' convert -i changed.tif -o back.tif
described() # TEXT
{
    cp scan.tif changed.tif
    bytes4 $((${#1} + 1)) | dd of=changed.tif bs=1 seek=$(($(entry scan.tif 270) + 4)) conv=notrunc 2> ../stderr
    # shellcheck disable=SC2059  # a byte in octal ends it
    printf "$1\\000" | dd of=changed.tif bs=1 seek="$(grep -abo ImageJ= scan.tif | cut -d: -f1)" conv=notrunc 2> ../stderr
}
described '{"shape": [4, 5, 6], "axes": "ZYX"}'
accepts "tifffile's words are those of a stack" '' convert -i changed.tif -o back.tif
described '{"shape": [4, 5, 6], "note": "mine"}'
accepts 'unless there are others' 'voxfilt: changed.tif: left out: ImageDescription
' convert -i changed.tif -o back.tif

sed 's/loop=false/unit=micro/' scan.tif > changed.tif
accepts 'a unit stays in the format' '' convert -i changed.tif -o back.tif
grep -aqx 'unit=micro' back.tif
result $? 'as it was'
accepts 'others have none' 'voxfilt: changed.tif: left out: unit
' convert -i changed.tif -o back.nrrd
cp scan.tif inches.tif
printf '\002' | dd of=inches.tif bs=1 seek=$(($(entry scan.tif 296) + 8)) conv=notrunc 2> ../stderr
accepts 'the unit of the resolution stays, too' '' convert -i inches.tif -o back.tif
[ "$(od -An -tu2 -j$(($(entry back.tif 296) + 8)) -N2 back.tif | tr -d ' ')" = 2 ]
result $? 'as it was'
accepts 'or is converted' '' convert -i inches.tif -o back.mha
spacing()
{
    voxfilt -i "$1" --explain | sed -n 's/.*spacing //p'
}
[ "$(spacing back.mha)" = '7.62 17.78 63.5' ]
result $? 'to millimetres'
convert -i back.mha -o back.tif
[ "$(spacing back.tif)" = '7.62 17.78 63.5' ]
result $? 'which stay'

# A picture's resolution is for printers, unless a unit or a distance between pages comes with it.
head -c 60 scan.raw > flat.raw
convert -i flat.raw -d 6,5 -t u16 --spacing 0.01,0.02 -o flat.tif
voxfilt -i flat.raw -d 6,5 -t u16 -f gradient -o expected.raw
accepts 'a resolution is for printers' \
    'voxfilt: flat.tif: filters take spacing 1 instead of the resolution, which is for printing (--spacing)
' voxfilt -i flat.tif -f gradient -o there.tif
convert -q -i there.tif -o back.raw
same 'derivatives take spacing 1' expected.raw back.raw
convert -i there.tif -o back.mha
[ "$(spacing back.mha)" = '0.01 0.02' ]
result $? 'the output keeps it'
accepts 'a filter that needs no spacing says nothing of it' '' voxfilt -i flat.tif -f gauss:1 -o there.tif
accepts '--spacing counts instead' 'voxfilt: flat.tif: --spacing 0.5,0.5,1 instead of 0.01,0.02,1 in the header
' voxfilt -i flat.tif -f gradient --spacing 0.5,0.5 -o there.mha
voxfilt -q -i flat.raw -d 6,5 -t u16 -f gradient --spacing 0.5,0.5 -o expected.mha
same 'in filters and in the output' expected.mha there.mha
cp flat.tif inches.tif
printf '\002' | dd of=inches.tif bs=1 seek=$(($(entry flat.tif 296) + 8)) conv=notrunc 2> ../stderr
voxfilt -q -i inches.tif -f laplace -o there.nrrd
[ "$(spacing there.nrrd)" = '0.254 0.508' ]
result $? 'inches become millimetres in the output'
voxfilt -q -i inches.tif -f gradient --spacing 0.5,0.5 -o there.mha
same 'but not those of --spacing' expected.mha there.mha
voxfilt -q -i scan.tif -f gradient --out-type f32 -o there.tif
voxfilt -q -i scan.mhd -f gradient --out-type f32 -o expected.tif
same 'a stack with a distance between pages has spacing' expected.tif there.tif

# ---------------------------------------------------------------- alpha

extra() # FILE
{
    od -An -tu2 -j$(($(entry "$1" 338) + 8)) -N2 "$1" | tr -d ' '
}

convert -i scan.raw -d 6,5,2 -t u8 --channels 4 -o rgba.tif
accepts 'a channel of which nothing is known stays one' '' convert -i rgba.tif -o back.tif
[ "$(extra back.tif)" = 0 ]
result $? 'as it was'
with rgba.tif 338 '\002'
refuses_page '2: ExtraSamples: 0, but 2 on the first page'
cp rgba.tif changed.tif
printf '\002' | dd of=changed.tif bs=1 seek=$(($(entry rgba.tif 338) + 4)) conv=notrunc 2> ../stderr
refuses_page '1: ExtraSamples: 2 values, which are not as many as there should be'
head -c 120 scan.raw > plain.raw
convert -i plain.raw -d 6,5 -t u8 --channels 4 -o rgba.tif
for meaning in 1 2; do
    with rgba.tif 338 "\\00$meaning"
    mv changed.tif alpha$meaning.tif
    accepts "alpha of kind $meaning stays alpha" '' convert -i alpha$meaning.tif -o back.tif
    [ "$(extra back.tif)" = $meaning ]
    result $? 'as it was'
    accepts 'unless channels are counted' 'voxfilt: alpha'$meaning'.tif: left out: ExtraSamples
' convert -i alpha$meaning.tif --channels 4 -o back.tif
    [ "$(extra back.tif)" = 0 ]
    result $? 'and are alike'
done
for kind in u16 f32; do
    convert -q -i alpha2.tif --out-type $kind -o back.tif
    [ "$(extra back.tif)" = 2 ] && convert -q -i back.tif --out-type u8 -o back.raw && cmp back.raw plain.raw
    result $? "and in $kind"
done
convert -q -i plain.raw -d 12,5 -t u8 --channels 2 -o gray.tif
with gray.tif 338 '\002'
accepts 'gray has it, too' '' voxfilt -i changed.tif -f gradient -o back.tif
[ "$(extra back.tif)" = 2 ] && convert -q -i back.tif -o back.raw &&
    [ "$(od -An -v -tu1 -w2 back.raw | awk '{ print $2 }')" = "$(od -An -v -tu1 -w2 plain.raw | awk '{ print $2 }')" ]
result $? 'which a gradient leaves as it is'
accepts 'NRRD has no word for that' 'voxfilt: changed.tif: left out: ExtraSamples
' convert -i changed.tif -o back.nrrd
accepts 'but one for RGBA' '' convert -i alpha2.tif -o back.nrrd
grep -aqx 'kinds: RGBA-color domain domain' back.nrrd
result $? 'which it writes'

# Colour that is times alpha is filtered as it is, and divided by alpha for filters that leave that as it is.
voxfilt -q -i alpha1.tif -f box:1 -o blurred.raw
voxfilt -i plain.raw -d 6,5 -t u8 --channels 4 -f box:1 -o expected.raw
same 'premultiplied colour is blurred as it is' expected.raw blurred.raw
printf '\144\062\012\377\000\000\000\000\062\031\005\200\144\062\012\377' > four.raw
convert -i four.raw -d 4,1 -t u8 --channels 4 -o four.tif
with four.tif 338 '\001'
[ "$(voxfilt -q -i changed.tif -f scale:-1,255 --out-format raw | od -An -v -tu1 | xargs)" = \
    '155 205 245 255 0 0 0 0 78 103 123 128 155 205 245 255' ]
result $? 'what is inverted stays transparent where it was'
[ "$(voxfilt -q -i changed.tif -f scale:2,0 -f sobel:y --out-format raw | od -An -v -tu1 | xargs)" = \
    '0 0 0 255 0 0 0 0 0 0 0 128 0 0 0 255' ]
result $? 'and alpha as it was'
voxfilt -q -i changed.tif -f box:1 --alpha-mode separate -o apart.raw
voxfilt -q -i changed.tif -f box:1 -o together.raw
differ 'filtered apart from alpha, it is divided by it before' apart.raw together.raw
cat four.raw four.raw > eight.raw
convert -i eight.raw -d 4,1,2 -t u8 --channels 4 -o volume.tif
entries=$(od -An -v -tu1 -w1 volume.tif | awk '{ n[NR] = $1 } END { for (i = 1; i < NR; i++) if (n[i] == 82 && n[i + 1] == 1 && n[i + 2] == 3) print i + 7 }')
for at in $entries; do
    printf '\001' | dd of=volume.tif bs=1 seek="$at" conv=notrunc 2> ../stderr
done
refuses 2 'voxfilt: out: colour in a PNG is not multiplied by alpha, as that of the input is (--out-format)' \
    convert -i volume.tif --slice x=1 -o out
accepts 'NRRD does not say that it is' 'voxfilt: alpha1.tif: left out: ExtraSamples
' convert -i alpha1.tif -o back.nrrd
grep -aqx 'kinds: vector domain domain' back.nrrd
result $? 'and does not say that it is not'

# ---------------------------------------------------------------- OME: which page is which slice

# A copy whose description is OME's.
placed() # FILE ELEMENTS
{
    cp "$1" changed.tif
    text="<OME><Image><Pixels SizeX='6' SizeZ='4' SizeC='1' SizeT='1'>$2</Pixels></Image></OME>"
    printf '%s\000' "$text" >> changed.tif
    { bytes4 $((${#text} + 1)); bytes4 "$(wc -c < "$1")"; } |
        dd of=changed.tif bs=1 seek=$(($(entry "$1" 270) + 4)) conv=notrunc 2> ../stderr
}

has_slices() # NAME PAGE...
{
    name=$1
    shift
    rm -f back.raw
    convert -q -i changed.tif --out-endian little -o back.raw
    for page in "$@"; do
        dd if=scan.raw bs=60 skip="$page" count=1 2> ../stderr
    done > expected.raw
    same "$name" expected.raw back.raw
}

for file in scan.tif one.tif; do
    placed $file '<TiffData/>'
    has_slices "$file: OME without places has pages in order" 0 1 2 3
    placed $file '<TiffData IFD="0" FirstZ="3"/><TiffData IFD="1" FirstZ="2"/><TiffData FirstZ="1" IFD="2"/><TiffData IFD="3"/>'
    has_slices "$file: pages that OME places backwards" 3 2 1 0
    placed $file '<!-- <TiffData IFD="0" FirstZ="3"/> --><TiffData IFD="1"/><TiffData FirstZ="1" PlaneCount="1"/><TiffData IFD="2" FirstZ="2" PlaneCount="2"/>'
    has_slices "$file: what stands in a comment places none" 1 0 2 3
    placed $file "<a:TiffData FirstZ = '1' IFD='0' PlaneCount='3'><UUID>x</UUID></a:TiffData><a:TiffData IFD='3'></a:TiffData>"
    has_slices "$file: runs of pages" 3 0 1 2
done
placed scan.tif '<TiffData IFD="0" FirstZ="1" PlaneCount="4"/>'
refuses_page '1: ImageDescription: TiffData: IFD 0: outside the volume'
placed scan.tif '<TiffData IFD="0" FirstC="1" PlaneCount="4"/>'
refuses_page '1: ImageDescription: TiffData: IFD 0: outside the volume'
placed scan.tif '<TiffData PlaneCount="4"/><TiffData IFD="1"/>'
refuses_page '1: ImageDescription: TiffData: IFD 1: another page has its place'
placed scan.tif '<TiffData IFD="0" PlaneCount="3"/>'
refuses_page '1: ImageDescription: TiffData: no page for Z=3 C=0 T=0'
placed scan.tif '<TiffData IFD="2" PlaneCount="4"/>'
refuses_page '1: ImageDescription: TiffData: IFD 4: no page of the file'
placed scan.tif '<TiffData IFD="4" PlaneCount="4"/>'
refuses_page '1: ImageDescription: TiffData: no page that the file has'
placed scan.tif '<BinaryOnly MetadataFile="a.ome"/>'
refuses_page '1: ImageDescription: BinaryOnly: another file tells the order of the pages, which is not supported'
placed one.tif '<TiffData IFD="3" FirstZ="0"/><TiffData IFD="0" FirstZ="1" PlaneCount="3"/>'
printf '\377\377\377\377' | dd of=changed.tif bs=1 conv=notrunc 2> ../stderr \
    seek="$(od -An -tu4 -j$(($(entry one.tif 273) + 8)) -N4 one.tif | tr -d ' ')"
convert -i changed.tif -o out 2> ../stderr
[ $? = 3 ] && grep -q '^voxfilt: changed.tif: page 1: ' ../stderr && [ ! -e out ]
result $? 'a damaged page has its number in the file'

# ImageJ's stacks of one directory: the pages follow each other without any of their own.
directory=$(od -An -tu4 -j4 -N4 scan.tif | tr -d ' ')
link=$((directory + 2 + 12 * $(od -An -tu2 -j"$directory" -N2 scan.tif | tr -d ' ')))
cp scan.tif stack.tif
printf '\000\000\000\000' | dd of=stack.tif bs=1 seek=$link conv=notrunc 2> ../stderr
accepts "ImageJ's stack of one directory" 'voxfilt: stack.tif: left out: spacing
' convert -i stack.tif -o back.raw
same 'has all its planes' scan.raw back.raw
head -c 400 stack.tif > changed.tif
convert -i changed.tif -o out 2> ../stderr
[ $? = 3 ] && grep -q '^voxfilt: changed.tif: page 1: ImageDescription: images: 4, but the file has room for 2$' ../stderr
result $? 'and is refused if it is cut off'

# ---------------------------------------------------------------- what tifffile writes

if has python3 && python3 -c 'import numpy, tifffile' 2> ../stderr; then
    mkdir theirs
    (cd theirs && python3 "${top_srcdir:?}/tests/stacks.py" "$VOXFILT")
    result $? "tifffile's stacks are read, and it reads ours"
else
    miss_reader 'what others write and read: tifffile is missing'
fi

conclude
