#!/bin/sh
# Series of volumes: each is filtered as if it were alone, in every format that holds them. Prints a line a case and fails
# if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

make_volume -d 6,5,12 -t u16 -o all.raw
{ printf 'NRRD0004\ntype: uint16\ndimension: 4\nsizes: 6 5 4 3\nspacings: 1 1 2 nan\nendian: little\nencoding: raw\n\n'
    cat all.raw; } > series.nrrd
for i in 0 1 2; do {
    printf 'NRRD0004\ntype: uint16\ndimension: 3\nsizes: 6 5 4\nspacings: 1 1 2\nendian: little\nencoding: raw\n\n'
    tail -c +$((1 + 240 * i)) all.raw | head -c 240
} > volume$i.nrrd; done

# What the volumes give one by one.
one_by_one() # ARGUMENT...
{
    for i in 0 1 2; do
        voxfilt -q -i volume$i.nrrd --out-format raw "$@"
    done > expected.raw
}

for form in nii nii.gz hdr nrrd nhdr mha mhd npy tif; do
    [ $form != tif ] || reads_tiff || continue
    spaced='left out: spacing
'
    unspaced=
    [ $form = npy ] && unspaced=$spaced spaced=
    accepts "$form: is written" "${unspaced:+voxfilt: series.nrrd: $unspaced}" voxfilt -i series.nrrd -f identity -o there.$form
    accepts "$form: a series" "${spaced:+voxfilt: there.$form: $spaced}" voxfilt -i there.$form -f identity -o back.raw
    same "$form: has the samples" all.raw back.raw
    voxfilt -i there.$form --explain | grep -q '^grid  *6 x 5 x 4, 1 channel, a series of 3'
    result $? "$form: and the axes"
    accepts "$form: is written again" '' voxfilt -i there.$form -f identity -o again.$form
    accepts "$form: and keeps them" "${spaced:+voxfilt: again.$form: $spaced}" voxfilt -i again.$form -f identity -o back.raw
    same "$form: with the samples" all.raw back.raw
done
accepts 'raw.gz: spacing is left out' 'voxfilt: series.nrrd: left out: spacing
' voxfilt -i series.nrrd -f identity -o there.raw.gz
gzip -dc there.raw.gz > back.raw
same 'raw.gz: volumes follow each other' all.raw back.raw

# Edges do not reach into the next volume, whatever the rule and the way the samples come.
for job in '-f heat' '-f gauss:1.5 -e wrap' '-f heat -s 30 -e hold' '-f gauss:1 -f heat -e constant:3 -m 300K' \
    '-f identity --out-type u8' '-f heat --out-type f32 -j 3'; do
    # shellcheck disable=SC2086  # words, on purpose
    one_by_one $job
    # shellcheck disable=SC2086
    voxfilt -q -i series.nrrd $job --out-format raw -o filtered.raw
    same "$job: each volume is filtered alone" expected.raw filtered.raw
    # shellcheck disable=SC2086
    piped series.nrrd voxfilt -q $job --out-format raw > filtered.raw
    same "$job: from a pipe, too" expected.raw filtered.raw
