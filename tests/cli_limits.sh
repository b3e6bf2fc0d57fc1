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

# ---------------------------------------------------------------- what is held, and where

# What the plan for a volume of f32 from a pipe says, of planes of 1 MiB unless the extents say otherwise.
plan_of() # EXTENTS OPTION...
{
    extents=$1
    shift
    voxfilt -q -D cpu -d "$extents" -t f32 "$@" --explain < /dev/null > ../plan
}
figure() # PATTERN: the number in it
{
    sed -n "s/.*$1.*/\\1/p" ../plan | head -n 1
}

plan_of 512,512,512 -s 1
[ "$(figure 'lags \([0-9]*\) ')" = 2 ] && [ "$(figure 'slabs of \([0-9]*\) ')" -le 16 ] && [ "$(figure 'slabs of \([0-9]*\) ')" -ge 12 ]
result $? 'one step is taken in slabs of about 16 MiB'
for steps in 20 40; do
    plan_of 512,512,512 -s $steps --rung blocked
    [ "$(figure 'lags \([0-9]*\) ')" = $((steps + 1)) ]
    result $? "$steps steps lag a plane each"
    plan_of 512,512,512 -s $steps --rung fused
    together=$(figure 'up to \([0-9]*\) steps') slab=$(figure 'slabs of \([0-9]*\) ')
    [ "$(figure 'lags \([0-9]*\) ')" = $((steps + together)) ]
    result $? "$steps steps, $together at once, lag a plane more for each of these"
    wanted=$((20 * (together - 1)))
    [ $wanted -ge 64 ] || wanted=64
    [ "$slab" -le $wanted ] && [ "$slab" -ge $((wanted * 9 / 10)) ]
    result $? "in slabs of $slab planes, of about $wanted MiB"
done
for threads in 1 2 3; do
    plan_of 512,512,512 -j $threads --rung fused
    [ "$(figure ', \([0-9]*\)[.0-9]* MiB for kernels')" -le $((16 * threads)) ]
    result $? "tiles of at most 16 MiB for each of $threads"
