/* Notes of a PNG: the ancillary chunks that still hold for a filtered copy of it, kept byte for byte. */
#ifndef PNG_NOTES_H
#define PNG_NOTES_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

enum png_notes_place { PNG_NOTES_BEFORE_PALETTE, PNG_NOTES_BEFORE_IMAGE, PNG_NOTES_AFTER_IMAGE };

struct png_note {
    struct png_note *next;
    enum png_notes_place place; /* where its file had it */
    char type[5];
    size_t size;
    unsigned char bytes[]; /* the chunk's data, without length, type and checksum */
};

/* In the order of the file; all zero but the name is empty. */
struct png_notes {
    const char *file_name; /* for messages */
    struct png_note *first, *last;
    size_t count, bytes;
    char damaged[5]; /* the first chunk that was to say what colours mean and could not be used; else empty */
};

/* Keep a copy of a chunk if a filtered picture can carry it on; false only when that is over a limit. */
bool png_notes_offer(struct png_notes *notes, const char *type, enum png_notes_place place, const void *bytes,
                     size_t size, struct fault *fault);

/* A chunk that cannot be used, and why. */
void png_notes_drop(struct png_notes *notes, const char *type, const char *reason);

/* The first note of a type, or NULL. */
const struct png_note *png_notes_find(const struct png_notes *notes, const char *type);

void png_notes_release(struct png_notes *notes);

#endif
