/* Ancillary chunks of a PNG. Those that still hold for a filtered picture are kept byte for byte. */
#ifndef PNG_CHUNKS_H
#define PNG_CHUNKS_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

enum png_chunks_section { PNG_CHUNKS_BEFORE_PALETTE, PNG_CHUNKS_BEFORE_IMAGE, PNG_CHUNKS_AFTER_IMAGE };

struct png_chunk {
    struct png_chunk *next;
    enum png_chunks_section section; /* where its file had it */
    char type[5];
    size_t size;
    unsigned char bytes[]; /* the chunk's data, without length, type and checksum */
};

/* A type of chunk that is left out. */
struct png_loss {
    char type[5];
    const char *damage; /* why the first of them could not be kept; NULL where only its kind was against it */
};

enum { PNG_LOSSES_MOST = 16 };

/* The kept chunks in the order of the file. All zero but the name is empty. */
struct png_chunks {
    /* Set before the first chunk is offered; it must outlive the list. */
    const char *file_name; /* for messages */
    struct png_chunk *first, *last;
    size_t count, bytes;
    char damaged[5]; /* the first chunk that may have said what colours mean and could not be used; else empty
                      */
    struct png_loss losses[PNG_LOSSES_MOST]; /* the first types, as many as there is room for */
    size_t loss_count;
    size_t frames_lost; /* of an animation */
};

/* Keep a copy of a chunk if a filtered picture can carry it on; false only when that is over a limit. */
bool png_chunks_offer(struct png_chunks *chunks, const char *type, enum png_chunks_section section,
                      const void *bytes, size_t size, struct fault *fault);

/* Drop a chunk of which only the head is known, for a reason. It may have been about colours. */
void png_chunks_drop(struct png_chunks *chunks, const char *type, const char *damage);

/* List what was dropped in one line of text; empty if nothing was. */
void png_chunks_list_dropped(const struct png_chunks *chunks, char *text, size_t size);

/* The first chunk of a type, or NULL. */
const struct png_chunk *png_chunks_find(const struct png_chunks *chunks, const char *type);

/* Free the chunks; the lists of what was dropped stay. */
void png_chunks_release(struct png_chunks *chunks);

#endif
