#!/bin/sh
# What the manual promises of results: runs that can be cut in two, snapshots, spacing, agreement with scipy.ndimage. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

conclude
