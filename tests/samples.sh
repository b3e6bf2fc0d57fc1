#!/bin/sh
# The generators and the scripts of samples/, run as a user would, leave what they say they leave.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$(dirname "$VOXFILT"):$(dirname "$MAKE_VOLUME"):$PATH
samples=${top_srcdir:?}/samples

fail()
{
    echo "FAIL: $*"
    exit 1
}

# FILE holds BYTES bytes.
holds()
{
    [ -f "$1" ] || fail "$1 is missing"
    [ "$(wc -c < "$1")" -eq "$2" ] || fail "$1 has $(wc -c < "$1") bytes, not $2"
}

# FILE is a PNG of WIDTH by HEIGHT that has an end, and pngcheck, where it is installed, has nothing to say against it.
is_png()
{
    [ -f "$1" ] || fail "$1 is missing"
    extents=$(od -An -tu1 -j16 -N8 "$1" | awk '{ print $3 * 256 + $4, $7 * 256 + $8 }')
    [ "$extents" = "$2 $3" ] || fail "$1 is a picture of $extents, not $2 $3"
    [ "$(tail -c 8 "$1" | head -c 4)" = IEND ] || fail "$1 has no end"
    ! command -v pngcheck > "$work/path" || pngcheck -q "$1" || fail "pngcheck refuses $1"
}

cd "$work"

# The generators: sizes by type, one volume by file and by pipe, another by seed, and the bytes of every machine.
make_volume -d 20,10,5 -t u8 -o u8.raw
make_volume -d 20,10,5 -t u16 -o u16.raw
make_volume -d 20,10,5 > f32.raw
make_volume -d 20,10,5 -t u8 --seed 2 -o seed.raw
holds u8.raw 1000
holds u16.raw 2000
holds f32.raw 4000
cmp -s u8.raw seed.raw && fail 'the seed changes nothing'
make_volume -d 20,10,5 -t u8 | cmp - u8.raw
[ "$(make_volume -n 64 -t u8 | cksum)" = '1556957586 262144' ] || fail 'the volume is not the one of every other machine'

make_picture -o rgb.png
make_picture -d 300,70 --gray --depth 16 -o gray.png
make_picture -d 70,300 --rgba -o rgba.png
is_png rgb.png 640 480
is_png gray.png 300 70
is_png rgba.png 70 300

"$samples/demo.sh" demo
for name in picture picture-heat picture-denoised picture-unsharp picture-edges; do
    is_png demo/$name.png 640 480
done
for name in volume volume-heat volume-gauss volume-edges; do
    holds demo/$name.raw $((64 * 64 * 64 * 4))
done

# Noise goes, by at least twelve decibels, and plain heat takes less of it away.
"$samples/denoise-ct.sh" ct > decibels || fail 'denoise-ct.sh'
awk '/dB$/ { level[NR] = $(NF - 1) } END { exit !(NR == 4 && level[1] + 12 < level[3] && level[2] + 6 < level[3]) }' decibels ||
    fail "denoise-ct.sh: $(cat decibels)"
is_png ct/denoised.png 1217 1264

# Two files show the same samples: written by one library at one level, they have the same bytes.
shows_what()
{
    imgheat -f identity -o one.png "$1"
    imgheat -f identity -o two.png "$2"
    cmp one.png two.png || fail "$1 is not what $2 shows"
}

shows_what ct/denoised.png "$samples/denoised.png"

"$samples/edges.sh" edges 2> ranges > names || fail 'edges.sh'
[ "$(wc -l < names)" -eq 3 ] || fail "edges.sh: $(cat names)"
for sigma in 1 2 4; do
    is_png edges/edges-$sigma.png 200 150
done
shows_what edges/edges-2.png "$samples/edges-2.png"

"$samples/gallery.sh" gallery > names 2> ranges || fail 'gallery.sh'
[ "$(wc -l < names)" -eq 8 ] || fail "gallery.sh: $(cat names)"
for picture in "$samples"/gallery/*.png; do
    shows_what "gallery/${picture##*/}" "$picture"
