#!/bin/sh
# From one OME-Zarr store to another with a gigabyte of memory: a Gaussian of sigma 2 and 20 heat steps beside copying, which
# decodes and encodes as much; then the Gaussian of a part of the store beside dask-image. The store is a phantom of u16 in
# planes of SIDE x SIDE, with nothing around the specimen. It is generated into a pipe, so that the disk needs room for some
# four times what the store takes. In turn, from the first round on.
# Usage: zarr_rivals.sh [ROUNDS [GIB [FOLDER [SIDE]]]], in a build directory, with numpy; and dask-image, dask and zarr, else
# without them. What is made in FOLDER is removed; FOLDER has to be there.
set -eu

TMPDIR=$(cd "${3:-${TMPDIR:-/tmp}}" && pwd)
export TMPDIR
# shellcheck source=bench/rivals.sh
. "$(dirname "$0")/rivals.sh"
gibibytes=${2:-1} side=${4:-1024}
planes=$((gibibytes * 536870912 / side / side))
limited="$build/voxfilt -q -D cpu -m 1G"

filters()
{
    while IFS='|' read -r name options; do
        echo "$name | rm -rf $name.zarr && $limited -i in.zarr -f $options -o $name.zarr"
    done <<END
identity|identity
gauss|gauss:2
heat|heat -s 20
END
}

# How many times as long as the first row of the table the others take.
ratios()
{
    awk 'NR == 2 { seconds = $2; processor = $5 }
        NR > 2 { printf "%s: %.2f times the seconds, %.2f times the processor time\n", $1, $2 / seconds, $5 / processor }' table
}

rivals()
{
    echo "voxfilt | rm -rf ours.zarr && $limited -i part.zarr -f gauss:2 -o ours.zarr"
    echo "dask-image | rm -rf theirs.zarr && python3 $sources/zarr_rival.py blur part.zarr theirs.zarr"
}

python3 "$sources/zarr_rival.py" make "$side" "$planes" |
    "$build/voxfilt" -q -d "$side,$side,$planes" -t u16 -f identity -o in.zarr
"$build/voxfilt" --version
echo "$(getconf _NPROCESSORS_ONLN) cores; $side × $side × $planes, u16"
du -sm in.zarr | awk -v gibibytes="$gibibytes" '{ printf "the store has %d MiB and shrinks %.1f : 1\n", $1, gibibytes * 1024 / $1 }'
for options in gauss:2 'heat -s 20'; do
    # shellcheck disable=SC2086  # the options are words
    $limited -i in.zarr -f $options -o none.zarr --explain | grep -E '^(columns|run|memory) '
done
filters | take_turns cold > table
cat table
ratios
rm -rf identity.zarr gauss.zarr heat.zarr

has_module dask_image && has_module dask.array && has_module zarr || exit 0
least=$((planes < 512 ? planes : 512)) edge=$((side < 1024 ? side : 1024))
corner=$(((side - edge) / 2)) first=$(((planes - least) / 2))
"$build/voxfilt" -q -i in.zarr -f identity -o part.zarr \
    --crop $corner:$((corner + edge)),$corner:$((corner + edge)),$first:$((first + least))
python3 -c 'from importlib.metadata import version
print("dask", version("dask"), "dask-image", version("dask-image"))'
echo "a part, $edge × $edge × $least:"
rivals | take_turns cold
python3 "$sources/zarr_rival.py" differ ours.zarr theirs.zarr
