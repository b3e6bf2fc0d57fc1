/* The loops of the CPU backend, one set of them for each instruction set and work type that they are built
 * for. */
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H

#include "kernels/backend.h"
#include "cpu_field.h"
#include "cpu_threads.h"
#include "cpu_tiling.h"

/* A pass over a field. */
struct cpu_sweep {
    const struct op *op;
    const struct cpu_tiling *tiling; /* whose steps it takes */
    const struct field *from;
    const struct field *kept; /* the stage's input for OP_UNSHARP, which is naive's alone */
    struct field *to;
    struct range planes; /* of `to` */
    char *arenas;        /* one a thread, side by side */
    size_t arena_bytes;
    struct cpu_threads threads;
    bool past_caches; /* what is written is too large to be found in them */
};

typedef void cpu_run(const struct cpu_sweep *sweep);

/* All take planes inside the field; none can fail. */
struct cpu_kernels {
    /* Both add what becomes of the samples; strays are those of the counted planes. */
    void (*load)(struct field *field, const struct encoding *encoding, const void *samples,
                 struct range planes, struct range counted, const struct cpu_threads *threads,
                 struct outcomes *outcomes);
    void (*store)(const struct field *field, const struct encoding *encoding, void *samples,
                  struct range planes, const struct cpu_threads *threads, struct outcomes *outcomes);
    /* Widens the extremes by what store would write. */
    void (*measure)(const struct field *field, const struct encoding *encoding, struct range planes,
                    const struct cpu_threads *threads, struct extremes *extremes);

    cpu_run *run[CPU_ENGINES];

    /* Row sums of (a − b)²: sums[(plane · channels + channel) · rows + row], planes from the first of the
     * range. */
    void (*change_rows)(const struct field *a, const struct field *b, unsigned channels, struct range planes,
                        double *sums, const struct cpu_threads *threads);

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
