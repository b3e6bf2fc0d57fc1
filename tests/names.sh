#!/bin/sh
# Every source, script and document that a comment or a document names is there. Prints a line for each that is not.
set -u

cd "${top_srcdir:?}" || exit 1
there=$(mktemp) || exit 1
trap 'rm -f "$there"' EXIT

files()
{
    find src kernels tests samples bench man m4 -name .deps -prune -o -type f -print
    ls HACKING.md NEWS README.md Makefile.am configure.ac
}

# Lines "NAME FILE", of names of such files; those of the system stand in <>, those of the configuration are made, and
# shorter ones are members of structs.
mentions()
{
    files | while IFS= read -r file; do
        sed -E 's/<[^<>]*>//g; s|[^ ]*\$[^ ]*||g; s/\.( |$)/ /g' "$file" |
            grep -oE '[A-Za-z0-9_][A-Za-z0-9_-]{2,}\.(c|h|cu|cuh|inl|def|sh|md|py|cpp)([^A-Za-z0-9_.(]|$)' |
            sed 's/[^A-Za-z0-9_.]$//' | sort -u | sed "s|\$| $file|"
    done | grep -vE '^(config\.h|conftest\.cu|conftest\.c|png\.h|bzlib\.h) '
}

files | sed 's|.*/||' > "$there"
mentions | awk -v there="$there" '
    BEGIN {
        while ((getline name < there) > 0)
            known[name]
    }
    { mentioned++ }
    !($1 in known) {
        print "FAIL: " $2 ": there is no " $1
        failed = 1
    }
    END {
        if (mentioned < 100) {
            print "FAIL: no names were found"
            failed = 1
        }
        exit failed
    }'
