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

/* The ranks of extremes; 0 where there is none yet. The least has the greatest complement. */
struct peaks {
    atomic_uint_least64_t least, greatest;
};

static void raise_peak(atomic_uint_least64_t *peak, uint64_t rank)
{
    uint_least64_t seen = atomic_load(peak);

    while (seen < rank && !atomic_compare_exchange_weak(peak, &seen, rank))
        ;
}

static void add_to_peaks(struct peaks *peaks, double least, double greatest)
{
    raise_peak(&peaks->least, ~arith_rank_f64(least));
    raise_peak(&peaks->greatest, arith_rank_f64(greatest));
}

static void add_peaks(struct extremes *extremes, struct peaks *peaks)
{
    double least, greatest;

    if (atomic_load(&peaks->greatest) == 0)
        return;
    least = arith_ranked_f64(~atomic_load(&peaks->least));
    greatest = arith_ranked_f64(atomic_load(&peaks->greatest));
    extremes->least = extremes->any && extremes->least < least ? extremes->least : least;
    extremes->greatest = extremes->any && extremes->greatest > greatest ? extremes->greatest : greatest;
    extremes->any = true;
}

/* How samples are written. */
struct writing {
    const struct encoding *encoding;
    struct stretch stretch;
    struct sample_limits limits, stretched; /* of values of the work type, and of what is stretched */
};

static struct writing writing_of(const struct encoding *encoding, enum work_type work)
{
    return (struct writing){encoding, encoding_stretch(encoding), sample_limits(encoding->type, work),
                            encoding_stretched_limits(encoding)};
}

/* Whatever the work type, what is stretched is counted and written as doubles. */
static void count_outcomes_f64(const double *row, size_t count, const struct sample_limits *limits,
                               struct outcomes *outcomes);
static void put_values_f64(const struct encoding *encoding, const double *values, size_t count,
                           unsigned char *samples);

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
