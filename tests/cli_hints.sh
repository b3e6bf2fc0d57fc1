#!/bin/sh
# What a person reads who mistyped: suggestions, recognised files, notes. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# ---------------------------------------------------------------- misspelled options

refuses 2 'voxfilt: --filtr: no such option; did you mean --filter?' voxfilt --filtr gauss:1
refuses 2 'voxfilt: --flter: no such option; did you mean --filter?' voxfilt --flter=gauss:1
refuses 2 'imgheat: --setps: no such option; did you mean --steps?' imgheat --setps 5
refuses 2 'voxfilt: --iterations: no such option; did you mean --steps?' voxfilt --iterations 5
refuses 2 'voxfilt: --dtype: no such option; did you mean --type?' voxfilt --dtype u8
refuses 2 'voxfilt: --dims: no such option; did you mean -d?' voxfilt --dims 8,8,8
refuses 2 'voxfilt: --gpu: no such option; did you mean --device cuda?' voxfilt --gpu
refuses 2 'voxfilt: --x: no such option (--help lists them)' voxfilt --x
refuses 2 'voxfilt: --o: ambiguous option; possibilities: --output, --out-endian, --out-type, --out-range, --out-format' voxfilt --o out
refuses 2 'voxfilt: --frames: no such option (imgheat has it)' voxfilt --frames=a%d.png
refuses 2 'voxfilt: --steps: teps: expected a whole number; did you mean --steps?' voxfilt -steps 5
refuses 2 "imgheat: --edge: lp: expected $rules; did you mean --help?" \
    imgheat -help
accepts 'options may be cut short' '' voxfilt --inp v8.raw -n 8 --typ u8 --filt gauss:1 --outp short.raw
v8 -f gauss:1 -o whole.raw
same 'and mean what they are short for' whole.raw short.raw
for program in voxfilt imgheat; do
    for pair in '-h --help' '-V --version'; do
        # shellcheck disable=SC2086  # two words
        set -- $pair
        "$program" "$1" > ../by-letter && "$program" "$2" > ../by-name
        same "$program $1 is $2" ../by-letter ../by-name
    done
done

# ---------------------------------------------------------------- misspelled words

# What an option is given, and what it should have been.
means() # OPTION GIVEN MEANT MESSAGE
{
    refuses 2 "voxfilt: $4; did you mean $3?" voxfilt "$1" "$2"
}

