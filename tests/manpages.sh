#!/bin/sh
# The man pages say what is there: every option of --help and every filter of --list, in the same words, nothing more;
# every word that an option takes, every limit, and every exit status; options of both commands read the same on both
# pages; every example works; and the pages are clean.
set -u

# shellcheck source=tests/casebook.sh
. "$(dirname "$0")/casebook.sh"
man=$work/man
PATH=$(dirname "${VOXFILT:?}"):$(dirname "${MAKE_VOLUME:?}"):$PATH

# The tags of a section: the lines after .TP, without fonts.
tags() # PAGE SECTION
{
    awk -v section=".SH $2" '
        /^\.SH / { inside = ($0 == section) }
        inside && tag { print }
        { tag = ($0 == ".TP") }' "$man/$1" | sed 's/\\f[BIR]//g; s/\\-/-/g'
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
    voxfilt -i phantom.raw -n 64 -t f32 -f identity -o scans/one.nrrd
    voxfilt -i phantom.raw -d 64,128,32 -t f32 -f identity -o scans/two.nrrd
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
    sed -n "/^\.SH $section\$/,/^\.SH /p" "$man/$page" > words
    for word in "$@"; do
        grep -qw "$word" words || missing="$missing $word"
    done
    [ $# -gt 0 ] && [ -z "$missing" ]
    result $? "$page: $section names $*${missing:+, but not$missing}"
}

# What a page says of an option, and nothing where it says nothing.
paragraph() # PAGE OPTION
{
    awk -v option="$2" '
        /^\.S[HS] / { inside = 0 }
        /^\.SH / { options = ($0 == ".SH OPTIONS") }
        tag { plain = $0; gsub(/\\f[BIR]/, "", plain); gsub(/\\-/, "-", plain); gsub(/[=,[]/, " ", plain)
              inside = options && index(" " plain " ", " " option " ") }
        { tag = ($0 == ".TP") }
        inside && !/^\.TP/ { print }' "$man/$1" | sed '1d; s/\\-/-/g'
}

# Lines "OPTION WORD..." of a program. Filters have a page of their own, of levels the page has the limits, and options of
# the output take the words of those of the input.
words_of_options() # PROGRAM
{
    "$1" --completions=bash | sed -n "s/^    .*\(--[a-z-]*\)=) kind='word' words='\([^']*[^ ']\)' .*/\1 \2/p" |
        grep -v -e '^--filter ' -e '^--level ' -e '^--out-'
}

names_words() # PROGRAM
{
    words_of_options "$1" > word.lists
    while read -r option words; do
        paragraph "$1.1" "$option" > text
        missing=
        for word in $words; do
            grep -qw -e "$word" text || missing="$missing $word"
        done
        [ -s text ] && [ -z "$missing" ]
        result $? "$1.1: $option names $words${missing:+, but not$missing}"
    done < word.lists
    [ "$(wc -l < word.lists)" -ge 11 ]
    result $? "$1.1: lists of words were found"
}

# Where each number of limits.h, and each limit of base/threads.h and base/deflate.h, stands: PAGE OPTION NUMBER...
limits()
{
    cat <<'END'
voxfilt.1 --channels MOST_CHANNELS
voxfilt.1 --threads MOST_THREADS
imgheat.1 --threads MOST_THREADS
voxfilt.1 --spacing LEAST_SPACING MOST_SPACING
voxfilt.1 --tile MOST_TILE
imgheat.1 --tile MOST_TILE
voxfilt.1 --coarsen MOST_TILE
imgheat.1 --coarsen MOST_TILE
voxfilt.1 --steps HEAT_STEPS
imgheat.1 --steps HEAT_STEPS
voxfilt.1 --until UNTIL_STEPS
imgheat.1 --until UNTIL_STEPS
voxfilt.1 --level MOST_LEVEL GZIP_LEVEL
imgheat.1 --level MOST_LEVEL PNG_LEVEL
imgheat.1 --quality JPEG_QUALITY
imgheat.1 --frames MOST_FRAMES
END
}

names_limits()
{
    sed -n 's/^#define \([A-Z_]*\)  *\([0-9][^ ]*\).*/\1 \2/p' "$top_srcdir/src/model/limits.h" > numbers
    sed -n 's/^#define \(MOST_[A-Z_]*\)  *\([0-9][^ ]*\).*/\1 \2/p' "$top_srcdir/src/base/threads.h" \
        "$top_srcdir/src/base/deflate.h" >> numbers
    limits > limits.told
    while read -r page option names; do
        paragraph "$page" "$option" > text
        for name in $names; do
            number=$(sed -n "s/^$name //p" numbers)
            [ -n "$number" ] && grep -qw -e "$number" text
            result $? "$page: $option names $name, $number"
        done
    done < limits.told
    sed 's/ .*//' numbers | sort > numbers.there
    tr ' ' '\n' < limits.told | grep _ | sort -u | diff numbers.there -
    result $? 'every number of limits.h stands in a man page'
}

# Options whose paragraphs differ between the two commands, because what they do does.
differing='--input --output -d --crop --out-range --alpha --dt --sigma --flux-channels --level --check-every --threads --memory --verbose'

reads_the_same()
{
    tags voxfilt.1 OPTIONS | grep -o -e '--[a-z-]*' > shared
    tags imgheat.1 OPTIONS | grep -o -e '--[a-z-]*' | grep -xF -f - shared > both
    while read -r option; do
        case " $differing " in
        *" $option "*) continue ;;
        esac
        paragraph voxfilt.1 "$option" > text
        paragraph imgheat.1 "$option" | diff text - && [ -s text ]
        result $? "$option reads the same on both pages"
    done < both
    [ -s both ]
    result $? 'options of both commands were found'
}

# Lines "NUMBER WORDS" of statuses.def.
statuses()
{
    sed -n 's/^STATUS([A-Z]*, \([0-9]*\), "\(.*\)").*/\1 \2/p' "$top_srcdir/src/base/statuses.def"
}

# What a section says, in one line, without fonts.
line_of() # PAGE SECTION
{
    sed -n "/^\.SH $2\$/,/^\.SH /p" "$man/$1" | sed '1d; /^\.SH /d; s/^\.[A-Z]* *//; s/\\-/-/g' | xargs -d '\n'
}

# Each status stands, in the words of the list, in the help and on the page of a command, and no others do.
names_statuses() # PROGRAM
{
    wanted=$(statuses | paste -s -d , - | sed 's/,/, /g')
    "$1" --help | sed -n '/^Exit status: /,/\.$/p' | xargs -d '\n' > text
    [ "$(cat text)" = "Exit status: $wanted." ]
    result $? "$1 --help: exit statuses"
    line_of "$1.1" 'EXIT STATUS' | sed 's/ *; see EXIT STATUS in voxfilt (7)\..*//' > text
    [ "$(cat text)" = "$wanted" ]
    result $? "$1.1: exit statuses"
}

# Lines "NUMBER TEXT" of the long list.
statuses_of_page()
{
    sed -n '/^\.SH EXIT STATUS$/,/^\.SH /p' "$man/voxfilt.7" | sed '1d; /^\.SH /d; s/\\-/-/g' |
        awk '$0 == ".TP" { tag = 1; next }
             { sub(/^\.[A-Z]+ */, "") }
             tag { printf "%s%s", (lines++ ? "\n" : ""), $0; tag = 0; next }
             { printf " %s", $0 }
             END { print "" }'
}

# There, each begins with the words of the list.
lists_statuses()
{
    statuses_of_page | sort > statuses.page
    statuses | sort > statuses.there
    [ "$(wc -l < statuses.page)" -eq "$(wc -l < statuses.there)" ]
    result $? 'voxfilt.7: as many exit statuses as there are'
    while read -r number words; do
        grep -i "^$number $words[.:]" statuses.page > text
        result $? "voxfilt.7: exit status $number $words"
    done < statuses.there
    [ -s statuses.there ]
    result $? 'exit statuses were found'
}

signals_of_guard()
{
    sed -n 's/.*signals\[\] = {\(.*\)};/\1/p' "$top_srcdir/src/base/temp_cleanup.c" | sed 's/SIG//g; s/,//g'
}

instruction_sets()
{
    sed -n 's/.*-DCPU_ISA=\([a-z0-9]*\).*/\1/p' "$top_srcdir/Makefile.am" | sort -u
}

# A page has a date, is of the program's version, and is clean.
is_clean() # PAGE
{
    version=$(voxfilt --version | sed 's/.* //')
    grep -q "^\\.TH .* \"20[0-9][0-9]-[01][0-9]-[0-3][0-9]\" \"voxfilt $version\"" "$man/$1"
    result $? "$1: has a date and is of version $version"
    if command -v mandoc > mandoc.path; then
        mandoc -T lint -W warning "$man/$1"
        result $? "$1: mandoc"
    elif command -v groff > groff.path; then
        groff -man -Tascii -ww -z "$man/$1" > groff.said 2>&1
        cat groff.said
        [ ! -s groff.said ]
        result $? "$1: groff"
    else
        skip "$1: neither mandoc nor groff is here"
    fi
}

# A section that one page sends its readers to is there on the other.
refers_rightly() # PAGE
{
    awk '
        /^\.B [A-Z ]+$/ { section = substr($0, 4); next }
        section != "" && /^in$/ { waiting = 1; next }
        waiting && /^\.BR voxfilt \(7\)/ { print section }
        { section = ""; waiting = 0 }' "$man/$1" | sort -u > sections
    while read -r section; do
        grep -qx "\.SH $section" "$man/voxfilt.7"
        result $? "$1: $section is in voxfilt.7"
    done < sections
    [ -s sections ]
    result $? "$1: refers to voxfilt.7"
}

# Those that are computed in f64.
types_of_f64()
{
    sed -n 's/^[A-Z_]*SAMPLE([A-Z0-9]*, \([a-z0-9]*\),.* WORK_F64, .*/\1/p' "$top_srcdir/src/model/samples.def" | xargs
}

mkdir "$man" || exit 1
cp "${top_builddir:?}/man/voxfilt.1" "$top_builddir/man/imgheat.1" "${top_srcdir:?}/man/voxfilt.7" "$man" || exit 1
cd "$work" || exit 1
filters_of_list > filters
tags voxfilt.7 FILTERS > filters.page
same 'voxfilt.7: filters' filters filters.page
voxfilt --list | sed -n '/^formats:/,/^devices:/s/^  \([^ ]*\).*/\1/p' > formats
tags voxfilt.7 FORMATS | sed 's/^\.B //' > formats.page
same 'voxfilt.7: formats' formats formats.page
# shellcheck disable=SC2046  # words
names_all voxfilt.7 FORMATS $(signals_of_guard)
# shellcheck disable=SC2046
names_all voxfilt.7 ENVIRONMENT $(instruction_sets)
wide=$(types_of_f64)
# shellcheck disable=SC2086  # words
names_all voxfilt.7 ARITHMETIC $wide
voxfilt --help | grep -q -- " --work=.*(f64 for $(echo "$wide" | sed 's/ /, /g'))"
result $? "--help: --work names $wide"
is_clean voxfilt.7
names_limits
lists_statuses
reads_the_same

(cd run && make_inputs) || exit 1
for page in voxfilt imgheat; do
    options_of_help "$page" > options
    tags "$page.1" OPTIONS > options.page
    same "$page.1: options" options options.page
    names_words "$page"
    names_statuses "$page"
    refers_rightly "$page.1"
    is_clean "$page.1"

    rm -f example.*
    cut_examples "$page"
    cd run || exit 1
    for script in "$work"/example.*; do
        run_example "$script"
    done
    cd ..
done

conclude
