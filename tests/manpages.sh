#!/bin/sh
# The man pages say what is there: every option of --help and every filter of --list, in the same words, nothing more;
# every example works; and the pages are clean.
set -u

# shellcheck source=tests/casebook.sh
. "$(dirname "$0")/casebook.sh"
man=${top_srcdir:?}/man
PATH=$(dirname "${VOXFILT:?}"):$(dirname "${MAKE_VOLUME:?}"):$PATH

# The tags of a section: the lines after .TP, without fonts.
tags() # PAGE SECTION
{
    awk -v section=".SH $2" '
        /^\.SH / { inside = ($0 == section) }
        inside && tag { print }
        { tag = ($0 == ".TP") }' "$man/$1.1" | sed 's/\\f[BIR]//g; s/\\-/-/g'
}

options_of_help()
{
    "$1" --help | sed -n 's/^  \(-[^ ].*\)$/\1/p; s/^      \(--.*\)$/\1/p' | sed 's/  .*//; s/^\(-[a-zA-Z] [^ ]*\) .*/\1/'
}

filters_of_list()
{
    voxfilt --list | sed -n '/^filters:/,/^rungs:/s/^  \(.*\)/\1/p' | sed 's/   *.*//'
}

same() # WHAT HAVE WANT
{
    sort "$2" > "$2.sorted"
    sort "$3" > "$3.sorted"
    if [ ! -s "$2" ]; then
        result 1 "$1: nothing was found"
    elif diff "$2.sorted" "$3.sorted"; then
        result 0 "$1"
    else
        result 1 "$1: < is in the program alone, > in the man page alone"
    fi
}

# Each example becomes a script example.N.
cut_examples()
{
    awk -v stem="$work/example." '
        /^\.SH / { inside = ($0 == ".SH EXAMPLES") }
        inside && $0 == ".EX" { count++; script = stem count; next }
        $0 == ".EE" { script = "" }
        script != "" { print > script }' "$man/$1.1"
    for script in "$work"/example.*; do
        sed 's/\\-/-/g; s/\\(aq/'\''/g; s/\\e/\\/g' "$script" > "$work/plain"
        mv "$work/plain" "$script"
    done
}

# The inputs that examples name.
make_inputs()
{
    make_volume -n 256 -t u8 -o vol.raw
    make_volume -n 64 -t f32 -o phantom.raw
    make_volume -d 128,128,64 -t u16 -o ct.raw
    { head -c 512 /dev/zero; make_volume -n 32 -t u16; } > old.img
    make_picture -d 320,240 -o in.png
    make_picture -d 64,64 --rgba -o logo.png
    mkdir scans
    make_picture -d 64,80 -o scans/one.png
    make_picture -d 80,64 --gray --depth 16 -o scans/two.png
}

# The files that an example writes: what follows -o and >.
outputs_of()
{
    tr ' ' '\n' < "$1" | awk '(last == "-o" || last == ">") && $0 != "/dev/null" { print } { last = $0 }'
}

has_output()
{
    case $1 in
    */) [ -n "$(ls "$1")" ] ;;
    *) [ -s "$1" ] ;;
    esac
}

run_example()
{
    first=$(sed -n '1s/ \\$/ .../p; 1s/\(.*[^\\]\)$/\1/p' "$1" | head -n 1)
    if ! sh -e "$1" > stdout 2> stderr; then
        cat stderr
        result 1 "example: $first"
        return
    fi
    for output in $(outputs_of "$1"); do
        has_output "$output" || { result 1 "example: $first: $output is missing"; return; }
    done
    result 0 "example: $first"
}

# Every word of a list that the sources have stands in a section of the page.
names_all() # PAGE SECTION WORD...
{
    page=$1 section=$2 missing=
    shift 2
    sed -n "/^\.SH $section\$/,/^\.SH /p" "$man/$page.1" > words
    for word in "$@"; do
        grep -qw "$word" words || missing="$missing $word"
    done
    [ $# -gt 0 ] && [ -z "$missing" ]
    result $? "$page.1: $section names $*${missing:+, but not$missing}"
}

signals_of_guard()
{
    sed -n 's/.*signals\[\] = {\(.*\)};/\1/p' "$top_srcdir/src/base/guard.c" | sed 's/SIG//g; s/,//g'
}

instruction_sets()
{
    sed -n 's/.*-DCPU_ISA=//p' "$top_srcdir/Makefile.am"
}

cd "$work" || exit 1
filters_of_list > filters
tags voxfilt FILTERS > filters.page
same 'voxfilt.1: filters' filters filters.page

(cd run && make_inputs) || exit 1
for page in voxfilt imgheat; do
    options_of_help "$page" > options
    tags "$page" OPTIONS > options.page
    same "$page.1: options" options options.page

    # shellcheck disable=SC2046  # words
    names_all "$page" 'INPUT AND OUTPUT FILES' $(signals_of_guard)
    # shellcheck disable=SC2046
    names_all "$page" ENVIRONMENT $(instruction_sets)

    rm -f example.*
    cut_examples "$page"
    cd run || exit 1
    for script in "$work"/example.*; do
        run_example "$script"
    done
    cd ..

    version=$("$page" --version | sed 's/.* //')
    grep -q "^\\.TH .* \"20[0-9][0-9]-[01][0-9]-[0-3][0-9]\" \"voxfilt $version\"" "$man/$page.1"
    result $? "$page.1: has a date and is of version $version"

    if command -v mandoc > mandoc.path; then
        mandoc -T lint -W warning "$man/$page.1"
        result $? "$page.1: mandoc"
    elif command -v groff > groff.path; then
        groff -man -Tascii -ww -z "$man/$page.1" > groff.said 2>&1
        cat groff.said
        [ ! -s groff.said ]
        result $? "$page.1: groff"
    else
        skip "$page.1: neither mandoc nor groff is here"
    fi
done

conclude
