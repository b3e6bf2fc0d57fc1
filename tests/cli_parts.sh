#!/bin/sh
# Parts of a result, each by a run of its own: one after another they are the whole. Prints a line a case and fails if one
# does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

volume()
{
    voxfilt -i scan.raw -d 21,15,30 -t u16 "$@"
}

# All parts of a job, one after another.
in_parts() # COUNT OPTION...
{
    count=$1 k=1
    shift
    while [ $k -le "$count" ]; do
        volume --part "$k/$count" "$@" -o "part.$k" || return
        cat "part.$k"
        rm "part.$k"
        k=$((k + 1))
    done
}

make_volume -d 21,15,30 -t u16 -o scan.raw

# ---------------------------------------------------------------- the whole

for edge in reflect mirror nearest wrap constant:9 hold; do
    for job in '-f heat -s 7' '-f gauss:1.3 -f unsharp:1,2' '-f laplace -s 2 --out-type f32' '-f identity' \
        '-f log:1 -f gradmag:0.8 --out-type f32' \
        '-f bilateral:1,8000 -s 2' '-f median:1 -s 2 -f max:3 -f order:2,7,ball' \
        '-f tophat:2 -f morphgrad:1' \
        '-f heat --flux pm2 --scale 900 -s 5 -j 3 -m 300K'; do
        has_turn || continue
        # shellcheck disable=SC2086  # words
        volume -q -e $edge $job -o whole.raw
        for parts in 1 2 7 30; do
            # shellcheck disable=SC2086
            in_parts $parts -q -e $edge $job > joined.raw
            same "$job -e $edge: $parts parts" joined.raw whole.raw
        done
    done
done
voxfilt -i scan.raw -d 21,450 -t u16 -f gauss:2 -o whole.raw
: > joined.raw
for k in 1 2 3 4; do
    voxfilt -i scan.raw -d 21,450 -t u16 -f gauss:2 --part $k/4 >> joined.raw
done
same 'rows of a plane' joined.raw whole.raw
# As in a shell, all at once.
volume -f heat -s 20 -o whole.raw
for k in 1 2 3 4; do
    volume -j 1 -f heat -s 20 --part $k/4 -o out.$k &
done
wait
cat out.1 out.2 out.3 out.4 > joined.raw
same 'runs at the same time' joined.raw whole.raw

# The device of tests: a GPU that is emulated.
emulated=${top_builddir:-.}/tests/imgheat_emulated
if [ -x "$emulated" ]; then
    # The three parts of a chain by that device, and the whole by the CPU.
    on_gpu() # NAME OPTION...
    {
        name=$1
        shift
        volume -q -D cpu "$@" -o whole.raw
        : > joined.raw
        for k in 1 2 3; do
            "$emulated" --program voxfilt -q -D cuda -i scan.raw -d 21,15,30 -t u16 "$@" --part $k/3 >> joined.raw
        done
        same "on a GPU, $name" joined.raw whole.raw
    }
    for edge in reflect wrap; do
        on_gpu "-e $edge" -f heat -s 9 -e $edge
    done
    cross='matrix:0 1 0; 1 2 1; 0 1 0/8'
    on_gpu 'a stage without neighbours that wraps' -f identity -e wrap -f heat -s 3
    on_gpu 'a stage without neighbours before one that wraps' -f identity -f heat -s 3 -e wrap
    on_gpu 'a stage within planes that wraps' -f "$cross" -e wrap -f heat -s 3
    on_gpu 'a stage within planes before one that wraps' -f "$cross" -f heat -s 3 -e wrap
else
    skip 'on a GPU: imgheat_emulated is not built'
fi

# ---------------------------------------------------------------- files

volume -f gauss:1 -o whole.raw
for form in nrrd nii mha npy; do
    volume -f identity -o scan.$form
    : > joined.raw
    for k in 1 2 3; do
        voxfilt scan.$form -f gauss:1 --part $k/3 -o part.$form
        voxfilt part.$form -f identity --out-format raw >> joined.raw
    done
    same "each part of a file $form is a volume of its own" joined.raw whole.raw