done
# NumPy's axes stay as they are, those of 1 as well.
npy() # SHAPE
{
    printf "\\223NUMPY\\001\\000v\\000{'descr': '<u2', 'fortran_order': False, 'shape': (%s), }%*s\\n" "$1" $((62 - ${#1})) ''
    cat all.raw
}
for shape in '3, 1, 4, 5, 6' '1, 1, 12, 30' '360,' '12, 30' '1, 3, 2, 2, 5, 6'; do
    npy "$shape" > shaped.npy
    accepts "npy: ($shape)" '' voxfilt -i shaped.npy -f identity -o again.npy
    same "npy: ($shape) stays so" shaped.npy again.npy
done
npy '1, 1, 12, 30' > shaped.npy
voxfilt -i shaped.npy -f identity --crop 1:4,2:4 -o part.npy
grep -aq 'shape.: (1, 1, 2, 3), ' part.npy
result $? 'npy: a region has as many axes'

{ printf 'NRRD0004\ntype: int8\ndimension: 4\nsizes: 2 1 1 3\nencoding: raw\n\n'
    printf '\377\001\376\375\001\002'; } > signed.nrrd
accepts 'losses are those of all volumes' 'voxfilt: cut.nrrd: 3 samples (50 %) were cut off at 0
' voxfilt -i signed.nrrd -f identity --out-type u8 -o cut.nrrd

voxfilt -i series.nrrd --report -o there.nrrd 2> ../stderr
grep -q '6 x 5 x 4, 1 channel, a series of 3, u16' ../stderr
result $? 'the report tells of a series'
voxfilt -i series.nrrd --explain=json | grep -q '"volumes": 3'
result $? 'so does JSON'
moved() # FILE
{
    voxfilt -i "$1" -s 4 --device cpu --explain=json | sed 's/.*"moved_bytes": \([0-9]*\).*/\1/'
}
[ "$(moved series.nrrd)" = $((3 * $(moved volume0.nrrd))) ]
result $? 'a forecast is of all volumes'
voxfilt -i series.nrrd --explain | grep -q '^forecast  .* through memory, .*, for all 3 volumes$'
result $? 'and says so'

# ---------------------------------------------------------------- regions of each volume

voxfilt -i series.nrrd -f identity -o there.nrrd

for region in '--crop 1:4,2:5' '--crop 2:3,1:4,1:3' '--planes 1:3' '--planes 3:' '--planes :1'; do
    # shellcheck disable=SC2086
    one_by_one $region -f gauss:1
    # shellcheck disable=SC2086
    voxfilt -q -i series.nrrd $region -f gauss:1 --out-format raw -o cropped.raw
    same "$region is of each volume" expected.raw cropped.raw
    # shellcheck disable=SC2086
    piped series.nrrd voxfilt -q $region -f gauss:1 --out-format raw > cropped.raw
    same "$region: from a pipe, too" expected.raw cropped.raw
    for form in nii.gz hdr nrrd mha npy; do
        # shellcheck disable=SC2086
        voxfilt -q -i there.$form $region -f gauss:1 -o cropped.$form
        voxfilt -q -i cropped.$form -f identity --out-format raw -o cropped.raw
        same "$region: $form" expected.raw cropped.raw
    done
done
voxfilt -i cropped.npy --explain | grep -q '^grid  *6 x 5 x 1, 1 channel, a series of 3'
result $? 'and the output is a series'

# ---------------------------------------------------------------- statistics of each volume

for i in 0 1 2; do
    voxfilt -i volume$i.nrrd --stats -o out 2>&1 | sed "s/ channel/ volume $i, channel/"
done > all-stats
sed -n '/^input/p' all-stats > ../expected
sed -n '/^output/p' all-stats >> ../expected
voxfilt -i series.nrrd --stats -o out 2> ../stderr
same '--stats has a line a volume' ../expected ../stderr
voxfilt -i series.nrrd --stats --report=json -o out 2>&1 | grep -o '"volume": [0-9]*' | xargs > ../stdout
[ "$(cat ../stdout)" = '"volume": 0 "volume": 1 "volume": 2 "volume": 0 "volume": 1 "volume": 2' ] ||
    [ "$(cat ../stdout)" = 'volume: 0 volume: 1 volume: 2 volume: 0 volume: 1 volume: 2' ]
result $? 'and JSON an object'

# ---------------------------------------------------------------- one volume

voxfilt -q -i series.nrrd -f identity --out-format nhdr -o listed.nhdr
for i in 0 1 2; do
    head -c $((240 * i + 240)) listed.raw | tail -c 240 > listed$i.raw
done
sed 's/^data file: .*/data file: LIST/' listed.nhdr > listed-3.nhdr
printf 'listed%d.raw\n' 0 1 2 >> listed-3.nhdr
gzip -c series.nrrd > series.nrrd.gz
for i in 0 1 2; do
    voxfilt -q -i volume$i.nrrd -f gauss:1 --until 5 --out-range=auto --slice y=2 -o expected.png
    voxfilt -q -i series.nrrd --volume $i -f gauss:1 --until 5 --out-range=auto --slice y=2 -o slice.png
    same "--volume $i: a slice" expected.png slice.png
    voxfilt -q -i volume$i.nrrd --stats -f gauss:1 --tee 1:tee.raw --preview expected.png --out-format raw -o expected.raw 2> expected-stats
    voxfilt -q -i series.nrrd --volume $i --stats -f gauss:1 --tee 1:tee.nrrd --preview preview.png --out-format raw -o out.raw \
        2> out-stats
    same "--volume $i is filtered" expected.raw out.raw
    same "--volume $i: statistics" expected-stats out-stats
    same "--volume $i: a preview" expected.png preview.png
    for input in series.nrrd.gz there.nii.gz there.npy listed-3.nhdr; do
        voxfilt -q -i $input --volume $i -f gauss:1 --out-format raw -o out.raw
        same "--volume $i of $input" expected.raw out.raw
        piped "$input" voxfilt -q --volume $i -f gauss:1 --out-format raw --allow-outside > out.raw
        same "--volume $i of $input from a pipe" expected.raw out.raw
    done
    for form in nii nii.gz hdr nrrd nhdr mha mhd npy; do
        voxfilt -q -i there.$form --volume $i -f gauss:1 -o chosen.$form
        voxfilt -q -i chosen.$form -f identity --volume 0 --out-format raw -o out.raw
        same "--volume $i of $form stays in it" expected.raw out.raw
        voxfilt -i chosen.$form --explain | grep '^grid  *6 x 5 x 4, 1 channel' > ../grid && ! grep series ../grid
        result $? "--volume $i of $form alone"
    done
    voxfilt -q -i volume$i.nrrd -f gauss:1 --part 2/3 --out-format raw -o expected.raw
    voxfilt -q -i there.nii --volume $i -f gauss:1 --part 2/3 --out-format raw -o out.raw
    same "--volume $i: a part" expected.raw out.raw
done
voxfilt -q -i there.nrrd --volume 1 --crop 1:3,1:3,1:3 -f gauss:1 --out-format raw -o out.raw
voxfilt -q -i volume1.nrrd --crop 1:3,1:3,1:3 -f gauss:1 --out-format raw -o expected.raw
same '--volume and --crop' expected.raw out.raw
accepts 'a volume as a TIFF stack' '' voxfilt -i there.nrrd --volume 2 -f identity -o chosen.tif
voxfilt -i series.nrrd --volume 2 --explain | grep -q '^grid  *6 x 5 x 4, 1 channel, volume 2 of 3'
result $? 'the plan tells of the volume'
accepts 'a volume that is alone is 0' '' voxfilt -i volume0.nrrd --volume 0 -f identity -o out
grep -aq "shape.: (4, 5, 6), " chosen.npy
result $? 'npy: the axis of volumes is left out'
[ "$(head -c 56 chosen.nii | tail -c 16 | od -An -td2 | xargs)" = '3 6 5 4 1 1 1 1' ]
result $? 'nii: dim is that of a volume'

# The others are looked at all the same.
head -c 800 series.nrrd > cut.nrrd
piped cut.nrrd voxfilt -q --volume 0 -f identity > out 2> ../stderr
[ $? = 3 ] && grep -q 'length: it ends before the last of 360 u16 samples' ../stderr
result $? 'a series that ends early is refused, whichever volume is taken'

# Time is kept: that of the volume.
{ printf 'NRRD0004\ntype: uint16\ndimension: 4\nspace: left-posterior-superior-time\nsizes: 6 5 4 3\n'
    printf 'space directions: (1,0,0,0) (0,1,0,0) (0,0,2,0) (0,0,0,2.5)\nspace origin: (1,2,3,10)\nendian: little\nencoding: raw\n\n'
    cat all.raw; } > timed.nrrd
voxfilt -q -i timed.nrrd --volume 2 --planes 1:3 -f identity -o chosen.nrrd
grep -aq '^space origin: (1,2,5,15)$' chosen.nrrd && grep -aq '^sizes: 6 5 2 1$' chosen.nrrd
result $? 'nrrd: the time of a volume'

sed 's/^Offset = .*/Offset = 1 2 3 10/; s/^ElementSpacing = .*/ElementSpacing = 1 1 2 2.5/' there.mhd > timed.mhd
grep -q '^Offset' timed.mhd || sed '1a Offset = 1 2 3 10' there.mhd | sed 's/^ElementSpacing = .*/ElementSpacing = 1 1 2 2.5/' > timed.mhd
voxfilt -q -i timed.mhd --volume 2 -f identity -o chosen.mhd
grep -q '^Offset = 1 2 3 15$' chosen.mhd && grep -q '^DimSize = 6 5 4 1$' chosen.mhd
result $? 'mhd: the time of a volume'

# ---------------------------------------------------------------- refusals

head -c 800 series.nrrd > short.nrrd
refuses 3 'voxfilt: short.nrrd: length: samples of exactly 700 bytes, but 6 x 5 x 4 x 3 u16 take 720' \
    voxfilt -i short.nrrd -o out
refuses 2 "voxfilt: out0.png: a stack of files holds no series, and there are 3 volumes (--volume, or a name without %d)" \
    voxfilt -i series.nrrd -o out%d.png
for option in '--until 1' '--out-range=auto' '--slice z=1' '--part 1/2' '--tee 1:tee' '--preview p.png'; do
    # shellcheck disable=SC2086
    refuses 2 "voxfilt: series.nrrd: a series of 3 volumes, of which ${option%% *} needs one: --volume K chooses it" \
        voxfilt -i series.nrrd $option -o out
done
refuses 2 'voxfilt: series.nrrd: --volume: 3: the last one is 2' voxfilt -i series.nrrd --volume 3 -o out
refuses 2 'voxfilt: volume0.nrrd: --volume: 1: the last one is 0' voxfilt -i volume0.nrrd --volume 1 -o out
refuses 2 'voxfilt: --volume: -1: expected a whole number' voxfilt -i series.nrrd --volume=-1 -o out
{ printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<u2', 'fortran_order': True, 'shape': (3, 4, 5, 6), }"
    cat all.raw; } > turned.npy
refuses 3 'voxfilt: turned.npy: 3 volumes whose fastest axis counts them: such a series is not supported' \
    voxfilt -i turned.npy -o out

conclude
