#!/bin/sh
# What becomes of samples that a type cannot hold: cut off, NaN, infinite; and the options that map them into it. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

conclude
