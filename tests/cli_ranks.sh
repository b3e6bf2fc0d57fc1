#!/bin/sh
# Ranks that MPI brings together: the bytes and figures of one process, what is said, and one line by rank 0 where one of
# them fails. What depends on which MPI it is, tests/cli_ranks_mpi.sh tries. Prints a line a case and fails if one does.
set -u

model=$(cd "$(dirname "$0")/../bench" && pwd -P)/ranks_model.sh
# shellcheck source=tests/rankbook.sh
. "$(dirname "$0")/rankbook.sh"

# The same by rank 0 alone, which says why.
volume_as_one_alone() # WHY COUNT NAME OPTION...
{
    why=$1
    shift
    volume_by_ranks "$@"
    sed 's/^voxfilt-mpi:/voxfilt:/' ../stderr | grep -v ": computing on rank 0 alone: $why\$" | diff ../one - &&
        grep -q "^voxfilt-mpi: .*: computing on rank 0 alone: $why\$" ../stderr
    result $? "$count ranks: rank 0 alone, since $why"
}

here=$(pwd -P)
make_volumes


if has ldd; then
    ldd "$VOXFILT" > ../libraries
    [ -s ../libraries ] && ! grep -i mpi ../libraries
    result $? 'voxfilt itself is not linked to MPI'
fi

# ---------------------------------------------------------------- the same bytes and figures

# shellcheck disable=SC2086  # words
{
    has_turn && volume_as_one 1 .raw $scan -s 7 --stats
    has_turn && volume_as_one 2 .nrrd $scan -f gauss:1 -e wrap --stats
    has_turn && volume_as_one 3 .raw $large -s 12 --stats -m 8M
    has_turn && volume_as_one 3 .raw $large -f gauss:3 -s 2 -f heat --flux pm1 --scale 30 -s 60 --out-range auto
    # Two samples are 149, none is 240; what is told of that is the same, too.
    has_turn && volume_as_one 3 .raw $large -s 12 --missing 149
    has_turn && volume_as_one 3 .raw $large -s 12 --missing 240
    has_turn && volume_as_one 5 .nii.gz $scan -f heat --flux pm2 --scale 900 -s 5 --stats
    has_turn && volume_as_one 8 .raw $scan -f laplace --out-type u8 --stats
    has_turn && volume_as_one 3 .png $scan --slice y=4
    # What is compressed, each rank reads whole.
    voxfilt $tall -f identity -o packed.nii.gz
    has_turn && volume_as_one 3 .raw packed.nii.gz -s 400 --stats
    has_turn && volume_as_one 2 .nii.gz packed.nii.gz -s 300 -e wrap --until 0.5
    ranks 3 voxfilt-mpi packed.nii.gz -s 400 -j 1 -o made.raw --explain > ../stdout 2> ../stderr
    grep -q '^ranks     3, of up to 100 planes each; each holds [1-9]' ../stdout
    result $? 'ranks hold the grid of a compressed input together'
    # Memory is too short for all of them together, or edges need the whole grid.
    has_turn && volume_as_one_alone 'there is too little memory for one pass over a part' 3 .raw $tall -s 60 --stats -m 3M
    has_turn && volume_as_one_alone 'the grid is too large for the memory of all ranks together' \
        5 .nii.gz $large -s 40 --flux pm1 --scale 30 -e wrap --out-range auto -m 6M
    has_turn && volume_as_one_alone 'the grid is too large for the memory of all ranks together' 2 .raw $large -s 60 --flux pm1 --scale 30 -e hold --until 0.5 -m 5M
    has_turn && volume_as_one_alone 'some edges wrap along the planes, and others do not' \
        2 .raw $large -f gauss:1 -e wrap -f heat --flux pm2 --scale 90 --inner 9 -s 20 -e mirror --planes 9:30 -m 9M
    # With alpha.
    {
        printf 'NRRD0004\ntype: uchar\ndimension: 4\nsizes: 4 100 90 75\nkinds: RGBA-color none none none\nencoding: raw\n\n'
        cat tall.raw
    } > rgba.nrrd
    has_turn && volume_as_one 3 .nrrd -i rgba.nrrd -s 100 --flux pm1 --scale 30 --stats
    has_turn && volume_as_one 2 .nrrd -i rgba.nrrd -f gauss:1 -f gradient -f box:1 --out-type f32 --stats
    volume_as_one 3 .nhdr $large -f identity
}
voxfilt made.nhdr -f identity --out-format raw -o one.raw
same 'samples beside their header' one.raw large.raw
# shellcheck disable=SC2086
voxfilt $tall -s 9 --out-format nii -o one.nii
for k in 1 2; do
    # shellcheck disable=SC2086
    ranks 3 voxfilt-mpi -q $tall -s 9 --out-format nii --piece $k/2 -o piece.$k.nii > ../stdout 2> ../stderr
