#!/bin/sh
# Write the inputs that fuzzing begins with into folders below FOLDER, one a corpus: small files of every format, command
# lines, taps. Usage: seeds.sh FOLDER, with the commands in $VOXFILT and $IMGHEAT.
set -eu

folder=${1:?}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
for corpus in options taps nrrd meta nifti npy tiff png zarr volumes pictures stacks; do
    mkdir -p "$folder/$corpus"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# The samples of a small volume, as letters and signs: 24 of u8, or 12 of u16.
printf 'Some plain text of 24 by' > in.raw

voxfilt()
{
    "${VOXFILT:?}" -q "$@" 2>&1
}

imgheat()
{
    "${IMGHEAT:?}" -q "$@" 2>&1
}

# ---- command lines, and taps ----

# A line of words with tabs between them.
join()
{
    printf '%s' "$1"
    shift
    printf '\t%s' "$@"
    echo
}

number=0
words()
{
    number=$((number + 1))
    join "$@" > "$folder/options/$number"
}

words voxfilt in.raw -n 2 -t u8 -f heat -s 3 --dt 0.1 -o o.nrrd
words voxfilt in.raw -d 4,3,2 -f gauss:1 -f 'matrix:1 2 1; 2 4 2; 1 2 1/16' -e constant:1 --out-type f32
words voxfilt in.nrrd --crop 1:3,0:2 --spacing 1,1,2 -f sobel:x --out-range auto --stats --report=json
words voxfilt in.nrrd --slice z=1 -o o.png --preview p.png --memory 1G -j 2 --tee 1:t.nrrd
words voxfilt in.tif --part 1/2 --flux pm1 --scale 3 --inner 2 --until 0.1 --check-every 2 --explain
words voxfilt in.nii --volume 1 --planes 0:1 --edge hold --rung naive --tile 32x4 --coarsen 2 --sigma 2u
words voxfilt --bench=json -d 64,64,64 --tune
words imgheat in.png -o o.png --linear --alpha-mode separate --frames h-%04d.png --every 2 --level 9
words imgheat --program=voxfilt --list

printf '0 0 0 1\n1 0 0 -0.5\n-1 0 0 -0.5 # west\n' > "$folder/taps/1"
printf '# taps\n\n0\t1\t-1\t1e-3\r\n3 2 1 .25\n' > "$folder/taps/2"
printf '1 2 1; 2 4 2; 1 2 1/16' > "$folder/taps/3"
printf '0,1 -1e9;nan 3' > "$folder/taps/4"

# ---- files of every format that describes its samples ----

for type in u8 u16 f64; do
    size=4,3,2
    case $type in u16) size=2,3,2 ;; f64) size=3,1,1 ;; esac
    voxfilt in.raw -d $size -t $type -f identity --spacing 0.5,0.5,2 -o $type.nrrd
    for ending in nrrd nhdr mha mhd nii hdr npy tif nii.gz; do
        voxfilt $type.nrrd -f identity -o $type.$ending
        voxfilt $type.$ending -f identity --out-endian big -o $type-big.$ending
    done
done
voxfilt in.raw -d 4,3,2 -t u8 -f identity --level 1 -o packed.nrrd
voxfilt in.raw -d 4,3,2 -t u8 -f identity --level 1 -o packed.mha
voxfilt in.raw -d 2,2,2 -t u8 --channels 3 -f identity -o colour.nrrd
for ending in mha nii tif; do
    voxfilt colour.nrrd -f identity -o colour.$ending
done

# A header in text, and samples behind it.
text()
{
    name=$1
    shift
    printf '%s\n' "$@" > "$name"
    cat in.raw >> "$name"
}

text space.nrrd NRRD0005 '# a comment' 'type: uchar' 'dimension: 3' 'sizes: 4 3 2' 'encoding: raw' \
    'space: left-posterior-superior' 'space directions: (0,0.5,0) (0.5,0,0) (0,0,-2)' 'space origin: (1,2,3)' \
    'space units: "mm" "mm" "mm"' 'measurement frame: (1,0,0) (0,1,0) (0,0,1)' 'kinds: space space space' \
    'labels: "a" "b" "c"' 'key:=value' 'min: 0' 'max: 255' ''
text series.nrrd NRRD0004 'type: uint8' 'dimension: 4' 'sizes: 2 3 2 2' 'encoding: raw' 'kinds: space space space list' \
    'spacings: 1 1 2 nan' 'units: "mm" "mm" "mm" ""' ''
