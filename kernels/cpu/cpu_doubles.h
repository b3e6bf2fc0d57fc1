/* What is computed in double whatever the work type: the tallies of a file's rows, and samples that are put
   into a range. For the kernels of one instruction set (CPU_ISA). */
#ifndef CPU_DOUBLES_H
#define CPU_DOUBLES_H

#include "kernels/backend.h"
#include "cpu_real.h"
#include "cpu_threads.h"

/* How samples are written. */
struct cpu_writing {
    const struct encoding *encoding;
    struct stretch stretch;
    struct sample_limits limits, stretched; /* of values of the work type, and of what is stretched */
};

/* Stretch and write values, which are overwritten, and count what becomes of them. */
void OF_ISA(cpu_put_stretched)(const struct cpu_writing *writing, double *values, size_t count,
                               unsigned char *samples, struct outcomes *outcomes);

/* tally_rows of struct cpu_kernels. */
void OF_ISA(cpu_tally_rows)(const struct encoding *encoding, const struct shape *shape, const void *samples,
                            size_t planes, struct tally *rows, const struct cpu_threads *threads);

#endif
