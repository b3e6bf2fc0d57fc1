#!/bin/sh
# Inputs that are not as they should be: the message word for word, its status, and nothing left behind.
# Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

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
refuses 2 'voxfilt: standard input: raw samples need -n N or -d X[,Y[,Z]]' piped v8.raw voxfilt
refuses 2 'voxfilt: v8.raw: raw samples need -n N or -d X[,Y[,Z]]; 512 bytes (-n 8 -t u8, -n 4 -t f64)' \
    voxfilt -i v8.raw -o out
refuses 2 'voxfilt: scan_8x8x8_u8.raw: raw samples need -n N or -d X[,Y[,Z]]; 512 bytes (-n 8 -t u8, -n 4 -t f64; its name suggests -d 8,8,8 -t u8)' \
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
refuses 6 'voxfilt: standard input: the grid is too large: 1000000 x 1000000 x 1000000 x 1 channel' \
    piped v8.raw voxfilt -n 1000000 -t u8
refuses 6 'voxfilt: --memory: this job needs 2.0 KiB (2048 bytes), and 100 B are allowed' v8 -m 100 -o out
accepts 'just enough memory' '' v8 -m 2048 -o /dev/null
refuses 6 'voxfilt: --memory: this job needs 10 B, and 1 B are allowed' v8 -f identity -j 1 -m 1 -o out
refuses 2 'voxfilt: --device: abacus: no such device (--list names them)' v8 -D abacus -o out
refuses 2 'voxfilt: --device: cpu:x: no such device; did you mean cpu?' v8 -D cpu:x -o out
refuses 5 'voxfilt: --device: cpu:1: this machine has only cpu:0' v8 -D cpu:1 -o out
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
for option in --output=out --out-type=u8 --out-endian=big --out-range=0,1 --out-format=raw --memory=1G --report --stats --sync \
    --progress=always; do
    for way in --bench --tune; do
        refuses 2 "voxfilt: ${option%%=*}: $idle" voxfilt -n 8 -D cpu $way "$option"
    done
done
refuses 2 "imgheat: --level: $idle" imgheat -D cpu --bench --level 3
refuses 4 'voxfilt: missing.raw: No such file or directory' voxfilt -n 8 -i missing.raw --bench
served=$(for isa in baseline v3 v4; do
    ! with_isa $isa voxfilt --list 2> /dev/null | grep -q ", $isa instructions$" || echo $isa
done | paste -sd, - | sed 's/,\([^,]*\)$/ and \1/; s/,/, /')
refuses 5 "voxfilt: VOXFILT_ISA: z80: this build on this machine has $served" with_isa z80 v8 -o out
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
refuses 3 'imgheat: standard input: the file is empty' imgheat -o out
head -c 5 gray.png > mark.png
refuses 3 'imgheat: mark.png: the file ends early' imgheat mark.png -o out
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
    refuses 6 'imgheat: standard input: the grid is too large: 2147483647 x 2147483647 x 1 x 4 channels' \
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

# ---------------------------------------------------------------- files that change during a run

head -c 2000000 /dev/urandom > cube.raw
printf 'NRRD0004\ntype: uchar\ndimension: 3\nsizes: 100 100 200\nencoding: raw\ndata file: cube.raw\n' > one.nhdr
printf 'NRRD0004\ntype: uchar\ndimension: 3\nsizes: 100 100 400\nencoding: raw\ndata file: LIST\ncube.raw\nnext.raw\n' > two.nhdr
cp cube.raw next.raw
voxfilt -i cube.raw -d 1000,1000,2 -f identity -o layer%d.png
mkfifo slow

# The output, a pipe, is not read before the file has changed, and holds less than the run writes.
while_changing() # FILE CHANGE COMMAND...
{
    file=$1 change=$2
    shift 2
    "$@" -o slow &
    exec 3< slow
    $change "$file"
    cat <&3 > ../slow
    exec 3<&-
    wait $!
}
later='touch -d 2001-02-03'
changed='it changed during the run; the output may mix samples from before and after
'
raw='voxfilt -d 100,100,200 -t u8 -f identity'
# shellcheck disable=SC2086  # commands are words
{
    accepts 'no change' '' while_changing cube.raw true $raw -i cube.raw
    accepts 'another time' "voxfilt: cube.raw: $changed" while_changing cube.raw "$later" $raw -i cube.raw
    accepts 'another size' "voxfilt: next.raw: $changed" while_changing next.raw 'truncate -s 2000001' \
        $raw -i next.raw --planes 0:150
    truncate -s 2000000 next.raw
    accepts 'of standard input' "voxfilt: standard input: $changed" while_changing cube.raw touch from cube.raw $raw
    accepts 'of a header' "voxfilt: one.nhdr: $changed" while_changing one.nhdr "$later" \
        voxfilt -i one.nhdr -f identity --out-format raw
    accepts 'of samples beside it' "voxfilt: cube.raw: $changed" while_changing cube.raw 'touch' \
        voxfilt -i one.nhdr -f identity --out-format raw
    accepts 'of the last file of a list' "voxfilt: next.raw: $changed" while_changing next.raw "$later" \
        voxfilt -i two.nhdr -f identity --out-format raw
    accepts 'of the last picture of a stack' "voxfilt: layer1.png: $changed" while_changing layer1.png "$later" \
        voxfilt -i layer%d.png -f identity --out-format raw
    accepts 'of a picture' "imgheat: layer0.png: $changed" while_changing layer0.png "$later" imgheat layer0.png -f identity
    accepts 'pipes do not change' '' while_changing cube.raw "$later" piped cube.raw $raw
    accepts 'nor does an input that its output replaces' '' voxfilt -i one.nhdr -f identity -o one.nhdr
}

conclude
