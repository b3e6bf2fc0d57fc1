/* Shared libraries that are loaded when a file first needs them. Other runs start without them, and a program
   that was built where a library was there runs where it is not. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <stddef.h>

struct library_function {
    const char *name;
    void *place; /* of the pointer that is to lead to it */
};

/* Load a library, such as libtiff.so.6, and find the functions in it: NULL, or why that failed, in the
   system's words. Calls for one library must not overlap. */
const char *library_load(const char *library, const struct library_function *functions, size_t count);

#endif
