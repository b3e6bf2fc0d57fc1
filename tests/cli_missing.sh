#!/bin/sh
# Samples that are missing: what marks them, what filters make of the others, and what is refused. Prints a line a case and
# fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# 10, 0, 20, 30; and in floats 1, NaN, 3, 4, -2000, 6.
printf '\012\000\024\036' > four.raw
printf '\000\000\200\077\000\000\300\177\000\000\100\100\000\000\200\100\000\000\372\304\000\000\300\100' > six.raw

four()
{
    voxfilt -i four.raw -t u8 -d 4 "$@"
}

six()
{
    voxfilt -i six.raw -t f32 -d 6 "$@"
}

floats() # FILE
{
    od -An -v -tf4 "$1" | xargs
}

# ---------------------------------------------------------------- what is there

accepts 'an average' '' four --missing 0 -f box:1 -o box.raw
[ "$(bytes box.raw)" = '10 0 25 27' ]
result $? 'is that of what is there'
# One sample of 64 is missing; a Gaussian of 1 reaches four.
awk 'BEGIN { for (i = 0; i < 64; i++) printf "%c", i == 20 ? 90 : 65 + i * i % 23 }' > rod.raw
voxfilt -i rod.raw -t u8 -d 64 -f gauss:1 --out-type f64 -o plain.out
voxfilt -i rod.raw -t u8 -d 64 -f gauss:1 --out-type f64 --missing 90 -o missing.out
head -c 128 plain.out > before
tail -c 312 plain.out > behind
head -c 128 missing.out | cmp - before && tail -c 312 missing.out | cmp - behind
result $? 'samples out of reach have the bytes that they have without the option'
tail -c 320 plain.out > farther
! tail -c 320 missing.out | cmp -s - farther
result $? 'those in reach have others'
accepts 'a step of heat' '' four --missing 0 -f heat -s 1 -o heat.raw
[ "$(bytes heat.raw)" = '10 0 21 29' ]
result $? 'does not flow to what is missing'
accepts 'a difference' '' four --missing 0 -f sobel:x --out-type i8 -o sobel.raw
[ "$(bytes sobel.raw)" = '0 0 10 10' ]
result $? 'reads the sample itself instead'
accepts 'a median' '' four --missing 0 -f median:1 -o median.raw
[ "$(bytes median.raw)" = '10 0 30 30' ]
result $? 'is one of what is there'
accepts 'an order' '' four --missing 0 -f order:1,0 -f order:1,2 -o order.raw
[ "$(bytes order.raw)" = '10 0 20 20' ]
result $? 'takes the last of fewer'
accepts 'an opening' '' six --missing -2000 -f open:1 -o open.raw
[ "$(floats open.raw)" = '1 -2000 3 3 -2000 6' ]
result $? 'leaves out what is missing before and between'
accepts 'a mean in floats' '' six --missing nan -f box:1 -o nan.raw
[ "$(floats nan.raw)" = '1 nan 3.5000002 -664.3334 -663.3334 -662.6667' ]
result $? 'NaN is missing'
accepts 'a value' '' six --missing -2000 -f box:1 -o value.raw
[ "$(floats value.raw)" = '1 -2000 3.5000002 3.5000002 -2000 6' ]
result $? 'and with a value, both are, and are written as it'
accepts 'a constant edge' '' six --missing -2000 -f box:1 -e constant:7 -o edge.raw
[ "$(floats edge.raw)" = '4 -2000 3.5000002 3.5000002 -2000 6.5' ]
result $? 'is there'
accepts 'a constant edge that is missing, too' '' six --missing -2000 -f box:1 -e constant:-2000 -o edge.raw
accepts 'statistics count what is missing' \
    'input  channel 0  min 1  max 6  mean 3.5  deviation 1.80277564  L2 7.87400787  NaN 2
