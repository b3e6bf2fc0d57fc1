# VOX_SONAME(NAME, FUNCTION, LIBS)
# The shared library lib<NAME> with FUNCTION that a program linked with LIBS names, such as libtiff.so.6, for dlopen:
# vox_cv_soname_<NAME>, or no where there is none. Nothing is run, so that a cross-compiler can answer as well.
AC_DEFUN([VOX_SONAME], [
  AC_REQUIRE([AC_PROG_SED])
  AC_CHECK_TOOL([OBJDUMP], [objdump], [objdump])
  AC_CACHE_CHECK([which lib$1 programs load], [vox_cv_soname_$1], [
    vox_saved_LIBS=$LIBS
    LIBS="$3 $LIBS"
    vox_cv_soname_$1=
    AC_LINK_IFELSE([AC_LANG_CALL([], [$2])],
      [vox_cv_soname_$1=`$OBJDUMP -p conftest$ac_exeext 2>/dev/null | $SED -n 's/^ *NEEDED *\(lib$1[[.]].*\)$/\1/p'`])
    LIBS=$vox_saved_LIBS
    test -n "$vox_cv_soname_$1" || vox_cv_soname_$1=no
  ])
])