for pair in gaus:gauss gausian:gauss Gauss:gauss gaussian:gauss soble:sobel lap:laplace blur:gauss hough:hough; do
    given=${pair%:*} meant=${pair#*:}
    if [ "$given" = "$meant" ]; then
        refuses 2 "voxfilt: --filter: $given: no such filter (--list names them)" voxfilt -f "$given"
    else
        means -f "$given" "$meant" "--filter: $given: no such filter"
    fi
done
means -f gausian:2.5 gauss '--filter: gausian: no such filter'
for pair in clamp:nearest replicate:nearest zero:constant periodic:wrap symmetric:reflect reflect101:mirror \
    const:constant wrp:wrap MIRROR:mirror; do
    means -e "${pair%:*}" "${pair#*:}" "--edge: ${pair%:*}: expected $rules"
done
for pair in uint8:u8 byte:u8 uint16:u16 short:i16 int16:i16 int:i32 float:f32 float32:f32 double:f64 U16:u16 half:f16 \
    float16:f16; do
    means -t "${pair%:*}" "${pair#*:}" "--type: ${pair%:*}: expected $types"
done
means --out-type uint16 u16 "--out-type: uint16: expected $types"
means --work double f64 '--work: double: expected f32 or f64'
refuses 2 'voxfilt: --work: short: expected f32 or f64' voxfilt --work short
means --flux-channels sep separate '--flux-channels: sep: expected joint or separate'
refuses 2 'voxfilt: --bench: josn: expected text or json; did you mean json?' voxfilt --bench=josn
means --flux perona-malik pm2 '--flux: perona-malik: expected linear, tanh, pm1 or pm2'
means --endian LE little '--endian: LE: expected little or big'
means --progress nevr never '--progress: nevr: expected auto, always or never'
refuses 2 'imgheat: --alpha-mode: straight: expected premultiply or separate; did you mean separate?' \
    imgheat --alpha-mode straight
extents='expected X[,Y[,Z]], whole numbers above 0'
means -d 512x512x300 512,512,300 "-d: 512x512x300: $extents"
means -d '640 480' 640,480 "-d: 640 480: $extents"
refuses 2 "voxfilt: -d: 512x0: $extents" voxfilt -d 512x0
means -n 64x64x32 '-d 64,64,32' '-n: 64x64x32: expected a whole number above 0'
means -n 64,48 '-d 64,48' '-n: 64,48: expected a whole number above 0'
means --tile 32,8 32x8 '--tile: 32,8: expected W or WxH, whole numbers from 1 to 65536'

# ---------------------------------------------------------------- an input and an output as operands

refuses 2 'imgheat: out: operands are inputs, and there is no such file; did you mean --output out?' \
    imgheat gray.png out
cp rgb.png second.png
refuses 2 'imgheat: 2 inputs need a directory, --output DIR/; did you mean to replace second.png with --output second.png?' \
    imgheat gray.png second.png
same 'and the second is as it was' rgb.png second.png
ln -s nowhere.png dangling.png
refuses 2 'imgheat: 2 inputs need a directory, --output DIR/; did you mean to replace dangling.png with --output dangling.png?' \
    imgheat gray.png dangling.png
refuses 2 'imgheat: 2 inputs need a directory: --output DIR/' imgheat gray.png rgb.png -o out
mkdir there
for place in there there/; do
    refuses 2 "imgheat: $place: operands are inputs, and this one is a directory; did you mean --output $place?" \
        imgheat gray.png "$place"
    refuses 2 "imgheat: $place: operands are inputs, and this one is a directory; did you mean --output $place?" \
        imgheat gray.png rgb.png "$place"
    refuses 2 "imgheat: $place: operands are inputs, and this one is a directory" imgheat - "$place"
done
accepts 'and what was meant works' '' imgheat gray.png rgb.png --output there
for place in absent/ gray.png/; do
    refuses 2 "imgheat: $place: operands are inputs, and there is no such directory; --output needs one that exists" \
        imgheat gray.png "$place"
done
refuses 2 'imgheat: -: operands are inputs, and this one is standard input; did you mean --output -?' \
    imgheat gray.png -
accepts 'and standard output is what --output - means' '' into piped.png imgheat gray.png --output -
same 'with the same picture' there/gray.png piped.png

# ---------------------------------------------------------------- names that are empty

refuses 2 'imgheat: --output: the name is empty' imgheat gray.png -o ''
refuses 2 'voxfilt: an operand is empty: it should name a file' voxfilt -n 8 '' -o out

# ---------------------------------------------------------------- options that are given twice

refuses 2 'imgheat: --input: given twice' imgheat -i gray.png -i rgb.png -o there/
refuses 2 'imgheat: --output: given twice' imgheat gray.png -o out -o there/
refuses 2 'voxfilt: --input: given twice' voxfilt -i v8.raw --input v8.raw -n 8 -o out
refuses 2 'voxfilt: --output: given twice' v8 -o out -o -
refuses 2 'voxfilt: -n: given twice' v8 -n 8 -o out
refuses 2 'voxfilt: -d: given twice' voxfilt -i v8.raw -d 8,8,8 -d 8,64 -t u8 -o out
refuses 2 'voxfilt: -d: 8,64: -n already gives the extents' v8 -d 8,64 -o out
refuses 2 'voxfilt: -n: 8: -d already gives the extents' voxfilt -i v8.raw -d 8,64 -n 8 -o out
v8 -s 3 -o three.raw
v8 -s 5 -s 3 -o later.raw
same 'of others the later one counts' three.raw later.raw
accepts '-q -v: the later one counts' 'voxfilt: v8.raw: 2 bytes a sample, taken as u16 (if they are signed: -t i16; if floating point: -t f16)
' voxfilt -q -v -i v8.raw -d 16,16 -f identity -o two.raw
accepts '-v -q: the later one counts' '' voxfilt -v -q -i v8.raw -d 16,16 -f identity -o two.raw

# ---------------------------------------------------------------- options without effect

# That the note is true, too: without the option the output is the same.
idle() # NOTE OPTION ARGUMENT...
{
    note=$1 option=$2
    shift 2
    v16 "$@" -o without.raw
    # shellcheck disable=SC2086  # an option and its value
    accepts "$option $*: $note" "voxfilt: ${option%% *} has no effect: $note
" v16 "$@" $option -o with.raw
    same "$option $*: as without" without.raw with.raw
}

printf '0 0 0 2\n' > centre.taps
printf '0 0 0 0.5\n1 0 0 0.5\n' > ahead.taps
for spec in identity scale:2,1 taps:centre.taps gauss:0 unsharp:0,1 dog:0,0.1 bilateral:0.2,1 median:0; do
    idle "$spec reads no neighbours" '--edge wrap' -f "$spec"
done
idle 'heat reads no neighbours' '--edge hold' -f heat --dt 0
for spec in heat gauss:1 box:1 gradient scale:2,1 laplace sharpen unsharp:1,1 log:1 dog:1,2 gradmag:1 gauss:1,order=2,0,0 \
    bilateral:1,9 median:1,ball max:2; do
    idle "$spec is the same when flipped" --flip -f "$spec"
done

for spec in heat gauss:1 gradient sobel:x median:1; do
    idle "$spec acts along these axes anyway" '--axes xyz' -f "$spec"
done

heeded() # ARGUMENT...
{
    accepts "$*: no note" '' v16 "$@" -o with.raw
}
heeded -f gradient -e wrap
heeded -f unsharp:1,1 -e wrap
heeded -f min:1,z -e wrap
heeded -f sobel:x --flip
heeded -f gradient --axes xy
heeded -f gauss:1,order=1,0,0 --flip
heeded -f taps:ahead.taps -e wrap --flip
heeded -e wrap --flip -f scale:2,0 -f taps:ahead.taps
accepts 'defaults that no stage heeds' 'voxfilt: --edge has no effect: no stage reads neighbours
voxfilt: --flip has no effect: every stage is the same when flipped
' v16 -e wrap --flip -f scale:2,0 -f identity -o with.raw

separately() # NOTE FILE ARGUMENT...
{
    note=$1 picture=$2
    shift 2
    imgheat -q "$picture" "$@" -o without.png
    imgheat -q "$picture" "$@" --alpha-mode separate -o with.png
    accepts "--alpha-mode on $picture $*: $note" "${note:+imgheat: $picture: --alpha-mode has no effect: $note
}" imgheat --explain "$picture" "$@" --alpha-mode separate
}
for picture in gray.png rgb.png; do
    separately 'there is no alpha' "$picture" -f gauss:1
    same 'as without' without.png with.png
