#!/bin/sh
# Compiles each .cu file given for each architecture that the toolkit knows, alone, and prints what it costs: seconds,
# bytes of machine code, kernels that spill. Called by `make cuda-architectures`; ARCHITECTURES="80 90" takes those.
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
    begun=$(date +%s%N)
    if ! ${COMPILE:?} -Xptxas -v -cubin -arch="sm_$2" -o "$folder/cubin" "$1" > "$folder/report" 2>&1; then
        cat "$folder/report"
        failed=1
        return
    fi
    ended=$(date +%s%N)
    awk -v name="${1##*/}" -v arch="sm_$2" -v ns=$((ended - begun)) -v bytes="$(wc -c < "$folder/cubin")" '
        /spill stores/ {
            kernels++
            spilling += !/ 0 bytes spill stores, 0 bytes spill loads/
        }
        END { printf "%-8s %-20s %7.1f s %9d bytes %4d kernels %3d spill\n", arch, name, ns / 1e9, bytes, kernels, spilling }' \
        "$folder/report" | tee -a "$folder/table"
}

"$NVCC" --version | sed -n 's/^Cuda compilation tools, //p'
for architecture in ${ARCHITECTURES:-$(known)}; do
    for file in "$@"; do
        compile "$file" "$architecture"
    done
done
[ ! -f "$folder/table" ] || awk '
    { seconds[$1] += $3; bytes[$1] += $5; kernels[$1] += $7; spilling[$1] += $9; if (!($1 in order)) { order[$1]; names[++count] = $1 } }
    END {
        for (i = 1; i <= count; i++)
            printf "%-8s all                  %7.1f s %9d bytes %4d kernels %3d spill\n", names[i], seconds[names[i]],
                bytes[names[i]], kernels[names[i]], spilling[names[i]]
    }' "$folder/table"
exit "$failed"
