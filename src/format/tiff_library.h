/* The functions of libtiff. It is loaded when the first TIFF file is read: it needs a dozen libraries, which
 * would make every start of the program take half as long again. */
#ifndef TIFF_LIBRARY_H
#define TIFF_LIBRARY_H

#include "base/diag.h"

#ifdef HAVE_TIFF
#include <tiffio.h>

/* Functions have the names that libtiff's manual gives them. */
struct tiff_library {
#define TIFF_FUNCTION(name) __typeof__(name) *name;
#include "tiff_library.def"
#undef TIFF_FUNCTION
};

/* Load it, unless that is done, and let it tell errors and warnings to these two alone. NULL where it cannot
 * be loaded: the fault then is about the file that was to be read. */
const struct tiff_library *tiff_library_load(TIFFErrorHandlerExt error, TIFFErrorHandlerExt warning,
                                             const char *file, struct fault *fault);
#endif

#endif