output channel 0  min 1  max 6  mean 3.50000012  deviation 1.76776695  L2 7.84219378  NaN 2
' six --missing -2000 --stats -f box:1 -o value.raw
accepts 'a picture' '' voxfilt -i four.raw -t u8 -d 2,2,1 -f identity --slice z=0 -o slice.png
accepts 'is filtered likewise' '' imgheat --missing 0 -f gauss:1 -o blurred.png slice.png
accepts 'a slice of them' 'voxfilt: slice.png: 1 to 6 became 0 to 65535
' voxfilt -i six.raw -t f32 -d 3,2,1 --missing -2000 -f box:0 --slice z=0 -o slice.png
# NaN in place of the fifth sample, -2000.
(head -c 16 six.raw && printf '\000\000\300\177' && tail -c 4 six.raw) > nans.raw
six --missing -2000 -f box:1 --preview value.png -o out.raw
voxfilt -i nans.raw -t f32 -d 6 --missing nan -f box:1 --preview nan.png -o out.raw
same 'a preview draws a mark as NaN' nan.png value.png
rm out.raw
six --missing nan --explain > plan.txt
grep -q 'work *f32, NaN is missing' plan.txt
result $? 'a plan says what is missing'

# ---------------------------------------------------------------- marks that nothing has

accepts 'no sample is the mark' 'voxfilt: four.raw: --missing: no sample is 7
' four --missing 7 -f box:1 -o vain.raw
four -f box:1 -o box.raw
same 'and the result is that without the option' box.raw vain.raw
accepts 'a note may be silenced' '' four -q --missing 7 -f box:1 -o vain.raw
accepts 'of a region there is none' 'voxfilt: four.raw: --missing: no sample of the region is 0
' four --missing 0 -f box:1 --crop 2:4 -o vain.raw
accepts 'of a part, too' 'voxfilt: six.raw: --missing: no sample of the region is -2000 or NaN
' voxfilt -i six.raw -t f32 -d 1,1,6 --missing -2000 -f box:1 --part 2/3 -o vain.raw
accepts 'of another there is one' '' voxfilt -i six.raw -t f32 -d 1,1,6 --missing -2000 -f box:1 --part 1/3 -o vain.raw
printf '\000\000\200\177\000\000\200\377' > infinite.raw
accepts 'infinities are no NaN' 'voxfilt: infinite.raw: --missing: no sample is NaN
' voxfilt -i infinite.raw -t f32 -d 2 --missing nan -f identity -f threshold:1 -o vain.raw
six -q --missing -2000 -f box:1 --report=json -o vain.raw 2> report.json && grep -q '"missing": *2,' report.json
result $? 'a report counts what is missing'
six -q --missing -2000 -f box:1 --report -o vain.raw 2> report.txt && grep -q '^missing *2 samples$' report.txt
result $? 'in words, too'

# ---------------------------------------------------------------- what marks

# A slope of 2 and an intercept of -10: the sample 5 stands for 0.
voxfilt -i four.raw -t u8 -d 2,2 -f identity -o four.nii
cp four.nii sloped.nii
printf '\000\000\000\100\000\000\040\301' | dd of=sloped.nii bs=1 seek=112 conv=notrunc 2> ../dd
accepts 'values of a header' 'voxfilt: sloped.nii: a sample v stands for the value 2 v + -10
' voxfilt -i sloped.nii --missing 10 -f box:1 -o out.nii
[ "$(tail -c 4 out.nii > ../tail && bytes ../tail)" = '10 11 20 20' ]
result $? 'mark samples that stand for them'

# ---------------------------------------------------------------- values that types round

# 2049 and 1 as f32: f16 has 2048 beside it.
printf '\000\020\000\105\000\000\200\077' > wide.raw
voxfilt -i wide.raw -d 2 -t f32 --missing 2049 -f matrix:3 --out-type f16 -o half.raw
[ "$(od -An -v -tx2 half.raw | xargs)" = '6800 4200' ]
result $? 'f16 gets the sample that is nearest to the value'
# 16777216, 16777217 and 1 as i32: f32 rounds the second to the first.
printf '\000\000\000\001\001\000\000\001\001\000\000\000' > whole.raw
voxfilt -i whole.raw -d 3 -t i32 --missing 16777216 -f matrix:3 -o own.raw
voxfilt -i whole.raw -d 3 -t i32 --missing 16777216 -f matrix:3 --work f32 -o rounded.raw
[ "$(od -An -v -td4 own.raw rounded.raw | xargs)" = '16777216 50331651 3 16777216 16777216 3' ]
result $? 'samples are compared in the work type'

# ---------------------------------------------------------------- refusals

