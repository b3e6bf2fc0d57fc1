#!/bin/sh
# The machine code of the kernels that compute several steps a pass, or one at the speed of copying, has the opcodes that
# they are written for; compilers have lost them before without a word, and a kernel was 12 times slower. Nothing lies in
# local memory; kernels for f32 compute nothing in f64; and where planes come as boxes, they do, and shared memory is
# read and written by 16 bytes a lane. Volumes' walks besides write there, once, and look up, by 4 bytes, where they go.
# Walks of fluxes divide nowhere but for samples that are taken one by one, so that they have one call at most.
set -eu

# Lines "KERNEL: OPCODE" of a listing of cuobjdump for what should not be there or is missing; the last line counts the
# kernels that are as they should be, and those of them that boxes come to. Of kernels whose architecture has another
# form the listing shows a trap alone.
faults()
{
    awk '
        function blame(what) {
            print kernel ": " what
            faulty = 1
        }
        function judge() {
            if ("FFMA" in opcodes || "DFMA" in opcodes) {
                looks_up = kernel ~ /[0-9]tma_kernel/
                boxed = looks_up || kernel ~ /tma2d_kernel/
                if (boxed && !("UTMALDG" in opcodes))
                    blame("no UTMALDG")
                if (looks_up && !("LDS.128" in opcodes && "STS.128" in opcodes))
                    blame("no LDS.128 or STS.128")
                for (opcode in opcodes) {
                    if (opcode ~ /^(LDL|STL)/)
                        blame(opcode)
                    if (kernel ~ /(_kernel|_form)If/ && opcode ~ /^(DADD|DMUL|DFMA|DSETP|MUFU.*64|[FI]2[FI].*F64)/)
                        blame(opcode)
                    if (boxed && opcode ~ (looks_up ? "^LDS[.][US]?(8|16|64)" : "^(LDS|STS)$"))
                        blame(substr(opcode, 1, 3) " of fewer than 16 bytes")
                }
                if (kernel ~ /faces_kernel/ && calls > 1)
                    blame(calls " calls")
                clean += !faulty
                boxes += boxed && !faulty
            }
            faulty = calls = 0
            split("", opcodes)
        }
        /^[ \t]*Function :/ {
            judge()
            kernel = $3
        }
        /^ +\/\*[0-9a-f]+\*\/ / {
            opcode = $2 ~ /^@/ ? $3 : $2
            sub(/;$/, "", opcode)
            opcodes[opcode]
            calls += opcode ~ /^CALL/
            if (opcode !~ /^(LDS|STS).*\.128/)
                sub(/\..*/, "", opcode)
            opcodes[opcode]
        }
        END {
            judge()
            print clean + 0, boxes + 0
        }' "$@" | LC_ALL=C sort
}

# A listing that is made up must be read as it was meant.
wanted='1 1
_Z10tma_kernelI10star2_formIfE: DADD
_Z10tma_kernelI10star2_formIfE: LDS of fewer than 16 bytes
_Z10tma_kernelI10star2_formIfE: STL
_Z10tma_kernelI10star2_formIfE: no LDS.128 or STS.128
_Z10tma_kernelI10star2_formIfE: no UTMALDG
_Z12faces_kernelI10faces_formIfE: 2 calls'
got=$(
    faults << 'END'
		Function : _Z10tma_kernelI10star2_formIfE
        /*0000*/                   LDC R1, c[0x0][0x28] ;                   /* 0x00000a00ff017b82 */
        /*0010*/                   FFMA R1, R2, R3, R1 ;                    /* 0x00000a00ff017b82 */
        /*0020*/              @!P0 LDS.64 R2, [R4] ;                        /* 0x00000a00ff017b82 */
        /*0030*/                   STL [R4], R2 ;                           /* 0x00000a00ff017b82 */
        /*0040*/                   DADD R2, R2, R4 ;                        /* 0x00000a00ff017b82 */
		Function : _Z10tma_kernelI10star2_formIdE
        /*0000*/                   DFMA R2, R2, R4, R6 ;                    /* 0x00000a00ff017b82 */
        /*0010*/                   LDS.128 R4, [R8] ;                       /* 0x00000a00ff017b82 */
        /*0014*/                   STS.128 [R8], R4 ;                       /* 0x00000a00ff017b82 */
        /*0018*/                   LDS R4, [R8] ;                           /* 0x00000a00ff017b82 */
        /*0020*/              @UP0 UTMALDG.4D [UR4], [UR6] ;                /* 0x00000a00ff017b82 */
		Function : _Z12faces_kernelI10faces_formIfE
        /*0000*/                   FFMA R1, R2, R3, R1 ;                    /* 0x00000a00ff017b82 */
        /*0010*/                   CALL.REL.NOINC 0x1230 ;                  /* 0x00000a00ff017b82 */
        /*0020*/                   CALL.REL.NOINC 0x1230 ;                  /* 0x00000a00ff017b82 */
		Function : _Z10tma_kernelI10star1_formIfE
        /*0000*/                   BPT.TRAP 0x1 ;                           /* 0x00000a00ff017b82 */
END
)
if [ "$got" != "$wanted" ]; then
    echo "FAIL: a made-up listing is read as: $got"
    exit 1
fi

if ! grep -q '^#define HAVE_CUDA 1' "${top_builddir:?}/config.h"; then
    echo 'skip: no CUDA in this build'
    exit 77
fi
if ! cuobjdump --version > /dev/null 2>&1 || ! nvdisasm --version > /dev/null 2>&1; then
    echo 'skip: no cuobjdump and nvdisasm on PATH'
    exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# OBJECT
check()
{
    cuobjdump -sass "$top_builddir/kernels/cuda/$1.o" > "$folder/listing"
    faults "$folder/listing" > "$folder/faults"
    counts=$(grep '^[0-9]* [0-9]*$' "$folder/faults")
    if grep -v '^[0-9]* [0-9]*$' "$folder/faults" | sed "s|^|FAIL: $1: |" | grep .; then
        failed=1
    fi
    echo "$1: ${counts% *} kernels as written, boxes come to ${counts#* }"
    if [ "${counts% *}" -eq 0 ]; then
        echo "FAIL: $1: no kernels"
        failed=1
    fi
}

for object in \
    volumes/cuda_plane volumes/cuda_plane_tma volumes/cuda_axis volumes/cuda_separable_2d volumes/cuda_separable_3d \
    volumes/cuda_fused volumes/cuda_fused_star1 volumes/cuda_fused_star2 volumes/cuda_fused_box27 \
    pictures/cuda_fused_2d pictures/cuda_strip fluxes/cuda_faces; do
    check "$object"
done
exit "$failed"