done
cat piece.1.nii piece.2.nii > made.nii
same 'pieces by several ranks each' made.nii one.nii

# What Slurm would run, by a launcher that is here.
if has bash; then
    mkdir ../tools
    # shellcheck disable=SC2016  # for the script
    printf '#!/bin/sh\nwhile case $1 in --*) ;; *) false ;; esac; do shift; done\nexec "$MPIRUN" -n 3 "$@"\n' > ../tools/srun
    chmod +x ../tools/srun
    voxfilt -i scan.raw -d 21,15,30 -t u16 -f identity -o scan.nrrd
    voxfilt scan.nrrd -f heat -s 100 -o one.nrrd
    env PATH="$work/tools:$PATH" SLURM_JOB_ID=1 SLURM_CPUS_PER_TASK=1 \
        bash "${top_srcdir:?}/samples/slurm-ranks.sbatch" scan.nrrd many.nrrd > ../stdout 2> ../stderr < /dev/null
    grep -q '^ranks  *1 of 3: more ranks would not be faster$' ../stderr
    result $? 'slurm-ranks.sbatch'
    same 'writes the same bytes' many.nrrd one.nrrd
fi

# ---------------------------------------------------------------- what is said

# shellcheck disable=SC2086
{
    accepts 'ranks that are of no use' 'voxfilt-mpi: eight.raw: 1 of 3 ranks stays idle: more than 2 would not be faster
' ranks 3 voxfilt-mpi -i eight.raw -d 2,2,2 -t u8 -f identity -o few.raw
    accepts 'so few samples that one rank is faster' "voxfilt-mpi: scan.raw: computing on rank 0 alone: more ranks would not be faster
" ranks 2 voxfilt-mpi $scan -s 200 -o many.raw
    ranks 2 voxfilt-mpi $scan --until 1e-9 -s 5 -o many.raw > ../stdout 2> ../stderr
    [ $? = 7 ] && [ -s many.raw ]
    result $? 'the status of a run that came to no end'
    ranks 2 voxfilt-mpi $scan -s 5 --explain > ../stdout 2> ../stderr
    [ "$(grep -c '^input  ' ../stdout)" = 1 ] && grep -q '^ranks     2, of up to 15 planes each; each reads 5 more on either side' ../stdout
    result $? '--explain is told once, and tells of the ranks'
    ranks 3 voxfilt-mpi $tall -s 400 -j 1 --explain > ../stdout 2> ../stderr
    grep -q '^ranks     3, of up to 100 planes each; each holds [1-9][0-9]* more on either side, which others hand over$' ../stdout &&
        grep -q '^run       the whole grid is held, by all ranks together: each holds up to [0-9]* planes$' ../stdout
    result $? 'of those that hold the grid together, too'
    ranks 3 voxfilt-mpi $tall -s 60 -j 1 -m 3M --explain > ../stdout 2> ../stderr
    grep -q '^ranks     1 of 3: there is too little memory for one pass over a part$' ../stdout &&
        grep -q '^          rank 0 has the memory of one rank; one process with that of all may be faster$' ../stdout &&
        grep -q 'one pass [0-9.]* ms by 3 (too little memory), the grid held together [0-9.]* ms by 3 (too little memory)$' ../stdout &&
        grep -q '^run       [1-9][0-9]* passes over a spool file of ' ../stdout
    result $? 'and of those that leave all passes to rank 0'
}
if has taskset && ranks 1 taskset -c 0 true && ranks 1 taskset -c 1 true && [ "$(nproc)" -gt 1 ]; then
    # shellcheck disable=SC2086
    {
        alone() # milliseconds that are predicted of rank 0 alone
        {
            sed -n 's/^ *predicted: rank 0 alone \([0-9.]*\) ms, .*/\1/p'
        }
        of_one="taskset -c 0 voxfilt-mpi $tall -s 60 -m 3M" of_other="taskset -c 1 voxfilt-mpi $tall -s 60 -m 3M"
        ranks 1 $of_one --explain : -n 1 $of_other --explain > ../stdout 2> ../stderr
        grep -q '^ranks     1 of 2: ' ../stdout && grep -q '^device .* 2 processors,' ../stdout
        result $? 'rank 0 has the processors of both where the job cannot be divided'
        of_two=$(alone < ../stdout)
        ranks 1 $of_one -j 1 --explain : -n 1 $of_other -j 1 --explain > ../stdout 2> ../stderr
        grep -q '^ranks     1 of 2: ' ../stdout && grep -q '^device .* 1 processor,' ../stdout
        result $? 'but no more than its own where the number of threads is given'
        awk -v two="$of_two" -v own="$(alone < ../stdout)" 'BEGIN { exit !(two > 0 && two < 0.7 * own) }'
        result $? 'and its prediction counts those that it has'
        voxfilt $tall -s 60 -o one 2> ../stderr
        ranks 1 $of_one -o many.raw : -n 1 $of_other -o many.raw > ../stdout 2> ../stderr
        result $? 'and runs'
        same 'to the same bytes' many.raw one
    }
    # shellcheck disable=SC2086
    ranks 2 taskset -c 0 voxfilt-mpi $scan -s 2 --explain > ../stdout 2> ../stderr
    grep -q "^voxfilt-mpi: $host: ranks are bound to 1 of [0-9]* processors: " ../stderr && grep -q '^device .* 1 processor,' ../stdout
    result $? 'processors that stay idle'
    # shellcheck disable=SC2086
    accepts 'are nobody'\''s business where the number of threads is given' '' ranks 2 taskset -c 0 voxfilt-mpi -j 2 $scan -s 2 -o many.raw
