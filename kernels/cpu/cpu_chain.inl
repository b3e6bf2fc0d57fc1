/* Chains of constant weights over the rows of a tile: the sums of a vector of samples stay in registers from
   the first tap to the last. */

typedef FN(isa_vector) FN(vector);

/* The same where samples stand, aligned like a sample. */
typedef FN(isa_vector) FN(stored_vector) __attribute__((aligned(sizeof(REAL)), may_alias));

/* Samples a vector. */
#define LANES (VECTOR_BYTES / sizeof(REAL))

/* Vectors of sums that are open at once: enough to hide how long an addition takes, few enough for registers.
 */
#define OPEN_SUMS 8

struct FN(chain) {
    size_t taps;
    const REAL *weights;
    const REAL **bases; /* what each tap reads for the first sample of the first row */
};

ISA_INLINE FN(vector) FN(vector_load)(const REAL *samples)
{
    return *(const FN(stored_vector) *)samples;
}

ISA_INLINE void FN(vector_store)(REAL *samples, FN(vector) values)
{
    *(FN(stored_vector) *)samples = values;
}

ISA_INLINE FN(vector) FN(vector_splat)(REAL value)
{
    return value - (FN(vector)){(REAL)0};
}

/* So many vectors at once, by a chain of any length. */
ISA_INLINE void FN(chain_group)(size_t vectors, const struct FN(chain) * chain, size_t shift, REAL *out)
{
    FN(vector) sums[OPEN_SUMS], weight = FN(vector_splat)(chain->weights[0]);
    const REAL *values = chain->bases[0] + shift;

#pragma GCC unroll 8
    for (size_t i = 0; i < vectors; i++)
        sums[i] = weight * FN(vector_load)(values + i * LANES);
    for (size_t k = 1; k < chain->taps; k++) {
        weight = FN(vector_splat)(chain->weights[k]);
        values = chain->bases[k] + shift;
#pragma GCC unroll 8
        for (size_t i = 0; i < vectors; i++)
            sums[i] = FN(isa_fma)(weight, FN(vector_load)(values + i * LANES), sums[i]);
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < vectors; i++)
        FN(vector_store)(out + shift + i * LANES, sums[i]);
}

static void FN(chain_any)(const struct FN(chain) * chain, size_t shift, size_t count, REAL *out)
{
    size_t end = shift + count;

    for (; shift + OPEN_SUMS * LANES <= end; shift += OPEN_SUMS * LANES)
        FN(chain_group)(OPEN_SUMS, chain, shift, out);
    for (; shift + OPEN_SUMS / 2 * LANES <= end; shift += OPEN_SUMS / 2 * LANES)
        FN(chain_group)(OPEN_SUMS / 2, chain, shift, out);
    for (; shift < end; shift += LANES)
        FN(chain_group)(1, chain, shift, out);
}

/* The same for a length that the compiler knows. */
ISA_INLINE void FN(chain_fixed)(size_t taps, const struct FN(chain) * chain, size_t pitch, size_t rows,
                                size_t count, REAL *out, struct pump *pump)
{
    FN(vector) weights[MOST_FIXED_TAPS];
    const REAL *bases[MOST_FIXED_TAPS];

#pragma GCC unroll 9
    for (size_t k = 0; k < taps; k++) {
        weights[k] = FN(vector_splat)(chain->weights[k]);
        bases[k] = chain->bases[k];
    }
    for (size_t row = 0; row < rows; row++) {
        for (size_t x = row * pitch; x < row * pitch + count; x += LANES) {
            FN(vector) sum = weights[0] * FN(vector_load)(bases[0] + x);
#pragma GCC unroll 9
            for (size_t k = 1; k < taps; k++)
                sum = FN(isa_fma)(weights[k], FN(vector_load)(bases[k] + x), sum);
            FN(vector_store)(out + x, sum);
        }
        pump_once(pump);
    }
}

/* `rows` rows of `count` samples, a multiple of LANES, at a distance of pitch. */
static void FN(chain_rows)(const struct FN(chain) * chain, size_t pitch, size_t rows, size_t count, REAL *out,
                           struct pump *pump)
{
    switch (chain->taps) {
#define FIXED(taps)                                                                                          \
    case taps:                                                                                               \
        FN(chain_fixed)(taps, chain, pitch, rows, count, out, pump);                                         \
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
            FN(chain_any)(chain, row * pitch, count, out);
            pump_once(pump);
        }
    }
}
