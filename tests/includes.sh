#!/bin/sh
# Dependencies point one way (HACKING.md): this reads every #include "…" of src/ and kernels/ and holds it against the
# table below, then looks for circles.
set -eu

# Names are of rooms: grid is grid.h and grid.c. A * ends a name that begins so.
#   WHO only WHOM      WHO includes nothing else of ours
#   WHO never WHOM     WHO includes anything else
#   WHOM from WHO      nobody else includes WHOM
# Every room may include itself. The rules for a room add up.
rules()
{
    vocabulary='diag mem clock glyph number suggest thread machine program'
    model='grid sample stencil taps_file edge heat filter filters looks stage stages'
    above='lower wisdom chain route passes plan job ring carrier sweep run bench progress history options'
    above="$above record phrase loss effect explain list report* outputs budget task batch command voxfilt"

    cat <<END
$vocabulary         only   $vocabulary
file guard          only   $vocabulary guard
guard               from   file
budget              only   $vocabulary
$model              only   $vocabulary $model backend arith
format* png_*       only   $vocabulary grid sample edge file spool kind format* png_* icc
icc                 only   icc
icc                 from   png_profile
kind                only   $vocabulary
ring carrier        only   $vocabulary backend ring carrier
spool               only   $vocabulary file spool
lower chain route passes plan sweep run loss never options command bench
wisdom              only   $vocabulary file backend
bench               never  options command report
bench               from   command
job                 never  options command report
backend arith       only   diag mem sample edge backend arith
encoding op         only   diag mem sample edge backend arith
cpu_*               only   diag mem thread sample edge backend arith cpu_*
cuda_*              only   diag mem sample edge backend arith cuda_*
cpu_*               from   cpu_*
cuda_*              from   cuda_*
arith               from   arith encoding cpu_* cuda_* sample stencil heat filter stage lower
$above              from   $above
END
}

# Lines "ROOM INCLUDED-ROOM FILE:LINE".
includes()
{
    find "$1/src" "$1/kernels" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inl' -o \
        -name '*.def' \) | sort | while IFS= read -r file; do
        awk -v file="$file" '
            function room(path) {
                sub(/.*\//, "", path)
                sub(/\..*/, "", path)
                return path
            }
            /^[ \t]*#[ \t]*include[ \t]*"/ {
                split($0, part, "\"")
                print room(file), room(part[2]), file ":" FNR
            }' "$file"
    done
}

{
    rules
    includes "${top_srcdir:?}"
} | awk '
    # Whether name is in a list of names, some ending with a star.
    function listed(name, list,    words, count, i) {
        count = split(list, words, " ")
        for (i = 1; i <= count; i++) {
            if (words[i] == name)
                return 1
            if (words[i] ~ /\*$/ && index(name, substr(words[i], 1, length(words[i]) - 1)) == 1)
                return 1
        }
        return 0
    }
    function complain(text) {
        print "FAIL: " text
        failed = 1
    }
    # Follow all includes of a room; path holds the rooms on the way to it.
    function follow(room, path,    words, count, i) {
        state[room] = "open"
        count = split(targets[room], words, " ")
        for (i = 1; i <= count; i++) {
            if (state[words[i]] == "open")
                complain("a circle:" path " " room " " words[i])
            else if (state[words[i]] == "")
                follow(words[i], path " " room)
        }
        state[room] = "done"
    }

    match($0, / (only|never|from) /) {
        rule_left[++rules] = substr($0, 1, RSTART - 1)
        rule_verb[rules] = substr($0, RSTART + 1, RLENGTH - 2)
        rule_right[rules] = substr($0, RSTART + RLENGTH)
        next
    }
    {
        from = $1
        to = $2
        rooms[from]
        included++
        if (from == to)
            next
        if (!listed(to, targets[from]))
            targets[from] = targets[from] " " to
        for (i = 1; i <= rules; i++) {
            subject = rule_verb[i] == "from" ? to : from
            object = rule_verb[i] == "from" ? from : to
            if (!listed(subject, rule_left[i]))
                continue
            if (listed(object, rule_right[i]) == (rule_verb[i] == "never"))
                complain($3 ": " from " may not include " to)
        }
    }
    END {
        for (room in rooms)
            if (state[room] == "")
                follow(room, "")
        if (included == 0)
            complain("no includes found")
        exit failed
    }'
