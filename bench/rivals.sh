# What comparisons with other programs share: rounds, a folder to work in, and what is installed. Sourced in a build
# directory by scripts whose first argument is ROUNDS; what follows it runs in that folder.
# shellcheck shell=sh disable=SC2034  # whoever sources this uses them

rounds=${1:-5}
sources=$(cd "$(dirname "$0")" && pwd)
build=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

has() # COMMAND
{
    command -v "$1" > "$folder/path"
}

has_module() # MODULE
{
    python3 -c "import $1" 2> "$folder/said"
}

# The lines NAME | COMMAND of standard input, in turn.
take_turns() # [cold]
{
    "$sources/rounds.sh" "$rounds" "$@"
}

sizes() # FILE...
{
    for file in "$@"; do
        printf '%-24s %12d bytes\n' "${file#./}" "$(wc -c < "$file")"
    done
}
