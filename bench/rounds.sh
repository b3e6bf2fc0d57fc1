#!/bin/sh
# Runs commands in turn, so that a slow minute of the machine meets all of them: one round that does not count, then so
# many that do. Prints for each the median, least and most seconds from start to exit, and the most memory it had.
# Usage: rounds.sh ROUNDS < TABLE, whose lines are "NAME | COMMAND", the latter for sh.
set -eu

rounds=${1:?}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# NAME COMMAND: a line "NAME|SECONDS|KIB".
measure()
{
    begun=$(date +%s%N)
    if ! /usr/bin/time -o "$folder/memory" -f %M sh -c "$2" > "$folder/said" 2>&1 < /dev/null; then
        echo "rounds.sh: $1 failed: $2" >&2
        cat "$folder/said" >&2
        return 1
    fi
    ended=$(date +%s%N)
    echo "$1|$((ended - begun))|$(cat "$folder/memory")"
}

round()
{
    while IFS='|' read -r name command; do
        measure "$(echo "$name" | sed 's/ *$//')" "$command" || return 1
    done < "$folder/table"
}

cat > "$folder/table"
round > /dev/null
for _ in $(seq "$rounds"); do
    round >> "$folder/measured"
done

printf '%-24s %9s %9s %9s %9s   %s rounds\n' '' median least most MiB "$rounds"
sed 's/ *|.*//' "$folder/table" | while read -r name; do
    grep "^$name|" "$folder/measured" | sort -t '|' -k 2n | awk -F '|' -v name="$name" '
        { seconds[NR] = $2 / 1e9; if ($3 > most) most = $3 }
        END {
            middle = NR % 2 ? seconds[(NR + 1) / 2] : (seconds[NR / 2] + seconds[NR / 2 + 1]) / 2
            printf "%-24s %9.3f %9.3f %9.3f %9.0f\n", name, middle, seconds[1], seconds[NR], most / 1024
        }'
done