done
for spec in laplace scale:0.5,0 identity; do
    separately 'no stage filters alpha' rgba.png -f "$spec"
    same 'as without' without.png with.png
done
separately '' rgba.png -f gauss:1
differ 'where a stage filters alpha the mode matters' without.png with.png
separately '' rgba.png -f gauss:1 -f laplace

# ---------------------------------------------------------------- files that are more than samples

# The start of a file that somebody takes for raw samples: bytes in the escapes of printf, then zeros up to a size.
header() # SIZE BYTES...
{
    size=$1
    shift
    # shellcheck disable=SC2059  # escapes are wanted
    { printf "$@"; head -c "$size" /dev/zero; } | head -c "$size"
}

# Zeros are filtered, whatever the header says.
before_volume() # NAME SIZE BYTES...
{
    name=$1
    shift
    { header "$@"; cat v8.raw; } > "$name"
}

before_volume long.raw 100 ''
refuses 3 'voxfilt: long.raw: length: 612 bytes, but 8 x 8 x 8 u8 take 512 (fits: --skip 100)' \
    voxfilt -i long.raw -n 8 -t u8 -o out
refuses 3 'voxfilt: long.raw: length: 612 bytes, but 8 x 8 x 8 are 512 samples of 1, 2, 4 or 8 bytes (fits: --skip 100 -t u8)' \
    voxfilt -i long.raw -n 8 -o out
