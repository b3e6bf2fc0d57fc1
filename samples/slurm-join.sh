#!/bin/sh
# Join the pieces that slurm.sbatch has written, if all of them are there. The file appears under its name only when it is
# complete.
#
#   slurm-join.sh 8 pieces filtered.nrrd
set -eu

if [ $# -ne 3 ]; then
    echo 'Usage: slurm-join.sh PIECES FOLDER OUTPUT' >&2
    exit 2
fi
pieces=$1 folder=$2 output=$3

set --
while [ $# -lt "$pieces" ]; do
    piece=$folder/$(printf '%04d-of-%04d' $(($# + 1)) "$pieces").${output##*.}
    if ! [ -e "$piece" ]; then
        echo "$piece is missing" >&2
        exit 1
    fi
    set -- "$@" "$piece"
done

joined=$(mktemp "$output.XXXXXX")
trap 'rm -f "$joined"' EXIT
chmod =rw "$joined" # what the umask leaves
cat -- "$@" > "$joined"
# The header of the first piece tells how many samples there are, and a file with more or fewer is refused.
voxfilt -i "$joined" -f identity --explain > /dev/null
mv "$joined" "$output"
