/* Shared libraries, loaded by dlopen. */
#include "library.h"

#include <dlfcn.h>
#include <string.h>

const char *library_load(const char *library, const struct library_function *functions, size_t count)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; handle != NULL && i < count; i++) {
        void *function = dlsym(handle, functions[i].name);
        if (function == NULL)
            return dlerror();
        memcpy(functions[i].place, &function, sizeof function);
    }
    return handle == NULL ? dlerror() : NULL;
}