text vector.nrrd NRRD0004 'type: uint8' 'dimension: 4' 'sizes: 4 3 2 1' 'encoding: raw' \
    'kinds: RGBA-color domain domain domain' 'axis mins: nan 0 1 2' 'thicknesses: nan 1 1 3' 'byte skip: -1' ''
text list.nhdr NRRD0004 'type: uint8' 'dimension: 3' 'sizes: 4 3 2' 'encoding: raw' 'data file: LIST' samples0 samples1
text pattern.nhdr NRRD0004 'type: uint8' 'dimension: 3' 'sizes: 4 3 2' 'encoding: raw' 'data file: samples%d 0 1 1'
printf '%s\n' NRRD0004 'type: uint8' 'dimension: 2' 'sizes: 2 2' 'encoding: hex' '' '01 f' 2aB9 > hex.nrrd
printf '%s\n' NRRD0004 'type: short' 'dimension: 1' 'sizes: 3' 'encoding: ascii' '' '1 -2' 300 > ascii.nrrd
printf '%s\n' NRRD0004 'type: uint8' 'dimension: 2' 'sizes: 2 2' 'encoding: bzip2' '' > bzip2.nrrd
printf 'wxyz' | bzip2 >> bzip2.nrrd
text matrix.mha 'ObjectType = Image' 'NDims = 3' 'BinaryData = True' 'BinaryDataByteOrderMSB = False' \
    'CompressedData = False' 'TransformMatrix = 0 1 0 -1 0 0 0 0 1' 'Offset = 1 2 3' 'CenterOfRotation = 0 0 0' \
    'AnatomicalOrientation = RAI' 'ElementSpacing = 0.5 0.5 2' 'ElementToIntensityFunctionSlope = 2' \
    'ElementToIntensityFunctionOffset = -1024' 'ElementMin = 0' 'DimSize = 4 3 2' 'ElementType = MET_UCHAR' \
    'ElementDataFile = LOCAL'
text list.mhd 'NDims = 3' 'DimSize = 4 3 2' 'ElementType = MET_UCHAR' 'HeaderSize = -1' 'ElementDataFile = LIST 2' \
    samples0 samples1
text fortran.npy "$(printf '\223NUMPY\001')"
printf '\223NUMPY\001\000\106\000%-69s\n' "{'descr': '|u1', 'fortran_order': True, 'shape': (4, 3, 2), }" > fortran.npy
cat in.raw >> fortran.npy

for header in *.nhdr; do
    sed 's/^data file: .*\.raw.*/data file: samples/' "$header" > named && mv named "$header"
done
for header in *.mhd; do
    sed 's/^ElementDataFile = .*\.raw/ElementDataFile = samples/' "$header" > named && mv named "$header"
done
# Hyperstacks: in ImageJ's words and in those of OME, with volumes one after the other and in turn.
for ending in tif ome.tif; do
    voxfilt series.nrrd -f identity -o series.$ending
    sed 's/channels=1/channels=2/; s/frames=2/frames=1/; s/SizeC="1" SizeZ="2" SizeT="2"/SizeC="2" SizeZ="2" SizeT="1"/' \
        series.$ending > turn.$ending
