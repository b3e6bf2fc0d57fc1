#!/bin/sh
# Runs through pipes, signals that end them, and terminals.
# Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# ---------------------------------------------------------------- volumes that stream

# A piece of a volume with what ten steps of heat reach on both sides, filtered as a whole, and cut out again: PLANES
# planes from FIRST of the 256, BELOW and ABOVE of them beside the piece.
plane=$((32 * 32 * 4))
piece() # FIRST PLANES BELOW ABOVE
{
    tail -c +$(($1 * plane + 1)) long.raw | head -c $(($2 * plane)) |
        voxfilt -q -d 32,32,"$2" | tail -c +$(($3 * plane + 1)) | head -c $((($2 - $3 - $4) * plane))
}

make_volume -d 32,32,256 -o long.raw
{ piece 0 110 0 10 && piece 90 110 10 10 && piece 180 76 10 0; } > pieces.raw
voxfilt -q -d 32,32,256 -m 400K < long.raw | cat > long-heat.raw
same 'a pipe in little memory gives what pieces give' pieces.raw long-heat.raw
voxfilt -q -i long.raw -d 32,32,256 -m 100K -o long-heat.raw
same 'and so do passes over spool files' pieces.raw long-heat.raw
voxfilt -q -i long.raw -d 32,32,256 -m 100K --explain | grep -q '^run  *[0-9]* passes over a spool file of 1.0 MiB'
result $? 'and --explain says which they are'
voxfilt -q -d 32,32,256 -m 100K --until 0.02 < long.raw > until-spooled.raw
voxfilt -q -i long.raw -d 32,32,256 --until 0.02 -o until-held.raw
same '--until takes the same steps on trial' until-held.raw until-spooled.raw
make_picture -d 300,400 --interlaced -o woven.png
make_picture -d 300,400 -o plain.png
imgheat -f heat -o plain-heat.png plain.png
imgheat -f heat -m 2M -o woven-heat.png woven.png
same 'an interlaced picture gives what a plain one gives' plain-heat.png woven-heat.png
mkdir woven
imgheat -f heat -m 300K -o woven/heat.png < woven.png
same 'and so it does where its passes are kept in a file' plain-heat.png woven/heat.png
[ "$(ls -A woven)" = heat.png ]
result $? 'of which nothing is left'
imgheat -f heat -m 300K --explain woven.png | grep -q '^run .*; the input goes through a spool file of 352 KiB$'
result $? 'and --explain says so'
# shellcheck disable=SC3045  # where the shell cannot limit addresses, or a sanitizer needs all of them, this is skipped
if (ulimit -v 400000; voxfilt --version) > ../bare 2>&1; then
    head -c 268435456 /dev/zero | (ulimit -v 400000; voxfilt -q -d 64,64,16384 -m 64M 2> ../stderr) | cksum > sum
    head -c 268435456 /dev/zero | cksum > wanted-sum
    [ ! -s ../stderr ] && cmp sum wanted-sum
    result $? 'a volume in less memory than it has samples'
else
    skip 'a limit on addresses'
fi

# ---------------------------------------------------------------- signals and terminals

for signal in TERM HUP; do
    if ! takes_signal $signal > ../signal 2>&1; then
        skip "SIG$signal is ignored here"
        continue
    fi
    voxfilt -i v64.raw -n 64 -t f32 -s 1000000000 -o killed.raw 2> ../stderr &
    running=$!
    await_temporary
    grep -q '^voxfilt-[0-9a-f]\{16\}\.part$' ../parts
    result $? 'the output has a temporary name at first'
    kill -$signal $running
    wait $running 2> ../waited
    status=$?
    [ ! -e killed.raw ] && ! ls voxfilt-*.part > ../parts 2>&1 && [ $status -gt 128 ]
    result $? "SIG$signal removes it"
done
if takes_signal PIPE > ../signal 2>&1; then
    { voxfilt -i v64.raw -n 64 -t f32 -f identity 2> ../stderr; echo $? > ../code; } | head -c 1 > ../first
    [ ! -s ../stderr ] && [ "$(cat ../code)" -gt 128 ]
    result $? 'a reader that goes away is no news'
else
    skip 'SIGPIPE is ignored here'
fi
{
    (trap '' PIPE && exec voxfilt -q -i long.raw -d 32,32,256 -m 400K) 2> ../stderr
    echo $? > ../code
} | head -c 1 > ../first
printf 'voxfilt: standard output: Broken pipe\n' | diff - ../stderr && [ "$(cat ../code)" = 4 ]
result $? 'and where SIGPIPE is ignored, it is an error'
if script --version 2>&1 | grep -q util-linux && script -qec true /dev/null < /dev/null > ../bare 2>&1; then
    on_terminal() # WORDS COMMAND
    {
        script -qec "$2" /dev/null < /dev/null | tr -d '\r' > ../typed
        printf '%s\n' "$1" | diff - ../typed
        result $? "$1"
    }
    on_terminal 'imgheat: standard output is a terminal: binary data is not written there' 'imgheat gray.png'
    on_terminal 'voxfilt: /dev/tty is a terminal: binary data is not written there' 'voxfilt -i v8.raw -n 8 -t u8 -o /dev/tty'
    on_terminal 'imgheat: standard input is a terminal: name a file, or pipe one in' 'imgheat'
else
    skip 'terminals: script of util-linux is not here, or there are no pseudo-terminals'
fi

conclude
