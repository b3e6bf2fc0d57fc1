/* Loops that compute in double whatever the work type is: the tallies of a file's rows, and samples that are
   put into a range. Both work types' kernels of one instruction set (CPU_ISA) share them. */
#ifndef CPU_DOUBLES_H
#define CPU_DOUBLES_H

#include "cpu_field.h"
#include "cpu_vector.h"

/* How samples are written. */
struct cpu_writing {
    const struct encoding *encoding;
    struct stretch stretch;
    struct sample_limits limits;    /* values of the work type beyond them are cut off */
    struct sample_limits stretched; /* likewise of values that are stretched */
};

/* Stretch and write values, which are overwritten, and count what becomes of some of them. */
void OF_ISA(cpu_put_stretched)(const struct cpu_writing *writing, double *values, size_t count,
                               struct range counted, unsigned char *samples, struct outcomes *outcomes);

/* tally_rows of struct cpu_kernels. */
void OF_ISA(cpu_tally_rows)(const struct encoding *encoding, const struct shape *shape, const void *samples,
                            size_t planes, struct tally *rows, const struct cpu_threads *threads);

#endif
