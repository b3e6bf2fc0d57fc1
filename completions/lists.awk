# What the program's own lists say of its options, for other awk programs: how each is written, and the words it takes.
#
# Usage: awk -v program=voxfilt|imgheat -f lists.awk -f OTHER.awk LISTS..., where LISTS are limits.h and every .def file. At
# the end there are, for options 1 to `options`: letters ("-f" or ""), names (without dashes, or ""), arguments, helps;
# words_of() and forms_of(); and `filters`, all filters with a blank before each.

# The next argument of the call in `rest`: texts without their quotes, or a word.
function take(    value, part) {
    sub(/^[ \t]*/, "", rest)
    if (!match(rest, /^("|TEXT\()/)) {
        match(rest, /^[^,)]*/)
        value = substr(rest, 1, RLENGTH)
        rest = substr(rest, RLENGTH + 1)
    }
    while (match(rest, /^("([^"\\]|\\.)*"|TEXT\([A-Z_]*\))[ \t]*/)) {
        part = substr(rest, 1, RLENGTH)
        rest = substr(rest, RLENGTH + 1)
        sub(/[ \t]*$/, "", part)
        value = value (part ~ /^"/ ? substr(part, 2, length(part) - 2) : number(substr(part, 6, length(part) - 6)))
    }
    sub(/^[ \t]*[,)]/, "", rest)
    return value
}

function fail(text) {
    print FILENAME ":" FNR ": " text > "/dev/stderr"
    failed = 1
    exit 1
}

function number(name) {
    if (!(name in numbers))
        fail("there is no number " name)
    return numbers[name]
}

function add_option(    letter, name, argument, choices, programs, help) {
    letter = take()
    name = take()
    argument = take()
    choices = take()
    programs = take()
    take()
    help = take()
    if (programs !~ /^(BOTH|VOXFILT|IMGHEAT)$/ || help == "")
        fail("not an option: " call)
    if (choices != "NULL" && !(choices in words))
        fail("there is no list " choices)
    if (programs != "BOTH" && tolower(programs) != program)
        return
    options++
    letters[options] = letter ~ /^'.'$/ ? "-" substr(letter, 2, 1) : ""
    names[options] = name == "NULL" ? "" : name
    arguments[options] = argument == "NULL" ? "" : argument
    tables[options] = choices
    helps[options] = expanded(help, argument ~ /:/ ? words[choices] : forms[choices])
}

# A filter as far as it is the same for everybody; an axis is written out.
function add_filter(    name, syntax) {
    name = take()
    syntax = take()
    if (name !~ /^[a-z]+$/)
        fail("not a filter: " call)
    if (syntax == ":x|y|z")
        filters = filters " " name ":x " name ":y " name ":z"
    else
        filters = filters " " name (syntax == "" ? "" : ":")
}

# A word of a list, and the syntax of what may follow it.
function add_word(table, word, syntax,    divider) {
    if (word !~ /^[a-z0-9.]+$/)
        fail("not a word of a list: " call)
    divider = table in words ? " " : ""
    words[table] = words[table] divider word
    forms[table] = forms[table] divider word syntax
}

# As option_table.c puts a list into help.
function expanded(help, list,    rest_of_list) {
    if (sub(/\{a b\}/, list, help))
        return help
    gsub(/ /, ", ", list)
    if (sub(/\{a, b\}/, list, help))
        return help
    rest_of_list = list
    sub(/^[^,]*/, "", rest_of_list)
    if (sub(/\{a \(default\), b\}/, substr(list, 1, length(list) - length(rest_of_list)) " (default)" rest_of_list, help))
        return help
    if (match(list, /, [^,]*$/))
        list = substr(list, 1, RSTART - 1) " or " substr(list, RSTART + 2)
    sub(/\{a or b\}/, list, help)
    return help
}

/^#define [A-Z_]+ +[0-9]/ {
    numbers[$2] = $3
}

/^[A-Z_]+\(/ {
    call = $0
    while (call !~ /\)[ \t]*$/ && (getline line) > 0)
        call = call line
    rest = call
    kind = substr(call, 1, index(call, "(") - 1)
    sub(/^[A-Z_]*\(/, "", rest)
    if (kind == "OPTION")
        add_option()
    else if (kind == "FILTER")
        add_filter()
    else if (kind == "CHOICES")
        table = take()
    else if (kind == "CHOICE") {
        take()
        word = take()
        add_word(table, word, take())
    } else if (kind ~ /^(HALF_|WORK_)?SAMPLE$/) {
        take()
        word = take()
        add_word("sample_choices", word, "")
        if (kind == "WORK_SAMPLE")
            add_word("work_choices", word, "")
    } else if (kind == "EDGE") {
        take()
        word = take()
        add_word("edge_choices", word, take())
    } else if (kind == "FLUX") {
        take()
        add_word("flux_choices", take(), "")
    } else if (kind == "VOLUME_FORMAT") {
        take()
        add_word("format_choices", take(), "")
    }
}

function may_be_left_out(option) {
    return arguments[option] ~ /^\[/
}

# The words that an option takes, with a blank between each two; "" if it takes anything else.
function words_of(option) {
    if (tables[option] != "NULL")
        return words[tables[option]]
    return names[option] == "level" ? words_to(number("MOST_LEVEL")) : ""
}

# The same, with the syntax of what may follow them.
function forms_of(option) {
    return tables[option] == "NULL" ? words_of(option) : forms[tables[option]]
}

function words_to(most,    i, list) {
    for (i = 0; i <= most; i++)
        list = list (i > 0 ? " " : "") i
    return list
}
