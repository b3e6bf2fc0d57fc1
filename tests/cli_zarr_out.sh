#!/bin/sh
# OME-Zarr that is written: chunks, shards and metadata, byte by byte; what is refused; a folder as output wherever a file
# goes; what a fault or a signal leaves. What other libraries read of it, tests/zarr_readers.sh tries.
# Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

convert()
{
    voxfilt -f identity "$@"
}

# Two folders have the same files.
same_folder() # NAME A B
{
    [ -d "$2" ] && diff -r "$2" "$3" > ../differences
    result $? "$1"
}

# All files of a folder, in one line.
files()
{
    (cd "$1" && find . -type f | LC_ALL=C sort | sed 's,^\./,,' | tr '\n' ' ')
}

make_volume -d 6,5,4 -t u16 -o scan.raw
cat > scan.nhdr <<END
NRRD0004
type: uint16
dimension: 3
sizes: 6 5 4
spacings: 0.3 0.7 2.5
units: "mm" "mm" "mm"
endian: little
encoding: raw
data file: scan.raw
END
if ! convert -i scan.nhdr -o scan.zarr 2> ../stderr && grep -q 'libzstd cannot be loaded\|libzstd is needed' ../stderr; then
    echo 'libzstd is not here'
    exit 77
fi

# ---------------------------------------------------------------- bytes

[ "$(files scan.zarr)" = '0/c/0/0/0 0/zarr.json zarr.json ' ]
result $? 'a small volume is one shard'
cat > ../wanted <<'END'
{"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5", "multiscales": [{"name": "scan", "axes": [{"name": "z", "type": "space", "unit": "millimeter"}, {"name": "y", "type": "space", "unit": "millimeter"}, {"name": "x", "type": "space", "unit": "millimeter"}], "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [2.5, 0.7, 0.3]}]}]}]}}}
END
printf '%s\n' "$(cat scan.zarr/zarr.json)" > ../got
same 'the group tells axes, unit and distances' ../wanted ../got
convert -i scan.nhdr --level 0 -o plain.zarr
head -c 240 plain.zarr/0/c/0/0/0 > plain.raw
same 'at level 0 samples stand as they are' scan.raw plain.raw
[ "$(wc -c < plain.zarr/0/c/0/0/0)" = $((240 + 4 + 16 + 4)) ]
result $? 'with their checksum, the place of the chunk, and the checksum of that'
[ "$(od -An -tu8 -j244 -N16 plain.zarr/0/c/0/0/0 | tr -s ' ')" = ' 0 244' ]
result $? 'which is where the chunk is'
grep -q '"codecs": \[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}\]' plain.zarr/0/zarr.json
result $? 'and metadata say so'
convert -t u16 --endian big -d 6,5,4 -i scan.raw --level 0 -o big.zarr
head -c 240 big.zarr/0/c/0/0/0 > plain.raw
same 'bytes keep their order' scan.raw plain.raw
grep -q '"endian": "big"}}, {"name": "crc32c"}\], "index_codecs": \[{"name": "bytes", "configuration": {"endian": "little"}}' \
    big.zarr/0/zarr.json
result $? 'which is told; that of places is fixed'

make_volume -d 150,140,130 -t u8 -o large.raw
convert -d 150,140,130 -t u8 -i large.raw -j 1 -o large.zarr
mkdir more
convert -d 150,140,130 -t u8 -i large.raw -j 5 -o more/large.zarr
same_folder 'files do not depend on the number of threads' large.zarr more/large.zarr
grep -q '"chunk_shape": \[256, 256, 256\]}}, .*"chunk_shape": \[128, 128, 128\], "codecs"' large.zarr/0/zarr.json
result $? 'chunks are cubes of 128, and shards have whole chunks'
convert -d 150,140,130 -t u8 -i large.raw --level 9 -o tight.zarr
[ "$(wc -c < tight.zarr/0/c/0/0/0)" -lt "$(wc -c < large.zarr/0/c/0/0/0)" ]
result $? 'a level above saves more'
head -c 300000 /dev/zero > zeros.raw
convert -d 300,100,10 -t u8 -i zeros.raw -o zeros.zarr
[ "$(files zeros.zarr)" = '0/zarr.json zarr.json ' ]
result $? 'chunks of zeros are left out'

# A region keeps its place. Channels and volumes are axes.
convert -i scan.nhdr --crop 2:5,1:3,1:4 -o region.zarr
grep -q '"translation": \[2.5, 0.7, 0.6\]' region.zarr/zarr.json
result $? 'a region is told its place'
convert -i scan.nhdr --part 2/2 -o part.zarr
grep -q '"translation": \[5, 0, 0\]' part.zarr/zarr.json
result $? 'and so is a part'
printf 'a1b2c3d4e5f6' > pairs.raw
convert -d 3,2,1 --channels 2 -t u8 -i pairs.raw --level 0 -o pairs.zarr
[ "$(files pairs.zarr)" = '0/c/0/0/0/0 0/c/1/0/0/0 0/zarr.json zarr.json ' ] &&
    [ "$(head -c 6 pairs.zarr/0/c/0/0/0/0)$(head -c 6 pairs.zarr/0/c/1/0/0/0)" = abcdef123456 ]
result $? 'a channel is not among the others'
printf 'NRRD0004\ntype: uint8\ndimension: 4\nsizes: 3 2 1 2\nencoding: raw\n\nabcdef123456' > series.nrrd
convert -i series.nrrd --level 0 -o series.zarr 2> ../stderr
[ "$(files series.zarr)" = '0/c/0/0/0/0 0/c/1/0/0/0 0/zarr.json zarr.json ' ] &&
    [ "$(head -c 6 series.zarr/0/c/0/0/0/0)$(head -c 6 series.zarr/0/c/1/0/0/0)" = abcdef123456 ]
result $? 'volumes are frames'
convert -d 30,20 -t u8 -i zeros.raw --skip 299400 -o flat.zarr
grep -q '"shape": \[20, 30\].*"dimension_names": \["y", "x"\]' flat.zarr/0/zarr.json
result $? 'a picture has two axes'

# ---------------------------------------------------------------- from a store to a store

convert -i large.zarr -o back.raw
same 'what is written is read' large.raw back.raw
convert -i pairs.zarr -o back.nrrd 2> ../stderr
[ "$(tail -c 12 back.nrrd)" = abcdef123456 ]
result $? 'channels are read as a series'
convert -i series.zarr -o again.zarr --level 0
same_folder 'and written as axes of the same names' series.zarr/0 again.zarr/0
convert -i pairs.zarr -o again2.zarr --level 0
same_folder 'whatever these are' pairs.zarr/0 again2.zarr/0
sed 's/"name": "scan"/"name": "a \\"cell\\"", "type": "gaussian"/
    s/"unit": "millimeter"/"unit": "angstrom"/g
    s/\(\[2.5, 0.7, 0.3\]}\)/\1, {"type": "translation", "translation": [10, 20, 30]}/
    s/]}}}$/], "omero": {"channels": [{"window": {"end": 1500.50, "on": [true, null, -1e3, {}]}}]}}, "more": 1}}/' \
    scan.zarr/zarr.json > ../group
