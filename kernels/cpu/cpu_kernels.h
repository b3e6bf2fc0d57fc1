/* The loops of the CPU backend, one set of them for each instruction set and work type that they are built
   for. */
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H

#include "cpu_field.h"
#include "cpu_tiling.h"

/* A pass over a field. It takes as many steps as its tiling says. */
struct cpu_sweep {
    const struct op *op;
    const struct cpu_tiling *tiling;
    const struct field *from;
    const struct field *kept; /* for ops that read it */
    struct field *to;
    struct range planes; /* of `to` */
    char *arenas;        /* one for each thread, one after another */
    size_t arena_bytes;  /* of each */
    struct cpu_threads threads;
    bool past_caches; /* the output is larger than the caches, so that nobody would find it there */
};

/* All take planes inside the field; none can fail. */
struct cpu_kernels {
    /* Planes of a file into a field, and back. Both add up what becomes of the samples; load looks for NaNs
       and infinities among the counted planes only. */
    void (*load)(struct field *field, const struct encoding *encoding, const void *samples,
                 struct range planes, struct range counted, const struct cpu_threads *threads,
                 struct outcomes *outcomes);
    void (*store)(const struct field *field, const struct encoding *encoding, void *samples,
                  struct range planes, const struct cpu_threads *threads, struct outcomes *outcomes);
    /* Widens the extremes by what store would write. */
    void (*measure)(const struct field *field, const struct encoding *encoding, struct range planes,
                    const struct cpu_threads *threads, struct extremes *extremes);

    /* A pass by the engine of its tiling. */
    void (*run)(struct cpu_sweep *sweep);

    /* Row sums of (a − b)²: sums[(plane · channels + channel) · rows + row], planes from the first of the
     * range. */
    void (*change_rows)(const struct field *a, const struct field *b, unsigned channels, bool missing,
                        struct range planes, double *sums, const struct cpu_threads *threads);

    /* Add each row of packed planes to its tally, whose anchor is set: rows[(plane · channels + channel) ·
       shape.rows + row]. The same for every work type. */
    void (*tally_rows)(const struct encoding *encoding, const struct shape *shape, const void *samples,
                       size_t planes, struct tally *rows, const struct cpu_threads *threads);

    /* A burst of fused multiply-adds of values in registers, added to *count. Returns what they come to:
       what nobody could ask for would not be computed. */
    double (*multiply_add)(double factor, uint64_t *count);
};

extern const struct cpu_kernels cpu_kernels_baseline_f32, cpu_kernels_baseline_f64;
extern const struct cpu_kernels cpu_kernels_v3_f32, cpu_kernels_v3_f64;
extern const struct cpu_kernels cpu_kernels_v4_f32, cpu_kernels_v4_f64;

#endif
