#!/bin/sh
# A region of the result is computed as a box with its halo: the samples of the whole, for all kinds of steps, edges, places
# and files; and only the box is read and held. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

make_volume -d 70,40,12 -t u16 -o scan.raw

volume()
{
    voxfilt -q -i scan.raw -d 70,40,12 -t u16 "$@"
}

# A box of whole.raw as identity cuts it, which computes nothing.
expect() # BOX TYPE
{
    rm -f expected.raw
    voxfilt -q -i whole.raw -d 70,40,12 -t "$2" -f identity --crop "$1" -o expected.raw
}

# ---------------------------------------------------------------- steps, edges and places

# In the middle, in corners, at a side, one sample, a column through all planes.
boxes='31:40,17:22,5:7 0:5,0:3,0:2 64:70,36:40,10:12 60:70,15:20,: 69:70,0:1,11:12 33:36,18:21,:'
for job in '-f heat -s 4' '-f heat -s 3 -e wrap' '-f heat -s 2 --flux pm1 --scale 300 --inner 3 -e hold' \
    '-f gauss:1.5 -e wrap -f laplace -e reflect' '-f dog:0.5,1 -e constant:7 -f gradmag:1 -e mirror' \
    '-f unsharp:1,2 -e wrap -f gauss:0.7 -s 2 -e wrap' '-f median:1 -e nearest -f min:3' '-f tophat:2 -e wrap' \
    '-f gauss:1.2,order=1,0,0 -e wrap -f gauss:1 -e hold' '-f star:6 -s 2' '-f bilateral:1,900 -e mirror' \
    '-f heat -s 40 -e wrap' '-f gauss:1 --missing=0' '-f heat -s 3 --until 2' '-f sobel:y --out-range=auto'; do
    # shellcheck disable=SC2086  # words
    volume $job --out-type f32 -o whole.raw
    for box in $boxes; do
        expect "$box" f32
        rm -f box.raw
        # shellcheck disable=SC2086
        volume $job --out-type f32 --crop "$box" -o box.raw
        same "$job --crop $box" box.raw expected.raw
    done
done

# ---------------------------------------------------------------- files

