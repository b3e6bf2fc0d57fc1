# What scripts of cases of the command line share: how a command must end, pictures made by hand, and the inputs. Sourced,
# not run; whoever sources it ends with `conclude`.

# shellcheck source=tests/casebook.sh
. "$(dirname "$0")/casebook.sh"
PATH=$(dirname "${VOXFILT:?}"):$(dirname "${MAKE_VOLUME:?}"):$PATH

# Lists as refusals have them.
# shellcheck disable=SC2034  # whoever sources this uses them
types='u8, i8, u16, i16, u32, i32, u64, i64, f16, f32 or f64' rules='reflect, mirror, nearest, wrap, constant[:V] or hold'
# shellcheck disable=SC2034
formats='raw, raw.gz, nii, nii.gz, hdr, nrrd, nhdr, mha, mhd, npy, tif, tiff, zarr or ome.zarr'

has()
{
    command -v "$1" > ../has
}

# libtiff is optional.
reads_tiff()
{
    grep -q '^#define HAVE_TIFF 1' "${top_builddir:?}/config.h"
}

# Bytes below 128 by a printf of awk, in which r() is a number below 1 from the "minimal standard" generator: the rand() of
# some awks gives other numbers in each run.
noise() # SEED COUNT PRINTF
{
    awk -v seed="$1" "function r() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
        BEGIN { for (i = 0; i < $2; i++) printf $3 }"
}

# Seconds mean something in the build that users have, not in one that is slow because it checks everything.
is_whole_run()
{
    [ -z "${VOXFILT_THIN:-}" ]
}

# Scripts that need these programs are skipped without them.
needs() # PROGRAM...
{
    for program in "$@"; do
        has "$program" && continue
        echo "$program is not here"
        exit 77
    done
}

# Thinned runs skip scripts that take long and would show nothing new.
needs_whole_run()
{
    is_whole_run && return
    echo 'this is left to runs that are not thinned (VOXFILT_THIN)'
    exit 77
}

# Without a program whose GPUs are emulated, nothing of what follows is tried.
needs_emulated_gpus()
{
    emulated=${top_builddir:-.}/tests/imgheat_emulated
    [ -x "$emulated" ] && return
    skip 'several GPUs: imgheat_emulated is not built'
    conclude
    exit
}

try_refused() # STATUS MESSAGE COMMAND...
{
    wanted=$1 message=$2
    shift 2
    rm -f out
    printf '%s\n' "$message" > ../message
    "$@" > ../stdout 2> ../stderr < /dev/null
    status=$?
}

# Judges the command of try_refused by the files of what it said and what it wrote.
judge_refused() # WORDS OUTPUT
{
    if [ "$status" != "$wanted" ]; then
        cat ../stderr
        result 1 "$message: the status is $status, not $wanted"
    elif ! diff ../message "$1"; then
        result 1 "$message: the words differ"
    elif [ -s "$2" ]; then
        result 1 "$message: something stands on standard output"
    elif [ -e out ] || has_temporary; then
        result 1 "$message: a file was left"
    else
        result 0 "$message"
    fi
}

# A command fails with a status and one line, writes nothing to standard output, and leaves neither `out` nor a
# temporary.
refuses() # STATUS MESSAGE COMMAND...
{
    try_refused "$@"
    judge_refused ../stderr ../stdout
}

# A command ends with a status, and standard error is as given.
ends() # NAME STATUS STDERR COMMAND...
{
    name=$1 wanted=$2
    printf '%s' "$3" > ../message
    shift 3
    "$@" > ../stdout 2> ../stderr < /dev/null
    status=$?
    if [ "$status" != "$wanted" ]; then
        result 1 "$name: the status is $status, not $wanted"
    elif ! diff ../message ../stderr; then
        result 1 "$name: the words on standard error differ"
    else
        result 0 "$name"
    fi
}

# A command succeeds, and standard error is as given (nothing, most often).
accepts() # NAME STDERR COMMAND...
{
    name=$1 message=$2
    shift 2
    ends "$name" 0 "$message" "$@"
}

has_temporary()
{
    ls -- *.part > ../parts 2>&1
}

has_no_temporary()
{
    ! has_temporary
}

# Until a run in the background has made its temporary file, whose name is then in ../parts.
await_temporary()
{
    await 100 has_temporary
}

# Two files have the same bytes, and some.
same() # NAME A B
{
    [ -s "$2" ] && cmp "$2" "$3"
    result $? "$1"
}

differ()
{
    [ -s "$2" ] && [ -s "$3" ] && ! cmp -s "$2" "$3"
    result $? "$1"
}

from() # FILE COMMAND...
{
    file=$1
    shift
    "$@" < "$file"
}

piped() # FILE COMMAND...
{
    file=$1
    shift
    # shellcheck disable=SC2002  # a pipe is the point
    cat "$file" | "$@"
}

into() # FILE COMMAND...
{
    file=$1
    shift
    "$@" > "$file"
}

# A signal that the caller ignores stays ignored, and then there is nothing to see.
takes_signal()
{
    [ -z "$(sh -c "kill -$1 \$\$; echo alive" 2>&1)" ]
}

bytes()
{
    od -An -v -tu1 "$1" | xargs
}

mode()
{
    # shellcheck disable=SC2012  # stat differs between systems
    ls -l "$1" | cut -c 1-10
}

# ---------------------------------------------------------------- PNG by hand

# A chunk; its data in the escapes of printf.
chunk() # TYPE DATA
{
    # shellcheck disable=SC2059  # escapes are wanted
    printf "$1$2" > ../chunk
    seal_chunk
}

# Type and data of a chunk stand in ../chunk.
seal_chunk()
{
    size=$(($(wc -c < ../chunk) - 4))
    escape_word $((size >> 24)) $((size >> 16)) $((size >> 8)) $size
    cat ../chunk
    # gzip ends in a checksum, little end first, and a length.
    # shellcheck disable=SC2046  # four words
    set -- $(gzip -c ../chunk | tail -c 8 | head -c 4 | od -An -tu1)
    escape_word "$4" "$3" "$2" "$1"
}

escape_word()
{
    for byte in "$@"; do
        # shellcheck disable=SC2059
        printf "\\$(printf %o $((byte & 255)))"
    done
}

# A picture with chunks put between its header and the rest.
with_chunks() # FILE, chunks on standard input
{
    head -c 33 "$1"
    cat
    tail -c +34 "$1"
}

# Likewise, between its image and its end.
with_late_chunks() # FILE
{
    head -c $(($(wc -c < "$1") - 12)) "$1"
    cat
    tail -c 12 "$1"
}

# ---------------------------------------------------------------- inputs

make_volume -n 8 -t u8 -o v8.raw
make_volume -n 16 -t f32 -o v16.raw
make_volume -n 64 -t f32 -o v64.raw
make_picture -d 40,30 --gray -o gray.png
make_picture -d 40,30 -o rgb.png
make_picture -d 40,30 --rgba -o rgba.png
make_picture -d 40,30 --depth 16 -o deep.png
printf '\000\001\002\003\004\005\006\007' > eight.raw
cp v8.raw scan_8x8x8_u8.raw
cp v8.raw slice_16x32.raw

v8()
{
    voxfilt -i v8.raw -n 8 -t u8 "$@"
}

v16()
{
    voxfilt -i v16.raw -n 16 -t f32 "$@"
}

with_isa() # NAME COMMAND...
{
    isa=$1
    shift
    (VOXFILT_ISA=$isa && export VOXFILT_ISA && "$@")
}
