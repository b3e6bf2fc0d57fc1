#!/bin/sh
# What a person reads who mistyped: suggestions, recognised files, notes. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

conclude
