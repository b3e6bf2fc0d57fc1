#!/bin/sh
# Volumes that are larger than the memory that there is, through pipes. Prints a line a case and fails if one does.
set -u
: "${VOXFILT:?}" "${LONG_VOLUME:?}"

# shellcheck source=tests/casebook.sh
. "$(dirname "$0")/casebook.sh"
export TMPDIR="$work"

# shellcheck disable=SC3045  # where the shell cannot limit addresses, or a sanitizer needs all of them, this is skipped
limit()
{
    ulimit -v "$1"
}

if ! (limit 400000 && "$VOXFILT" --version) > "$work/bare" 2>&1; then
    skip 'addresses cannot be limited here'
    exit 77
fi

# 128 MiB.
grid='64 64 8192'
small() # OPTION...
{
    # shellcheck disable=SC2086  # the grid is three words
    "$LONG_VOLUME" make $grid | (limit 100000 && "$VOXFILT" -q -j 1 -d 64,64,8192 -t f32 "$@" 2> "$work/stderr")
}

# shellcheck disable=SC2086
"$LONG_VOLUME" heat $grid 10 > "$work/wanted"
small -m 16M | "$LONG_VOLUME" sum > "$work/sum"
cmp "$work/wanted" "$work/sum" && [ ! -s "$work/stderr" ]
result $? '128 MiB in 100 MB of addresses, by --memory'
small | "$LONG_VOLUME" sum > "$work/sum"
cmp "$work/wanted" "$work/sum" && [ ! -s "$work/stderr" ]
result $? 'and by what the limit leaves'

# Where an edge wraps the input is spooled, or read from a file twice; both in less memory than the grid has.
small -e wrap -m 16M > "$work/by-pipe"
# shellcheck disable=SC2086
"$LONG_VOLUME" make $grid > "$work/volume"
(limit 100000 && "$VOXFILT" -q -j 1 -i "$work/volume" -d 64,64,8192 -t f32 -e wrap -o "$work/by-file")
"$VOXFILT" -q -i "$work/volume" -d 64,64,8192 -t f32 -e wrap -m 4G -o "$work/held"
[ -s "$work/held" ] && cmp "$work/held" "$work/by-file" && cmp "$work/held" "$work/by-pipe"
result $? 'the same with an edge that wraps'
rm -f "$work/volume" "$work/by-pipe" "$work/by-file" "$work/held"

# Nothing grows with the volume. How many of its buffers a run needs is a matter of chance, so that peaks are held
# against what was planned, which must not grow, and what a process has anyway: that of the same run on a few samples,
# which goes through the same code. (A CUDA context has hundreds of MiB.)
peak() # X,Y,Z OPTION...
{
    extents=$1
    shift
    # shellcheck disable=SC2046  # the extents are words there
    "$LONG_VOLUME" make $(echo "$extents" | tr , ' ') |
        "$LONG_VOLUME" watch "$VOXFILT" -q -D cpu -j 1 -d "$extents" -t f32 -m 12M --report=json "$@" \
            2> "$work/report" > "$work/bare"
    planned=$(sed -n 's/.*"planned_bytes": \([0-9]*\).*/\1/p' "$work/report")
    peak=$(tail -n 1 "$work/report")
}

slack=1000 # KiB

steady() # NAME OPTION...
{
    name=$1
    shift
    peak 8,8,4 "$@"
    bare=$peak
    peak 64,64,8192 "$@"
    brief=$planned
    peak 64,64,16384 "$@"
    [ "$brief" = "$planned" ] && [ "$planned" -le $((12 << 20)) ] &&
        [ "$peak" -gt "$bare" ] && [ "$peak" -le $((bare + planned / 1024 + slack)) ]
    result $? "$name: $((planned / 1024)) KiB are planned, and $((peak - bare)) KiB are there at most"
}

steady 'memory does not grow with the volume'
steady 'nor with statistics and another type' --stats --out-type u8 -f gauss:1
steady 'nor where bits are copied' -f identity
steady 'eight threads stay within it' -j 8
steady 'and with three stages' -j 8 -f heat -f gauss:1 -f heat

conclude
