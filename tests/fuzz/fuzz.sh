#!/bin/sh
# Run every fuzz target, for so many seconds of one processor in all, and each processor one at a time. Usage: fuzz.sh SECONDS
# FOLDER, with the fuzz program in $FUZZ, and the commands in $VOXFILT and $IMGHEAT. What is found that reaches more code than
# before is kept in FOLDER for the next time; an input that fails is kept in FOLDER/findings, and the status is 1.
set -eu

seconds=${1:?} corpus=${2:?}
mkdir -p "$corpus/findings"
corpus=$(cd "$corpus" && pwd)
TMPDIR=$(mktemp -d /dev/shm/fuzz-XXXXXX)
trap 'rm -rf "$TMPDIR"' EXIT
export TMPDIR
seeds=$TMPDIR/seeds
sh "$(dirname "$0")/seeds.sh" "$seeds"
ASAN_OPTIONS=malloc_context_size=10:quarantine_size_mb=16:thread_local_quarantine_size_kb=64
UBSAN_OPTIONS=print_stacktrace=1
# libFuzzer looks for leaks after every run that may have left one. The sanitizer's own look at exit could find no more, and
# crashes now and then.
LSAN_OPTIONS=leak_check_at_exit=0
export corpus seeds ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS

# Whole runs have the most to find. They take the longest, so they come first.
part=$(((seconds + 20) / 21))
{
    for kind in volumes pictures stacks; do
        echo run $kind $((4 * part))
    done
    for format in nrrd meta nifti npy tiff png; do
        echo header $format $part
    done
    echo zarr zarr $part options options $part taps taps $part
} | xargs -n 3 -P "$(getconf _NPROCESSORS_ONLN)" sh "$(dirname "$0")/fuzz_one.sh" || exit 1