cp -r scan.zarr told.zarr
cp ../group told.zarr/zarr.json
accepts 'what an image tells is kept' 'voxfilt: told.zarr: left out: type, more
' voxfilt -f gauss:1 -i told.zarr -o kept.zarr
grep -q '"name": "a \\"cell\\"", .*"unit": "angstrom".*"translation": \[10, 20, 30\]}.*"omero": {"channels": \[{"window": {"end": 1500.50, "on": \[true, null, -1e3, {}\]}}\]}}}}$' kept.zarr/zarr.json
result $? 'as it stands'
accepts 'a region does not keep how all is shown' 'voxfilt: told.zarr: left out: type, omero, more
' convert -i told.zarr --crop 2:5,1:3,1:4 -o placed.zarr
grep -q '"translation": \[12.5, 20.7, 30.6\]' placed.zarr/zarr.json
result $? 'and has its own place'
mkdir own.zarr
cat > own.zarr/.zarray <<'END'
{"zarr_format": 2, "shape": [40, 50, 60], "chunks": [20, 16, 32], "dtype": "|u1", "compressor": null, "fill_value": 7,
 "order": "C", "filters": null}
END
convert -i own.zarr -o owned.zarr 2> ../stderr
grep -q '"chunk_shape": \[40, 64, 64\]}}, .*"chunk_shape": \[20, 16, 32\], "codecs"' owned.zarr/0/zarr.json
result $? 'an input gives its chunks'

# ---------------------------------------------------------------- wherever a file goes

