#!/bin/sh
# Files that describe their volumes: recognition, what headers say, what is kept, conversion, refusals. Prints a line a case
# and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

convert()
{
    voxfilt -f identity "$@"
}

make_volume -d 6,5,4 -t u16 -o scan.raw

# ---------------------------------------------------------------- every format, from raw and back

for form in nii nii.gz hdr; do
    convert -i scan.raw -d 6,5,4 -t u16 -o scan.$form
    accepts "$form is recognised by what it holds" '' convert -i scan.$form -o back.raw
    same "$form: the samples are the same" scan.raw back.raw
    accepts "$form: a filter reads it" '' voxfilt -i scan.$form -f gauss:1 -o filtered.raw
    voxfilt -i scan.raw -d 6,5,4 -t u16 -f gauss:1 -o plain.raw
    same "$form: and filters it as raw samples" plain.raw filtered.raw
    accepts "$form: --format may name it" '' convert -i scan.$form --format $form -o named.raw
    same "$form: with the same samples" scan.raw named.raw
done
for form in nii nii.gz; do
    piped scan.$form voxfilt -f identity > back.$form
    same "$form through a pipe stays what it is" scan.$form back.$form
    from scan.raw voxfilt -d 6,5,4 -t u16 -f identity --out-format $form > there.$form
    same "$form by --out-format" scan.$form there.$form
done
convert -i scan.raw -d 6,5,4 -t u16 -j 1 -o one.nii.gz
convert -i scan.raw -d 6,5,4 -t u16 -j 4 -o four.nii.gz
same 'threads do not change a compressed file' one.nii.gz four.nii.gz
gzip -t scan.nii.gz
result $? 'gzip finds no fault with what is compressed'
gzip -dc scan.nii.gz > unpacked.nii
same 'and unpacks the file that it would have been' scan.nii unpacked.nii
gzip -c scan.raw > scan.raw.gz
accepts 'raw samples compressed by gzip' '' convert -i scan.raw.gz -d 6,5,4 -t u16 -o back.raw
same 'are unpacked' scan.raw back.raw
convert -i scan.raw -d 6,5,4 -t u16 -o ours.raw.gz
gzip -dc ours.raw.gz > back.raw
same 'and compressed' scan.raw back.raw
refuses 2 'voxfilt: scan.raw.gz: raw samples, compressed by gzip, need -n N or -d X,Y[,Z]' convert -i scan.raw.gz -o out

# ---------------------------------------------------------------- a header speaks for itself

for option in '--type u16' '--endian little' '--skip 352' '--channels 2'; do
    # shellcheck disable=SC2086  # an option and its value
    refuses 2 "voxfilt: scan.nii: a NIfTI file, whose header tells what ${option%% *} would; --format raw takes all of it as samples" \
        convert -i scan.nii $option -o out
done
refuses 2 'voxfilt: scan.nii: a NIfTI file, whose header tells what -n and -d would; --format raw takes all of it as samples' \
    convert -i scan.nii --format nii -d 6,5,4 -o out
refuses 2 'voxfilt: out.nii: --level: the format nii is not compressed' \
    convert -i scan.raw -d 6,5,4 -t u16 --level 3 -o out.nii
convert -i scan.nii --level 9 -o best.nii.gz
gzip -dc best.nii.gz > unpacked.nii
same '--level is that of the compression' scan.nii unpacked.nii
accepts 'a volume under the name of a picture' 'voxfilt: slice.png: a NIfTI file is written, despite the name
' convert -i scan.nii -o slice.png
voxfilt --list > ../list
for form in raw raw.gz nii nii.gz hdr; do
    grep -q "^  $form " ../list
    result $? "--list has $form"
done

# ---------------------------------------------------------------- spacing

voxfilt -i scan.raw -d 6,5,4 -t u16 --spacing 0.5,0.5,2 -f heat -s 3 -o spaced.nii
voxfilt -i scan.raw -d 6,5,4 -t u16 --spacing 0.5,0.5,2 -f heat -s 6 -o six.raw
voxfilt -i spaced.nii -f heat -s 3 -o six-again.nii
convert -i six-again.nii -o three-and-three.raw
voxfilt -i scan.raw -d 6,5,4 -t u16 --spacing 0.5,0.5,2 -f heat -s 3 -o three.raw
voxfilt -i three.raw -d 6,5,4 -t u16 --spacing 0.5,0.5,2 -f heat -s 3 -o expected.raw
same 'spacing of a header reaches the heat stage' expected.raw three-and-three.raw
differ 'and makes a difference' expected.raw six.raw
accepts '--spacing overrides it, and says so' 'voxfilt: spaced.nii: --spacing 1,1,1 instead of 0.5,0.5,2 in the header
' voxfilt -i spaced.nii --spacing 1,1,1 -f heat -s 3 -o overridden.nii
voxfilt -i three.raw -d 6,5,4 -t u16 -f heat -s 3 -o expected.raw
convert -i overridden.nii -o overridden.raw
same 'and counts' expected.raw overridden.raw
accepts 'and stands in the header that is written' 'voxfilt: overridden.nii: --spacing 2,2,2 instead of 1,1,1 in the header
' voxfilt -i overridden.nii --spacing 2,2,2 -f heat -s 1 -o out.nii