done
cp ./*.nrrd ./*.nhdr "$folder/nrrd"
cp ./*.mha ./*.mhd "$folder/meta"
cp ./*.nii ./*.hdr ./*.nii.gz "$folder/nifti"
cp ./*.npy "$folder/npy"
cp ./*.tif "$folder/tiff"

# ---- stores of Zarr ----

# store VERSION GROUP ARRAY CHUNK: three files as one; the first may be /dev/null.
store()
{
    number=$((number + 1))
    {
        echo "$1 $(cat "$2" | wc -c) $(wc -c < "$3")"
        cat "$2" "$3" "$4"
    } > "$folder/zarr/$number"
}

for level in 0 1; do
    voxfilt u16.nrrd -f identity --level $level -o $level.zarr
    store 3 $level.zarr/zarr.json $level.zarr/0/zarr.json $level.zarr/0/c/0/0/0
done
echo '{"multiscales": [{"version": "0.4", "name": "n", "axes": [{"name": "t", "type": "time"}, {"name": "y", "type": "space",
"unit": "micrometer"}, {"name": "x", "type": "space", "unit": "nanometer"}], "datasets": [{"path": "0",
"coordinateTransformations": [{"type": "scale", "scale": [1, 0.5, 2]}, {"type": "translation", "translation": [0, 1,
1]}]}]}], "omero": {}}' > zattrs
echo '{"zarr_format": 2, "shape": [2, 3, 4], "chunks": [2, 3, 4], "dtype": "|u1", "order": "F", "compressor": null, "filters":
null, "fill_value": 7, "dimension_separator": "."}' > zarray
store 2 zattrs zarray in.raw
store 2 /dev/null zarray in.raw
gzip -c in.raw > in.gz
sed 's/null, "filters/{"id": "gzip"}, "filters/' zarray > gzipped
store 2 /dev/null gzipped in.gz

# ---- pictures ----

# draw NAME OPTION...
draw()
{
    name=$1
    shift
    voxfilt in.raw -f identity -o 'p%d.png' "$@"
    mv p0.png "$name.png"
}

draw grey -d 4,6,1 -t u8
draw grey16 -d 4,3,1 -t u16
draw rgb -d 4,2,1 -t u8 --channels 3
draw rgba -d 3,2,1 -t u8 --channels 4
draw rgba16 -d 1,3,1 -t u16 --channels 4
draw greya -d 4,3,1 -t u8 --channels 2

# A chunk of a PNG: its type, and what it holds, in hexadecimal digits.
chunk()
{
    bytes=$(printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n')$2
    printf '%08x' $((${#2} / 2)) | unhex
    printf '%s' "$bytes" | unhex
    printf '%s' "$bytes" | unhex | gzip -c1 | tail -c 8 | head -c 4 | od -An -v -tx1 | awk '{ printf "%s", $4 $3 $2 $1 }' | unhex
}

unhex()
{
    # shellcheck disable=SC2059  # a format is what they become
    printf "$(awk -v digits=0123456789abcdef '{
        for (i = 1; i < length($0); i += 2)
            printf "\\%03o", (index(digits, substr($0, i, 1)) - 1) * 16 + index(digits, substr($0, i + 1, 1)) - 1
    }')"
}

# picture IHDR [TYPE BYTES]... IDAT: two rows of two samples of one bit, in a block that is stored.
picture()
{
    printf '\211PNG\r\n\032\n'
    chunk IHDR "$1"
    shift
    while [ $# -gt 1 ]; do
        chunk "$1" "$2"
        shift 2
    done
    chunk IDAT "$1"
    chunk IEND ''
}

picture 00000002000000020103000000 gAMA 0000b18f PLTE ff000000ff00 tRNS 80ff 7801010400fbff00400080014400c1 > palette.png
picture 00000002000000020100000001 pHYs 00000b1300000b1301 tEXt 5469746c650078 7801010600f9ff00800000004002c600c1 > interlaced.png
cp ./*.png "$folder/png"

# ---- whole runs ----

# run CORPUS NAME FILE... -- WORD...
run()
{
    corpus=$1 name=$2 files=
    shift 2
    while [ "$1" != -- ]; do
        files="$files $1"
        shift
    done
    shift
    {
        join "$@"
        for file in $files; do
            printf '@%s %d\n' "$file" "$(wc -c < "$file")"
            cat "$file"
        done
    } > "$folder/$corpus/$name"
}

voxfilt in.raw -d 4,3,2 -t u8 -f identity -o in.raw.gz
for ending in nrrd nii nii.gz npy tif mha; do
    cp u8.$ending in.$ending
done
cp packed.nrrd inz.nrrd
voxfilt in.raw -d 4,3,2 -t u8 -f identity -o one.nhdr
voxfilt in.raw -d 4,3,2 -t u8 -f identity --level 1 -o two.mhd
voxfilt in.raw -d 4,3,2 -t u8 -f identity -o in.hdr
samples=$(sed -n 's/^data file: //p' one.nhdr)
zsamples=$(sed -n 's/^ElementDataFile = //p' two.mhd)

number=0
volume()
{
    number=$((number + 1))
    run volumes $number "$@"
}

volume in.raw -- voxfilt in.raw -d 4,3,2 -t u8 -f heat -s 2 -o o.nrrd
volume in.raw -- voxfilt in.raw -d 4,3 -t u16 --endian big -f sobel:x --out-type f32 -o o.tif
volume in.raw -- voxfilt in.raw -d 24 -t u8 -f gauss:1 -e wrap -o o.npy
volume in.raw -- voxfilt in.raw -d 4,3,2 -t u8 -f identity --piece 1/2 -o o.mha
volume in.raw -- voxfilt in.raw -d 4,3,2 -t u8 -f identity --slice z=1 -o o.png --preview p.png
volume in.raw.gz -- voxfilt in.raw.gz -d 4,3,2 -t u8 -f box:1 -e constant:3 -o o.raw.gz --level 1
volume in.nrrd -- voxfilt in.nrrd -f heat -s 3 --tee 1:t.nrrd --report=json:r.json --stats -o o.nii
volume inz.nrrd -- voxfilt inz.nrrd -f gradient --crop 1:3,:2 -o o.nrrd
volume one.nhdr "$samples" -- voxfilt one.nhdr -f unsharp:1,2 --planes 1: -o o.nhdr
volume one.nhdr "$samples" -- voxfilt one.nhdr -f gauss:1,order=0,1,0 -f bilateral:0.5,9 -f log:1u -f gradmag:0.5 -o o.nhdr
volume one.nhdr "$samples" -- voxfilt one.nhdr -f median:1 -f max:2,ball -f order:1,3,x -f percentile:1,50 -o o.nhdr
volume in.mha -- voxfilt in.mha -f sharpen --part 1/2 -o o.mhd
volume two.mhd "$zsamples" -- voxfilt two.mhd -f star:4 -e mirror -o o.hdr
volume in.nii -- voxfilt in.nii -f scale:2,1 --out-range 0,100 -o o.nii.gz
volume in.nii.gz -- voxfilt in.nii.gz -f heat --flux pm1 --scale 3 --until 0.1 -s 5 --plot u.svg -o o.nii
volume in.hdr in.img -- voxfilt in.hdr -f laplace --out-type i16 -o o.tif
volume in.npy -- voxfilt in.npy -f prewitt:y -v -o o.png --slice x=1
volume in.tif -- voxfilt in.tif -f 'matrix:1 2 1; 2 4 2; 1 2 1/16' -o o%d.png
volume in.nrrd -- voxfilt in.nrrd -f heat --sigma 1 --explain
volume in.nrrd in.tif -- voxfilt in.nrrd in.tif -f identity --explain=json
cp series.nrrd in.nrrd
volume in.nrrd -- voxfilt in.nrrd --volume 1 -f heat -s 2 -o o.nii --crop 1:
volume in.nrrd -- voxfilt in.nrrd -f gauss:1 --stats -o o.nrrd --out-endian big
cp space.nrrd in.nrrd
volume in.nrrd -- voxfilt in.nrrd -f heat -s 1 --planes 1: -o o.mha
volume in.nrrd -- voxfilt in.nrrd -f identity --preview p.png -o o.nii
cp vector.nrrd in.nrrd
volume in.nrrd -- voxfilt in.nrrd -f gauss:1 --alpha-mode premultiply -o o.tif
cp hex.nrrd in.nrrd
volume in.nrrd -- voxfilt in.nrrd -f gauss:1 -o o.npy
cp "$folder/taps/1" taps.txt
volume in.raw taps.txt -- voxfilt in.raw -d 4,3,2 -t u8 -f taps:taps.txt --flip -o o.raw

number=0
for picture in *.png; do
    number=$((number + 1))
    cp "$picture" in.png
    run pictures $number in.png -- imgheat in.png -f gauss:1 -o o.png
    run pictures h$number in.png -- imgheat in.png -s 2 --linear --crop 1: -o o.png --level 1
    imgheat "$picture" -f identity -o in.jpg || continue
    run pictures j$number in.jpg -- imgheat in.jpg -f gauss:1 -o o.jpg
    run pictures k$number in.jpg -- imgheat in.jpg -f identity --linear -o o.png
done
run pictures d grey.png -- imgheat grey.png -f sharpen -o o.jpg --quality 70
run pictures a in.png -- imgheat in.png -s 3 --frames h-%d.png --every 1 --stats --report=text:r.txt -o o.png
run pictures b in.png rgba.png -- imgheat in.png rgba.png -f sobel:x --explain
run pictures c rgba.png -- imgheat rgba.png -f gauss:1 -f sharpen --alpha-mode separate -v -o o.png

cp grey.png s0.png
imgheat s0.png -f sharpen -o s1.png
cp rgba.png c1.png
cp rgba.png c2.png
run stacks 1 s0.png s1.png -- voxfilt s%d.png -f heat -s 2 -o o.nrrd
run stacks 2 s0.png s1.png -- voxfilt s%d.png -f gauss:1 -o o%d.png --crop 1:
run stacks 3 c1.png c2.png -- voxfilt c%d.png -f gauss:1 -o o.tif
run stacks 4 c1.png c2.png -- voxfilt c%d.png -f sobel:x --alpha-mode separate -o c%d.png --level 2
run stacks 5 in.tif -- voxfilt in.tif -f identity -o t%03d.png
run stacks 6 s0.png -- voxfilt s%d.png -d 4,6,1 --slice y=1 -o o.png
