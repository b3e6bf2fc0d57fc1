/* The work type that a unit is built for (CPU_WORK: f32 or f64), its arithmetic, and the names of what a unit
   shows to others. */
#ifndef CPU_REAL_H
#define CPU_REAL_H

#include "model/arith.h"
#include "cpu_isa.h"

#define CPU_JOIN_(a, b) a##_##b
#define CPU_JOIN(a, b)  CPU_JOIN_(a, b)

/* A name of the work type, one of the instruction set (CPU_ISA), and one of both: FN(cpu_kernels) is
   cpu_kernels_v3_f32. */
#define OF_WORK(name) CPU_JOIN(name, CPU_WORK)
#define OF_ISA(name)  CPU_JOIN(name, CPU_ISA)
#define FN(name)      CPU_JOIN(OF_ISA(name), CPU_WORK)

/* A counter is as wide as a value, so that a vector of comparisons is added to one of counts as it stands. */
typedef float real_f32;
typedef double real_f64;
typedef uint32_t counter_f32;
typedef uint64_t counter_f64;

typedef OF_WORK(real) real;
typedef OF_WORK(counter) counter;
typedef OF_WORK(isa_vector) vector;

/* A vector where samples stand, aligned like a sample. */
typedef vector stored_vector __attribute__((aligned(sizeof(real)), may_alias));

/* Samples a vector. */
#define LANES (VECTOR_BYTES / sizeof(real))

#define vector_fma    OF_WORK(isa_fma)
#define vector_stream OF_WORK(isa_stream)

ISA_INLINE vector vector_load(const real *samples)
{
    return *(const stored_vector *)samples;
}

ISA_INLINE void vector_store(real *samples, vector values)
{
    *(stored_vector *)samples = values;
}

ISA_INLINE vector vector_splat(real value)
{
    return value - (vector){(real)0};
}

#define real_cover            OF_WORK(arith_cover)
#define real_fma              OF_WORK(arith_fma)
#define real_gamma_scaled     OF_WORK(arith_gamma_scaled)
#define real_pm1              OF_WORK(arith_pm1)
#define real_pm1_joint        OF_WORK(arith_pm1_joint)
#define real_pm2              OF_WORK(arith_pm2)
#define real_pm2_joint        OF_WORK(arith_pm2_joint)
#define real_react            OF_WORK(arith_react)
#define real_sqrt             OF_WORK(arith_sqrt)
#define real_srgb_from_linear OF_WORK(arith_srgb_from_linear)
#define real_srgb_to_linear   OF_WORK(arith_srgb_to_linear)
#define real_tanh             OF_WORK(arith_tanh)
#define real_uncovered        OF_WORK(arith_uncovered)

#endif