box=60:70,3:9,4:7
volume -f gauss:1 -e wrap -o whole.raw
expect $box u16
mkdir slices
for file in scan.nrrd apart.nhdr scan.nii scan.nii.gz scan.npy scan.mha scan.raw.gz scan.tif packed.tif slices/%02d.png \
    slices/%02d.raw; do
    case $file in
    *.tif) reads_tiff || continue ;;
    esac
    level=
    [ $file = packed.tif ] && level='--level 1'
    # shellcheck disable=SC2086
    volume -f identity $level -o $file
    dims=
    case $file in
    slices/*.raw) dims='-d 70,40 -t u16' ;;
    *.raw.gz) dims='-d 70,40,12 -t u16' ;;
    esac
    rm -f box.raw
    # shellcheck disable=SC2086
    voxfilt -q -i $file $dims -f gauss:1 -e wrap --crop $box --out-format raw --out-endian little -o box.raw
    same "a box of $file" box.raw expected.raw
done
if reads_tiff; then
    for part in 1 2 3; do voxfilt -q -i packed.tif -f gauss:1 -e wrap --part $part/3 --out-format raw --out-endian little; done > joined.raw
    same 'parts of packed.tif' joined.raw whole.raw
    # The last of its pages, which stand in front of the directories, is damaged.
    cp packed.tif damaged.tif
    at=$(($(od -A n -t u4 -j 4 -N 4 packed.tif)))
    printf '\377\377\377\377' | dd of=damaged.tif bs=1 seek=$((at - 2000)) conv=notrunc 2> ../stderr
    voxfilt -q -i damaged.tif -f identity -o out.raw 2> ../stderr
    [ $? = 3 ] && grep -q '^voxfilt: damaged.tif: page 12: ' ../stderr
    result $? 'the last page of packed.tif is damaged'
    rm -f box.raw
    voxfilt -q -i damaged.tif -f gauss:1 --crop 3:9,3:9,2:5 --out-format raw --out-endian little -o box.raw
    voxfilt -q -i packed.tif -f gauss:1 --crop 3:9,3:9,2:5 --out-format raw --out-endian little -o expected.raw
    same 'what a box does not touch is not decoded' box.raw expected.raw
    expect $box u16
fi
rm -f box.raw
piped scan.raw voxfilt -q -d 70,40,12 -t u16 -f gauss:1 -e wrap --crop $box > box.raw
same 'a box of a pipe' box.raw expected.raw

# Each volume of a series has its box.
{
    printf 'NRRD0004\ntype: uint16\ndimension: 4\nsizes: 70 40 12 2\nencoding: raw\nendian: little\n\n'
    cat scan.raw
    voxfilt -q -i scan.raw -d 70,40,12 -t u16 -f sobel:y
} > series.nrrd
for volume in 0 1; do
    rm -f whole.raw one.raw
    voxfilt -q series.nrrd --volume $volume -f gauss:1 -o whole.raw
    expect $box u16
    cat expected.raw >> both.raw
done
rm -f box.raw
voxfilt -q series.nrrd -f gauss:1 --crop $box -o box.raw
same 'boxes of a series' box.raw both.raw

# A mask is read as the same box, whether it is read anywhere or in order.
voxfilt -q -i scan.raw -d 70,40,12 -t u16 -f sobel:x -o mask.raw
voxfilt -q -i mask.raw -d 70,40,12 -t u16 -f identity -o mask.nii.gz
for mask in mask.raw mask.nii.gz; do
    volume --mask $mask -f gauss:1 -e wrap -o whole.raw
    expect $box u16
    rm -f box.raw
    volume --mask $mask -f gauss:1 -e wrap --crop $box -o box.raw
    same "a box with the mask $mask" box.raw expected.raw
done

# Rows of a picture are cut, too.
from scan.raw head -c 67200 > flat.raw
voxfilt -q -i flat.raw -d 420,80 -t u16 -f heat -s 5 -e wrap -o whole.raw
voxfilt -q -i whole.raw -d 420,80 -t u16 -f identity --crop 400:420,7:9 -o expected.raw
rm -f box.raw
voxfilt -q -i flat.raw -d 420,80 -t u16 -f heat -s 5 -e wrap --crop 400:420,7:9 -o box.raw
same 'a box of a plane' box.raw expected.raw

# ---------------------------------------------------------------- columns

# Where memory is short, the whole goes through column by column.
in_columns() # NAME OUTPUT WHOLE COMMAND...
{
    name=$1 output=$2 whole=$3
    shift 3
    rm -rf "$output"
    "$@" -o "$output" --explain > ../stdout && grep -q '^columns ' ../stdout && grep -q ' columns.* taken$' ../stdout &&
        ! grep -q 'whole grid' ../stdout &&
        "$@" -o "$output" && diff -r "$whole" "$output"
    result $? "in columns: $name"
}

while IFS='|' read -r memory job; do
    rm -f whole.raw
    # shellcheck disable=SC2086  # words
    volume $job -o whole.raw
    # shellcheck disable=SC2086
    in_columns "$job" box.raw whole.raw volume $job -m "$memory" -j 2
done <<END
12K|-f heat -s 4
20K|-f heat -s 3 -e wrap
150K|-f dog:0.5,1 -e constant:7 -f gradmag:1 -e mirror
150K|-f unsharp:1,2 -e wrap -f gauss:0.7 -s 2 -e wrap
40K|-f median:1 -e nearest -f min:3
80K|-f gauss:1 --missing=0 --out-type u8
40K|-f star:6 -s 2 -e hold
80K|-f heat -s 9 --flux pm1 --scale 300
6K|-f identity
40K|-f gauss:1 -e mirror --crop 3:66,5:39,2:11
30K|-f gauss:1 --part 2/3
50K|-f gauss:0.7 -e wrap --planes 9:12
80K|-f gauss:1 --mask mask.raw
END

# A series, and files of all kinds whose samples have places.
rm -f whole.raw
for file in series.nrrd scan.nii scan.npy apart.nhdr; do
    rm -f whole.nrrd whole.npy
    case $file in *.npy) out=npy ;; *) out=nrrd ;; esac
    voxfilt -q $file -f heat -s 4 -o whole.$out
    in_columns $file box.$out whole.$out voxfilt -q $file -f heat -s 4 -m 20K -j 2
done

# Pictures, and strips of compressed pages, are decoded whole for each column, which the forecast says.
for file in slices/%02d.png packed.tif; do
    [ $file != packed.tif ] || reads_tiff || continue
    voxfilt -q $file -f heat -s 4 --out-format raw -m 100K -j 2 -o box.raw --explain > ../stdout
    columns=$(sed -n 's/^columns *\([0-9]*\),.*/\1/p' ../stdout)
    [ "${columns:-1}" -gt 1 ] && grep -q " $columns columns, .*: $((columns * 70 * 40 * 12 * 2)) bytes read, " ../stdout
    result $? "in columns, $file is read again and again"
