/* OME-XML, as the first page of an OME-TIFF has it in its ImageDescription: what an Image tells of its pages,
   and the same text for an output. Only as much of XML is understood as that takes: a document with a DTD,
   which could give names another meaning, is refused by whoever reads it. */
#ifndef OME_XML_H
#define OME_XML_H

#include "format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OME_UNIT_BYTES = 32 };

/* An element's beginning or end. All point into the text. */
struct ome_tag {
    const char *begin, *end; /* from "<" to behind ">" */
    const char *name;        /* without its prefix */
    size_t length;           /* of the name */
    bool closes, is_empty;   /* "</Image>", "<Image/>" */
};

/* An Image: its pages, and how far apart samples are. */
struct ome_image {
    struct ome_tag tag, pixels;
    const char *end;                   /* behind the Image */
    uint64_t channels, slices, frames; /* SizeC, SizeZ, SizeT; 0: not told */
    unsigned samples;                  /* SamplesPerPixel of its first channel; 0: not told */
    char order[4];                     /* of its pages, the fastest first: "CZT"; empty: none that could be */
    double spacing[3];                 /* in the unit of x; 0: not told */
    char unit[OME_UNIT_BYTES];         /* the first name of a known one; empty: no spacing */
};

/* Read the next Image from *at on, and advance *at; false: there are no more. */
bool ome_next_image(const char **at, struct ome_image *image);

/* Whether every tag of the document ends, and as many elements end as begin. */
bool ome_is_whole(const char *text);

/* Whether the document has an element of this name. */
bool ome_has(const char *text, const char *name);

/* A run of pages that stand for planes of the Image in the order of its axes. */
struct ome_run {
    uint64_t page;     /* the first one, from 0 */
    uint64_t first[3]; /* its slice, channel and frame */
    uint64_t count;    /* or as many as there are, if that is less */
};

/* Read the Image's next TiffData from *at on, NULL at first, and advance *at; false: there are no more. */
bool ome_next_run(const struct ome_image *image, const char **at, struct ome_run *run);

/* Whether TiffData names a file beside this one by its UUID; `name` gets the name. */
bool ome_names_file(const char *text, char *name, size_t size);

/* What becomes of an Image in an output. */
struct ome_output {
    const struct header *written;
    size_t image;            /* of the text, counted from 0: the others are left out */
    uint64_t channels;       /* samples and pages together */
    uint64_t slices, frames; /* pages */
    const char *order;       /* as of struct ome_image */
    const char *unit;        /* of the spacing, as a header names it; empty: it is not known */
    bool is_coloured;        /* by the palette of the input */
    bool is_several;         /* the text has other Images, which other elements may refer to */
    bool is_cut;             /* it has not all samples of the Image; or, of its volumes, */
    bool is_chosen;          /* this channel alone */
    uint64_t channel;
};

/* OME's name of the sample type; NULL: it has none. */
const char *ome_type(enum sample_type type);

/* The text for an output, to be released with mem_free; NULL with a fault. It is what `text` says, but for
   what does not hold any longer: other numbers, or elements left out, whose names are added to `dropped`
   unless it is NULL. Where `text` is NULL it is as short as the schema allows. */
char *ome_write(const char *text, const struct ome_output *output, struct dropped *dropped,
                struct fault *fault);

#endif