fi
# Rank 0 alone looks at the report that is there.
for report in new replaced; do
    ranks 2 timeout 60 voxfilt-mpi -i scan.raw -d 21,15,30 -t u16 --report=json:ranks.json -o many.raw > ../stdout 2> ../stderr < /dev/null &&
        grep -q '^{.*"ranks": [12],.*}$' ranks.json
    result $? "a report that is $report"
    : > many.raw
done
# Each rank sees some of the planes, and several planes may share a row of pixels.
make_volume -d 20,10,900 -t f32 -o high.raw
for job in '-s 3' '-s 300 --flux tanh --scale 30 --inner 4' '-s 30 -m 540K'; do
    [ "$job" = '-s 3' ] || has_turn || continue
    # shellcheck disable=SC2086
    voxfilt -i high.raw -d 20,10,900 -t f32 $job --preview one.png -o many.raw
    # shellcheck disable=SC2086
    ranks 3 voxfilt-mpi -j 1 -i high.raw -d 20,10,900 -t f32 $job --preview many.png --report -o many.raw > ../stdout 2> ../stderr
    grep -q '^ranks     [23],\|^ranks     2 of 3,' ../stderr && same "a preview: $job" many.png one.png
    result $? "by several ranks: $job"
    rm many.png
done
mkdir several
cp scan.raw again.raw
# shellcheck disable=SC2086
accepts 'what many inputs would repeat is told once' 'voxfilt-mpi: --edge has no effect: identity reads no neighbours
' ranks 3 voxfilt-mpi scan.raw again.raw -d 21,15,30 -t u16 -f identity -e wrap -o several/
[ "$(ranks 2 voxfilt-mpi --version 2> ../stderr)" = "$(voxfilt --version | sed 's/^voxfilt/voxfilt-mpi/')" ]
result $? '--version is told once'
ranks 2 voxfilt-mpi --help > ../stdout 2> ../stderr && [ "$(grep -c "^Usage: mpirun -n RANKS voxfilt-mpi " ../stdout)" = 1 ] &&
    ! grep -E "(^Usage:|^  +)voxfilt " ../stdout && [ "$(tail -n 1 ../stdout)" = "The manual: man voxfilt" ]
