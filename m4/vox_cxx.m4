# VOX_CXX_LIKE_CC
# Before AC_PROG_CXX: unless the user says otherwise, a C++ compiler of CC's family, since both must bring the same
# runtime of sanitizers.
AC_DEFUN([VOX_CXX_LIKE_CC], [
  AS_CASE(["${CXX-unset} $CC"],
    [unset*clang*], [CXX=`AS_ECHO(["$CC"]) | sed 's/clang/clang++/'`])
])

# VOX_CXX_WORKS
# After AC_PROG_CXX, which never fails: whether there is a C++ compiler. It links when CUDA is built, and compiles the
# kernels for the tests' emulation of a GPU. Sets vox_cv_cxx_works and vox_cv_cxx_emulates.
AC_DEFUN([VOX_CXX_WORKS], [
  AC_LANG_PUSH([C++])
  AC_CACHE_CHECK([whether $CXX links a program], [vox_cv_cxx_works],
    [AC_LINK_IFELSE([AC_LANG_PROGRAM()], [vox_cv_cxx_works=yes], [vox_cv_cxx_works=no])])
  vox_saved_CXXFLAGS=$CXXFLAGS
  CXXFLAGS="-std=c++17 $CXXFLAGS"
  AC_CACHE_CHECK([whether $CXX compiles what emulates a GPU], [vox_cv_cxx_emulates], [
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <memory>
      #include <sys/mman.h>
      static int line(int at = __builtin_LINE()) { return at; }
    ]], [[
      if constexpr (sizeof(int) == 4)
          return std::make_unique<int>(line()) == nullptr;
    ]])], [vox_cv_cxx_emulates=yes], [vox_cv_cxx_emulates=no])
  ])
  CXXFLAGS=$vox_saved_CXXFLAGS
  AC_LANG_POP([C++])
])