refuses 2 'voxfilt: four.raw: --missing=nan: u8 has no NaN: give the value that stands for it' four --missing nan -o out
refuses 2 'voxfilt: four.raw: --missing=300: no sample of u8 stands for it' four --missing 300 -o out
refuses 2 'voxfilt: four.raw: --missing=1.5: no sample of u8 stands for it' four --missing 1.5 -o out
refuses 2 'voxfilt: six.raw: --missing=-2000: no sample of u8 stands for it' six --missing -2000 --out-type u8 -o out
refuses 2 'voxfilt: six.raw: --missing=1e+39: no sample of f32 stands for it' six --missing 1e39 -o out
refuses 2 'voxfilt: four.raw: --missing=16777217: no sample of f32 stands for it (--work f64)' \
    voxfilt -i four.raw -t u32 -d 1 --missing 16777217 --work f32 -o out
refuses 2 'voxfilt: six.raw: --missing=7 would be written into the range of --out-range' \
    six --missing 7 --out-range 0,1 -o out
refuses 2 "voxfilt: --missing: inf: expected nan or a value" six --missing inf -o out
accepts 'a vain option is noted' 'voxfilt: four.raw: --missing has no effect: identity alone copies samples as they are
' four --missing 0 -f identity -o copied.raw
same 'and samples are copied' four.raw copied.raw

# ---------------------------------------------------------------- the same samples from everywhere

noise 3 $((23 * 19 * 40)) '"%c", 65 + int(r() * 12)' > volume.raw

marks=$(tr -cd '\106' < volume.raw | wc -c)

volume()
{
    voxfilt -t u8 -d 23,19,40 --missing 70 "$@"
}

for chain in '-f gauss:1.3 -s 2' '-f heat -s 7' '-f unsharp:1,0.5 -e hold -f laplace --out-type i16' \
    '-f median:1 -s 2 -f morphgrad:1 -f percentile:2,30,ball -f bilateral:1,9'; do
    # shellcheck disable=SC2086  # words are wanted
    volume -i volume.raw $chain -o whole.raw
    # shellcheck disable=SC2086
    piped volume.raw volume $chain -m 600K --report=json:stream.json > stream.raw
    same "$chain: a stream" whole.raw stream.raw
    [ "$(sed 's/.*"missing": *\([0-9]*\).*/\1/' stream.json)" = "$marks" ]
    result $? "$chain: and its count"
    : > joined.raw
    for part in 1 2 3; do
        # shellcheck disable=SC2086
        volume -i volume.raw $chain --part $part/3 -o part.raw
        cat part.raw >> joined.raw
    done
    same "$chain: parts" whole.raw joined.raw
done

# ---------------------------------------------------------------- what others compute

if PYTHONPATH=${PYTHONPATH:-} python3 -c 'import numpy, scipy' 2> ../import; then
    python3 -c "
import numpy as np
u = np.random.default_rng(7).normal(size=9 * 11 * 13)
u[np.random.default_rng(8).random(u.size) < 0.3] = np.nan
u.tofile('numbers.raw')"
    ranks='median:1 median:2,ball percentile:1,80 order:1,9 min:2,ball max:1 open:1 close:1 tophat:1 blackhat:1 morphgrad:1 bilateral:1,0.8'
    for mode in reflect mirror nearest wrap; do
        for filter in gauss:0.5 gauss:1.5 gauss:3 box:1 box:2 box:4; do
            voxfilt -i numbers.raw -t f64 -d 13,11,9 --missing nan -f $filter -e $mode \
                -o "${filter%:*}-${filter#*:}-$mode.out"
        done
        for filter in $ranks; do
            voxfilt -i numbers.raw -t f64 -d 13,11,9 --missing nan -f $filter -e $mode -o $filter-$mode.out
        done
        voxfilt -i numbers.raw -t f64 -d 13,11,9 --missing nan -f matrix:-1,0,1 -e $mode -o central-x-$mode.out
        voxfilt -i numbers.raw -t f64 -d 13,11,9 --missing nan -f unsharp:1,0.5 -e $mode -o unsharp-$mode.out
    done
    python3 << 'P'
import sys
import numpy as np
from scipy import ndimage as nd

u = np.fromfile("numbers.raw", "f8").reshape(9, 11, 13)
m = ~np.isnan(u)
full = np.where(m, u, 0)


