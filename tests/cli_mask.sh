#!/bin/sh
# A mask: samples outside neither take part nor change, whatever files, filters and ways to run. Prints a line a case and
# fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# 10, 200, 20, 30, of which the second is outside; and in floats 1, NaN, 3, -0, -2000, 6 with the middle two pairs outside.
printf '\012\310\024\036' > four.raw
printf '\001\000\377\001' > in4.raw
printf '\000\000\200\077\000\000\300\177\000\000\100\100\000\000\000\200\000\000\372\304\000\000\300\100' > six.raw
printf '\001\000\001\000\000\001' > in6.raw

four()
{
    voxfilt -i four.raw -t u8 -d 4 --mask in4.raw "$@"
}

six()
{
    voxfilt -i six.raw -t f32 -d 6 --mask in6.raw "$@"
}

floats() # FILE
{
    od -An -v -tf4 "$1" | xargs
}

# ---------------------------------------------------------------- what takes part, and what changes

accepts 'an average' '' four -f box:1 -o box.raw
[ "$(bytes box.raw)" = '10 200 25 27' ]
result $? 'is that of what is inside'
accepts 'heat' '' four -f heat -s 1 -o heat.raw
[ "$(bytes heat.raw)" = '10 200 21 29' ]
result $? 'does not flow over the border'
accepts 'a derivative' '' four -f sobel:x --out-type i16 -o sobel.raw
[ "$(od -An -v -td2 sobel.raw | xargs)" = '0 200 10 10' ]
result $? 'reads the sample itself instead of what is outside'
accepts 'a median' '' four -f median:1 -o median.raw
[ "$(bytes median.raw)" = '10 200 30 30' ]
result $? 'is one of what is inside'
accepts 'a point' '' four -f scale:2,1 -f threshold:30,7,9 -o point.raw
[ "$(bytes point.raw)" = '7 200 9 9' ]
result $? 'has no effect outside'
accepts 'a range' '' four -f scale:2,0 --out-range 0,510 -o range.raw
[ "$(bytes range.raw)" = '10 100 20 30' ]
result $? 'is for all samples'
accepts 'another type' 'voxfilt: type.raw: 1 sample (25 %) was cut off at 127
' four -f box:1 --out-type i8 -o type.raw
[ "$(bytes type.raw)" = '10 127 25 27' ]
result $? 'cuts off what is outside as well'
accepts 'floats' '' six -f box:1 -o floats.raw
[ "$(floats floats.raw)" = '1 nan 3 -0 -2000 6' ]
result $? 'keep their NaN, signs and all'
accepts 'what is missing inside' '' six --missing 3 -f box:1 -o missing.raw
[ "$(floats missing.raw)" = '1 nan 3 -0 -2000 6' ]
result $? 'stays so, and NaN outside is not taken for it'
accepts 'a mark outside' 'voxfilt: six.raw: --missing: no sample inside the mask is -2000 or NaN
' six --missing -2000 -f box:2 -o mark.raw
[ "$(floats mark.raw)" = '1.6666666 nan 2 -0 -2000 6' ]
result $? 'stays as well'
accepts 'statistics count all samples' \
    'input  channel 0  min 10  max 200  mean 65  deviation 78.2623792  L2 203.469899
