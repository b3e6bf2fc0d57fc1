#!/bin/sh
# What ranks owe to the MPI that brings them together, and to its launcher: memory that several see, statuses, signals, room
# in a file system in memory, and an MPI that lacks something. .ci/run tries this with each MPI, and tests/cli_ranks.sh with
# one. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/rankbook.sh
. "$(dirname "$0")/rankbook.sh"

here=$(pwd -P)
make_volumes

# ---------------------------------------------------------------- planes and sums that ranks exchange

# shellcheck disable=SC2086  # words
{
    volume_as_one 3 .raw $tall -s 400 --stats
    volume_as_one 2 .raw $tall -s 300 -e wrap --until 0.5
}

# If a node has too little memory that all of its ranks see, planes go in messages. MPICH does not start with so little, and
# what is mounted over /dev/shm hides files there.
if ! "$MPIRUN" --version 2>&1 | grep -q HYDRA && unshare -m true 2> ../stderr && [ "${here#/dev/shm/}" = "$here" ]; then
    cat large.raw large.raw > deep.raw
    export LAUNCHER="$MPIRUN"
    # shellcheck disable=SC2016  # for the script
    printf '#!/bin/sh\nexec unshare -m sh -c "%s" sh "$LAUNCHER" "$@"\n' \
        'mount -t tmpfs -o size=8m tmpfs /dev/shm && exec \"\$@\"' > ../little
    chmod +x ../little
    MPIRUN=$work/little
    has_turn && volume_as_one 2 .raw -i deep.raw -d 300,200,90 -t u8 -s 60 --flux pm1 --scale 30
    MPIRUN=$LAUNCHER
else
    skip 'little memory for all ranks of a node: this needs Open MPI, a mount of its own, and TMPDIR elsewhere'
fi

# Nor does a rank need it that MPI cannot give such memory. It has its types in registers, whatever they are.
refusing=$here/refusing
cat > "$refusing.c" <<'END'
int PMPI_Win_allocate_shared(long size, int unit, long info, long comm, void *base, void *window);
int MPI_Win_allocate_shared(long size, int unit, long info, long comm, void *base, void *window);

int MPI_Win_allocate_shared(long size, int unit, long info, long comm, void *base, void *window)
{
    PMPI_Win_allocate_shared(size, unit, info, comm, base, window);
    return 16; /* an error */
}
END
if has cc && cc -shared -fPIC -o "$refusing.so" "$refusing.c"; then
    # shellcheck disable=SC2086
    voxfilt $tall -s 300 -j 1 -o one.raw
    # shellcheck disable=SC2086
    accepts 'a rank to which MPI gives no memory that others see' '' ranks 2 voxfilt-mpi $tall -s 300 -j 1 -o many.raw : -n 1 \
        env LD_PRELOAD="$refusing.so" ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" voxfilt-mpi $tall -s 300 -j 1 -o many.raw
    same 'gets planes in messages' many.raw one.raw
else
    skip 'an MPI that gives no memory that ranks see: there is no compiler'
fi

# ---------------------------------------------------------------- statuses

# Launchers differ in which rank's status they end with.
every_status() # STATUS COMMAND...
{
    wanted=$1
    shift
    rm -f ../statuses
    # shellcheck disable=SC2016  # for the shell of each rank
    ranks 3 sh -c '"$@"; echo $? >> ../statuses' sh "$@" > ../stdout 2> ../stderr < /dev/null
    [ "$(sort -u ../statuses)" = "$wanted" ] && [ "$(wc -l < ../statuses)" = 3 ]
    result $? "every rank ends with status $wanted"
}
every_status 2 voxfilt-mpi --bogus
every_status 3 voxfilt-mpi -i scan.raw -n 4 -t u16 -o out
every_status 4 voxfilt-mpi -i none.raw -n 4 -o out
# shellcheck disable=SC2086
every_status 7 voxfilt-mpi $scan --until 1e-9 -s 5 -o many.raw
ranks 2 sh -c 'exec voxfilt-mpi --help > /dev/full' > ../stdout 2> ../stderr
[ $? = 4 ] && [ "$(grep -c '^voxfilt-mpi: standard output: it could not be written$' ../stderr)" = 1 ]
result $? 'help that nobody can read is a failure'
make_zeros

