#!/bin/sh
# Inputs and surroundings at the edge of what can be: long names, endless files, numbers out of range, pipes that do not
# wait. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# ---------------------------------------------------------------- taps files

hashes() # HOW-MANY
{
    head -c "$1" /dev/zero | tr '\000' '#'
}

{ printf '0 0 0 1\n' && hashes 254 && echo; } > widest.taps
{ printf '0 0 0 1\n' && hashes 255 && echo; } > wider.taps
accepts 'a line of 254 bytes' '' v8 -f taps:widest.taps -o widest.raw
same 'is read' v8.raw widest.raw
refuses 3 'voxfilt: --filter: wider.taps: line 2: it is longer than 254 bytes' v8 -f taps:wider.taps -o out
refuses 3 'voxfilt: --filter: /dev/zero: line 1: it is longer than 254 bytes' v8 -f taps:/dev/zero -o out
mkfifo endless.fifo
yes '# on and on' > endless.fifo 2> ../yes &
refuses 3 'voxfilt: --filter: endless.fifo: line 1000001: more than 1000000 lines' v8 -f taps:endless.fifo -o out
wait $!

# As many taps as there may be, last to first.
million()
{
    seq 1000000 | awk '{ $1 = 1000000 - $1; print $1 % 1000 - 500, int($1 / 1000), -1, 1 }'
}
million > million.taps
{ cat million.taps && echo '0 0 0 1'; } > more.taps
refuses 3 'voxfilt: --filter: more.taps: line 1000001: more than 1000000 lines' v8 -f taps:more.taps -o out
{ tail -n 999999 million.taps && tail -n 1 million.taps; } > late.taps
refuses 3 'voxfilt: --filter: late.taps: line 1000000: the tap at -500 0 -1 is given twice' v8 -f taps:late.taps -o out

# KiB of addresses that the program takes before it reads a file.
least_addresses()
{
    least=10000
    # shellcheck disable=SC3045  # where the shell cannot limit addresses, or a sanitizer needs all of them, this is skipped
    until [ $least -gt 500000 ] || (ulimit -v $least && voxfilt --version) > ../bare 2>&1; do
        least=$((least + 5000))
    done
    [ $least -le 500000 ]
}

within() # KIB COMMAND...
{
    # shellcheck disable=SC3045
    ulimit -v "$1"
    shift
    "$@"
}

if least_addresses; then
    (within $((least + 20000)) voxfilt -q -n 8 -t u8 -f taps:million.taps < v8.raw) > ../stdout 2> ../stderr
    [ $? = 6 ] && [ ! -s ../stdout ] && [ "$(wc -l < ../stderr)" -eq 1 ] &&
        grep -q '^voxfilt: --filter: million.taps: line [0-9]*: not enough memory for the taps: ' ../stderr
    result $? 'taps that memory has no room for are told, and nothing is written'
else
    skip 'a limit on addresses'
fi

# ---------------------------------------------------------------- steps without number

# A command is done within a second; it may be run on a busy machine, and gets five.
at_once() # NAME COMMAND...
{
    name=$1
    shift
    if has timeout; then
        accepts "$name" '' timeout 5 "$@"
    else
        skip "$name: timeout is not here"
    fi
}

for chain in '-f gauss:0' '-f identity -f gauss:0' '-f heat -e wrap' '-f unsharp:0,1'; do
    # shellcheck disable=SC2086  # options
    at_once "$chain, 2^64 - 1 steps" voxfilt -i v8.raw -n 8 -t u8 -s 18446744073709551615 $chain --explain
    grep -q '^stage 1   .*, 18446744073709551615 steps, ' ../stdout && grep -q 'e+[0-9]* s predicted' ../stdout
    result $? 'are explained, and their time is told'
done
for edge in reflect wrap; do
    at_once "$edge, 2^64 - 1 steps in little memory" \
        voxfilt -i v16.raw -n 16 -t f32 -s 18446744073709551615 -e $edge -m 12000 --explain
    grep -q '^run  *9223372036854775808 passes over ' ../stdout
    result $? 'are explained, and their passes are counted'
done

conclude
