# VOX_COMMAND_NAMES
# Define VOXFILT_COMMAND and IMGHEAT_COMMAND, the names that --program-prefix and its kin give the commands: one binary is
# both, and has to know them.
AC_DEFUN([VOX_COMMAND_NAMES], [
  AC_REQUIRE([AC_ARG_PROGRAM])
  # It is written for make, which takes two dollars for one.
  vox_transform=`AS_ECHO(["$program_transform_name"]) | sed 's/[[$]][[$]]/$/g'`
  AC_DEFINE_UNQUOTED([VOXFILT_COMMAND], ["`echo voxfilt | sed "$vox_transform"`"], [The name that voxfilt is installed under.])
  AC_DEFINE_UNQUOTED([IMGHEAT_COMMAND], ["`echo imgheat | sed "$vox_transform"`"], [The name that imgheat is installed under.])
])
