/* Fields in the memory of the process: where their planes and rows stand. */
#ifndef CPU_FIELD_H
#define CPU_FIELD_H

#include "base/size.h"
#include "kernels/backend.h"

/* Planes in memory: plane, channel, row, x, without gaps but those between planes. Behind the last slot they
   go on at the first one, so that a field slides without moving them. */
struct field {
    struct shape shape;
    enum work_type work;
    struct range planes;
    size_t start; /* slot of the first of them */
    size_t pitch; /* samples from one slot to the next */
    void *samples;
};

static inline size_t samples_of(const struct shape *shape, size_t planes)
{
    return planes * shape->rows * shape->channels * shape->nx;
}

/* The slot of a plane of a field. */
static inline size_t slot_in(const struct field *field, size_t plane)
{
    size_t slot = field->start + (plane - field->planes.first);

    return slot < field->planes.count ? slot : slot - field->planes.count;
}

/* A row of a field or of a file: channels, or groups of them, follow one another in a plane. */
struct place {
    size_t plane, row;
    unsigned channel;
};

static inline struct place place_of(size_t index, size_t channels, size_t rows)
{
    return (struct place){index / rows / channels, index % rows, (unsigned)(index / rows % channels)};
}

#endif