done
for job in '2 heat' '2 gauss:2' '3 unsharp:2,1' '3 dog:1,2' '4 log:1' '4 gradmag:1' \
    '2 heat --until 1' '3 gauss:1 --until 1' '4 dog:1,2 --until 1' '4 log:1 --until 1'; do
    # shellcheck disable=SC2086  # words
    plan_of 256,256,256 -j 2 -f ${job#* }
    grep -q "^memory .*: ${job%% *} fields of .*, 6 buffers of 2.0 MiB" ../plan
    result $? "${job#* }: ${job%% *} fields, and buffers of 2 MiB"
done
plan_of 2048,2048,300 -j 2
grep -q ', 6 buffers of 16.0 MiB' ../plan
result $? 'or of a plane where that is more'
plan_of 256,256,256 -j 4 -o out.raw
grep -q ', 7 buffers of 2.0 MiB' ../plan
result $? 'and another one for a second thread that writes'
plan_of 512,512,8 && grep -q '^run  *the whole grid is held: ' ../plan &&
    plan_of 256,256,512 -e wrap && grep -q '^run  *the whole grid is held: ' ../plan &&
    plan_of 256,256,512 --until 1 && grep -q '^run  *the whole grid is held, since --until ' ../plan
result $? 'the whole grid is held where steps reach across it, by wrap, and for --until'
plan_of 256,256,512 --until 1 -m 100M && grep -q ' passes over two spool files of 128 MiB' ../plan &&
    plan_of 256,256,512 -t u8 -e wrap -m 100M && grep -q ' passes over a spool file of 128 MiB' ../plan
result $? 'or kept in files as large as the grid in the work type, two for --until'

# Bytes of fields, by the channels of a picture.
field_of() # COLOUR [tRNS]
{
    {
        head -c 8 gray.png
        chunk IHDR '\000\000\010\000\000\000\010\000\010\00'"$1"'\000\000\000'
        [ $# = 1 ] || chunk tRNS '\000\007'
        tail -c +34 gray.png
    } | imgheat -q -D cpu -e wrap --explain > ../plan
    figure '2 fields of \([0-9]*\)[0-9.]* MiB'
}
if has gzip; then
    [ "$(field_of 0)" = 16 ] && [ "$(field_of 2)" = 48 ] && [ "$(field_of 0 tRNS)" = 48 ] && grep -q '2 channels' ../plan
    result $? 'gray with alpha counts as 3 channels'
    [ "$(field_of 6)" = 112 ]
    result $? 'and RGBA as 7'
else
    skip 'how channels count: gzip is not here'
fi

# The least memory that a refusal names is enough, and a byte less is not.
names_least() # COMMAND...
{
    "$@" -q -m 1 -o out 2> ../stderr
    least=$(sed -n "s/.* needs \([0-9]*\) B, .*/\1/p; s/.*(\([0-9]*\) bytes).*/\1/p" ../stderr)
    "$@" -q -m "${least:-none}" -o least.out && ! "$@" -q -m $((least - 1)) -o out 2> ../stderr && "$@" -q -o most.out &&
        cmp least.out most.out
    result $? "${least:-0} bytes are the least for $*"
}
make_volume -d 32,32,256 -o long.raw
make_picture -d 300,200 --interlaced -o woven.png
long()
{
    voxfilt -i long.raw -d 32,32,256 -t f32 "$@"
}
for options in '-s 9' '-f gauss:2 -j 3' '-e wrap -s 3' '--until 9 --check-every 7' '-f unsharp:1,1 --stats' '-f identity' \
    '-f sobel:x --out-range auto --out-type u8'; do
    # shellcheck disable=SC2086  # words
    names_least long $options
done
# With many threads, narrow columns need more memory than rows do.
export OMP_NUM_THREADS=16
names_least long -f identity
unset OMP_NUM_THREADS
names_least imgheat woven.png -f gauss:2
names_least imgheat rgba.png -e wrap

# Where a run that waits for its input keeps planes: in a file without a name.
keeps_in() # NAME FOLDER OPTION...
{
    name=$1 folder=$2
    shift 2
    { cat long.raw; sleep 3; } | TMPDIR=$work/run/spools voxfilt -q -d 32,32,256 -t f32 -s 40 -m 100K "$@" > piped.raw &
    running=$!
    tries=0
    # shellcheck disable=SC2010  # links are what is looked at
    until ls -l "/proc/$running/fd" 2> ../gone | grep -q -e "-> $folder/[^/]* (deleted)" || [ $tries = 25 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    [ $tries -lt 25 ]
    result $? "planes are kept in $name"
    wait $running
}
mkdir spools results
long -q -s 40 -o results/plain.raw
if [ -e /proc/self/fd ]; then
    here=$(pwd -P)
    keeps_in 'the folder of the output' "$here/results" -o results/spooled.raw
    same 'and the output is the same' results/plain.raw results/spooled.raw
    keeps_in 'TMPDIR for standard output' "$here/spools"
    same 'and the output is the same' results/plain.raw piped.raw
    keeps_in 'TMPDIR for what is written in place' "$here/spools" -o /dev/stdout
    same 'and the output is the same' results/plain.raw piped.raw
    [ -z "$(ls -A spools)" ] && [ "$(cd results && find . -type f | sort | xargs)" = './plain.raw ./spooled.raw' ]
    result $? 'nothing is left of them'
else
    skip 'where planes are kept: there is no /proc here'
fi

# ---------------------------------------------------------------- what is left of runs that fail, and replaced

for filter in heat identity; do
    { cat long.raw && echo; } | voxfilt -q -d 32,32,256 -m 100K -f $filter > ../part 2> ../stderr
    status=$?
    [ $status = 3 ] && [ "$(wc -c < ../part)" -lt "$(wc -c < long.raw)" ]
    result $? "of an input that is too long the reader has not all: $filter"
done
make_picture -d 2000,1500 -o tall.png
head -c $(($(wc -c < tall.png) - 500)) tall.png > cut.png
imgheat -D cpu -j 2 -m 4M < cut.png > ../part 2> ../stderr
[ $? = 3 ] && [ -s ../part ] && ! grep -q IEND ../part
result $? 'of a picture that is damaged late the reader has rows, and no end'
voxfilt -i v64.raw -n 64 -t f32 -s 1000000000 -o killed.raw 2> ../stderr &
running=$!
await_temporary
kill -KILL $running
wait $running 2> ../waited
ls -- *.part > ../parts && [ "$(grep -c '^voxfilt-[0-9a-f]\{16\}\.part$' ../parts)" = 1 ] && [ ! -e killed.raw ]
result $? 'SIGKILL leaves the temporary file'
rm -f ./*.part
v8 -o linked.raw
ln linked.raw hard.raw
v8 -s 3 -o linked.raw
differ 'a file that is replaced loses its hard links' linked.raw hard.raw
{ printf tEXt && printf 'T\000' && head -c 40000000 /dev/zero | tr '\000' x; } > ../chunk
if has gzip; then
    seal_chunk > ../long
    cat ../long ../long | with_chunks rgb.png > wordy.png
    refuses 6 'imgheat: wordy.png: tEXt: more than 67108864 bytes of metadata' imgheat wordy.png -o out
fi

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
    grep -qE '^stage 1   .*, 18446744073709551615 steps(, |$)' ../stdout && grep -q '([0-9]* h [0-9]* min predicted)' ../stdout
    result $? 'are explained, and their time is told'
done
for edge in reflect wrap; do
    at_once "$edge, 2^64 - 1 steps in little memory" \
        voxfilt -i v16.raw -n 16 -t f32 -s 18446744073709551615 -e $edge -m 12000 --explain
    grep -q '^run  *9223372036854775808 passes over ' ../stdout
    result $? 'are explained, and their passes are counted'
done

conclude
