# VOX_CUDA
# Look for a CUDA toolkit that can build and link our kernels. Sets NVCC, NVCCFLAGS, CUDA_NVCCFLAGS, CUDA_GENCODE,
# CUDA_ARCH, CUDA_LIBS, CCLD (what links: CXX with CUDA, else CC) and the conditional CUDA; defines HAVE_CUDA. By
# default a toolkit that is missing or does not work is a warning; with --with-cuda or --with-cuda=DIR it is an error.

# An architecture takes about a minute of two cores. So what is built unasked is code for the GPUs of this machine; or,
# where none is seen, for two that are common in servers, and PTX of the oldest that we support, from which the driver
# compiles for any other GPU when it first meets one. "all" has code for every GPU: one for each major version, whose
# later minors run it, and one for each minor that is common.
m4_define([vox_cuda_some_arch], [80 90])
m4_define([vox_cuda_all_arch], [70 75 80 86 89 90 100 110 120])

AC_DEFUN([VOX_CUDA], [
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@], [build the CUDA kernels, with the toolkit in DIR (default: if one is found)])],
    [], [with_cuda=auto])
  AC_ARG_WITH([cuda-arch],
    [AS_HELP_STRING([--with-cuda-arch=LIST],
      [compute capabilities to build code for, as 80,90, and PTX of the newest of them; all: every one (slow to build);
       native: this machine's (default: native if there is a GPU, else ]vox_cuda_some_arch[ and PTX of the oldest, so
       that other GPUs work too)])],
    [], [with_cuda_arch=default])
  AC_ARG_VAR([NVCC], [CUDA compiler])
  AC_ARG_VAR([NVCCFLAGS], [CUDA compiler flags])
  AC_ARG_VAR([NVCC_CCBIN], [host compiler that NVCC is to use (one word)])
  # nvcc reads this variable itself, and takes an empty one for the name of a compiler.
  AS_IF([test -z "$NVCC_CCBIN"], [unset NVCC_CCBIN])

  vox_cuda_problem=
  AS_IF([test "$with_cuda" = no], [vox_cuda_problem="not wanted"], [_VOX_CUDA_PROBE])

  AS_IF([test -z "$vox_cuda_problem"], [
      AC_DEFINE([HAVE_CUDA], [1], [Define to 1 if the CUDA kernels are built.])
      vox_cuda_summary="yes, for$vox_cuda_chosen ($NVCC)"
    ], [test "$with_cuda" = no], [vox_cuda_summary=no],
    [test "$with_cuda" = auto], [
      AC_MSG_WARN([building without CUDA: $vox_cuda_problem])
      vox_cuda_summary="no: $vox_cuda_problem"
    ],
    [AC_MSG_ERROR([--with-cuda: $vox_cuda_problem])])
  AM_CONDITIONAL([CUDA], [test -z "$vox_cuda_problem"])
  AS_IF([test -z "$vox_cuda_problem"], [CCLD='$(CXX)'], [CCLD='$(CC)'])
  AC_SUBST([CCLD])
  AC_SUBST([CUDA_NVCCFLAGS])
  AC_SUBST([CUDA_GENCODE])
  AC_SUBST([CUDA_ARCH])
  AC_SUBST([CUDA_LIBS])
])

# Each step runs if the ones before it left no problem.
AC_DEFUN([_VOX_CUDA_PROBE], [
  _VOX_CUDA_FIND
  AS_IF([test -z "$vox_cuda_problem"], [_VOX_CUDA_ARCH])
  AS_IF([test -z "$vox_cuda_problem"], [_VOX_CUDA_TRY])
])

# The compiler, and a C++ compiler to link with.
AC_DEFUN([_VOX_CUDA_FIND], [
  AS_CASE([$with_cuda],
    [auto|yes], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH$PATH_SEPARATOR/usr/local/cuda/bin])],
    [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])])
  AS_CASE([$NVCC_CCBIN],
    [*[[\ \	]]*], [AC_MSG_ERROR([NVCC_CCBIN is one word, the name of a compiler without flags])])
  AS_IF([test -z "$NVCC" || test ! -x "$NVCC"], [vox_cuda_problem="nvcc is not found"],
    [test "$vox_cv_cxx_works" = no], [vox_cuda_problem="no C++ compiler works"])
])

