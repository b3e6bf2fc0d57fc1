/* Histories: by how much a stage with --until changed the samples, look by look. */
#ifndef HISTORY_H
#define HISTORY_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_KEPT 4096 /* the latest looks; the ones before them are counted alone */

struct history_look {
    uint64_t step;
    double change; /* RMS, of this step alone */
};

/* Begins as {0}. */
struct history {
    struct history_look *looks; /* in a ring */
    size_t room;
    uint64_t count; /* of all looks so far */
};

/* Room for that many looks, or for the latest of them. */
bool history_open(struct history *history, uint64_t most, struct fault *fault);
void history_add(struct history *history, uint64_t step, double change);

/* Looks that are kept; and one of them, the earliest first. */
size_t history_kept(const struct history *history);
struct history_look history_at(const struct history *history, size_t index);

void history_close(struct history *history);

#endif
