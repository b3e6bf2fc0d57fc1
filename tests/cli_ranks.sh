#!/bin/sh
# Ranks that MPI brings together: the bytes and figures of one process, and one line by rank 0 where one of them fails.
# Prints a line a case and fails if one does.
set -u

model=$(cd "$(dirname "$0")/../bench" && pwd -P)/ranks_model.sh
# shellcheck source=tests/rankbook.sh
. "$(dirname "$0")/rankbook.sh"

# The same file as that of one process, and the same text. One thread each: otherwise, the number of processors of the
# machine would decide whether several ranks are faster.
as_one() # COUNT NAME OPTION...
{
    count=$1 name=$2
    shift 2
    voxfilt "$@" -j 1 -o "made$name" 2> ../one
    mv "made$name" one
    ranks "$count" voxfilt-mpi "$@" -j 1 -o "made$name" > ../stdout 2> ../stderr < /dev/null
    result $? "$count ranks: $*"
    same "$count ranks: the same bytes" "made$name" one
    sed 's/^voxfilt-mpi:/voxfilt:/' ../stderr | diff ../one -
    result $? "$count ranks: the same text"
}

# The same by rank 0 alone, which says why.
as_one_alone() # WHY COUNT NAME OPTION...
{
    why=$1 count=$2 name=$3
    shift 3
    voxfilt "$@" -j 1 -o "made$name" 2> ../one
    mv "made$name" one
    ranks "$count" voxfilt-mpi "$@" -j 1 -o "made$name" > ../stdout 2> ../stderr < /dev/null
    result $? "$count ranks: $*"
    same "$count ranks: the same bytes" "made$name" one
    sed 's/^voxfilt-mpi:/voxfilt:/' ../stderr | grep -v ": computing on rank 0 alone: $why\$" | diff ../one - &&
        grep -q "^voxfilt-mpi: .*: computing on rank 0 alone: $why\$" ../stderr
    result $? "$count ranks: rank 0 alone, since $why"
}

here=$(pwd -P)
make_volume -d 21,15,30 -t u16 -o scan.raw
make_volume -d 300,200,45 -t u8 -o large.raw
make_volume -d 100,90,300 -t u8 -o tall.raw
scan='-i scan.raw -d 21,15,30 -t u16'
large='-i large.raw -d 300,200,45 -t u8'
tall='-i tall.raw -d 100,90,300 -t u8' # for ranks that exchange planes: many planes, and small ones

if has ldd; then
    ldd "$VOXFILT" > ../libraries
    [ -s ../libraries ] && ! grep -i mpi ../libraries
    result $? 'voxfilt itself is not linked to MPI'
fi

# ---------------------------------------------------------------- the same bytes and figures

