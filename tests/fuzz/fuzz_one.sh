#!/bin/sh
# Run a fuzz target with one of its corpora, and print what it has done. Usage: fuzz_one.sh TARGET CORPUS SECONDS; fuzz.sh
# calls it, with folders in $corpus and $seeds.
set -u

# Inputs are short, so that each run is. A run that takes seconds, or GiB, is a finding as well, and so is a leak.
limits='-max_len=4096 -timeout=60 -rss_limit_mb=2048 -malloc_limit_mb=1024'

found=0
log=${corpus:?}/$2.log
mkdir -p "$corpus/$2"
# shellcheck disable=SC2086  # the limits are several words
FUZZ_TARGET=$1 "${FUZZ:?}" $limits -max_total_time="$3" -close_fd_mask=3 -print_final_stats=1 \
    -artifact_prefix="$corpus/findings/$2-" "$corpus/$2" "${seeds:?}/$2" < /dev/null > "$log" 2>&1 || {
    found=1
    grep -vE '^(#|	)' "$log"
    echo "FAIL: $2: once the cause is mended, FUZZ_TARGET=$1 $FUZZ $(sed -n 's/.*Test unit written to //p' "$log") ends well"
}
awk -v name="$2" '
    /number_of_executed_units/ { count = $2 }
    /^#.* cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") covered = $(i + 1) }
    END { printf "%-9s %9d runs, %5d edges covered\n", name, count, covered }' "$log"
exit $found