output channel 0  min 10  max 200  mean 65.5  deviation 77.9310593  L2 203.602554
' four --stats -f box:1 -o box.raw
four -f gauss:1 --explain > plan.txt
grep -q '^mask *in4.raw: u8$' plan.txt && grep -q '^work *f32, NaN is missing, and so is what is outside the mask$' plan.txt
result $? 'a plan names the mask'
four --report=json -f gauss:1 -o out.raw 2> report.json && grep -q '"mask": *"in4.raw"' report.json
result $? 'and so does a report'
grep -q '"outside": *1, "missing": *0,' report.json
result $? 'with the count of samples outside'
four --report -f gauss:1 -o out.raw 2> report.txt && grep -q '^mask *in4.raw: 1 of 4 samples of a channel are outside$' report.txt
result $? 'in words, too'
printf '\001\001\001\001' > all4.raw
printf '\000\000\000\000' > none4.raw
accepts 'a mask of one side' 'voxfilt: all4.raw: no sample is outside, and --mask has no effect
' voxfilt -i four.raw -t u8 -d 4 --mask all4.raw -f box:1 -o all.raw
voxfilt -i four.raw -t u8 -d 4 -f box:1 -o box1.raw
same 'has no effect' box1.raw all.raw
accepts 'and of the other' 'voxfilt: none4.raw: no sample is inside, and none changes
' voxfilt -i four.raw -t u8 -d 4 --mask none4.raw -f box:1 -o none.raw
same 'leaves all as it is' four.raw none.raw
printf '\001\000\000\000\000\000\000\200\005\000\000\000\000\000\000\200' > deep.raw
printf '\000\001' > in2.raw
accepts 'integers beyond 2^53' '' voxfilt -i deep.raw -t u64 -d 2 --mask in2.raw -f box:1 -o deep.out
[ "$(od -An -v -tu8 deep.out | xargs)" = '9223372036854775809 9223372036854775808' ]
result $? 'stay as they are'
accepts 'the same for an output of another type' '' \
    voxfilt -i deep.raw -t i64 -d 2 --mask in2.raw -f box:1 --out-type f64 -o deep.out
[ "$(od -An -v -tx8 deep.out | xargs)" = 'c3e0000000000000 c3e0000000000000' ]
result $? 'are rounded to f64'

# ---------------------------------------------------------------- files

noise 5 $((13 * 11 * 40)) '"%c", 33 + int(r() * 90)' > volume.raw
noise 6 $((13 * 11 * 40)) '"%c", r() < 0.3 ? 0 : 1 + int(r() * 90)' > in.raw

volume()
{
    voxfilt -q -i volume.raw -t u8 -d 13,11,40 "$@"
}

blur_inside() # MASK
{
    rm -f from.raw
    volume --mask "$1" -f gauss:1 -o from.raw
}

volume --mask in.raw -f gauss:1 -o whole.raw
for form in nii nii.gz hdr nrrd nhdr mha mhd npy raw.gz tif; do
    [ $form != tif ] || reads_tiff || continue
    voxfilt -q -i in.raw -t u8 -d 13,11,40 -f identity -o mask.$form
    blur_inside mask.$form
    same "a mask in $form" whole.raw from.raw
done
voxfilt -q -i in.raw -t u8 -d 13,11,40 -f identity -o mask_%02d.png
blur_inside mask_%02d.png
same 'pictures' whole.raw from.raw
volume -f identity -o volume%02d.raw
rm -f from.raw
voxfilt -q -i volume%02d.raw -t u8 -d 13,11 --mask mask.nii.gz -f gauss:1 --out-format raw -o from.raw
same 'a stack, and a mask that is compressed' whole.raw from.raw
voxfilt -q -i in.raw -t u8 -d 13,11,40 -f identity -o mask_%02d.raw
blur_inside mask_%02d.raw
same 'a stack of raw samples' whole.raw from.raw
for type in u16 i32 f16 f64; do
    voxfilt -q -i in.raw -t u8 -d 13,11,40 -f scale:-0.5,0 --out-type f32 -o half.raw
    voxfilt -q -i half.raw -t f32 -d 13,11,40 -f scale:-2,0 --out-type $type --out-endian big -o mask.npy
    blur_inside mask.npy
    same "samples of $type" whole.raw from.raw
