#!/bin/sh
# Several files by ranks, which filter each of them together: the files, figures and words of one process, whatever fails.
# Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/rankbook.sh
. "$(dirname "$0")/rankbook.sh"

# A folder holds what one process puts into another, and the words are the same, but that failures may name the rank.
as_one() # COUNT STATUS OPTION...
{
    count=$1 wanted=$2
    shift 2
    empty_folder made
    voxfilt "$@" -o made/ 2> ../one < /dev/null
    one=$?
    rm -rf one
    mv made one
    mkdir made
    ranks "$count" voxfilt-mpi "$@" -o made/ > ../stdout 2> ../stderr < /dev/null
    status=$?
    [ $status = "$wanted" ] && [ $one = "$wanted" ]
    result $? "$count ranks: $*"
    [ -n "$(ls -A one)" ] && diff -r one made
    result $? "$count ranks: the same files"
    grep -E '^(voxfilt-mpi:|input |output |[^ ]* -> )' ../stderr | grep -v 'ranks stay idle\|rank stays idle\|rank 0 alone' |
        sed "s/^voxfilt-mpi:/voxfilt:/; s/^voxfilt: rank [0-9] ($host): /voxfilt: /" | diff ../one -
    result $? "$count ranks: the same text"
}

# ---------------------------------------------------------------- the same files

mkdir bad volumes
make_volume -d 20,9,40 -t u16 -o scan.raw
for form in nii nii.gz nrrd nhdr mhd npy; do
    voxfilt -i scan.raw -d 20,9,40 -t u16 -f identity -o "volumes/scan-$form.$form"
done
volumes=$(find volumes -name 'scan-*' ! -name '*.raw' | sort)
printf 'no volume' > bad/text.nrrd
head -c 5000 volumes/scan-nrrd.nrrd > bad/cut.nrrd

# shellcheck disable=SC2086  # words
{
    as_one 2 0 -f gauss:1.2 -f heat --stats $volumes
    as_one 4 0 -j 3 -f laplace --out-type f32 --out-format nii $volumes
    as_one 8 0 -e wrap -f heat $volumes
    as_one 2 7 --until 1e-9 -s 5 $volumes
    as_one 3 3 -j 2 bad/cut.nrrd $volumes bad/text.nrrd
    as_one 2 4 none.nrrd bad/cut.nrrd volumes/scan-npy.npy
}

# A folder of chunks is written by rank 0.
mkdir whole
voxfilt -q -i scan.raw -d 20,9,40 -t u16 -s 3 -o whole/made.zarr --tee 1:whole/one.zarr
ranks 3 voxfilt-mpi -q -i scan.raw -d 20,9,40 -t u16 -s 3 -o made.zarr --tee 1:one.zarr > ../stdout 2> ../stderr < /dev/null
diff -r whole/made.zarr made.zarr > ../differences && diff -r whole/one.zarr one.zarr >> ../differences
result $? 'a folder of three ranks is that of one process'
refuses_all 2 'voxfilt-mpi: made.zarr: it exists, and a folder replaces nothing' \
    ranks 2 voxfilt-mpi -i scan.raw -d 20,9,40 -t u16 -s 3 -o made.zarr
rm -rf whole made.zarr one.zarr

# ---------------------------------------------------------------- stacks of files

