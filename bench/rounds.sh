#!/bin/sh
# Runs commands in turn, so that a slow minute of the machine meets all of them: one round that does not count, then so
# many that do. Prints for each the median, least and most seconds from start to exit, the median of its processor
# time, which other work on the machine changes less, and the most memory it had.
# Usage: rounds.sh ROUNDS [cold] < TABLE, whose lines are "NAME | COMMAND", the latter for sh; cold: every round counts.
set -eu

rounds=${1:?}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# NAME COMMAND: a line "NAME|NANOSECONDS|KIB|SECONDS", the latter of user and system.
measure()
{
    begun=$(date +%s%N)
    if ! /usr/bin/time -o "$folder/memory" -f "%M|%U %S" sh -c "$2" > "$folder/said" 2>&1 < /dev/null; then
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
[ "${2:-warm}" = cold ] || round > /dev/null
for _ in $(seq "$rounds"); do
    round >> "$folder/measured"
done

printf '%-24s %9s %9s %9s %9s %9s   %s rounds\n' '' median least most processor MiB "$rounds"
sed 's/ *|.*//' "$folder/table" | while read -r name; do
    grep "^$name|" "$folder/measured" | sort -t '|' -k 2n | awk -F '|' -v name="$name" '
        function median(values, n,    i, k, low) {
            for (i = 1; i <= n; i++)
                for (k = i + 1; k <= n; k++)
                    if (values[k] < values[i]) { low = values[k]; values[k] = values[i]; values[i] = low }
            return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
        }
        { seconds[NR] = $2 / 1e9; split($4, part, " "); processor[NR] = part[1] + part[2]; if ($3 > most) most = $3 }
        END {
            printf "%-24s %9.3f %9.3f %9.3f %9.3f %9.0f\n", name, median(seconds, NR), seconds[1], seconds[NR],
                median(processor, NR), most / 1024
        }'
done
