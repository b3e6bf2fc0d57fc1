#!/bin/sh
# Zarr stores of other libraries, read by voxfilt (zarr_stores.py). Skipped without NumPy and zarr; where REQUIRE_READERS is
# set, they must be there. PYTHONPATH chooses zarr 2 or 3.
set -u

lacks()
{
    echo "$1"
    [ -z "${REQUIRE_READERS:-}" ] && exit 77
    exit 1
}

python3 -c 'import numpy, zarr' || lacks 'there is no python3 with numpy and zarr'
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
python3 -W ignore "${top_srcdir:?}/tests/zarr_stores.py" "${VOXFILT:?}"
