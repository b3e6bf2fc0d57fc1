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

# ---------------------------------------------------------------- the chunks that the manual lists

# Chunks of a picture that are there in its output, byte for byte, in their order, at the place where they stood.
if has gzip; then
    ratio='\000\000\172\045'
    {
        chunk gAMA '\000\000\261\217'
        chunk cHRM "$ratio$ratio$ratio$ratio$ratio$ratio$ratio$ratio"
        chunk sRGB '\001'
        chunk iCCP 'of mine\000\000not looked at'
        chunk cICP '\001\015\000\001'
        chunk mDCV '0123456789abcdefghijklmn'
        chunk cLLI '01234567'
        chunk pHYs '\000\000\013\023\000\000\013\023\001'
        chunk eXIf 'II*\000\010\000\000\000'
        chunk tEXt 'Title\000one'
        chunk zTXt 'Comment\000\000not looked at'
        chunk iTXt 'Title\000\000\000\000\000two'
        chunk tEXt 'Title\000one'
    } > ../kept
    with_chunks rgb.png < ../kept > rich.png
    accepts 'every kind of chunk that is kept' '' imgheat rich.png -o rich-out.png
    tail -c +34 rich-out.png | head -c "$(wc -c < ../kept)" > ../found
    same 'is in the output, byte for byte, in their order' ../kept ../found
    {
        chunk zTXt 'Comment\000\000not looked at'
        chunk eXIf 'II*\000\010\000\000\000'
        chunk iTXt 'Title\000\000\000\000\000two'
        chunk tEXt 'Title\000late'
    } > ../kept
    with_late_chunks rgb.png < ../kept > late.png
    accepts 'chunks behind the image' '' imgheat late.png -o late-out.png
    tail -c $(($(wc -c < ../kept) + 12)) late-out.png | head -c "$(wc -c < ../kept)" > ../found
    same 'stay there' ../kept ../found
    {
        chunk bKGD '\000\001\000\002\000\003'
        chunk hIST '\000\001'
        chunk sBIT '\005\006\005'
        chunk sPLT 'few\000\010rgba\000\001'
        chunk tIME '\007\352\001\001\000\000\000'
        chunk oFFs '\000\000\000\001\000\000\000\001\000'
        chunk zzzz 'x'
    } | with_chunks rgb.png > shed.png
    left_out shed.png 'bKGD, hIST, sBIT, sPLT, tIME, oFFs, zzzz'
    imgheat rgb.png -o plain.png
    same 'and nothing of them is in the output' plain.png left.png
    {
        chunk pHYs '\000\000\013\023\000\000\013\023\001'
        chunk pHYs '\000\000\013\023\000\000\013\023\001'
        chunk tEXt '\000no keyword'
        chunk sRGB '\004'
    } | with_chunks rgb.png > odd.png
    { chunk gAMA '\000\000\261\217' && chunk sRGB '\000'; } | with_late_chunks odd.png > odder.png
    left_out odder.png 'pHYs (duplicate), tEXt (no keyword), sRGB (out of range), gAMA (out of place)'
    accepts '-v reports each chunk' 'imgheat: odder.png: pHYs: dropped: duplicate
