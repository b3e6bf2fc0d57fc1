#!/bin/sh
# The plan's choice on a GPU: for some forty jobs, what a plan takes of itself is at most 5 % slower than the fastest row of
# --bench. It takes four minutes of a GPU that nothing else uses, so that it runs only where VOXFILT_CHOICE is set;
# VOXFILT_CHOICE=WORDS runs the jobs whose options have the words, as in VOXFILT_CHOICE='--flux pm1'.
set -u

[ -n "${VOXFILT_CHOICE:-}" ] || { echo 'VOXFILT_CHOICE is not set'; exit 77; }

# shellcheck source=tests/casebook.sh
. "$(dirname "$0")/casebook.sh"
within=1.05

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
            # The same form may stand in a table twice: asked for by nobody, and among the coarsenings.
            if (index($0, "what a plan takes") && (!(table in taken) || seconds < taken[table]))
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

is_asked_for() # OPTIONS
{
    case ${VOXFILT_CHOICE} in
    1) ;;
    *) case $1 in *"${VOXFILT_CHOICE}"*) ;; *) return 1 ;; esac ;;
    esac
}

# A window of so many samples a side whose weights differ.
window() # SIDE
{
    awk -v side="$1" 'BEGIN {
        for (j = 0; j < side; j++) {
            for (i = 0; i < side; i++)
                printf "%s%d", (i > 0 ? " " : ""), 1 + (7 * j + 3 * i) % 5
            printf "%s", (j + 1 < side ? "; " : "\n")
        }
    }'
}

job() # OPTION...
{
    is_asked_for "$*" || return 0
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

job -d 512,512
job -d 1024,1024
job -d 2048,2048
job -d 1024,1024 --work f64
job -d 4096,4096
job -d 4096,4096 --work f64
job -d 8192,8192
job -d 4096,4096 -f 'matrix:1 2 1; 2 4 2; 1 2 1/16' -s 10
job -d 1024,1024 -f 'matrix:1 2 1; 2 4 2; 1 2 1/16' -s 10
job -d 4096,4096 -f gauss:1.5
for side in 3 5 7 9 11 15 31; do
    job -d 4096,4096 -f "matrix:$(window $side)"
done
job -d 4096,4096 --flux tanh --scale 1
job -d 4096,4096 --flux tanh --scale 1 --inner 100 --reaction 0.1
job -d 4096,4096 --flux pm1 --scale 1
job -d 4096,4096 --flux pm2 --scale 1
job -d 2048,2048 --flux pm2 --scale 1 --inner 4
job -d 2048,2048 --flux pm1 --scale 1 --work f64
job -n 64
job -n 128
job -n 64 --work f64
job -n 256
job -n 256 --work f64
job -n 512
job -n 512 --work f64
job -d 640,480,300
job -d 255,1023,511
job -n 256 -f star:4 -s 10
job -n 256 -f star:2 -s 10
job -n 256 -f star:4 -s 10 --work f64
job -n 256 -f star:8
job -n 256 -f twentyseven:1,0.1,0.01,0.001 -s 10
job -n 256 -f twentyseven:1,0.1,0.01,0.001 -s 10 --work f64
job -n 256 -f twentyseven:1,0.1,0.01,0.001
job -n 256 -f gauss:1.5
job -n 256 --flux tanh --scale 1
job -n 300 --flux tanh --scale 1 -e wrap
job -n 256 --flux pm1 --scale 1 -e hold
job -n 256 --flux pm2 --scale 1 --inner 8 --work f64

conclude
