#!/bin/sh
# Pictures on the command line: colour, alpha, profiles, and what a PNG carries beside its samples. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

conclude
