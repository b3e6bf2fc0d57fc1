#!/bin/sh
# A small run of each command under valgrind: no error, no leak, also where the input is refused.
set -u

command -v valgrind >/dev/null || exit 77
# In a thinned run, another has been here.
[ "${VOXFILT_THIN:-1}" = 1 ] || exit 77
# Address sanitizer and valgrind do not go together.
if ldd "$VOXFILT" 2>/dev/null | grep -q libasan; then exit 77; fi

folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 99
failures=0

# watch STATUS COMMAND...: valgrind's own status is 97.
watch()
{
    wanted=$1
    shift
    valgrind -q --leak-check=full --show-leak-kinds=definite,indirect,possible --error-exitcode=97 "$@" -j 1 2> messages
    got=$?
    if [ "$got" -eq "$wanted" ]; then
        echo "ok    $*"
    else
        echo "FAIL  $*: status $got, expected $wanted"
        cat messages
        failures=$((failures + 1))
    fi
}

"$MAKE_VOLUME" -n 12 -t f32 -o v.raw || exit 99
"$MAKE_PICTURE" -d 24,17 --rgba -o p.png || exit 99
head -c 300 p.png > cut.png

watch 0 "$VOXFILT" -i v.raw -n 12 -q -o heat.raw -s 3 --stats --report
watch 0 "$VOXFILT" -i v.raw -n 12 -q -o pm1.raw --flux pm1 --scale 1 --inner 2 --reaction 0.1 -e constant:1 -s 2
watch 7 "$VOXFILT" -i v.raw -n 12 -q -o chain.raw -f gauss:1 -f gradient -f unsharp:1,1 --until 0.1 --out-type u16
watch 0 "$VOXFILT" -i v.raw -n 12 -q -o copy.raw -f identity --out-endian big
watch 0 "$IMGHEAT" p.png -o heat.png
watch 0 "$IMGHEAT" --linear -f sobel:x -e wrap p.png -o sobel.png
watch 3 "$IMGHEAT" cut.png -o none.png
watch 3 "$VOXFILT" -i v.raw -n 11 -o none.raw
watch 2 "$VOXFILT" -i v.raw -n 12 --dt 9 -o none.raw

[ "$failures" -eq 0 ]
