#!/bin/sh
# Files that are dealt to ranks: the files, figures and words of one process, each rank busy while there are files left, and
# nothing left behind. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/rankbook.sh
. "$(dirname "$0")/rankbook.sh"

# A folder holds what one process puts into another, and the words are the same, but that failures name the rank.
as_one() # COUNT STATUS COMMAND OPTION...
{
    count=$1 wanted=$2 command=$3
    shift 3
    empty_folder made
    "$command" "$@" -o made/ 2> ../one < /dev/null
    one=$?
    rm -rf one
    mv made one
    mkdir made
    ranks "$count" "$command-mpi" "$@" -o made/ > ../stdout 2> ../stderr < /dev/null
    status=$?
    [ $status = "$wanted" ] && [ $one = "$wanted" ]
    result $? "$count ranks: $command $*"
    [ -n "$(ls -A one)" ] && diff -r one made
    result $? "$count ranks: the same files"
    grep -E "^($command-mpi:|input |output |[^ ]* → )" ../stderr | sed "s/^$command-mpi:/$command:/; s/^$command: rank [0-9] ($host): /$command: /" | diff ../one -
    result $? "$count ranks: the same text"
}

# ---------------------------------------------------------------- the same files

mkdir in bad volumes
for i in 1 2 3 4 5 6 7; do
    make_picture -d $((40 * i)),$((300 - 30 * i)) --seed $i -o in/$i.png
done
make_picture -d 1,1 --depth 16 -o in/8.png
head -c 5000 in/5.png > bad/cut.png
printf 'no picture' > bad/text.png
make_volume -d 20,9,40 -t u16 -o scan.raw
for form in nii nii.gz nrrd nhdr mhd npy; do
    voxfilt -i scan.raw -d 20,9,40 -t u16 -f identity -o "volumes/scan-$form.$form"
done
volumes=$(find volumes -name 'scan-*' ! -name '*.raw' | sort)

