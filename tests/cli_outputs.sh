#!/bin/sh
# What is written where, of one input and of several.
# Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

head -c 400 gray.png > cut.png
head -c 100 v8.raw > short.raw

# ---------------------------------------------------------------- several pictures

refuses 2 'imgheat: 3 inputs need a directory: --output DIR/' imgheat gray.png rgb.png deep.png
refuses 2 'imgheat: rgb.png: --input already gives the input' imgheat -i gray.png rgb.png
mkdir many
refuses 2 'imgheat: gray.png and ./gray.png would have the same name in many' imgheat -o many gray.png ./gray.png
refuses 2 'imgheat: standard input has no name for an output in many/' imgheat -o many/ gray.png -
refuses 4 'imgheat: no/: No such file or directory' imgheat -o no/ gray.png rgb.png
refuses 3 'imgheat: cut.png: IDAT: the file ends early' imgheat -o many/ gray.png cut.png rgb.png
[ "$(cd many && echo *)" = 'gray.png rgb.png' ]
result $? 'the others of several pictures are done'
imgheat gray.png -o one.png
same 'a picture among many is as one alone' many/gray.png one.png
mkdir many/v8.raw
refuses 4 'voxfilt: many/v8.raw: Is a directory' v8 -o many

# ---------------------------------------------------------------- what is written where

v8 -o first.raw
accepts 'standard output carries data alone' '' v8
same 'standard output and a file' first.raw ../stdout
accepts 'reading a pipe' '' piped v8.raw voxfilt -n 8 -t u8
same 'a pipe and a file' first.raw ../stdout
accepts '--sync into a pipe, which cannot be synced' '' sh -c 'voxfilt --sync -i v8.raw -n 8 -t u8 | cat'
same 'a pipe with --sync and a file' first.raw ../stdout
accepts 'reading standard input' '' from v8.raw voxfilt -n 8 -t u8 -i - -o -
same 'standard input and a file' first.raw ../stdout
note='voxfilt: v8.raw: 1 byte a sample, taken as u8 (if they are signed: -t i8)
'
accepts 'the type is taken from the length, and told' "$note" voxfilt -i v8.raw -n 8
same 'a type from the length' first.raw ../stdout
accepts '-q silences the note' '' voxfilt -q -i v8.raw -n 8
accepts 'the type of a pipe is f32' 'voxfilt: standard input: taken as f32 (--type says otherwise)
' piped v16.raw voxfilt -n 16 -o pipe.raw
accepts 'four bytes a sample are f32' 'voxfilt: v16.raw: 4 bytes a sample, taken as f32 (if they are integers: -t u32 or -t i32)
' voxfilt -i v16.raw -n 16 -o file.raw
same 'f32 from a pipe and from a file' pipe.raw file.raw

echo old > existing.raw
chmod 640 existing.raw
v8 -o existing.raw
same 'an existing file is replaced' first.raw existing.raw
[ "$(mode existing.raw)" = -rw-r----- ]
result $? 'and its mode is kept'
[ "$(mode first.raw)" = -rw-r--r-- ]
result $? 'a new file has the mode that the umask leaves'
echo old > existing.raw
cp existing.raw before.raw
refuses 3 'voxfilt: standard input: length: it ends before the last of 512 u8 samples' \
    piped short.raw voxfilt -n 8 -t u8 -o existing.raw
same 'what fails leaves an existing file as it was' before.raw existing.raw
mkdir real
echo old > real/target.raw
ln -s real/target.raw link.raw
v8 -o link.raw
same 'a link leads to the file' first.raw real/target.raw
[ -L link.raw ] && [ ! -L real/target.raw ]
result $? 'and the link stays'
ln -s real/new.raw dangling.raw
v8 -o dangling.raw
[ -L dangling.raw ] && cmp first.raw real/new.raw
result $? 'a link to what is not there yet'
voxfilt --progress=always -n 8 -t u8 -o closed.raw < v8.raw 2>&-
same 'a closed standard error is not where the output goes' first.raw closed.raw
mkfifo taps.fifo
printf '0 0 0 1\n' > taps.fifo &
imgheat -f taps:taps.fifo -o many/ gray.png rgb.png
wait $!
imgheat -f matrix:1 rgb.png -o once.png
same 'taps from a pipe serve every picture' once.png many/rgb.png
# shellcheck disable=SC3045  # where the shell cannot limit addresses, or a sanitizer needs all of them, this is skipped
if (ulimit -v 400000; voxfilt --version) > ../bare 2>&1; then
    (ulimit -v 400000; voxfilt -q -i v8.raw -n 8 -t u8 -j 4000 -o threads.raw) 2> ../stderr
    [ $? -eq 6 ] && [ "$(wc -l < ../stderr)" -eq 1 ] && ! ls threads.raw* > ../bare 2>&1
    result $? 'threads that the limit on addresses does not allow'
else
    skip 'a limit on addresses'