done
for k in 1 2 3; do
    volume -f gauss:1 --part $k/3 -o part.$k.raw.gz
done
cat part.1.raw.gz part.2.raw.gz part.3.raw.gz | gzip -dc > joined.raw
same 'compressed parts are compressed samples one after another' joined.raw whole.raw
sed '/^$/q' scan.nrrd | grep -v '^encoding' > head
{ sed '$d' head; printf 'encoding: raw\nspace: LPS\nspace directions: (1,0,0) (0,1,0) (0,0,2)\nspace origin: (0,0,5)\n\n'
  cat scan.raw; } > placed.nrrd
voxfilt placed.nrrd -f gauss:1 --part 2/3 -o part.nrrd
grep -a -q '^space origin: (0,0,25)$' part.nrrd && grep -a -q '^sizes: 21 15 10$' part.nrrd
result $? 'and stands where its samples are'

# ---------------------------------------------------------------- pieces

# All pieces of a job, one after another.
in_pieces() # COUNT ENDING INPUT OPTION...
{
    count=$1 ending=$2 k=1
    shift 2
    : > "joined.$ending"
    while [ $k -le "$count" ]; do
        voxfilt -q "$@" --piece "$k/$count" -o "piece.$ending" || return
        cat "piece.$ending" >> "joined.$ending"
        k=$((k + 1))
    done
}

for form in raw nii nrrd mha npy; do
    input="scan.$form"
    [ $form = raw ] && input='-i scan.raw -d 21,15,30 -t u16'
    for job in '-f gauss:1' '-f heat -s 3 --out-type f32' '-f laplace -e wrap --out-endian big'; do
        # shellcheck disable=SC2086  # words
        for parts in 1 3 30; do
            has_turn || continue
            voxfilt -q $input $job -o whole.$form
            in_pieces $parts $form $input $job
            same "$job: $parts pieces of a file $form" joined.$form whole.$form
        done
    done
done
voxfilt -q placed.nrrd -f gauss:1 -o whole.nrrd
in_pieces 3 nrrd placed.nrrd -f gauss:1
same 'the place in space is that of the whole' joined.nrrd whole.nrrd
cp scan.nii scaled.nii
printf '\0\0\0\100\0\0\200\304' | dd of=scaled.nii bs=1 seek=112 conv=notrunc 2> ../stderr # v stands for 2 v - 1024
voxfilt -q scaled.nii -f gradient -o whole.nii
in_pieces 3 nii scaled.nii -f gradient
same 'the intercept is that of the whole' joined.nii whole.nii
{
    printf 'NRRD0004\ntype: uint16\ndimension: 3\nsizes: 21 15 30\nspace dimension: 3\nspace origin: (1,2,3)\naxis mins: 1 2 3\n'
    printf 'min: 1\nendian: little\nencoding: raw\n\n'
    cat scan.raw
} > told.nrrd
for job in identity gauss:1; do
    voxfilt told.nrrd -f $job -o whole.nrrd 2> ../of_whole
    for k in 1 2 3; do
        voxfilt told.nrrd -f $job --piece $k/3 -o piece$k.nrrd 2> ../stderr
        diff ../of_whole ../stderr
        result $? "$job: the note on piece $k is that on the whole"
    done
    cat piece1.nrrd piece2.nrrd piece3.nrrd > joined.nrrd
    same "$job: so are the fields that the header keeps" joined.nrrd whole.nrrd
done
voxfilt -q placed.nrrd -f gauss:1 -o whole.nii
in_pieces 2 nii placed.nrrd -f gauss:1
same 'in another format, too' joined.nii whole.nii
in_pieces 2 nrrd scan.nrrd -f gauss:1 --level 0
voxfilt -q scan.nrrd -f gauss:1 --level 0 -o whole.nrrd
same 'a level of 0 compresses nothing' joined.nrrd whole.nrrd
for form in nii.gz raw.gz; do
    voxfilt scan.nii -f gauss:1 -o whole.$form
    gzip -dc whole.$form > whole
    for level in '' '--level 1'; do
        # shellcheck disable=SC2086  # words
        in_pieces 3 $form scan.nii -f gauss:1 $level
        gzip -dc joined.$form > joined
        same "compressed pieces $form $level" joined whole
    done
