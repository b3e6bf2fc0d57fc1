# The page of one command, of the text that both have in common.
#
# Usage: awk -v program=voxfilt|imgheat -f commands.awk commands.1.in

BEGIN {
    volumes = program == "voxfilt"
    words["@PROGRAM@"] = program
    words["@OTHER@"] = volumes ? "imgheat" : "voxfilt"
    words["@TITLE@"] = toupper(program)
    words["@FILE@"] = volumes ? "volume" : "picture"
    words["@FILES@"] = volumes ? "volumes" : "pictures"
    words["@Files@"] = volumes ? "Volumes" : "Pictures"
    words["@SECTION@"] = volumes ? "VOLUMES" : "PICTURES"
}

$1 == "@comment" { next }
$1 == "@if" { left_out = $2 != program; next }
$1 == "@else" { left_out = !left_out; next }
$1 == "@end" { left_out = 0; next }
left_out { next }
{
    for (word in words)
        gsub(word, words[word])
    print
}
