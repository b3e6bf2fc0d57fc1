#!/bin/sh
# Several pictures in one call of imgheat: the files of single calls, one by one as they can be, bad ones told, nothing
# left behind. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/casebook.sh
. "$(dirname "$0")/casebook.sh"
: "${IMGHEAT:?}" "${MAKE_PICTURE:?}"
PATH=$(dirname "$IMGHEAT"):$(dirname "$MAKE_PICTURE"):$PATH

# A command ends with a status and says these lines, no more, on standard error, and nothing on standard output.
says() # STATUS LINES COMMAND...
{
    wanted=$1
    [ -z "$2" ] || printf '%s\n' "$2"  > ../message
    [ -n "$2" ] || : > ../message
    shift 2
    "$@" > ../stdout 2> ../stderr < /dev/null
    status=$?
    name="$*"
    if [ "$status" != "$wanted" ]; then
        cat ../stderr
        result 1 "$name: the status is $status, not $wanted"
    elif ! diff ../message ../stderr; then
        result 1 "$name: the words differ"
    else
        [ ! -s ../stdout ]
        result $? "$name"
    fi
}

# Files of a directory are those of single calls.
as_single() # DIRECTORY NAME...
{
    directory=$1
    shift
    for name in "$@"; do
        [ -s "single/$name" ] && cmp "single/$name" "$directory/$name" || return 1
    done
}

# ---------------------------------------------------------------- inputs

mkdir in single
make_picture -d 301,200 -o in/a.png
make_picture -d 64,500 --gray --seed 2 -o in/b.png
make_picture -d 500,64 --rgba --seed 3 -o in/c.png
make_picture -d 1,1 --depth 16 -o in/d.png
make_picture -d 120,90 --seed 5 -o in/e.png
make_picture -d 400,300 --seed 6 -o in/f.png
make_picture -d 33,77 --seed 7 -o in/g.png
names='a.png b.png c.png d.png e.png f.png g.png'
for name in $names; do
    imgheat -j 1 -f gauss:1.5 -f heat "in/$name" -o "single/$name"
done
filters='-f gauss:1.5 -f heat'

# ---------------------------------------------------------------- the same files