accepts 'which does fit' '' voxfilt -i long.raw -n 8 -t u8 --skip 100 -o skipped.raw
v8 -o plain.raw
same 'and leads to the samples' plain.raw skipped.raw

zeros()
{
    printf "%0${1}d" 0 | sed 's/0/\\000/g'
}
nifti() # NAME DATATYPE, two bytes
{
    before_volume "$1" 352 "\\134\\001$(zeros 68)$2$(zeros 272)n+1"
}
nifti2() # NAME DATATYPE
{
    before_volume "$1" 544 "\\034\\002\\000\\000n+2\\000\\015\\012\\032\\012$2"
}
nifti brain.nii '\002\000'
nifti2 brain2.nii '\000\003'
before_volume a.dcm 132 "$(zeros 128)DICM"
before_volume a.tif 8 'II*\000'
before_volume big.tif 16 'II+\000\010\000'
before_volume a.h5 8 '\211HDF\r\n\032\n'
before_volume a.raw.gz 4 '\037\213\010'

# What it is, for those who say that it is raw: with extents that do not fit, and with those that do.
recognises() # FILE ADVICE
{
    voxfilt -i "$1" --format raw -n 9 -t u8 -o out > ../stdout 2> ../stderr
    [ $? = 3 ] && grep -q "length: .*it is $2)\$" ../stderr && [ ! -e out ]
    result $? "$1 of another length: it is $2"
    length=$(wc -c < "$1")
    accepts "$1 that fits" "voxfilt: $1: all of it is taken as samples, but it is $2
" voxfilt -i "$1" --format raw -d "$length,1" -t u8 -o fits.raw
    accepts "$1 that fits, quietly" '' voxfilt -q -i "$1" --format raw -d "$length,1" -t u8 -o fits.raw
}

# Without extents it is refused.
not_read() # FILE KIND HINT
{
    refuses 3 "voxfilt: $1: $2, which is not read: $3" voxfilt -i "$1" -o out
}
# And so it is by imgheat; what it is can be seen by how it begins.
cannot_read() # FILE KIND HINT
{
    recognises "$1" "$2: $3"
    not_read "$@"
    refuses 3 "imgheat: $1: $2, which is not read: $3" imgheat "$1" -o out
    refuses 3 "voxfilt: standard input: $2, which is not read: $3" piped "$1" voxfilt -o out
    cp "$1" disguised
    not_read disguised "$2" "$3"
}
for pair in 'brain.nii:a NIfTI file' 'brain2.nii:a NIfTI file' 'a.tif:a TIFF file' 'big.tif:a TIFF file'; do
    recognises "${pair%%:*}" "${pair#*:}, whose header is read without -n, -d and --format raw"
done
recognises a.raw.gz 'compressed by gzip, which --format raw.gz undoes'
before_volume tiff-like.dcm 132 "II*\\000\\010$(zeros 123)DICM"
before_volume a.npz 30 'PK\003\004'
before_volume a.vtk 64 '# vtk DataFile Version 3.0\n'
before_volume a.vti 64 '<VTKFile type="ImageData">\n'
before_volume a.gif 20 'GIF89a'
before_volume a.czi 32 'ZISRAWFILE'
before_volume a.nd2 48 '\332\316\276\n'
before_volume a.webp 20 'RIFF\000\002\000\000WEBPVP8 '
dicom='dcm2niix converts it to NIfTI' png='convert it to PNG for imgheat' vtk='ParaView saves its samples as MetaImage'
ome='bfconvert converts it to OME-TIFF'
cannot_read a.dcm 'a DICOM file' "$dicom"
cannot_read tiff-like.dcm 'a DICOM file' "$dicom"
cannot_read a.h5 'an HDF5 file' 'h5dump -d DATASET -b LE -o FILE writes raw samples'
cannot_read a.npz 'a ZIP archive' 'unpack it; an .npz holds files of NumPy'
cannot_read a.vtk 'a VTK file' "$vtk"
cannot_read a.vti 'a VTK file' "$vtk"
cannot_read a.czi 'a CZI file' "$ome"
cannot_read a.nd2 'an ND2 file' "$ome"
cannot_read a.gif 'a GIF picture' "$png"
cannot_read a.webp 'a WebP picture' "$png"

