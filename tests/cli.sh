#!/bin/sh
# The command line: every message that it can provoke, word for word, with its status; and what happens to files, pipes,
# signals and terminals. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# ---------------------------------------------------------------- usage, both commands

refuses 2 'voxfilt: foo: unexpected operand; give the input with --input FILE' voxfilt foo
refuses 2 'voxfilt: --bogus: no such option (--help lists them)' voxfilt --bogus
refuses 2 'voxfilt: --out: ambiguous option; possibilities: --output, --out-endian, --out-type, --out-range, --out-format' voxfilt --out x
refuses 2 'voxfilt: -Z: no such option (--help lists them)' voxfilt -qZ
refuses 2 'voxfilt: --linear: no such option (imgheat has it)' voxfilt --linear
refuses 2 'imgheat: -n: no such option (voxfilt has it)' imgheat -n 3
refuses 2 'voxfilt: -f: option requires an argument' voxfilt -f
refuses 2 'voxfilt: --channels: option requires an argument' voxfilt --channels
refuses 2 'voxfilt: --help=x: option takes no argument' voxfilt --help=x
refuses 2 'voxfilt: -n: 0: expected a whole number above 0' voxfilt -n 0
refuses 2 'voxfilt: -n: 8x: expected a whole number above 0' voxfilt -n 8x
refuses 2 'voxfilt: -d: 1,2: -n already gives the extents' voxfilt -n 8 -d 1,2
refuses 2 'voxfilt: -n: 8: -d already gives the extents' voxfilt -d 1,2 -n 8
refuses 2 'voxfilt: -d: 5: expected X,Y or X,Y,Z, whole numbers above 0; did you mean -n 5?' voxfilt -d 5
refuses 2 'voxfilt: -d: 0,1: expected X,Y or X,Y,Z, whole numbers above 0' voxfilt -d 0,1
refuses 2 'voxfilt: -d: 1,2,3,4: expected X,Y or X,Y,Z, whole numbers above 0' voxfilt -d 1,2,3,4
refuses 2 'voxfilt: --channels: 0: expected a whole number from 1 to 65536' voxfilt --channels 0
refuses 2 'voxfilt: --channels: 65537: expected a whole number from 1 to 65536' voxfilt --channels 65537
refuses 2 "voxfilt: --type: u9: expected $types" voxfilt -t u9
refuses 2 "voxfilt: --out-type: u9: expected $types" voxfilt --out-type u9
refuses 2 'voxfilt: --endian: middle: expected little or big' voxfilt --endian middle
refuses 2 'voxfilt: --out-endian: middle: expected little or big' voxfilt --out-endian middle
refuses 2 'voxfilt: --skip: -1: expected a count of bytes' voxfilt --skip -1
refuses 2 'voxfilt: --spacing: 1: expected X,Y or X,Y,Z' voxfilt --spacing 1
refuses 2 'voxfilt: --spacing: 0,1,1: expected distances from 1e-100 to 1e100' voxfilt --spacing 0,1,1
refuses 2 'voxfilt: --spacing: 1e-170,1,1: expected distances from 1e-100 to 1e100' voxfilt -n 8 --spacing 1e-170,1,1
refuses 2 'voxfilt: --spacing: 2 distances for 3 axes' voxfilt --spacing 1,1 -n 8
refuses 2 "voxfilt: --format: png: expected $formats" voxfilt --format png
refuses 2 "voxfilt: --out-format: png: expected $formats" voxfilt --out-format png
refuses 2 'voxfilt: --steps: -1: expected a whole number' voxfilt -s -1
refuses 2 "voxfilt: --edge: foo: expected $rules" voxfilt -e foo
refuses 2 'voxfilt: --edge: constant:x: the constant is not a finite number' voxfilt -e constant:x
refuses 2 'voxfilt: --edge: constant:inf: the constant is not a finite number' voxfilt -e constant:inf
refuses 2 'voxfilt: --alpha: x: expected a number' voxfilt --alpha x
refuses 2 'voxfilt: --alpha: -1: expected 0 or more' voxfilt --alpha -1
refuses 2 'voxfilt: --dt: nan: expected a number' voxfilt --dt nan
refuses 2 'voxfilt: --sigma: x: expected a number, 0 or more, with or without u' voxfilt --sigma x
refuses 2 'voxfilt: --sigma: u: expected a number, 0 or more, with or without u' voxfilt --sigma u
refuses 2 'voxfilt: --flux: x: expected linear, tanh, pm1 or pm2' voxfilt --flux x
refuses 2 'voxfilt: --scale: 0: expected a number above 0' voxfilt --scale 0
refuses 2 'voxfilt: --inner: 0: expected a whole number above 0' voxfilt --inner 0
refuses 2 'voxfilt: --reaction: a: expected a number' voxfilt --reaction a
refuses 2 'voxfilt: --until: 0: expected a number above 0' voxfilt --until 0
refuses 2 'voxfilt: --until: heat: only the last stage can wait for it' voxfilt -f heat --until 1 -f gauss:1
refuses 2 'voxfilt: --alpha: no stage of this chain is heat' voxfilt --alpha 1 -f gauss:1
refuses 2 'imgheat: --alpha-mode: x: expected premultiply or separate' imgheat --alpha-mode x
refuses 2 'imgheat: --level: 10: expected 0 to 9' imgheat --level 10
refuses 2 'voxfilt: --work: f16: expected f32 or f64' voxfilt --work f16
refuses 2 'voxfilt: --threads: 0: expected a whole number from 1 to 4096' voxfilt -j 0
refuses 2 'voxfilt: --threads: 4097: expected a whole number from 1 to 4096' voxfilt -j 4097
refuses 2 'voxfilt: --memory: 0: expected a count of bytes above 0, with K, M, G or T' voxfilt -m 0
refuses 2 'voxfilt: --memory: 99999999T: expected a count of bytes above 0, with K, M, G or T' voxfilt -m 99999999T
refuses 2 'voxfilt: --report: xml: expected text[:FILE] or json[:FILE]' voxfilt --report=xml
refuses 2 'voxfilt: --progress: x: expected auto, always or never' voxfilt --progress x

