/* Transposing of a volume whose file has the slowest axis fastest: all samples are read and held, then given
 * plane by plane. */
#ifndef TRANSPOSE_H
#define TRANSPOSE_H

#include "base/diag.h"
#include "base/spool.h"

#include <stdbool.h>
#include <stddef.h>

struct transpose;

/* The grid as it is to be read: planes of rows of columns. The file has the planes fastest. */
struct transpose_shape {
    size_t columns, rows, planes;
    size_t sample_bytes;
};

/* A function that reads exactly the next `size` bytes of the file. */
typedef bool (*transpose_reader)(void *context, void *bytes, size_t size, struct fault *fault);

/* Prepare to transpose. Memory for samples is taken only at the first read. */
bool transpose_create(struct transpose **transpose, const struct transpose_shape *shape, struct fault *fault);

/* Bytes of memory besides the samples that are held. */
size_t transpose_bytes(const struct transpose *transpose);

/* Hold samples in a spool instead of memory; call it before the first are read. */
void transpose_hold_in_spool(struct transpose *transpose, const struct spool *spool);

/* Read the next planes; the first call reads the whole file. */
bool transpose_read(struct transpose *transpose, void *samples, size_t planes, transpose_reader read,
                    void *context, struct fault *fault);

/* NULL is fine. */
void transpose_free(struct transpose *transpose);

#endif