result $? "the --help of voxfilt-mpi is about voxfilt-mpi"
grep -qx 'Input and output must be named; standard input and output are refused.' ../stdout
result $? 'and says that files must be named'

# ---------------------------------------------------------------- refusals

# Change a byte.
flip() # FILE PLACE
{
    byte=$(tail -c +$(($2 + 1)) "$1" | head -c 1 | od -An -tu1)
    # shellcheck disable=SC2059  # the byte, in octal
    printf "\\$(printf %o $((255 - byte)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2> ../stderr
}

# Pictures that are compressed differ in their sizes, most often.
refuses_slice() # NUMBER COMMAND...
{
    k=$1
    shift
    rm -f out
    "$@" > ../stdout 2> ../stderr < /dev/null
    [ $? = 3 ] && ! [ -e out ] &&
        grep -qE "^voxfilt-mpi: rank 1 \($host\): /proc/self/cwd/slice$k.png: (its bytes differ from those|[0-9]* bytes here, but [0-9]*) on rank 0\$" ../stderr
    result $? "another picture $k of a stack"
}

# shellcheck disable=SC2086
{
    refuses_all 2 'voxfilt-mpi: standard input: every rank reads the input; name a file (--input FILE)' \
        ranks 2 voxfilt-mpi -n 4 -o out
    refuses_all 2 'voxfilt-mpi: standard output: all ranks write the output; name a file (--output FILE)' \
        ranks 2 voxfilt-mpi $scan
    # Several inputs need a directory.
    refuses_all 2 'voxfilt-mpi: 2 inputs need a directory, --output DIR/; did you mean to replace large.raw with --output large.raw?' \
        ranks 2 voxfilt-mpi scan.raw large.raw
    refuses_all 2 'voxfilt-mpi: --bench and --tune measure one process; run voxfilt' ranks 2 voxfilt-mpi --bench -n 8
    refuses_all 2 'voxfilt-mpi: /dev/full: all ranks write to it, so it must be a regular file' \
        ranks 2 voxfilt-mpi $scan -o /dev/full
    refuses_all 3 'voxfilt-mpi: scan.raw: length: 18900 bytes, but 4 x 4 x 4 u16 take 128' \
        ranks 3 voxfilt-mpi -i scan.raw -n 4 -t u16 -o out
    refuses_all 4 'voxfilt-mpi: none.raw: No such file or directory' ranks 2 voxfilt-mpi -i none.raw -n 4 -o out
    refuses_all 2 "voxfilt-mpi: rank 1 ($host): argument 6 is \"u8\" here, but \"u16\" on rank 0" \
        ranks 1 voxfilt-mpi $scan -o out : -n 1 voxfilt-mpi -i scan.raw -d 21,15,30 -t u8 -o out
    refuses_all 2 "voxfilt-mpi: rank 1 ($host): argument 9 is missing here, but \"-q\" on rank 0" \
        ranks 1 voxfilt-mpi $scan -o out -q : -n 1 voxfilt-mpi $scan -o out
    refuses_all 2 'voxfilt-mpi: --program: foo: expected voxfilt or imgheat' ranks 2 voxfilt-mpi --program=foo $scan -o out
    refuses_all 2 "voxfilt-mpi: rank 1 ($host): --program: foo: expected voxfilt or imgheat" \
        ranks 1 timeout 60 voxfilt-mpi $scan -o out : -n 1 timeout 60 voxfilt-mpi --program=foo $scan -o out
    refuses_all 2 'voxfilt-mpi: imgheat: ranks filter volumes; run imgheat for each picture' \
        ranks 2 voxfilt-mpi --program=imgheat rgba.png -o out
    LC_ALL=C sed 's/version \([0-9]\)/version X/' "$VOXFILT_MPI" > ../voxfilt-mpi && chmod +x ../voxfilt-mpi
    number=$(voxfilt --version | sed 's/.* //')
    refuses_all 2 "voxfilt-mpi: rank 1 ($host): version X${number#?} here, but version $number on rank 0" \
        ranks 1 timeout 60 voxfilt-mpi $scan -o out : -n 1 timeout 60 ../voxfilt-mpi $scan -o out
    mkdir other
    refuses_all 2 "voxfilt-mpi: rank 1 ($host): the working directory is $here/other here, but $here on rank 0" \
        ranks 1 voxfilt-mpi $scan -o out : -n 1 -wdir "$here/other" voxfilt-mpi $scan -o out
    # An absolute name that means another file in every folder.
    cp large.raw other/scan.raw
    mine="-i /proc/self/cwd/scan.raw -d 21,15,30 -t u16 -o $here/out"
    refuses_all 3 "voxfilt-mpi: rank 1 ($host): /proc/self/cwd/scan.raw: 2700000 bytes here, but 18900 on rank 0" \
        ranks 1 voxfilt-mpi $mine : -n 1 -wdir "$here/other" voxfilt-mpi $mine
    # A copy in another state.
    cp scan.raw other/scan.raw
    flip other/scan.raw 9000
    refuses_all 3 "voxfilt-mpi: rank 1 ($host): /proc/self/cwd/scan.raw: its bytes differ from those on rank 0" \
        ranks 1 voxfilt-mpi $mine : -n 1 -wdir "$here/other" voxfilt-mpi $mine
    tallest="-i /proc/self/cwd/large.raw -d 300,200,45 -t u8 -o $here/out"
    for place in 262143:first 2437856:last; do
        cp large.raw other/large.raw
        flip other/large.raw ${place%:*}
        refuses_all 3 "voxfilt-mpi: rank 1 ($host): /proc/self/cwd/large.raw: its ${place#*:} 256 KiB differ from those on rank 0" \
            ranks 1 voxfilt-mpi $tallest : -n 1 -wdir "$here/other" voxfilt-mpi $tallest
    done
    cp large.raw other/large.raw
    touch -d '2020-02-02 02:02:02' other/large.raw
    accepts 'times of change that differ' 'voxfilt-mpi: /proc/self/cwd/large.raw: ranks see different times of its last change
' ranks 1 voxfilt-mpi $tallest -f identity : -n 1 -wdir "$here/other" voxfilt-mpi $tallest -f identity
    same 'are no reason to refuse the file' out large.raw
    rm out other/large.raw
    # Of a list, and of a stack, the first and the last file count.
    for k in 0 1 2; do
        tail -c +$((k * 6300 + 1)) scan.raw | head -c 6300 > third.$k
    done
    printf 'NRRD0004\ntype: uint16\ndimension: 3\nsizes: 21 15 30\nendian: little\nencoding: raw\ndata file: LIST\nthird.0\nthird.1\nthird.2\n' > list.nhdr
    voxfilt $scan -f identity --planes 0:3 -o slice%d.png
    list="-i /proc/self/cwd/list.nhdr -f identity --out-format raw -o $here/out"
    stack="-i /proc/self/cwd/slice%d.png -f identity --out-format raw -o $here/out"
    accepts 'a list that all see alike' '' ranks 2 voxfilt-mpi $list
    same 'is read' out scan.raw
    for k in 0 2; do
        cp -p list.nhdr third.* slice*.png other
        flip other/third.$k 6000
        refuses_all 3 "voxfilt-mpi: rank 1 ($host): /proc/self/cwd/third.$k: its bytes differ from those on rank 0" \
            ranks 1 voxfilt-mpi $list : -n 1 -wdir "$here/other" voxfilt-mpi $list
        cp slice1.png other/slice$k.png
        refuses_slice $k ranks 1 voxfilt-mpi $stack : -n 1 -wdir "$here/other" voxfilt-mpi $stack
    done
    rm other/scan.raw
    refuses_all 4 "voxfilt-mpi: rank 1 ($host): /proc/self/cwd/scan.raw: No such file or directory" \
        ranks 1 voxfilt-mpi $mine : -n 1 -wdir "$here/other" voxfilt-mpi $mine
}
# The limit is more than MPI itself needs for its files.
make_zeros
if takes_signal XFSZ; then
    refuses_all 4 'voxfilt-mpi: out: File too large' ranks 2 sh -c 'trap "" XFSZ && ulimit -f 1048576 && exec "$@"' sh \
        voxfilt-mpi -i zeros.raw -n 512 -t u8 --out-type f64 -f identity -o out