# Machine code for each architecture that is wanted and that nvcc knows, and PTX of the newest for GPUs to come.
AC_DEFUN([_VOX_CUDA_ARCH], [
  AC_MSG_CHECKING([which CUDA architectures to build])
  vox_cuda_known=`"$NVCC" --list-gpu-arch 2>/dev/null | sed -n 's/^compute_//p' | sort -n | tr '\n' ' '`
  # As "9.0", a line a GPU.
  vox_cuda_native=`nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    sed -n '/^@<:@0-9@:>@*@<:@.@:>@@<:@0-9@:>@$/s/@<:@.@:>@//p' | sort -un | tr '\n' ' '`
  AS_CASE([$with_cuda_arch],
    [all], [vox_cuda_wanted="vox_cuda_all_arch"],
    [native], [vox_cuda_wanted=$vox_cuda_native],
    [default], [
      # A GPU that is newer than the toolkit runs PTX.
      vox_cuda_wanted=$vox_cuda_native
      for vox_arch in $vox_cuda_native; do
        AS_CASE([" $vox_cuda_known"], [*" $vox_arch "*], [], [vox_cuda_wanted=])
      done
      AS_IF([test -z "$vox_cuda_wanted"], [vox_cuda_wanted="vox_cuda_some_arch"])],
    [vox_cuda_wanted=$with_cuda_arch])
  vox_cuda_chosen= vox_cuda_unknown= vox_cuda_newest=0 CUDA_GENCODE= CUDA_ARCH=
  for vox_arch in `AS_ECHO(["$vox_cuda_wanted"]) | sed 's/sm_//g; s/compute_//g; s/\.//g; s/,/ /g'`; do
    # 90a is 90 with features that no other architecture has; nvcc lists it as 90.
    vox_number=`AS_ECHO(["$vox_arch"]) | sed 's/@<:@af@:>@$//'`
    AS_CASE([" $vox_cuda_known"],
      [*" $vox_number "*], [
        vox_cuda_chosen="$vox_cuda_chosen $vox_arch"
        CUDA_ARCH="${CUDA_ARCH:+$CUDA_ARCH,}$vox_arch"
        CUDA_GENCODE="$CUDA_GENCODE -gencode arch=compute_$vox_arch,code=sm_$vox_arch"
        AS_IF([test "$vox_number" -gt "$vox_cuda_newest"], [
          vox_cuda_newest=$vox_number
          vox_cuda_ptx="-gencode arch=compute_$vox_arch,code=compute_$vox_arch"])],
      [vox_cuda_unknown="$vox_cuda_unknown $vox_arch"])
  done
  CUDA_GENCODE="$CUDA_GENCODE $vox_cuda_ptx"
  AS_IF([test "$vox_cuda_wanted" = "vox_cuda_some_arch"], [_VOX_CUDA_OLDEST])
  AC_MSG_RESULT([${vox_cuda_chosen:-none}])
  AS_IF([test "$with_cuda_arch" = native && test -z "$vox_cuda_native"],
    [vox_cuda_problem="--with-cuda-arch=native: nvidia-smi tells of no GPU"],
    [test -z "$vox_cuda_chosen"],
    [vox_cuda_problem="$NVCC knows none of the architectures $vox_cuda_wanted (it knows: $vox_cuda_known)"],
    [test -n "$vox_cuda_unknown" && test "$with_cuda_arch" != all],
    [AC_MSG_WARN([--with-cuda-arch: $NVCC does not know$vox_cuda_unknown])])
])

# PTX of the oldest architecture that we support, for all GPUs that have no code of their own.
AC_DEFUN([_VOX_CUDA_OLDEST], [
  for vox_arch in $vox_cuda_known; do
    AS_IF([test "$vox_arch" -ge 70], [break])
  done
  CUDA_GENCODE="$CUDA_GENCODE -gencode arch=compute_$vox_arch,code=compute_$vox_arch"
  vox_cuda_chosen="$vox_cuda_chosen ptx-$vox_arch"
])

