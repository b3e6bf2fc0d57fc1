/* Descriptions of TIFF stacks: what ImageJ, OME and tifffile tell in the ImageDescription of the first page.
   A description of anybody else tells nothing.

   Pages are slices of volumes, and volumes differ in channel and frame (time). Axes of pages have an order,
   of which "CZT" is one: the channel changes from page to page, the frame is the last to change. The volumes
   of a series are in the order in which their first pages come. */
#ifndef TIFF_TEXT_H
#define TIFF_TEXT_H

#include "format.h"
#include "ome_xml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TIFF_TEXT_UNIT_BYTES = OME_UNIT_BYTES };

enum tiff_text_kind { TIFF_TEXT_OTHER, TIFF_TEXT_IMAGEJ, TIFF_TEXT_OME, TIFF_TEXT_TIFFFILE };

struct tiff_text {
    enum tiff_text_kind kind;
    bool is_stack;                     /* ImageJ's or tifffile's, which tell of the stack and of no more */
    char refusal[160];                 /* why the file is refused; else empty */
    uint64_t pages;                    /* in all; 0: not told */
    uint64_t channels, slices, frames; /* pages that stand for each; at least 1 if any is told, else 0 */
    char order[4];                     /* of these axes, the fastest first */
    bool is_volume;                    /* it tells of slices, even if there is one alone */
    bool is_named;                     /* tifffile's has letters of other axes than z */
    bool follow;                       /* pages without directories may follow the first one */
    double spacing[3];                 /* 0: not told */
    char unit[TIFF_TEXT_UNIT_BYTES];   /* of ImageJ and OME; empty: not told */

    /* OME's: the Image that is read, of several; and the volumes of those before it. */
    const char *image; /* where it begins in the description */
    uint64_t number, images, before;
};

/* Read a description; NULL: there is none. `page_channels` is the number of channels within a page. Of OME's
   Images it is the one that has this volume, if they are counted from one to the next. */
struct tiff_text tiff_text_read(const char *description, unsigned page_channels, uint64_t volume);

/* How many volumes stand in turn, a page of each: those that differ in axes faster than z. */
uint64_t tiff_text_in_turn(const struct tiff_text *text);

/* The page, counted in the order of axes, that a plane of the series is on. */
uint64_t tiff_text_page(const struct tiff_text *text, uint64_t plane);

/* How an output's pages make up volumes, as descriptions of all kinds are to tell it. */
struct tiff_stack {
    const struct header *header;
    const struct tiff_text *axes;
    const char *unit;       /* empty: not known */
    unsigned page_channels; /* of the input, */
    bool planar;            /* which come before y there, not after x */
};

/* A description, to be released with mem_free; NULL with a fault: of a stack as ImageJ has it, with those
   words of the input's `description`, if that is ImageJ's and not NULL, which hold for the output; */
char *tiff_text_imagej(const char *description, const struct tiff_stack *stack, struct fault *fault);
/* or that of tifffile with other extents, for a stack that it describes. */
char *tiff_text_tifffile(const char *description, const struct tiff_stack *stack, struct fault *fault);

/* Add ImageJ's words that an output does not keep; NULL: one that has no such description. */
void tiff_text_drop(const char *description, const struct header *written, struct dropped *dropped);

#endif
