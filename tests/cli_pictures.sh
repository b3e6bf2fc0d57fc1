#!/bin/sh
# Pictures on the command line: colour, alpha, profiles, and what a PNG carries beside its samples. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

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
