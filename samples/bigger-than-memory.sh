#!/bin/sh
# Ten steps of heat on a volume that is larger than the memory of voxfilt. Noise comes in through one pipe, and the bytes
# that go out through another are counted.
#
# ulimit -v limits all addresses of the process. The limit of -m is lower, because it does not include code, stacks and the
# heap of libraries.
#
# Usage: bigger-than-memory.sh [MIB]        needs voxfilt on PATH; the volume is 512 MiB by default, the memory 128 MiB
set -eu

[ $# -le 1 ] || { echo 'Usage: bigger-than-memory.sh [MIB]' >&2; exit 2; }
size=${1:-512} memory=128
planes=$((size * 4)) # of 512 x 512 bytes

# GNU time, if it is installed, tells how much memory a command had at most.
peak()
{
    if /usr/bin/time -f %M true > /dev/null 2>&1; then
        /usr/bin/time -f 'peak      %M KiB' "$@"
    else
        "$@"
    fi
}

echo "volume    512 x 512 x $planes samples of u8, $size MiB"
echo "limit     $memory MiB of addresses"
# shellcheck disable=SC3045  # limits on addresses are not in every shell
head -c $((size * 1048576)) /dev/urandom |
    (ulimit -v $((memory * 1024)) && peak voxfilt -m 64M -d "512,512,$planes" -t u8 --report) |
    wc -c | sed 's/^ */came out  /; s/$/ bytes/'
