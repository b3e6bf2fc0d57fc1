#!/bin/sh
# Pictures on the command line: colour, alpha, profiles, and what a PNG carries beside its samples. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# ---------------------------------------------------------------- what a PNG carries, and what of it is left out

left_out() # FILE WHAT
{
    accepts "$1: left out: $2" "imgheat: $1: left out: $2
" imgheat "$1" -o left.png
}

if has gzip; then
    { chunk acTL '\000\000\000\003\000\000\000\000'; chunk fcTL 'first'; } | with_chunks rgb.png > first.png
    { chunk fcTL 'second'; chunk fdAT 'rows'; chunk fdAT 'rows'; chunk fcTL 'third'; chunk fdAT 'rows'; } |
        with_late_chunks first.png > animated.png
    { chunk fcTL 'second'; chunk fdAT 'rows'; } | with_late_chunks rgb.png > cover.png
    { chunk bKGD '\000\001\000\002\000\003'; chunk vpAg 'x'; chunk vpAg 'y'; } | with_chunks rgb.png > aged.png
    chunk tIME '\007\352\001\001\000\000\000' | with_late_chunks aged.png > timed.png
    { chunk tEXt 'Title\000kept'; chunk pHYs 'short'; chunk cHRM 'short'; } | with_chunks rgb.png > crooked.png
    chunk gAMA '\000\000\261\217' | sed 's/gAMA/gAMB/' | with_chunks rgb.png > mistyped.png
    { printf iCCP; head -c 67108865 /dev/zero; } > ../chunk
    seal_chunk | with_chunks rgb.png > profile_65m.png
    left_out animated.png '2 frames of an animation'
    left_out cover.png '1 frame of an animation'
    left_out first.png 'acTL, fcTL'
    left_out timed.png 'bKGD, vpAg, tIME'
    left_out crooked.png 'pHYs (wrong length), cHRM (wrong length)'
    left_out mistyped.png 'gAMB (its checksum is wrong)'
    left_out profile_65m.png 'iCCP (larger than 64 MiB)'
    accepts '-q leaves out the note' '' imgheat -q animated.png -o left.png
    imgheat -q rgb.png -o plain.png
    same 'of an animation, the picture that others show is filtered' left.png plain.png
    accepts 'from a pipe likewise' 'imgheat: standard input: left out: bKGD, vpAg, tIME
' piped timed.png imgheat -o left.png
    accepts 'nothing is left out where nothing is written' '' into ../explained imgheat --explain timed.png
    refuses 3 'imgheat: profile_65m.png: iCCP: damaged, and --linear depends on it' imgheat --linear profile_65m.png
    refuses 3 'imgheat: mistyped.png: gAMB: damaged, and --linear depends on it' imgheat --linear mistyped.png
    # shellcheck disable=SC3045  # not in POSIX; where a shell lacks it, or no program fits, the cases are skipped
    starved()
    {
        (ulimit -v 60000 && imgheat -j 1 "$@")
    }
    if starved rgb.png -o plain.png 2> ../limit; then
        { printf iCCP; head -c 60000000 /dev/zero; } > ../chunk
        seal_chunk | with_chunks rgb.png > profile_60m.png
        accepts 'memory that does not do for a profile' \
            'imgheat: profile_60m.png: left out: iCCP (not enough memory)
' starved profile_60m.png -o left.png
        refuses 3 'imgheat: profile_60m.png: iCCP: damaged, and --linear depends on it' \
            starved --linear profile_60m.png -o out
    else
        skip 'memory that does not do for a profile: the program does not start in 60 MB of addresses'
    fi
else
    skip 'what is left out: gzip is not here'
fi

# ---------------------------------------------------------------- tRNS

if has gzip; then
    chunk tRNS '\000\007' | with_chunks gray.png > keyed.png
    chunk tRNS '\377\007' | with_chunks gray.png > keyed_above.png
    { chunk tRNS '\000\007'; chunk tRNS '\000\007'; } | with_chunks gray.png > keyed_twice.png
    chunk IDAT 'more' | with_late_chunks gray.png > continued.png
    accepts 'tRNS above the depth' '' imgheat -f identity keyed_above.png -o above.png
    imgheat -f identity keyed.png -o below.png
    same 'bits of tRNS above the depth do not count' above.png below.png
    refuses 3 'imgheat: keyed_twice.png: tRNS: duplicate' imgheat keyed_twice.png -o out
    refuses 3 'imgheat: continued.png: IDAT: extra compressed data' imgheat continued.png -o out
fi

# ---------------------------------------------------------------- one picture, one file

# VOXFILT_CODINGS=2000 is the whole test; eight at a time are load enough to have threads change places.
codings=${VOXFILT_CODINGS:-16}

code()
{
    imgheat -q -j 4 -f identity --level "$2" "$1" | cksum >> ../files
}

# So many processes, each with addresses of its own, write the same bytes.
always_the_same() # FILE LEVEL
{
    rm -f ../files
    coded=0
    while [ "$coded" -lt "$codings" ]; do
        for _ in 1 2 3 4 5 6 7 8; do
            code "$1" "$2" &
        done
        wait
        coded=$((coded + 8))
    done
    [ "$(wc -l < ../files)" = "$coded" ] && [ "$(sort -u ../files | wc -l)" = 1 ]
    result $? "$1 becomes the same file $coded times at level $2"
}

make_picture -d 900,700 -o many_rgb.png
make_picture -d 900,700 --gray -o many_gray.png
make_picture -d 500,400 --rgba -o many_rgba.png
make_picture -d 400,400 --depth 16 -o many_deep.png
make_picture -d 40000,12 --gray --seed 3 -o many_wide.png
always_the_same many_rgb.png 6
always_the_same many_gray.png 1
always_the_same many_rgba.png 2
always_the_same many_deep.png 4
always_the_same many_wide.png 1

conclude
