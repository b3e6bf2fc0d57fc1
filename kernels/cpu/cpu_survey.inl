/* The sample types as a list for generated code, their byte swaps, and the tallies of rows of a file. */

#define SAMPLE_KINDS(X)                                                                                      \
    X(u8, uint8_t, 8)                                                                                        \
    X(i8, int8_t, 8)                                                                                         \
    X(u16, uint16_t, 16)                                                                                     \
    X(i16, int16_t, 16)                                                                                      \
    X(u32, uint32_t, 32)                                                                                     \
    X(i32, int32_t, 32)                                                                                      \
    X(f32, float, 32)                                                                                        \
    X(f64, double, 64)

static uint8_t swap_bits_8(uint8_t bits)
{
    return bits;
}

static uint16_t swap_bits_16(uint16_t bits)
{
    return __builtin_bswap16(bits);
}

static uint32_t swap_bits_32(uint32_t bits)
{
    return __builtin_bswap32(bits);
}

static uint64_t swap_bits_64(uint64_t bits)
{
    return __builtin_bswap64(bits);
}

#define DEFINE_SWAP(type, stored, bits)                                                                      \
    static stored swap_##type(stored value)                                                                  \
    {                                                                                                        \
        uint##bits##_t pattern;                                                                              \
        memcpy(&pattern, &value, sizeof pattern);                                                            \
        pattern = swap_bits_##bits(pattern);                                                                 \
        memcpy(&value, &pattern, sizeof value);                                                              \
        return value;                                                                                        \
    }
SAMPLE_KINDS(DEFINE_SWAP)
#undef DEFINE_SWAP

#define DEFINE_READ(type, stored, bits)                                                                      \
    static void read_##type(const void *samples, size_t stride, size_t count, bool swapped, double *values)  \
    {                                                                                                        \
        const stored *from = samples;                                                                        \
        for (size_t i = 0; i < count; i++)                                                                   \
            values[i] = (double)(swapped ? swap_##type(from[i * stride]) : from[i * stride]);                \
    }
SAMPLE_KINDS(DEFINE_READ)
#undef DEFINE_READ

/* Sums of one leaf. NaNs, and what fills the leaf up, count as zeros. */
static void add_leaf_sums(const double *values, size_t count, struct tally *tally)
{
    double sum[ARITH_LEAF], squares[ARITH_LEAF], energy[ARITH_LEAF];
    size_t rest = (ARITH_LEAF - count) * sizeof(double);
    double anchor = tally->anchor;

    for (size_t i = 0; i < count; i++) {
        double value = values[i] == values[i] ? values[i] : 0.0;
        double deviation = values[i] == values[i] ? values[i] - anchor : 0.0;
        sum[i] = deviation;
        squares[i] = deviation * deviation;
        energy[i] = value * value;
    }
    memset(sum + count, 0, rest);
    memset(squares + count, 0, rest);
    memset(energy + count, 0, rest);
    tally->sum += arith_fold_leaf(sum);
    tally->squares += arith_fold_leaf(squares);
    tally->energy += arith_fold_leaf(energy);
}

static void add_extremes(const double *values, size_t count, struct tally *tally)
{
    double min = tally->min, max = tally->max;
    uint64_t nans = 0;

    /* A NaN compares false, and so it never becomes an extreme. */
    for (size_t i = 0; i < count; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
        nans += values[i] != values[i];
    }
    /* Adding zero makes −0 a 0, so that it does not matter which of the two came first. */
    tally->min = min + 0.0;
    tally->max = max + 0.0;
    tally->nans += nans;
    tally->count += count - nans;
}

static void survey_row(const struct encoding *encoding, const unsigned char *samples, size_t count,
                       struct tally *tally)
{
    static void (*const read[SAMPLE_TYPES])(const void *, size_t, size_t, bool, double *) = {
        [SAMPLE_U8] = read_u8,   [SAMPLE_I8] = read_i8,   [SAMPLE_U16] = read_u16, [SAMPLE_I16] = read_i16,
        [SAMPLE_U32] = read_u32, [SAMPLE_I32] = read_i32, [SAMPLE_F32] = read_f32, [SAMPLE_F64] = read_f64,
    };
    size_t pixel = encoding->channels * sample_size(encoding->type);
    double values[ARITH_LEAF];

    for (size_t begin = 0; begin < count; begin += ARITH_LEAF) {
        size_t length = least(ARITH_LEAF, count - begin);
        read[encoding->type](samples + begin * pixel, encoding->channels, length, encoding->swapped, values);
        add_leaf_sums(values, length, tally);
        add_extremes(values, length, tally);
    }
}

/* Planes of a file under survey. */
struct surveying {
    const struct encoding *encoding;
    const struct shape *shape;
    const unsigned char *samples;
    struct tally *tallies; /* one a row */
};

static void survey_some(void *context, struct range rows, unsigned member)
{
    const struct surveying *surveying = context;
    const struct shape *shape = surveying->shape;
    unsigned channels = surveying->encoding->channels;
    size_t sample = sample_size(surveying->encoding->type), row_bytes = shape->nx * channels * sample;

    (void)member;
    for (size_t i = rows.first; i < rows.first + rows.count; i++) {
        struct place place = place_of(i, channels, shape->rows);
        survey_row(surveying->encoding,
                   surveying->samples + (place.plane * shape->rows + place.row) * row_bytes +
                       place.channel * sample,
                   shape->nx, &surveying->tallies[i]);
    }
}

static void survey_rows(const struct encoding *encoding, const struct shape *shape, const void *samples,
                        size_t planes, struct tally *rows, const struct cpu_crew *crew)
{
    struct surveying surveying = {encoding, shape, samples, rows};

    cpu_team_share_evenly(crew, planes * encoding->channels * shape->rows, survey_some, &surveying);
}