imgheat: odder.png: tEXt: dropped: no keyword
imgheat: odder.png: sRGB: dropped: out of range
imgheat: odder.png: gAMA: dropped: out of place
imgheat: odder.png: sRGB: dropped: out of place
imgheat: odder.png: left out: pHYs (duplicate), tEXt (no keyword), sRGB (out of range), gAMA (out of place)
' imgheat -v odder.png -o left.png

    # Colour: gAMA counts where no sRGB stands, and cICP is refused.
    chunk gAMA '\000\001\206\240' > ../gamma
    with_chunks rgb.png < ../gamma > gamma.png
    { cat ../gamma && chunk sRGB '\000'; } | with_chunks rgb.png > both.png
    chunk cICP '\001\015\000\001' | with_chunks rgb.png > coded.png
    for name in rgb gamma both; do
        imgheat --linear $name.png -o linear.png
        imgheat -f identity --stats linear.png -o out.png 2> ../$name
    done
    imgheat rgb.png -o plain.png
    imgheat -f identity --stats plain.png -o out.png 2> ../plain
    same 'sRGB goes before gAMA' ../rgb ../both
    same 'gAMA of 1 is linear light already' ../gamma ../plain
    differ 'sRGB is not' ../rgb ../plain
    refuses 3 'imgheat: coded.png: cICP: --linear supports sRGB and gAMA, not this profile' imgheat --linear coded.png -o out

    chunk tEXt 'Title\000x' | sed 's/tEXt/tEXu/' | with_late_chunks rgb.png > spoilt.png
    accepts 'a wrong checksum behind the image' 'imgheat: spoilt.png: left out: tEXu (its checksum is wrong)
' imgheat --linear spoilt.png -o left.png

    # More rows than the header says.
    { head -c 8 gray.png; chunk IHDR '\000\000\000\050\000\000\000\035\010\000\000\000\000'; tail -c +34 gray.png; } > longer.png
    refuses 3 'imgheat: longer.png: IDAT: Too much image data' imgheat longer.png -o out
else
    skip 'the chunks that the manual lists: gzip is not here'
fi

# ---------------------------------------------------------------- levels

imgheat --level 0 rgb.png -o first.png
for level in 1 2 5 6 7 9; do
    imgheat --level $level rgb.png -o coded.png
    imgheat --level 0 -f identity coded.png -o decoded.png
    same "level $level has the same samples" first.png decoded.png
    [ "$(wc -c < coded.png)" -lt "$(wc -c < first.png)" ]
    result $? 'in a smaller file'
done

# By strips of which some are coded with a filter and some without, by runs and by matches.
for content in photo noisy screenshot map soft; do
    make_picture -d 600,500 --rgba --content "$content" -o content.png
    imgheat --level 0 -f identity content.png -o first.png
    for level in 1 3 6 9; do
        has_turn || continue
        imgheat --level $level -j 1 -f identity content.png -o "level_$level.png"
        imgheat --level 0 -f identity "level_$level.png" -o decoded.png
        same "level $level has the samples of a picture like a $content" first.png decoded.png
        imgheat --level $level -j 5 -f identity content.png -o coded.png
        same 'and with five threads the same file' "level_$level.png" coded.png
    done
done

# Every level is for something: where matches are found, each finds more of them.
for content in screenshot map; do
    make_picture -d 700,600 --content "$content" -o content.png
    before=$(wc -c < content.png)
    before=$((before * 100))
    for level in 1 2 4 5 6 8 9; do
        imgheat --level $level -f identity content.png -o coded.png
        bytes=$(wc -c < coded.png)
        [ "$bytes" -lt "$before" ]
        result $? "level $level makes a $content smaller than the level before it: $bytes bytes, $before"
        before=$bytes
    done
done

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
is_whole_run || codings=8

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

# ---------------------------------------------------------------- filters whose weights do not sum to one, and alpha

# Statistics of a channel of one end of the last run.
channel_of() # END CHANNEL
{
    sed -n "s/^$1 *channel $2  //p" ../stderr
}

# The filters leave alpha as it is; colour is not all 0.
leaves_alpha() # COMMAND...
{
    name="alpha stays: $*"
    "$@" --stats -o out.png > ../stdout 2> ../stderr < /dev/null
    status=$?
    if [ "$status" != 0 ]; then
        result 1 "$name: the status is $status"
    elif [ -z "$(channel_of input 3)" ] || [ "$(channel_of input 3)" != "$(channel_of output 3)" ]; then
        result 1 "$name: it does not"
    elif channel_of output 0 | grep -q 'max 0 '; then
        result 1 "$name: there is nothing to see"
    else
        result 0 "$name"
    fi
}

