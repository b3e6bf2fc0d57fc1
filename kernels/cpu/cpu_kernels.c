/* The loops of the CPU backend, built once for each instruction set (CPU_ISA) and work type (CPU_WORK). */
#include "cpu_kernels.h"

#include "cpu_doubles.h"
#include "cpu_field.h"
#include "cpu_real.h"

#include <stdatomic.h>
#include <string.h>

/* Samples of a row that are computed together: their chains stay in the first-level cache. */
#define BLOCK 1024

#include "cpu_axis.inl"
#include "cpu_pump.inl"
#include "cpu_outcome.inl"
#include "cpu_field.inl"
#include "cpu_rows.inl"
#include "cpu_samples.inl"
#include "cpu_convert.inl"
#include "cpu_naive.inl"
#include "cpu_sweep.inl"
#include "cpu_chain.inl"
#include "cpu_multiply.inl"
#include "cpu_direct.inl"
#include "cpu_line.inl"
#include "cpu_glide.inl"
#include "cpu_star.inl"
#include "cpu_box.inl"
#include "cpu_picture.inl"
#include "cpu_tiles.inl"

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
