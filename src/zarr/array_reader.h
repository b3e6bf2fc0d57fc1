/* Reading boxes of an array of Zarr.

   Along the slowest axis of space, chunks make shelves: all chunks that have the same planes, or several such
   layers if there are few chunks in one. Samples of the shelf that was read last, as far as the box needs it,
   are held. So whoever reads planes in order has each chunk read and decoded once, by all threads, and memory
   is bounded by the shelf. */
#ifndef ARRAY_READER_H
#define ARRAY_READER_H

#include "model/region.h"
#include "array.h"

#include <stdbool.h>
#include <stddef.h>

#define ARRAY_NO_AXIS ARRAY_MOST_AXES

struct array_reader;

struct array_reader_request {
    const struct array *array;
    const struct store *store; /* stays open */
    const char *folder;        /* the keys' beginning, as of array_key; stays with the caller */
    size_t space[3];           /* which axis of the array is x, y and z; ARRAY_NO_AXIS: none */
    size_t threads;            /* that decode */
};

bool array_reader_open(struct array_reader **reader, const struct array_reader_request *request,
                       struct fault *fault);
void array_reader_close(struct array_reader *reader); /* NULL is fine */

/* Memory that it takes to read boxes whose planes have these extents along x and y. */
size_t array_reader_bytes(const struct array_reader *reader, size_t nx, size_t ny);

/* Read a box, packed and in this machine's byte order. Where it goes past the end of an axis, it goes on at
   its beginning; it is no longer than the axis. Axes that are not in space make volumes, the last of these
   axes fastest. Several threads may read, but take turns. */
bool array_reader_read(struct array_reader *reader, void *samples, size_t volume, const struct region *box,
                       struct fault *fault);

#endif