fi
if takes_signal XFSZ && is_whole_run; then # it writes half a GiB
    refuses_all 4 'voxfilt-mpi: out: its spool file: File too large' \
        ranks 2 sh -c 'trap "" XFSZ && ulimit -f 1048576 && exec "$@"' sh \
        voxfilt-mpi -q -i zeros.raw -n 512 -t u8 --work f64 -s 30 -m 60M -o out
fi

# ---------------------------------------------------------------- what ranks know of the link between them

# A job that takes long has it measured, and what was found decides until the wisdom is another one.
long='-i zeros.raw -n 512 -t u8 -s 3000 -j 1 --explain'
rm -f "$wisdom"

# What the plan predicts, in seconds: rank 0 alone; one pass and its ranks; the grid held together and its ranks.
predicted()
{
    sed -n 's/^ *predicted: rank 0 alone \(.*\), one pass \(.*\) by \(.*\), the grid held together \(.*\) by \([0-9]*\)$/\1,\2,\3,\4,\5/p' |
        awk -F, '
            function seconds(text,   word) {
                split(text, word, " ")
                return word[2] == "ms" ? word[1] / 1000 : word[2] == "min" ? word[1] * 60 + word[3] : word[1]
            }
            { print seconds($1), seconds($2), $3, seconds($4), $5 }'
}

