#!/bin/sh
# Grids of one axis: filters act along it alone, and outputs have one axis where their format allows it. Prints a line a
# case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# Samples 1 4 9 16 25 36 of a byte each.
printf '\001\004\011\020\031\044' > rod.raw
extents=6
rod() { voxfilt -i rod.raw -d "$extents" -t u8 "$@"; }
bytes() { od -An -v -tu1 "$1" | xargs; }

gives() # EXPECTED OPTION...
{
    expected=$1
    shift
    rod "$@" -o out.raw && [ "$(bytes out.raw)" = "$expected" ]
    result $? "$*: $expected"
}
gives '3 2 2 2 2 0' -f laplace
gives '3 2 2 2 2 0' -f star:2
gives '0 2 7 14 23 47' -f sharpen
gives '3 8 12 16 20 11' -f sobel:x
gives '3 8 12 16 20 11' -f prewitt:x
gives '2 4 6 8 10 6' -f gradient
gives '2 5 10 17 26 30' -f heat --dt 0.5 -s 1
gives '1 5 10 17 26 36' -f heat --dt 0.5 -s 1 -e hold
gives '2 5 10 17 26 12' -f heat --dt 0.5 -s 1 -e constant
gives '2 5 10 17 26 32' -f box:1
gives '9 16 25' --crop 2:5 -f identity
gives '9 16 25 36' --crop 2: -f identity
gives '1 4 9 16 25 36' --part 1/1 -f identity
gives '2 5 10 17 26 30' -f 'matrix:1 0 1/2'
gives '9 19 36 59 88 97' -f seven:0,1,2,0,0,0,0

# Along axes with a single sample, a window reads that sample again and again.
for extents in 6 6,1 6,1,1; do
    gives '4 4 9 16 25 25' -f median:1 -e mirror
    gives '4 9 16 25 36 36' -f percentile:1,80
    gives '4 9 16 25 36 36' -f max:1 -e nearest
    gives '35 35 24 32 35 35' -f morphgrad:2 -e wrap
done
gives '1 4 9 16 25 36' -f order:1,17
gives '0 0 0 0 0 0' -f median:1 -e constant
extents=6

# An extreme of a window that is longer than the grid is that of all samples, and does not count them again and again.
gives '25 36 36 36 36 36' -f max:4
gives '36 36 36 36 36 36' -f max:1048576
gives '36 36 36 36 36 36' -f max:100 -e wrap
gives '0 0 0 0 0 0' -f min:100 -e constant
gives '1 4 9 16 25 36' -f min:100 -e hold
rod -f max:1048576 --explain > plan.txt && grep -q 'rank: 11 taps, -5..5 along x' plan.txt
result $? 'its plan reaches as far as the grid'

refuses 2 'voxfilt: heat: alpha*dt = 0.51 is unstable on this grid: the largest stable value is 0.5 (--force runs it anyway)' \
    rod --dt 0.51 -o out
refuses 2 'voxfilt: --filter: sobel:y: this grid has no y axis' rod -f sobel:y -o out
refuses 2 'voxfilt: --filter: prewitt:z: this grid has no z axis' rod -f prewitt:z -o out
refuses 2 'voxfilt: --filter: matrix:1;2: it has taps along y, and this grid has no y axis' rod -f 'matrix:1;2' -o out
refuses 2 'voxfilt: --filter: seven:1,2,3,0,5,0,0: it has taps along y, and this grid has no y axis' \
    rod -f seven:1,2,3,0,5,0,0 -o out
refuses 2 'voxfilt: --part: 2 parts of 1 row' rod --part 2/2 -o out
refuses 2 'voxfilt: --slice: this grid has one axis, so it is a slice already' rod --slice x=2 -o out
refuses 2 'voxfilt: --crop: 2 ranges for 1 axis' rod --crop 1:2,0:1 -o out

# Files of one axis, and of two with one row.
for form in npy nii nii.gz hdr nrrd nhdr mha mhd; do
    accepts "$form: is written" '' rod -f identity -o "there.$form"
    accepts "$form: is read" '' voxfilt -i "there.$form" -f sobel:x --out-format raw -o back.raw
    [ "$(bytes back.raw)" = '3 8 12 16 20 11' ]
    result $? "$form: as one axis"
    accepts "$form: is written again" '' voxfilt -i "there.$form" -f identity -o "again.$form"
    voxfilt -i "again.$form" --explain | grep -q '^grid  *6, 1 channel, spacing 1$'
    result $? "$form: with one axis"
    voxfilt -q -i rod.raw -d 6,1 -t u8 -f identity -o "flat.$form"
    voxfilt -i "flat.$form" --explain | grep -q '^grid  *6 x 1, 1 channel, spacing 1 1$'
    result $? "$form: two axes stay two"
done
grep -aq "'shape': (6,), " there.npy
result $? 'npy: the shape is (6,)'
grep -aqx 'dimension: 1' there.nrrd && grep -aqx 'sizes: 6' there.nrrd
result $? 'nrrd: the dimension is 1'
grep -aqx 'NDims = 1' there.mha && grep -aqx 'DimSize = 6' there.mha
result $? 'mha: NDims is 1'
accepts 'spacing of one axis' '' rod -f laplace --spacing 0.5 --out-type i16 -o spaced.nrrd
grep -aqx 'spacings: 0.5' spaced.nrrd
result $? 'is kept'
accepts 'colours on one axis' '' voxfilt -i rod.raw -d 2 --channels 3 -t u8 -f identity -o colours.nrrd
grep -aqx 'kinds: vector domain' colours.nrrd
result $? 'are kept'
accepts 'tif: is written' '' rod -f identity -o there.tif
accepts 'a preview' '' rod --preview preview.png -o out.raw

# Threads, instruction sets and ranges of steps.
seq 20000 | head -c 100003 > long.raw
long() { voxfilt -i long.raw -d 100003 -t u8 --out-type f32 "$@"; }
long -f gauss:2 -s 3 --rung naive -j 1 -o naive.raw
long -f gauss:2 -s 3 -o fast.raw
same 'a long rod: every rung' naive.raw fast.raw
long --flux pm2 --scale 9 -s 20 --rung naive -j 1 -o naive.raw
with_isa baseline voxfilt -i long.raw -d 100003 -t u8 --out-type f32 --flux pm2 --scale 9 -s 20 -o fast.raw
same 'a long rod: every build' naive.raw fast.raw

conclude
