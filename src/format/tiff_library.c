/* The functions of libtiff. */
#include "tiff_library.h"

#ifdef HAVE_TIFF
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static const struct function {
    const char *name;
    size_t place; /* in struct tiff_library */
} functions[] = {
#define TIFF_FUNCTION(name) {#name, offsetof(struct tiff_library, name)},
#include "tiff_library.def"
#undef TIFF_FUNCTION
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static bool find_functions(struct tiff_library *library, void *handle)
{
    for (size_t i = 0; i < FUNCTIONS; i++) {
        void *function = dlsym(handle, functions[i].name);
        if (function == NULL)
            return false;
        memcpy((char *)library + functions[i].place, &function, sizeof function);
    }
    return true;
}

static bool load(struct tiff_library *library, const char *file, struct fault *fault)
{
    void *handle = dlopen(TIFF_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (handle != NULL && find_functions(library, handle))
        return true;
    fault_set_for(fault, STATUS_INPUT, file, "a TIFF file, but libtiff cannot be loaded: %s", dlerror());
    if (handle != NULL)
        dlclose(handle);
    return false;
}

const struct tiff_library *tiff_library_load(TIFFErrorHandlerExt error, TIFFErrorHandlerExt warning,
                                             const char *file, struct fault *fault)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    static struct tiff_library library;
    static bool loaded;

    pthread_mutex_lock(&turn);
    if (!loaded && load(&library, file, fault)) {
        library.TIFFSetErrorHandler(NULL);
        library.TIFFSetWarningHandler(NULL);
        library.TIFFSetErrorHandlerExt(error);
        library.TIFFSetWarningHandlerExt(warning);
        loaded = true;
    }
    pthread_mutex_unlock(&turn);
    return loaded ? &library : NULL;
}
#endif
