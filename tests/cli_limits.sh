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
refuses 3 'voxfilt: --filter: wider.taps: line 2: longer than 254 bytes' v8 -f taps:wider.taps -o out
refuses 3 'voxfilt: --filter: /dev/zero: line 1: longer than 254 bytes' v8 -f taps:/dev/zero -o out
refuses 3 'voxfilt: --filter: /dev/null: no tap' v8 -f taps:/dev/null -o out
printf '# nothing\n\n  # at all\n' > bare.taps
refuses 3 'voxfilt: --filter: bare.taps: no tap' v8 -f taps:bare.taps -o out
echo '0 0 0 0' > zero.taps
accepts 'a tap of weight 0' '' v8 -f taps:zero.taps -o zero.raw
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

# ---------------------------------------------------------------- numbers out of range

refuses 2 'voxfilt: --filter: star:1e10: the order is 2, 4, 6 or 8' v8 -f star:1e10 -o out
refuses 2 'voxfilt: --alpha: 1e-310: too small: the default time step is not finite (give --dt)' \
    v8 --alpha 1e-310 -o out
refuses 2 'voxfilt: --alpha: 1e-310: too small: the default time step is not finite (give --dt)' \
    v8 --alpha 1e-310 --sigma 2 -o out
for flux in linear 'tanh --scale 1' 'pm2 --scale 1'; do
    # shellcheck disable=SC2086  # options
    refuses 2 'voxfilt: heat: alpha*dt = 1e-50 is too small for f32 (--work f64 has a larger range)' \
        v8 --flux $flux --alpha 1e-50 --dt 1 -o out
done
refuses 2 'voxfilt: heat: alpha*dt = 0 is too small for f64' v16 --work f64 --alpha 1e-200 --dt 1e-200 -o out
accepts 'no heat that is asked for' '' v8 --alpha 0 -o still.raw
same 'changes nothing' v8.raw still.raw

for filter in laplace star:4 star:8; do
    refuses 2 "voxfilt: $filter: every weight is too small for f32 (--work f64 has a larger range)" \
        v8 --spacing 1e30,1e30,1e30 -f $filter -o out
    accepts "$filter with small weights" '' v8 --work f64 --spacing 1e100,1e100,1e100 -f $filter -o faint.raw
done
for filter in sobel:x prewitt:z gradient; do
    refuses 2 "voxfilt: $filter: every weight is too small for f32 (--work f64 has a larger range)" \
        v8 --spacing 1e50,1e50,1e50 -f $filter -o out
done
refuses 2 'voxfilt: matrix:1e-60: every weight is too small for f32 (--work f64 has a larger range)' \
    v8 -f matrix:1e-60 -o out
for offset in 0 5; do
    refuses 2 "voxfilt: scale:1e-60,$offset: a factor of 1e-60 is too small for f32 (--work f64 has a larger range)" \
        v8 -f scale:1e-60,$offset -o out
done
refuses 2 'voxfilt: scale:1e-60,0: a factor of 1e-60 is too small for f32 (--work f64 has a larger range)' \
    v8 -f gauss:1 -f scale:1e-60,0 -f scale:1e30,0 -o out
accepts 'which f64 has' '' v8 --work f64 -f matrix:1e-60 -f scale:1e60,0 -o there-and-back.raw
same 'and brings back' v8.raw there-and-back.raw
for filter in matrix:0 'scale:0,0'; do
    accepts "$filter, which asks for zeros" '' v8 -f $filter -o zeros.raw
    [ "$(tr -d '\000' < zeros.raw | wc -c)" -eq 0 ] && [ -s zeros.raw ]
    result $? 'has them'
done
accepts 'one of two weights that are too small' '' v8 -f 'matrix:1e-60 1 1e-60' -o one.raw
same 'leaves the other' v8.raw one.raw

# Weights that are no normal numbers count all the same: 1e-40 of 1e38 in f32, 1e-310 of 1e300 in f64.
thousandths() # TYPE
{
    od -An -v -t"$1" | awk '{ for (i = 1; i <= NF; i++) printf "%.3g ", $i }'
}
printf '\000\000\000\000\231\166\226\176\000\000\000\000' > peak32.raw
printf '\000\000\000\000\000\000\000\000\234\165\000\210\074\344\067\176\000\000\000\000\000\000\000\000' > peak64.raw
for isa in baseline v3; do
    with_isa $isa voxfilt -i peak32.raw -t f32 -d 3,1 --alpha 1e-40 --dt 1 -s 1 > ../stdout 2> ../stderr
    case $? in
    0) [ "$(thousandths f4 < ../stdout)" = '0.01 1e+38 0.01 ' ] && [ ! -s ../stderr ]
        result $? "a weight below the normal numbers of f32, $isa" ;;
    5) skip "$isa: not here" ;;
    *) result 1 "a weight below the normal numbers of f32, $isa" ;;
    esac
