#!/bin/sh
# No kernel keeps in memory what it wants in registers, on any architecture that is built: it neither spills nor has a
# stack frame, where arrays lie that are not addressed by constants alone. Reads what ptxas told of each.
set -eu

# Lines "ARCHITECTURE KERNEL: SPILLED bytes spilled, FRAME in frames" of a report's kernels that use such memory; the last
# line counts those that do not.
spills()
{
    awk '
        function judge() {
            if (kernel != "" && spilled + frame > 0)
                print kernel ": " spilled + 0 " bytes spilled, " frame + 0 " in frames"
            clean += kernel != "" && spilled + frame == 0
            spilled = frame = 0
        }
        /Compiling entry function/ {
            judge()
            split($0, part, "\047")
            kernel = part[4] " " part[2]
        }
        /bytes spill stores/ {
            split($0, word, /[ ,]+/)
            for (i = 3; i in word; i++) {
                if (word[i] == "spill")
                    spilled += word[i - 2]
                if (word[i] == "stack")
                    frame += word[i - 2]
            }
        }
        END {
            judge()
            print clean + 0
        }' "$@"
}

# A report that is made up must be read as it was meant.
wanted='sm_90 spilling: 12 bytes spilled, 16 in frames
sm_80 calling: 8 bytes spilled, 8 in frames
sm_90 framed: 0 bytes spilled, 40 in frames
1'
got=$(
    spills << 'END'
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'spilling' for 'sm_90'
ptxas info    : Function properties for spilling
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size
ptxas info    : Compiling entry function 'clean' for 'sm_80'
ptxas info    : Function properties for clean
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers
ptxas info    : Compiling entry function 'calling' for 'sm_80'
ptxas info    : Function properties for calling
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for called
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers
ptxas info    : Compiling entry function 'framed' for 'sm_90'
ptxas info    : Function properties for framed
    40 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 40 bytes cumulative stack size
END
)
if [ "$got" != "$wanted" ]; then
    echo "FAIL: a made-up report is read as: $got"
    exit 1
fi

if ! grep -q '^#define HAVE_CUDA 1' "${top_builddir:?}/config.h"; then
    echo 'skip: no CUDA in this build'
    exit 77
fi

found=0
spilling=0
find "$top_builddir/kernels/cuda" -name "*.ptxas" > reports.txt
while IFS= read -r report; do
    spills "$report" > spills.txt
    found=$((found + $(tail -n 1 spills.txt)))
    spilling=$((spilling + $(wc -l < spills.txt) - 1))
    sed -e '$d' -e "s/^/FAIL: ${report##*/}: /" spills.txt
done < reports.txt
rm -f spills.txt reports.txt
echo "$found kernels without spills or frames, $spilling with"
[ "$spilling" -eq 0 ] && [ "$found" -gt 20 ]