# ---------------------------------------------------------------- filters

refuses 2 'voxfilt: --filter: nope: no such filter (--list names them)' voxfilt -f nope
refuses 2 'voxfilt: --filter: gauss: expected gauss:S[u]' voxfilt -f gauss
refuses 2 'voxfilt: --filter: gauss:a: expected gauss:S[u]' voxfilt -f gauss:a
refuses 2 'voxfilt: --filter: gauss:1,2: expected gauss:S[u]' voxfilt -f gauss:1,2
refuses 2 'voxfilt: --filter: heat:3: expected heat' voxfilt -f heat:3
refuses 2 'voxfilt: --filter: sobel:w: expected sobel:x|y|z' voxfilt -f sobel:w
refuses 2 'voxfilt: --filter: unsharp:1: expected unsharp:S[u],A' voxfilt -f unsharp:1
refuses 2 'voxfilt: --filter: seven:1,2: expected seven:c0,...,c6' voxfilt -f seven:1,2
refuses 2 'voxfilt: --filter: matrix:: expected matrix:"ROW; ..."[/D]' voxfilt -f matrix:
refuses 2 'voxfilt: --filter: gauss:-1: a standard deviation of -1 is below 0' v8 -f gauss:-1 -o out
refuses 2 'voxfilt: --filter: gauss:1e9: a radius of 4000000000 is more than 1048576' v8 -f gauss:1e9 -o out
refuses 2 'voxfilt: --filter: box:1.5: the radius is a whole number, 0 or more' v8 -f box:1.5 -o out
refuses 2 'voxfilt: --filter: star:3: the order is 2, 4, 6 or 8' v8 -f star:3 -o out
refuses 2 'voxfilt: --filter: twentyseven:1,2,3,4,5: 5 weights: there are 4 or 27' v8 -f twentyseven:1,2,3,4,5
refuses 2 'voxfilt: --filter: matrix:1 2;3: row 2 of the matrix has 1 weight, the first has 2' v8 -f 'matrix:1 2;3'
refuses 2 'voxfilt: --filter: matrix:1 a: row 1 of the matrix: not a number' v8 -f 'matrix:1 a'
refuses 2 'voxfilt: --filter: matrix:;: a matrix has 1 to 1024 rows and columns' v8 -f 'matrix:;'
refuses 2 'voxfilt: --filter: matrix:1/0: the divisor of the matrix is not a number above or below 0' \
    v8 -f 'matrix:1/0'
refuses 2 'voxfilt: --filter: sobel:z: this grid has no z axis' voxfilt -i v8.raw -t u8 -d 16,32 -f sobel:z
refuses 2 'voxfilt: --filter: seven:1,0,0,0,0,0,1: it has taps along z, and this grid has no z axis' \
    voxfilt -i v8.raw -t u8 -d 16,32 -f seven:1,0,0,0,0,0,1
refuses 2 'imgheat: --filter: twentyseven:1,1,1,1: it has taps along z, and this grid has no z axis' \
    imgheat -f twentyseven:1,1,1,1 gray.png

printf '0 0 0 1\n0 0 0 2\n' > twice.taps
printf '# offsets\n0 0 x 1\n' > letter.taps
printf '0 0 1\n' > three.taps
printf '2000000 0 0 1\n' > far.taps
printf '0 0 0 1\000junk\n' > nul.taps
tap='a tap is three whole offsets and a weight: dx dy dz w'
refuses 3 'voxfilt: --filter: twice.taps: line 2: the tap at 0 0 0 is given twice' v8 -f taps:twice.taps
refuses 3 "voxfilt: --filter: letter.taps: line 2: $tap" v8 -f taps:letter.taps
refuses 3 "voxfilt: --filter: three.taps: line 1: $tap" v8 -f taps:three.taps
refuses 3 'voxfilt: --filter: far.taps: line 1: the tap at 2000000 0 0 reaches farther than 1048576 samples' \
    v8 -f taps:far.taps
refuses 3 "voxfilt: --filter: nul.taps: line 1: $tap" v8 -f taps:nul.taps
refuses 4 'voxfilt: --filter: none.taps: No such file or directory' v8 -f taps:none.taps
refuses 4 'voxfilt: --filter: .: Is a directory' v8 -f taps:.

# ---------------------------------------------------------------- heat

refuses 2 'voxfilt: heat: alpha*dt = 1 is unstable on this grid: the largest stable value is 0.166666 (--force runs it anyway)' \
    v8 --dt 1 -o out
refuses 2 'imgheat: heat: alpha*dt = 0.26 is unstable on this grid: the largest stable value is 0.25 (--force runs it anyway)' \
    imgheat --alpha 2 --dt 0.13 gray.png -o out
accepts 'the largest stable value is taken' '' v8 --dt 0.166666 -o stable.raw
accepts '--force runs what is unstable' 'voxfilt: unstable.raw: 257 samples (50 %) were cut off at 0, and 255 samples (50 %) at 255
' v8 --dt 1 --force -o unstable.raw
refuses 2 'voxfilt: --sigma chooses steps and dt itself: it excludes --steps, --dt and --until' v8 --sigma 2 --steps 3
refuses 2 'voxfilt: --sigma chooses steps and dt itself: it excludes --steps, --dt and --until' v8 --sigma 2 --until 3
refuses 2 'voxfilt: --force: no stage of this chain is heat' v8 --force -f gauss:1
refuses 2 'voxfilt: --sigma needs an --alpha above 0' v8 --sigma 2 --alpha 0
refuses 2 'voxfilt: --sigma 1e+09 takes 4e+18 steps: more than 10^9' v8 --sigma 1e9
refuses 2 'voxfilt: --scale: no stage of this chain has a nonlinear flux' v8 --scale 3
refuses 2 'voxfilt: --scale: heat: a linear flux has no scale' v8 -f heat --scale 3
refuses 2 'voxfilt: heat: 1/scale of 1e+50 does not fit f32 (--work f64 has a larger range)' v8 --flux pm2 --scale 1e-50
refuses 2 'voxfilt: matrix:1e300: a weight of 1e+300 does not fit f32 (--work f64 has a larger range)' v8 -f matrix:1e300
refuses 2 'voxfilt: heat: --edge: a constant of inf does not fit f32 (--work f64 has a larger range)' v8 -e constant:1e300
accepts 'a default scale goes to the stages that have one' '' \
    v8 --scale 5 -f heat --flux pm1 -f heat -o scaled.raw
