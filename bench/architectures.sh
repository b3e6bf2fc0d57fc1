#!/bin/sh
# Compiles each .cu file given for each architecture that the toolkit knows, alone, and prints what it costs: seconds of
# a core, bytes of machine code, the most registers of a kernel, kernels that spill. Fails where one does. Called by `make cuda-architectures`; ARCHITECTURES="80 90" takes those.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

known()
{
    "${NVCC:?}" --list-gpu-arch | sed -n 's/^compute_//p' | awk '$1 >= 70' | sort -n
}

# FILE ARCHITECTURE
compile()
{
    if ! (
        ${COMPILE:?} -Xptxas -v -cubin -arch="sm_$2" -o "$folder/cubin" "$1" > "$folder/report" 2>&1 || exit
        times > "$folder/times" # the second line is of what this shell started: 1m2.345s 0m6.789s
    ); then
        cat "$folder/report"
        failed=1
        return
    fi
    grep warning "$folder/report" || :
    awk -v name="${1##*/}" -v arch="sm_$2" -v bytes="$(wc -c < "$folder/cubin")" '
        FILENAME ~ /times$/ && FNR == 2 {
            split($0, part, /[ms ]+/)
            seconds = 60 * part[1] + part[2] + 60 * part[3] + part[4]
        }
        /Compiling entry function/ { kernels++ }
        /spill stores/ { spilling += !/ 0 bytes spill stores, 0 bytes spill loads/ }
        match($0, /Used [0-9]+ registers/) {
            used = substr($0, RSTART + 5) + 0
            most = used > most ? used : most
        }
        END {
            printf "%-8s %-20s %7.1f s %9d bytes %4d kernels %4d registers %3d spill\n",
                arch, name, seconds, bytes, kernels, most, spilling
        }' "$folder/times" "$folder/report" | tee -a "$folder/table"
}

"$NVCC" --version | sed -n 's/^Cuda compilation tools, //p'
for architecture in ${ARCHITECTURES:-$(known)}; do
    for file in "$@"; do
        compile "$file" "$architecture"
    done
done
[ ! -f "$folder/table" ] || awk '
    {
        seconds[$1] += $3; bytes[$1] += $5; kernels[$1] += $7; spilling[$1] += $11; total += $11
        most[$1] = $9 > most[$1] ? $9 : most[$1]
        if (!($1 in order)) { order[$1]; names[++count] = $1 }
    }
    END {
        for (i = 1; i <= count; i++)
            printf "%-8s all                  %7.1f s %9d bytes %4d kernels %4d registers %3d spill\n", names[i],
                seconds[names[i]], bytes[names[i]], kernels[names[i]], most[names[i]], spilling[names[i]]
        exit total > 0
    }' "$folder/table" || failed=1
exit "$failed"
