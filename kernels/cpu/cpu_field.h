/* Fields in the memory of the process, and the threads that share loops over their samples. */
#ifndef CPU_FIELD_H
#define CPU_FIELD_H

#include "base/size.h"
#include "base/threads.h"
#include "kernels/backend.h"

/* Planes in the memory of the process, each in a slot: channels, in these rows, in these samples, without
   gaps. The slots are a ring: planes go on in the first slot after the last one, so that a field slides along
   the grid without moving a sample. */
struct field {
    struct shape shape; /* of the whole grid */
    enum work_type work;
    struct range planes; /* that it holds */
    size_t start;        /* slot of the first of them */
    size_t pitch;        /* samples from one slot to the next, a gap included */
    void *samples;       /* of the work type, or narrow ones as files have them; slot by slot */
};

/* Bytes of a sample of such fields. */
static inline size_t sample_bytes(const struct shape *shape, enum work_type work)
{
    return sample_size(shape_sample(shape, work));
}

/* Samples in a number of planes. */
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

/* Where a row of a field begins, in samples. */
static inline size_t row_place(const struct field *field, size_t plane, unsigned channel, size_t row)
{
    const struct shape *shape = &field->shape;

    return slot_in(field, plane) * field->pitch + (channel * shape->rows + row) * shape->nx;
}

/* The same in memory, whatever the samples are. */
static inline void *row_bytes_of(const struct field *field, size_t plane, unsigned channel, size_t row)
{
    return (char *)field->samples +
           row_place(field, plane, channel, row) * sample_bytes(&field->shape, field->work);
}

/* A row of a field or of a file. Loops over rows count through planes, in these channels or groups of
   channels, and in these rows. */
struct place {
    size_t plane, row;
    unsigned channel;
};

static inline struct place place_of(size_t index, size_t channels, size_t rows)
{
    return (struct place){index / rows / channels, index % rows, (unsigned)(index / rows % channels)};
}

/* ---- threads that share a loop over samples ---- */

/* Some or all of a device's threads; the caller is always among them. */
struct cpu_threads {
    struct pool *pool; /* may be NULL for one member */
    unsigned members;
};

/* Do all turns of a loop, `together` at a time: who is free takes the next ones. */
static inline void cpu_threads_share(const struct cpu_threads *threads, size_t turns, size_t together,
                                     pool_work *work, void *context)
{
    pool_share(threads->pool, threads->members, turns, together, work, context);
}

/* The same for many turns that are alike: four shares for each member, so that others take what is left to
   one that is held up. */
static inline void cpu_threads_share_evenly(const struct cpu_threads *threads, size_t turns, pool_work *work,
                                            void *context)
{
    size_t shares = (size_t)threads->members * 4;

    cpu_threads_share(threads, turns, turns / shares + 1, work, context);
}

/* Add what became of some samples: once for each share of a loop, so that atomics cost nothing. */
static inline void cpu_add_outcomes(struct outcomes *all, const struct outcomes *more)
{
    __atomic_fetch_add(&all->outside, more->outside, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->missing, more->missing, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->strays, more->strays, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->nans, more->nans, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->below, more->below, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->above, more->above, __ATOMIC_RELAXED);
}

#endif
