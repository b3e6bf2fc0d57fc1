/* The loops of the CPU backend, in one unit that is compiled once for each instruction set (CPU_ISA) and work
   type (CPU_WORK). cpu_device.c chooses among these units at run time. */
#include "cpu_kernels.h"

#include "cpu_doubles.h"
#include "cpu_vector.h"

#include <stdatomic.h>
#include <string.h>

/* Samples of a row that are computed together: their chains stay in the first-level cache. */
#define BLOCK 1024

#include "cpu_rows.inl"
#include "cpu_samples.inl"
#include "cpu_convert.inl"
#include "cpu_naive.inl"
#include "cpu_sweep.inl"
#include "cpu_chain.inl"
#include "cpu_direct.inl"
#include "cpu_line.inl"
#include "cpu_picture.inl"
#include "cpu_faces.inl"
#include "cpu_rank.inl"
#include "cpu_tiles.inl"

/* A pass by the engine of its tiling. */
static void run_sweep(struct cpu_sweep *sweep)
{
    static sweep_part *const parts[CPU_ENGINES] = {
        [CPU_ENGINE_RANK] = rank_part,     [CPU_ENGINE_PICTURE] = picture_part, [CPU_ENGINE_LINE] = line_part,
        [CPU_ENGINE_DIRECT] = direct_part, [CPU_ENGINE_STAR] = tiles_part,      [CPU_ENGINE_BOX] = tiles_part,
        [CPU_ENGINE_FACES] = tiles_part,   [CPU_ENGINE_TILES] = tiles_part,
    };

    if (sweep->tiling->engine == CPU_ENGINE_NAIVE) {
        share_rows(sweep, op_group_count(sweep->op), advance_rows);
    } else {
        struct cpu_sweep tiled = *sweep;
        struct field from = *sweep->from, to = *sweep->to;
        from.shape = cpu_tiling_shape(sweep->tiling, from.shape);
        to.shape = cpu_tiling_shape(sweep->tiling, to.shape);
        tiled.from = &from;
        tiled.to = &to;
        run_parts(&tiled, parts[sweep->tiling->engine]);
    }
    if (sweep->op->kind == OP_UNSHARP)
        share_rows(sweep, sweep->op->channels, sharpen_rows);
    share_rows(sweep, sweep->to->shape.channels - sweep->op->channels, keep_rows);
}

/* Independent chains: as many as any instruction set has registers for, besides the factors, and enough for
   two units with a latency of six cycles. */
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
    .run = run_sweep,
    .change_rows = change_planes,
    .tally_rows = OF_ISA(cpu_tally_rows),
    .multiply_add = multiply_add,
};