# ---------------------------------------------------------------- room

# In a file system in memory, four ranks fill files through mappings.
memory=
if [ "$(stat -f -c %T /dev/shm)" = tmpfs ] && memory=$(mktemp -d /dev/shm/voxfilt.XXXXXX); then
    trap 'rm -rf "$work" "$memory"' EXIT
fi

# While the file `held` exists, whoever takes room waits. With LACKS_AFTER=SECONDS, there is no room, and it takes that long
# to find out.
taking=$here/taking
cat > "$taking.c" <<'END'
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static int take(void)
{
    const char *seconds = getenv("LACKS_AFTER");

    while (access("held", F_OK) == 0)
        usleep(10000);
    if (seconds != NULL)
        sleep((unsigned)atoi(seconds));
    errno = seconds != NULL ? ENOSPC : EOPNOTSUPP;
    return -1;
}

int fallocate(int file, int mode, off_t offset, off_t length)
{
    (void)file, (void)mode, (void)offset, (void)length;
    return take();
}

int fallocate64(int file, int mode, long long offset, long long length)
{
    (void)file, (void)mode, (void)offset, (void)length;
    return take();
}
END

# The temporary file holds something other than zeros.
has_samples() # FOLDER
{
    [ "$(cat "$1"/*.part 2> ../missing | tr -d '\0' | head -c 1 | wc -c)" = 1 ]
}

lacks_room() # FILE OPTION...
{
    file=$1
    shift
    refuses_all 4 "voxfilt-mpi: $file: No space left on device" ranks 2 env LACKS_AFTER=1 "$taking" \
        voxfilt-mpi -D cpu -j 1 -i zeros.raw -n 512 -t u8 "$@"
}

# shellcheck disable=SC2016  # for the shell of each rank
printf '#!/bin/sh\nLD_PRELOAD=$0.so ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 exec "$@"\n' > "$taking"
chmod +x "$taking"
if has cc && cc -shared -fPIC -o "$taking.so" "$taking.c"; then
    # shellcheck disable=SC2086
    {
        voxfilt $large -j 1 -s 12 -o one.raw
        touch held
        "$MPIRUN" -n 2 "$taking" voxfilt-mpi $large -j 1 -s 12 -o made.raw > ../stdout 2> ../stderr &
        await 200 has_samples .
        result $? 'ranks write while room is taken'
        rm held
        wait $!
        same 'and wait for it only in the end' one.raw made.raw
    }
    if [ -n "$memory" ]; then
        touch held
        # shellcheck disable=SC2086
        "$MPIRUN" -n 4 "$taking" voxfilt-mpi $large -j 1 -s 12 -o "$memory/made.raw" > ../stdout 2> ../stderr &
        await 200 has_samples "$memory"
        : > "$(echo "$memory"/*.part)"
        rm held
        wait $!
        own_lines
        [ "$(wc -l < ../own)" = 1 ] && [ -z "$(ls -A "$memory")" ] &&
            grep -qE "^voxfilt-mpi: (rank [0-3] \($host\): )?$memory/made.raw: the temporary file has been truncated\$" ../own
        result $? 'a temporary file that somebody truncates'
    fi
    # These would take far longer than the test waits.
    lacks_room out -s 40000 -o out
    lacks_room out.raw.gz -s 40000 -o out.raw.gz
else
    skip 'room that is taken slowly: there is no compiler'
fi