# Some are known by their names alone.
cp v8.raw a.mgh
gzip -c v8.raw > a.mgz
cp v8.raw a.bmp
cp v8.raw a.lif
cp v8.raw bare.dcm
freesurfer='mri_convert and nib-convert convert it to NIfTI'
not_read a.mgh 'a FreeSurfer volume by its name' "$freesurfer"
not_read a.mgz 'a FreeSurfer volume by its name' "$freesurfer"
not_read a.lif 'a file of a microscope by its name' "$ome"
not_read bare.dcm 'a DICOM file by its name' "$dicom"
refuses 3 "imgheat: a.bmp: a BMP picture by its name, which is not read: $png" imgheat a.bmp -o out
accepts 'raw samples may have any name' '' voxfilt -i a.mgh -n 8 -t u8 -o out
refuses 2 'voxfilt: a.mgh: raw samples need -n N or -d X[,Y[,Z]]; 512 bytes (-n 8 -t u8, -n 4 -t f64)' \
    voxfilt -i a.mgh --format raw -o out

# Headers of 348 bytes that are older than NIfTI, and matrices in its clothes.
before_volume old.hdr 348 '\134\001'
refuses 3 'voxfilt: old.hdr: an Analyze 7.5 file, which is not read: nib-convert converts it to NIfTI' voxfilt -i old.hdr -o out
before_volume a.dscalar.nii 544 "\\034\\002\\000\\000n+2\\000\\015\\012\\032\\012$(zeros 492)\\276\\013"
refuses 3 'voxfilt: a.dscalar.nii: a CIFTI file, which is not read: wb_command -cifti-convert -to-nifti converts it' \
    voxfilt -i a.dscalar.nii -o out

# imgheat knows the formats of voxfilt.
refuses 3 'imgheat: a.tif: a TIFF file: voxfilt filters it' imgheat a.tif -o out
refuses 3 'imgheat: brain.nii: a NIfTI file: voxfilt filters it' imgheat brain.nii -o out

# Folders, and files without anything in them.
mkdir folder new.zarr old.zarr
: > new.zarr/zarr.json
folder='which is not read: name files in it; dcm2niix converts those of DICOM'
refuses 3 "voxfilt: folder: a folder, $folder" voxfilt -i folder -o out
refuses 3 "imgheat: folder: a folder, $folder" imgheat folder -o out
refuses 3 'imgheat: new.zarr: a Zarr store: voxfilt filters it as --format zarr' imgheat new.zarr -o out
refuses 3 'voxfilt: old.zarr/: a folder without zarr.json, .zarray or .zattrs, and so no Zarr store' \
    voxfilt -i old.zarr/ -o out
echo '{"zarr_format": 3}' > new.zarr/zarr.json
refuses 3 'voxfilt: new.zarr/zarr.json: metadata of a Zarr store by its name, which is not read: give its folder' \
    voxfilt -i new.zarr/zarr.json -o out
refuses 4 'voxfilt: folder: Is a directory' voxfilt -i folder --format raw -o out
: > empty
: > empty.nii
refuses 3 'voxfilt: empty: the file is empty' voxfilt -i empty -o out
refuses 3 'voxfilt: empty.nii: the file is empty' voxfilt -i empty.nii -o out
refuses 3 'voxfilt: standard input: the file is empty' from empty voxfilt -o out
refuses 3 'imgheat: empty: the file is empty' imgheat empty -o out

accepts 'what is skipped is not doubted' '' voxfilt -i brain.nii -n 8 -t u8 --skip 352 -o skipped.raw
same 'and leads to the samples, too' plain.raw skipped.raw
accepts 'a header that comes by a pipe' \
    'voxfilt: standard input: all of it is taken as samples, but it is a NIfTI file, whose header is read without -n, -d and --format raw
