# What scripts of cases with ranks share: a launcher of MPI, and what of a failure is ours. Sourced, not run; it exits
# with 77 where there is no MPI.

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

if [ -z "${VOXFILT_MPI:-}" ] || ! has "${MPIRUN:-mpirun}"; then
    echo 'there is no MPI here'
    exit 77
fi
needs timeout
PATH=$(dirname "$VOXFILT_MPI"):$PATH

# Few processors, perhaps root, and programs that do not clean up after themselves.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_odls_base_sigkill_timeout=0 # it waits that long for programs that have ended
export OMPI_MCA_hwloc_base_binding_policy=none # two ranks would be bound to a processor each
# Containers may lack networks, and what lets processes read each other's memory; that is told in lines of its own.
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
export ASAN_OPTIONS=detect_leaks=0

# Open MPI 4 crashes or hangs about once in a thousand times when it ends, after all work (its issue 10117): that is
# forgiven once.
forgiven=no
is_forgiven() # STATUS
{
    { [ "$1" = 139 ] || [ "$1" = 124 ]; } && [ $forgiven = no ] && "$MPIRUN" --version 2>&1 | grep -q 'Open MPI\|OpenRTE'
}

launch() # COUNT COMMAND...
{
    count=$1
    shift
    timeout 120 "$MPIRUN" -n "$count" "$@" > "$work/said" 2> "$work/warned"
    launched=$?
}

ranks() # COUNT COMMAND...
{
    launch "$@"
    if is_forgiven $launched; then
        forgiven=yes
        launch "$@"
    fi
    cat "$work/said"
    cat "$work/warned" >&2
    return $launched
}

# What launchers say of a program that fails is theirs.
own_lines()
{
    grep -E '^(voxfilt|imgheat)-mpi: ' ../stderr > ../own || :
}

# All ranks fail with a status and one line, and leave nothing.
refuses_all() # STATUS MESSAGE COMMAND...
{
    try_refused "$@"
    own_lines
    judge_refused ../own /dev/null
}

# shellcheck disable=SC2034  # whoever sources this uses it
host=$(hostname | cut -d. -f1)

# Volumes for ranks that read planes beside their own, and for ranks that exchange them: many planes, and small ones.
# shellcheck disable=SC2034
make_volumes()
{
    make_volume -d 21,15,30 -t u16 -o scan.raw
    make_volume -d 300,200,45 -t u8 -o large.raw
    make_volume -d 100,90,300 -t u8 -o tall.raw
    scan='-i scan.raw -d 21,15,30 -t u16'
    large='-i large.raw -d 300,200,45 -t u8'
    tall='-i tall.raw -d 100,90,300 -t u8'
}

# 128 MiB of zeros, and wisdom that says that the link is fast, whatever else runs here.
make_zeros()
{
    truncate -s 134217728 zeros.raw
    wisdom=$XDG_CACHE_HOME/voxfilt/wisdom
    ranks 2 voxfilt-mpi -i zeros.raw -n 512 -t u8 -s 3000 -j 1 --explain > ../stdout 2> ../stderr
    sed '/^link/s/[^	]*$/1e9/' "$wisdom" > fast && mv fast "$wisdom"
}

# The same file as that of one process. One thread each: otherwise, the number of processors of the machine would decide
# whether several ranks are faster. What one process says is in ../one, what ranks say in ../stderr.
volume_by_ranks() # COUNT NAME OPTION...
{
    count=$1 name=$2
    shift 2
    voxfilt "$@" -j 1 -o "made$name" 2> ../one
    mv "made$name" one
    ranks "$count" voxfilt-mpi "$@" -j 1 -o "made$name" > ../stdout 2> ../stderr < /dev/null
    result $? "$count ranks: $*"
    same "$count ranks: the same bytes" "made$name" one
}

# And the same text.
volume_as_one() # COUNT NAME OPTION...
{
    volume_by_ranks "$@"
    sed 's/^voxfilt-mpi:/voxfilt:/' ../stderr | diff ../one -
    result $? "$count ranks: the same text"
}
