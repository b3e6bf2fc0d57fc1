/* Reading of TIFF files: their pages, each a plane or, alone, a picture, decoded by libtiff. */
#ifndef TIFF_READER_H
#define TIFF_READER_H

#include "base/diag.h"
#include "base/file_in.h"
#include "model/region.h"
#include "model/sample.h"
#include "format.h"
#include "tiff_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tags of ImageJ's metadata: sizes of its parts, and all parts one after the other. */
enum { TIFF_IMAGEJ_COUNTS = 50838, TIFF_IMAGEJ_BYTES = 50839 };

/* Bytes as they stand in a file. */
struct tiff_bytes {
    unsigned char *bytes;
    size_t size;
};

/* The properties that all pages have in common. */
struct tiff_pages {
    uint64_t count;           /* pages that are read, */
    uint64_t left_out;        /* smaller copies or masks, */
    uint64_t others;          /* and pages of other stacks or Images */
    uint64_t slices, volumes; /* of the series that the pages are */
    uint64_t width, height;
    uint64_t full[2]; /* these extents at the full resolution */
    size_t levels;    /* smaller resolutions that a page has */
    unsigned channels;
    unsigned alpha; /* what the last channel is to the others, as ExtraSamples has it; 0: alike */
    enum sample_type type;
    enum endian endian;         /* of the file */
    unsigned bits, photometric; /* BitsPerSample and PhotometricInterpretation there */
    bool planar;                /* the channels of a page have strips or tiles of their own */
    bool coloured;              /* a palette makes RGB of one sample */
    bool inverted;              /* white is zero in the file, and the greatest number here */
    bool has_resolution;
    double distance[2];                          /* between samples, from the resolution */
    unsigned unit;                               /* of that, as ResolutionUnit has it */
    struct tiff_text text;                       /* of the first page */
    char *description;                           /* the same as it stands there; NULL: there is none */
    struct tiff_bytes metadata_counts, metadata; /* of ImageJ, on the first page; else empty */
    struct dropped dropped; /* its tags that tell more than all this, by their names; else empty */
    char warning[256];      /* libtiff's first one, but for unknown tags; else empty */
    bool plain; /* samples stand in the file as they are, those of each page together: tiff_reader_place tells
                   where */
};

/* Open a file and look at all pages, at the resolution of the request. Pages that differ, or hold less than
   they claim, are refused. Of several Images of OME the one is read that has its volume (tiff_text_read). */
bool tiff_reader_open(struct tiff_pages **pages, struct file_in *file, const struct source_request *request,
                      struct fault *fault);
void tiff_reader_close(struct tiff_pages *pages);

/* The offset in the file of a plane of the series, if pages are plain. */
uint64_t tiff_reader_place(const struct tiff_pages *pages, uint64_t plane);

/* The memory that reading parts of so many columns takes besides the samples. */
size_t tiff_reader_bytes(const struct tiff_pages *pages, size_t columns);

/* The columns and rows of a tile or strip. */
void tiff_reader_piece(const struct tiff_pages *pages, size_t extents[2]);

/* Read a part of a plane of the series, the columns and rows of a region, packed and in this machine's byte
   order. Of compressed samples no strip or tile is decoded that the part does not touch. Parts may be in any
   order, and from several threads, of which one reads at a time; rows that go on where those before ended
   cost no strip or tile a second time. */
bool tiff_reader_read(struct tiff_pages *pages, uint64_t plane, const struct region *part, void *samples,
                      struct fault *fault);

#endif