done
voxfilt -q -i in.raw -t u8 -d 13,11,40 -f identity --out-type f32 -o in4.raw4
blur_inside in4.raw4
same 'raw samples, of a type that the length tells' whole.raw from.raw
# Of the mask's values: 2 m - 2 is 0 where m is 1. And two channels, of which one is enough.
noise 6 $((13 * 11 * 40)) '"%c", r() < 0.3 ? 1 : 2 + int(r() * 90)' > next.raw
voxfilt -q -i next.raw -t u8 -d 13,11,40 -f identity -o sloped.nii
printf '\000\000\000\100\000\000\000\300' | dd of=sloped.nii bs=1 seek=112 conv=notrunc 2> ../dd
blur_inside sloped.nii
same 'a slope and an intercept' whole.raw from.raw
noise 6 $((13 * 11 * 40)) '"%c%c", 0, r() < 0.3 ? 0 : 1 + int(r() * 90)' > two.raw
voxfilt -q -i two.raw -t u8 -d 13,11,40 --channels 2 -f identity -o two.nrrd
blur_inside two.nrrd
same 'a mask of two channels' whole.raw from.raw
mkfifo fifo
cat mask.nii > fifo &
blur_inside fifo
same 'a pipe' whole.raw from.raw

# ---------------------------------------------------------------- refusals

refuses 2 'voxfilt: --mask: it needs a file, not standard input' volume --mask - -o out
refuses 2 'voxfilt: --mask: fifo: it is the input, too, and a pipe' voxfilt -i fifo -t u8 -d 4 --mask fifo -o out
refuses 4 'voxfilt: nowhere.nii: No such file or directory' volume --mask nowhere.nii -o out
refuses 3 'voxfilt: mask.nii: a mask of 13 x 11 x 40, but volume.raw is 11 x 13 x 40' \
    voxfilt -i volume.raw -t u8 -d 11,13,40 --mask mask.nii -o out
refuses 3 'voxfilt: mask.nii: a mask of 13 x 11 x 40, but volume.raw is 143 x 40' \
    voxfilt -i volume.raw -t u8 -d 143,40 --mask mask.nii -o out
head -c 5000 in.raw > short.raw
refuses 3 'voxfilt: short.raw: length: 5000 bytes, but 13 x 11 x 40 are 5720 samples of 1, 2, 4 or 8 bytes' \
    volume --mask short.raw -o out
# No option reads a mask in another way, so none is suggested, although --skip 112 or -n 18 would fit an input.
head -c 5832 /dev/zero > long.raw
refuses 3 'voxfilt: long.raw: length: 5832 bytes, but 13 x 11 x 40 are 5720 samples of 1, 2, 4 or 8 bytes' \
    volume --mask long.raw -o out
head -c 3000 mask.nii > short.nii
refuses 3 'voxfilt: short.nii: length: samples of exactly 2648 bytes, but 13 x 11 x 40 u8 take 5720' volume --mask short.nii -o out
head -c 3000 mask.nii.gz > short.nii.gz
volume --mask short.nii.gz -o out 2> ../stderr
[ $? = 3 ] && grep -q '^voxfilt: short.nii.gz: ' ../stderr && [ ! -e out ]
result $? 'a mask whose compressed samples end too soon is named'
refuses 2 'voxfilt: in.raw: the mask would be replaced' volume --mask in.raw -o in.raw
refuses 2 'voxfilt: --preview: in.raw: the mask would be replaced' volume --mask in.raw --preview in.raw -o out
refuses 2 'voxfilt: --mask: not allowed with --bench and --tune, which filter nothing' voxfilt --bench -n 4 --mask in.raw
refuses 2 'voxfilt: mask.nii.gz: --part needs a mask with samples at fixed places in one file: a pipe, compressed samples and lists of files have none' \
    volume --mask mask.nii.gz --part 1/2 -o out
mkdir -p folder
cp volume.raw folder/in.raw
refuses 2 'voxfilt: folder/in.raw: the mask would be replaced' \
    voxfilt -t u8 -d 13,11,40 --mask folder/in.raw -o folder/ in.raw volume.raw
accepts 'a vain mask is noted' 'voxfilt: four.raw: --mask has no effect: identity alone copies samples as they are
' four -f identity -o copied.raw
same 'and samples are copied' four.raw copied.raw

# ---------------------------------------------------------------- headers