def quotient(f):
    return np.where(m, f(full) / f(m.astype("f8")), np.nan)


def check(name, wanted):
    got = np.fromfile(name + ".out", "f8").reshape(u.shape)
    bad = not np.array_equal(np.isnan(got), np.isnan(wanted)) or np.nanmax(abs(got - wanted)) > 1e-12
    print(("FAIL  " if bad else "ok    ") + name)
    return bad


def bilateral(v, mode):
    """Sigmas 1 and 0.8, in a cube of side 5: what is missing has no weight."""
    beside, sums, weights = np.pad(v, 2, mode=pads[mode]), 0, 0
    for dz, dy, dx in np.ndindex(5, 5, 5):
        there = beside[dz:dz + 9, dy:dy + 11, dx:dx + 13]
        square = (dz - 2) ** 2 + (dy - 2) ** 2 + (dx - 2) ** 2
        w = np.nan_to_num(np.exp(-square / 2 - (there - v) ** 2 / (2 * 0.8 ** 2)))
        sums, weights = sums + w * np.nan_to_num(there), weights + w
    return np.where(np.isnan(v), np.nan, sums / np.where(np.isnan(v), 1, weights))


def ranked(v, mode, side, ball, rank):
    """By rank(n) among those of a window that are there."""
    at = np.indices((side,) * 3) - side // 2
    window = (at * at).sum(0) <= (side // 2) ** 2 if ball else np.ones((side,) * 3)

    def take(values):
        there = np.sort(values[~np.isnan(values)])
        return there[min(rank(len(there)), len(there) - 1)] if len(there) else np.nan

    found = nd.generic_filter(v, take, footprint=window, mode="grid-wrap" if mode == "wrap" else mode)
    return np.where(np.isnan(v), np.nan, found)


def least(v, mode, side=3, ball=False):
    return ranked(v, mode, side, ball, lambda n: 0)


def greatest(v, mode):
    return ranked(v, mode, 3, False, lambda n: n - 1)


bad = False
pads = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap"}
for mode in "reflect", "mirror", "nearest", "wrap":
    for sigma in 0.5, 1.5, 3:
        bad |= check(f"gauss-{sigma}-{mode}", quotient(lambda v: nd.gaussian_filter(v, sigma, mode=mode)))
    for radius in 1, 2, 4:
        bad |= check(f"box-{radius}-{mode}", quotient(lambda v: nd.uniform_filter(v, 2 * radius + 1, mode=mode)))
    beside = np.pad(u, ((0, 0), (0, 0), (1, 1)), mode=pads[mode])
    low, high = (np.where(np.isnan(v), u, v) for v in (beside[:, :, :-2], beside[:, :, 2:]))
    bad |= check(f"central-x-{mode}", np.where(m, high - low, np.nan))
    q = quotient(lambda v: nd.gaussian_filter(v, 1, mode=mode))
    bad |= check(f"unsharp-{mode}", u + 0.5 * (u - q))
    bad |= check(f"bilateral:1,0.8-{mode}", bilateral(u, mode))
    low, high = least(u, mode), greatest(u, mode)
    opened, closed = greatest(low, mode), least(high, mode)
    bad |= check(f"median:1-{mode}", ranked(u, mode, 3, False, lambda n: n // 2))
    bad |= check(f"median:2,ball-{mode}", ranked(u, mode, 5, True, lambda n: n // 2))
    bad |= check(f"percentile:1,80-{mode}", ranked(u, mode, 3, False, lambda n: int(n * 80 / 100)))
    bad |= check(f"order:1,9-{mode}", ranked(u, mode, 3, False, lambda n: 9))
    bad |= check(f"min:2,ball-{mode}", least(u, mode, 5, True))
    bad |= check(f"max:1-{mode}", high)
    bad |= check(f"open:1-{mode}", opened)
    bad |= check(f"close:1-{mode}", closed)
    bad |= check(f"tophat:1-{mode}", u - opened)
    bad |= check(f"blackhat:1-{mode}", closed - u)
    bad |= check(f"morphgrad:1-{mode}", high - low)
sys.exit(bool(bad))
P
    result $? 'the quotients of scipy, differences, bilateral means and ranks'
else
    miss_reader 'scipy is not here'
fi

conclude
