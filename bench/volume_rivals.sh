#!/bin/sh
# voxfilt on the CPU against other programs, on a cube of f32: 20 heat steps and a Gaussian of sigma 1.5, whole
# processes from file to file, in turn, with peak memory and the largest error against scipy.ndimage in f64.
# Usage: volume_rivals.sh [ROUNDS [EXTENT]], in a build directory. What is not installed is left out; Debian has
# python3-scipy, gmic and, for ITK, libinsighttoolkit5-dev.
set -eu

# shellcheck source=bench/rivals.sh
. "$(dirname "$0")/rivals.sh"
extent=${2:-512}

versions()
{
    "$build/voxfilt" --version
    ! has_module scipy.ndimage || python3 -c 'import scipy; print("scipy", scipy.__version__)'
    ! has gmic || gmic version 2>&1 | sed -n 's/.*\(Version [0-9.]*\).*/gmic \1/p' | head -n 1
}

heats()
{
    echo "cat | cat in.raw > cat.raw"
    echo "voxfilt | $build/voxfilt -q -D cpu -i in.raw -n $extent -s 20 -o voxfilt.raw"
    ! has_module scipy.ndimage || echo "scipy | python3 $sources/scipy_rival.py run heat in.raw $extent scipy.raw"
}

gausses()
{
    echo "cat | cat in.raw > cat.raw"
    echo "voxfilt | $build/voxfilt -q -D cpu -i in.raw -n $extent -f gauss:1.5 -o voxfilt.raw"
    ! has_module scipy.ndimage || echo "scipy | python3 $sources/scipy_rival.py run gauss in.raw $extent scipy.raw"
    ! has gmic || echo "gmic | gmic raw:in.raw,float,$extent,$extent,$extent blur 1.5,1,1 output raw:gmic.raw,float"
}

# JOB: the largest error of each result; programs other than scipy treat edges otherwise, so samples that an edge
# reaches are left out of theirs.
errors()
{
    printf '%-24s %9s\n' '' 'error'
    for name in voxfilt scipy gmic; do
        [ -f "$name.raw" ] || continue
        margin=0
        [ "$name" != gmic ] || margin=6
        printf '%-24s %9s\n' "$name" "$(python3 "$sources/scipy_rival.py" error "$1" in.raw "$extent" "$name.raw" $margin)"
    done
}

# TITLE JOB TABLE
compare()
{
    rm -f voxfilt.raw scipy.raw gmic.raw
    printf '\n%s\n' "$1"
    "$3" | take_turns
    ! has_module scipy.ndimage || errors "$2"
}

"$build/samples/make_volume" -n "$extent" -o in.raw
versions
echo "$(getconf _NPROCESSORS_ONLN) cores; $extent³ f32"
compare '20 heat steps' heat heats
compare 'Gaussian of sigma 1.5' gauss gausses