make_volume -d 13,11,40 -t u16 -o ct.raw
voxfilt -q -i ct.raw -t u16 -d 13,11,40 --spacing 1,1,2 -f identity -o ct.nii
printf '\000\000\200\077\000\000\200\304' | dd of=ct.nii bs=1 seek=112 conv=notrunc 2> ../dd # v - 1024
printf '\002' | dd of=ct.nii bs=1 seek=123 conv=notrunc 2> ../dd # millimetres
cp ct.nii apart.nii
printf '\000\000\100\077' | dd of=apart.nii bs=1 seek=80 conv=notrunc 2> ../dd # 0.75 along x
accepts 'a mask with other distances is noted' \
    'voxfilt: ct.nii: a sample v stands for the value 1 v + -1024
voxfilt: apart.nii: a sample v stands for the value 1 v + -1024
voxfilt: apart.nii: its spacing or its orientation is not that of ct.nii; samples are taken by their indices
voxfilt: apart.nii: no sample is outside, and --mask has no effect
' voxfilt -i ct.nii --mask apart.nii -f gauss:1 -o out.nii
# 2 v - 10: values of 10, 390, 30 and 50. What stands for other values afterwards does so outside, too.
voxfilt -q -i four.raw -t u8 -d 4 -f identity -o four.nii
printf '\000\000\000\100\000\000\040\301' | dd of=four.nii bs=1 seek=112 conv=notrunc 2> ../dd
sloped='voxfilt: four.nii: a sample v stands for the value 2 v + -10
'
accepts 'a mean of sloped samples' "$sloped" voxfilt -i four.nii --mask in4.raw -f box:1 -o sloped.nii
tail -c 4 sloped.nii > tail.raw
same 'leaves them as they are' tail.raw box.raw
accepts 'a derivative of sloped samples' "$sloped" voxfilt -i four.nii --mask in4.raw -f sobel:x --out-type f32 -o sloped.nii
tail -c 16 sloped.nii > tail.raw
[ "$(floats tail.raw)" = '0 195 10 10' ]
result $? 'has no intercept, and values outside are those that they were'
accepts 'values' "$sloped" voxfilt -i four.nii --mask in4.raw -f threshold:20 --out-type f32 -o values.nii
tail -c 16 values.nii > tail.raw
[ "$(floats tail.raw)" = '0 390 1 1' ]
result $? 'are written as such outside, too'

# ---------------------------------------------------------------- the same samples from everywhere

for chain in '-f gauss:1.3 -s 2' '-f heat -s 7 -e wrap' '-f unsharp:1,0.5 -e hold -f laplace --out-type i16'; do
    # shellcheck disable=SC2086  # words are wanted
    volume --mask mask.nii $chain -o whole.raw
    # shellcheck disable=SC2086
    for size in 250K 400K 1M; do
        piped volume.raw voxfilt -t u8 -d 13,11,40 --mask mask.nii.gz $chain -m $size > stream.raw
        same "$chain: a stream within $size" whole.raw stream.raw
    done
    # shellcheck disable=SC2086
    volume --mask mask.nii $chain --crop 2:9,:,5:31 -o some.raw
    # shellcheck disable=SC2086
    volume --mask mask.nii.gz $chain --crop 2:9,:,5:31 -o crop.raw
    same "$chain: a region" some.raw crop.raw
    case $chain in *wrap*) continue ;; esac
    # shellcheck disable=SC2086
    for part in 1 2 3; do volume --mask mask.nii $chain --part $part/3; done > joined.raw
    same "$chain: parts" whole.raw joined.raw
done

# A series of three has the mask of one volume.
head -c 1716 in.raw > in12.raw
make_volume -d 13,11,36 -t u16 -o all.raw
{ printf 'NRRD0004\ntype: uint16\ndimension: 4\nsizes: 13 11 12 3\nendian: little\nencoding: raw\n\n'
    cat all.raw; } > series.nrrd
gzip -k -f in12.raw
for i in 0 1 2; do
    tail -c +$((1 + 3432 * i)) all.raw | head -c 3432 > one.raw
    voxfilt -q -i one.raw -t u16 -d 13,11,12 --mask in12.raw -f gauss:1