' piped brain.nii voxfilt -d 864,1 -t u8 -o fits.raw

# ---------------------------------------------------------------- names that promise something else

accepts 'raw samples under the name of a picture' 'voxfilt: slice.png: raw samples are written, despite the name
' v8 -o slice.png
accepts 'raw samples that are asked for' '' v8 --out-format raw -o slice.png
accepts 'whatever the name' '' v8 --out-format raw -o out.nii.gz
accepts 'a name that promises compression, for samples that are not compressed' 'voxfilt: out.nrrd.gz: raw samples are written, not compressed, despite the name (--out-format raw.gz)
' v8 -o out.nrrd.gz
voxfilt -i v8.raw -n 8 -t u8 -f identity -o scan.nii
accepts 'of one format' 'voxfilt: out.gz: a NIfTI file is written, not compressed, despite the name (--out-format nii.gz)
' voxfilt -i scan.nii -o out.gz
accepts 'which the option compresses' '' voxfilt -i scan.nii --out-format nii.gz -o out.nii.gz
accepts 'and which may have that name' '' voxfilt -i out.nii.gz -o out.gz
gzip -t out.gz
result $? 'which is true'
accepts 'but not that of another format' 'voxfilt: out.nrrd.gz: a NIfTI file is written, despite the name
' voxfilt -i out.nii.gz -o out.nrrd.gz
accepts 'but not one of a format that is compressed' '' v8 -o out.raw.gz
accepts 'a PNG under the name of a bitmap' 'imgheat: gray.BMP: a PNG picture is written, despite the name
' imgheat gray.png -o gray.BMP
accepts 'a PNG under its own name' '' imgheat gray.png -o gray-out.png
accepts 'a plot under the name of a picture' 'voxfilt: --plot: plot.png: SVG is written, despite the name
' v8 --until 1e9 -s 3 --check-every 1 --plot=plot.png -o out
accepts 'a plot under its own name' '' v8 --until 1e9 -s 3 --check-every 1 --plot=plot.svg -o out

# ---------------------------------------------------------------- types and sizes

i16='(if they are signed: -t i16; if floating point: -t f16)'
accepts 'two bytes a sample may be signed' "voxfilt: v8.raw: 2 bytes a sample, taken as u16 $i16
" voxfilt -i v8.raw -d 16,16 -o two.raw
accepts 'eight bytes a sample may be integers' 'voxfilt: v8.raw: 8 bytes a sample, taken as f64 (if they are integers: -t u64 or -t i64)
' voxfilt -i v8.raw -d 8,8 -o eight.raw
accepts 'a fraction of K' '' v8 -m 2.5K -o /dev/null
refuses 6 'voxfilt: --memory: this job needs 2.0 KiB (2048 bytes), and 1.5 KiB are allowed' v8 -m 1.5K -o out
refuses 2 'voxfilt: --memory: 1.5: expected a count of bytes above 0, with K, M, G or T' v8 -m 1.5 -o out

# ---------------------------------------------------------------- a narrow terminal

# The bar never reaches the last column, and ends with what there is no room to leave out.
fits_columns() # COLUMNS PATTERN
{
    COLUMNS=$1 voxfilt -D cpu -i v64.raw -n 64 -t f32 -s 20 -j 1 --progress=always -o bar.raw 2> ../bar
    tr '\r' '\n' < ../bar > ../lines
    grep -qx "$2" ../lines && awk -v most="$1" 'length($0) >= most { print; exit 1 }' ../lines
    result $? "the bar in $1 columns"
}
fits_columns 80 '\[[#.]\{30\}\] [ 0-9]\{3\} %  [0-9.]* Msamples/s  [0-9]*:[0-9]* left *'
fits_columns 40 '\[[#.]*\] [ 0-9]\{3\} %  [0-9]*:[0-9]* left *'
fits_columns 30 '\[[#.]*\] [ 0-9]\{3\} %  [0-9]*:[0-9]* left *'
fits_columns 20 '\[[#.]*\] [ 0-9]\{3\} % *'
fits_columns 8 '[ 0-9]\{3\} % *'
fits_columns 1 ' *'
if has timeout; then
    timeout 2 voxfilt -D cpu -j 1 -i v64.raw -n 64 -t f32 -s 18446744073709551615 --progress=always -o endless.raw 2> ../bar
    tr '\r' '\n' < ../bar | grep -q ' [0-9]\{4,\} h [0-5]\{0,1\}[0-9] min left *$' && ! grep -q ':[0-9]* left' ../bar
    result $? 'the bar counts hours'