for threads in 1 2 3 7 64; do
    empty_folder out
    # shellcheck disable=SC2086  # words
    says 0 '' imgheat -j $threads $filters in/*.png -o out/
    # shellcheck disable=SC2086
    as_single out $names
    result $? "-j $threads: the files of single calls"
done
for memory in 400K 1M 4M; do
    empty_folder out
    # shellcheck disable=SC2086
    says 0 '' imgheat -j 3 -m $memory $filters in/*.png -o out
    # shellcheck disable=SC2086
    as_single out $names
    result $? "-m $memory: the files of single calls"
done
empty_folder out
says 0 '' imgheat -j 3 -m 4M -e wrap -f gauss:1.5 in/a.png in/b.png in/f.png -o out
imgheat -e wrap -f gauss:1.5 in/f.png -o held.png
cmp held.png out/f.png
result $? 'pictures that have to be held, one of them larger than its share of memory'
empty_folder out
# shellcheck disable=SC2086
says 0 '' imgheat $filters in/a.png -o out/
as_single out a.png
result $? 'one picture into a directory'
# shellcheck disable=SC3045  # where the shell cannot limit addresses, or a sanitizer needs all of them, this is skipped
if (ulimit -v 400000; imgheat --version) > ../bare 2>&1; then
    empty_folder out
    # shellcheck disable=SC2086  # sixteen threads are more than the limit has room for, and nobody asks for them
    (ulimit -v 400000; OMP_NUM_THREADS=16 imgheat $filters in/*.png -o out/)
    # shellcheck disable=SC2086
    as_single out $names
    result $? 'under a limit on addresses'
else
    skip 'a limit on addresses'
fi
# shellcheck disable=SC3045
if (ulimit -n 24 && imgheat --version) > ../bare 2>&1; then
    empty_folder out
    # shellcheck disable=SC2086
    (ulimit -n 24 && imgheat -j 2 $filters in/*.png -o out/)
    # shellcheck disable=SC2086
    as_single out $names
    result $? 'with few files open'
else
    skip 'a limit on open files'
fi
mkfifo pipe.png
empty_folder out
cat in/a.png > pipe.png &
# shellcheck disable=SC2086
imgheat -j 2 $filters pipe.png in/b.png -o out/
wait $!
cmp out/pipe.png single/a.png && as_single out b.png
result $? 'a pipe among files'
rm pipe.png

# ---------------------------------------------------------------- bad ones among good ones

head -c 5000 in/a.png > cut.png
{ head -c 5000 in/f.png && printf damage && tail -c +5007 in/f.png; } > hurt.png
printf 'no picture' > text.png
mkdir bad && mv cut.png hurt.png text.png bad
for threads in 1 4; do
    empty_folder out
    # shellcheck disable=SC2086
    says 3 'imgheat: bad/cut.png: IDAT: the file ends early
imgheat: bad/hurt.png: IDAT: CRC error
imgheat: none.png: No such file or directory
imgheat: bad/text.png: Not a PNG file' \
        imgheat -j $threads $filters in/a.png bad/cut.png in/b.png in/c.png bad/hurt.png none.png in/d.png bad/text.png \
        in/e.png in/f.png in/g.png -o out/
    # shellcheck disable=SC2086
    as_single out $names
    result $? "-j $threads: the good ones are done"
    # shellcheck disable=SC2086
    folder_holds out $names
done
empty_folder out
# shellcheck disable=SC2086
says 4 'imgheat: none.png: No such file or directory
imgheat: bad/cut.png: IDAT: the file ends early' imgheat $filters none.png bad/cut.png in/a.png -o out/
empty_folder out
# shellcheck disable=SC2086
says 6 'imgheat: in/c.png: --memory: this job needs 383 KiB (392000 bytes), and 300 KiB are allowed' \
    imgheat -j 3 -m 300K $filters in/a.png in/c.png in/e.png -o out/
folder_holds out a.png e.png
# A file's name may look like the beginning of another message.
cp in/c.png ./--memory
empty_folder out
# shellcheck disable=SC2086
says 6 'imgheat: --memory: --memory: this job needs 383 KiB (392000 bytes), and 300 KiB are allowed' \
    imgheat -j 3 -m 300K $filters -o out/ -- in/a.png --memory
rm ./--memory
says 2 'imgheat: in/a.png: --filter: sobel:z: this grid has no z axis
imgheat: in/b.png: --filter: sobel:z: this grid has no z axis' imgheat -f sobel:z in/a.png in/b.png -o out/

# ---------------------------------------------------------------- names that cannot be

empty_folder out
says 2 'imgheat: 2 inputs need a directory, --output DIR/; did you mean to replace in/b.png with --output in/b.png?' \
    imgheat in/a.png in/b.png
says 2 'imgheat: 2 inputs need a directory: --output DIR/' imgheat in/a.png in/b.png -o out.png
says 2 'imgheat: 2 inputs need a directory: --output DIR/' imgheat in/a.png in/b.png -o in/c.png
says 4 'imgheat: no/: No such file or directory' imgheat in/a.png in/b.png -o no/
says 4 'imgheat: in/c.png/: Not a directory' imgheat in/a.png in/b.png -o in/c.png/
says 2 'imgheat: in/b.png and single/b.png would have the same name in out/' \
    imgheat in/a.png in/b.png in/c.png single/b.png -o out/
says 2 'imgheat: standard input has no name for an output in out/' imgheat in/a.png - -o out/
says 2 'imgheat: in/b.png: --input already gives the input' imgheat -i in/a.png in/b.png -o out/
[ -z "$(ls -A out)" ] && [ ! -e out.png ] && [ ! -e no ]
result $? 'and nothing was written'

# ---------------------------------------------------------------- inputs that are outputs

empty_folder same
cp in/*.png same
# shellcheck disable=SC2086
says 0 '' imgheat -j 3 $filters same/*.png -o same/
# shellcheck disable=SC2086
as_single same $names
result $? 'pictures in their own directory'
# shellcheck disable=SC2086
folder_holds same $names
mkdir links
ln -s ../same/b.png links/z.png
# shellcheck disable=SC2086
says 2 'imgheat: links/z.png: it would be replaced by the output for in/b.png' \
    imgheat $filters in/a.png in/b.png links/z.png -o same
ln -s b.png same/link.png
# shellcheck disable=SC2086
says 2 'imgheat: same/b.png and same/link.png are the same file' imgheat $filters same/b.png same/link.png -o same
empty_folder out
ln -s new.png out/a.png
ln -s new.png out/b.png
ln -s d.png out/c.png
says 2 'imgheat: out/a.png and out/b.png are the same file' imgheat in/a.png in/b.png -o out
says 2 'imgheat: out/c.png and out/d.png are the same file' imgheat in/c.png in/d.png -o out
folder_holds out a.png b.png c.png
cp in/d.png same/d.png
rm same/link.png
ln same/d.png same/hard.png
# shellcheck disable=SC2086
says 0 '' imgheat $filters same/d.png same/hard.png -o same
as_single same d.png && cmp same/d.png same/hard.png
result $? 'two names of one file become two files'

# ---------------------------------------------------------------- outputs that fail

if [ -c /dev/full ]; then
    empty_folder out
    ln -s /dev/full out/b.png
    ln -s /dev/full out/e.png
    # shellcheck disable=SC2086
    says 4 'imgheat: out/b.png: No space left on device
imgheat: out/e.png: No space left on device' imgheat -j 3 $filters in/*.png -o out/
    as_single out a.png c.png d.png f.png g.png
    result $? 'the others have their place'
    # shellcheck disable=SC2086
    folder_holds out $names
else
    skip '/dev/full is not here'
fi
# A file that grows too large is an error where its signal is ignored.
empty_folder out
(trap '' XFSZ && ulimit -f 32 && imgheat -j 3 --level 0 in/d.png in/f.png in/g.png -o out/) 2> ../stderr
[ $? = 4 ] && printf 'imgheat: out/f.png: File too large\n' | diff - ../stderr
result $? 'one output is too large'
folder_holds out d.png g.png
empty_folder out
chmod 555 out
if [ ! -w out ]; then
    says 4 'imgheat: out/a.png: Permission denied
imgheat: out/b.png: Permission denied' imgheat in/a.png in/b.png -o out/
else
    skip 'a directory that may not be written to: this user may write everywhere'
fi
chmod 755 out

# ---------------------------------------------------------------- what is told

tells() # NAME PATTERN WANTED
{
    sed -n "$2" ../stderr > ../told
    printf '%s\n' "$3" | diff - ../told
    result $? "$1"
}

empty_folder out
# shellcheck disable=SC2086
imgheat -j 3 --stats $filters in/f.png in/b.png none.png in/d.png -o out/ 2> ../stderr
tells '--stats: files in order, each with its lines' 's/  min .*//p; /->/p; /none/p' "in/f.png -> out/f.png
input  channel 0
input  channel 1
input  channel 2
output channel 0
output channel 1
output channel 2
in/b.png -> out/b.png
input  channel 0
output channel 0
imgheat: none.png: No such file or directory
in/d.png -> out/d.png
input  channel 0
input  channel 1
input  channel 2
output channel 0
output channel 1
output channel 2"
# shellcheck disable=SC2086
imgheat -j 3 --stats --report=json $filters in/f.png in/b.png none.png in/d.png -o out/ 2> ../stderr
tells '--report=json: a line each, in order' 's/, "status.*}$//p; /none/p' '{"input": "in/f.png", "output": "out/f.png"
{"input": "in/b.png", "output": "out/b.png"
imgheat: none.png: No such file or directory
{"input": "in/d.png", "output": "out/d.png"'
# shellcheck disable=SC2086
imgheat -j 3 --report $filters in/f.png in/b.png -o out/ 2> ../stderr
tells '--report: in order' 's/, work.*//p; s/^steps  *//p' 'in/f.png -> out/f.png: 400 x 300, 3 channels, u8 -> u8
11
in/b.png -> out/b.png: 64 x 500, 1 channel, u8 -> u8
11'
imgheat --explain in/f.png in/b.png -o out/ > ../stderr
tells '--explain: in order' '/^[io][a-z]*put /p' 'input     in/f.png: u8
output    out/f.png: u8
input     in/b.png: u8
output    out/b.png: u8'
# shellcheck disable=SC2086
imgheat -j 2 --progress=always $filters in/a.png in/f.png none.png -o out/ 2> ../progress
tr '\r' '\n' < ../progress > ../stderr
grep -q '^\[#[#.]*\]  *[0-9]* %  [0-9.]* files/s' ../stderr
result $? '--progress counts files'
tells 'and messages have lines of their own' '/^imgheat/p' 'imgheat: none.png: No such file or directory'

# What is said of the options alone is said once, even if the first of the files cannot be read.
empty_folder out
idle='imgheat: --edge has no effect: no stage reads neighbours
imgheat: --flip has no effect: every stage is the same when flipped'
absent='imgheat: none.png: No such file or directory'
for threads in 1 3; do
    says 0 "$idle" imgheat -j $threads -e wrap --flip -f identity in/*.png -o out/
    says 4 "$absent
$idle" imgheat -j $threads -e wrap --flip -f identity none.png in/a.png in/b.png -o out/
done
imgheat --explain -e wrap --flip -f identity none.png in/a.png in/b.png -o out/ > ../stdout 2> ../stderr
printf '%s\n%s\n' "$absent" "$idle" | diff - ../stderr
result $? '--explain: once, too'
# A note for each file names it.
sooner='--until: only the last of 20 steps is checked; --check-every checks sooner'
says 0 "imgheat: --flip has no effect: heat is the same when flipped
imgheat: in/a.png: $sooner
imgheat: in/b.png: $sooner" imgheat -j 2 -f heat --flip --until 100 -s 20 in/a.png in/b.png -o out/
says 0 "imgheat: in/b.png: --flux-channels has no effect: there is only one channel" \
    imgheat --flux pm2 --scale 9 --flux-channels joint in/a.png in/b.png in/e.png -o out/

# ---------------------------------------------------------------- signals

# A signal that the caller ignores stays ignored, and then there is nothing to see.
if [ -z "$(sh -c 'kill -TERM $$; echo alive' 2>&1)" ]; then
    for threads in 2 5; do
        empty_folder out
        imgheat -D cpu -j $threads -s 1000000000 in/a.png in/b.png in/c.png in/e.png in/f.png -o out/ 2> ../stderr &
        running=$!
        tries=0
        until [ "$(find out -name '*.part' | wc -l)" -ge $threads ] || [ $tries = 100 ]; do
            sleep 0.1
            tries=$((tries + 1))
        done
        [ "$(find out -name '*.part' | wc -l)" = $threads ]
        result $? "-j $threads: as many pictures are under way"
        kill -TERM $running
        wait $running 2> ../waited
        [ $? -gt 128 ] && [ -z "$(ls -A out)" ]
        result $? 'SIGTERM leaves nothing of them'
    done
else
    skip 'SIGTERM is ignored here'
fi

# ---------------------------------------------------------------- one device for many

# imgheat once more, with the CUDA kernels as C++ for the host.
emulated=${top_builddir:-.}/tests/imgheat_emulated
if [ -x "$emulated" ]; then
    imgheat -f sobel:x in/b.png in/d.png in/g.png -o same/
    "$emulated" -D cuda --report -f sobel:x -o alone.png - < in/b.png 2> ../stderr
    grep -q '^device  *cuda: ' ../stderr && cmp same/b.png alone.png
    result $? 'one file by a device'
    # The second leaves the choice to auto: a rung that no CPU has.
    for device in '-D cuda' '--rung tile'; do
        empty_folder out
        # shellcheck disable=SC2086
        "$emulated" -j 3 --report $device -f sobel:x in/b.png in/d.png in/g.png -o out/ 2> ../stderr
        [ "$(grep -c '^device  *cuda: ' ../stderr)" = 3 ] &&
            cmp same/b.png out/b.png && cmp same/d.png out/d.png && cmp same/g.png out/g.png
        result $? "$device: the same files by the device"
    done
else
    skip 'one device for many: imgheat_emulated is not built'
fi

conclude
