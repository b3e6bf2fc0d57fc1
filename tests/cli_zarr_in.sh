#!/bin/sh
# Zarr stores that are read wherever a file is: regions, parts, edges that wrap, masks and memory, against the same samples in
# one file; resolutions, series, notes and refusals. What other libraries write, tests/zarr_stores.sh reads.
# Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# An array of version 2 in chunks of 2 x 4 x 5 samples of u8, whose files are cut out of a raw file of 8 x 4 x 5.
make_volume -d 5,4,8 -t u8 -o plain.raw
array()
{
    mkdir -p "$1"
    echo "{\"zarr_format\": 2, \"shape\": [$2], \"chunks\": [$3], \"dtype\": \"|u1\", \"order\": \"C\", \"compressor\": null,
\"filters\": null, \"fill_value\": 7}" > "$1/.zarray"
}
array plain.zarr '8, 4, 5' '2, 4, 5'
for chunk in 0 1 2 3; do
    tail -c +$((chunk * 40 + 1)) plain.raw | head -c 40 > plain.zarr/$chunk.0.0
done

# The same bytes as from the raw file.
alike() # NAME OPTION...
{
    name=$1
    shift
    voxfilt -q -d 5,4,8 -t u8 -i plain.raw "$@" -o raw.raw && voxfilt -q -i plain.zarr "$@" -o zarr.raw
    same "$name" raw.raw zarr.raw
}
alike 'a filter' -f gauss:1 --out-type f32
alike 'a filter around the ends' -f gauss:1 -e wrap
alike 'a crop' -f heat -s 2 --crop 1:4,1:3,2:7
alike 'a crop around the ends' -f gauss:1 -e wrap --crop 0:2,3:4,0:3
alike 'planes' -f sobel:z --planes 3:5
alike 'a part' -f gauss:2 --part 2/3
alike 'until little changes' -f heat --until 0.5
alike 'one thread' -f median:1 -j 1
alike 'a mask' -f gauss:1 --mask plain.zarr

# Only what is needed is read: a chunk that is no file refuses whoever opens it.
rm plain.zarr/0.0.0
mkdir plain.zarr/0.0.0
accepts 'planes behind a chunk that cannot be read' '' voxfilt -q -f heat -s 1 -i plain.zarr --planes 4:8 -o some.raw
refuses 3 'voxfilt: plain.zarr/0.0.0: not a regular file' voxfilt -f heat -s 1 -i plain.zarr --planes 2:8 -o some.raw
rmdir plain.zarr/0.0.0
voxfilt -q -f identity -i plain.zarr -o filled.raw
[ "$(head -c 40 filled.raw | tr -d '\007' | wc -c)" = 0 ]
result $? 'a chunk that is not there has the fill value'
head -c 39 plain.raw > plain.zarr/0.0.0
refuses 3 'voxfilt: plain.zarr/0.0.0: it holds 39 bytes, and its samples have 40' voxfilt -i plain.zarr -o some.raw
head -c 40 plain.raw > plain.zarr/0.0.0

# ---------------------------------------------------------------- images