refuses 2 'voxfilt: --alpha: gauss:1: this filter is not heat' v8 -f gauss:1 --alpha 3

# ---------------------------------------------------------------- files that are not as they should be

refuses 4 'voxfilt: none.raw: No such file or directory' voxfilt -i none.raw -n 8 -o out
refuses 4 'voxfilt: .: Is a directory' voxfilt -i . -n 8 -o out
refuses 4 'imgheat: none.png: No such file or directory' imgheat none.png -o out
refuses 4 'voxfilt: no/out: No such file or directory' v8 -o no/out
refuses 4 'voxfilt: v8.raw/out: Not a directory' v8 -o v8.raw/out
if [ -c /dev/full ]; then
    refuses 4 'voxfilt: /dev/full: No space left on device' v8 -o /dev/full
    refuses 4 'voxfilt: standard output: No space left on device' into /dev/full v8
    refuses 4 'imgheat: standard output: No space left on device' into /dev/full imgheat gray.png
    refuses 4 'voxfilt: standard output: it could not be written' into /dev/full voxfilt --help
else
    skip '/dev/full is not here'
fi
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && : > kept && chmod 444 kept && chmod 555 locked
    refuses 4 'voxfilt: locked/out: Permission denied' v8 -o locked/out
    refuses 4 'voxfilt: kept: Permission denied' v8 -o kept
else
    skip 'permissions: root may do everything'
fi
refuses 2 'voxfilt: standard input: raw samples need -n N or -d X,Y[,Z]' piped v8.raw voxfilt
refuses 2 'voxfilt: v8.raw: raw samples need -n N or -d X,Y[,Z]; 512 bytes (-n 8 -t u8, -n 4 -t f64)' \
    voxfilt -i v8.raw -o out
refuses 2 'voxfilt: scan_8x8x8_u8.raw: raw samples need -n N or -d X,Y[,Z]; 512 bytes (-n 8 -t u8, -n 4 -t f64; its name suggests -d 8,8,8 -t u8)' \
    voxfilt -i scan_8x8x8_u8.raw -o out

# The lines on lengths: what was found, what was asked for, what would fit.
length_says() # WORDS OPTION...
{
    words=$1
    shift
    rm -f out
    "$@" -o out > ../stdout 2> ../stderr
    if [ $? != 3 ] || [ "$(wc -l < ../stderr)" -ne 1 ] || [ -e out ]; then
        cat ../stderr
        result 1 "length: $*"
        return
    fi
    for word in $words; do
        grep -qF -e "$(echo "$word" | tr _ ' ')" ../stderr || { cat ../stderr; result 1 "length: $word"; return; }
    done
    result 0 "length: $*"
}
length_says 'v8.raw:_length:_512_bytes 729_samples (fits:_-n_8_-t_u8,_-n_4_-t_f64)' voxfilt -i v8.raw -n 9
length_says 'length:_512_bytes u16_take_1024 (fits:_-t_u8,' voxfilt -i v8.raw -n 8 -t u16
length_says 'length:_512_bytes,_4_of_them_skipped u8_take_512 (fits:_--skip_0' voxfilt -i v8.raw -n 8 -t u8 --skip 4
length_says '512_bytes,_1000_of_them_skipped' voxfilt -i v8.raw -n 8 --skip 1000
length_says 'its_name_suggests_-d_16,32)' voxfilt -i slice_16x32.raw -n 9
length_says '(fits:_-t_u16' voxfilt -i v8.raw -d 16,16 -t u8
head -c 100 v8.raw > short.raw
cat v8.raw v8.raw > twofold.raw
refuses 3 'voxfilt: standard input: length: it ends before the last of 512 u8 samples' piped short.raw voxfilt -n 8 -t u8 -o out
refuses 3 'voxfilt: standard input: length: it ends before the last of 512 f32 samples' piped short.raw voxfilt -n 8 -q --skip 200
refuses 3 'voxfilt: standard input: length: it goes on after the last of 512 u8 samples' piped twofold.raw voxfilt -n 8 -t u8
refuses 3 'voxfilt: standard input: length: it goes on after the last of 512 u8 samples' \
    piped twofold.raw voxfilt -n 8 -t u8 -f identity -o out
refuses 6 'voxfilt: standard input: the grid is too large: 1000000 × 1000000 × 1000000 × 1 channel' \
    piped v8.raw voxfilt -n 1000000 -t u8
refuses 6 'voxfilt: --memory: this job needs 2.0 KiB (2048 bytes), and 100 B are allowed' v8 -m 100 -o out
accepts 'just enough memory' '' v8 -m 2048 -o /dev/null
refuses 2 'voxfilt: --device: abacus: no such device (--list names them)' v8 -D abacus -o out
refuses 2 'voxfilt: --device: cpu:x: no such device; did you mean cpu?' v8 -D cpu:x -o out
refuses 5 'voxfilt: --device: cpu:1: this machine has cpu:0 to cpu:0' v8 -D cpu:1 -o out
if ! voxfilt --list | grep -q '^  cuda naive'; then
    refuses 2 'voxfilt: --device: cuda: this program was built without CUDA' v8 -D cuda -o out
elif ! voxfilt --list | grep -q '^  cuda:0'; then
    v8 -D cuda -o out 2> ../stderr
    [ $? = 5 ] && [ ! -e out ] && [ "$(wc -l < ../stderr)" -eq 1 ] &&
        grep -qE '^voxfilt: --device: cuda: this machine has none: (no NVIDIA|the NVIDIA) driver ' ../stderr
    result $? 'a GPU that is not there is told of in a line'
