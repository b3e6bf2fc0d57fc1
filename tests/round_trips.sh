#!/bin/sh
# Round trips through every format, type, byte order and encoding, by voxfilt and by the libraries of others (readers.py).
# Skipped without NumPy; where REQUIRE_READERS is set, all these libraries must be there.
set -u

command -v python3 > /dev/null || { echo 'there is no python3'; [ -z "${REQUIRE_READERS:-}" ] && exit 77; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
python3 "${top_srcdir:?}/tests/readers.py" "${VOXFILT:?}"
