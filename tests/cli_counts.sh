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
printf '\005\005\005\005' > flat.in
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

# 2^63 - 1, 2^53 + 1, -2^63 and 7: a double holds the last two; the first is the nearest that there is.
printf '\377\377\377\377\377\377\377\177\001\000\000\000\000\000\040\000\000\000\000\000\000\000\000\200\007\000\000\000\000\000\000\000' > wide.raw
wide()
{
    voxfilt -i wide.raw -t i64 -d 4,1 "$@"
}
accepts 'integers of 64 bits are copied' '' wide -f identity -o copied.raw
same 'bit by bit' wide.raw copied.raw
accepts 'through f64 the ends of the type stay what they are' '' wide -f scale:1,0 -o rounded.raw
[ "$(od -An -td8 rounded.raw | xargs)" = '9223372036854775807 9007199254740992 -9223372036854775808 7' ]
result $? 'and what lies between is rounded to nearest even'
accepts 'beyond the ends of 64 bits' 'voxfilt: beyond.raw: 1 sample (25 %) was cut off at -9.223372037e+18, and 1 sample (25 %) at 9.223372037e+18
' wide -f scale:2,0 -o beyond.raw
accepts 'to u64' 'voxfilt: unsigned.raw: 1 sample (25 %) was cut off at 0
' wide -f scale:1,0 --out-type u64 -o unsigned.raw
[ "$(od -An -tu8 unsigned.raw | xargs)" = '9223372036854775808 9007199254740992 0 7' ]
result $? '2^63 is a number of u64'

# ---------------------------------------------------------------- NaN and infinite

accepts 'steps that explode' 'voxfilt: steep.raw: 4096 samples (100 %) are NaN or infinite, but none of the input
' v16 --dt 10 --force -s 100 -o steep.raw
accepts 'what the input had is no news' '' odd -f matrix:2 -o twice.raw
accepts 'NaNs that spread' 'voxfilt: spread.raw: 4 samples (67 %) are NaN or infinite, and 2 of the input
' odd -f matrix:'1 1 1' -o spread.raw
accepts 'doubles that f32 does not reach' 'voxfilt: narrow.raw: 1 sample (50 %) is NaN or infinite, but none of the input
' voxfilt -i huge.raw -t f64 -d 2,1 -f identity --out-type f32 -o narrow.raw
accepts 'nor does the work type' 'voxfilt: narrow.raw: 1 sample (50 %) is NaN or infinite, but none of the input
' voxfilt -i huge.raw -t f64 -d 2,1 -f box:0 --work f32 -o narrow.raw
accepts 'integers have no NaN, and no infinity' 'voxfilt: bytes.raw: 1 NaN written as 0
voxfilt: bytes.raw: 1 sample (17 %) was cut off at 255
' odd -f identity --out-type u8 -o bytes.raw

# ---------------------------------------------------------------- scale

accepts 'scale' '' eight -f scale:10,5 -o scaled.raw
[ "$(bytes scaled.raw)" = '5 15 25 35 45 55 65 75' ]
result $? 'A v + B'
accepts 'scale -s 2' '' eight -f scale:2,1 -s 2 -o scaled.raw
[ "$(bytes scaled.raw)" = '3 7 11 15 19 23 27 31' ]
result $? 'twice'
accepts 'negative halves are lifted' '' eight -f sobel:x -e wrap -f scale:1,128 -o lifted.raw
[ "$(bytes lifted.raw)" = '120 136 136 120 120 136 136 120' ]
result $? 'by a stage behind'
accepts 'scale before' '' v16 -f scale:0.3,7 -f gauss:1 -o before.raw
accepts 'scale between' '' v16 -f identity -f scale:0.3,7 -f gauss:1 -o between.raw
same 'scale is the same with a level of its own and without' before.raw between.raw
accepts 'scale behind' '' v16 -f gauss:1 -f scale:0.3,7 -o behind.raw
accepts 'scale between' '' v16 -f gauss:1 -f scale:0.3,7 -f identity -o between.raw
same 'behind, too' behind.raw between.raw
v16 -f scale:0.3,7 -f gauss:1 -f scale:2,0 -f gauss:1 -f scale:2,0 --explain > explained.txt
[ "$(grep -c 'while samples are converted: no pass of its own$' explained.txt)" = 2 ] &&
    [ "$(grep -c '^          scale: ' explained.txt)" = 1 ]