accepts 'outputs in a directory' '' convert scan.nhdr --out-format zarr -o more/
same_folder 'get the ending' scan.zarr more/scan.zarr
accepts 'states on the way' '' voxfilt -i scan.nhdr -s 4 --tee 2:two.zarr -o four.zarr
voxfilt -i scan.nhdr -s 2 -o more/two.zarr
same_folder 'are as the run that stops there' two.zarr more/two.zarr
accepts 'a folder as input' '' convert two.zarr/ --out-format nrrd -o more/
[ -s more/two.nrrd ]
result $? 'gives its name without a slash'
accepts 'slashes behind the names of outputs' '' voxfilt -i scan.nhdr -s 4 --tee 2:state.zarr/ -o slash.zarr//
same_folder 'change nothing' four.zarr/0 slash.zarr/0
same_folder 'not of states either' two.zarr/0 state.zarr/0
refuses 2 'voxfilt: slash.zarr: it exists, and a folder replaces nothing' convert -i scan.nhdr -o slash.zarr/
accepts 'other formats go into a folder of such a name' 'voxfilt: scan.nhdr: left out: spacing, units
' convert -i scan.nhdr --out-format npy -o slash.zarr/
[ -s slash.zarr/scan.npy ]
result $? 'as into any other'
mv two.zarr renamed.zarr
accepts 'a name of its own is a loss' 'voxfilt: renamed.zarr: left out: spacing, name
' convert -i renamed.zarr -o renamed.raw
convert -i slash.zarr -o next.zarr
accepts 'that of the folder is not handed on' 'voxfilt: next.zarr: left out: spacing
' convert -i next.zarr -o next.raw
refuses 2 'voxfilt: 2 inputs need a directory: --output DIR/' convert scan.zarr renamed.zarr/
accepts 'and on the disk' '' convert -i scan.nhdr --sync -o synced.zarr
same 'as ever' scan.zarr/0/c/0/0/0 synced.zarr/0/c/0/0/0
voxfilt -i scan.nhdr -f identity --explain -o no.zarr > ../stdout
grep -q '^memory .* for writing the output$' ../stdout && [ ! -e no.zarr ]
result $? 'a plan tells what writing takes'

# ---------------------------------------------------------------- refusals

refuses 2 'voxfilt: scan.zarr: it exists, and a folder replaces nothing' convert -i scan.nhdr -o scan.zarr
mkdir empty.zarr
refuses 2 'voxfilt: empty.zarr: it exists, and a folder replaces nothing' convert -i scan.nhdr -o empty.zarr
ln -s nowhere link.zarr
refuses 2 'voxfilt: link.zarr: it exists, and a folder replaces nothing' convert -i scan.nhdr -o link.zarr
refuses 2 'voxfilt: more/scan.zarr: it exists, and a folder replaces nothing' convert scan.nhdr --out-format zarr -o more/
refuses 2 'voxfilt: standard output: a folder needs a name (-o)' convert -i scan.nhdr --out-format zarr
refuses 2 'voxfilt: scan.zarr: it exists, and a folder replaces nothing' convert -i scan.nhdr -m 1 -o scan.zarr
refuses 4 'voxfilt: none/a.zarr: No such file or directory' convert -i scan.nhdr -o none/a.zarr
refuses 2 'voxfilt: --piece: cat cannot join files of the format zarr; --part writes complete ones' \
    convert -i scan.nhdr --piece 1/2 -o piece.zarr
mkdir broken
: > broken/libzstd.so.1
without_libzstd()
{
    (LD_LIBRARY_PATH=$PWD/broken${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} && export LD_LIBRARY_PATH && "$@")
}
refuses 2 "voxfilt: lib.zarr: libzstd is needed, but cannot be loaded (apt install libzstd1): $PWD/broken/libzstd.so.1: file too short" \
    without_libzstd convert -i scan.nhdr -o lib.zarr
accepts 'level 0 needs no library' '' without_libzstd convert -i scan.nhdr --level 0 -o lib.zarr
same_folder 'as ever' plain.zarr/0 lib.zarr/0

# ---------------------------------------------------------------- faults and signals

# Of a block of 512 bytes the first shard is cut off.
(ulimit -f 1 && trap '' XFSZ && convert -d 150,140,130 -t u8 -i large.raw -o cut.zarr 2> ../stderr)
status=$?
[ $status = 4 ] && [ ! -e cut.zarr ] && has_no_temporary && grep -q '^voxfilt: cut.zarr: 0/c/0/0/0: File too large$' ../stderr
result $? 'what cannot be written is removed, and named'
mkfifo pipe
voxfilt -f identity -d 150,140,520 -t u8 -i pipe -o slow.zarr 2> ../stderr &
{
    cat large.raw large.raw large.raw
    await 100 eval 'ls ./*.part/0/c/0/0/0 > ../parts 2>&1'
    began=$?
    kill -TERM $!
} > pipe
wait $!
[ $? = 143 ] && [ $began = 0 ] && [ ! -e slow.zarr ] && has_no_temporary
result $? 'a signal removes all files of the folder'

conclude