else
    skip 'the bar counts hours: timeout is not here'
fi

# On a terminal, of which `script` makes one: the lines that a command draws, none where it draws none.
if has timeout && script --version 2>&1 | grep -q util-linux && script -qec true /dev/null < /dev/null > ../bare 2>&1; then
    draws() # COLUMNS COMMAND
    {
        script -qec "stty cols $1; timeout -s INT 2.5 $2" /dev/null < /dev/null | tr '\r' '\n' | grep '%' > ../drawn
    }
    long='voxfilt -D cpu -j 1 -i v64.raw -n 64 -t f32 -s 1000000000 -o endless.raw'
    for columns in 10 80; do
        draws $columns "$long"
        grep -q '^.* %' ../drawn && awk -v most=$columns 'length($0) >= most { exit 1 }' ../drawn
        result $? "the bar in a terminal of $columns columns"
    done
    grep -q 'Msamples/s' ../drawn
    result $? 'with the rate where there is room'
    draws 40 "env COLUMNS=100 $long"
    grep -q 'left' ../drawn && ! grep -q 'Msamples/s' ../drawn
    result $? 'COLUMNS does not count where the terminal reports its width'
    draws 0 "env COLUMNS=40 $long"
    grep -q 'left' ../drawn && ! grep -q 'Msamples/s' ../drawn
    result $? 'and does where it does not'
    ! draws 80 'voxfilt -D cpu -i v64.raw -n 64 -t f32 -o brief.raw'
    result $? 'and no bar for a run of less than a second'
    # Each of these runs until its time is out.
    if is_whole_run; then
        ! draws 80 "$long -q" && ! draws 80 "$long --progress=never" && ! draws 80 "$long 2> ../stderr" && [ ! -s ../stderr ]
        result $? 'nor with -q, with never, and where standard error is no terminal'
        draws 80 "$long -q --progress=always"
        result $? 'always is always'
    else
        skip 'bars that options ask for: this run is thinned'
    fi
else
    skip 'the bar on a terminal: script of util-linux or timeout is not here, or there are no pseudo-terminals'
fi

# ---------------------------------------------------------------- devices, rows, times

refuses 2 'voxfilt: --device: gpu: no such device; did you mean cuda?' v8 -D gpu -o out
refuses 2 'voxfilt: --device: CPU: no such device; did you mean cpu?' v8 -D CPU -o out
accepts 'a picture is explained' '' imgheat --explain -f gauss:1 -D cpu gray.png
grep -q 'behind input' ../stdout && grep -q ' rows' ../stdout && ! grep -q 'planes' ../stdout
result $? 'in rows'
accepts 'a volume is explained' '' v8 --explain -D cpu
grep -q ' of 8 planes behind input' ../stdout && grep -Eq '^forecast  .* through memory, (less than )?[0-9.]+ ms of computing, (less than )?[0-9.]+ ms in all$' ../stdout &&
    ! grep -Eq '[0-9]e-?[0-9]+ s' ../stdout
result $? 'in planes, and milliseconds'

# One of a thing has no plural.
printf a > one.raw
printf 'NRRD0004\ntype: uint8\ndimension: 3\nsizes: 1 1 2\nencoding: raw\n\na' > short.nrrd
printf 'NRRD0004\ntype: uint8\ndimension: 3\nsizes: 1 1 1\nencoding: raw\ndata file: LIST\none.raw\none.raw\n' > two.nhdr
refuses 2 'voxfilt: one.raw: raw samples need -n N or -d X[,Y[,Z]]; 1 byte (-n 1 -t u8)' voxfilt -i one.raw -o out
refuses 3 'voxfilt: one.raw: length: 1 byte, but 1 x 1 x 1 u16 take 2 (fits: -t u8, -n 1 -t u8)' \
    voxfilt -n 1 -t u16 -i one.raw -o out