done

# Columns of a Zarr output are whole shards, of 512 rows. The last of these is damaged.
make_volume -d 40,1100,4 -t u8 -o tall.raw
mkdir whole cut
voxfilt -q -i tall.raw -d 40,1100,4 -t u8 -f identity -o tall.zarr
voxfilt -q tall.zarr -f gauss:1 -o whole/out.zarr
# With as much as the narrowest columns take, and a little more.
voxfilt -q tall.zarr -f gauss:1 -m 1 -j 2 -o cut/out.zarr 2> ../stderr
least=$(sed -n 's/.*(\([0-9]*\) bytes).*/\1/p' ../stderr)
memory=$((${least:-0} + 300000))
in_columns 'from store to store' cut/out.zarr whole/out.zarr voxfilt -q tall.zarr -f gauss:1 -m $memory -j 2
printf damaged | dd of=tall.zarr/0/c/0/2/0 conv=notrunc 2> ../stderr
rm -r cut/out.zarr
voxfilt -q tall.zarr -f gauss:1 -m $memory -j 2 -o cut/out.zarr 2> ../stderr
[ $? = 3 ] && [ -z "$(ls -A cut)" ]
result $? 'damage in the last column: no output'

# Beside what a process has anyway there is what is planned, however many columns were looked at before.
watched() # COMMAND...
{
    "${LONG_VOLUME:?}" watch voxfilt -q -D cpu --report=json -o box.raw "$@" 2> ../report
    most=$(tail -n 1 ../report)
    planned=$(($(sed -n 's/.*"planned_bytes": \([0-9]*\).*/\1/p' ../report) / 1024))
}
# Sanitizers take memory themselves.
if (ulimit -v 200000; voxfilt --version) > ../bare 2>&1; then
    steps='-j 2 --work f64 -f heat -s 5 -e wrap'
    # shellcheck disable=SC2086  # words
    watched -i scan.raw -d 70,40,12 -t u16 $steps
    bare=$most
    make_volume -d 1536,1024,30 -t u8 -o wide.raw
    # shellcheck disable=SC2086
    watched -i wide.raw -d 1536,1024,30 -t u8 $steps -m 44669641
    [ "$planned" -gt 30000 ] && [ "$most" -le $((bare + planned + 2048)) ]
    result $? "columns of f64: $planned KiB are planned, and $((most - bare)) KiB are there at most"
    # What rows are read into takes the same place each time.
    truncate -s 1800000000 wide.raw
    watched -i wide.raw -d 9000,2000,100 -t u8 -j 8 -f median:1 --crop 2000:9000,100:300,0:50
    [ "$planned" -gt 20000 ] && [ "$most" -le $((bare + planned + 2048)) ]
    result $? "rows of a box: $planned KiB are planned, and $((most - bare)) KiB are there at most"
    rm wide.raw
fi

# Of rows that are longer than memory, only the runs of the box are read. Where the shell cannot limit addresses, or a
# sanitizer needs all of them, this is skipped.
truncate -s 20000000000 long.raw 2> ../stderr || rm -f long.raw
# shellcheck disable=SC3045
if [ -e long.raw ] && (ulimit -v 400000; voxfilt --version) > ../bare 2>&1; then
    printf '\001\002\003' | dd of=long.raw bs=1 seek=9999999990 conv=notrunc 2> ../stderr
    (ulimit -v 400000; voxfilt -q -D cpu -j 2 -i long.raw -d 10000000000,2 -t u8 -f max:1,x \
        --crop 9999999989:9999999993,0:2 -o box.raw) 2> ../stderr
    [ $? = 0 ] && printf '\001\002\003\003\000\000\000\000' | cmp - box.raw
    result $? 'a box of rows that do not fit into memory'
