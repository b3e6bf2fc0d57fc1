#!/bin/sh
# A fault that is about a file or an option says so in a field, which fault_set_for fills: no fault_raise has a format
# that begins with "%s: " or with an option, if samples are read, planned, or written there. Prints a line for each that has.
set -u

cd "${top_srcdir:?}" || exit 1
find src/base src/format src/png src/plan src/pipeline kernels -type f \( -name '*.c' -o -name '*.cu' \) | sort | xargs awk '
    FNR == 1 { open = 0 }
    /fault_raise\(/ { open = 2 }
    open && /"%s: / {
        print "FAIL: " FILENAME ":" FNR ": a subject in the text of a fault: fault_set_for has a field for it"
        failed = 1
    }
    /fault_set_for\(/ { about++ }
    open { open-- }
    END {
        if (about < 50) {
            print "FAIL: the sources were not read"
            failed = 1
        }
        exit failed
    }'
