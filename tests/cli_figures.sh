#!/bin/sh
# Figures: statistics, reports, the bench, and wisdom.
# Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

imgheat gray.png -o one.png

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
grep -q '^v8.raw -> /dev/null: 8 x 8 x 8, 1 channel, u8 -> u8, work f32$' ../stderr && grep -q '^steps     10$' ../stderr &&
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
accepts '--bench of passes' '' imgheat -d 20,12 -D cpu -f gauss:1 --bench
grep -q '^gauss:1, all 2 operations: blocked + blocked, [0-9.]* ms a step, [0-9.]* Mpx/s, .* of a copy: what a plan takes$' ../stdout
result $? 'all of a step together'
accepts '--bench of passes by another rung' '' imgheat -d 20,12 -D cpu -f gauss:1 --bench --rung naive
! grep -q ' all 2 operations' ../stdout
result $? 'what a plan takes was not measured'
if has python3; then
    voxfilt -d 20,12,10 -D cpu -f unsharp:1,1 --bench=json > ../stdout
    python3 -c '
import json, sys
rows = json.load(sys.stdin)
whole = rows.pop()
measured = [row for row in rows if "refused" not in row]
planned = {row["table"]: row["seconds_per_step"] for row in measured if "what a plan takes" in row["comment"]}
assert (whole["table"], whole["operations"]) == ("unsharp:1,1", 3) and len(planned) == 3
assert whole["rung"] == "blocked + blocked + blocked" and abs(sum(planned.values()) / whole["seconds_per_step"] - 1) < 1e-9
assert abs(20 * 12 * 10 / whole["seconds_per_step"] / whole["cells_per_second"] - 1) < 1e-9
assert len(rows) >= 3 and all(row["equal"] and row["seconds_per_step"] > 0 for row in measured)
for row in measured:
    per_cell = row["share_of_multiply_adds"] and (
        row["share_of_multiply_adds"] * row["multiply_adds_per_second"] / row["cells_per_second"])
    assert (per_cell is None if "operation 3" in row["table"] else abs(per_cell - 9) < 1e-6), row' \
        < ../stdout
    result $? '--bench=json is JSON, a multiply-add for each tap, and all operations of a step together'
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

conclude
