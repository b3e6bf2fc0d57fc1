/* The loops of the CPU backend, built once for each instruction set (CPU_ISA) and work type (CPU_WORK). */
#include "cpu_kernels.h"

#include "cpu_doubles.h"
#include "cpu_field.h"
#include "cpu_real.h"

#include <stdatomic.h>
#include <string.h>

/* Samples of a row that are computed together: their chains stay in the first-level cache. */
#define BLOCK 1024

#include "cpu_write_behind.inl"
#include "cpu_field.inl"
#include "cpu_rows.inl"
#include "cpu_samples.inl"
#include "cpu_convert.inl"
#include "cpu_naive.inl"
#include "cpu_sweep.inl"
#include "cpu_chain.inl"
#include "cpu_direct.inl"
#include "cpu_line.inl"
#include "cpu_nearest.inl"
#include "cpu_picture.inl"
#include "cpu_faces.inl"
#include "cpu_tiles.inl"

/* Chains that do not wait for one another, as many as any instruction set's registers hold beside the
   factors: enough for two units that take up to six cycles. */
#define MULTIPLY_CHAINS 12

/* Some microseconds, where the instruction set has a fused multiply-add. */
#define MULTIPLY_ROUNDS 4096

/* Fused multiply-adds of values in registers and nothing else: the most that chains of taps could reach. */
static double multiply_add(double factor, uint64_t *count)
{
    const vector weight = vector_splat((real)factor), value = vector_splat((real)0x1p-20);
    vector sums[MULTIPLY_CHAINS];
    double total = 0.0;

    /* No two chains begin alike: they would be computed once. */
#pragma GCC unroll 12
    for (size_t k = 0; k < MULTIPLY_CHAINS; k++)
        sums[k] = vector_splat((real)factor + (real)k);
    for (size_t round = 0; round < MULTIPLY_ROUNDS; round++) {
#pragma GCC unroll 12
        for (size_t k = 0; k < MULTIPLY_CHAINS; k++)
            sums[k] = vector_fma(weight, value, sums[k]);
    }
#pragma GCC unroll 12
    for (size_t k = 0; k < MULTIPLY_CHAINS; k++) {
        for (size_t lane = 0; lane < LANES; lane++)
            total += (double)sums[k][lane];
    }
    *count += (uint64_t)MULTIPLY_ROUNDS * MULTIPLY_CHAINS * LANES;
    return total;
}

const struct cpu_kernels FN(cpu_kernels) = {
    .load = load_planes,
    .store = store_planes,
    .measure = measure_planes,
    .run =
        {
#define CPU_ENGINE(name) [CPU_ENGINE_##name] = run_##name,
#include "cpu_engines.def"
#undef CPU_ENGINE
        },
    .change_rows = change_planes,
    .tally_rows = OF_ISA(cpu_tally_rows),
    .multiply_add = multiply_add,
};
