# Completions of a command for a shell, on standard output.
#
# Usage: awk -v shell=bash|zsh -v program=voxfilt|imgheat -v command=NAME -f lists.awk -f completions.awk LISTS...

function completions_of(option) {
    return names[option] == "filter" ? substr(filters, 2) : words_of(option)
}

# Words that may have a file behind a colon.
function words_before_files(option) {
    if (names[option] == "filter")
        return "taps"
    return arguments[option] ~ /:FILE/ ? words_of(option) : ""
}

# ---- bash

function patterns_of(option,    long) {
    long = names[option] == "" ? "" : "--" names[option]
    return letters[option] (letters[option] != "" && long != "" ? " | " : "") long
}

# What may be left out stands behind an equals sign or not at all.
function print_bash_cases(    i) {
    for (i = 1; i <= options; i++) {
        if (arguments[i] == "")
            continue
        printf "    %s) ", may_be_left_out(i) ? "--" names[i] "=" : patterns_of(i) (names[i] == "" ? "" : " | --" names[i] "=")
        if (arguments[i] == "FILE")
            print "kind='file' ;;"
        else
            printf "kind='word' words='%s' before_files='%s' ;;\n", completions_of(i), words_before_files(i)
    }
}

function print_bash(    i, all) {
    for (i = 1; i <= options; i++) {
        all = all (letters[i] != "" && names[i] == "" ? " " letters[i] : "")
        if (names[i] != "")
            all = all " --" names[i] (arguments[i] == "" || may_be_left_out(i) ? "" : "=")
    }
    print "# Completions of " command " for bash."
    print ""
    print "_" program "()"
    print "{"
    print "    local line=${COMP_LINE:0:COMP_POINT} typed option lead='' breaks='' kept='' word before_files='' kind='file'"
    print "    local words='" substr(all, 2) "'"
    print ""
    print "    # Words as blanks divide them, whatever else divides them for the shell."
    print "    typed=${line##*[[:space:]]}"
    print "    line=${line%\"$typed\"}"
    print "    line=${line%\"${line##*[![:space:]]}\"}"
    print "    option=${line##*[[:space:]]}"
    print "    case $typed in"
    print "    --*=*) option=${typed%%=*}= lead=${typed%%=*}= ;;"
    print "    -*) kind='option' ;;"
    print "    esac"
    print "    case $option in"
    print_bash_cases()
    print "    esac"
    print "    for word in $before_files; do"
    print "        if [[ $typed == \"$lead$word\":* ]]; then"
    print "            lead=$lead$word: kind='file'"
    print "            break"
    print "        fi"
    print "    done"
    print "    if [ $kind = file ]; then"
    print "        compopt -o filenames 2> /dev/null"
    print "        mapfile -t COMPREPLY < <(compgen -P \"$lead\" -f -- \"${typed#\"$lead\"}\")"
    print "    else"
    print "        mapfile -t COMPREPLY < <(compgen -P \"$lead\" -W \"$words\" -- \"${typed#\"$lead\"}\")"
    print "        [[ ${COMPREPLY[0]-} == *[=:] ]] && compopt -o nospace 2> /dev/null"
    print "    fi"
    print ""
    print "    # The shell puts in what comes behind the last of its own dividers."
    print "    [[ $COMP_WORDBREAKS == *=* ]] && breaks+='='"
    print "    [[ $COMP_WORDBREAKS == *:* ]] && breaks+=':'"
    print "    [ -n \"$breaks\" ] && kept=${typed%\"${typed##*[\"$breaks\"]}\"}"
    print "    COMPREPLY=(\"${COMPREPLY[@]#\"$kept\"}\")"
    print "}"
    print "complete -F _" program " " command
}

# ---- zsh

# Text within a specification: what would end it or mean something there is escaped.
function plain(text) {
    gsub(/\\"/, "\"", text)
    gsub(/[]\[:\\]/, "\\\\&", text)
    gsub(/'/, "'\\''", text)
    return text
}

function action_of(option,    list) {
    list = completions_of(option)
    gsub(/:/, "\\:", list)
    return arguments[option] == "FILE" ? "_files" : list != "" ? "(" list ")" : " "
}

function print_zsh_option(option,    takes, tail) {
    takes = arguments[option] != ""
    tail = "[" plain(helps[option]) "]"
    if (takes)
        tail = tail (may_be_left_out(option) ? "::" : ":") plain(arguments[option]) ":" action_of(option)
    if (letters[option] == "")
        printf "    '*--%s%s%s' \\\n", names[option], takes ? "=" (may_be_left_out(option) ? "-" : "") : "", tail
    else if (names[option] == "")
        printf "    '*%s%s%s' \\\n", letters[option], takes ? "+" : "", tail
    else
        printf "    '*'{%s%s,--%s%s}'%s' \\\n", letters[option], takes ? "+" : "", names[option], takes ? "=" : "", tail
}

function print_zsh(    i) {
    print "#compdef " command
    print "# Completions of " command " for zsh."
    print ""
    print "_arguments -s -S \\"
    for (i = 1; i <= options; i++)
        print_zsh_option(i)
    print "    '*:" (program == "imgheat" ? "picture" : "volume") ":_files'"
}

END {
    if (failed)
        exit 1
    if (options == 0 || filters == "")
        fail("no options or no filters were found")
    if (shell == "bash")
        print_bash()
    else
        print_zsh()
}
