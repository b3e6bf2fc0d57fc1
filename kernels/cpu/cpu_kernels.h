/* The loops of the CPU backend, one set of them for each instruction set that they are built for. */
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H

#include "backend.h"

/* Planes in memory: plane, channel, row, x, without gaps. */
struct field {
    struct shape shape;
    enum work_type work;
    struct range planes;
    void *samples;
};

/* All take planes inside the field and use `threads` threads; none can fail. */
struct cpu_kernels {
    const char *name;

    void (*load)(struct field *field, const struct encoding *encoding, const void *samples,
                 struct range planes, int threads);

    /* Returns how many NaNs became 0. */
    uint64_t (*store)(const struct field *field, const struct encoding *encoding, void *samples,
                      struct range planes, int threads);
    void (*advance)(const struct op *op, const struct field *from, const struct field *kept, struct field *to,
                    struct range planes, int threads);

    /* Row sums of (a − b)² of one plane: sums[channel · rows + row]. */
    void (*change_rows)(const struct field *a, const struct field *b, unsigned channels, size_t plane,
                        double *sums, int threads);

    /* Tallies of each row of one packed plane: rows[channel · shape.rows + row], whose anchors are set. */
    void (*survey_rows)(const struct encoding *encoding, const struct shape *shape, const void *samples,
                        struct tally *rows, int threads);
};

extern const struct cpu_kernels cpu_kernels_baseline;
extern const struct cpu_kernels cpu_kernels_v3;

#endif
