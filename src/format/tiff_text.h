/* Descriptions of TIFF stacks: what ImageJ, OME and tifffile tell in the ImageDescription of the first page.
   A description of anybody else tells nothing. */
#ifndef TIFF_TEXT_H
#define TIFF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TIFF_TEXT_UNIT_BYTES = 32, TIFF_TEXT_OTHERS_BYTES = 128 };

struct tiff_text {
    bool imagej;
    bool is_stack;                       /* ImageJ's or tifffile's, which tell of the stack and of no more, */
    char others[TIFF_TEXT_OTHERS_BYTES]; /* but for these words of ImageJ's */
    bool places_pages;                   /* OME's says which page is which slice (tiff_text_next_run) */
    bool places_apart;                   /* OME's says that another file does */
    uint64_t pages;                      /* in all; 0: not told */
    uint64_t channels, slices, frames;   /* pages that stand for each; 0: not told */
    double spacing[3];                   /* 0: not told */
    char unit[TIFF_TEXT_UNIT_BYTES];     /* of ImageJ; empty: not told */
};

/* Read a description; NULL: there is none. `page_channels` is the number of channels within a page. */
struct tiff_text tiff_text_read(const char *description, unsigned page_channels);

/* A run of pages that are slices in the same order. */
struct tiff_text_run {
    uint64_t page, slice; /* the first ones, from 0 */
    uint64_t count;       /* or as many as there are, if that is less */
    bool elsewhere;       /* in another channel or at another time than the first */
};

/* Read the next run from *at on in OME's description, and advance *at; false: there are no more. */
bool tiff_text_next_run(const char **at, struct tiff_text_run *run);

/* The description of a stack as ImageJ has it: pages, the distance between them, and the unit. */
void tiff_text_write(uint64_t pages, double distance, const char *unit, char *text, size_t size);

#endif