done
voxfilt joined.nii.gz -f identity -o whole.raw
voxfilt scan.nii -f gauss:1 -o joined.raw
same 'are read' joined.raw whole.raw
: > joined.mha
: > joined.nii
for k in 1 2 3; do
    voxfilt -i scan.mha -f gauss:1 -s 3 --tee 2:piece.nii --piece $k/3 >> joined.mha
    cat piece.nii >> joined.nii
done
voxfilt -i scan.mha -f gauss:1 -s 3 --tee 2:whole.nii -o whole.mha
same 'on standard output' joined.mha whole.mha
same 'and of a state' joined.nii whole.nii

# ---------------------------------------------------------------- tasks of a launcher

task() # VARIABLE=VALUE... COMMAND...
{
    env -u OMPI_COMM_WORLD_SIZE -u PMI_SIZE -u SLURM_STEP_NUM_TASKS "$@"
}
scan='voxfilt -i scan.raw -d 21,15,30 -t u16 -f identity -o one.raw'
told='3 tasks were started, and each does all of the work:'
# shellcheck disable=SC2086  # words
{
    for launcher in 'OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0' 'PMI_SIZE=3 PMI_RANK=0' 'SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=0'; do
        accepts "$launcher" "voxfilt: $told voxfilt-mpi, or --part, divides it
" task $launcher $scan
        accepts "$launcher, with a part of its own" '' task $launcher $scan --part 1/3
        accepts "$launcher, with a piece of its own" '' task $launcher $scan --piece 1/3
        accepts "$launcher, another task" '' task ${launcher%0}1 $scan
        accepts "$launcher, quietly" '' task $launcher $scan -q
    done
    accepts 'a task of a picture' "imgheat: $told give each of them files of its own
" task PMI_SIZE=3 PMI_RANK=0 imgheat -f identity gray.png -o one.png
    accepts 'a task alone' '' task OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=0 $scan
    accepts 'no run' '' task PMI_SIZE=3 PMI_RANK=0 $scan --explain
}

# ---------------------------------------------------------------- what is read

# Of a sparse volume of 16 GiB, where an edge wraps, too.
if truncate -s 17179869184 large.raw 2> ../stderr; then
    for edge in reflect wrap; do
        accepts "no more than is needed is read, -e $edge" '' \
            timeout 20 voxfilt -D cpu -m 1G -i large.raw -d 512,512,16384 -t f32 -s 4 -e $edge --part 1/4000 -o few.raw
        [ "$(wc -c < few.raw)" = 4194304 ]
        result $? 'and four planes are written'
    done
    rm large.raw
else
    skip 'what is read: no sparse files'
fi

# ---------------------------------------------------------------- refusals

places='--part needs samples at fixed places in one file: a pipe, compressed samples and lists of files have none'
refuses 2 "voxfilt: standard input: $places" piped scan.raw voxfilt -d 21,15,30 -t u16 --part 1/2 -o out
volume -f identity -o scan.nii.gz
refuses 2 "voxfilt: scan.nii.gz: $places" voxfilt scan.nii.gz --part 1/2 -o out
gzip -c scan.raw > packed.raw.gz
refuses 2 "voxfilt: packed.raw.gz: $places" voxfilt packed.raw.gz -d 21,15,30 -t u16 --part 1/2 -o out
whole='every part would need the whole grid'
refuses 2 "voxfilt: --part: not allowed with --until: $whole" volume --until 1 --part 1/2 -o out
refuses 2 "voxfilt: --part: not allowed with --out-range=auto: $whole" volume --out-range auto --part 1/2 -o out
refuses 2 "voxfilt: --part: an edge that wraps is followed or preceded by one that does not: $whole" \
    volume -f gauss:1 -e wrap -f heat -e hold --part 1/2 -o out