# shellcheck disable=SC2086  # words
{
    as_one 2 0 imgheat -j 1 -f gauss:1.5 -f heat in/*.png
    as_one 3 0 imgheat -j 3 -f gauss:1.5 --stats in/*.png
    as_one 8 0 imgheat -e wrap -f heat in/*.png
    as_one 3 3 imgheat -j 2 in/1.png bad/cut.png in/2.png none.png in/3.png bad/text.png in/4.png
    as_one 2 4 imgheat none.png bad/cut.png in/5.png
    as_one 3 0 imgheat -m 2M -e wrap --flip -f identity in/*.png
    as_one 2 0 voxfilt -f gauss:1.2 -f heat --stats $volumes
    as_one 4 0 voxfilt -j 3 -f laplace --out-type f32 --out-format nii $volumes
    as_one 2 7 voxfilt --until 1e-9 -s 5 $volumes
    # What is told of each takes more than one message.
    cp scan.raw wide.raw
    as_one 2 0 voxfilt -d 3,3,5 -t u16 --channels 160 --stats scan.raw wide.raw
}
mkdir tiny
for i in $(seq 100); do
    cp in/8.png tiny/"$i.png"
done
as_one 3 0 imgheat -j 2 tiny/*.png
if [ -c /dev/full ]; then
    empty_folder made
    ln -s /dev/full made/2.png
    # As the rank that fails is not known beforehand, it has no name here.
    ranks 3 imgheat-mpi in/*.png -o made/ > ../stdout 2> ../stderr < /dev/null
    [ $? = 4 ] && own_lines && grep -qx "imgheat-mpi: rank [0-2] ($host): made/2.png: No space left on device" ../own &&
        [ "$(wc -l < ../own)" = 1 ] && [ "$(find made -name '*.png' | wc -l)" = 8 ] && ! find made -name '*.part' | grep .
    result $? 'a full disk: the others are done'
fi

# ---------------------------------------------------------------- what is told

empty_folder made
ranks 3 imgheat-mpi in/*.png none.png -o made/ --report=json:ranks.json > ../stdout 2> ../stderr < /dev/null
imgheat in/*.png none.png -o made/ --report=json:one.json 2> ../one
names='s/, "status.*//; s/.*"output": "\([^"]*\)".*/\1/'
[ "$(wc -l < ranks.json)" = 9 ] && sed "$names" one.json > ../wanted && sed "$names" ranks.json | diff ../wanted -
result $? 'the report has a line each, in order'
ranks 2 imgheat-mpi --progress=always in/*.png -o made/ > ../stdout 2> ../progress < /dev/null
tr '\r' '\n' < ../progress > ../stderr
grep -q '^\[#[#.]*\]  *[0-9]* %  [0-9.]* files/s' ../stderr
result $? '--progress counts the files of all ranks'
ranks 3 imgheat-mpi --explain in/1.png in/2.png in/3.png -o made/ > ../stdout 2> ../stderr < /dev/null
[ "$(grep -c '^ranks     1 of 3: each rank filters files of its own$' ../stdout)" = 3 ] && [ "$(grep -c '^input ' ../stdout)" = 3 ]
result $? '--explain tells of each file once'

# ---------------------------------------------------------------- who gets what

# Failures say who had a file. The largest go first, one to each rank.
for i in 1 2 3; do
    head -c $((6000 - i * 1000)) in/5.png > bad/$i.png
done
empty_folder made
refuses_all 3 "imgheat-mpi: rank 2 ($host): bad/3.png: IDAT: the file ends early
imgheat-mpi: rank 1 ($host): bad/2.png: IDAT: the file ends early
imgheat-mpi: rank 0 ($host): bad/1.png: IDAT: the file ends early" ranks 3 imgheat-mpi -j 1 bad/3.png bad/2.png bad/1.png -o made/
# A header counts as large as the samples that it describes.
for i in 1 2 3; do
    side=$((40 - 10 * i))
    make_volume -n $side -t u8 -o whole.raw
    gzip -c whole.raw | head -c 100 > "bad/$i.gz"
    printf 'NRRD0004\n#%*d\ntype: uchar\ndimension: 3\nsizes: %d %d %d\nencoding: gzip\ndata file: %d.gz\n' \
        $((100 * i)) $i $side $side $side $i > "bad/$i.nhdr"
done
empty_folder made
refuses_all 3 "voxfilt-mpi: rank 2 ($host): bad/3.nhdr: bad/3.gz: gzip: it ends early
voxfilt-mpi: rank 1 ($host): bad/2.nhdr: bad/2.gz: gzip: it ends early
voxfilt-mpi: rank 0 ($host): bad/1.nhdr: bad/1.gz: gzip: it ends early" \
    ranks 3 voxfilt-mpi -j 1 bad/3.nhdr bad/2.nhdr bad/1.nhdr -o made/
# One in a pipe can be read only once.
make_volume -n 10 -t u8 -o 10.raw
for i in 1 2; do
    printf 'NRRD0004\ntype: uchar\ndimension: 3\nsizes: 10 10 10\nencoding: raw\ndata file: 10.raw\n' > $i.nhdr
done
mkfifo pipe.nhdr
cat 1.nhdr > pipe.nhdr &
empty_folder made
ranks 2 timeout 20 voxfilt-mpi -j 1 pipe.nhdr 2.nhdr -o made/ > ../stdout 2> ../stderr < /dev/null
result $? 'a header in a pipe'
same 'and its samples' made/pipe.raw made/2.raw
# While a rank has one that takes long, the others have all the rest.
make_volume -n 64 -t u8 -o long.raw
for i in 1 2 3 4 5 6; do
    printf 'short' > "bad/$i.raw"
done
empty_folder made
ranks 2 voxfilt-mpi -D cpu -j 1 -n 64 -t u8 -s 3000 bad/1.raw bad/2.raw bad/3.raw long.raw bad/4.raw bad/5.raw bad/6.raw -o made/ \
    > ../stdout 2> ../stderr < /dev/null
own_lines
[ "$(grep -c "^voxfilt-mpi: rank 1 ($host): bad/[1-6].raw: length: " ../own)" = 6 ] && [ "$(ls made)" = long.raw ]
result $? 'no rank waits while files are left'

# ---------------------------------------------------------------- refusals

empty_folder made
mkdir twin
cp in/1.png twin
for case in '2 imgheat-mpi: in/1.png and twin/1.png would have the same name in made/' '4 imgheat-mpi: absent/: No such file or directory'; do
    refused=${case#? } folder=made/
    case $refused in *absent*) folder=absent/ ;; esac
    refuses_all "${case%% *}" "$refused" ranks 2 imgheat-mpi in/1.png in/2.png twin/1.png -o "$folder"
done
[ -z "$(ls -A made)" ] && [ ! -e absent ]
result $? 'and nothing was written'

# A rank that does not see what rank 0 sees.
mkdir other out_here
here=$(pwd -P)
cp in/1.png first.png
cp in/2.png second.png
mine="-j 1 /proc/self/cwd/first.png /proc/self/cwd/second.png -o $here/made/"
# shellcheck disable=SC2086
{
    ranks 1 imgheat-mpi $mine : -n 1 -wdir "$here/other" imgheat-mpi $mine > ../stdout 2> ../stderr < /dev/null
    status=$?
}
own_lines
[ $status = 4 ] && grep -Eqx "imgheat-mpi: rank 1 \\($host\\): /proc/self/cwd/(first|second).png: No such file or directory" ../own &&
    [ "$(wc -l < ../own)" = 1 ] && [ "$(find made -name '*.png' | wc -l)" = 1 ]
result $? 'a file that one rank does not see'
# The folder is one if rank 0 says so.
empty_folder made
mine="-j 1 $here/in/1.png $here/in/2.png -o /proc/self/cwd/out_here"
# shellcheck disable=SC2086
{
    ranks 1 imgheat-mpi $mine : -n 1 -wdir "$here/other" imgheat-mpi $mine > ../stdout 2> ../stderr < /dev/null
    status=$?
}
[ $status = 4 ] && [ ! -e other/out_here ] && [ "$(find out_here -name '*.png' | wc -l)" = 1 ]
result $? 'a folder that one rank does not see'

# ---------------------------------------------------------------- signals

each_rank_has_one()
{
    [ "$(find made -name '*.part' | wc -l)" = 2 ]
}

nothing_is_made()
{
    [ -z "$(ls -A made)" ]
}

# Until a file of each rank is under way.
begin_long()
{
    empty_folder made
    OMPI_MCA_odls_base_sigkill_timeout=5 "$MPIRUN" -n 2 imgheat-mpi -D cpu -j 1 -s 1000000000 "$here"/in/*.png -o "$here/made/" > ../stdout 2> ../stderr &
    launcher=$!
    await 100 each_rank_has_one
    result $? 'two ranks have a file each'
}

# What its end means to a launcher is not always the same.
ends_clean() # NAME
{
    wait "$launcher"
    status=$?
    await 50 nothing_is_made
    result $? "$1 (status $status)"
}

if takes_signal TERM; then
    begin_long
    kill -TERM "$launcher"
    ends_clean 'the launcher is told to end'
    begin_long
    kill -TERM "$(pgrep -n -f "^[^ ]*imgheat-mpi .*-o $here/made/")"
    if "$MPIRUN" --version 2>&1 | grep -q HYDRA; then
        # It kills the other rank at once.
        wait "$launcher"
        status=$?
        [ -z "$(find made -name '*.png')" ]
        result $? "a rank is told to end (status $status)"
    else
        ends_clean 'a rank is told to end'
    fi
    [ $status != 0 ]
    result $? 'and that is a failure'
fi

conclude
