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

for form in nii nii.gz hdr nrrd nhdr mha mhd npy; do
    spaced='left out: spacing
'
    unspaced=
    [ $form = npy ] && unspaced=$spaced spaced=
    accepts "$form: is written" "${unspaced:+voxfilt: series.nrrd: $unspaced}" voxfilt -i series.nrrd -f identity -o there.$form
    accepts "$form: a series" "${spaced:+voxfilt: there.$form: $spaced}" voxfilt -i there.$form -f identity -o back.raw
    same "$form: has the samples" all.raw back.raw
    voxfilt -i there.$form --explain | grep -q '^grid  *6 × 5 × 4, 1 channel, a series of 3'
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
grep -q '6 × 5 × 4, 1 channel, a series of 3, u16' ../stderr
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

# ---------------------------------------------------------------- refusals

head -c 800 series.nrrd > short.nrrd
refuses 3 'voxfilt: short.nrrd: length: samples of exactly 700 bytes, but 6 × 5 × 4 × 3 u16 take 720' \
    voxfilt -i short.nrrd -o out
refuses 2 'voxfilt: out.tif: the format tif holds no series, and there are 3 volumes (--out-format)' \
    voxfilt -i series.nrrd -o out.tif
for option in --stats '--until 1' '--out-range=auto' '--crop 0:2,0:2' '--part 1/2' '--tee 1:tee' '--preview p.png'; do
    # shellcheck disable=SC2086
    refuses 2 "voxfilt: series.nrrd: a series of 3 volumes, for which ${option%% *} cannot be used" \
        voxfilt -i series.nrrd $option -o out
done
{ printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<u2', 'fortran_order': True, 'shape': (3, 4, 5, 6), }"
    cat all.raw; } > turned.npy
refuses 3 'voxfilt: turned.npy: 3 volumes whose fastest axis counts them: such a series is not supported' \
    voxfilt -i turned.npy -o out

conclude
