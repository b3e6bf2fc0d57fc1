#!/bin/sh
# The real cases that VOXFILT_CASES names: files and numbers from elsewhere. Sets run side by side, since the judge spends
# its time in one Python thread.
set -eu

[ -n "${VOXFILT_CASES-}" ] || { echo 'VOXFILT_CASES is not set'; exit 77; }
command -v python3 >/dev/null 2>&1 || { echo 'python3 is missing'; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

judge()
{
    python3 "$VOXFILT_CASES/run.py" --voxfilt "$VOXFILT" --imgheat "$IMGHEAT" --set "$1" > "$work/$1" 2>&1
}

judge filters &
filters=$!
judge stencil3d &
stencil3d=$!
judge png || status=1
judge vol || status=1
wait $filters || status=1
wait $stencil3d || status=1

for set in filters stencil3d png vol; do
    echo "$set:"
    cat "$work/$set"
done
exit $status
