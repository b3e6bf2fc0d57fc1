# VOX_ADD_FLAG(VARIABLE, FLAG)
# Append FLAG to VARIABLE if the C compiler takes it. -Werror, because clang only warns of flags it does not know.
AC_DEFUN([VOX_ADD_FLAG], [
  AS_VAR_PUSHDEF([vox_cache], [vox_cv_cc_takes_$2])
  AC_CACHE_CHECK([whether $CC takes $2], [vox_cache], [
    vox_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $2"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [AS_VAR_SET([vox_cache], [yes])], [AS_VAR_SET([vox_cache], [no])])
    CFLAGS=$vox_saved_CFLAGS
  ])
  AS_VAR_IF([vox_cache], [yes], [AS_VAR_APPEND([$1], [" $2"])])
  AS_VAR_POPDEF([vox_cache])
])

# VOX_ADD_LINK_FLAG(VARIABLE, FLAG, ELSE)
# The same for a flag that brings a library along, so that a program must link with it.
AC_DEFUN([VOX_ADD_LINK_FLAG], [
  AS_VAR_PUSHDEF([vox_cache], [vox_cv_cc_links_$2])
  AC_CACHE_CHECK([whether $CC links with $2], [vox_cache], [
    vox_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $2"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AS_VAR_SET([vox_cache], [yes])], [AS_VAR_SET([vox_cache], [no])])
    CFLAGS=$vox_saved_CFLAGS
  ])
  AS_VAR_IF([vox_cache], [yes], [AS_VAR_APPEND([$1], [" $2"])], [$3])
  AS_VAR_POPDEF([vox_cache])
])

# VOX_REFUSE_FAST_MATH
# A build whose results differ from every other build's is worse than none.
AC_DEFUN([VOX_REFUSE_FAST_MATH], [
  AC_MSG_CHECKING([whether CFLAGS keep IEEE arithmetic])
  AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
    #if defined __FAST_MATH__ || defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__
    #error
    #endif
    int ieee;
  ]])], [AC_MSG_RESULT([yes])], [
    AC_MSG_RESULT([no])
    AC_MSG_ERROR([voxfilt promises the same bytes from every build: take -ffast-math and -Ofast out of CFLAGS])
  ])
])

# VOX_CPU_LEVEL(LEVEL, MACRO, WHAT)
# Whether the kernels can be built once more, for x86-64-LEVEL, whose units MACRO stands for. The flag stands before
# CFLAGS, as in the build, so that an -march in CFLAGS that has no such units also leaves that build out.
AC_DEFUN([VOX_CPU_LEVEL], [
  AC_CACHE_CHECK([whether $CC builds for x86-64-$1], [vox_cv_cpu_$1], [
    vox_saved_CFLAGS=$CFLAGS
    CFLAGS="-march=x86-64-$1 $CFLAGS"
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
      #if !defined __x86_64__ || !defined $2 || !defined __FMA__
      #error
      #endif
      int level;
    ]])], [vox_cv_cpu_$1=yes], [vox_cv_cpu_$1=no])
    CFLAGS=$vox_saved_CFLAGS
  ])
  AS_VAR_IF([vox_cv_cpu_$1], [yes],
    [AC_DEFINE([HAVE_CPU_]m4_toupper($1), [1], [Define to 1 if the CPU kernels are also built for x86-64-$1: $3.])])
  AM_CONDITIONAL([CPU_]m4_toupper($1), [test "$vox_cv_cpu_$1" = yes])
])

# VOX_OWN_FMA
# Set OWN_FMA_CFLAGS for what runs on this machine alone: without -mfma, each fma() of a test is a call of the C library.
AC_DEFUN([VOX_OWN_FMA], [
  AC_CACHE_CHECK([whether this machine has FMA], [vox_cv_own_fma], [
    vox_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -march=native"
    vox_cv_own_fma=no
    AS_IF([test "$cross_compiling" = no],
      [AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
        #ifndef __FMA__
        #error no FMA
        #endif
      ]])], [vox_cv_own_fma=yes])])
    CFLAGS=$vox_saved_CFLAGS
  ])
  OWN_FMA_CFLAGS=
  AS_IF([test $vox_cv_own_fma = yes], [OWN_FMA_CFLAGS=-mfma])
  AC_SUBST([OWN_FMA_CFLAGS])
])
