#!/bin/sh
# Hyperstacks of TIFF pages, by tifffile and by voxfilt (hyperstacks.py). Skipped without NumPy and tifffile; where
# REQUIRE_READERS is set, they must be there.
set -u

lacks()
{
    echo "$1"
    [ -z "${REQUIRE_READERS:-}" ] && exit 77
    exit 1
}

python3 -c 'import numpy, tifffile' || lacks 'there is no python3 with numpy and tifffile'
grep -q '^#define HAVE_TIFF 1' "${top_builddir:?}/config.h" || lacks 'this build has no libtiff'
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
python3 "${top_srcdir:?}/tests/hyperstacks.py" "${VOXFILT:?}"
