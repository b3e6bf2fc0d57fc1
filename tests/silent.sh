#!/bin/sh
# Below the commands nobody reads a command line, prints, or ends the process: what there is to tell stands in structs
# and faults, which src/cli turns into words. Details of a verbose run are diag_detail's, a bar is progress's, and
# wisdom tells of its own file.
set -eu

cd "${top_srcdir:?}"

speaks='(^|[^A-Za-z0-9_])((stdout|stderr|argv)([^A-Za-z0-9_]|$)|(diag_note|diag_error|exit|abort|v?printf|puts|putchar|perror)\()'

# Lines "FILE:LINE:TEXT".
lines()
{
    for folder in model format png plan run pipeline; do
        find "src/$folder" -name '*.[ch]' ! -name wisdom.c -exec grep -nE "$speaks" /dev/null {} +
    done
}

if lines | grep .; then
    echo 'FAIL: these lines are for src/cli'
    exit 1
fi
# The pattern finds what it is for.
grep -qE "$speaks" src/cli/notes.c