done > expected.raw
voxfilt -q -i in12.raw -t u8 -d 13,11,12 -f identity --level 0 -o in12.zarr
for mask in in12.raw in12.raw.gz in12.zarr; do
    accepts "a series, $mask" '' voxfilt -i series.nrrd --mask $mask -f gauss:1 --out-format raw -o series.raw
    same 'has the mask for each volume' expected.raw series.raw
done
cat in12.raw > fifo &
refuses 2 'voxfilt: fifo: a mask is read once for each of 3 volumes, so it must be a regular file' \
    voxfilt -i series.nrrd --mask fifo -f gauss:1 -o out

# A mask that changes while it is read: more has been written into the pipe than it holds.
make_volume -d 13,11,1400 -t u8 -o long.raw
cp long.raw changing.raw
{ head -c 190000 long.raw; touch changing.raw; tail -c +190001 long.raw; } |
    voxfilt -t u8 -d 13,11,1400 --mask changing.raw -f gauss:1 -o changed.raw 2> ../stderr
grep -q '^voxfilt: changing.raw: it changed during the run; the output may mix samples from before and after$' ../stderr
result $? 'a mask that changes is noted'

voxfilt -q -i volume.raw -t u8 -d 13,11,40 --mask in.raw -f heat -s 3 -o third.raw
voxfilt -q -i volume.raw -t u8 -d 13,11,40 --mask in.raw -f heat -s 5 --tee 3:tee.raw -o fifth.raw
same 'a tee' third.raw tee.raw
mkdir -p many
cp volume.raw first.vol
cp volume.raw second.vol
refuses 2 'voxfilt: --mask: fifo: for 2 inputs it must be a regular file' \
    voxfilt -t u8 -d 13,11,40 --mask fifo -f heat -o many/ first.vol second.vol