if [ -n "$memory" ]; then
    # shellcheck disable=SC2086
    {
        voxfilt $large -j 1 -s 12 -o one.nrrd
        ranks 4 voxfilt-mpi $large -j 1 -s 12 --tee 5:"$memory/five.raw" -o "$memory/made.nrrd" > ../stdout 2> ../stderr
        same 'a file system in memory' one.nrrd "$memory/made.nrrd"
        voxfilt $large -j 1 -s 5 -o one.raw
        same 'and a state there' one.raw "$memory/five.raw"
    }
fi

# ---------------------------------------------------------------- tasks that are no ranks

# shellcheck disable=SC2086
ranks 3 voxfilt $scan -s 5 -o many.raw > ../stdout 2> ../stderr
[ "$(grep -c '^voxfilt: 3 tasks were started, and each does all of the work: voxfilt-mpi, or --part, divides it$' ../stderr)" = 1 ]
result $? 'that each does everything is told once'

# ---------------------------------------------------------------- launchers that MPI does not know

# Those of one vendor start programs of the other as so many that are alone.
sees_one()
{
    # shellcheck disable=SC2086
    "$@" voxfilt-mpi $scan -o out > ../stdout 2> ../stderr
    [ $? = 2 ] && [ "$(grep -c '^voxfilt-mpi: 3 tasks were started, but MPI (.*) sees only 1: use its own mpirun, or srun --mpi=pmi[x2]$' ../stderr)" = 1 ] &&
        ! [ -e out ]
    result $? "tasks that MPI does not bring together: $*"
}
sees_one env SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=0
for foreign in mpirun.openmpi mpirun.mpich; do
    if has "$foreign" && [ "$(readlink -f "$(command -v "$foreign")")" != "$(readlink -f "$(command -v "$MPIRUN")")" ]; then
        sees_one "$foreign" -n 3
    fi
done

# ---------------------------------------------------------------- an MPI that cannot be started

broken=$here/broken
cat > "$broken.c" <<'END'
int MPI_Init_thread(int *count, char ***words, int wanted, int *granted);

int MPI_Init_thread(int *count, char ***words, int wanted, int *granted)
{
    (void)count, (void)words, (void)wanted, (void)granted;
    return 15; /* MPI_ERR_OTHER */
}
END
alone() # VARIABLE=VALUE...
{
    # shellcheck disable=SC2086
    env -u OMPI_COMM_WORLD_SIZE -u PMI_SIZE -u SLURM_STEP_NUM_TASKS LD_PRELOAD="$broken.so" \
        ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" "$@" voxfilt-mpi $scan -s 5 -o alone.raw
}
if has cc && cc -shared -fPIC -o "$broken.so" "$broken.c"; then
    # shellcheck disable=SC2086
    voxfilt $scan -s 5 -o one.raw
    # shellcheck disable=SC2086
    accepts 'the only task of a launcher needs no MPI' '' ranks 1 env LD_PRELOAD="$broken.so" \
        ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" voxfilt-mpi $scan -s 5 -o alone.raw
    same 'and writes the same bytes' alone.raw one.raw
    # shellcheck disable=SC2086
    accepts 'a process without a launcher starts MPI' '' voxfilt-mpi $scan -s 5 -o single.raw
    same 'and writes the same bytes' single.raw one.raw
    for told in 'SLURM_STEP_NUM_TASKS=1' 'OMPI_COMM_WORLD_SIZE=1 PMI_SIZE=2' 'OMPI_COMM_WORLD_SIZE=2 PMI_SIZE=1' \
        'PMI_SIZE=1 SLURM_STEP_NUM_TASKS=2' 'PMI_SIZE=one' 'UNKNOWN_LAUNCHER=1'; do
        rm -f alone.raw
        # shellcheck disable=SC2086
        refuses_all 1 'voxfilt-mpi: MPI cannot be started' alone $told
    done
else
    skip 'an MPI that cannot be started: there is no compiler'
fi

# ---------------------------------------------------------------- an MPI that lacks something

# If one rank lacks it, all hear of it before they do anything.
lacking=$here/lacking
cat > "$lacking.c" <<'END'
int PMPI_Init_thread(int *count, char ***words, int wanted, int *granted);
int MPI_Init_thread(int *count, char ***words, int wanted, int *granted);