else
    accepts '-D cuda' '' v8 -q -D cuda -o cuda.raw
    v8 -q -D cpu -o cpu.raw
    same 'the GPU gives the bytes of the CPU' cpu.raw cuda.raw
fi
refuses 2 'voxfilt: --tile: 8x: expected W or WxH, whole numbers from 1 to 65536' v8 --tile 8x -o out
refuses 2 'voxfilt: --tile: 0: expected W or WxH, whole numbers from 1 to 65536' v8 --tile 0 -o out
refuses 2 'voxfilt: --coarsen: 70000: expected N or NxS, whole numbers from 1 to 65536' v8 --coarsen 70000 -o out
refuses 2 'voxfilt: --rung: march: naive is already requested' v8 --rung naive --rung march -o out
refuses 2 'voxfilt: --rung: identity alone is copied: no kernel runs' v8 --rung naive -f identity -o out
refuses 2 'voxfilt: --tile: identity alone is copied: no kernel runs' v8 --tile 8 -f identity -o out
refuses 2 'voxfilt: --bench: xml: expected text or json' voxfilt --bench=xml
idle='not allowed with --bench and --tune, which filter nothing'
for option in --output=out --out-type=u8 --out-endian=big --out-range=0,1 --out-format=raw --memory=1G --report --stats \
    --progress=always; do
    for way in --bench --tune; do
        refuses 2 "voxfilt: ${option%%=*}: $idle" voxfilt -n 8 -D cpu $way "$option"
    done
done
refuses 2 "imgheat: --level: $idle" imgheat -D cpu --bench --level 3
refuses 4 'voxfilt: missing.raw: No such file or directory' voxfilt -n 8 -i missing.raw --bench
refuses 5 'voxfilt: VOXFILT_ISA: z80: this build on this machine has '"$(voxfilt --list |
    sed -n 's/.*, v4 instructions/baseline, v3 and v4/p; s/.*, v3 instructions/baseline and v3/p; s/.*, baseline instructions/baseline/p')" \
    with_isa z80 v8 -o out
with_isa baseline voxfilt --list | grep -q ', baseline instructions$'
result $? 'the instructions that are named are those in use'
refuses 4 'voxfilt: a\012b: No such file or directory' voxfilt -n 8 -i 'a
b'

# ---------------------------------------------------------------- pictures that are not as they should be

head -c 400 gray.png > cut.png
head -c 45 gray.png > stub.png
printf '%s' "$(head -c 20 v8.raw | tr -d '\000')" > noise.png
{ head -c 60 gray.png; printf 'X'; tail -c +62 gray.png; } > flipped.png
refuses 3 'voxfilt: gray.png: a PNG picture: imgheat filters pictures' voxfilt -i gray.png -n 8
refuses 3 'imgheat: v8.raw: Not a PNG file' imgheat v8.raw -o out
refuses 3 'imgheat: standard input: the file ends early' imgheat -o out
refuses 3 'imgheat: cut.png: IDAT: the file ends early' imgheat cut.png -o out
refuses 3 'imgheat: cut.png: IDAT: the file ends early' imgheat -f identity cut.png -o out
refuses 3 'imgheat: stub.png: IDAT: the file ends early' imgheat stub.png
if imgheat flipped.png -o out 2> ../stderr || [ $? != 3 ] || [ "$(wc -l < ../stderr)" -ne 1 ] || [ -e out ]; then
    result 1 'a flipped bit in a picture'
else
    result 0 'a flipped bit in a picture'
fi
if has gzip; then
    chunk iCCP 'profile\000\000data' | with_chunks rgb.png > profiled.png
    chunk VOXF 'data' | with_chunks rgb.png > critical.png
    chunk tEXt 'Note\000n' > ../note
    awk 'BEGIN { for (i = 0; i < 1001; i++) print "../note" }' | xargs cat | with_chunks rgb.png > noted.png
    { head -c 8 rgb.png; chunk IHDR '\177\377\377\377\177\377\377\377\020\006\000\000\000'; tail -c +34 rgb.png; } > vast.png
    refuses 3 'imgheat: profiled.png: iCCP: --linear supports sRGB and gAMA, not this profile' imgheat --linear profiled.png
    refuses 3 'imgheat: critical.png: VOXF: unknown critical chunk' imgheat critical.png -o out
    refuses 6 'imgheat: noted.png: tEXt: more than 1000 chunks of metadata' imgheat noted.png -o out
    refuses 3 'imgheat: vast.png: IDAT: the file is too short for the size that IHDR gives' imgheat vast.png -o out
    refuses 6 'imgheat: standard input: the grid is too large: 2147483647 × 2147483647 × 1 × 4 channels' \
        piped vast.png imgheat -o out
    { chunk gAMA '\000\000\000\000'; } | with_chunks rgb.png > nogamma.png
    refuses 3 'imgheat: nogamma.png: gAMA: damaged, and --linear depends on it' imgheat --linear nogamma.png
    accepts 'damaged colours without --linear' 'imgheat: nogamma.png: left out: gAMA (out of range)
' imgheat nogamma.png -o nogamma-out.png
    accepts 'a profile without --linear' '' imgheat profiled.png -o profiled-out.png
    LC_ALL=C grep -q iCCP profiled-out.png
    result $? 'the profile is kept'
    { chunk tEXt 'Title\000kept as it is'; chunk tIME '\007\352\001\001\000\000\000'; } | with_chunks rgb.png > titled.png
    imgheat -q titled.png -o titled-out.png
    tr -d '\000' < titled-out.png > ../bare
    LC_ALL=C grep -q 'tEXtTitlekept as it is' ../bare && ! LC_ALL=C grep -q tIME ../bare
    result $? 'text is kept, the time of change is not'
    accepts '-v tells what is dropped' 'imgheat: titled.png: tIME: dropped: does not describe a filtered picture
imgheat: titled.png: left out: tIME
' imgheat -v titled.png -o titled-out.png
else
    skip 'chunks by hand: gzip is not here'
fi

# ---------------------------------------------------------------- several pictures