refuses 3 'voxfilt: short.nrrd: length: samples of exactly 1 byte, but 1 x 1 x 2 u8 take 2' voxfilt -i short.nrrd -o out
refuses 3 'voxfilt: two.nhdr: data file: 2 files for 1 row of samples' voxfilt -i two.nhdr -o out
refuses 3 'voxfilt: standard input: length: it goes on after the last of 1 u8 sample' \
    piped v8.raw voxfilt -n 1 -t u8 -o out
accepts 'a volume of one sample is explained' '' voxfilt -n 1 -t u8 -i one.raw --explain -D cpu
grep -q '^run .* of 1 plane behind input' ../stdout
result $? 'with its one plane'
if has taskset && taskset -c 0 true 2> ../stderr; then
    accepts 'one processor is listed' '' taskset -c 0 voxfilt --list
    grep -q ' cpu:0  *1 processor, ' ../stdout
    result $? 'as one'
else
    skip 'one processor: taskset is not here, or may not choose'
fi

accepts 'the bench of a CPU' '' voxfilt -d 20,12,10 -D cpu --bench
grep -q '^rung  *tile  *coarsen  *steps  *OP/B  *ms/step ' ../stdout && ! grep -q 'warps\|blocks/SM' ../stdout &&
    grep -Eq '^naive +- +- +1 +[0-9.]+ +[0-9.]+ +[0-9.]+ ' ../stdout
result $? 'has no columns of a GPU'
accepts 'the bench of a picture' '' imgheat -d 20,12 -D cpu --bench=json
grep -q '"extents": \[20, 12, 1\], ' ../stdout
result $? 'gives the extents of a picture'

# ---------------------------------------------------------------- ASCII alone is printed

under_c()
{
    (LC_ALL=C && export LC_ALL && "$@")
}

# Under LC_ALL=C a command prints something, and nothing but ASCII.
plain() # NAME COMMAND...
{
    name=$1
    shift
    under_c "$@" > ../printed 2>&1 < /dev/null
    [ -s ../printed ] && ! under_c tr -d '\000-\177' < ../printed | grep -q .
    result $? "LC_ALL=C: $name is ASCII"
}

for program in voxfilt imgheat; do
    plain "$program --help" "$program" --help
    plain "$program --list" "$program" --list
    plain "the bench of $program" "$program" --bench -d 20,12 -D cpu
done
plain 'the plan of a picture' imgheat --explain rgba.png
plain 'the plan of a volume' v8 --explain -f heat -f gauss:1 --stats
plain 'the report' v8 --report --stats --until 1 -o report.raw
plain 'the report of several' imgheat --report gray.png rgb.png -o ./
plain 'the bench of a volume' voxfilt --bench -d 20,12,10 -D cpu
refuses 2 'voxfilt: heat: alpha*dt = 1 is unstable on this grid: the largest stable value is 0.166666 (--force runs it anyway)' \
    under_c v8 --dt 1 -o out
refuses 3 'voxfilt: long.raw: length: 612 bytes, but 8 x 8 x 8 u8 take 512 (fits: --skip 100)' \
    under_c voxfilt -i long.raw -n 8 -t u8 -o out
refuses 6 'voxfilt: standard input: the grid is too large: 1000000 x 1000000 x 1000000 x 2 channels' \
    under_c voxfilt -n 1000000 -t u8 --channels 2 -o out
under_c v8 --report -o größe.raw 2>&1 | grep -q '^v8.raw -> größe.raw: 8 x 8 x 8, 1 channel, u8 -> u8, '
result $? 'LC_ALL=C: names of files pass as they are'

v8 --report -o out.raw 2>&1 | grep -q '^v8.raw -> out.raw: 8 x 8 x 8, 1 channel, u8 -> u8, '
result $? 'LC_ALL=C.UTF-8: the same signs'

conclude