int MPI_Init_thread(int *count, char ***words, int wanted, int *granted)
{
    int code = PMPI_Init_thread(count, words, wanted, granted);

    *granted = 0; /* MPI_THREAD_SINGLE */
    return code;
}
END
if has cc && cc -shared -fPIC -o "$lacking.so" "$lacking.c"; then
    # shellcheck disable=SC2086
    refuses_all 1 "voxfilt-mpi: rank 1 ($host): MPI does not support threads" ranks 1 voxfilt-mpi $scan -o out : -n 1 \
        env LD_PRELOAD="$lacking.so" ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" voxfilt-mpi $scan -o out
    # shellcheck disable=SC2086
    refuses_all 1 'voxfilt-mpi: MPI does not support threads' ranks 2 \
        env LD_PRELOAD="$lacking.so" ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" voxfilt-mpi $scan -o out
else
    skip 'an MPI that lacks threads: there is no compiler'
fi

# ---------------------------------------------------------------- signals

has_temporaries() # COUNT
{
    [ "$(find . -name '*.part' | wc -l)" -ge "$1" ]
}

# A run that takes long, until all ranks know all of its temporaries: those that all write, which are the output, the
# samples of a state, and what the compressed state is made of, unless rank 0 computes alone; and those that rank 0 alone
# writes.
begin_long() # RANKS EXTENTS TEMPORARIES
{
    echo before > out
    OMPI_MCA_odls_base_sigkill_timeout=5 "$MPIRUN" -n "$1" voxfilt-mpi -D cpu -i few.raw -d "$2" -t u16 -s 60000 -q \
        --tee 9:nine.nhdr --tee 10:ten.raw.gz --preview look.png -o "$here/out" > ../stdout 2> ../stderr &
    launcher=$!
    await 100 has_temporaries "$3"
    sleep 0.5
}

# The process of a rank, of this test's own.
process_of() # RANK
{
    for process in $(pgrep -f "^[^ ]*voxfilt-mpi .*-o $here/out"); do
        if tr '\0' '\n' < "/proc/$process/environ" | grep -qxE "(PMI_RANK|OMPI_COMM_WORLD_RANK)=$1"; then
            echo "$process"
        fi
    done
}

# What was there before is there still, and nothing else. What its end means to a launcher is not always the same.
ends_clean() # NAME
{
    wait "$launcher"
    status=$?
    await 50 has_no_temporary
    [ "$(head -c 7 out)" = before ] && has_no_temporary &&
        ! [ -e nine.nhdr ] && ! [ -e nine.raw ] && ! [ -e ten.raw.gz ] && ! [ -e look.png ]
    result $? "$1 (status $status)"
}

# SIGTERM for a rank of a long run.
ends_by_rank() # RANK RANKS EXTENTS TEMPORARIES NAME
{
    begin_long "$2" "$3" "$4"
    kill -TERM "$(process_of "$1")"
    ends_clean "$5"
}

# MPICH's launcher kills all ranks by SIGKILL where one ends by a signal.
if takes_signal TERM; then
    truncate -s 16777216 few.raw
    begin_long 2 256,256,128 6
    kill -TERM "$launcher"
    ends_clean 'the launcher is told to end'
    ends_by_rank 1 2 256,256,128 6 'a rank is told to end'
    [ $status != 0 ]
    result $? 'and that is a failure'
    ends_by_rank 2 3 2048,2048,2 6 'a rank is told to end that has no planes'
    ends_by_rank 1 2 4096,2048,1 5 'a rank is told to end while rank 0 computes alone'
    begin_long 2 256,256,128 6
    kill -KILL "$(process_of 1)"
    wait "$launcher"
    status=$?
    [ $status != 0 ] && [ "$(head -c 7 out)" = before ]
    result $? "a rank is killed (status $status)"
    rm -f -- *.part
    rm out
fi

conclude