refuses 2 'imgheat: 3 inputs need a directory: --output DIR/' imgheat gray.png rgb.png deep.png
refuses 2 'imgheat: rgb.png: --input already gives the input' imgheat -i gray.png rgb.png
mkdir many
refuses 2 'imgheat: gray.png and ./gray.png would have the same name in many' imgheat -o many gray.png ./gray.png
refuses 2 'imgheat: standard input has no name for an output in many/' imgheat -o many/ gray.png -
refuses 4 'imgheat: no/: No such file or directory' imgheat -o no/ gray.png rgb.png
refuses 3 'imgheat: cut.png: IDAT: the file ends early' imgheat -o many/ gray.png cut.png rgb.png
[ "$(cd many && echo *)" = 'gray.png rgb.png' ]
result $? 'the others of several pictures are done'
imgheat gray.png -o one.png
same 'a picture among many is as one alone' many/gray.png one.png
mkdir many/v8.raw
refuses 4 'voxfilt: many/v8.raw: Is a directory' v8 -o many

# ---------------------------------------------------------------- what is written where

v8 -o first.raw
accepts 'standard output carries data alone' '' v8
same 'standard output and a file' first.raw ../stdout
accepts 'reading a pipe' '' piped v8.raw voxfilt -n 8 -t u8
same 'a pipe and a file' first.raw ../stdout
accepts 'reading standard input' '' from v8.raw voxfilt -n 8 -t u8 -i - -o -
same 'standard input and a file' first.raw ../stdout
note='voxfilt: v8.raw: 1 byte a sample, taken as u8 (if they are signed: -t i8)
'
accepts 'the type is taken from the length, and told' "$note" voxfilt -i v8.raw -n 8
same 'a type from the length' first.raw ../stdout
accepts '-q silences the note' '' voxfilt -q -i v8.raw -n 8
accepts 'the type of a pipe is f32' 'voxfilt: standard input: taken as f32 (--type says otherwise)
' piped v16.raw voxfilt -n 16 -o pipe.raw
accepts 'four bytes a sample are f32' 'voxfilt: v16.raw: 4 bytes a sample, taken as f32 (if they are integers: -t u32 or -t i32)
' voxfilt -i v16.raw -n 16 -o file.raw
same 'f32 from a pipe and from a file' pipe.raw file.raw

echo old > existing.raw
chmod 640 existing.raw
v8 -o existing.raw
same 'an existing file is replaced' first.raw existing.raw
[ "$(mode existing.raw)" = -rw-r----- ]
result $? 'and its mode is kept'
[ "$(mode first.raw)" = -rw-r--r-- ]
result $? 'a new file has the mode that the umask leaves'
echo old > existing.raw
cp existing.raw before.raw
refuses 3 'voxfilt: standard input: length: it ends before the last of 512 u8 samples' \
    piped short.raw voxfilt -n 8 -t u8 -o existing.raw
same 'what fails leaves an existing file as it was' before.raw existing.raw
mkdir real
echo old > real/target.raw
ln -s real/target.raw link.raw
v8 -o link.raw
same 'a link leads to the file' first.raw real/target.raw
[ -L link.raw ] && [ ! -L real/target.raw ]
result $? 'and the link stays'
ln -s real/new.raw dangling.raw
v8 -o dangling.raw
[ -L dangling.raw ] && cmp first.raw real/new.raw
result $? 'a link to what is not there yet'
voxfilt --progress=always -n 8 -t u8 -o closed.raw < v8.raw 2>&-
same 'a closed standard error is not where the output goes' first.raw closed.raw
mkfifo taps.fifo
printf '0 0 0 1\n' > taps.fifo &
imgheat -f taps:taps.fifo -o many/ gray.png rgb.png
wait $!
imgheat -f matrix:1 rgb.png -o once.png
same 'taps from a pipe serve every picture' once.png many/rgb.png
# shellcheck disable=SC3045  # where the shell cannot limit addresses, or a sanitizer needs all of them, this is skipped
if (ulimit -v 400000; voxfilt --version) > ../bare 2>&1; then
    (ulimit -v 400000; voxfilt -q -i v8.raw -n 8 -t u8 -j 4000 -o threads.raw) 2> ../stderr
    [ $? -eq 6 ] && [ "$(wc -l < ../stderr)" -eq 1 ] && ! ls threads.raw* > ../bare 2>&1
    result $? 'threads that the limit on addresses does not allow'
else
    skip 'a limit on addresses'
fi
ln -s first-link.raw second-link.raw
ln -s real/far.raw first-link.raw
v8 -o second-link.raw
[ -L second-link.raw ] && [ -L first-link.raw ] && cmp first.raw real/far.raw
result $? 'a chain of links to what is not there yet'
ln -s circle-b.raw circle-a.raw
ln -s circle-a.raw circle-b.raw
refuses 4 'voxfilt: circle-a.raw: Too many levels of symbolic links' v8 -o circle-a.raw
[ -L circle-a.raw ] && [ -L circle-b.raw ]
result $? 'links that go round stay'
cp v8.raw self.raw
voxfilt -i self.raw -n 8 -t u8 -o self.raw
same 'the output may have the name of the input' first.raw self.raw
cp gray.png self.png
imgheat self.png -o self.png
same 'a picture, too' one.png self.png
v8 -o /dev/stdout > redirected.raw
same '/dev/stdout is written in place' first.raw redirected.raw
{ printf head && v8 -o /dev/stdout; } > appended.raw
{ printf head && cat first.raw; } > wanted.raw
same 'and where the shell stands' wanted.raw appended.raw
mkfifo fifo
cat fifo > from-fifo.raw &
v8 -o fifo
wait $!
[ -p fifo ] && cmp first.raw from-fifo.raw
result $? 'a FIFO is written in place'
accepts '--explain' '' v8 --explain -o explained.raw
grep -q '^stage 1   heat, 10 steps' ../stdout && [ ! -e explained.raw ]
result $? 'it prints the plan and writes nothing'
for option in --help -h --version -V --list; do
    for program in voxfilt imgheat; do
        accepts "$program $option" '' $program $option
        [ -s ../stdout ]
        result $? "$program $option prints"
    done
done

# ---------------------------------------------------------------- volumes that stream

