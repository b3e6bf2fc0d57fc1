#!/bin/sh
# Runs that stop by themselves, and the reports of runs. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# ---------------------------------------------------------------- --until in vain

ends '--until: not reached' 7 "voxfilt: short.raw: --until 0.001 was not reached: the RMS change of step 3 is 3.36434
" v16 --until 0.001 -s 3 -o short.raw
v16 -s 3 -o three.raw
same '--until: not reached, the output is complete' short.raw three.raw
ends '--until: not reached, quietly' 7 '' v16 -q --until 0.001 -s 3 -o quiet.raw
same '--until: not reached, quietly, the output is complete' quiet.raw three.raw
voxfilt -q -n 16 -t f32 --until 0.001 -s 3 < v16.raw > piped.raw
[ $? = 7 ]
result $? '--until: not reached in a pipe'
same '--until: not reached in a pipe, the output is complete' piped.raw three.raw
ends '--until: not reached without a step' 7 "voxfilt: none.raw: --until 9 was not reached: no step was to be taken
" v16 --until 9 -s 0 -o none.raw
same '--until: not reached without a step, the output is complete' none.raw v16.raw
printf '\000\000\300\177' > nan.raw
ends '--until: a change that is no number' 7 \
    "voxfilt: nan.out: --until 1 was not reached: the RMS change of step 2 is not a number
" voxfilt -i nan.raw -d 1,1 -t f32 --until 1 -s 2 -o nan.out
accepts '--until: reached at the last step' '' v16 --until 100 -s 1 -o once.raw
accepts '--until: nothing changes' '' v8 -f identity --until 1 -o same.raw
accepts '--until: --explain takes no steps' '' v16 --until 0.001 -s 3 --explain
ends '--until: not reached over spools' 7 \
    "voxfilt: spooled.raw: --until 0.001 was not reached: the RMS change of step 3 is 3.36434
" v16 --until 0.001 -s 3 -m 30K -o spooled.raw
v16 --until 0.001 -s 3 -m 30K --explain | grep -q 'two spool files'
result $? '--until: those are spools'
same '--until: not reached over spools, the output is complete' spooled.raw three.raw
ends '--until: not reached, and the output full' 4 'voxfilt: standard output: No space left on device
' into /dev/full v16 -q --until 0.001 -s 3

# Of several files one that failed decides, wherever it stands.
mkdir many
printf 'no picture' > broken.png
unreached="imgheat: many/gray.png: --until 0.001 was not reached: the RMS change of step 2 is"
imgheat -j 2 --until 0.001 -s 2 gray.png rgb.png -o many 2> ../stderr
[ $? = 7 ] && [ "$(grep -c "was not reached" ../stderr)" = 2 ] && grep -q "^$unreached" ../stderr
result $? '--until: not reached for several files'
imgheat -q -j 2 --until 0.001 -s 2 gray.png broken.png -o many 2> ../stderr
[ $? = 3 ]
result $? '--until: not reached, and then a file that fails'
imgheat -q -j 2 --until 0.001 -s 2 broken.png gray.png -o many 2> ../stderr
[ $? = 3 ]
result $? '--until: a file that fails, and then not reached'

conclude
