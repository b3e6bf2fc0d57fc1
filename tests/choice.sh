#!/bin/sh
# The plan's choice on a GPU: for twenty jobs, what a plan takes of itself is at most 15 % slower than the fastest row of
# --bench. It takes two minutes of a GPU that nothing else uses, so that it runs only where VOXFILT_CHOICE is set.
set -u

[ -n "${VOXFILT_CHOICE:-}" ] || { echo 'VOXFILT_CHOICE is not set'; exit 77; }

# shellcheck source=tests/casebook.sh
. "$(dirname "$0")/casebook.sh"
within=1.15

# The slowest of a job's tables: what the plan takes over the fastest row. A row stands on a line of its own.
judge() # FILE
{
    awk '
        function number(name,    text) {
            text = $0
            if (!sub(".*\"" name "\": ", "", text))
                return 0
            sub(/[,}].*/, "", text)
            return text + 0
        }
        function text_of(name,    text) {
            text = $0
            sub(".*\"" name "\": \"", "", text)
            sub(/".*/, "", text)
            return text
        }
        {
            seconds = number("seconds_per_step")
            if (seconds == 0)
                next
            table = text_of("table")
            if (!(table in fastest) || seconds < fastest[table]) {
                fastest[table] = seconds
                named[table] = text_of("rung") " of " number("steps") " steps, coarsened " number("coarsen")
            }
            if (index($0, "what a plan takes"))
                taken[table] = seconds
        }
        END {
            for (table in fastest) {
                ratio = table in taken ? taken[table] / fastest[table] : 99
                if (ratio > worst) {
                    worst = ratio
                    words = named[table]
                }
            }
            printf "%.3f %s\n", worst, words
        }' "$1"
}

job() # OPTION...
{
    if ! "${VOXFILT:?}" -D cuda --bench=json "$@" > ../rows 2> ../stderr; then
        cat ../stderr
        result 1 "$*"
        return
    fi
    read -r ratio words <<END
$(judge ../rows)
END
    awk -v ratio="$ratio" -v within="$within" 'BEGIN { exit !(ratio > 0 && ratio <= within) }'
    result $? "$* ($ratio of the fastest: $words)"
}

if ! "${VOXFILT:?}" -D cuda --bench=json -n 8 --rung naive > ../rows 2> ../stderr; then
    cat ../stderr
    [ -n "${REQUIRE_GPU:-}" ] && exit 1
    exit 77
fi

job -d 4096,4096
job -d 4096,4096 --work f64
job -d 4096,4096 -f 'matrix:1 2 1; 2 4 2; 1 2 1/16' -s 10
job -d 4096,4096 -f gauss:1.5
job -d 4096,4096 --flux tanh --scale 1
job -d 4096,4096 --flux tanh --scale 1 --inner 100 --reaction 0.1
job -d 4096,4096 --flux pm1 --scale 1
job -d 4096,4096 --flux pm2 --scale 1
job -d 2048,2048 --flux pm2 --scale 1 --inner 4
job -d 2048,2048 --flux pm1 --scale 1 --work f64
job -n 256
job -n 256 --work f64
job -d 640,480,300
job -d 255,1023,511
job -n 256 -f star:4 -s 10
job -n 256 -f twentyseven:1,0.1,0.01,0.001 -s 10
job -n 256 --flux tanh --scale 1
job -n 300 --flux tanh --scale 1 -e wrap
job -n 256 --flux pm1 --scale 1 -e hold
job -n 256 --flux pm2 --scale 1 --inner 8 --work f64

conclude
