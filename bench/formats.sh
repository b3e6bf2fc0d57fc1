#!/bin/sh
# Compressed volumes by voxfilt and by other programs, in turn: gzip read and written, a Gaussian of sigma 1.5 from .nii.gz to
# .nii.gz, and what --until costs.
# Usage: formats.sh [ROUNDS [EXTENT]], in a build directory. What is not installed is left out: pigz; niimath, and python3
# with nibabel, scipy and picsl_c3d, are on PyPI.
set -eu

# shellcheck source=bench/rivals.sh
. "$(dirname "$0")/rivals.sh"
extent=${2:-512}
half=$((extent / 2))

versions()
{
    "$build/voxfilt" --version
    gzip --version | head -n 1
    ! has pigz || pigz --version 2>&1
    ! has niimath || niimath 2>&1 | sed -n '1s/.*\(niimath version [^ ]*\).*/\1/p'
    ! has_module scipy || python3 -c 'import scipy; print("scipy", scipy.__version__)'
    ! has_module nibabel || python3 -c 'import nibabel; print("nibabel", nibabel.__version__)'
}

reads()
{
    echo "cat | cat in.raw > cat.raw"
    echo "voxfilt | $build/voxfilt -q -f identity -i in.raw.gz -n $extent -t u16 -o voxfilt.raw"
    ! has pigz || echo "pigz | pigz -dc in.raw.gz > pigz.raw"
    echo "gzip | gzip -dc in.raw.gz > gzip.raw"
}

# LEVEL
writes()
{
    echo "voxfilt | $build/voxfilt -q -f identity -i half.raw -n $half -t u16 --level $1 -o voxfilt-$1.gz --out-format raw.gz"
    ! has pigz || echo "pigz | pigz -$1 -c half.raw > pigz-$1.gz"
    echo "gzip | gzip -$1 -c half.raw > gzip-$1.gz"
}

gausses()
{
    echo "voxfilt | $build/voxfilt -q -D cpu -i in.nii.gz -f gauss:1.5 -o voxfilt.nii.gz"
    echo "voxfilt --level 6 | $build/voxfilt -q -D cpu -i in.nii.gz -f gauss:1.5 --level 6 -o voxfilt-6.nii.gz"
    ! has niimath || echo "niimath | niimath in.nii.gz -s 1.5 niimath.nii.gz -odt ushort"
    ! has_module scipy || echo "scipy | python3 $sources/formats_rival.py scipy in.nii.gz 1.5 scipy.nii.gz"
    ! has_module picsl_c3d || echo "c3d | python3 $sources/formats_rival.py c3d in.nii.gz 1.5 c3d.nii.gz"
}

differences()
{
    has_module nibabel || return 0
    for name in scipy niimath c3d; do
        [ ! -f "$name.nii.gz" ] ||
            echo "voxfilt and $name: $(python3 "$sources/formats_rival.py" difference voxfilt.nii.gz "$name.nii.gz" 8)"
    done
}

# Seconds of computing 200 steps, with a threshold that is never reached and without one. The status is 7 then.
compute()
{
    "$build/voxfilt" -q -D cpu -i cube.raw -n 256 -t f32 -s 200 "$@" --report=json:report -o out.raw 2> said ||
        [ $? = 7 ] || { cat said >&2; return 1; }
    sed 's/.*"seconds": {[^}]*"compute": \([0-9.]*\).*/\1/' report
}

untils()
{
    for _ in $(seq "$rounds"); do
        echo "$(compute) $(compute --until 1e-30)"
    done | awk '{ print $0, $2 / $1 }' | sort -k 3n | awk '
        { without[NR] = $1; with[NR] = $2; ratio[NR] = $3 }
        END { printf "ratios of computing with and without --until: %.3f to %.3f, median %.3f\n", ratio[1], ratio[NR], ratio[int((NR + 1) / 2)] }'
}

"$build/samples/make_volume" -n "$extent" -t u16 -o in.raw
"$build/voxfilt" -q -i in.raw -n "$extent" -t u16 -f identity -o in.raw.gz
"$build/voxfilt" -q -i in.raw -n "$extent" -t u16 -f identity -o in.nii.gz
"$build/samples/make_volume" -n "$half" -t u16 | "$build/voxfilt" -q -n "$half" -t u16 -f gauss:1 > half.raw
"$build/samples/make_volume" -n 256 -t f32 -o cube.raw

versions
echo "$(getconf _NPROCESSORS_ONLN) cores"
printf '\n%s³ u16 from gzip, seconds of the whole process\n' "$extent"
reads | take_turns
for level in 3 6; do
    printf '\n%s³ u16, smooth, to gzip at level %d\n' "$half" $level
    writes $level | take_turns
    sizes ./*-$level.gz
done
printf '\nGaussian of sigma 1.5, %s³ u16, .nii.gz to .nii.gz\n' "$extent"
gausses | take_turns
sizes ./*.nii.gz
differences
printf '\n256³ f32, 200 steps of heat\n'
untils