done

"$samples/heat-movie.sh" movie > name || fail 'heat-movie.sh'
for n in 00 15; do
    is_png movie/frame-$n.png 200 150
done
shows_what movie/frame-15.png "$samples/frame-15.png"
movie=$(sed -n 's/^in movie: \(heat[^ ]*\)$/\1/p' name)
[ -z "$movie" ] || [ -s "movie/$movie" ] || fail "heat-movie.sh: $(cat name)"
# Where there is nothing to join frames, they are all there is.
mkdir tools
for tool in sh dirname mkdir grep imgheat; do
    ln -s "$(command -v $tool)" "tools/$tool"
done
PATH=$work/tools sh "$samples/heat-movie.sh" frames > name || fail 'heat-movie.sh without tools'
grep -q '^in frames: frame-\*.png (neither' name || fail "heat-movie.sh: $(cat name)"

# shellcheck disable=SC3045  # where the shell cannot limit addresses, or a sanitizer needs all of them, this is left out
if (ulimit -v 131072 && voxfilt --version) > bare 2>&1; then
    "$samples/bigger-than-memory.sh" 256 > counted 2> report || fail "bigger-than-memory.sh: $(cat report)"
    grep -qx 'came out  268435456 bytes' counted || fail "bigger-than-memory.sh: $(cat counted)"
else
    echo 'bigger-than-memory.sh: not run, since nothing of this build does with 128 MiB of addresses'
fi

mkdir scans
cp rgb.png rgba.png scans
"$samples/pictures.sh" scans clean
is_png clean/rgb.png 640 480
is_png clean/rgba.png 70 300

# What Slurm would run, task by task.
if command -v bash > bash-path; then
    printf '#!/bin/sh\nexec "$@"\n' > tools/srun
    chmod +x tools/srun
    make_volume -d 12,10,14 -t u16 | voxfilt -d 12,10,14 -t u16 -f identity --out-format nrrd > scan.nrrd
    run_task() # NUMBER COUNT
    {
        PATH=$work/tools:$PATH SLURM_ARRAY_TASK_ID=$1 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=$2 \
            SLURM_CPUS_PER_TASK=1 bash "$samples/slurm.sbatch" scan.nrrd pieces > said 2>&1 || fail "slurm.sbatch: $(cat said)"
    }
    for task in 3 1 2 2; do
        run_task $task 3
    done
    grep -qx 'pieces/0002-of-0003.nrrd is there already' said || fail "slurm.sbatch: $(cat said)"
    run_task 1 2 # of another array
    voxfilt -i scan.nrrd -f heat -s 100 -o whole.nrrd
    "$samples/slurm-join.sh" 3 pieces joined.nrrd
    cmp joined.nrrd whole.nrrd || fail 'slurm-join.sh: the pieces are not the whole'
    [ "$(stat -c %a joined.nrrd)" = "$(stat -c %a whole.nrrd)" ] || fail 'slurm-join.sh: the mode is not that of other files'
    rm joined.nrrd
    if "$samples/slurm-join.sh" 2 pieces joined.nrrd 2> said; then
        fail 'slurm-join.sh joins pieces of which one is missing'
    fi
    grep -qx 'pieces/0002-of-0002.nrrd is missing' said || fail "slurm-join.sh: $(cat said)"
    cp pieces/0002-of-0003.nrrd pieces/0002-of-0002.nrrd
    if "$samples/slurm-join.sh" 2 pieces joined.nrrd 2> said; then
        fail 'slurm-join.sh joins pieces that are too short'
    fi
    cat pieces/000[23]-of-0003.nrrd pieces/0002-of-0003.nrrd > pieces/0002-of-0002.nrrd
    if "$samples/slurm-join.sh" 2 pieces joined.nrrd 2> said; then
        fail 'slurm-join.sh joins pieces that are too long'
    fi
    [ -z "$(ls joined.nrrd* 2> missing)" ] || fail 'slurm-join.sh leaves a file that is not complete'
fi