result $? '--explain: what scale costs'
forecast()
{
    voxfilt -n 64 -i v64.raw -f scale:1,0.001 -s "$1" --explain | sed -n 's/^forecast.*, //p'
}
[ "$(forecast 1)" != "$(forecast 1000)" ]
result $? 'a forecast of scale knows its steps'
v16 -f scale:2,1 --report -o /dev/null 2> ../stderr
! grep -q 'of computing' ../stderr
result $? 'and where only samples are converted the report has no rate of computing'
imgheat -i rgba.png -f scale:-1,255 -o once.png
imgheat -i once.png -f scale:-1,255 -o twice.png
imgheat -i rgba.png -f identity -o copy.png
differ 'scale turns a picture' once.png copy.png
same 'and back, and its alpha stays' twice.png copy.png
accepts 'scale between two stages of a picture' '' imgheat -i rgba.png -f gauss:1 -f scale:1,0 -f gauss:1 -o one.png
accepts 'which takes colour as it stands' '' imgheat -i rgba.png -f gauss:1 -f scale:-1,255 -f gauss:1 -o turned.png
imgheat -i turned.png -f scale:-1,255 -o back.png
same 'and keeps alpha' one.png back.png
refuses 2 'voxfilt: --filter: scale:2: expected scale:A,B' v8 -f scale:2 -o out

# ---------------------------------------------------------------- other filters of one sample

values() # OPTION...: as 0 1 2 3 4 5 6 7 come out
{
    eight "$@" -o points.raw && bytes points.raw
}
[ "$(values -f scale:-1,3 -f abs)" = '3 2 1 0 1 2 3 4' ] && [ "$(values -f clamp:2,5)" = '2 2 2 3 4 5 5 5' ] &&
    [ "$(values -f threshold:3)" = '0 0 0 0 1 1 1 1' ] && [ "$(values -f threshold:3.5,200,100)" = '200 200 200 200 100 100 100 100' ]
result $? 'abs, clamp and threshold'
[ "$(values -f power:2)" = '0 1 4 9 16 25 36 49' ] && [ "$(values -f power:0.5 -f scale:10,0)" = '0 10 14 17 20 22 24 26' ] &&
    [ "$(values -f scale:1,1 -f ln -f scale:100,0)" = '0 69 110 139 161 179 195 208' ] && [ "$(values -f scale:0.5,0 -f exp)" = '1 2 3 4 7 12 20 33' ]
result $? 'power, ln and exp'
[ "$(values -f power:2 -s 2 -f clamp:0,100)" = '0 1 16 81 100 100 100 100' ]
result $? 'several steps'
refuses 2 'voxfilt: --filter: clamp:5,1: 5 is above 1: nothing lies between' v8 -f clamp:5,1 -o out
refuses 2 'voxfilt: --filter: threshold:1,2: BELOW has no ABOVE: expected threshold:T[,BELOW,ABOVE]' v8 -f threshold:1,2 -o out
refuses 2 'voxfilt: --filter: ln:2: expected ln' v8 -f ln:2 -o out
refuses 2 'voxfilt: --filter: power: expected power:G' v8 -f power -o out
refuses 2 'voxfilt: --filter: clamp:0: expected clamp:LO,HI' v8 -f clamp:0 -o out
refuses 2 'voxfilt: clamp:0,1e39: a bound of 1e+39 does not fit f32 (--work f64 has a larger range)' v8 -f clamp:0,1e39 -o out
refuses 2 'voxfilt: scale:1e40,0: a factor of 1e+40 does not fit f32 (--work f64 has a larger range)' v8 -f scale:1e40,0 \
    -o out

# ---------------------------------------------------------------- --out-range

