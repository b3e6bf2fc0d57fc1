#!/bin/sh
# What a plan chooses and forecasts, on a machine that does nothing else. For some hundred stages, the kernel that it takes on
# a GPU is at most 5 % slower than the fastest row of --bench. For each filter, the seconds of computing that it forecasts are
# within a quarter of those measured, on the CPU and on the GPU, and `auto` takes the device that is done first, or one that
# is nearly as fast. Without a GPU, the CPU's forecasts alone are tested. It takes six minutes, so it runs only where
# VOXFILT_CHOICE is set: to 1 for everything, to `forecasts` or `kernels` for one half of it, or to words for the jobs whose
# options have them, as in VOXFILT_CHOICE='--flux pm1' or VOXFILT_CHOICE='kernels -n 513'. Each job has its line as soon as it
# is done, with the seconds that it took.
set -u

[ -n "${VOXFILT_CHOICE:-}" ] || { echo 'VOXFILT_CHOICE is not set'; exit 77; }
halves='forecasts kernels'
asked=${VOXFILT_CHOICE}
case $asked in
1) asked= ;;
forecasts | kernels) halves=$asked asked= ;;
'forecasts '* | 'kernels '*) halves=${asked%% *} asked=${asked#* } ;;
esac

# shellcheck source=tests/casebook.sh
. "$(dirname "$0")/casebook.sh"
within=1.05

# Of a job's tables, the most that the plan's row takes over the fastest row, and those where it is more than it should be. A
# row stands on a line of its own. Several stages may have one name; a table then begins where the first rung comes again.
# Sums are three launches, which take some 20 microseconds whatever they do, and 6 more or less from one time to the next.
judge() # FILE
{
    awk -v within="$within" '
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
            title = text_of("table")
            rung = text_of("rung")
            if (first == "")
                first = rung
            tables += title != before || (rung == first && rung != last)
            before = title
            last = rung
            seconds = number("seconds_per_step")
            if (seconds == 0)
                next
            table = tables ": " title
            if (!(table in fastest) || seconds < fastest[table]) {
                fastest[table] = seconds
                named[table] = rung " of " number("steps") " steps, coarsened " number("coarsen")
            }
            # The same form may stand in a table twice: asked for by nobody, and among the coarsenings.
            if (index($0, "what a plan takes") && (!(table in taken) || seconds < taken[table]))
                taken[table] = seconds
        }
        END {
            for (table in fastest) {
                noise = index(named[table], "sum-") == 1 ? 6e-6 : 0
                ratio = table in taken ? (taken[table] - noise) / fastest[table] : 99
                worst = ratio > worst ? ratio : worst
                if (ratio > within)
                    slow = sprintf("%s, %.3f in table %s, where %s is", slow, ratio, table, named[table])
            }
            printf "%.3f %s\n", worst, slow
        }' "$1"
}

is_asked_for() # OPTIONS
{
    case $1 in *"$asked"*) ;; *) return 1 ;; esac
}

# Sets began, and prints the seconds since then.
start_watch()
{
    began=$(date +%s.%N)
}

watch()
{
    date +%s.%N | awk -v began="$began" '{ printf "%.1f s", $1 - began }'
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
    start_watch
    if ! "${VOXFILT:?}" -D cuda --bench=json "$@" > ../rows 2> ../stderr; then
        cat ../stderr
        result 1 "$*"
        return
    fi
    read -r ratio words <<END
$(judge ../rows)
END
    awk -v ratio="$ratio" -v within="$within" 'BEGIN { exit !(ratio > 0 && ratio <= within) }'
    result $? "$* ($ratio of the fastest$words; $(watch))"
}

# A number of a JSON document on one line: a member behind some text.
number() # FILE TEXT
{
    sed -n "s/.*$2\([-+.0-9e]*\)[,}].*/\1/p" "$1"
}

ratio_of() # FORECAST MEASURED
{
    awk -v forecast="$1" -v measured="$2" 'BEGIN { printf "%.3f", (measured > 0 ? forecast / measured : 0) }'
}

is_within() # RATIO MOST: between its inverse and it
{
    awk -v ratio="$1" -v most="$2" 'BEGIN { exit !(ratio > 0 && ratio <= most && 1 / ratio <= most) }'
}

