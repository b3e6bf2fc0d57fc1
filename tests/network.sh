#!/bin/sh
# Two ranks on a network of known speed: two network namespaces and a pair of virtual interfaces, whose rate tc limits. The
# bytes are those of one process, and the plan takes both ranks or one as the network has it. Prints a line a case and fails
# if one does. Skipped without root, namespaces, ip, tc, or MPICH, whose ranks reach their launcher from any namespace.
set -u

model=$(cd "$(dirname "$0")/../bench" && pwd -P)/ranks_model.sh
# shellcheck source=tests/rankbook.sh
. "$(dirname "$0")/rankbook.sh"

needs unshare nsenter ip tc taskset
if ! "$MPIRUN" --version 2>&1 | grep -q HYDRA; then
    echo 'this is not MPICH'
    exit 77
fi
needs_whole_run

# ---------------------------------------------------------------- the network

near='' far=''
# shellcheck disable=SC2154  # the book sets it
trap 'kill $near $far 2> "$work/killed"; rm -rf "$work"' EXIT

at() # PLACE COMMAND...
{
    place=$1
    shift
    nsenter -t "$place" -n "$@"
}

# A namespace with a /sys of its own, since programs look there for interfaces; $! is its process.
begin_place()
{
    unshare -n -m sh -c 'mount -t sysfs sysfs /sys && exec sleep 600' &
}

raise() # PLACE ADDRESS
{
    at "$1" ip link set lo up && at "$1" ip address add "$2/24" dev wire && at "$1" ip link set wire up
}

# Whether both ends are up; a run that begins earlier would reach nobody.
is_up()
{
    for place in $near $far; do
        at "$place" ip -o link show dev wire | grep -q ' state UP ' || return 1
    done
}

have_begun()
{
    [ "$(cat /proc/$near/comm /proc/$far/comm | xargs)" = 'sleep sleep' ]
}

make_network()
{
    unshare -n -m mount -t sysfs sysfs /sys || return 1
    begin_place
    near=$!
    begin_place
    far=$!
    await 50 have_begun || return 1
    at "$near" ip link add wire type veth peer name wire netns "$far" && raise "$near" 10.211.7.1 && raise "$far" 10.211.7.2 &&
        await 50 is_up
}

# What was known of another speed is forgotten.
limit() # RATE
{
    for place in $near $far; do
        at "$place" tc qdisc replace dev wire root tbf rate "$1" burst 64kb latency 50ms || return 1
    done
    rm -rf "$XDG_CACHE_HOME"
}

if ! make_network > ../made 2>&1 || ! limit 1gbit > ../made 2>&1; then
    cat ../made
    echo 'no network can be made here'
    exit 77
fi

export MPIR_CVAR_NOLOCAL=1 UCX_TLS=tcp,self UCX_NET_DEVICES=wire

here=$(pwd -P) patience=60
# shellcheck disable=SC2016  # for the shell of each rank
rank='cd "$0" && exec voxfilt-mpi -j 1 "$@"'

# Nodes share no processor, so each rank has one of its own: otherwise the threads of one take turns with those of the other.
processors=$(taskset -cp $$ | sed 's/.*: //')
near_only="taskset -c ${processors%%[,-]*}" far_only="taskset -c ${processors##*[,-]}"

# shellcheck disable=SC2086  # words
two() # OPTION...
{
    timeout $patience "$MPIRUN" -n 1 $near_only nsenter -t "$near" -n -m sh -c "$rank" "$here" "$@" : \
        -n 1 $far_only nsenter -t "$far" -n -m sh -c "$rank" "$here" "$@"
}

# ---------------------------------------------------------------- the same bytes

make_volume -d 300,200,45 -t u8 -o large.raw
large='-i large.raw -d 300,200,45 -t u8'
# shellcheck disable=SC2086  # words
for job in '-s 5' '-s 400' '-s 300 -e wrap --stats' '--until 0.5 -s 300'; do
    voxfilt $large $job -o made.raw 2> ../one
    mv made.raw one.raw
    two $large $job -o made.raw > ../stdout 2> ../stderr < /dev/null
    status=$?
    # One time in some forty, MPI_Finalize of MPICH 4.0 waits for ever on TCP by UCX 1.13, after all is done.
    if [ $status = 124 ]; then
        skip "how two ranks end: MPICH does not end"
    else
        [ $status = 0 ] || cat ../stderr
        result $status "two ranks on a network: $job"
    fi
    same 'the same bytes' made.raw one.raw
    grep -E '^(input|output) ' ../one > ../wanted
    grep -E '^(input|output) ' ../stderr | diff ../wanted -
    result $? 'the same figures'
