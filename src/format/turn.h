/* Turning: samples that a file has with the axes of a grid reversed, planes fastest, are held until all have
   come, and then given plane by plane. */
#ifndef TURN_H
#define TURN_H

#include "base/diag.h"
#include "base/spool.h"

#include <stdbool.h>
#include <stddef.h>

struct turn;

struct turn_shape {
    size_t columns, rows, planes;
    size_t sample_bytes;
};

/* The next bytes of the file, all of them. */
typedef bool (*turn_reader)(void *context, void *bytes, size_t size, struct fault *fault);

bool turn_create(struct turn **turn, const struct turn_shape *shape, struct fault *fault);

/* What it takes beside the samples that are held. */
size_t turn_bytes(const struct turn *turn);

/* Hold samples there, not in memory; before the first are read. */
void turn_hold_in_spool(struct turn *turn, const struct spool *spool);

/* The next planes; the first call reads the whole file. */
bool turn_read(struct turn *turn, void *samples, size_t planes, turn_reader read, void *context,
               struct fault *fault);

/* NULL is fine. */
void turn_free(struct turn *turn);

#endif