for filter in gradient laplace star:4 sobel:x prewitt:y 'matrix:-1 2 -1' matrix:3 'matrix:1 1 1/2'; do
    leaves_alpha imgheat -f "$filter" rgba.png
done
leaves_alpha imgheat -f laplace --alpha-mode separate rgba.png
leaves_alpha imgheat -f laplace --linear rgba.png
leaves_alpha imgheat -s 3 -f heat --reaction 0.3 rgba.png
leaves_alpha imgheat -f matrix:0.99 rgba.png
for mode in premultiply separate; do
    imgheat -f gradient -f matrix:3 --alpha-mode "$mode" rgba.png -o "edges-$mode.png"
done
same 'edges do not depend on the mode of alpha' edges-premultiply.png edges-separate.png
imgheat --explain -f gauss:1 -f gradient -f matrix:3 rgba.png > ../explained
grep -q '^stage 2   uncover: from here on colour is not multiplied by alpha$' ../explained
result $? 'the turn of colour between two stages is explained'
imgheat -f gauss:1 rgba.png -o blurred.png
imgheat -f gauss:1 -f gradient -f matrix:3 rgba.png --stats -o out.png 2> ../stderr
channel_of output 3 > ../mixed
imgheat -f identity --stats blurred.png -o out.png 2> ../stderr
channel_of output 3 > ../blurred
same 'a blur before them filters alpha, and the derivatives leave that' ../mixed ../blurred
for filter in heat gauss:2 box:1 unsharp:1,2 sharpen 'matrix:1 2 1; 2 4 2; 1 2 1/16' 'matrix:.333 .333 .333'; do
    imgheat -f "$filter" --stats rgba.png -o out.png 2> ../stderr
    channel_of input 3 > ../alpha_in
    channel_of output 3 > ../alpha_out
    differ "alpha is filtered by $filter" ../alpha_in ../alpha_out
done

# ---------------------------------------------------------------- one conductivity for all channels

imgheat --flux pm2 --scale 20 rgb.png -o joint.png
imgheat --flux pm2 --scale 20 --flux-channels joint rgb.png -o asked.png
imgheat --flux pm2 --scale 20 --flux-channels separate rgb.png -o apart.png
same 'pictures have one conductivity for all channels' joint.png asked.png
differ 'channels may have their own' joint.png apart.png
accepts 'a flux of one channel has nothing to share, and says so' \
    'imgheat: gray.png: --flux-channels has no effect: there is only one channel
' imgheat --flux pm2 --scale 20 --flux-channels joint gray.png -o out.png
accepts 'nothing is said where nobody asked' '' imgheat --flux pm2 --scale 20 gray.png -o alone.png
same 'a single channel is as it was' out.png alone.png
voxels() # OPTION...
{
    voxfilt -i v8.raw -d 8,8,4 --channels 2 -t u8 --flux pm1 --scale 60 "$@"
}
voxels -o plain.raw
voxels --flux-channels separate -o apart.raw
voxels --flux-channels joint -o joint.raw
same 'channels of a volume have their own conductivity' plain.raw apart.raw
differ 'channels of a volume may have one' plain.raw joint.raw
imgheat --explain --flux pm1 --scale 20 rgba.png > ../explained
grep -q 'one conductivity for 4 channels and one for the other 3; rung' ../explained
result $? 'what shares a conductivity is explained'
accepts 'a default of channels goes to fluxes that have a conductivity' '' \
    imgheat --flux-channels separate -f heat -f heat --flux pm1 --scale 20 rgb.png -o out.png
refuses 2 'imgheat: --flux-channels: no stage of this chain has a flux of pm1 or pm2' \
    imgheat --flux-channels joint rgb.png -o out
refuses 2 'imgheat: --flux-channels: heat: only pm1 and pm2 have a conductivity to share' \
    imgheat -f heat --flux tanh --scale 2 --flux-channels joint rgb.png -o out
refuses 2 'imgheat: --flux-channels: all: expected joint or separate' imgheat --flux-channels all rgb.png -o out

conclude