done

# ---------------------------------------------------------------- what the plan makes of it

# So many steps that one pass over parts would compute everything twice, and little to exchange: 32 KiB a step.
planes=4096 steps=2100
long="-d 64,64,$planes -t f32 -s $steps"
make_volume -d 64,64,$planes -t f32 -o long.raw

is_at_most() # MEBIBYTES
{
    case $rate in
    *' MiB') [ "$(printf '%.0f' "${rate% MiB}")" -le "$1" ] ;;
    *' KiB') true ;;
    *) false ;;
    esac
}

# Where short messages have to wait for a processor, the rate comes out too high: one of three must not.
# shellcheck disable=SC2086
explain() # RATE MEBIBYTES
{
    for _ in 1 2 3; do
        limit "$1"
        two -i long.raw $long --explain > ../stdout 2> ../stderr < /dev/null
        rate=$(sed -n 's/^  *for \([0-9.]* [KMG]*i*B\)\/s between ranks.*(\(measured.*\)).*/\1/p' ../stdout)
        is_at_most "$2" && break
    done
    [ -n "$rate" ]
    result $? "$1: the exchange was measured (${rate:-not})"
    is_at_most "$2"
    result $? 'which is no more than the network moves'
}

explain 1gbit 130
grep -q "^ranks     2, of up to $((planes / 2)) planes each; " ../stdout
result $? 'two ranks are faster'
explain 10mbit 3
grep -q '^ranks     1 of 2: more ranks would not be faster$' ../stdout
result $? 'one rank is faster'

# ---------------------------------------------------------------- how long it takes

# Seconds of computing, without those for files, which the model does not count: of the slower one of several processes.
computing() # REPORT...
{
    sed -n 's/.*"seconds": {[^}]*"compute": \([0-9.]*\).*/\1/p' "$@" | sort -n | tail -n 1
}

# One process for each half of the planes, side by side, and neither needs the other. Processes on one machine slow each
# other down, as those on two nodes would not, so one that has the machine to itself would not tell what ranks can reach.
half="-j 1 -i half.raw -d 64,64,$((planes / 2)) -t f32 -s $steps -D cpu"
# shellcheck disable=SC2086
compute_apart()
{
    $near_only voxfilt $half --report=json:first.json -o first.raw > ../stdout 2> ../stderr &
    first=$!
    $far_only voxfilt $half --report=json:second.json -o second.raw > ../stdout 2> ../stderr
    wait $first
    computing first.json second.json
}

# shellcheck disable=SC2086
compute_together()
{
    two -i long.raw $long -D cpu --report=json:report.json -o made.raw > ../stdout 2> ../stderr < /dev/null
    computing report.json
}

# The model knows what the halves take here, and the rate and the time of a message, as --explain prints them. Halves and
# ranks take turns, since the speed of a machine may change in minutes. What disturbs one processor delays one half, but both
# ranks, since they wait for each other.
compare() # RATE
{
    explain "$1" 130
    message=$(sed -n 's/.* between ranks, and \([0-9.]*\) ms a message .*/\1/p' ../stdout)
    rm -f ../apart ../together
    for _ in 1 2 3 4 5; do
        compute_apart >> ../apart
        compute_together >> ../together
    done
    apart=$(sort -n ../apart | sed -n 3p) together=$(sort -n ../together | sed -n 3p)
    paste ../apart ../together | awk '{ printf "halves side by side %.2f s, two ranks %.2f s\n", $1, $2 }'
    sh "$model" --seconds "$(awk "BEGIN { print 2 * $apart }")" $planes $((64 * 64)) $steps 2 \
        "$(awk "BEGIN { print ${rate% MiB} * 1048576 }")" "$(awk "BEGIN { print $message / 1000 }")" > ../model
    awk -v apart="$apart" -v together="$together" -v network="$rate/s, $message ms" '{
        printf "medians: halves side by side %.2f s, two ranks %.2f s, the model %.2f s (%s)\n", apart, together, $3, network
        exit !(together < 1.15 * $3 && together > $3 / 1.15)
    }' ../model
    result $? "$1: two ranks take what the model says, within 15 %"
}

# Two networks that are faster than the ranks compute, and one that keeps the ranks waiting.
rates=${VOXFILT_NETWORK_TIME:-}
[ "$rates" != 1 ] || rates='1gbit 100mbit 25mbit'
make_volume -d 64,64,$((planes / 2)) -t f32 -o half.raw
for network in $rates; do
    compare "$network"
done
[ -n "$rates" ] || skip 'how long it takes: VOXFILT_NETWORK_TIME=1 asks for it on a machine that does nothing else'

conclude