done
voxfilt -i peak64.raw -t f64 -d 3,1 --alpha 1e-310 --dt 1 -s 1 > ../stdout 2> ../stderr
[ "$(thousandths f8 < ../stdout)" = '1e-10 1e+300 1e-10 ' ] && [ ! -s ../stderr ]
result $? 'and of f64'

# ---------------------------------------------------------------- long names, and temporary ones

letters() # HOW-MANY
{
    hashes "$1" | tr '#' x
}

v8 -o first.raw
for length in 238 239 250 255; do
    long=$(letters $length)
    accepts "a name of $length bytes" '' v8 -o "$long"
    same 'is written' first.raw "$long"
    rm -f -- "$long"
done
refuses 4 "voxfilt: $(letters 256): File name too long" v8 -o "$(letters 256)"

# A process that has the number of another, and finds what that would have called its temporary.
for number in $(seq 0 120); do
    echo "ln -s ../bare planted.raw.\$\$-$number.part"
done > ../plant
accepts 'temporaries that others have planted' '' \
    sh -c '. ../plant; exec voxfilt -i v8.raw -n 8 -t u8 -o planted.raw'
same 'deny nothing' first.raw planted.raw
rm -f planted.raw.*.part

# ---------------------------------------------------------------- descriptors that do not wait

make_volume -d 64,64,256 -t u8 -o deep.raw
voxfilt -i deep.raw -d 64,64,256 -t u8 -o deep-heat.raw
make_picture -d 700,500 -o large.png
imgheat large.png -o large-heat.png

# What gives and takes a pipe's bytes late.
slowly() # FILE
{
    head -c 100000 "$1"
    sleep 1
    tail -c +100001 "$1"
}

late()
{
    sleep 2
    cat
}

slowly deep.raw | "${NONBLOCKING:?}" voxfilt -d 64,64,256 -t u8 2> ../stderr | late > ../stdout
[ ! -s ../stderr ]
result $? 'a volume through pipes that do not wait'
same 'is whole' deep-heat.raw ../stdout
slowly large.png | "$NONBLOCKING" imgheat 2> ../stderr | late > ../stdout
[ ! -s ../stderr ]
result $? 'a picture through pipes that do not wait'
same 'is whole' large-heat.png ../stdout
mkfifo silent.fifo
"$NONBLOCKING" voxfilt -n 8 -t u8 -o waiting.raw < silent.fifo > ../stdout 2> ../stderr &
running=$!
exec 3> silent.fifo
sleep 1
kill -TERM $running
wait $running 2> ../waited
[ $? -gt 128 ] && [ ! -s ../stderr ] && [ ! -e waiting.raw ] && ! ls ./*.part > ../parts 2>&1
result $? 'a signal ends what waits for its input'
exec 3>&-
{
    "$NONBLOCKING" voxfilt -i deep.raw -d 64,64,256 -t u8 &
    echo $! > ../running
    wait $! 2> ../waited
    echo $? > ../code
} | {
    sleep 1
    kill -TERM "$(cat ../running)"
    sleep 1
}
[ "$(cat ../code)" -gt 128 ]
result $? 'and what waits for its reader'

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

# Whatever the machine has, the CPU is to be predicted.
CUDA_VISIBLE_DEVICES=''
export CUDA_VISIBLE_DEVICES
for chain in '-f gauss:0' '-f identity -f gauss:0' '-f heat -e wrap' '-f unsharp:0,1'; do
    # shellcheck disable=SC2086  # options
    at_once "$chain, 2^64 - 1 steps" voxfilt -i v8.raw -n 8 -t u8 -s 18446744073709551615 $chain --explain
    grep -q '^stage 1   .*, 18446744073709551615 steps, ' ../stdout && grep -q '([0-9]* h [0-9]* min predicted)' ../stdout
    result $? 'are explained, and their time is told'
done
for edge in reflect wrap; do
    at_once "$edge, 2^64 - 1 steps in little memory" \
        voxfilt -i v16.raw -n 16 -t f32 -s 18446744073709551615 -e $edge -m 12000 --explain
    grep -q '^run  *9223372036854775808 passes over ' ../stdout
    result $? 'are explained, and their passes are counted'
done

conclude
