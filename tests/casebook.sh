# What scripts of cases share: a folder to work in, a line a case, and the count at the end. Sourced, not run; whoever
# sources it ends with `conclude`.

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset VOXFILT_ISA OMP_NUM_THREADS POSIXLY_CORRECT
export XDG_CACHE_HOME="$work/cache"
export LC_ALL=C.UTF-8
umask 022
mkdir "$work/run"
cd "$work/run" || exit 1
cases=0
failures=0
skips=0
drawn=0

# Whether it is the turn of one of many cases that are alike: a thinned run takes one in VOXFILT_THIN of them.
has_turn()
{
    remainder=$((drawn % ${VOXFILT_THIN:-1}))
    drawn=$((drawn + 1))
    [ $remainder = 0 ]
}

result() # STATUS NAME
{
    cases=$((cases + 1))
    if [ "$1" = 0 ]; then
        printf 'ok    %s\n' "$2"
    else
        printf 'FAIL  %s\n' "$2"
        failures=$((failures + 1))
    fi
}

skip() # WHAT-AND-WHY
{
    skips=$((skips + 1))
    printf 'skip  %s\n' "$1"
}

# What reads and writes files beside us, and computes what we do, may be missing, but not where REQUIRE_READERS is set.
miss_reader() # WHAT-AND-WHY
{
    if [ -n "${REQUIRE_READERS:-}" ]; then
        result 1 "$1, but REQUIRE_READERS is set"
    else
        skip "$1"
    fi
}

# Tries a command every tenth of a second until it succeeds.
await() # TRIES COMMAND...
{
    tries=$1
    shift
    until "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.1
    done
}

empty_folder()
{
    rm -rf "$1"
    mkdir "$1"
}

# It holds these files and nothing else.
folder_holds() # FOLDER NAME...
{
    folder=$1
    shift
    printf '%s\n' "$@" | sort > ../wanted
    # shellcheck disable=SC2012  # the names are ours
    ls -A "$folder" | sort | diff ../wanted -
    result $? "$folder holds $*"
}

conclude()
{
    echo "$cases cases, $failures failures, $skips skipped"
    [ "$failures" = 0 ]
}
