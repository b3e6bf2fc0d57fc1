#!/bin/sh
# What is printed is ASCII: no source has other characters outside comments. Prints a line for each that has.
set -u

cd "${top_srcdir:?}" || exit 1

LC_ALL=C
export LC_ALL
find src kernels -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inl' -o -name '*.def' \) |
    sort | xargs awk '
    # The line without comments; one that goes on leaves `inside` set.
    function code(line,    kept, at) {
        kept = ""
        while (line != "") {
            at = index(line, inside ? "*/" : "/*")
            if (!inside)
                kept = kept (at ? substr(line, 1, at - 1) : line)
            if (!at)
                break
            line = substr(line, at + 2)
            inside = !inside
        }
        return kept
    }
    FNR == 1 { inside = 0 }
    code($0) ~ /[^\t-~]/ {
        print "FAIL: " FILENAME ":" FNR ": characters that are not ASCII outside a comment"
        failed = 1
    }
    /[^\t-~]/ { found++ }
    END {
        if (!found) {
            print "FAIL: no comments were read"
            failed = 1
        }
        exit failed
    }'
