#!/bin/sh
# What --explain --verbose lists: every way to schedule the run, in order of preference, with its memory and its fate.
# Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# A volume of 1 MiB whose fields are 4 MiB each; on one thread of the CPU, whatever the machine has.
head -c 1048576 /dev/zero > v.raw

v()
{
    voxfilt -i v.raw -d 64,64,256 -t u8 -D cpu -j 1 --rung blocked "$@"
}

# The list, a candidate a line: its way, and its fate without the bytes and how many passes.
fates()
{
    sed -n '/^tried /,/^forecast /p' ../stdout | sed -n 's/^          //p' | sed 's/: [0-9.]* [KMG]*i*B/:/; s/([0-9]* passes)/(passes)/'
}

accepts 'a plan' '' v -f gauss:1 --explain
! grep -q '^tried ' ../stdout
result $? 'has no list'

accepts 'a plan with all candidates' '' v -f gauss:1 --explain -v
fates > list
diff - list <<'END'
one pass, 1 step at once:, taken
one pass, 1 step at once, kernels of the least memory:, not needed
passes over spool files, 1 step at once:, not needed (1 pass)
passes over spool files, 1 step at once, kernels of the least memory:, not needed (1 pass)
END
result $? 'lists them in order of preference'
taken=$(sed -n 's/^ .*: \(.*\), taken$/\1/p' ../stdout)
[ -n "$taken" ] && grep -q "^memory    $taken: " ../stdout
result $? "what is taken has the memory of the plan, $taken"

accepts 'a plan in little memory' '' v -f heat -s 40 -m 1M --explain -v
grep -q '^tried     within 1.0 MiB, in order of preference:$' ../stdout
result $? 'says within how much'
fates > list
diff - list <<'END'
one pass, 1 step at once: at least: too much
one pass, 1 step at once, kernels of the least memory: at least: too much
passes over spool files, 1 step at once:, taken (passes)
passes over spool files, 1 step at once, kernels of the least memory:, not needed (passes)
END
result $? 'lists what is too large'
passes=$(sed -n 's/^run  *\([0-9]*\) passes .*/\1/p' ../stdout)
grep -q ", taken ($passes passes)\$" ../stdout
result $? "what is taken has the passes of the plan, $passes"

# The least that a candidate needs is what it gets along with: an option says so.
least=$(sed -n 's/^ *one pass, .*: \([0-9.]*\) MiB at least: too much$/\1M/p' ../stdout | head -n 1)
accepts "a plan in $least" '' v -f heat -s 40 -m "$(echo "$least" | awk '{ print $1 + 0.1 "M" }')" --explain -v
fates | sed -n '1p' > list
echo 'one pass, 1 step at once:, taken' | diff - list
result $? 'is in one pass'

accepts 'a job that copies' '' voxfilt -i v.raw -d 64,64,256 -t u8 -f identity --explain -v
[ "$(fates | head -n 1)" = 'one pass:, taken' ]
result $? 'has no steps in its list'

v -f heat -s 40 -m 1K --explain -v > ../stdout 2> ../stderr
[ $? = 6 ] && [ ! -s ../stdout ]
result $? 'nothing is listed where nothing fits'

accepts '2^64 - 1 steps' '' v -f heat -s 18446744073709551615 -e wrap -m 2M --explain -v
[ "$(fates | grep -c ', taken (passes)$')" = 1 ]
result $? 'are listed'

# If kernels take much of the memory, those that take the least save passes.
head -c 4096 /dev/zero > tiny.raw
accepts 'a tiny job in little memory' '' voxfilt -i tiny.raw -n 16 -t u8 -D cpu -j 1 -s 20 -e wrap -m 10K --explain -v
fates | grep ', taken' > list
echo 'passes over spool files, 1 step at once, kernels of the least memory:, taken (passes)' | diff - list && [ "$(sed -n 's/^run  *\([0-9]*\) passes .*/\1/p' ../stdout)" = 10 ]
result $? 'makes 10 passes, not 20'

# A number of threads means the same wherever it is given, also for threads that read and write.
for threads in 1 8; do
    voxfilt -i v.raw -d 64,64,256 -t u8 -D cpu -j $threads --explain > ../wanted
    OMP_NUM_THREADS=$threads voxfilt -i v.raw -d 64,64,256 -t u8 -D cpu --explain | diff ../wanted -
    result $? "OMP_NUM_THREADS=$threads is --threads $threads"
done

# ---------------------------------------------------------------- tiles

accepts 'extremes of a window of 8001 rows' '' voxfilt -D cpu -d 8192,8192 -t u8 -f max:4000 --explain < /dev/null
[ "$(grep -c '^ .* rung blocked: ' ../stdout)" = 2 ] && ! grep -q 'rung naive' ../stdout
result $? 'are found in tiles'
accepts 'a Gaussian of 8801 taps' '' voxfilt -D cpu -d 16384,16384 -t f32 -f gauss:1100 --explain < /dev/null
[ "$(grep -c '^ .* rung blocked: ' ../stdout)" = 2 ] && ! grep -q 'rung naive' ../stdout
result $? 'goes in tiles'

# ---------------------------------------------------------------- slabs

accepts 'extremes of a window of 2001 rows' '' voxfilt -D cpu -d 4096,4096 -t u8 -f max:1000 --explain < /dev/null
grep -q '^run  *the whole grid is held' ../stdout
result $? 'are found in one slab, as fields would hold nearly all rows'
accepts 'extremes of a window of 1001 rows' '' voxfilt -D cpu -d 4096,4096 -t u8 -f max:500 --explain < /dev/null
grep -q '^run  *streamed in slabs of 1024 rows' ../stdout
result $? 'are found in several'

conclude