median() # FILE
{
    sort -g "$1" | awk '{ line[NR] = $0 } END { print line[int((NR + 1) / 2)] }'
}

# A run on a device. Sets total and computed, its seconds, or the medians of three runs once there are three.
run() # DEVICE OPTION...
{
    device=$1
    shift
    "$VOXFILT" -q -D "$device" --report=json "$@" -o /dev/null 2> ../report || { cat ../report; return 1; }
    number ../report '"seconds": {"total": ' >> ../totals
    number ../report '"seconds": {[^}]*"compute": ' >> ../computed
    total=$(median ../totals)
    computed=$(median ../computed)
}

# The CPU's forecasts were fitted to timings of AMD's processors with AVX-512. For others, they need only be good enough to
# choose a device. On a Zen 4, clearing new pages sometimes takes so long that two or three forecasts fail.
of_cpu='1.6 2.5'
grep -q 'AuthenticAMD' /proc/cpuinfo && grep -qw avx512f /proc/cpuinfo && of_cpu='1.12 1.25'

# The seconds of computing on a device, as forecast and as measured. Of ratios that are allowed, one run is enough for the
# first, which is well within the second.
forecast() # DEVICE OPTION...
{
    device=$1 allowed='1.12 1.25' total=0 computed=0
    [ "$device" = cpu ] && allowed=$of_cpu
    shift
    start_watch
    : > ../totals
    : > ../computed
    "$VOXFILT" -q -D "$device" --explain=json "$@" -o /dev/null > ../plan
    forecast=$(number ../plan '"compute_seconds": ')
    run "$device" "$@"
    is_within "$(ratio_of "$forecast" "$computed")" "${allowed% *}" || { run "$device" "$@" && run "$device" "$@"; }
    ratio=$(ratio_of "$forecast" "$computed")
    is_within "$ratio" "${allowed#* }"
    result $? "$device: $* (forecast $ratio times the $computed s measured; $(watch))"
}

# What auto takes, which is measured as well as the other device.
filter() # OPTION...
{
    is_asked_for "$*" || return 0
    forecast cpu "$@"
    [ -n "$has_gpu" ] || return 0
    on_cpu=$total
    forecast cuda "$@"
    taken=$("$VOXFILT" -q --explain=json "$@" -o /dev/null | sed -n 's/.*"device": "\([a-z]*\)[":].*/\1/p')
    awk -v taken="$taken" -v cpu="$on_cpu" -v cuda="$total" -v within=1.25 -v start=0.1 \
        'BEGIN { exit !((taken == "cpu" ? cpu : cuda) <= within * (cpu < cuda ? cpu : cuda) + start) }'
    result $? "auto: $* ($taken; cpu $on_cpu s, cuda $total s)"
}

cube()
{
    filter -i cube.raw -n 512 -t f32 "$@"
}

square()
{
    filter -i square.raw -d 8192,8192 -t f32 "$@"
}

has_gpu=yes
if ! "${VOXFILT:?}" -D cuda --bench=json -n 8 --rung naive > ../rows 2> ../stderr; then
    cat ../stderr
    [ -n "${REQUIRE_GPU:-}" ] && exit 1
    has_gpu=
fi

# A window of 125 weights that differ.
awk 'BEGIN {
    for (i = 0; i < 125; i++)
        print i % 5 - 2, int(i / 5) % 5 - 2, int(i / 25) - 2, 1 / (i + 125)
}' > dense.taps

# ---------------------------------------------------------------- the two halves

