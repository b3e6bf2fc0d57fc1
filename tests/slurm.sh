#!/bin/sh
# Ranks that a Slurm of this test's own starts, on two nodes that are one host: the bytes of one process, and nothing left
# where a job is cancelled. Skipped without Slurm, MPI or root.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

needs slurmctld slurmd srun munged
if [ -z "${VOXFILT_MPI:-}" ] || [ "$(id -u)" != 0 ]; then
    echo 'there is no MPI here, or this is not root'
    exit 77
fi
needs_whole_run
PATH=$(dirname "$VOXFILT_MPI"):$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export ASAN_OPTIONS=detect_leaks=0
pmi=pmix
ldd "$VOXFILT_MPI" | grep -q mpich && pmi=pmi2

# ---------------------------------------------------------------- daemons

# shellcheck disable=SC2154  # the book sets it
home=$work/slurm port=$((20000 + $$ % 20000)) host=$(hostname)

stop_slurm()
{
    for daemon in n1 n2 slurmctld munged; do
        if [ -s "$home/$daemon.pid" ]; then
            pid=$(cat "$home/$daemon.pid")
            kill "$pid" 2> ../stderr || :
            while kill -0 "$pid" 2> ../stderr; do
                sleep 0.1
            done
        fi
    done
}
trap 'stop_slurm; rm -rf "$work"' EXIT

start_slurm()
{
    mkdir "$home" "$home/state" "$home/n1" "$home/n2"
    head -c 1024 /dev/urandom > "$home/munge.key"
    chmod 600 "$home/munge.key"
    cat > "$home/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$home/munge.sock
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
StateSaveLocation=$home/state
SlurmdSpoolDir=$home/%n
TmpFS=$home/%n
SlurmctldPidFile=$home/slurmctld.pid
SlurmdPidFile=$home/%n.pid
SlurmctldLogFile=$home/slurmctld.log
SlurmdLogFile=$home/%n.log
KillWait=5
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=4
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=4
PartitionName=all Nodes=n1,n2 Default=YES State=UP
END
    export SLURM_CONF="$home/slurm.conf"
    munged --force --key-file="$home/munge.key" --socket="$home/munge.sock" --pid-file="$home/munged.pid" \
        --log-file="$home/munged.log" --seed-file="$home/munge.seed" --num-threads=2 &&
        slurmctld -c && slurmd -N n1 && slurmd -N n2
}

# Both nodes have to have reported.
await_nodes()
{
    tries=0
    while [ "$(sinfo -h -t idle -o %D)" != 2 ] && [ $tries -lt 100 ]; do
        sleep 0.2
        tries=$((tries + 1))
    done
    [ $tries -lt 100 ]
}

if ! start_slurm > ../started 2>&1 || ! await_nodes > ../started 2>&1; then
    cat ../started "$home"/*.log
    echo 'Slurm does not start here'
    exit 77
fi

# ---------------------------------------------------------------- runs

make_volume -d 300,200,45 -t u8 -o large.raw
large='-i large.raw -d 300,200,45 -t u8'

# shellcheck disable=SC2086  # words
for job in '-s 5' '-s 400 --flux pm1 --scale 30 -e wrap --stats' '--until 0.1 --flux pm1 --scale 30 -s 300'; do
    voxfilt $large $job -o made.raw 2> ../one
    mv made.raw one.raw
    timeout 200 srun -Q --mpi=$pmi -N2 -n4 voxfilt-mpi $large $job -o made.raw > ../stdout 2> ../stderr < /dev/null
    result $? "srun --mpi=$pmi on two nodes: $job"
    same 'the same bytes' made.raw one.raw
    grep -E '^(voxfilt-mpi:|input |output )' ../stderr | sed 's/^voxfilt-mpi:/voxfilt:/' | diff ../one -
    result $? 'the same text'
done
# shellcheck disable=SC2086
if [ $pmi = pmix ]; then
    timeout 60 salloc -Q -N1 -n2 "$MPIRUN" -n 2 voxfilt-mpi $large --until 0.1 --flux pm1 --scale 30 -s 300 -o made.raw > ../stdout 2> ../stderr < /dev/null
    same 'mpirun within salloc' made.raw one.raw
else
    timeout 60 srun -Q --mpi=none -N2 -n4 voxfilt-mpi $large -o out > ../stdout 2> ../stderr < /dev/null
    [ "$(grep -c '^voxfilt-mpi: 4 tasks were started, but MPI (.*) sees only 1: ' ../stderr)" = 1 ] && ! [ -e out ]
    result $? 'srun that MPI does not know'
fi
timeout 60 srun -Q --mpi=$pmi -N2 -n4 voxfilt-mpi -i none.raw -n 4 -o out > ../stdout 2> ../stderr < /dev/null
status=$?
[ $status = 4 ] && [ "$(grep '^voxfilt-mpi' ../stderr)" = 'voxfilt-mpi: none.raw: No such file or directory' ]
met=$?
[ $met = 0 ] || cat ../stderr
result $met "a failure has its status and one line (status $status)"

# ---------------------------------------------------------------- ended

truncate -s 134217728 zeros.raw

# A run that takes long, until its temporary is there.
begin_long() # OPTION-OF-SRUN...
{
    echo before > out
    # shellcheck disable=SC2016  # for the shell of each rank
    srun -Q --job-name=long --mpi=$pmi -N2 -n2 "$@" sh -c 'echo $$ >> ../ranks && exec voxfilt-mpi "$@"' rank \
        -i zeros.raw -d 512,512,256 -t u16 -s 30000 -q -o out > ../stdout 2> ../stderr < /dev/null &
    launcher=$!
    await_temporary
    ls -- *.part > ../parts 2>&1
    result $? 'a long run has begun'
}

# Other tests run meanwhile. Linux may share processors among sessions before it looks at what is nice, and each rank has one.
leave_processors()
{
    while read -r rank; do
        # shellcheck disable=SC2046  # threads
        renice -n 15 $(ls "/proc/$rank/task") > ../reniced 2>&1
        echo 15 2> ../reniced > "/proc/$rank/autogroup"
    done < ../ranks
}

ends_clean() # NAME
{
    wait "$launcher"
    status=$?
    [ $status != 0 ] && [ "$(head -c 7 out)" = before ] && ! ls -- *.part 2> ../parts
    result $? "$1 leaves the old output, and no temporary (status $status)"
}

begin_long
scancel --name=long
ends_clean 'scancel'
# Limits are in minutes, and slurmctld looks at them every 30 seconds.
if [ -n "${VOXFILT_SLURM_TIME:-}" ]; then
    rm ../ranks
    begin_long --time=1
    leave_processors
    ends_clean 'a time limit'
    grep -q 'TIME LIMIT' ../stderr
    result $? 'it was the limit'
else
    skip 'a time limit: it takes up to two minutes, and VOXFILT_SLURM_TIME=1 asks for it'
fi

conclude