# The same as bench/ranks_model.sh, to the three digits that are printed: of 10 seconds and more, or of less than one.
as_the_model() # SIDE STEPS RANKS BYTES_A_SECOND MESSAGES_A_SECOND
{
    sed "s/^link of 2 ranks, 2 on/link of $3 ranks, $3 on/; /bytes a second/s/[^	]*$/$4/; /messages a second/s/[^	]*$/$5/" link > "$wisdom"
    truncate -s $(($1 * $1 * $1 * 4)) cube.raw
    ranks "$3" voxfilt-mpi -i cube.raw -n "$1" -t f32 -s "$2" -D cpu -j 1 --explain > ../stdout 2> ../stderr
    # shellcheck disable=SC2046  # words
    set -- "$@" $(predicted < ../stdout)
    [ $# = 10 ] && sh "$model" --seconds "$6" "$1" $(($1 * $1)) "$2" "$3" "$4" "$(awk "BEGIN { print 1 / $5 }")" > ../wanted &&
        echo "$7 $8 $9 ${10}" | cat - ../wanted | awk '
            function far(a, b) { return a > 1.02 * b || b > 1.02 * a }
            NR == 1 { split($0, plan) }
            END { exit NR != 2 || far(plan[1], $1) || plan[2] != $2 || far(plan[3], $3) || plan[4] != $4 }'
    result $? "the model: $1 cubed, $2 steps, $3 ranks, $4 bytes and $5 messages a second"
}
# shellcheck disable=SC2086
{
    ranks 2 voxfilt-mpi $long > ../stdout 2> ../stderr
    grep -q '^          for .*/s between ranks, and .* a message (measured)$' ../stdout
    result $? 'is measured'
    [ "$(grep -c "^link of 2 ranks, 2 on $host	" "$wisdom")" = 2 ]
    result $? 'and kept'
    ranks 2 voxfilt-mpi $long > ../stdout 2> ../stderr
    grep -q ' a message (measured before)$' ../stdout
    result $? 'and known from then on'
    cp "$wisdom" link
    as_the_model 256 40 3 1e9 2e4
    as_the_model 256 10000 3 1e9 2e4
    as_the_model 256 10000 2 1e8 2e4
    as_the_model 256 10000 3 1e8 2e2
    as_the_model 128 1000 3 1e9 2e4
    sed '/^link/s/[^	]*$/2/' link > "$wisdom"
    ranks 2 voxfilt-mpi $long > ../stdout 2> ../stderr
    grep -q '^ranks     1 of 2: more ranks would not be faster$' ../stdout &&
        grep -q '^          for 2 B/s between ranks, and 500 ms a message (measured before)$' ../stdout
    result $? 'and decides'
    rm "$wisdom"
    ranks 2 voxfilt-mpi $large -s 400 -j 1 --explain > ../stdout 2> ../stderr
    grep -q '^          for 954 MiB/s between ranks, and 0.050 ms a message (assumed)$' ../stdout && ! [ -e "$wisdom" ]
    result $? 'is not measured for a job that takes as little'
}

conclude
