#!/bin/sh
# What becomes of samples that a type cannot hold: cut off, NaN, infinite; and the options that map them into it. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# One sample of 300 among 19999 zeros, and one zero among 19999 samples of 300.
{ head -c 39998 /dev/zero; printf '\054\001'; } > few.u16
{ printf '\000\000'; awk 'BEGIN { for (i = 1; i < 20000; i++) printf "\054\001" }'; } > most.u16
# 1, NaN, infinity, 2, 3, 4.
printf '\000\000\200\077\000\000\300\177\000\000\200\177\000\000\000\100\000\000\100\100\000\000\200\100' > odd.raw
# 1 and 1e300.
printf '\000\000\000\000\000\000\360\077\234\165\000\210\074\344\067\176' > huge.raw

eight()
{
    voxfilt -i eight.raw -t u8 -d 4,2 "$@"
}

odd()
{
    voxfilt -i odd.raw -t f32 -d 6,1 "$@"
}

# ---------------------------------------------------------------- cut off

accepts 'the upper end' 'voxfilt: high.raw: 2 samples (25 %) were cut off at 255
' eight -f matrix:50 -o high.raw
[ "$(bytes high.raw)" = '0 50 100 150 200 250 255 255' ]
result $? 'what is cut off is the greatest value'
accepts 'the lower end' 'voxfilt: low.raw: 6 samples (75 %) were cut off at -128
' eight -f matrix:-100 --out-type i8 -o low.raw
accepts 'both ends' 'voxfilt: both.raw: 2 samples (25 %) were cut off at 0, and 4 samples (50 %) at 255
' eight -f matrix:'-100 0 150' -e wrap -o both.raw
accepts 'everything' 'voxfilt: all.raw: 4 samples (100 %) were cut off at 255
' voxfilt -i eight.raw -t u16 -d 4,1 -f matrix:1000 --out-type u8 -o all.raw
accepts 'rounding is no loss' '' eight -f matrix:36.4 -o rounded.raw
accepts 'half a unit beyond the end is one' 'voxfilt: over.raw: 1 sample (12 %) was cut off at 255
' eight -f matrix:36.5 -o over.raw
accepts 'a few of many' 'voxfilt: few.raw: 1 sample (less than 0.01 %) was cut off at 255
' voxfilt -i few.u16 -t u16 -d 200,100 -f identity --out-type u8 -o few.raw
accepts 'all but a few' 'voxfilt: most.raw: 19999 samples (more than 99.99 %) were cut off at 255
' voxfilt -i most.u16 -t u16 -d 200,100 -f identity --out-type u8 -o most.raw
accepts '-q is quiet' '' eight -q -f matrix:50 -o high.raw
for isa in baseline v3 v4; do
    if with_isa $isa voxfilt -q -i eight.raw -t u8 -d 4,2 -o has.raw 2> ../stderr; then
        accepts "the same by $isa" 'voxfilt: few.raw: 1 sample (less than 0.01 %) was cut off at 255
' with_isa $isa voxfilt -i few.u16 -t u16 -d 200,100 -f identity --out-type u8 -o few.raw
    else
        skip "the same by $isa: this machine has no such instructions"
    fi
done

# ---------------------------------------------------------------- NaN and infinite

accepts 'steps that explode' 'voxfilt: steep.raw: 4096 samples (100 %) are NaN or infinite, which the input was not
' v16 --dt 10 --force -s 100 -o steep.raw
accepts 'what the input had is no news' '' odd -f matrix:2 -o twice.raw
accepts 'NaNs that spread' 'voxfilt: spread.raw: 4 samples (67 %) are NaN or infinite, and 2 of the input
' odd -f matrix:'1 1 1' -o spread.raw
accepts 'doubles that f32 does not reach' 'voxfilt: narrow.raw: 1 sample (50 %) is NaN or infinite, which the input was not
' voxfilt -i huge.raw -t f64 -d 2,1 -f identity --out-type f32 -o narrow.raw
accepts 'nor does the work type' 'voxfilt: narrow.raw: 1 sample (50 %) is NaN or infinite, which the input was not
' voxfilt -i huge.raw -t f64 -d 2,1 -f box:0 --work f32 -o narrow.raw
accepts 'integers have no NaN, and no infinity' 'voxfilt: bytes.raw: 1 NaN written as 0
voxfilt: bytes.raw: 1 sample (17 %) was cut off at 255
' odd -f identity --out-type u8 -o bytes.raw

# ---------------------------------------------------------------- in reports

odd -q --report -f matrix:'1 1 1' -o spread.raw 2> ../stderr
grep -q '^strays    4 samples (67 %) are NaN or infinite, and 2 of the input$' ../stderr
result $? '--report: NaN and infinite'
eight -q --report -f matrix:50 -o high.raw 2> ../stderr
grep -q '^cut off   2 samples (25 %) were cut off at 255$' ../stderr
result $? '--report: cut off'
odd -q --report=json -f matrix:'1 1 1' -o spread.raw 2> ../stderr
grep -q '"nan_written_as_zero": 0, "cut_off": null, "nan_or_infinite": {"input": 2, "output": 4}' ../stderr
result $? '--report=json: NaN and infinite'
eight -q --report=json -f matrix:-50 -f matrix:-1 -o high.raw 2> ../stderr
grep -q '"cut_off": {"least": 0, "below": 0, "greatest": 255, "above": 2}' ../stderr
result $? '--report=json: cut off'
odd -q --report=json -f identity -o copy.raw 2> ../stderr
grep -q '"cut_off": null, "nan_or_infinite": null' ../stderr
result $? '--report=json: bits that are copied are not looked at'

conclude
