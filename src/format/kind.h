/* Kinds of files that are neither raw samples nor pictures of ours: known by how they begin, or by their
 * names. */
#ifndef KIND_H
#define KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many bytes from the start of a file are looked at. */
#define KIND_BYTES 4096

/* Samples that follow a header as they are. */
struct kind_samples {
    uint64_t at; /* bytes before the first */
    bool big;    /* big-endian, where they have more than a byte */
};

struct kind {
    const char *name;    /* with its article: "a NIfTI-1 file" */
    const char *advice;  /* what to do about samples of which it is not clear where they begin */
    const char *endings; /* of names, as ".tif .tiff" */
    size_t at;           /* where its mark stands */
    const char *mark;
    size_t mark_size;
    bool is_png; /* which imgheat writes */

    /* False: the samples do not follow as they are, or not as the bytes seen can tell. NULL: never. */
    bool (*find)(const unsigned char *start, size_t size, struct kind_samples *samples);
};

/* NULL: none of them. */
const struct kind *kind_of_start(const unsigned char *start, size_t size);
const struct kind *kind_of_name(const char *path);

/* "it is a NIfTI-1 file: --skip 352 passes over its header", or what else to do. Less than KIND_BYTES are all
 * bytes of a file. Returns text. */
const char *kind_advise(const struct kind *kind, const unsigned char *start, size_t size, char *text,
                        size_t text_size);

#endif
