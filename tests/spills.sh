#!/bin/sh
# No kernel keeps in memory what it wants in registers: reads what ptxas told of each when it was built. A spill fails on
# the architectures that the forms are chosen for, and is told on older ones, where it costs a little speed.
set -eu

# Lines "ARCHITECTURE KERNEL BYTES" of a report's kernels that spill; the last line counts those that do not.
spills()
{
    awk '
        /Compiling entry function/ {
            split($0, part, "\047")
            kernel = part[4] " " part[2]
        }
        /bytes spill stores/ && kernel != "" {
            split($0, word, /[ ,]+/)
            for (i = 2; i in word; i++)
                if (word[i] == "spill")
                    bytes += word[i - 2]
            if (bytes > 0)
                print kernel, bytes
            else
                clean++
            bytes = 0
            kernel = ""
        }
        END { print clean + 0 }' "$@"
}

# A report that is made up must be read as it was meant.
wanted='sm_90 spilling 12
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

# Lines of spills() on standard input: the first word says whether they fail. The last line, a count, is left out.
judged()
{
    awk -v report="$1" -v oldest=90 '
        NF == 3 {
            split($1, part, "_")
            print (part[2] + 0 >= oldest ? "FAIL:" : "note:"), report ":", $0, "bytes spilled"
        }'
}

if [ "$(echo 'sm_90 new 4' | judged r)" != 'FAIL: r: sm_90 new 4 bytes spilled' ] ||
    [ "$(echo 'sm_80 old 4' | judged r)" != 'note: r: sm_80 old 4 bytes spilled' ]; then
    echo 'FAIL: made-up spills are judged wrongly'
    exit 1
fi

found=0
spilling=0
for report in "$top_builddir"/kernels/cuda/*.ptxas; do
    spills "$report" > spills.txt
    found=$((found + $(tail -n 1 spills.txt)))
    judged "${report##*/}" < spills.txt | tee judged.txt
    spilling=$((spilling + $(grep -c '^FAIL' judged.txt || :)))
done
rm -f spills.txt judged.txt
echo "$found kernels without spills, $spilling with spills that count"
[ "$spilling" -eq 0 ] && [ "$found" -gt 20 ]
