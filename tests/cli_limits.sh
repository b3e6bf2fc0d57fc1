#!/bin/sh
# Inputs and surroundings at the edge of what can be: long names, endless files, numbers out of range, pipes that do not wait. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

conclude
