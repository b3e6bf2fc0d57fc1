/* Samples of a file into rows of one work type and back: types, byte order, transfer curve, alpha. */

#define DEFINE_LOAD(type, stored, bits)                                                                      \
    static void FN(load_##type)(const void *samples, size_t stride, size_t count, bool swapped, REAL *row)   \
    {                                                                                                        \
        const stored *from = samples;                                                                        \
        if (swapped) {                                                                                       \
            for (size_t i = 0; i < count; i++)                                                               \
                row[i] = (REAL)swap_##type(from[i * stride]);                                                \
        } else {                                                                                             \
            for (size_t i = 0; i < count; i++)                                                               \
                row[i] = (REAL)from[i * stride];                                                             \
        }                                                                                                    \
    }
SAMPLE_KINDS(DEFINE_LOAD)
#undef DEFINE_LOAD

#define DEFINE_STORE(type, stored, bits)                                                                     \
    static void FN(store_##type)(const REAL *row, size_t stride, size_t count, bool swapped, void *samples)  \
    {                                                                                                        \
        stored *to = samples;                                                                                \
        for (size_t i = 0; i < count; i++)                                                                   \
            to[i * stride] = FN(arith_store_##type)(row[i]);                                                 \
        if (swapped) {                                                                                       \
            for (size_t i = 0; i < count; i++)                                                               \
                to[i * stride] = swap_##type(to[i * stride]);                                                \
        }                                                                                                    \
    }
SAMPLE_KINDS(DEFINE_STORE)
#undef DEFINE_STORE

static void FN(count_outcomes)(const REAL *row, size_t count, const struct sample_limits *limits,
                               struct outcomes *outcomes)
{
    COUNTER nans = 0, below = 0, above = 0;
    REAL low = (REAL)limits->low, high = (REAL)limits->high;

    for (size_t i = 0; i < count; i++) {
        nans += row[i] != row[i];
        below += row[i] < low;
        above += row[i] > high;
    }
    outcomes->nans += nans;
    outcomes->below += below;
    outcomes->above += above;
}

static void FN(decode_row)(REAL *row, size_t count, const struct encoding *encoding)
{
    REAL max = (REAL)sample_max(encoding->type);
    REAL exponent = (REAL)encoding->gamma;

    if (encoding->transfer == TRANSFER_SRGB) {
        for (size_t i = 0; i < count; i++)
            row[i] = FN(arith_srgb_to_linear)(row[i], max);
    } else if (encoding->transfer == TRANSFER_GAMMA) {
        for (size_t i = 0; i < count; i++)
            row[i] = FN(arith_gamma_scaled)(row[i], max, exponent);
    }
}

static void FN(encode_row)(REAL *row, size_t count, const struct encoding *encoding)
{
    REAL max = (REAL)sample_max(encoding->type);
    REAL exponent = (REAL)(1.0 / encoding->gamma);

    if (encoding->transfer == TRANSFER_SRGB) {
        for (size_t i = 0; i < count; i++)
            row[i] = FN(arith_srgb_from_linear)(row[i], max);
    } else if (encoding->transfer == TRANSFER_GAMMA) {
        for (size_t i = 0; i < count; i++)
            row[i] = FN(arith_gamma_scaled)(row[i], max, exponent);
    }
}

/* Colour as it stands: not times alpha, and not encoded. */
static void FN(scale_colour)(REAL *row, size_t count, const struct encoding *encoding)
{
    for (unsigned i = 0; i < encoding->scale_count; i++) {
        const struct scale *scale = &encoding->scales[i];
        for (uint64_t n = 0; n < scale->times; n++)
            FN(scale_row)((REAL)scale->factor, (REAL)scale->offset, row, count, row);
    }
}

static void FN(load_row)(const struct field *field, const struct encoding *encoding,
                         const unsigned char *samples, size_t plane, size_t row)
{
    static void (*const load[SAMPLE_TYPES])(const void *, size_t, size_t, bool, REAL *) = {
        [SAMPLE_U8] = FN(load_u8),   [SAMPLE_I8] = FN(load_i8),   [SAMPLE_U16] = FN(load_u16),
        [SAMPLE_I16] = FN(load_i16), [SAMPLE_U32] = FN(load_u32), [SAMPLE_I32] = FN(load_i32),
        [SAMPLE_F32] = FN(load_f32), [SAMPLE_F64] = FN(load_f64),
    };
    size_t nx = field->shape.nx;
    unsigned colours = encoding_colours(encoding);
    REAL max = (REAL)sample_max(encoding->type);

    for (unsigned channel = 0; channel < encoding->channels; channel++) {
        REAL *values = FN(row_of)(field, plane, channel, row);
        load[encoding->type](samples + channel * sample_size(encoding->type), encoding->channels, nx,
                             encoding->swapped, values);
        if (channel < colours) {
            FN(decode_row)(values, nx, encoding);
            FN(scale_colour)(values, nx, encoding);
        }
    }
    for (unsigned channel = encoding_work_channels(encoding); channel < field->shape.channels; channel++)
        memset(FN(row_of)(field, plane, channel, row), 0, nx * sizeof(REAL));
    if (!encoding->alpha || !encoding->premultiply)
        return;
    for (unsigned channel = 0; channel < colours; channel++) {
        REAL *colour = FN(row_of)(field, plane, channel, row);
        memcpy(FN(row_of)(field, plane, colours + 1 + channel, row), colour, nx * sizeof *colour);
        FN(cover_row)(colour, FN(row_of)(field, plane, colours, row), max, nx, colour);
    }
}

/* Colour of a block as it is written: divided by alpha where it was multiplied, scaled, and encoded. */
static void FN(settle_colour)(const struct field *field, const struct encoding *encoding, size_t plane,
                              unsigned channel, size_t row, struct range block, REAL *settled)
{
    const REAL *colour = FN(row_of)(field, plane, channel, row) + block.first;
    unsigned colours = encoding_colours(encoding);

    if (encoding->alpha && encoding->premultiply) {
        const REAL *alpha = FN(row_of)(field, plane, colours, row) + block.first;
        const REAL *separate = FN(row_of)(field, plane, colours + 1 + channel, row) + block.first;
        FN(uncover_row)
        (colour, separate, alpha, (REAL)sample_max(encoding->type), block.count, settled);
    } else {
        memcpy(settled, colour, block.count * sizeof *settled);
    }
    FN(scale_colour)(settled, block.count, encoding);
    FN(encode_row)(settled, block.count, encoding);
}

/* A block of a channel as it is to be written: where it stands, or settled in scratch. */
static const REAL *FN(values_of)(const struct field *field, const struct encoding *encoding, size_t plane,
                                 unsigned channel, size_t row, struct range block, REAL *scratch)
{
    unsigned colours = encoding_colours(encoding);

    if (channel >= colours ||
        (!encoding->premultiply && encoding->transfer == TRANSFER_NONE && encoding->scale_count == 0))
        return FN(row_of)(field, plane, channel, row) + block.first;
    FN(settle_colour)(field, encoding, plane, channel, row, block, scratch);
    return scratch;
}

static void FN(put_values)(const struct encoding *encoding, const REAL *values, size_t count,
                           unsigned char *samples)
{
    static void (*const store[SAMPLE_TYPES])(const REAL *, size_t, size_t, bool, void *) = {
        [SAMPLE_U8] = FN(store_u8),   [SAMPLE_I8] = FN(store_i8),   [SAMPLE_U16] = FN(store_u16),
        [SAMPLE_I16] = FN(store_i16), [SAMPLE_U32] = FN(store_u32), [SAMPLE_I32] = FN(store_i32),
        [SAMPLE_F32] = FN(store_f32), [SAMPLE_F64] = FN(store_f64),
    };

    store[encoding->type](values, encoding->channels, count, encoding->swapped, samples);
}

/* What is cut off is counted before it is: no store does that to floats. */
static void FN(put_stretched)(const struct writing *writing, const REAL *values, size_t count,
                              unsigned char *samples, struct outcomes *outcomes)
{
    const struct stretch *stretch = &writing->stretch;
    double stretched[BLOCK];

    for (size_t i = 0; i < count; i++)
        stretched[i] =
            arith_stretch_f64((double)values[i], stretch->low, stretch->span, stretch->least, stretch->width);
    count_outcomes_f64(stretched, count, &writing->stretched, outcomes);
    for (size_t i = 0; i < count; i++)
        stretched[i] = arith_clamp_f64(stretched[i], stretch->least, stretch->greatest);
    put_values_f64(writing->encoding, stretched, count, samples);
}

static void FN(store_row)(const struct field *field, const struct writing *writing, unsigned char *samples,
                          size_t plane, size_t row, struct outcomes *outcomes)
{
    const struct encoding *encoding = writing->encoding;
    size_t size = sample_size(encoding->type), nx = field->shape.nx;
    unsigned colours = encoding_colours(encoding);
    REAL scratch[BLOCK];

    for (unsigned channel = 0; channel < encoding->channels; channel++) {
        for (size_t begin = 0; begin < nx; begin += BLOCK) {
            struct range block = {begin, least(BLOCK, nx - begin)};
            const REAL *values = FN(values_of)(field, encoding, plane, channel, row, block, scratch);
            unsigned char *to = samples + (begin * encoding->channels + channel) * size;
            if (channel < colours && encoding->ranged) {
                FN(put_stretched)(writing, values, block.count, to, outcomes);
            } else {
                FN(put_values)(encoding, values, block.count, to);
                FN(count_outcomes)(values, block.count, &writing->limits, outcomes);
            }
        }
    }
}

/* Planes of a file on their way into a field or out of it. */
struct FN(transit) {
    const struct field *field;
    struct writing writing;
    unsigned char *samples;
    size_t first_plane, row_bytes;
    struct range counted; /* planes whose strays are looked for */
    struct counters counters;
};

static struct FN(transit) FN(transit_of)(const struct field *field, const struct encoding *encoding,
                                         const void *samples, struct range planes)
{
    return (struct FN(transit)){.field = field,
                                .writing = writing_of(encoding, field->work),
                                .samples = (unsigned char *)samples,
                                .first_plane = planes.first,
                                .row_bytes =
                                    field->shape.nx * encoding->channels * sample_size(encoding->type)};
}

static void FN(load_rows)(void *context, struct range rows, unsigned member)
{
    struct FN(transit) *transit = context;
    const struct encoding *encoding = transit->writing.encoding;
    size_t in_plane = transit->field->shape.rows, nx = transit->field->shape.nx;
    struct outcomes outcomes = {0};

    (void)member;
    for (size_t i = rows.first; i < rows.first + rows.count; i++) {
        const unsigned char *samples = transit->samples + i * transit->row_bytes;
        size_t plane = transit->first_plane + i / in_plane;
        FN(load_row)(transit->field, encoding, samples, plane, i % in_plane);
        if (plane - transit->counted.first < transit->counted.count)
            outcomes.strays += count_strays(encoding, samples, nx * encoding->channels);
    }
    add_to_counters(&transit->counters, &outcomes);
}

static void FN(load_planes)(struct field *field, const struct encoding *encoding, const void *samples,
                            struct range planes, struct range counted, const struct cpu_crew *crew,
                            struct outcomes *outcomes)
{
    struct FN(transit) transit = FN(transit_of)(field, encoding, samples, planes);

    transit.counted = counted;
    cpu_team_share_evenly(crew, planes.count * field->shape.rows, FN(load_rows), &transit);
    add_counters(outcomes, &transit.counters);
}

static void FN(store_rows)(void *context, struct range rows, unsigned member)
{
    struct FN(transit) *transit = context;
    size_t in_plane = transit->field->shape.rows;
    struct outcomes outcomes = {0};

    (void)member;
    for (size_t i = rows.first; i < rows.first + rows.count; i++)
        FN(store_row)
    (transit->field, &transit->writing, transit->samples + i * transit->row_bytes,
     transit->first_plane + i / in_plane, i % in_plane, &outcomes);
    add_to_counters(&transit->counters, &outcomes);
}

static void FN(store_planes)(const struct field *field, const struct encoding *encoding, void *samples,
                             struct range planes, const struct cpu_crew *crew, struct outcomes *outcomes)
{
    struct FN(transit) transit = FN(transit_of)(field, encoding, samples, planes);

    cpu_team_share_evenly(crew, planes.count * field->shape.rows, FN(store_rows), &transit);
    add_counters(outcomes, &transit.counters);
}

/* Planes whose extremes are looked for. */
struct FN(measuring) {
    const struct field *field;
    const struct encoding *encoding;
    size_t first_plane;
    struct peaks peaks;
};

/* Finite values between the infinite ones. */
static void FN(widen)(const REAL *values, size_t count, REAL *least, REAL *greatest)
{
    REAL low = *least, high = *greatest;

    for (size_t i = 0; i < count; i++) {
        REAL value = values[i];
        bool finite = value - value == (REAL)0;
        low = finite && value < low ? value : low;
        high = finite && value > high ? value : high;
    }
    *least = low;
    *greatest = high;
}

static void FN(measure_row)(const struct FN(measuring) * measuring, size_t plane, size_t row, REAL *least,
                            REAL *greatest)
{
    const struct encoding *encoding = measuring->encoding;
    size_t nx = measuring->field->shape.nx;
    unsigned colours = encoding_colours(encoding);
    REAL scratch[BLOCK];

    for (unsigned channel = 0; channel < colours; channel++) {
        for (size_t begin = 0; begin < nx; begin += BLOCK) {
            struct range block = {begin, nx - begin < BLOCK ? nx - begin : BLOCK};
            FN(widen)
            (FN(values_of)(measuring->field, encoding, plane, channel, row, block, scratch), block.count,
             least, greatest);
        }
    }
}

static void FN(measure_rows)(void *context, struct range rows, unsigned member)
{
    struct FN(measuring) *measuring = context;
    size_t in_plane = measuring->field->shape.rows;
    REAL least = (REAL)INFINITY, greatest = -(REAL)INFINITY;

    (void)member;
    for (size_t i = rows.first; i < rows.first + rows.count; i++)
        FN(measure_row)(measuring, measuring->first_plane + i / in_plane, i % in_plane, &least, &greatest);
    if (least <= greatest)
        add_to_peaks(&measuring->peaks, (double)least, (double)greatest);
}

static void FN(measure_planes)(const struct field *field, const struct encoding *encoding,
                               struct range planes, const struct cpu_crew *crew, struct extremes *extremes)
{
    struct FN(measuring) measuring = {.field = field, .encoding = encoding, .first_plane = planes.first};

    cpu_team_share_evenly(crew, planes.count * field->shape.rows, FN(measure_rows), &measuring);
    add_peaks(extremes, &measuring.peaks);
}