else
    skip 'rows that do not fit into memory'
fi
rm -f long.raw

# What needs whole planes, or has no places for samples, is not cut.
while IFS='|' read -r options reason; do
    # shellcheck disable=SC2086
    volume -f heat -s 9 $options -m 250K --explain > ../stdout
    grep -qxF "ways      over whole planes, not in columns, because of $reason" ../stdout && ! grep '^columns ' ../stdout
    result $? "not in columns: $options"
done <<END
-o out.raw.gz|an output that is written in order
-o out.nrrd --level 1|an output that is written in order
-o out.raw --stats|--stats
-o out.raw --tee 1:tee.raw|--tee
-o out%02d.raw|an output that is written in order
-o out.raw --out-range=auto --out-type u8|--out-range=auto
-o out.raw --until 0.001|--until
-o -|an output that is written in order
END
volume -f heat -s 4 -m 20K -j 2 --report -o box.raw 2> ../stderr
grep -q '^columns   [0-9]*, one after the other: ' ../stderr
result $? 'a report tells of columns, too'

# ---------------------------------------------------------------- what it takes

says() # NAME LINE WORDS...
{
    name=$1 line=$2
    shift 2
    "$@" > ../stdout
    grep -qxF "$line" ../stdout
    result $? "$name"
}

says '--explain tells the box and what is read of it' \
    'box       x 29:42, y 15:24, z 3:9 of the grid are computed for it: 1404 of 67200 bytes are read' \
    volume -f heat -s 2 --crop 31:40,17:22,5:7 --explain
says 'a box that goes around' \
    'box       x 58:72, y 38:45, z 10:16 of the grid are computed for it: 1176 of 67200 bytes are read' \
    volume -f heat -s 2 -e wrap --crop 60:70,0:3,0:2 --explain
says 'of a picture, too' 'box       x 398:420, y 5:11 of the grid are computed for it: 264 of 67200 bytes are read' \
    voxfilt -i flat.raw -d 420,80 -t u16 -f heat -s 2 --crop 400:420,7:9 --explain
says 'where edges differ, an axis is computed whole' \
    'box       x 0:70, y 14:25, z 0:12 of the grid are computed for it: 18480 of 67200 bytes are read' \
    volume -f heat -s 2 -e wrap -f gauss:0.2 --crop 0:4,17:22,5:7 --explain
says '--until looks at all' 'box       x 0:70, y 0:40, z 0:12 of the grid are computed for it: 67200 of 67200 bytes are read' \
    volume -f heat -s 2 --until 1 --crop 31:40,17:22,5:7 --explain

# A store of 10^15 samples, of which no chunk is there: the whole, and a part that would take a terabyte in planes.
mkdir empty.zarr
cat > empty.zarr/zarr.json <<'END'
{"zarr_format": 3, "node_type": "array", "shape": [100000, 100000, 100000], "data_type": "uint8",
 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [512, 512, 512]}},
 "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
 "codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [128, 128, 128],
   "codecs": [{"name": "bytes"}], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]}
END
for case in '-f identity|1000000000000000' '-f heat -s 20|1000000000000000' '-f identity --part 3/195|5130000000000'; do
    # shellcheck disable=SC2086
    voxfilt empty.zarr ${case%%|*} -m 16G -j 2 -o out.zarr --explain > ../stdout
    grep -q " columns.*, ${case#*|} written, .*, taken$" ../stdout
    result $? "10^15 samples: ${case%%|*}"
done

# A plane of this file has 100 MB; the run has 12 MiB.
truncate -s 10000000000000 huge.raw 2> ../stderr || rm -f huge.raw
if [ -e huge.raw ]; then
    accepts 'a box of planes that do not fit into memory' '' \
        voxfilt -q -m 12M -i huge.raw -d 10000,10000,100000 -t u8 -f heat -s 4 \
        --crop 5000:5030,5000:5030,50000:50030 -o box.raw
    [ "$(wc -c < box.raw)" = 27000 ]
    result $? 'has its size'
    rm huge.raw
else
    skip 'a file of 10 TB: the disk does not take it'
fi

conclude
