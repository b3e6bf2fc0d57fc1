#!/bin/sh
# States on the way, --tee and --frames, by ranks that MPI brings together: the bytes of one process, whichever way the
# ranks divide the planes. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/rankbook.sh
. "$(dirname "$0")/rankbook.sh"

# What the report says of ranks that each read or hold planes beside their own, and of rank 0 alone.
reading='^ranks     [2-5]\( of [2-5]\)\{0,1\}, of up to .* each reads '
holding='^ranks     [2-5]\( of [2-5]\)\{0,1\}, of up to .* each holds '
alone='^ranks     1 of [2-5]: '

# All outputs of a command, which are called made*, as those of one process, and the same notes. One thread each:
# otherwise, the number of processors of the machine would decide how ranks divide the planes.
as_one() # COUNT REPORT PROGRAM OPTION...
{
    count=$1 way=$2 program=$3
    shift 3
    rm -rf one many
    mkdir one many
    "$program" "$@" -j 1 2> ../one
    mv made* one
    ranks "$count" "$program-mpi" "$@" -j 1 --report=text:../report > ../stdout 2> ../stderr < /dev/null
    result $? "$count ranks: $*"
    mv made* many
    grep -q "$way" ../report
    result $? "$count ranks: in that way"
    diff -r one many
    result $? "$count ranks: the same bytes"
    grep -v '^[a-z-]*: .* \(ranks stays\{0,1\} idle\|computing on rank 0 alone\): ' ../stderr | sed 's/^\([a-z]*\)-mpi:/\1:/' | diff ../one -
    result $? "$count ranks: the same text"
}

make_volumes

# ---------------------------------------------------------------- the same bytes

# shellcheck disable=SC2086  # words
{
    # One pass each: formats, chains, regions, types.
    as_one 2 "$reading" voxfilt $scan -s 7 -o made.raw --tee 0:made0.raw --tee 3:made3.nrrd --tee 5:made5.nii.gz --tee 7:made7.npy
    has_turn && as_one 1 . voxfilt $scan -s 7 -o made.raw --tee 3:made3.nrrd --tee 5:made5.raw.gz
    has_turn && as_one 3 "$reading" voxfilt $scan -e wrap -f gauss:1 -f heat -s 4 --stats -o made.raw.gz --tee 0:made0.nhdr --tee 2:made2.raw
    has_turn && as_one 5 "$reading" voxfilt $scan -s 5 -e hold --planes 7:22 -o made.nii --tee 2:made2.nii.gz --tee 3:made3.nii
    has_turn && as_one 2 "$reading" voxfilt $scan -s 5 --crop 1:8,:,3:17 -e mirror -o made.raw --tee 2:made2.raw
    has_turn && as_one 3 "$reading" voxfilt $scan -f scale:2,0 -f heat -s 3 --out-type u8 -o made.raw --tee 1:made1.raw
    has_turn && as_one 3 "$reading" voxfilt $scan -s 3 --slice y=4 -o made.png --tee 1:made1.png --tee 2:made2.png
    has_turn && as_one 2 "$reading" voxfilt $large -s 3 -e constant:9 -o made.tif --tee 1:made1.tif --tee 2:made2.raw
    # The grid held together.
    as_one 3 "$holding" voxfilt $tall -s 400 -o made.raw --tee 0:made0.raw --tee 123:made123.nii.gz --tee 400:made400.raw --stats
    has_turn && as_one 2 "$holding" voxfilt $tall -s 300 -e wrap -o made.raw.gz --tee 7:made7.raw --tee 8:made8.raw.gz
    # Each rank reads all of what is compressed.
    voxfilt $tall -f identity -o packed.nii.gz
    has_turn && as_one 3 "$holding" voxfilt packed.nii.gz -s 400 -o made.raw --tee 0:made0.raw --tee 123:made123.nii.gz
    # Several passes, by rank 0 alone.
    as_one 3 "$alone" voxfilt $tall -s 60 -m 4M -o made.raw --tee 0:made0.raw.gz --tee 31:made31.nrrd.gz
    has_turn && as_one 5 "$alone" voxfilt $tall -f gauss:1 -e wrap -f heat -s 40 -e mirror --planes 9:130 -m 5M -o made.nii.gz --tee 13:made13.raw
}
# Outputs whose samples come in turn.
# shellcheck disable=SC2086  # words
as_one 3 "$reading" voxfilt $scan -s 4 -o made.raw.gz --tee 0:made0.raw.gz --tee 3:made3.raw.gz

# ---------------------------------------------------------------- what is said

# shellcheck disable=SC2086
{
    ranks 2 voxfilt-mpi $scan -s 5 --tee 2:two.raw --tee 3:three.raw.gz --explain > ../stdout 2> ../stderr
    grep -q '^ranks     2, of up to 15 planes each; ' ../stdout && grep -q '^tee       after 2 steps: two.raw$' ../stdout &&
        grep -q '^memory .*, 18.5 KiB for writing the output' ../stdout && ! [ -e two.raw ]
    result $? '--explain tells of the ranks, and of what they keep of two outputs'
}

# ---------------------------------------------------------------- refusals

# shellcheck disable=SC2086
{
    refuses_all 2 'voxfilt-mpi: /dev/full: all ranks write to it, so it must be a regular file' \
        ranks 2 voxfilt-mpi $scan -s 3 --tee 1:one.raw --tee 2:/dev/full -o out
    mkfifo pipe.raw
    refuses_all 2 'voxfilt-mpi: pipe.raw: all ranks write to it, so it must be a regular file' \
        ranks 2 timeout 20 voxfilt-mpi $scan -s 3 --tee 1:one.raw --tee 2:pipe.raw -o out
    refuses_all 4 'voxfilt-mpi: none/two.raw: No such file or directory' \
        ranks 2 voxfilt-mpi $scan -s 3 --tee 1:one.raw.gz --tee 2:none/two.raw -o out
    refuses_all 2 'voxfilt-mpi: --tee: 7:x.raw: the last stage takes 6 steps' ranks 2 voxfilt-mpi $scan -s 6 --tee 7:x.raw -o out
    refuses_all 2 'voxfilt-mpi: --tee: out: an output goes there' ranks 2 voxfilt-mpi $scan -s 6 --tee 3:out -o out
}
# The limit is more than MPI itself needs for its files, and than the samples of one output, but not those of two.
truncate -s 16777216 zeros.raw
zeros='-i zeros.raw -d 512,512,64 -t u8 --out-type f64 -s 2'
limited() # OPTION...
{
    # shellcheck disable=SC2016,SC2086  # for the script; words
    ranks 2 sh -c 'trap "" XFSZ && ulimit -f 262144 && exec "$@"' sh voxfilt-mpi $zeros "$@"
}
if takes_signal XFSZ; then
    refuses_all 4 'voxfilt-mpi: one.nrrd: File too large' limited --tee 1:one.nrrd -o out
    refuses_all 4 'voxfilt-mpi: out.raw.gz: File too large' limited --tee 1:one.raw.gz -o out.raw.gz
fi

conclude
