#!/bin/sh
# Samples of f16: bits that are kept, values, rounding, what is beyond them, and the formats that have them. Prints a line a
# case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# 1, -2, 65504, 2^-24, infinity, a NaN with a payload, -0 and 2^-14 - 2^-24.
printf '\000\074\000\300\377\173\001\000\000\174\001\176\000\200\377\003' > halves.raw
printf '\074\000\300\000\173\377\000\001\174\000\176\001\200\000\003\377' > big.raw

halves()
{
    voxfilt -i halves.raw -t f16 -d 2,2,2 "$@"
}

# The samples of a file, by their bits.
bits() # FILE
{
    od -An -v -tx1 "$1" | tr -d ' \n' | sed 's/\(..\)\(..\)/\2\1 /g'
}

# ---------------------------------------------------------------- values

accepts 'halves are copied' '' halves -f identity -o copied.raw
same 'bit by bit' halves.raw copied.raw
accepts 'through f32 every value stays what it is' '' halves -f matrix:1 -o computed.raw
[ "$(bits computed.raw)" = '3c00 c000 7bff 0001 7c00 7e00 8000 03ff ' ]
result $? 'but a NaN, which becomes the canonical one'
accepts 'through f64, too' '' halves -f matrix:1 --work f64 -o wide.raw
same 'all of them' computed.raw wide.raw
halves -f identity --out-type f32 -o single.raw
[ "$(od -An -v -tx4 single.raw | xargs)" = '3f800000 c0000000 477fe000 33800000 7f800000 7fc00000 80000000 387fc000' ]
result $? 'in f32 they are exact'
halves -f identity --out-type f64 -o double.raw
voxfilt -i double.raw -t f64 -d 2,2,2 -f identity --out-type f16 -o back.raw
same 'and there and back through f64' computed.raw back.raw
voxfilt -i big.raw -t f16 --endian big -d 2,2,2 -f matrix:1 --out-endian little -o swapped.raw
same 'of either byte order' computed.raw swapped.raw
halves -f identity --out-endian big -o swapped.raw
same 'into the other one' big.raw swapped.raw

# 1 + 2^-11 is a tie between two halves; a double next to it is not, but the float next to that double is.
printf '\000\000\001\000\000\000\360\077\000\000\000\000\000\002\360\077\000\000\001\000\000\002\360\077' > ties.raw
voxfilt -i ties.raw -t f64 -d 3,1 -f identity --out-type f16 -o rounded.raw
[ "$(bits rounded.raw)" = '3c00 3c00 3c01 ' ]
result $? 'a double is rounded once'
voxfilt -i ties.raw -t f64 -d 3,1 -f identity --work f32 --out-type f16 -o rounded.raw
[ "$(bits rounded.raw)" = '3c00 3c00 3c00 ' ]
result $? 'and a float made of it again'

# ---------------------------------------------------------------- beyond the type

accepts 'what is beyond 65504 becomes infinite, and is told' \
    'voxfilt: twice.raw: 3 samples (38 %) are NaN or infinite, and 2 of the input
' halves -f matrix:2 -o twice.raw
[ "$(bits twice.raw)" = '4000 c400 7c00 0002 7c00 7e00 8000 07fe ' ]
result $? 'subnormal samples are doubled exactly'
# 65519, 65520 and -65520.
printf '\000\357\177\107\000\360\177\107\000\360\177\307' > ends.raw
accepts 'half a unit beyond the greatest' 'voxfilt: ends.out: 2 samples (67 %) are NaN or infinite, but none of the input
' voxfilt -i ends.raw -t f32 -d 3,1 -f identity --out-type f16 --out-format raw -o ends.out
[ "$(bits ends.out)" = '7bff 7c00 fc00 ' ]
result $? 'they are rounded to an infinite one'
# 0, 1, 2 and 8 of u8.
printf '\000\001\002\010' > few.raw
accepts 'a range is 0 to 1, as for other floats' 'voxfilt: unit.raw: 0 to 8 became 0 to 1
' voxfilt -i few.raw -d 4,1 -t u8 -f identity --out-range auto --out-type f16 -o unit.raw
[ "$(bits unit.raw)" = '0000 3000 3400 3c00 ' ]
result $? 'from the least to the greatest'
voxfilt -i unit.raw -d 4,1 -t f16 --stats -f identity -o out.raw 2> ../stderr
grep -q '^input  *channel 0  *min 0  *max 1  *mean 0.34375 ' ../stderr
result $? 'which --stats tells'

