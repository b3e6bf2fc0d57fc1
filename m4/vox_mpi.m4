# VOX_MPI
# --with-mpi[=MPICC]: what voxfilt-mpi takes to be built. MPI_CPPFLAGS and MPI_LIBS come from what the wrapper MPICC shows,
# or are empty where $CC knows MPI by itself; the wrapper links nothing, since CUDA's link is the C++ compiler's. MPIRUN
# starts the tests. vox_mpi_summary tells of it.
AC_DEFUN([VOX_MPI], [
  AC_ARG_WITH([mpi],
    [AS_HELP_STRING([--with-mpi@<:@=MPICC@:>@],
      [build voxfilt-mpi for several nodes, with the flags that the compiler wrapper MPICC shows (default: build it where mpicc finds MPI 3.0 or newer)])],
    [], [with_mpi=auto])
  AC_ARG_VAR([MPIRUN], [launcher for the tests of voxfilt-mpi (default: the launcher beside MPICC)])
  MPI_CPPFLAGS= MPI_LIBS= vox_mpi=no vox_mpi_name=mpicc
  AS_CASE([$with_mpi], [auto|yes|no], [], [vox_mpi_name=$with_mpi])
  AS_CASE([$with_mpi],
    [no], [],
    [auto|yes], [
      _VOX_MPI_TRY([$CC], [], [])
      AS_IF([test "$vox_mpi" = no], [_VOX_MPI_WRAPPER])],
    [_VOX_MPI_WRAPPER])
  AS_IF([test "$vox_mpi" = no && test "$with_mpi" != auto && test "$with_mpi" != no],
    [AC_MSG_ERROR([--with-mpi: $vox_mpi_name finds no MPI 3.0 or newer (apt install libopenmpi-dev)])])
  AS_IF([test "$vox_mpi" = no], [vox_mpi_summary=no], [
    vox_mpi_summary="yes, by $vox_mpi"
    AS_IF([test -z "$MPIRUN"],
      [MPIRUN=`AS_ECHO(["$vox_mpi_name"]) | sed 's/mpi\(i\{0,1\}\)cc\(@<:@^/@:>@*\)$/mpirun\2/'`])])
  AC_SUBST([MPI_CPPFLAGS])
  AC_SUBST([MPI_LIBS])
  AM_CONDITIONAL([MPI], [test "$vox_mpi" != no])
])

# The flags that a wrapper would give to its compiler.
AC_DEFUN([_VOX_MPI_WRAPPER], [
  vox_mpi_cppflags= vox_mpi_libs= vox_mpi_word=compiler
  for vox_word in `$vox_mpi_name -show 2>/dev/null`; do
    AS_IF([test -n "$vox_mpi_word"], [vox_mpi_word=; continue])
    AS_CASE([$vox_word],
      [-I*|-D*], [vox_mpi_cppflags="$vox_mpi_cppflags $vox_word"],
      [-L*|-l*|-Wl,*|-pthread|*.a|*.so], [vox_mpi_libs="$vox_mpi_libs $vox_word"])
  done
  AS_IF([test -n "$vox_mpi_libs"], [_VOX_MPI_TRY([$vox_mpi_name], [$vox_mpi_cppflags], [$vox_mpi_libs])])
])

# _VOX_MPI_TRY(WHO, CPPFLAGS, LIBS)
AC_DEFUN([_VOX_MPI_TRY], [
  AC_MSG_CHECKING([whether $1 finds MPI])
  vox_saved_CPPFLAGS=$CPPFLAGS vox_saved_LIBS=$LIBS
  CPPFLAGS="$CPPFLAGS $2"
  LIBS="$3 $LIBS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <mpi.h>
      #if MPI_VERSION < 3
      #error
      #endif
    ]], [[
      int granted;
      return MPI_Init_thread(0, 0, MPI_THREAD_FUNNELED, &granted);
    ]])],
    [vox_mpi=$1 MPI_CPPFLAGS="$2" MPI_LIBS="$3"])
  CPPFLAGS=$vox_saved_CPPFLAGS LIBS=$vox_saved_LIBS
  AC_MSG_RESULT([$vox_mpi])
])
