/* Fused multiply-adds of values in registers and nothing else: the most that chains of taps could reach. */

/* Chains that do not wait for one another, as many as any instruction set's registers hold beside the
   factors: enough for two units that take up to six cycles. */
#define MULTIPLY_CHAINS 12

/* Some microseconds, where the instruction set has a fused multiply-add. */
#define MULTIPLY_ROUNDS 4096

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
