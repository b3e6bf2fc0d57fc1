/* What becomes of samples between files and fields, counted by threads side by side. */

struct counters {
    atomic_uint_least64_t strays, nans, below, above;
};

static void add_to_counters(struct counters *counters, const struct outcomes *outcomes)
{
    atomic_fetch_add(&counters->strays, outcomes->strays);
    atomic_fetch_add(&counters->nans, outcomes->nans);
    atomic_fetch_add(&counters->below, outcomes->below);
    atomic_fetch_add(&counters->above, outcomes->above);
}

static void add_counters(struct outcomes *outcomes, struct counters *counters)
{
    outcomes->strays += atomic_load(&counters->strays);
    outcomes->nans += atomic_load(&counters->nans);
    outcomes->below += atomic_load(&counters->below);
    outcomes->above += atomic_load(&counters->above);
}

/* Among samples as the file has them: what is finite there may be infinite in the work type. */
#define DEFINE_COUNT_STRAYS(type, bits, infinity)                                                            \
    static uint64_t count_strays_##type(const void *samples, size_t count, bool swapped)                     \
    {                                                                                                        \
        const uint##bits##_t *from = samples;                                                                \
        uint##bits##_t strays = 0;                                                                           \
        for (size_t i = 0; i < count; i++) {                                                                 \
            uint##bits##_t sample = from[i];                                                                 \
            sample = swapped ? swap_bits_##bits(sample) : sample;                                            \
            strays += (sample & (infinity)) == (infinity);                                                   \
        }                                                                                                    \
        return strays;                                                                                       \
    }
DEFINE_COUNT_STRAYS(f32, 32, ARITH_INFINITY_F32)
DEFINE_COUNT_STRAYS(f64, 64, ARITH_INFINITY_F64)
#undef DEFINE_COUNT_STRAYS

/* All channels of a row of a file. */
static uint64_t count_strays(const struct encoding *encoding, const void *samples, size_t count)
{
    switch (encoding->type) {
    case SAMPLE_F32:
        return count_strays_f32(samples, count, encoding->swapped);
    case SAMPLE_F64:
        return count_strays_f64(samples, count, encoding->swapped);
    default:
        return 0;
    }
}