accepts '--out-range=LO,HI' 'voxfilt: part.raw: 2 samples (25 %) were cut off at 0, and 2 samples (25 %) at 255
' eight -f identity --out-range 2,5 -o part.raw
[ "$(bytes part.raw)" = '0 0 0 85 170 255 255 255' ]
result $? 'the ends become the ends of the type'
accepts '--out-range=HI,LO' '' eight -f identity --out-range 7,0 --out-type i8 -o turned.raw
[ "$(bytes turned.raw)" = '127 91 54 18 237 201 164 128' ]
result $? 'a range may be turned around'
accepts '--out-range=auto' 'voxfilt: auto.raw: -8 to 8 became 0 to 255
' eight -f sobel:x -e wrap --out-range auto -o auto.raw
[ "$(bytes auto.raw)" = '0 255 255 0 0 255 255 0' ]
result $? 'negative halves are lifted'
eight -f sobel:x -e wrap --out-range=-8,8 -o given.raw
same 'auto is what could have been given' auto.raw given.raw
accepts '--out-range=auto of floats' 'voxfilt: unit.raw: 0 to 7 became 0 to 1
' eight -f identity --out-type f32 --out-range auto -o unit.raw
accepts 'floats are cut off, too' 'voxfilt: unit.raw: 4 samples (50 %) were cut off at 1
' eight -f identity --out-type f32 --out-range 0,3 -o unit.raw
accepts 'a constant becomes the least' 'voxfilt: flat.raw: 5, the only value, became -128
' voxfilt -i flat.in -t u8 -d 4,1 -f identity --out-range auto --out-type i8 -o flat.raw
[ "$(bytes flat.raw)" = '128 128 128 128' ]
result $? 'all of it'
accepts 'what is not finite does not count' 'voxfilt: finite.raw: 1 to 4 became 0 to 255
voxfilt: finite.raw: 1 NaN written as 0
voxfilt: finite.raw: 1 sample (17 %) was cut off at 255
' odd -f identity --out-range auto --out-type u8 -o finite.raw
[ "$(bytes finite.raw)" = '0 0 255 85 170 255' ]
result $? 'nor does it move'
printf '\000\000\300\177\000\000\200\177\000\000\200\377' > nothing.in
nothing()
{
    voxfilt -i nothing.in -t f32 -d 3,1 -f identity --out-range auto "$@"
}
accepts 'nothing that is finite' 'voxfilt: nothing.raw: no value is finite; -inf became -128, inf 127, and NaN 0
voxfilt: nothing.raw: 1 NaN written as 0
voxfilt: nothing.raw: 1 sample (33 %) was cut off at -128, and 1 sample (33 %) at 127
' nothing --out-type i8 -o nothing.raw
[ "$(bytes nothing.raw)" = '0 127 128' ]
result $? 'is written so'
accepts 'nothing that is finite, as floats' 'voxfilt: nothing.raw: no value is finite; -inf became 0, inf 1, and NaN stayed NaN
voxfilt: nothing.raw: 1 sample (33 %) was cut off at 0, and 1 sample (33 %) at 1
' nothing -o nothing.raw
[ "$(od -An -v -tf4 nothing.raw | xargs)" = 'nan 1 0' ]
result $? 'is written so, too'
nothing -q --report=json -o nothing.raw 2> ../stderr
grep -q '"out_range": null, ' ../stderr
result $? '--report=json: no range'
nothing -q --report -o nothing.raw 2> ../stderr
grep -q '^range     no value is finite; -inf became 0, inf 1, and NaN stayed NaN$' ../stderr
result $? '--report: no range'
nothing -q --stats -o nothing.raw 2> ../stderr
grep -q '^input .* mean nan  deviation nan ' ../stderr && ! grep -q -e '-nan' ../stderr
result $? '--stats: what is no number has no sign'
refuses 2 'voxfilt: --out-range: 1,1: LO and HI are the same' eight --out-range 1,1 -o out
refuses 2 'voxfilt: --out-range: -1e308,1e308: LO and HI are too far apart' eight --out-range -1e308,1e308 -o out
refuses 2 'voxfilt: --out-range: 1: expected LO,HI or auto' eight --out-range 1 -o out

# Held, over a spool file, from a pipe, into a pipe, by other threads and instructions: the same bytes.
v64_auto()
{
    voxfilt -q -t f32 -n 64 -f gauss:1.5 -f sobel:x --out-range auto --out-type u8 "$@"
}
v64_auto -i v64.raw -o held.raw
v64_auto -i v64.raw -m 700K -o spooled.raw
same '--out-range=auto: -m' held.raw spooled.raw
piped v64.raw v64_auto -m 700K > piped.raw
same '--out-range=auto: pipes' held.raw piped.raw
v64_auto -i v64.raw -j 1 -o one.raw
same '--out-range=auto: -j 1' held.raw one.raw
with_isa baseline v64_auto -i v64.raw -o baseline.raw
same '--out-range=auto: baseline' held.raw baseline.raw
[ "$(od -An -v -tu1 held.raw | tr -s ' ' '\n' | sed '/^$/d' | sort -nu | sed -n '1p;$p' | xargs)" = '0 255' ]
result $? '--out-range=auto reaches both ends'
v64_auto -i v64.raw --explain > held.txt
grep -q '^range     the least and the greatest sample of the result become 0 to 255$' held.txt
result $? '--explain: the range'
grep -q '^run       the whole grid is held, since --out-range=auto needs the whole result before' held.txt
result $? '--explain: the grid is held'
v64_auto -i v64.raw -m 700K --explain > spooled.txt
grep -q '^run       2 passes over a spool file of 1.0 MiB, the last of which maps the result into its range' spooled.txt
result $? '--explain: the result is spooled'
v64_auto --report=json -i v64.raw -o held.raw 2> ../stderr
grep -q '"out_range": {"from": \[-[0-9.]*, [0-9.]*\], "to": \[0, 255\]}' ../stderr
result $? '--report=json: the range'

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