fi
ln -s first-link.raw second-link.raw
ln -s real/far.raw first-link.raw
v8 -o second-link.raw
[ -L second-link.raw ] && [ -L first-link.raw ] && cmp first.raw real/far.raw
result $? 'a chain of links to what is not there yet'
ln -s circle-b.raw circle-a.raw
ln -s circle-a.raw circle-b.raw
refuses 4 'voxfilt: circle-a.raw: Too many levels of symbolic links' v8 -o circle-a.raw
[ -L circle-a.raw ] && [ -L circle-b.raw ]
result $? 'links that go round stay'
mkdir links linked
for form in hdr:img mhd:raw nhdr:raw; do
    header=${form%:*} samples=${form#*:}
    echo old > "linked/v.$header"
    echo old > "linked/v.$samples"
    ln -s "../linked/v.$header" "links/l.$header"
    v8 -o "links/l.$header"
    voxfilt -f identity -i "linked/v.$header" -o back.raw
    same "$header: samples go beside the header that a link leads to" first.raw back.raw
    same "$header: under its name" first.raw "linked/v.$samples"
    voxfilt -f identity -i "links/l.$header" -o back.raw
    same "$header: and are found by the link" first.raw back.raw
    [ -L "links/l.$header" ] && [ ! -e "links/l.$samples" ]
    result $? "$header: and not beside the link"
    beside=v.$samples
    [ "$header" = hdr ] && beside=l.$samples
    ln -s "../linked/other.$samples" "links/$beside"
    v8 -o "links/l.$header"
    result $? "$header: a link to no samples is in nobody's way"
    echo old > "linked/other.$samples"
    cp "linked/v.$header" before
    refuses 2 "voxfilt: links/l.$header: a link to links/../linked/v.$header, but readers would take links/$beside for the samples" \
        v8 -o "links/l.$header"
    same "$header: the header stays" before "linked/v.$header"
    ln -sf "../linked/v.$samples" "links/$beside"
    v8 -o "links/l.$header" && voxfilt -f identity -i "links/l.$header" -o back.raw
    same "$header: links to both are fine" first.raw back.raw
    rm "links/$beside"
    refuses 2 "voxfilt: --preview: linked/v.$samples: an output goes there" v8 --preview="linked/v.$samples" -o "links/l.$header"
    rm linked/*
done
ln -s ../linked/plain links/plain.hdr
v8 -o links/plain.hdr
for header in links/plain.hdr linked/plain; do
    voxfilt -f identity -i $header -o back.raw
    same "$header: samples are found beside a header whose name has no ending" first.raw back.raw
done
for form in hdr:img mhd:raw mhd:zraw nhdr:raw; do
    printf '0 0 0 1\n' > "own.${form#*:}"
    refuses 2 "voxfilt: own.${form#*:}: a taps file would be replaced" v8 -f "taps:own.${form#*:}" -o "own.${form%:*}"
done
printf '0 0 0 1\n' > own1.png
refuses 2 'voxfilt: own%d.png: a taps file would be replaced' v8 -f taps:own1.png -o own%d.png
refuses 2 'voxfilt: --tee: own%d.png: a taps file would be replaced' v8 -f taps:own1.png -f heat -s 4 --tee 1:own%d.png -o out
mkdir odd
newline=$(printf 'a\nb')
for form in mhd nhdr; do
    for name in ' a' 'LIST 2' 'a%d' "$newline"; do
        rm -f odd/*
        v8 -o "odd/$name.$form" 2> ../stderr
        [ $? -eq 2 ] && grep -q 'a header cannot name its samples: no name there begins with a space or LIST' ../stderr &&
            [ -z "$(ls -A odd)" ]
        result $? "$form: $name is not a name of samples that a header can hold"
    done
    v8 -o "odd/a LIST.$form"
    voxfilt -f identity -i "odd/a LIST.$form" -o back.raw
    same "$form: others are" first.raw back.raw
done
v8 -o 'odd/a%d.hdr'
voxfilt -f identity -i 'odd/a%d.hdr' -o back.raw
same 'a header that names no file does not mind' first.raw back.raw
cp v8.raw self.raw
voxfilt -i self.raw -n 8 -t u8 -o self.raw
same 'the output may have the name of the input' first.raw self.raw
cp gray.png self.png
imgheat self.png -o self.png
same 'a picture, too' one.png self.png
v8 -o /dev/stdout > redirected.raw
same '/dev/stdout is written in place' first.raw redirected.raw
{ printf head && v8 -o /dev/stdout; } > appended.raw
{ printf head && cat first.raw; } > wanted.raw
same 'and where the shell stands' wanted.raw appended.raw
mkfifo fifo
cat fifo > from-fifo.raw &
v8 -o fifo
wait $!
[ -p fifo ] && cmp first.raw from-fifo.raw
result $? 'a FIFO is written in place'
accepts '--explain' '' v8 --explain -o explained.raw
grep -q '^stage 1   heat, 10 steps' ../stdout && [ ! -e explained.raw ]
result $? 'it prints the plan and writes nothing'
for option in --help -h --version -V --list; do
    for program in voxfilt imgheat; do
        accepts "$program $option" '' $program $option
        [ -s ../stdout ]
        result $? "$program $option prints"
    done
done

conclude