make_volume -d 32,32,60 -t u16 -o deep.raw
for ending in png tif raw; do
    [ $ending != tif ] || reads_tiff || continue
    empty_folder slices
    empty_folder one
    empty_folder made
    dims=
    [ $ending = raw ] && dims='-d 32,32 -t u16'
    voxfilt -i deep.raw -d 32,32,60 -t u16 -f identity -o "slices/%02d.$ending"
    # Parts that overlap, and ranks that hold the grid together.
    # shellcheck disable=SC2086  # words
    for job in '-f gauss:1' '-f heat -s 40' '-f heat -s 40 --planes 50:60 --sync'; do
        has_turn || continue
        rm -f one/* made/*
        voxfilt -q -i "slices/%02d.$ending" $dims $job --tee 0:one/t%d.$ending -o "one/%d.$ending"
        ranks 3 voxfilt-mpi -q -i "slices/%02d.$ending" $dims $job --tee 0:made/t%d.$ending -o "made/%d.$ending" \
            > ../stdout 2> ../stderr < /dev/null
        diff -r one made && [ -n "$(ls one)" ]
        result $? "$ending: $job: each rank writes files of a stack"
    done
done
# 200 pictures of 1024 x 1024, not compressed: what ranks, parts and a region open of them, and how many bytes they read.
trace='strace -ff -y --seccomp-bpf -e trace=openat,read,pread64 -o'
opened() # NAME
{
    cat ../traces/"$1"/* | grep -c "openat(.*\"large/[0-9]*\.$ending\""
}
bytes_read() # NAME
{
    cat ../traces/"$1"/* | sed -n "s|^[a-z0-9]*([0-9]*<[^>]*/large/[0-9]*\.$ending>.*) = ||p" | awk '{ sum += $1 } END { print sum }'
}
mkdir ../traces ../traces/try
# shellcheck disable=SC2086  # words
if has strace && $trace ../traces/try/of ls > ../stdout 2> ../stderr && grep -q openat ../traces/try/*; then
    truncate -s 209715200 zeros.raw
    for ending in png tif; do
        [ $ending != tif ] || reads_tiff || continue
        has_turn || continue
        empty_folder large
        voxfilt -q -i zeros.raw -d 1024,1024,200 -t u8 -f identity --level 0 -o "large/%03d.$ending"
        for folder in ranks part ten; do
            empty_folder ../traces/$folder
        done
        stack="-q -j 1 -i large/%03d.$ending -o made.raw"
        # shellcheck disable=SC2086  # words
        {
            # With --until, ranks hold the grid together. All of them look at the first and the last file.
            ranks 3 $trace ../traces/ranks/of voxfilt-mpi $stack --until 1 -s 1 --crop 0:9,0:9
            $trace ../traces/part/of voxfilt $stack -f gauss:1 --part 2/4
            $trace ../traces/ten/of voxfilt $stack -f gauss:0.25 --crop 0:9,0:9,95:105
        } > ../stdout 2> ../stderr < /dev/null
        file=$(wc -c < large/000.$ending)
        percent=$(($(bytes_read ranks) / (2 * file)))
        [ "$(opened ranks)" = 206 ] && [ $percent -le 102 ] && [ $percent -ge 100 ]
        result $? "$ending: three ranks open 200 files $(opened ranks) times, and read $percent % of them"
        # A quarter needs four planes more on either side, and the header of the first.
        [ "$(opened part)" = 59 ] && [ "$(bytes_read part)" -lt $((59 * file)) ]
        result $? "$ending: a quarter opens $(opened part) files"
        [ "$(opened ten)" = 13 ] && [ "$(bytes_read ten)" -lt $((13 * file)) ]
        result $? "$ending: ten planes open $(opened ten) files"
    done
    rm -rf large zeros.raw
else
    skip 'opened files: strace cannot trace'
fi
# One that differs is met by one rank alone.
if reads_tiff; then
    voxfilt -q -i deep.raw -d 32,32,60 -t u16 -f identity -o 'slices/%02d.tif' --out-type u8
    voxfilt -i deep.raw -d 32,32 --skip 120832 -t u16 -f identity -o slices/44.tif
    rm -f made/*
    ranks 3 voxfilt-mpi -q -i 'slices/%02d.tif' -f gauss:1 -o 'made/%d.tif' > ../stdout 2> ../stderr < /dev/null
    [ $? = 3 ] && [ -z "$(ls made)" ] && grep -q "^voxfilt-mpi: rank 2 ($host): slices/44.tif: BitsPerSample: " ../stderr
    result $? 'a rank that fails leaves no file, nor do the others'
else
    skip 'a rank that fails: the stack is of TIFF'
fi

# ---------------------------------------------------------------- what is told

# shellcheck disable=SC2086
{
    empty_folder made
    ranks 3 voxfilt-mpi $volumes none.nrrd -o made/ --report=json:ranks.json > ../stdout 2> ../stderr < /dev/null
    voxfilt $volumes none.nrrd -o made/ --report=json:one.json 2> ../one
    names='s/, "status.*//; s/.*"output": "\([^"]*\)".*/\1/'
    [ "$(wc -l < ranks.json)" = 7 ] && sed "$names" one.json > ../wanted && sed "$names" ranks.json | diff ../wanted -
    result $? 'the report has a line each, in order'
    ranks 3 voxfilt-mpi --explain $volumes -o made/ > ../stdout 2> ../stderr < /dev/null
    [ "$(grep -c '^input ' ../stdout)" = 6 ] && [ "$(grep -c '^ranks ' ../stdout)" = 6 ]
    result $? '--explain tells of each file once'
}

# ---------------------------------------------------------------- refusals

empty_folder made
mkdir twin
cp volumes/scan-npy.npy twin
for case in '2 voxfilt-mpi: volumes/scan-npy.npy and twin/scan-npy.npy would have the same name in made/' '4 voxfilt-mpi: absent/: No such file or directory'; do
    refused=${case#? } folder=made/
    case $refused in *absent*) folder=absent/ ;; esac
    refuses_all "${case%% *}" "$refused" ranks 2 voxfilt-mpi volumes/scan-npy.npy volumes/scan-nrrd.nrrd twin/scan-npy.npy -o "$folder"
done
[ -z "$(ls -A made)" ] && [ ! -e absent ]
result $? 'and nothing was written'

# A rank that does not see a file that rank 0 sees: that file fails, and the others are filtered.
mkdir other
here=$(pwd -P)
cp volumes/scan-npy.npy first.npy
mine="-j 1 /proc/self/cwd/first.npy $here/volumes/scan-nrrd.nrrd -o $here/made/"
# shellcheck disable=SC2086
{
    ranks 1 voxfilt-mpi $mine : -n 1 -wdir "$here/other" voxfilt-mpi $mine > ../stdout 2> ../stderr < /dev/null
    status=$?
}
own_lines
[ $status = 4 ] && grep -qx "voxfilt-mpi: rank 1 ($host): /proc/self/cwd/first.npy: No such file or directory" ../own &&
    [ "$(ls made)" = scan-nrrd.nrrd ]
result $? 'a file that one rank does not see'

conclude