# A piece of a volume with what ten steps of heat reach on both sides, filtered as a whole, and cut out again: PLANES
# planes from FIRST of the 256, BELOW and ABOVE of them beside the piece.
plane=$((32 * 32 * 4))
piece() # FIRST PLANES BELOW ABOVE
{
    tail -c +$(($1 * plane + 1)) long.raw | head -c $(($2 * plane)) |
        voxfilt -q -d 32,32,"$2" | tail -c +$(($3 * plane + 1)) | head -c $((($2 - $3 - $4) * plane))
}

make_volume -d 32,32,256 -o long.raw
{ piece 0 110 0 10 && piece 90 110 10 10 && piece 180 76 10 0; } > pieces.raw
voxfilt -q -d 32,32,256 -m 400K < long.raw | cat > long-heat.raw
same 'a pipe in little memory gives what pieces give' pieces.raw long-heat.raw
voxfilt -q -i long.raw -d 32,32,256 -m 100K -o long-heat.raw
same 'and so do passes over spool files' pieces.raw long-heat.raw
voxfilt -q -i long.raw -d 32,32,256 -m 100K --explain | grep -q '^run  *[0-9]* passes over a spool file of 1.0 MiB'
result $? 'and --explain says which they are'
voxfilt -q -d 32,32,256 -m 100K --until 0.02 < long.raw > until-spooled.raw
voxfilt -q -i long.raw -d 32,32,256 --until 0.02 -o until-held.raw
same '--until takes the same steps on trial' until-held.raw until-spooled.raw
make_picture -d 300,400 --interlaced -o woven.png
make_picture -d 300,400 -o plain.png
imgheat -f heat -o plain-heat.png plain.png
imgheat -f heat -m 2M -o woven-heat.png woven.png
same 'an interlaced picture gives what a plain one gives' plain-heat.png woven-heat.png
mkdir woven
imgheat -f heat -m 300K -o woven/heat.png < woven.png
same 'and so it does where its passes are kept in a file' plain-heat.png woven/heat.png
[ "$(ls -A woven)" = heat.png ]
result $? 'of which nothing is left'
imgheat -f heat -m 300K --explain woven.png | grep -q '^run .*; the input goes through a spool file of 352 KiB$'
result $? 'and --explain says so'
# shellcheck disable=SC3045  # where the shell cannot limit addresses, or a sanitizer needs all of them, this is skipped
if (ulimit -v 400000; voxfilt --version) > ../bare 2>&1; then
    head -c 268435456 /dev/zero | (ulimit -v 400000; voxfilt -q -d 64,64,16384 -m 64M 2> ../stderr) | cksum > sum
    head -c 268435456 /dev/zero | cksum > wanted-sum
    [ ! -s ../stderr ] && cmp sum wanted-sum
    result $? 'a volume in less memory than it has samples'
else
    skip 'a limit on addresses'
fi

# ---------------------------------------------------------------- signals and terminals

