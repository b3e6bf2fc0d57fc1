#!/bin/sh
# Runs that stop by themselves, and the reports of runs. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

conclude
