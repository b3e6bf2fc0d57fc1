/* Dropped fields of TIFF files: what the tags of a page tell that no output has. */
#ifndef TIFF_LOSSES_H
#define TIFF_LOSSES_H

#include "tiff_directory.h"
#include "tiff_library.h"
#include "tiff_text.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef HAVE_TIFF
struct tiff_losses_page {
    const struct tiff_library *libtiff;
    TIFF *tiff; /* at that page */
    const struct tiff_directory *directory;
    const struct tiff_text *text; /* of its description */
    bool alpha;                   /* what is more than it can be told elsewhere */
};

/* The names of such tags, or as many as there is room for; empty: none. */
void tiff_losses_tell(const struct tiff_losses_page *page, char *text, size_t size);
#endif

#endif