forecasts()
{
    "${MAKE_VOLUME:?}" -n 512 -t f32 -o cube.raw && head -c $((4 * 8192 * 8192)) cube.raw > square.raw || exit 1
    cube -s 12
    cube -s 100
    cube -s 12 --work f64
    cube -s 12 -e wrap
    cube -s 12 -e constant
    for flux in pm2 pm1 tanh; do
        cube --flux $flux --scale 20 -s 10
        square --flux $flux --scale 20 -s 10
    done
    cube --flux pm2 --scale 20 -s 10 --work f64
    cube --flux pm1 --scale 20 -s 10 --work f64
    cube --flux pm2 --scale 20 --inner 4 --reaction 0.1 -s 2
    cube -f gradient
    square -f gradient
    cube -f sobel:x
    cube -f star:4
    cube -f star:6
    cube -f star:8
    cube -f "matrix:$(window 5)"
    cube -f taps:dense.taps
    cube -f twentyseven:1,0.1,0.01,0.001
    for sigma in 1.5 3 10; do
        cube -f gauss:$sigma
        square -f gauss:$sigma
    done
    cube -f unsharp:2,1
    cube -f log:1.5
    cube -f bilateral:1,20
    square -f gradmag:2
    cube -f median:1
    square -f median:1
    square -f median:2
    cube -f max:5
    square -s 16
    rm cube.raw square.raw
}

# Stages of one process are measured one after another; sums only after the last, so that stages together take less time.

# Rows that end within a pack: what walks through volumes serve, each under this rule.
ragged() # EDGE
{
    job -n 513 -e "$1" -f heat -s 12 -f heat --flux pm2 --scale 1 -f heat --flux pm1 --scale 1 -f heat --flux tanh --scale 1 \
        -f star:4 -f star:6 -f star:8 -f "matrix:$(window 5)" -f twentyseven:1,0.1,0.01,0.001
}

kernels()
{
    if [ -z "$has_gpu" ]; then
        skip 'kernels: there is no GPU'
        return
    fi
    job -d 512,512
    job -d 1024,1024 -f heat -f 'matrix:1 2 1; 2 4 2; 1 2 1/16' -s 10
    job -d 1024,1024 --work f64
    job -d 2048,2048 -f heat -f heat --flux pm2 --scale 1 --inner 4
    job -d 2048,2048 --flux pm1 --scale 1 --work f64
    job -d 4096,4096 -f heat -f 'matrix:1 2 1; 2 4 2; 1 2 1/16' -s 10 -f gauss:1.5
    job -d 4096,4096 --work f64
    set --
    for side in 3 5 7 9 11 15 31; do
        set -- "$@" -f "matrix:$(window $side)"
    done
    job -d 4096,4096 "$@"
    job -d 4096,4096 --scale 1 -f heat --flux tanh -f heat --flux tanh --inner 100 --reaction 0.1 -f heat --flux pm1 \
        -f heat --flux pm2
    job -d 4096,4096 --channels 3 --flux pm2 --scale 1 --flux-channels joint
    job -d 8192,8192 -f heat -f gradient -f gauss:3 -f gauss:10 -f heat --flux pm2 --scale 1 -f heat --flux pm1 --scale 1 \
        -f heat --flux tanh --scale 1
    job -d 8192,8192 --work f64 -f heat --flux pm2 --scale 1 -f "matrix:$(window 7)"
    job -n 64
    job -n 64 --work f64
    job -n 128
    job -n 256 -f heat -f star:4 -s 10 -f star:2 -s 10 -f star:8 -f twentyseven:1,0.1,0.01,0.001 -s 10 \
        -f twentyseven:1,0.1,0.01,0.001 -f gauss:1.5 -f heat --flux tanh --scale 1
    job -n 256 --work f64 -f heat -f star:4 -s 10 -f twentyseven:1,0.1,0.01,0.001 -s 10 \
        -f heat --flux pm2 --scale 1 --inner 8
    job -d 640,480,300
    job -d 255,1023,511 -f heat -f heat --flux pm2 --scale 1 -f star:6 -f "matrix:$(window 5)"
    job -n 512 -f heat -f heat -e wrap -s 12 -f gradient -f sobel:x -f star:4 -f star:6 -f star:8 -f "matrix:$(window 5)" \
        -f taps:dense.taps
    job -n 512 -f gauss:3 -f gauss:10 -f unsharp:2,1
    job -n 512 --scale 1 -f heat --flux pm2 -f heat --flux pm1 -f heat --flux tanh \
        -f heat --flux pm2 --inner 4 --reaction 0.1
    job -n 512 --work f64 -f heat -f heat --flux pm2 --scale 1 -f heat --flux pm1 --scale 1
    for edge in reflect hold mirror wrap constant; do
        ragged $edge
    done
}

for half in $halves; do
    $half
done
conclude