accepts 'a filter that reads no other plane has no edge there' '' \
    volume -q -f gauss:1 -e wrap -f matrix:2 -e hold --part 1/2 -o one.raw
refuses 2 'voxfilt: --stats: not allowed with --part: it adds up whole volumes' volume --stats --part 1/2 -o out
refuses 2 'voxfilt: --preview: not allowed with --part: it shows whole volumes' \
    volume --preview p.png --part 1/2 -o out
refuses 2 'voxfilt: --part: 31 parts of 30 planes' volume --part 1/31 -o out
refuses 2 'voxfilt: --part: 2 parts of 1 plane' voxfilt -i eight.raw -d 4,2,1 -t u8 --part 1/2 -o out
refuses 2 'voxfilt: --part: 5 parts of 4 rows' voxfilt -i eight.raw -d 2,4 -t u8 --part 1/5 -o out
for given in 0/3 4/3 3 /3 1/ 1/0 -1/2 1/2/3 a/b ''; do
    refuses 2 "voxfilt: --part: $given: expected K/N, with K from 1 to N" volume --part="$given" -o out
done
refuses 2 'voxfilt: --part: 1/2: --crop is given, too' volume --crop 1:2,: --part 1/2 -o out
refuses 2 'voxfilt: --part: given twice' volume --part 1/2 --part 2/2 -o out
refuses 2 'imgheat: --part: no such option (voxfilt has it)' imgheat --part 1/2 gray.png -o out
for form in hdr nhdr mhd tif tiff; do
    refuses 2 "voxfilt: --piece: cat cannot join files of the format $form; --part writes complete ones" \
        volume --piece 1/2 --out-format $form -o out
done
refuses 2 'voxfilt: --piece: cat cannot join files of the format tif; --part writes complete ones' \
    volume --piece 1/2 --tee 2:t.tif -o out
refuses 2 'voxfilt: --piece: cat cannot join files of the format png; --part writes complete ones' \
    volume --piece 2/2 -o out%d.png
for form in nrrd mha; do
    refuses 2 "voxfilt: --piece: cat cannot join samples that are compressed behind the header of a file $form; without --level they are not" \
        volume --piece 2/2 --level 3 --out-format $form -o out
done
refuses 2 'voxfilt: out: --level: the format nii takes no level of compression' volume --piece 1/2 --level 0 --out-format nii -o out
refuses 2 'voxfilt: out: --level: the format raw takes no level of compression' volume --piece 2/2 --level 3 --out-format nii -o out
refuses 2 'voxfilt: --piece: 31 pieces of 30 planes' volume --piece 1/31 -o out
refuses 2 'voxfilt: --piece: 0/3: expected K/N, with K from 1 to N' volume --piece=0/3 -o out
refuses 2 'voxfilt: --piece: 1/2: --part is given, too' volume --part 1/2 --piece 1/2 -o out
refuses 2 'voxfilt: --stats: not allowed with --piece: it adds up whole volumes' volume --stats --piece 1/2 -o out
refuses 2 "voxfilt: --piece: not allowed with --until: $whole" volume --until 1 --piece 1/2 -o out
refuses 2 'imgheat: --piece: no such option (voxfilt has it)' imgheat --piece 1/2 gray.png -o out
# The least memory that makes it one pass is told, and enough.
volume -D cpu -f heat -s 40 --part 2/3 -m 20K -o out 2> told
[ $? = 6 ]
result $? 'several passes are refused'
least=$(sed -n 's/^voxfilt: --memory: a part takes one pass over the data, which needs .* (\([0-9]*\) bytes), and 20.0 KiB are allowed$/\1/p' told)
[ -n "$least" ]
result $? 'and the message says what one pass needs'
volume -f heat -s 40 --planes 10:20 -o expected.raw
accepts 'which is enough' '' volume -D cpu -f heat -s 40 --part 2/3 -m "$least" -o one.raw
same 'for the same samples' one.raw expected.raw
refuses 4 'voxfilt: /dev/full: No space left on device' volume --part 1/2 -o /dev/full

conclude
