#!/bin/sh
# Which libraries are loaded at every start: those that few runs need would make all of them slower. Prints a line a case
# and fails if one does.
set -u

# shellcheck source=tests/casebook.sh
. "$(dirname "$0")/casebook.sh"
build=${top_builddir:?}

loads_no() # LIBRARY WHY
{
    for program in voxfilt imgheat; do
        ldd "$build/$program" > ../loaded && ! grep "$1" ../loaded
        result $? "$program loads no $1: $2"
    done
}

if grep -q '^#define HAVE_TIFF 1' "$build/config.h"; then
    loads_no libtiff 'that waits for a TIFF file'
else
    skip 'this build has no libtiff'
fi
if grep -q '^#define HAVE_JPEG 1' "$build/config.h"; then
    loads_no libjpeg 'that waits for a JPEG file'
else
    skip 'this build has no libjpeg'
fi
if grep -q '^CUDA_LIBS = .*-static-libstdc++' "$build/Makefile"; then
    loads_no libstdc++ "what nvcc's stubs need of it is linked"
    loads_no libgcc_s "what nvcc's stubs need of it is linked"
else
    skip 'this build has no CUDA, or a sanitizer'
fi

[ "$cases" != 0 ] || exit 77
conclude
