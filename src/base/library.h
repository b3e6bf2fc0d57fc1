/* Shared libraries that are loaded when a file first needs them. Other runs start without them, and a program
   that was built where a library was there runs where it is not. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct library_function {
    const char *name;
    void *place; /* of the pointer that is to lead to it */
};

struct library {
    const char *file; /* such as libtiff.so.6 */
    const struct library_function *functions;
    size_t count;
    void (*begin)(void); /* called once it is loaded; NULL: nothing is to be done */
    bool loaded;
};

/* Load a library, unless that is done, and find its functions. Returns NULL, or why that failed, in the
   system's words. Any thread may call it. */
const char *library_load(struct library *library);

#endif