for signal in TERM HUP; do
    if ! takes_signal $signal > ../signal 2>&1; then
        skip "SIG$signal is ignored here"
        continue
    fi
    voxfilt -i v64.raw -n 64 -t f32 -s 1000000000 -o killed.raw 2> ../stderr &
    running=$!
    tries=0
    until ls voxfilt-*.part > ../parts 2>&1 || [ $tries = 50 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    grep -q '^voxfilt-[0-9a-f]\{16\}\.part$' ../parts
    result $? 'the output has a temporary name at first'
    kill -$signal $running
    wait $running 2> ../waited
    status=$?
    [ ! -e killed.raw ] && ! ls voxfilt-*.part > ../parts 2>&1 && [ $status -gt 128 ]
    result $? "SIG$signal removes it"
done
if takes_signal PIPE > ../signal 2>&1; then
    { voxfilt -i v64.raw -n 64 -t f32 -f identity 2> ../stderr; echo $? > ../code; } | head -c 1 > ../first
    [ ! -s ../stderr ] && [ "$(cat ../code)" -gt 128 ]
    result $? 'a reader that goes away is no news'
else
    skip 'SIGPIPE is ignored here'
fi
{
    (trap '' PIPE && exec voxfilt -q -i long.raw -d 32,32,256 -m 400K) 2> ../stderr
    echo $? > ../code
} | head -c 1 > ../first
printf 'voxfilt: standard output: Broken pipe\n' | diff - ../stderr && [ "$(cat ../code)" = 4 ]
result $? 'and where SIGPIPE is ignored, it is an error'
if script --version 2>&1 | grep -q util-linux && script -qec true /dev/null < /dev/null > ../bare 2>&1; then
    on_terminal() # WORDS COMMAND
    {
        script -qec "$2" /dev/null < /dev/null | tr -d '\r' > ../typed
        printf '%s\n' "$1" | diff - ../typed
        result $? "$1"
    }
    on_terminal 'imgheat: standard output is a terminal: binary data is not written there' 'imgheat gray.png'
    on_terminal 'voxfilt: /dev/tty is a terminal: binary data is not written there' 'voxfilt -i v8.raw -n 8 -t u8 -o /dev/tty'
    on_terminal 'imgheat: standard input is a terminal: name a file, or pipe one in' 'imgheat'
else
    skip 'terminals: script of util-linux is not here, or there are no pseudo-terminals'
fi

# ---------------------------------------------------------------- figures

accepts '--stats' 'input  channel 0  min 0  max 7  mean 3.5  deviation 2.29128785  L2 11.8321596
output channel 0  min 0  max 14  mean 7  deviation 4.58257569  L2 23.6643191
' voxfilt -i eight.raw -t u8 -d 4,2 -f matrix:2 --stats -o doubled.raw
[ "$(bytes doubled.raw)" = '0 2 4 6 8 10 12 14' ]
result $? 'matrix:2 doubles'
voxfilt -i eight.raw -t u8 -d 4,2 -f matrix:0.5 -o halved.raw
[ "$(bytes halved.raw)" = '0 0 1 2 2 2 3 4' ]
result $? 'halves go to the even'
voxfilt -i eight.raw -t u8 -d 4,2 -f matrix:-100 --out-type i8 -o clipped.raw
[ "$(bytes clipped.raw)" = '0 156 128 128 128 128 128 128' ]
result $? 'what is beyond the type becomes its nearest value'
printf '\000\000\200\177\000\000\300\177\000\000\200\077' > special.raw
accepts 'NaN is written as 0, and counted' 'voxfilt: nan.raw: 1 NaN written as 0
voxfilt: nan.raw: 1 sample (33 %) was cut off at 255
' voxfilt -i special.raw -t f32 -d 3,1 -f identity --out-type u8 -o nan.raw
[ "$(bytes nan.raw)" = '255 0 1' ]
result $? 'infinity becomes the greatest value'
voxfilt -i eight.raw -t u16 -d 2,2 --endian big --out-endian little -f identity -o swapped.raw
[ "$(bytes swapped.raw)" = '1 0 3 2 5 4 7 6' ]
result $? 'bytes are swapped'
voxfilt -i eight.raw -t u8 -d 3,2 --skip 2 -f identity -o skipped.raw
[ "$(bytes skipped.raw)" = '2 3 4 5 6 7' ]
result $? 'bytes are skipped'
printf '1 0 0 1\n' > ahead.taps
voxfilt -i eight.raw -t u8 -d 4,2 -f taps:ahead.taps -e wrap -o ahead.raw
[ "$(bytes ahead.raw)" = '1 2 3 0 5 6 7 4' ]
result $? 'taps correlate'
voxfilt -i eight.raw -t u8 -d 4,2 -f taps:ahead.taps -e wrap --flip -o behind.raw
[ "$(bytes behind.raw)" = '3 0 1 2 7 4 5 6' ]
result $? '--flip convolves'
v8 --report -o /dev/null > ../stdout 2> ../stderr
grep -q '^v8.raw → /dev/null: 8 × 8 × 8, 1 channel, u8 → u8, work f32$' ../stderr && grep -q '^steps     10$' ../stderr &&
    [ ! -s ../stdout ]
result $? '--report goes to standard error'
v8 --report=json --stats -s 7 -o /dev/null 2> ../stderr
grep -q '"type": "u8".*"steps": 7,.*"stats_in": \[{"min": 0, "max": 214,' ../stderr && [ "$(wc -l < ../stderr)" -eq 1 ]
result $? '--report=json is a line'
if has python3; then
    cp v8.raw 'a "quoted\ name.raw'
    voxfilt -q -i 'a "quoted\ name.raw' -n 8 --report=json --stats -o /dev/null 2> ../stderr
    python3 -m json.tool < ../stderr > ../json
    result $? '--report=json is JSON'
else
    skip '--report=json: python3 is not here'
fi

# ---------------------------------------------------------------- the bench, and wisdom

accepts '--bench' '' voxfilt -d 20,12,10 -D cpu --bench
grep -q '^naive .* equal ' ../stdout && [ ! -e ../cache ]
result $? 'it measures what is equal and keeps nothing'
grep -q ' GB/s read and written, [0-9.e+]* G multiply-adds/s, ' ../stdout && grep -q ' copy *fma *bytes ' ../stdout &&
    grep -q '^naive .* [0-9]*%  *[0-9]*% equal ' ../stdout
result $? 'by a copy and by multiply-adds'
if has python3; then
    voxfilt -d 20,12,10 -D cpu -f unsharp:1,1 --bench=json > ../stdout
    python3 -c '
import json, sys
rows = json.load(sys.stdin)
measured = [row for row in rows if "refused" not in row]
assert len(rows) >= 4 and all(row["equal"] and row["seconds_per_step"] > 0 for row in measured)
for row in measured:
    per_cell = row["share_of_multiply_adds"] and (
        row["share_of_multiply_adds"] * row["multiply_adds_per_second"] / row["cells_per_second"])
    assert (per_cell is None if "operation 4" in row["table"] else abs(per_cell - 9) < 1e-6), row' \
        < ../stdout
    result $? '--bench=json is JSON, a multiply-add for each tap'
fi
accepts '--tune' '' imgheat --tune -D cpu one.png
[ "$(sed 1d ../cache/voxfilt/wisdom | wc -l)" -eq 1 ] && head -n 1 ../cache/voxfilt/wisdom | grep -q '^voxfilt wisdom '
result $? 'it keeps a line'
accepts '--tune again' '' imgheat --tune -D cpu one.png
[ "$(sed 1d ../cache/voxfilt/wisdom | wc -l)" -eq 1 ] && [ "$(ls ../cache/voxfilt)" = wisdom ]
result $? 'in place of what was known'
accepts '--tune of another stage' '' imgheat --tune -D cpu -f laplace one.png
[ "$(sed 1d ../cache/voxfilt/wisdom | wc -l)" -eq 2 ]
result $? 'beside what was known'
accepts 'a plan with wisdom' '' imgheat --explain -D cpu one.png
grep -q 'rung [a-z]*: measured to be the fastest here: wisdom' ../stdout
result $? 'it says so'
imgheat -D cpu one.png > by-wisdom.png
sed 's/\t[0-9]/\tx/' ../cache/voxfilt/wisdom > ../damaged
for damage in 'printf garbage' 'head -c 60 ../damaged' 'cat ../damaged' true; do
    cp ../damaged ../cache/voxfilt/wisdom
    $damage > ../cache/voxfilt/wisdom
    accepts "wisdom damaged by $damage" \
        "imgheat: $XDG_CACHE_HOME/voxfilt/wisdom: damaged wisdom is ignored; --tune replaces it
" imgheat -D cpu -o without.png one.png
    same 'changes nothing' by-wisdom.png without.png
done
rm -r ../cache

v16 --until 0.5 --check-every 1 --report -o until.raw 2> ../stderr
steps=$(sed -n 's/^steps     \([0-9]*\), RMS change of the last 0\.4.*/\1/p' ../stderr)
v16 -s "${steps:-0}" -o steps.raw
same '--until stops where --steps would' until.raw steps.raw

v16 -e wrap -f gauss:1 -f box:1 -o defaults.raw
v16 -f gauss:1 -e wrap -f box:1 -e wrap -o each.raw
v16 -f gauss:1 -e wrap -f box:1 -o own.raw
same 'options before the first filter are for all stages' defaults.raw each.raw
differ 'options after a filter are its own' defaults.raw own.raw
v16 -f gauss:1 -f box:1 --out-type f64 --work f64 -o chain.raw
v16 -f gauss:1 --out-type f64 --work f64 -o part.raw
voxfilt -i part.raw -t f64 -n 16 -f box:1 -o parts.raw
same 'nothing is rounded between stages' chain.raw parts.raw

# The same bytes for any number of threads and any instruction set.
agree() # NAME COMMAND...
{
    name=$1
    shift
    "$@" -j 1 > ../one
    for threads in 2 7; do
        "$@" -j $threads | cmp - ../one || { result 1 "$name: $threads threads"; return; }
    done
    with_isa baseline "$@" | cmp - ../one && [ -s ../one ]
    result $? "$name: 1, 2, 7 threads and the baseline build agree"
}
agree heat v16
agree pm1 v16 --flux pm1 --scale 9 -e mirror
agree tanh v16 --flux tanh --scale 9 --inner 2 --reaction 0.01 -e constant:3
agree 'a chain' v16 -f unsharp:1.5,2 -e wrap -f gradient -f matrix:'1 2;3 4/5' -s 2 -e hold --out-type u16
agree 'double precision' v16 --work f64 --flux pm2 --scale 9 --out-type f64
agree until v16 --until 0.5
# Rows so wide that a tile of the CPU keeps none of them for all planes at once, even on one thread.
seq 20000 | head -c 92160 > wide.raw
wide() { voxfilt -i wide.raw -d 512,2,90 -t u8 --work f64 --out-type f64 -D cpu "$@"; }
wide --rung naive -o naive.raw
wide --rung fused -o fused.raw
same 'planes in runs' naive.raw fused.raw
agree 'planes in runs' wide
agree 'a picture' imgheat rgba.png
agree 'linear light' imgheat --linear -f gauss:2 rgba.png
agree '16 bits' imgheat -f unsharp:1,1 -f sobel:x deep.png

# A Gaussian of a picture of bytes against the one in double that awk computes: rounded once and to nearest, it is never
# more than half a count away, and no darker or lighter. --level 0 leaves the samples readable.
samples() # PNG FILE
{
    od -An -v -tu1 "$1" | awk '
        { for (i = 1; i <= NF; i++) b[n++] = $i }
        function word(at) { return ((b[at] * 256 + b[at + 1]) * 256 + b[at + 2]) * 256 + b[at + 3] }
        END {
            for (at = 8; at < n; at += 12 + size) {
                size = word(at)
                if (b[at + 4] == 73 && b[at + 5] == 72) { # IHDR
                    width = word(at + 8); colour = b[at + 17]
                }
                if (b[at + 4] == 73 && b[at + 5] == 68) # IDAT
                    for (i = 0; i < size; i++) z[count++] = b[at + 8 + i]
            }
            row = width * (colour == 2 ? 3 : 1)
            for (at = 2; !final; at += 5 + size) { # stored blocks, after the header of zlib
                if (z[at] > 1) { print "not stored"; exit }
                final = z[at]
                size = z[at + 1] + 256 * z[at + 2]
                for (i = 0; i < size; i++) line[total++] = z[at + 5 + i]
            }
            print width, total / (row + 1), row / width
            for (i = 0; i < total; i++)
                if (i % (row + 1) > 0) print line[i]
                else if (line[i] != 0) { print "filtered"; exit }
        }'
}

is_exact_gauss() # NAME PNG
{
    imgheat --level 0 -f identity "$2" -o plain.png
    imgheat --level 0 -f gauss:3 "$2" -o gauss.png
    samples plain.png > ../plain
    samples gauss.png > ../gauss
    paste ../plain ../gauss | awk -v sigma=3 '
        function reflect(i, extent) { return i < 0 ? -1 - i : i >= extent ? 2 * extent - 1 - i : i }
        NR == 1 { width = $1; height = $2; channels = $3; next }
        { before[NR - 2] = $1; after[NR - 2] = $2 }
        END {
            if (NR - 1 != width * height * channels || NR < 1000) { print "samples are missing: " NR; exit 1 }
            for (i = -12; i <= 12; i++) sum += weight[i] = exp(-i * i / (2 * sigma * sigma))
            for (y = 0; y < height; y++) for (x = 0; x < width; x++) for (c = 0; c < channels; c++) {
                v = 0
                for (i = -12; i <= 12; i++)
                    v += weight[i] / sum * before[(y * width + reflect(x + i, width)) * channels + c]
                pass[(y * width + x) * channels + c] = v
            }
            for (y = 0; y < height; y++) for (x = 0; x < width; x++) for (c = 0; c < channels; c++) {
                v = 0
                for (i = -12; i <= 12; i++)
                    v += weight[i] / sum * pass[(reflect(y + i, height) * width + x) * channels + c]
                error = after[(y * width + x) * channels + c] - v
                bias += error
                if (error < 0) error = -error
                if (error > worst) worst = error
            }
            bias /= NR - 1
            printf "      at most %.4f off, bias %+.4f\n", worst, bias
            exit !(worst < 0.51 && bias < 0.01 && bias > -0.01)
        }'
    result $? "gauss:3 is exact: $1"
}
make_picture -d 160,120 --gray -o wide.png
make_picture -d 100,80 --seed 5 -o colour.png
imgheat -f laplace -f matrix:-5 -o harsh.png wide.png
is_exact_gauss 'gray' wide.png
is_exact_gauss 'RGB' colour.png
is_exact_gauss 'noise' harsh.png

# The picture of README.md is what these commands make.
if has base64; then
    "${top_srcdir:?}/samples/phantom_svg.sh" > phantom.svg
    same 'the picture of README.md is of today' phantom.svg "$top_srcdir/samples/phantom.svg"
else
    skip 'the picture of README.md: base64 is not here'
fi

conclude
