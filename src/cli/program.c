/* Programs: the commands that one binary is, and which of them it is this time. */
#include "program.h"

#include "base/path.h"

#include <string.h>

static const enum program programs[] = {PROGRAM_IMGHEAT, PROGRAM_VOXFILT};
#define PROGRAMS (sizeof programs / sizeof *programs)

const char *program_name(enum program program)
{
    return program == PROGRAM_VOXFILT ? "voxfilt" : "imgheat";
}

static bool parse(const char *name, enum program *program)
{
    for (size_t i = 0; i < PROGRAMS; i++) {
        if (strcmp(name, program_name(programs[i])) == 0) {
            *program = programs[i];
            return true;
        }
    }
    return false;
}

const char *program_installed_name(enum program program)
{
    return program == PROGRAM_VOXFILT ? VOXFILT_COMMAND : IMGHEAT_COMMAND;
}

/* The same program for several processes has "-mpi" behind it. */
static bool is_installed_name(const char *name, enum program program)
{
    const char *installed = program_installed_name(program);
    size_t length = strlen(installed);

    return strncmp(name, installed, length) == 0 &&
           (name[length] == '\0' || strcmp(name + length, "-mpi") == 0);
}

static bool find_by_name(const char *name, enum program *program)
{
    for (size_t i = 0; i < PROGRAMS; i++) {
        if (is_installed_name(name, programs[i])) {
            *program = programs[i];
            return true;
        }
    }
    for (size_t i = 0; i < PROGRAMS; i++) {
        if (strstr(name, program_name(programs[i])) != NULL) {
            *program = programs[i];
            return true;
        }
    }
    return false;
}

/* The value of a first argument --program=NAME or --program NAME; NULL without one. */
static const char *asked_for(int argc, char **argv)
{
    static const char option[] = "--program";
    size_t length = sizeof option - 1;

    if (argc < 2 || strncmp(argv[1], option, length) != 0)
        return NULL;
    if (argv[1][length] == '=')
        return argv[1] + length + 1;
    return argv[1][length] == '\0' && argc > 2 ? argv[2] : NULL;
}

bool program_find(int argc, char **argv, enum program *program, struct fault *fault)
{
    const char *asked = asked_for(argc, argv), *path = argc > 0 ? argv[0] : "";
    const char *name = path_base_name(path);

    if (asked != NULL)
        return parse(asked, program) ||
               fault_raise(fault, STATUS_USAGE, "--program: %s: expected voxfilt or imgheat", asked);
    return find_by_name(name, program) ||
           fault_raise_about(fault, STATUS_USAGE, name,
                             "this name selects neither voxfilt nor imgheat "
                             "(give --program=voxfilt or --program=imgheat as the first argument)");
}