# The flags, and whether they work from source to program: nvcc is particular about its host compiler.
AC_DEFUN([_VOX_CUDA_TRY], [
  # For host code, which only chooses and launches kernels. Device code is optimized in any case.
  : ${NVCCFLAGS="-O1"}
  # The contract of src/model/arith.h, for device and host code.
  CUDA_NVCCFLAGS="-std=c++17 --fmad=false --prec-div=true --prec-sqrt=true --ftz=false"
  CUDA_NVCCFLAGS="$CUDA_NVCCFLAGS -Xcompiler -ffp-contract=off,-Wall,-Wextra"
  AS_IF([test "$enable_werror" != no], [CUDA_NVCCFLAGS="$CUDA_NVCCFLAGS -Werror all-warnings"])
  AS_IF([test -n "$NVCC_CCBIN"], [CUDA_NVCCFLAGS="$CUDA_NVCCFLAGS -ccbin $NVCC_CCBIN"])

  AC_MSG_CHECKING([whether $NVCC compiles and $CXX links a CUDA program])
  vox_cuda_links=no
  AS_ECHO(["#include <cuda_runtime.h>
__global__ void kernel(float *x) { *x = *x * 2.0f; }
int main() { int n; kernel<<<1, 1>>>(0); return cudaGetDeviceCount(&n) != cudaSuccess; }"]) > conftest.cu
  AS_IF([_VOX_CUDA_RUN([$NVCC $CUDA_NVCCFLAGS $CUDA_GENCODE $NVCCFLAGS -c -o conftest.cuda.o conftest.cu])], [
    # A toolkit of its own keeps its libraries beside bin; a distribution's are where the linker looks anyway.
    vox_cuda_root=`AS_DIRNAME(["$NVCC"])`/..
    vox_cuda_real=`readlink -f "$NVCC" 2>/dev/null`
    AS_IF([test -n "$vox_cuda_real"], [vox_cuda_real=`AS_DIRNAME(["$vox_cuda_real"])`/..])
    for vox_dir in "$vox_cuda_root/lib64" "$vox_cuda_root/lib" "$vox_cuda_real/lib64" "$vox_cuda_real/lib" ''; do
      AS_IF([test -n "$vox_dir" && test ! -f "$vox_dir/libcudart_static.a"], [continue])
      AS_IF([test -n "$vox_dir"], [vox_dir=`cd "$vox_dir" && pwd`])
      CUDA_LIBS="${vox_dir:+-L$vox_dir }-lcudart_static -lpthread -ldl -lrt"
      AS_IF([_VOX_CUDA_RUN([$CXX $LDFLAGS -o conftest.cuda conftest.cuda.o $CUDA_LIBS])], [vox_cuda_links=yes; break])
    done
    # nvcc's stubs need two functions of libstdc++, which would take a millisecond of every start if it were loaded. (A
    # sanitizer wants to see it.)
    vox_cuda_static="$CUDA_LIBS -static-libstdc++ -static-libgcc"
    AS_IF([test "$enable_sanitizers" = no && _VOX_CUDA_RUN([$CXX $LDFLAGS -o conftest.cuda conftest.cuda.o $vox_cuda_static])],
      [CUDA_LIBS=$vox_cuda_static])
    AS_IF([test $vox_cuda_links = no],
      [vox_cuda_problem="$CXX cannot link with libcudart_static (see config.log)"])
  ], [vox_cuda_problem="$NVCC cannot compile (see config.log; a host compiler that it accepts goes in NVCC_CCBIN)"])
  AC_MSG_RESULT([$vox_cuda_links])
  rm -f conftest.cu conftest.cuda.o conftest.cuda
])

# A command, in the log with what it says.
m4_define([_VOX_CUDA_RUN],
  [{ AS_ECHO(["$as_me: $1"]) >&AS_MESSAGE_LOG_FD; $1 >&AS_MESSAGE_LOG_FD 2>&1; }])