# ---------------------------------------------------------------- a run

make_volume -d 40,30,20 -t f32 -o vol.raw
half_run()
{
    voxfilt -i vol16.raw -d 40,30,20 -t f16 "$@"
}
voxfilt -i vol.raw -d 40,30,20 -t f32 -f identity --out-type f16 -o vol16.raw
half_run -f identity --out-type f32 -o vol32.raw
voxfilt -i vol32.raw -d 40,30,20 -t f32 -s 7 --out-type f16 -o plain.raw
half_run -s 7 -o steps.raw
same 'steps are those of f32, rounded at the end' plain.raw steps.raw
piped vol16.raw voxfilt -d 40,30,20 -t f16 -s 7 > piped.raw
same 'from a pipe' plain.raw piped.raw
half_run -s 7 -j 1 -m 400K -o small.raw
same 'in little memory' plain.raw small.raw
half_run -s 9 --tee 7:tee.raw -o nine.raw
same 'a state on the way' plain.raw tee.raw
half_run --part 1/3 -s 7 -o part1.raw
half_run --part 2/3 -s 7 -o part2.raw
half_run --part 3/3 -s 7 -o part3.raw
cat part1.raw part2.raw part3.raw > parts.raw
same 'in parts' plain.raw parts.raw
half_run --explain -s 7 > plan
grep -q 'f16' plan
result $? 'a plan names the type'
voxfilt -i halves.raw -t f16 -d 1,1,1 --skip 2 -f heat -o out 2> ../stderr
[ $? = 3 ] && grep -q '1 x 1 x 1 f16 take 2$' ../stderr
result $? 'a file of another length is refused'
head -c 2 halves.raw > one.raw
accepts 'a single sample' '' voxfilt -i one.raw -t f16 -n 1 -f heat -o out.raw
same 'stays what it is' one.raw out.raw

# ---------------------------------------------------------------- formats

for order in little big; do
    halves -f identity --out-endian $order -o halves.npy
    grep -aq "'descr': '$([ $order = big ] && echo '>' || echo '<')f2'" halves.npy
    result $? "a NumPy array says so, $order-endian"
    accepts "and is read, $order-endian" '' voxfilt -i halves.npy -f identity --out-endian little -o back.raw
    same "with the same bits, $order-endian" halves.raw back.raw
done
sed "s/'>f2'/'|f2'/" halves.npy > orderless.npy
refuses 3 'voxfilt: orderless.npy: descr: '\''|f2'\'': not supported' voxfilt -i orderless.npy -f identity -o out
halves -f identity -o halves.raw.gz
gzip -dc halves.raw.gz > back.raw
same 'raw samples compressed by gzip' halves.raw back.raw
for form in nii nii.gz hdr nrrd nhdr mha mhd; do
    refuses 2 "voxfilt: out.$form: the format $form has no samples of type f16 (--out-type f32)" \
        halves -f identity -o out.$form
    ls out.* > ../left 2>&1
    [ "$(cat ../left)" = 'out.raw' ]
    result $? "$form: nothing is left"
    accepts "$form has f32" '' halves -f identity --out-type f32 -o out32.$form
    voxfilt -i out32.$form -f identity --out-type f16 -o back.raw
    same "$form: and back, but for the payload of a NaN" computed.raw back.raw
done
voxfilt -i vol32.raw -d 40,30,20 -t f32 -f identity --slice z=3 -q -o slice32.png
half_run -f identity --slice z=3 -q -o slice16.png
same 'a slice has the same shades' slice32.png slice16.png

conclude