mkdir image.zarr
echo '{"zarr_format": 2}' > image.zarr/.zgroup
image() # EXTRA
{
    echo "{\"multiscales\": [{\"version\": \"0.4\", \"axes\": [{\"name\": \"c\", \"type\": \"channel\"},
{\"name\": \"z\", \"type\": \"space\", \"unit\": \"micrometer\"}, {\"name\": \"y\", \"type\": \"space\", \"unit\": \"micrometer\"},
{\"name\": \"x\", \"type\": \"space\", \"unit\": \"micrometer\"}], \"datasets\": [
{\"path\": \"s0\", \"coordinateTransformations\": [{\"type\": \"scale\", \"scale\": [1, 2, 0.5, 0.5]}]},
{\"path\": \"s1\", \"coordinateTransformations\": [{\"type\": \"scale\", \"scale\": [1, 4, 1, 1]}, {\"type\": \"translation\",
\"translation\": [0, 1, 0.25, 0.25]}]}]}]$1}" > image.zarr/.zattrs
}
image ''
array image.zarr/s0 '2, 4, 4, 5' '1, 4, 4, 5'
array image.zarr/s1 '2, 2, 2, 2' '2, 2, 2, 2'
head -c 80 plain.raw > image.zarr/s0/0.0.0.0
tail -c 80 plain.raw > image.zarr/s0/1.0.0.0
head -c 16 plain.raw > image.zarr/s1/0.0.0.0
accepts 'channels are a series' 'voxfilt: image.zarr: 1 smaller resolution left out (--resolution)
voxfilt: image.zarr: left out: spacing, axes
' \
    voxfilt -f identity -i image.zarr -o series.raw
same 'of volumes, one after the other' plain.raw series.raw
voxfilt -f gauss:1 -i image.zarr --explain > ../stdout
grep -q '^grid .*, a series of 2 (C 2), ' ../stdout
result $? 'whose axes a plan names'
accepts 'of which one is read' 'voxfilt: image.zarr: 1 smaller resolution left out (--resolution)
voxfilt: image.zarr: left out: spacing, axes
' \
    voxfilt -f identity -i image.zarr --volume 1 -o one.raw
tail -c 80 plain.raw > ../wanted
same 'alone' ../wanted one.raw
voxfilt -q -f identity -i image.zarr --resolution 1 -o small.mha
grep -a -E '^(ElementSpacing|Offset)' small.mha > ../got
printf 'Offset = 0.00025 0.00025 0.001 0\nElementSpacing = 0.001 0.001 0.004 1\n' > ../wanted
same 'a smaller resolution has its own distances and place, in millimetres' ../wanted ../got
refuses 2 'voxfilt: image.zarr/.zattrs: --resolution: 2: the last one is 1' voxfilt -i image.zarr --resolution 2 -o some.raw
refuses 2 'voxfilt: plain.zarr/.zarray: --resolution: an array has the full one alone' \
    voxfilt -i plain.zarr --resolution 1 -o some.raw
refuses 2 'voxfilt: plain.zarr: a Zarr store, whose header replaces -n and -d' \
    voxfilt -i plain.zarr -d 5,4,8 -o some.raw
image ', "omero": {}, "plate": {}'
refuses 3 'voxfilt: image.zarr/.zattrs: plate: several images: name the folder of one' voxfilt -i image.zarr -o some.raw
image ', "omero": {}'
accepts 'what other formats do not keep is named' 'voxfilt: image.zarr: left out: spacing, axes, translation, omero
' \
    voxfilt -f identity -i image.zarr --resolution 1 -o small.raw
rm image.zarr/.zattrs
refuses 3 'voxfilt: image.zarr/.zgroup: multiscales: missing, and a group has no samples: name an array in it' \
    voxfilt -i image.zarr -o some.raw
accepts 'an array in it is read alone' '' voxfilt -f identity -i image.zarr/s0 -o series.raw

# ---------------------------------------------------------------- memory

array large.zarr '100, 100, 100' '10, 100, 100'
for chunk in 0 1 2 3 4 5 6 7 8 9; do
    head -c 100000 /dev/zero > large.zarr/$chunk.0.0
done
voxfilt -q -j 1 -f gauss:1 -i large.zarr -o some.raw -m 200K 2> ../stderr
[ $? = 6 ]
result $? 'a layer of chunks, and a chunk of each thread, count as memory'
voxfilt -j 1 -f gauss:1 -i large.zarr -o some.raw --explain > ../got
grep -q '^memory .* for reading the input$' ../got
result $? 'the plan tells what reading takes'

# Of two heat steps from store to store: the most KiB that the process had, and those that were planned.
measure() # STORE
{
    rm -rf filtered.zarr
    "${LONG_VOLUME:?}" watch voxfilt -q -D cpu -j 2 -m 64M -s 2 --level 0 --report=json -i "$1" -o filtered.zarr 2> ../report
    most=$(tail -n 1 ../report)
    planned=$(($(sed -n 's/.*"planned_bytes": \([0-9]*\).*/\1/p' ../report) / 1024))
}

array vast.zarr '4096, 512, 512' '32, 128, 128'
make_volume -d 128,128,32 -t u8 -o chunk.raw
for chunk in 0.0.0 65.1.2 127.3.3; do
    cp chunk.raw vast.zarr/$chunk
done

# Sanitizers leave too little for a limit, and take memory themselves.
if (ulimit -v 200000; voxfilt --version) > ../bare 2>&1; then
    # What a process has anyway is that of the same run on few samples.
    measure plain.zarr
    bare=$most
    measure vast.zarr
    [ "$planned" -le 65536 ] && [ "$most" -gt "$bare" ] && [ "$most" -le $((bare + planned)) ]
    result $? "1 GiB of samples by 64 MiB: $planned KiB are planned, and $((most - bare)) KiB are there at most"
    voxfilt -q -f identity -i vast.zarr --crop 236:404,108:276,2060:2132 -o around.raw
    voxfilt -q -f identity -d 168,168,72 -t u8 -i around.raw --crop 20:148,20:148,20:52 -o inner.raw
    same 'a chunk among others that are missing' chunk.raw inner.raw
    voxfilt -q -s 2 -d 168,168,72 -t u8 -i around.raw --crop 4:164,4:164,4:68 -o wanted.raw
    voxfilt -q -f identity -i filtered.zarr --crop 240:400,112:272,2064:2128 -o got.raw
    same 'is filtered as in a raw file' wanted.raw got.raw
fi

# Each comma asks for room for a value.
mkdir commas.zarr
head -c 1048576 /dev/zero | tr '\0' , > commas.zarr/zarr.json
refuses 3 'voxfilt: commas.zarr/zarr.json: JSON of more than 1048576 values' voxfilt -i commas.zarr -o some.raw

# ---------------------------------------------------------------- outputs in the store

refuses 2 'voxfilt: --output: plain.zarr/new.raw: it lies within a store that is read' voxfilt -i plain.zarr -o plain.zarr/new.raw
ln -s plain.zarr linked.zarr
mkdir plain.zarr/c
refuses 2 'voxfilt: --output: linked.zarr/c/new.zarr: it lies within a store that is read' voxfilt -i plain.zarr -o linked.zarr/c/new.zarr
refuses 2 'voxfilt: --preview: plain.zarr/0.0.0: it lies within a store that is read' \
    voxfilt -i plain.zarr -o some.raw --preview plain.zarr/0.0.0
refuses 2 'voxfilt: --report: plain.zarr/.zarray: it lies within a store that is read' \
    voxfilt -i plain.zarr -o some.raw --report=json:plain.zarr/.zarray
refuses 2 'voxfilt: --report: plain.zarr/new.json: it lies within a store that is read' \
    voxfilt -i plain.zarr -o some.raw --report=json:plain.zarr/new.json
rmdir plain.zarr/c

conclude