# ---------------------------------------------------------------- what is not understood is kept

# A byte of a file, by its offset from 0.
poke() # FILE OFFSET BYTES
{
    # shellcheck disable=SC2059  # escapes are wanted
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2> ../dd
}
cp scan.nii noted.nii
poke noted.nii 148 'scanned on a Sunday'
poke noted.nii 112 '\000\000\000\100'
scale='voxfilt: noted.nii: samples are filtered as stored; scl_slope 2 and scl_inter 0 are kept in NIfTI output
'
accepts 'a slope is told' "$scale" convert -i noted.nii -o kept.nii
same 'fields that mean nothing here are kept, and the slope' noted.nii kept.nii
accepts 'a range that is asked for ends the slope' "$scale" \
    voxfilt -i noted.nii -f identity --out-range=0,65535 -o mapped.nii
accepts 'and none is told any more' '' convert -i mapped.nii -o mapped.raw
convert -q -i noted.nii --out-endian big -o big.nii
convert -q -i big.nii --out-endian little -o little.nii
same 'there and back through the other byte order' noted.nii little.nii
differ 'which is another one' noted.nii big.nii

# ---------------------------------------------------------------- damage

head -c 100 scan.nii > short.nii
refuses 3 'voxfilt: short.nii: header: the file ends in it' convert -i short.nii -o out
head -c 500 scan.nii > short.nii
refuses 3 'voxfilt: short.nii: length: samples of exactly 148 bytes, but 6 × 5 × 4 u16 take 240' convert -i short.nii -o out
cat scan.nii scan.nii > long.nii
refuses 3 'voxfilt: long.nii: length: samples of exactly 832 bytes, but 6 × 5 × 4 u16 take 240' convert -i long.nii -o out
head -c 200 scan.nii.gz > short.nii.gz
ends 'a compressed file that ends early' 3 'voxfilt: short.nii.gz: gzip: it ends early
' convert -i short.nii.gz -o out
cp scan.nii.gz broken.nii.gz
poke broken.nii.gz "$(($(wc -c < scan.nii.gz) - 8))" '\000'
refuses 3 'voxfilt: broken.nii.gz: gzip: incorrect data check' convert -i broken.nii.gz -o out
cp scan.nii wide.nii
poke wide.nii 42 '\377\177\377\177\377\177'
refuses 3 'voxfilt: wide.nii: length: samples of exactly 240 bytes, but 32767 × 32767 × 32767 u16 take 70362301923326' \
    convert -i wide.nii -o out
printf 'nothing' > empty.nii
refuses 3 'voxfilt: empty.nii: sizeof_hdr: neither 348 nor 540' convert -i empty.nii -o out

# ---------------------------------------------------------------- samples in a file of their own

refuses 3 'voxfilt: lone.hdr: image file: lone.img.gz: No such file or directory' \
    sh -c 'cp scan.hdr lone.hdr && voxfilt -f identity -i lone.hdr -o out'
mkdir elsewhere
cp scan.img elsewhere/linked.img
cp scan.hdr linked.hdr
ln -s elsewhere/linked.img linked.img
accepts 'a link into a folder below is followed' '' convert -i linked.hdr -o back.raw
same 'to the samples' scan.raw back.raw
cp scan.hdr elsewhere/up.hdr
ln -s ../scan.img elsewhere/up.img
refuses 3 'voxfilt: elsewhere/up.hdr: image file: up.img: outside the folder of the header; --allow-outside reads it all the same' \
    convert -i elsewhere/up.hdr -o out
accepts 'which it does' '' convert -i elsewhere/up.hdr --allow-outside -o back.raw
same 'with the samples' scan.raw back.raw
mkfifo fifo.img
cp scan.hdr fifo.hdr
refuses 3 'voxfilt: fifo.hdr: image file: fifo.img: not a regular file; --allow-outside reads it all the same' \
    convert -i fifo.hdr -o out
refuses 2 'voxfilt: standard output: hdr needs a regular file, since the samples go beside it' \
    convert -i scan.nii --out-format hdr

conclude
