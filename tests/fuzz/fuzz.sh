#!/bin/sh
# Run every fuzz target, so many seconds in all, and print what each has done. Usage: fuzz.sh SECONDS FOLDER, with the fuzz
# program in $FUZZ, and the commands in $VOXFILT and $IMGHEAT. What is found that reaches more code than before is kept in
# FOLDER for the next time; an input that fails is kept in FOLDER/findings, and the status is 1.
set -eu

seconds=${1:?} corpus=${2:?}
mkdir -p "$corpus/findings"
corpus=$(cd "$corpus" && pwd)
TMPDIR=$(mktemp -d /dev/shm/fuzz-XXXXXX)
trap 'rm -rf "$TMPDIR"' EXIT
export TMPDIR
seeds=$TMPDIR/seeds
sh "$(dirname "$0")/seeds.sh" "$seeds"
found=0

# Inputs are short, so that each run is. A run that takes seconds, or GiB, is a finding as well, and so is a leak.
limits='-max_len=4096 -timeout=60 -rss_limit_mb=2048 -malloc_limit_mb=1024'
ASAN_OPTIONS=malloc_context_size=10:quarantine_size_mb=16:thread_local_quarantine_size_kb=64
UBSAN_OPTIONS=print_stacktrace=1
export ASAN_OPTIONS UBSAN_OPTIONS

# fuzz TARGET CORPUS SECONDS
fuzz()
{
    mkdir -p "$corpus/$2"
    log=$corpus/$2.log
    # shellcheck disable=SC2086  # the limits are several words
    FUZZ_TARGET=$1 "${FUZZ:?}" $limits -max_total_time="$3" -close_fd_mask=3 -print_final_stats=1 \
        -artifact_prefix="$corpus/findings/$2-" "$corpus/$2" "$seeds/$2" < /dev/null > "$log" 2>&1 || {
        found=1
        grep -vE '^(#|	)' "$log" || true
        echo "FAIL: $2: once the cause is mended, FUZZ_TARGET=$1 $FUZZ $(sed -n 's/.*Test unit written to //p' "$log") ends well"
    }
    awk -v name="$2" '
        /number_of_executed_units/ { count = $2 }
        /^#.* cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") covered = $(i + 1) }
        END { printf "%-9s %9d runs, %5d edges covered\n", name, count, covered }' "$log"
}

# Whole runs have the most to find.
part=$(((seconds + 19) / 20))
fuzz options options $part
fuzz taps taps $part
for format in nrrd meta nifti npy tiff png; do
    fuzz header $format $part
done
for kind in volumes pictures stacks; do
    fuzz run $kind $((4 * part))
done
exit $found
