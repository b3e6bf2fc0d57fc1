#!/bin/sh
# 64 GiB through a pipe in 1 GiB of addresses: ten steps of heat, held against slabs that are computed one by one.
# Usage: bench/long_pipe.sh BUILD [X Y Z], where BUILD is the folder of a build, with two cores and five minutes to spare.
set -eu

build=${1:?the folder of a build}
shift
[ $# = 3 ] || set -- 1024 1024 16384
make="$build/tests/long_volume"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

seconds()
{
    date +%s.%N
}

begun=$(seconds)
"$make" make "$@" |
    # shellcheck disable=SC3045  # limits on addresses are not in every shell
    (ulimit -v 1048576 && "$make" watch "$build/voxfilt" -q -d "$1,$2,$3" -t f32 --report=json 2> "$work/report") |
    "$make" sum > "$work/got"
ended=$(seconds)
"$make" heat "$1" "$2" "$3" 10 > "$work/wanted"
checked=$(seconds)
cat "$work/report"
printf '%s × %s × %s f32, 10 steps of heat\n' "$1" "$2" "$3"
printf 'through the pipe  %.1f s, at most %s KiB in memory\n' "$(echo "$ended - $begun" | bc)" \
    "$(tail -n 1 "$work/report")"
printf 'slab by slab      %.1f s\n' "$(echo "$checked - $ended" | bc)"
printf 'checksums         %s and %s\n' "$(cat "$work/got")" "$(cat "$work/wanted")"
cmp "$work/got" "$work/wanted"