# shellcheck disable=SC2086  # words
{
    has_turn && as_one 1 .raw $scan -s 7 --stats
    has_turn && as_one 2 .nrrd $scan -f gauss:1 -e wrap --stats
    has_turn && as_one 3 .raw $large -s 12 --stats -m 8M
    has_turn && as_one 3 .raw $tall -s 400 --stats
    has_turn && as_one 2 .raw $tall -s 300 -e wrap --until 0.5
    has_turn && as_one 3 .raw $large -f gauss:3 -s 2 -f heat --flux pm1 --scale 30 -s 30 --out-range auto
    has_turn && as_one 5 .nii.gz $scan -f heat --flux pm2 --scale 900 -s 5 --stats
    has_turn && as_one 8 .raw $scan -f laplace --out-type u8 --stats
    has_turn && as_one 3 .png $scan --slice y=4
    # What is compressed, each rank reads whole.
    voxfilt $tall -f identity -o packed.nii.gz
    has_turn && as_one 3 .raw packed.nii.gz -s 400 --stats
    has_turn && as_one 2 .nii.gz packed.nii.gz -s 300 -e wrap --until 0.5
    ranks 3 voxfilt-mpi packed.nii.gz -s 400 -j 1 -o made.raw --explain > ../stdout 2> ../stderr
    grep -q '^ranks     3, of up to 100 planes each; each holds [1-9]' ../stdout
    result $? 'ranks hold the grid of a compressed input together'
    # Memory is too short for all of them together, or edges need the whole grid.
    has_turn && as_one_alone 'there is too little memory for one pass over a part' 3 .raw $tall -s 60 --stats -m 3M
    has_turn && as_one_alone 'the grid is too large for the memory of all ranks together' \
        5 .nii.gz $large -s 40 --flux pm1 --scale 30 -e wrap --out-range auto -m 6M
    has_turn && as_one_alone 'the grid is too large for the memory of all ranks together' 2 .raw $large -s 60 --flux pm1 --scale 30 -e hold --until 0.5 -m 5M
    has_turn && as_one_alone 'some edges wrap along the planes, and others do not' \
        2 .raw $large -f gauss:1 -e wrap -f heat --flux pm2 --scale 90 --inner 9 -s 20 -e mirror --planes 9:30 -m 9M
    # With alpha.
    {
        printf 'NRRD0004\ntype: uchar\ndimension: 4\nsizes: 4 100 90 75\nkinds: RGBA-color none none none\nencoding: raw\n\n'
        cat tall.raw
    } > rgba.nrrd
    has_turn && as_one 3 .nrrd -i rgba.nrrd -s 300 --flux pm1 --scale 30 --stats
    has_turn && as_one 2 .nrrd -i rgba.nrrd -f gauss:1 -f gradient -f box:1 --out-type f32 --stats
    as_one 3 .nhdr $large -f identity
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

# If a node has too little memory that all of its ranks see, planes go in messages. MPICH does not start with so little.
if ! "$MPIRUN" --version 2>&1 | grep -q HYDRA && unshare -m true 2> ../stderr; then
    cat large.raw large.raw > deep.raw
    export LAUNCHER="$MPIRUN"
    # shellcheck disable=SC2016  # for the script
    printf '#!/bin/sh\nexec unshare -m sh -c "%s" sh "$LAUNCHER" "$@"\n' \
        'mount -t tmpfs -o size=8m tmpfs /dev/shm && exec \"\$@\"' > ../little
    chmod +x ../little
    MPIRUN=$work/little
    has_turn && as_one 2 .raw -i deep.raw -d 300,200,90 -t u8 -s 200 --flux pm1 --scale 30
    MPIRUN=$LAUNCHER
else
    skip 'little memory for all ranks of a node: this needs Open MPI and a mount of its own'
fi

# Nor does a rank need it that MPI cannot give such memory. It has its types in registers, whatever they are.
refusing=$here/refusing
cat > "$refusing.c" <<'END'
int PMPI_Win_allocate_shared(long size, int unit, long info, long comm, void *base, void *window);
int MPI_Win_allocate_shared(long size, int unit, long info, long comm, void *base, void *window);

int MPI_Win_allocate_shared(long size, int unit, long info, long comm, void *base, void *window)
{
    PMPI_Win_allocate_shared(size, unit, info, comm, base, window);
    return 16; /* an error */
}
END
if has cc && cc -shared -fPIC -o "$refusing.so" "$refusing.c"; then
    # shellcheck disable=SC2086
    voxfilt $tall -s 300 -j 1 -o one.raw
    # shellcheck disable=SC2086
    accepts 'a rank to which MPI gives no memory that others see' '' ranks 2 voxfilt-mpi $tall -s 300 -j 1 -o many.raw : -n 1 \
        env LD_PRELOAD="$refusing.so" ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" voxfilt-mpi $tall -s 300 -j 1 -o many.raw
    same 'gets planes in messages' many.raw one.raw
else
    skip 'an MPI that gives no memory that ranks see: there is no compiler'
fi

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
for job in '-s 3' '-s 900 --flux tanh --scale 30 --inner 4' '-s 30 -m 540K'; do
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
    for place in 1048575:first 1651424:last; do
        cp large.raw other/large.raw
        flip other/large.raw ${place%:*}
        refuses_all 3 "voxfilt-mpi: rank 1 ($host): /proc/self/cwd/large.raw: its ${place#*:} MiB differs from that on rank 0" \
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
# Launchers differ in which rank's status they end with.
every_status() # STATUS COMMAND...
{
    wanted=$1
    shift
    rm -f ../statuses
    # shellcheck disable=SC2016  # for the shell of each rank
    ranks 3 sh -c '"$@"; echo $? >> ../statuses' sh "$@" > ../stdout 2> ../stderr < /dev/null
    [ "$(sort -u ../statuses)" = "$wanted" ] && [ "$(wc -l < ../statuses)" = 3 ]
    result $? "every rank ends with status $wanted"
}
every_status 2 voxfilt-mpi --bogus
every_status 3 voxfilt-mpi -i scan.raw -n 4 -t u16 -o out
every_status 4 voxfilt-mpi -i none.raw -n 4 -o out
# shellcheck disable=SC2086
every_status 7 voxfilt-mpi $scan --until 1e-9 -s 5 -o many.raw
ranks 2 sh -c 'exec voxfilt-mpi --help > /dev/full' > ../stdout 2> ../stderr
[ $? = 4 ] && [ "$(grep -c '^voxfilt-mpi: standard output: it could not be written$' ../stderr)" = 1 ]
result $? 'help that nobody can read is a failure'
# The limit is more than MPI itself needs for its files. The wisdom says that the link is fast, whatever else runs here.
truncate -s 134217728 zeros.raw
wisdom=$XDG_CACHE_HOME/voxfilt/wisdom
ranks 2 voxfilt-mpi -i zeros.raw -n 512 -t u8 -s 3000 -j 1 --explain > ../stdout 2> ../stderr
sed '/^link/s/[^	]*$/1e9/' "$wisdom" > fast && mv fast "$wisdom"
if takes_signal XFSZ; then
    refuses_all 4 'voxfilt-mpi: out: File too large' ranks 2 sh -c 'trap "" XFSZ && ulimit -f 1048576 && exec "$@"' sh \
        voxfilt-mpi -i zeros.raw -n 512 -t u8 --out-type f64 -f identity -o out
    refuses_all 4 'voxfilt-mpi: out: its spool file: File too large' \
        ranks 2 sh -c 'trap "" XFSZ && ulimit -f 1048576 && exec "$@"' sh \
        voxfilt-mpi -q -i zeros.raw -n 512 -t u8 --work f64 -s 30 -m 60M -o out
fi

# ---------------------------------------------------------------- room

# In a file system in memory, four ranks fill files through mappings.
memory=
if [ "$(stat -f -c %T /dev/shm)" = tmpfs ] && memory=$(mktemp -d /dev/shm/voxfilt.XXXXXX); then
    trap 'rm -rf "$work" "$memory"' EXIT
fi

# While the file `held` exists, whoever takes room waits. With LACKS_AFTER=SECONDS, there is no room, and it takes that long
# to find out.
taking=$here/taking
cat > "$taking.c" <<'END'
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static int take(void)
{
    const char *seconds = getenv("LACKS_AFTER");

    while (access("held", F_OK) == 0)
        usleep(10000);
    if (seconds != NULL)
        sleep((unsigned)atoi(seconds));
    errno = seconds != NULL ? ENOSPC : EOPNOTSUPP;
    return -1;
}

int fallocate(int file, int mode, off_t offset, off_t length)
{
    (void)file, (void)mode, (void)offset, (void)length;
    return take();
}

int fallocate64(int file, int mode, long long offset, long long length)
{
    (void)file, (void)mode, (void)offset, (void)length;
    return take();
}
END

# The temporary file holds something other than zeros.
has_samples() # FOLDER
{
    [ "$(cat "$1"/*.part 2> ../missing | tr -d '\0' | head -c 1 | wc -c)" = 1 ]
}

lacks_room() # FILE OPTION...
{
    file=$1
    shift
    refuses_all 4 "voxfilt-mpi: $file: No space left on device" ranks 2 env LACKS_AFTER=1 "$taking" \
        voxfilt-mpi -D cpu -j 1 -i zeros.raw -n 512 -t u8 "$@"
}

# shellcheck disable=SC2016  # for the shell of each rank
printf '#!/bin/sh\nLD_PRELOAD=$0.so ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 exec "$@"\n' > "$taking"
chmod +x "$taking"
if has cc && cc -shared -fPIC -o "$taking.so" "$taking.c"; then
    # shellcheck disable=SC2086
    {
        voxfilt $large -j 1 -s 12 -o one.raw
        touch held
        "$MPIRUN" -n 2 "$taking" voxfilt-mpi $large -j 1 -s 12 -o made.raw > ../stdout 2> ../stderr &
        await 200 has_samples .
        result $? 'ranks write while room is taken'
        rm held
        wait $!
        same 'and wait for it only in the end' one.raw made.raw
    }
    if [ -n "$memory" ]; then
        touch held
        # shellcheck disable=SC2086
        "$MPIRUN" -n 4 "$taking" voxfilt-mpi $large -j 1 -s 12 -o "$memory/made.raw" > ../stdout 2> ../stderr &
        await 200 has_samples "$memory"
        : > "$(echo "$memory"/*.part)"
        rm held
        wait $!
        own_lines
        [ "$(wc -l < ../own)" = 1 ] && [ -z "$(ls -A "$memory")" ] &&
            grep -qE "^voxfilt-mpi: (rank [0-3] \($host\): )?$memory/made.raw: the temporary file has been truncated\$" ../own
        result $? 'a temporary file that somebody truncates'
    fi
    # These would take far longer than the test waits.
    lacks_room out -s 40000 -o out
    lacks_room out.raw.gz -s 40000 -o out.raw.gz
else
    skip 'room that is taken slowly: there is no compiler'
fi

if [ -n "$memory" ]; then
    # shellcheck disable=SC2086
    {
        voxfilt $large -j 1 -s 12 -o one.nrrd
        ranks 4 voxfilt-mpi $large -j 1 -s 12 --tee 5:"$memory/five.raw" -o "$memory/made.nrrd" > ../stdout 2> ../stderr
        same 'a file system in memory' one.nrrd "$memory/made.nrrd"
        voxfilt $large -j 1 -s 5 -o one.raw
        same 'and a state there' one.raw "$memory/five.raw"
    }
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

# The same as bench/ranks_model.sh, to the three digits that are printed.
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
    as_the_model 256 1000 3 1e9 2e4
    as_the_model 256 1000 2 1e8 2e4
    as_the_model 256 1000 3 1e8 2e2
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

# ---------------------------------------------------------------- tasks that are no ranks

# shellcheck disable=SC2086
ranks 3 voxfilt $scan -s 5 -o many.raw > ../stdout 2> ../stderr
[ "$(grep -c '^voxfilt: 3 tasks were started, and each does all of the work: voxfilt-mpi, or --part, divides it$' ../stderr)" = 1 ]
result $? 'that each does everything is told once'

# ---------------------------------------------------------------- launchers that MPI does not know

# Those of one vendor start programs of the other as so many that are alone.
sees_one()
{
    # shellcheck disable=SC2086
    "$@" voxfilt-mpi $scan -o out > ../stdout 2> ../stderr
    [ $? = 2 ] && [ "$(grep -c '^voxfilt-mpi: 3 tasks were started, but MPI (.*) sees only 1: use its own mpirun, or srun --mpi=pmi[x2]$' ../stderr)" = 1 ] &&
        ! [ -e out ]
    result $? "tasks that MPI does not bring together: $*"
}
sees_one env SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=0
for foreign in mpirun.openmpi mpirun.mpich; do
    if has "$foreign" && [ "$(readlink -f "$(command -v "$foreign")")" != "$(readlink -f "$(command -v "$MPIRUN")")" ]; then
        sees_one "$foreign" -n 3
    fi
done

# ---------------------------------------------------------------- an MPI that cannot be started

broken=$here/broken
cat > "$broken.c" <<'END'
int MPI_Init_thread(int *count, char ***words, int wanted, int *granted);

int MPI_Init_thread(int *count, char ***words, int wanted, int *granted)
{
    (void)count, (void)words, (void)wanted, (void)granted;
    return 15; /* MPI_ERR_OTHER */
}
END
alone() # VARIABLE=VALUE...
{
    # shellcheck disable=SC2086
    env -u OMPI_COMM_WORLD_SIZE -u PMI_SIZE -u SLURM_STEP_NUM_TASKS LD_PRELOAD="$broken.so" \
        ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" "$@" voxfilt-mpi $scan -s 5 -o alone.raw
}
if has cc && cc -shared -fPIC -o "$broken.so" "$broken.c"; then
    # shellcheck disable=SC2086
    voxfilt $scan -s 5 -o one.raw
    # shellcheck disable=SC2086
    accepts 'the only task of a launcher needs no MPI' '' ranks 1 env LD_PRELOAD="$broken.so" \
        ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" voxfilt-mpi $scan -s 5 -o alone.raw
    same 'and writes the same bytes' alone.raw one.raw
    # shellcheck disable=SC2086
    accepts 'a process without a launcher starts MPI' '' voxfilt-mpi $scan -s 5 -o single.raw
    same 'and writes the same bytes' single.raw one.raw
    for told in 'SLURM_STEP_NUM_TASKS=1' 'OMPI_COMM_WORLD_SIZE=1 PMI_SIZE=2' 'OMPI_COMM_WORLD_SIZE=2 PMI_SIZE=1' \
        'PMI_SIZE=1 SLURM_STEP_NUM_TASKS=2' 'PMI_SIZE=one' 'UNKNOWN_LAUNCHER=1'; do
        rm alone.raw
        # shellcheck disable=SC2086
        refuses_all 1 'voxfilt-mpi: MPI cannot be started' alone $told
    done
else
    skip 'an MPI that cannot be started: there is no compiler'
fi

# ---------------------------------------------------------------- an MPI that lacks something

# If one rank lacks it, all hear of it before they do anything.
lacking=$here/lacking
cat > "$lacking.c" <<'END'
int PMPI_Init_thread(int *count, char ***words, int wanted, int *granted);
int MPI_Init_thread(int *count, char ***words, int wanted, int *granted);

int MPI_Init_thread(int *count, char ***words, int wanted, int *granted)
{
    int code = PMPI_Init_thread(count, words, wanted, granted);

    *granted = 0; /* MPI_THREAD_SINGLE */
    return code;
}
END
if has cc && cc -shared -fPIC -o "$lacking.so" "$lacking.c"; then
    # shellcheck disable=SC2086
    refuses_all 1 "voxfilt-mpi: rank 1 ($host): MPI does not support threads" ranks 1 voxfilt-mpi $scan -o out : -n 1 \
        env LD_PRELOAD="$lacking.so" ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" voxfilt-mpi $scan -o out
    # shellcheck disable=SC2086
    refuses_all 1 'voxfilt-mpi: MPI does not support threads' ranks 2 \
        env LD_PRELOAD="$lacking.so" ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" voxfilt-mpi $scan -o out
else
    skip 'an MPI that lacks threads: there is no compiler'
fi

# ---------------------------------------------------------------- signals

has_temporaries() # COUNT
{
    [ "$(find . -name '*.part' | wc -l)" -ge "$1" ]
}

# A run that takes long, until all ranks know all of its temporaries: those that all write, which are the output, the
# samples of a state, and what the compressed state is made of, unless rank 0 computes alone; and those that rank 0 alone
# writes.
begin_long() # RANKS EXTENTS TEMPORARIES
{
    echo before > out
    OMPI_MCA_odls_base_sigkill_timeout=5 "$MPIRUN" -n "$1" voxfilt-mpi -D cpu -i zeros.raw -d "$2" -t u16 -s 3000 -q \
        --tee 9:nine.nhdr --tee 10:ten.raw.gz --preview look.png -o "$here/out" > ../stdout 2> ../stderr &
    launcher=$!
    await 100 has_temporaries "$3"
    sleep 0.5
}

# The process of a rank, of this test's own.
process_of() # RANK
{
    for process in $(pgrep -f "^[^ ]*voxfilt-mpi .*-o $here/out"); do
        if tr '\0' '\n' < "/proc/$process/environ" | grep -qxE "(PMI_RANK|OMPI_COMM_WORLD_RANK)=$1"; then
            echo "$process"
        fi
    done
}

# What was there before is there still, and nothing else. What its end means to a launcher is not always the same.
ends_clean() # NAME
{
    wait "$launcher"
    status=$?
    await 50 has_no_temporary
    [ "$(head -c 7 out)" = before ] && has_no_temporary &&
        ! [ -e nine.nhdr ] && ! [ -e nine.raw ] && ! [ -e ten.raw.gz ] && ! [ -e look.png ]
    result $? "$1 (status $status)"
}

# MPICH's launcher kills all ranks by SIGKILL where one ends by a signal.
if takes_signal TERM; then
    begin_long 2 512,512,256 6
    kill -TERM "$launcher"
    ends_clean 'the launcher is told to end'
    begin_long 2 512,512,256 6
    kill -TERM "$(process_of 1)"
    ends_clean 'a rank is told to end'
    [ $status != 0 ]
    result $? 'and that is a failure'
    begin_long 3 8192,4096,2 6
    kill -TERM "$(process_of 2)"
    ends_clean 'a rank is told to end that has no planes'
    begin_long 2 8192,8192,1 5
    kill -TERM "$(process_of 1)"
    ends_clean 'a rank is told to end while rank 0 computes alone'
    begin_long 2 512,512,256 6
    kill -KILL "$(process_of 1)"
    wait "$launcher"
    status=$?
    [ $status != 0 ] && [ "$(head -c 7 out)" = before ]
    result $? "a rank is killed (status $status)"
    rm -f -- *.part
    rm out
fi

conclude
