#!/bin/sh
# OME-Zarr that voxfilt has written, read by zarr-python, tensorstore and ome-zarr-py, and judged by ome-zarr-models.
# Skipped where one of them is missing:
#   pip install --target READERS zarr tensorstore ome-zarr ome-zarr-models
#   PYTHONPATH=READERS make check TESTS=tests/zarr_readers.sh
# VOXFILT_STORES=500 makes 500 of them.
set -eu

python3 -c 'import zarr, tensorstore, ome_zarr.reader, ome_zarr_models' 2> /dev/null || {
    echo 'zarr, tensorstore, ome-zarr or ome-zarr-models is not here'
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 "${top_srcdir:?}/tests/zarr_readers.py" "${VOXFILT:?}" "${VOXFILT_STORES:-30}"
