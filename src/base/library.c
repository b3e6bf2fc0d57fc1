/* Shared libraries, loaded by dlopen. */
#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static const char *load(struct library *library)
{
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; handle != NULL && i < library->count; i++) {
        void *function = dlsym(handle, library->functions[i].name);
        if (function == NULL)
            return dlerror();
        memcpy(library->functions[i].place, &function, sizeof function);
    }
    if (handle == NULL)
        return dlerror();
    if (library->begin != NULL)
        library->begin();
    library->loaded = true;
    return NULL;
}

const char *library_load(struct library *library)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    const char *failure;

    pthread_mutex_lock(&turn);
    failure = library->loaded ? NULL : load(library);
    pthread_mutex_unlock(&turn);
    return failure;
}
