/* Chains of constant weights over the rows of a tile: the sums of a vector of samples stay in registers from
   the first tap to the last. */

/* Vectors of sums that are open at once: enough to hide how long an addition takes, few enough for registers.
 */
#define OPEN_SUMS 8

struct chain {
    size_t taps;
    const real *weights;
    const real **bases; /* what each tap reads for the first sample of the first row */
};

/* So many vectors at once, by a chain of any length. */
ISA_INLINE void chain_group(size_t vectors, const struct chain *chain, size_t shift, real *out)
{
    vector sums[OPEN_SUMS], weight = vector_splat(chain->weights[0]);
    const real *values = chain->bases[0] + shift;

#pragma GCC unroll 8
    for (size_t i = 0; i < vectors; i++)
        sums[i] = weight * vector_load(values + i * LANES);
    for (size_t k = 1; k < chain->taps; k++) {
        weight = vector_splat(chain->weights[k]);
        values = chain->bases[k] + shift;
#pragma GCC unroll 8
        for (size_t i = 0; i < vectors; i++)
            sums[i] = vector_fma(weight, vector_load(values + i * LANES), sums[i]);
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < vectors; i++)
        vector_store(out + shift + i * LANES, sums[i]);
}

static void chain_any(const struct chain *chain, size_t shift, size_t count, real *out)
{
    size_t end = shift + count;

    for (; shift + OPEN_SUMS * LANES <= end; shift += OPEN_SUMS * LANES)
        chain_group(OPEN_SUMS, chain, shift, out);
    for (; shift + OPEN_SUMS / 2 * LANES <= end; shift += OPEN_SUMS / 2 * LANES)
        chain_group(OPEN_SUMS / 2, chain, shift, out);
    for (; shift < end; shift += LANES)
        chain_group(1, chain, shift, out);
}

/* The same for a length that the compiler knows. */
ISA_INLINE void chain_fixed(size_t taps, const struct chain *chain, size_t pitch, size_t rows, size_t count,
                            real *out, struct write_behind *behind)
{
    vector weights[MOST_FIXED_TAPS];
    const real *bases[MOST_FIXED_TAPS];

#pragma GCC unroll 9
    for (size_t k = 0; k < taps; k++) {
        weights[k] = vector_splat(chain->weights[k]);
        bases[k] = chain->bases[k];
    }
    for (size_t row = 0; row < rows; row++) {
        for (size_t x = row * pitch; x < row * pitch + count; x += LANES) {
            vector sum = weights[0] * vector_load(bases[0] + x);
#pragma GCC unroll 9
            for (size_t k = 1; k < taps; k++)
                sum = vector_fma(weights[k], vector_load(bases[k] + x), sum);
            vector_store(out + x, sum);
        }
        write_behind_once(behind);
    }
}

/* `rows` rows of `count` samples, a multiple of LANES, at a distance of pitch. */
static void chain_rows(const struct chain *chain, size_t pitch, size_t rows, size_t count, real *out,
                       struct write_behind *behind)
{
    switch (chain->taps) {
#define FIXED(taps)                                                                                          \
    case taps:                                                                                               \
        chain_fixed(taps, chain, pitch, rows, count, out, behind);                                           \
        break;
        FIXED(1)
        FIXED(2)
        FIXED(3)
        FIXED(4)
        FIXED(5)
        FIXED(6)
        FIXED(7)
        FIXED(8)
        FIXED(9)
#undef FIXED
    case 0:
        for (size_t row = 0; row < rows; row++)
            memset(out + row * pitch, 0, count * sizeof *out);
        break;
    default:
        for (size_t row = 0; row < rows; row++) {
            chain_any(chain, row * pitch, count, out);
            write_behind_once(behind);
        }
    }
}
