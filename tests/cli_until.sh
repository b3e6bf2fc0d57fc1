#!/bin/sh
# Runs that stop by themselves, and the reports of runs. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# ---------------------------------------------------------------- --until in vain

ends '--until: not reached' 7 "voxfilt: short.raw: --until 0.001 was not reached: the RMS change of step 3 is 3.36434
" v16 --until 0.001 -s 3 --check-every 1 -o short.raw
v16 -s 3 -o three.raw
same '--until: not reached, the output is complete' short.raw three.raw
ends '--until: not reached, quietly' 7 '' v16 -q --until 0.001 -s 3 --check-every 1 -o quiet.raw
same '--until: not reached, quietly, the output is complete' quiet.raw three.raw
voxfilt -q -n 16 -t f32 --until 0.001 -s 3 --check-every 1 < v16.raw > piped.raw
[ $? = 7 ]
result $? '--until: not reached in a pipe'
same '--until: not reached in a pipe, the output is complete' piped.raw three.raw
ends '--until: not reached without a step' 7 "voxfilt: none.raw: --until 9 was not reached: no steps were requested
" v16 --until 9 -s 0 -o none.raw
same '--until: not reached without a step, the output is complete' none.raw v16.raw
printf '\000\000\300\177' > nan.raw
ends '--until: a change that is no number' 7 \
    "voxfilt: nan.out: --until 1 was not reached: the RMS change of step 2 is not a number
" voxfilt -i nan.raw -d 1,1 -t f32 --until 1 -s 2 --check-every 1 -o nan.out
accepts '--until: reached at the last step' '' v16 --until 100 -s 1 -o once.raw
accepts '--until: nothing changes' '' v8 -f identity --until 1 -o same.raw
accepts '--until: --explain takes no steps' '' v16 --until 0.001 -s 3 --check-every 1 --explain
ends '--until: not reached over spools' 7 \
    "voxfilt: spooled.raw: --until 0.001 was not reached: the RMS change of step 3 is 3.36434
" v16 --until 0.001 -s 3 --check-every 1 -m 30K -o spooled.raw
v16 --until 0.001 -s 3 --check-every 1 -m 30K --explain | grep -q 'two spool files'
result $? '--until: those are spools'
same '--until: not reached over spools, the output is complete' spooled.raw three.raw
ends '--until: not reached, and the output full' 4 'voxfilt: standard output: No space left on device
' into /dev/full v16 -q --until 0.001 -s 3 --check-every 1

# Of several files one that failed decides, wherever it stands.
mkdir many
printf 'no picture' > broken.png
unreached="imgheat: many/gray.png: --until 0.001 was not reached: the RMS change of step 2 is"
imgheat -j 2 --until 0.001 -s 2 --check-every 1 gray.png rgb.png -o many 2> ../stderr
[ $? = 7 ] && [ "$(grep -c "was not reached" ../stderr)" = 2 ] && grep -q "^$unreached" ../stderr
result $? '--until: not reached for several files'
imgheat -q -j 2 --until 0.001 -s 2 --check-every 1 gray.png broken.png -o many 2> ../stderr
[ $? = 3 ]
result $? '--until: not reached, and then a file that fails'
imgheat -q -j 2 --until 0.001 -s 2 --check-every 1 broken.png gray.png -o many 2> ../stderr
[ $? = 3 ]
result $? '--until: a file that fails, and then not reached'

# ---------------------------------------------------------------- --check-every

refuses 2 'voxfilt: --check-every: 0: expected a whole number above 0' v16 --until 1 --check-every 0 -o out
refuses 2 'voxfilt: --check-every: heat: it needs --until' v16 --check-every 3 -o out
refuses 2 'imgheat: --check-every: heat: it needs --until' imgheat -f heat --check-every 3 gray.png

looks_of() # COMMAND...: the line of the report
{
    "$@" -q --report -o looked.raw 2>&1 | sed -n 's/^checks    //p'
}

steps_of() # COMMAND...: its first word but one
{
    "$@" -q --report -o looked.raw 2>&1 | sed -n 's/^steps     \([0-9]*\).*/\1/p'
}

# The first step that is looked at and changes little enough, by steps that are all looked at.
v16 -q --until 1e-9 --check-every 1 -s 60 --report=json -o each.raw 2> ../stderr
tr '{' '\n' < ../stderr | sed -n 's/^"step": \([0-9]*\), "change": \([^}]*\)}.*/\1 \2/p' > ../each
[ "$(wc -l < ../each)" = 60 ]
result $? '--check-every: all looks are in the report'
for every in 1 2 7 12 13; do
    wanted=$(awk -v every=$every '$1 % every == 0 && $2 < 0.35 { print $1; exit }' ../each)
    [ "$(steps_of v16 --until 0.35 --check-every $every)" = "${wanted:-none}" ]
    result $? "--check-every: $every stops after ${wanted:-no} steps"
    v16 -s "${wanted:-0}" -o steps.raw
    same "--check-every: $every gives what so many steps give" looked.raw steps.raw
done
for how in '-j 1' '-j 3' '-m 30K' '--rung naive' '--rung blocked' '--rung fused' '--rung fused --tile 16x8'; do
    # shellcheck disable=SC2086  # options
    [ "$(steps_of v16 --until 0.35 --check-every 7 $how)" = 35 ]
    result $? "--check-every: as many steps with $how"
    v16 -s 35 -o steps.raw
    same "--check-every: the same with $how" looked.raw steps.raw
done
case $(looks_of v16 --until 1e-9 --check-every 4 -s 22 -q) in
'6, RMS change '*' at step 12, '*' at step 16, '*' at step 20, '*' at step 22') true ;;
*) false ;;
esac
result $? '--report: the latest looks, and how many there were'

# By default, which follows from the job alone.
for how in '-j 1' '-j 2' '-m 30K' '--rung naive'; do
    # shellcheck disable=SC2086
    v16 -q --until 1e-30 -s 100 --explain $how | grep -q '; checked: one step in 72, and the last$'
    result $? "--until: looks as often with $how"
done
ends '--until: looks too seldom' 7 "voxfilt: --until: only the last of 20 steps is checked; --check-every checks sooner
voxfilt: late.raw: --until 0.001 was not reached: the RMS change of step 20 is 0.52186
" v16 --until 0.001 -s 20 -o late.raw
v16 --until 0.35 --explain | grep -q '^forecast  at most '
result $? '--explain: what --until may save is not counted'

# A tenth is what looking may cost; twice that is what a busy machine may add.
make_volume -n 128 -t f32 -o v128.raw
seconds_of()
{
    voxfilt -q -D cpu -i v128.raw -n 128 -t f32 -s 216 --report=json -o /dev/null "$@" 2>&1 |
        sed 's/.*"compute": \([0-9.]*\).*/\1/'
}
best_of() # COMMAND...: of five
{
    for _ in 1 2 3 4 5; do
        "$@"
    done | sort -n | head -n 1
}
with=$(best_of seconds_of --until 1e-30) without=$(best_of seconds_of)
awk -v with="$with" -v without="$without" 'BEGIN { exit !(with < 1.3 * without) }'
result $? "--until: looking costs little: $with s of computing, and $without s without"

conclude
