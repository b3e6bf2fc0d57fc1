/* Encoding of a PNG: rows of samples go in, a complete file comes out. */
#ifndef PNG_ENCODER_H
#define PNG_ENCODER_H

#include "base/diag.h"
#include "base/file_out.h"
#include "png_chunks.h"

#include <stdbool.h>
#include <stddef.h>

struct png_encoder_picture {
    size_t width, height; /* each at most PNG_ENCODER_EXTENT_MOST */
    unsigned channels;    /* 1: gray, 2: gray and alpha, 3: RGB, 4: RGBA */
    unsigned depth;       /* bits a sample: 8 or 16 */
    double distance[2];   /* from sample to sample, to the right and down; told if they differ */
    double millimetres;   /* how many their unit is; 0: nobody knows */
    bool little_endian;   /* 16-bit samples come with the low byte first */
    int level;            /* of compression, 0 to 9; −1: the encoder's default */
    size_t threads;       /* at least 1; the file is the same for any */
    /* Written along; may be NULL, may grow until the end, must outlive the encoder. */
    const struct png_chunks *chunks;
};

#define PNG_ENCODER_EXTENT_MOST 0x7fffffff

struct png_encoder;

/* Write what comes before the image, with the chunks that came before the image in their own file. On failure
   nothing is left to free. The file stays the caller's, who completes it. */
bool png_encoder_begin(struct png_encoder **encoder, struct file_out *file,
                       const struct png_encoder_picture *picture, struct fault *fault);

/* The next rows from the top, packed, channels interleaved. The rows are copied. Some of the file may still
   be on its way when the call returns; what failed there is told by a later call. */
bool png_encoder_rows(struct png_encoder *encoder, const void *rows, size_t count, struct fault *fault);

/* After the last row: write the rest of the image, the chunks that came after it, and the end mark. */
bool png_encoder_end(struct png_encoder *encoder, struct fault *fault);

/* Release, ended or not; NULL is fine. */
void png_encoder_free(struct png_encoder *encoder);

#endif