accepts 'several inputs' '' voxfilt -t u8 -d 13,11,40 --mask in.raw -f heat -s 3 -o many/ first.vol second.vol
same 'have one mask' third.raw many/second.vol
rm -r many/*
voxfilt -q -i in.raw -t u8 -d 13,11,40 -f identity --level 0 -o in.zarr
accepts 'several inputs, and a store' '' voxfilt -t u8 -d 13,11,40 --mask in.zarr -f heat -s 3 -o many/ first.vol second.vol
same 'have one mask, too' third.raw many/second.vol

if [ -x "${top_builddir:-.}/tests/imgheat_emulated" ]; then
    for gpus in 0 0,1,2; do
        CUDA_EMULATION_DEVICES=3 "${top_builddir:-.}/tests/imgheat_emulated" --program=voxfilt -D cuda:$gpus -q \
            -i volume.raw -t u8 -d 13,11,40 --mask mask.nii.gz -f heat -s 3 -o gpus.raw
        same "emulated GPUs $gpus" third.raw gpus.raw
    done
fi

# ---------------------------------------------------------------- pictures

voxfilt -q -i volume.raw -t u8 -d 13,11,40 -f identity --slice z=3 -o photo.png
voxfilt -q -i in.raw -t u8 -d 13,11,40 -f identity --slice z=3 -o inside.png
accepts 'a picture' '' imgheat --mask inside.png -f gauss:1 -o blurred1.png photo.png
head -c 572 volume.raw | tail -c 143 > photo.raw
head -c 572 in.raw | tail -c 143 > inside.raw
voxfilt -q -i photo.raw -t u8 -d 13,11 --mask inside.raw -f gauss:1 -o blurred.raw
voxfilt -q -i blurred%d.png -f identity -o picture.raw
same 'has the samples of a plane' blurred.raw picture.raw
# Red, green and blue: black is outside. And a mask with alpha, which would be of two minds.
noise 8 143 '"%c%c%c", 0, int(r() * 3) == 1 ? 9 : 0, 0' > colours.raw
voxfilt -q -i colours.raw -t u8 -d 13,11,1 --channels 3 -f identity --slice z=0 -o colours.png
noise 8 143 '"%c", int(r() * 3) == 1 ? 9 : 0' > gray.raw
voxfilt -q -i photo.raw -t u8 -d 13,11 --mask gray.raw -f gauss:1 -o blurred.raw
accepts 'a mask in colour' '' imgheat --mask colours.png -f gauss:1 -o blurred1.png photo.png
voxfilt -q -i blurred%d.png -f identity -o picture.raw
same 'is outside where it is black' blurred.raw picture.raw
make_picture -d 13,11 --rgba -o alpha1.png
refuses 3 'imgheat: alpha1.png: a mask has no alpha: what is 0, or black, is outside' \
    imgheat --mask alpha1.png -f gauss:1 -o out photo.png
voxfilt -q -i alpha%d.png -f identity -o alpha.raw
voxfilt -q -i alpha.raw -t u8 -d 13,11 --channels 4 --mask gray.raw -f gauss:1 -o four.out
accepts 'alpha' '' imgheat --mask colours.png -f gauss:1 -o blurred1.png alpha1.png
voxfilt -q -i blurred%d.png -f identity -o picture.raw
same 'neither takes part nor changes outside' four.out picture.raw
accepts 'its frames' '' imgheat --mask inside.png -f heat -s 2 --frames f%d.png -o last.png photo.png
cmp f2.png last.png
result $? 'are masked, too'
if PYTHONPATH=${PYTHONPATH:-} python3 -c 'import numpy, scipy' 2> ../import; then
    python3 -c "
import numpy as np
rng = np.random.default_rng(7)
rng.normal(size=9 * 11 * 13).tofile('numbers.raw')
(rng.random(9 * 11 * 13) >= 0.3).astype('u1').tofile('inside.raw')"
    for mode in reflect mirror nearest wrap; do
        for filter in gauss:0.5 gauss:1 gauss:1.5 gauss:3 gauss:1,0.5,2 box:1 box:2 box:4 box:1,0,2 unsharp:1,0.5 \
            matrix:-1,0,1; do
            voxfilt -q -i numbers.raw -t f64 -d 13,11,9 --mask inside.raw -f $filter -e $mode \
                -o "$(echo "$filter" | tr ':' '-')-$mode.out"
        done
    done
    python3 << 'P'
import sys
import numpy as np
from scipy import ndimage as nd

u = np.fromfile("numbers.raw", "f8").reshape(9, 11, 13)
m = np.fromfile("inside.raw", "u1").reshape(u.shape) > 0


def quotient(f):
    with np.errstate(invalid="ignore"):
        return f(np.where(m, u, 0)) / f(m.astype("f8"))


def check(name, inside):
    got = np.fromfile(name + ".out", "f8").reshape(u.shape)
    bad = got[~m].tobytes() != u[~m].tobytes() or not abs(got - inside)[m].max() <= 1e-12
    print(("FAIL  " if bad else "ok    ") + name)
    return bad


bad = False
pads = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap"}
for mode in pads:
    for text in "0.5", "1", "1.5", "3", "1,0.5,2":
        sigma = [float(s) for s in text.split(",")][::-1]
        sigma = sigma if len(sigma) == 3 else 3 * sigma
        bad |= check(f"gauss-{text}-{mode}", quotient(lambda v: nd.gaussian_filter(v, sigma, mode=mode)))
    for text in "1", "2", "4", "1,0,2":
        side = [2 * int(r) + 1 for r in text.split(",")][::-1]
        side = side if len(side) == 3 else 3 * side
        bad |= check(f"box-{text}-{mode}", quotient(lambda v: nd.uniform_filter(v, side, mode=mode)))
    q = quotient(lambda v: nd.gaussian_filter(v, 1, mode=mode))
    bad |= check(f"unsharp-1,0.5-{mode}", u + 0.5 * (u - q))
    there = np.where(m, u, np.nan)
    beside = np.pad(there, ((0, 0), (0, 0), (1, 1)), mode=pads[mode])
    low, high = (np.where(np.isnan(v), u, v) for v in (beside[:, :, :-2], beside[:, :, 2:]))
    bad |= check(f"matrix--1,0,1-{mode}", high - low)
sys.exit(bool(bad))
P
    result $? 'the quotients of scipy inside, and outside what there was'
else
    miss_reader 'scipy is not here'
fi

conclude
