/* Planes of a file into planes of a field, and back. On the way in, a row is deinterleaved by channels and
 * converted to the work type; colour is decoded by the transfer curve, goes through points, and is multiplied
 * by alpha where the filter wants that. On the way out all of this is undone block by block in scratch, since
 * the field stays as it is; values may be stretched into a range, and then become samples of the file. What a
 * mask leaves out passes all of this by. Rows are independent: threads share them, and add what became of the
 * samples to common counters. */

/* ---- extremes that all threads raise ---- */

/* Extremes as integers of the same order (arith_rank_f64), so that threads can raise them atomically; 0: none
   yet. The least is kept as its complement, which rises as it falls. */
struct peaks {
    atomic_uint_least64_t least, greatest;
};

/* Raise a peak to a rank, unless another thread has raised it further. */
static void raise_peak(atomic_uint_least64_t *peak, uint64_t rank)
{
    uint_least64_t seen = atomic_load(peak);

    while (seen < rank && !atomic_compare_exchange_weak(peak, &seen, rank))
        ;
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

/* ---- rows ---- */

/* Count NaNs and infinities among samples of a file: a finite one may become infinite in the work type. They
   are counted in blocks, by a counter as wide as a sample, which no block overflows. */
#define SAMPLE(...)
#define FLOAT_SAMPLE(constant, type, stored, bits, ...)                                                      \
    static uint64_t count_strays_##type(const void *samples, size_t count, bool swapped)                     \
    {                                                                                                        \
        const uint##bits##_t *from = samples;                                                                \
        uint64_t strays = 0;                                                                                 \
        for (size_t begin = 0; begin < count; begin += BLOCK) {                                              \
            size_t end = begin + size_least(BLOCK, count - begin);                                           \
            uint##bits##_t of_block = 0;                                                                     \
            for (size_t i = begin; i < end; i++) {                                                           \
                uint##bits##_t sample = swapped ? swap_bits_##bits(from[i]) : from[i];                       \
                of_block = (uint##bits##_t)(                                                                 \
                    of_block + ((sample & ARITH_INFINITY_##constant) == ARITH_INFINITY_##constant));         \
            }                                                                                                \
            strays += of_block;                                                                              \
        }                                                                                                    \
        return strays;                                                                                       \
    }
#include "model/samples.def"

/* The same in all channels of a row; integers have none. */
static uint64_t count_strays(const struct encoding *encoding, const void *samples, size_t count)
{
    switch (encoding->type) {
#define SAMPLE(...)
#define FLOAT_SAMPLE(constant, type, ...)                                                                    \
    case SAMPLE_##constant:                                                                                  \
        return count_strays_##type(samples, count, encoding->swapped);
#include "model/samples.def"
    default:
        return 0;
    }
}

/* Apply a transfer curve, or its inverse on the way into a file, to a row in the units of the file. Each has
   a loop of its own, which compilers turn into vectors. */
static void transfer_row(real *row, size_t count, const struct encoding *encoding, bool into_file)
{
    const real max = (real)sample_max(encoding->type);
    const real exponent = (real)(into_file ? 1.0 / encoding->gamma : encoding->gamma);

    if (encoding->transfer == TRANSFER_SRGB && into_file) {
        for (size_t i = 0; i < count; i++)
            row[i] = real_srgb_from_linear(row[i], max);
    } else if (encoding->transfer == TRANSFER_SRGB) {
        for (size_t i = 0; i < count; i++)
            row[i] = real_srgb_to_linear(row[i], max);
    } else if (encoding->transfer == TRANSFER_GAMMA) {
        for (size_t i = 0; i < count; i++)
            row[i] = real_gamma_scaled(row[i], max, exponent);
    }
}

/* Send a row through points, from one place to another; or leave it where it is. */
static void point_colour(const struct point *points, unsigned point_count, const real *from, size_t count,
                         real *to)
{
    for (unsigned i = 0; i < point_count; i++) {
        for (uint64_t n = 0; n < points[i].times; n++, from = to)
            point_row(&points[i], from, count, to);
    }
    if (from != to)
        memcpy(to, from, count * sizeof *to);
}

/* The originals of a channel, among the last of a field; and what rounding took from them. */
static unsigned original_channel(const struct field *field, const struct encoding *encoding, unsigned channel)
{
    return field->shape.channels - encoding_original_channels(encoding) + channel;
}

static unsigned rest_channel(const struct field *field, const struct encoding *encoding, unsigned channel)
{
    return field->shape.channels - encoding->channels + channel;
}

/* Samples outside the mask as they are to be written, and NaN for those inside. */
static void take_originals(const struct encoding *encoding, unsigned channel, const unsigned char *mask,
                           size_t count, const real *values, real *originals)
{
    const real scale = (real)encoding->original.scale, shift = (real)encoding->original.shift;
    const real mark = (real)encoding->original.mark;
    const bool colour = channel < encoding_colours(encoding), marked = encoding->marked && colour;
    const bool same = !colour || (scale == (real)1 && shift == (real)0);

    for (size_t i = 0; i < count; i++) {
        real original = same ? values[i] : real_fma(scale, values[i], shift);
        original = marked ? real_unmarked(original, mark) : original;
        originals[i] = mask[i] == 0 ? original : (real)NAN;
    }
}

/* The bits of a sample of 64 bits, which a file may have in another byte order. */
static uint64_t sample_bits(const struct encoding *encoding, const unsigned char *sample)
{
    uint64_t bits;

    memcpy(&bits, sample, sizeof bits);
    return encoding->swapped ? swap_bits_64(bits) : bits;
}

/* What is to be added to samples outside when they are stored, so that they stay as they were. */
static void take_rests(const struct encoding *encoding, const unsigned char *samples,
                       const unsigned char *mask, size_t count, const real *values, real *rests)
{
    const size_t pixel = encoding->channels * sizeof(uint64_t);

    for (size_t i = 0; i < count; i++) {
        const uint64_t stored = encoding->type == SAMPLE_U64 ? OF_WORK(arith_store_u64)(values[i])
                                                             : (uint64_t)OF_WORK(arith_store_i64)(values[i]);
        const uint64_t rest = sample_bits(encoding, samples + i * pixel) - stored;
        rests[i] = mask[i] == 0 ? (real)(int64_t)rest : (real)0;
    }
}

static void add_rests(const struct encoding *encoding, const real *rests, size_t count,
                      unsigned char *samples)
{
    const size_t pixel = encoding->channels * sizeof(uint64_t);

    for (size_t i = 0; i < count; i++, samples += pixel) {
        uint64_t bits = sample_bits(encoding, samples) + (uint64_t)(int64_t)rests[i];
        bits = encoding->swapped ? swap_bits_64(bits) : bits;
        memcpy(samples, &bits, sizeof bits);
    }
}

/* Put the originals of a block in place of what was computed. */
static void put_originals(const struct field *field, const struct encoding *encoding,
                          const struct site *block, real *values)
{
    const unsigned from = original_channel(field, encoding, block->channel);
    const real *originals = encoding->masked ? in_channel(field, block, from) : NULL;
    const bool marked = encoding->marked && block->channel < encoding_colours(encoding);
    const real mark = (real)encoding->mark;

    for (size_t i = 0; originals != NULL && i < block->count; i++) {
        real original = marked ? real_unmarked(originals[i], mark) : originals[i];
        values[i] = originals[i] == originals[i] ? original : values[i];
    }
}

static void swap_shorts(const void *samples, size_t count, void *swapped)
{
    const uint16_t *from = samples;
    uint16_t *to = swapped;

    for (size_t i = 0; i < count; i++)
        to[i] = swap_bits_16(from[i]);
}

/* All channels of a row of a file into a narrow field, or back: samples stay as they are, but for the order
   of their bytes. */
static void move_row(const struct field *field, const struct encoding *encoding, unsigned char *samples,
                     size_t plane, size_t row, bool into_field)
{
    const size_t size = sample_size(encoding->type), stride = encoding->channels, nx = field->shape.nx;
    const bool swaps = encoding->swapped && size == sizeof(uint16_t);

    for (unsigned channel = 0; channel < encoding->channels; channel++) {
        void *own = row_bytes_of(field, plane, channel, row), *file = samples + channel * size;
        if (swaps && stride == 1) {
            swap_shorts(into_field ? file : own, nx, into_field ? own : file);
            continue;
        }
        if (into_field)
            sample_move(size, own, 1, file, stride, nx);
        else
            sample_move(size, file, stride, own, 1, nx);
        if (swaps && into_field)
            swap_shorts(own, nx, own);
    }
    if (swaps && stride > 1 && !into_field)
        swap_shorts(samples, nx * stride, samples);
}

/* Samples of a channel's row that are missing become NaN. Returns how many of them are in the counted
   columns, and not outside a mask. */
static uint64_t take_missing(const struct encoding *encoding, unsigned channel, const unsigned char *mask,
                             size_t nx, struct range counted, real *values)
{
    counter missing = 0;

    find_missing(encoding, channel, nx, values);
    if (!encoding->missing || channel >= encoding_colours(encoding))
        return 0;
    for (size_t i = counted.first; i < counted.first + counted.count; i++)
        missing += (mask == NULL || mask[i] != 0) && values[i] != values[i];
    return missing;
}

/* A row of a file into all channels of the field's row; `mask` has a byte for each pixel, or is NULL. Returns
   how many samples of the counted columns are missing. */
static uint64_t load_row(const struct field *field, const struct encoding *encoding,
                         const unsigned char *samples, const unsigned char *mask, size_t plane, size_t row,
                         struct range counted)
{
    uint64_t missing = 0;
    size_t nx = field->shape.nx;
    unsigned colours = encoding_colours(encoding), channels = field->shape.channels;

    for (unsigned channel = 0; channel < encoding->channels; channel++) {
        real *values = row_of(field, plane, channel, row);
        get_values(encoding, samples + channel * sample_size(encoding->type), nx, values);
        if (mask != NULL)
            take_originals(encoding, channel, mask, nx, values,
                           row_of(field, plane, original_channel(field, encoding, channel), row));
        if (mask != NULL && encoding->original.rests)
            take_rests(encoding, samples + channel * sizeof(uint64_t), mask, nx, values,
                       row_of(field, plane, rest_channel(field, encoding, channel), row));
        missing += take_missing(encoding, channel, mask, nx, counted, values);
        if (channel < colours) {
            transfer_row(values, nx, encoding, false);
            point_colour(encoding->points, encoding->point_count, values, nx, values);
        }
        for (size_t x = 0; mask != NULL && x < nx; x++)
            values[x] = mask[x] == 0 ? (real)NAN : values[x];
    }
    channels -= encoding_original_channels(encoding);
    for (unsigned channel = encoding_work_channels(encoding); channel < channels; channel++)
        memset(row_of(field, plane, channel, row), 0, nx * sizeof(real));
    /* Premultiply: colours behind alpha stay as they are, those before it are multiplied. */
    for (unsigned channel = 0; encoding->alpha && encoding->premultiply && channel < colours; channel++) {
        real *colour = row_of(field, plane, channel, row);
        memcpy(row_of(field, plane, colours + 1 + channel, row), colour, nx * sizeof *colour);
        cover_row(colour, row_of(field, plane, colours, row), (real)encoding->opaque, nx, colour);
    }
    return missing;
}

/* Samples that are missing, as they are written. */
static void mark_missing(const struct encoding *encoding, size_t count, real *values)
{
    real mark = (real)encoding->mark;

    for (size_t i = 0; encoding->marked && i < count; i++)
        values[i] = values[i] == values[i] ? values[i] : mark;
}

/* Colour of a block as it is written: divided by alpha where it was multiplied, scaled, and encoded; and
   times alpha where the file has it so. */
static void settle_colour(const struct field *field, const struct encoding *encoding,
                          const struct site *block, real *settled)
{
    const real *colour = in_channel(field, block, block->channel);
    unsigned colours = encoding_colours(encoding);
    const real *alpha = in_channel(field, block, encoding->alpha ? colours : 0);

    if (encoding->alpha && encoding->premultiply) {
        const real *separate = in_channel(field, block, colours + 1 + block->channel);
        uncover_row(colour, separate, alpha, (real)encoding->opaque, block->count, settled);
        colour = settled;
    }
    /* Points read the field at once: a copy that waits for memory would cost more than what they do. */
    point_colour(encoding->points, encoding->point_count, colour, block->count, settled);
    transfer_row(settled, block->count, encoding, true);
    if (encoding->alpha && encoding->associated)
        cover_row(settled, alpha, (real)encoding->opaque, block->count, settled);
    mark_missing(encoding, block->count, settled);
    put_originals(field, encoding, block, settled);
}

/* Whether colour is written as the field has it. */
static bool is_settled(const struct encoding *encoding)
{
    return !encoding->premultiply && !encoding->associated && encoding->transfer == TRANSFER_NONE &&
           encoding->point_count == 0 && !encoding->marked && !encoding->masked;
}

/* A block of a channel as it is to be written: in the field, or settled in scratch. */
static const real *values_of(const struct field *field, const struct encoding *encoding,
                             const struct site *block, real *scratch)
{
    const real *own = in_channel(field, block, block->channel);
    bool colour = block->channel < encoding_colours(encoding);
    real factor = colour ? (real)1 : (real)encoding_alpha_factor(encoding);

    if (colour ? is_settled(encoding) : factor == (real)1 && !encoding->masked)
        return own;
    if (colour) {
        settle_colour(field, encoding, block, scratch);
        return scratch;
    }
    memcpy(scratch, own, block->count * sizeof *scratch);
    put_originals(field, encoding, block, scratch);
    for (size_t i = 0; i < block->count; i++)
        scratch[i] *= factor;
    return scratch;
}

/* The same values in double. */
static double *widened(const real *values, size_t count, double *wide)
{
    for (size_t i = 0; i < count; i++)
        wide[i] = (double)values[i];
    return wide;
}

/* What of a block counts in the outcomes, from its first sample on. */
static struct range counted_of(const struct site *block, const struct range *columns)
{
    size_t first = size_most(block->begin, columns->first);
    size_t end = size_least(block->begin + block->count, columns->first + columns->count);

    return end > first ? (struct range){first - block->begin, end - first} : (struct range){0, 0};
}

/* A row of the field into a file, block by block, so that scratch stays in the first-level cache. */
static void store_row(const struct field *field, const struct cpu_writing *writing, unsigned char *samples,
                      size_t plane, size_t row, struct outcomes *outcomes)
{
    const struct encoding *encoding = writing->encoding;
    size_t size = sample_size(encoding->type), nx = field->shape.nx;
    unsigned colours = encoding_colours(encoding);
    real scratch[BLOCK];
    double wide[BLOCK];
    const struct range columns = encoding_counted(encoding, row, nx);

    for (unsigned channel = 0; channel < encoding->channels; channel++) {
        for (size_t begin = 0; begin < nx; begin += BLOCK) {
            const struct site block = {plane, row, channel, begin, size_least(BLOCK, nx - begin)};
            const real *values = values_of(field, encoding, &block, scratch);
            unsigned char *to = samples + (begin * encoding->channels + channel) * size;
            const struct range counted = counted_of(&block, &columns);
            if (channel < colours && encoding->ranged) {
                OF_ISA(cpu_put_stretched)
                (writing, widened(values, block.count, wide), block.count, counted, to, outcomes);
            } else {
                put_values(encoding, values, block.count, to);
                if (encoding->original.rests)
                    add_rests(encoding, in_channel(field, &block, rest_channel(field, encoding, channel)),
                              block.count, to);
                count_outcomes(values + counted.first, counted.count, &writing->limits, outcomes);
            }
        }
    }
}

/* Planes of a file on their way into a field or out of it. */
struct transit {
    const struct field *field;
    struct cpu_writing writing;
    unsigned char *samples;    /* of the file, from the first plane on */
    const unsigned char *mask; /* likewise, a byte a pixel; NULL: there is none */
    size_t first_plane, row_bytes;
    struct range counted; /* planes whose samples are counted on the way in */
    struct outcomes *outcomes;
};

static struct transit transit_of(const struct field *field, const struct encoding *encoding,
                                 const void *samples, struct range planes, struct outcomes *outcomes)
{
    return (struct transit){.field = field,
                            .writing = {encoding, encoding_stretch(encoding),
                                        sample_limits(encoding->type, field->work),
                                        encoding_stretched_limits(encoding)},
                            .samples = (unsigned char *)samples,
                            .first_plane = planes.first,
                            .row_bytes = field->shape.nx * encoding->channels * sample_size(encoding->type),
                            .outcomes = outcomes};
}

static void load_rows(void *context, size_t first, size_t count, unsigned member)
{
    struct transit *transit = context;
    const struct encoding *encoding = transit->writing.encoding;
    size_t in_plane = transit->field->shape.rows, nx = transit->field->shape.nx;
    size_t pixel = encoding->channels * sample_size(encoding->type);
    struct outcomes outcomes = {0};

    (void)member;
    for (size_t i = first; i < first + count; i++) {
        unsigned char *samples = transit->samples + i * transit->row_bytes;
        const unsigned char *mask = transit->mask == NULL ? NULL : transit->mask + i * nx;
        size_t plane = transit->first_plane + i / in_plane;
        struct range columns = {0, 0};
        if (transit->field->shape.narrow) {
            move_row(transit->field, encoding, samples, plane, i % in_plane, true);
            continue;
        }
        if (plane - transit->counted.first < transit->counted.count)
            columns = encoding_counted(encoding, i % in_plane, nx);
        outcomes.missing += load_row(transit->field, encoding, samples, mask, plane, i % in_plane, columns);
        outcomes.strays +=
            count_strays(encoding, samples + columns.first * pixel, columns.count * encoding->channels);
        for (size_t x = 0; mask != NULL && x < columns.count; x++)
            outcomes.outside += mask[columns.first + x] == 0;
    }
    cpu_add_outcomes(transit->outcomes, &outcomes);
}

static void load_planes(struct field *field, const struct encoding *encoding, const void *samples,
                        struct range planes, struct range counted, const struct cpu_threads *threads,
                        struct outcomes *outcomes)
{
    struct transit transit = transit_of(field, encoding, samples, planes, outcomes);

    transit.counted = counted;
    if (encoding->masked)
        transit.mask = transit.samples +
                       encoding_mask_place(encoding, planes.count * field->shape.rows * field->shape.nx);
    cpu_threads_share_evenly(threads, planes.count * field->shape.rows, load_rows, &transit);
}

static void store_rows(void *context, size_t first, size_t count, unsigned member)
{
    struct transit *transit = context;
    size_t in_plane = transit->field->shape.rows;
    struct outcomes outcomes = {0};

    (void)member;
    for (size_t i = first; i < first + count; i++) {
        unsigned char *samples = transit->samples + i * transit->row_bytes;
        size_t plane = transit->first_plane + i / in_plane;
        if (transit->field->shape.narrow)
            move_row(transit->field, transit->writing.encoding, samples, plane, i % in_plane, false);
        else
            store_row(transit->field, &transit->writing, samples, plane, i % in_plane, &outcomes);
    }
    cpu_add_outcomes(transit->outcomes, &outcomes);
}

static void store_planes(const struct field *field, const struct encoding *encoding, void *samples,
                         struct range planes, const struct cpu_threads *threads, struct outcomes *outcomes)
{
    struct transit transit = transit_of(field, encoding, samples, planes, outcomes);

    cpu_threads_share_evenly(threads, planes.count * field->shape.rows, store_rows, &transit);
}

/* Planes whose extremes are looked for. */
struct measuring {
    const struct field *field;
    const struct encoding *encoding;
    size_t first_plane;
    struct peaks peaks;
};

/* Widen the extremes by a run of values, of which only finite ones count. */
static void widen(const real *values, size_t count, real *least, real *greatest)
{
    real low = *least, high = *greatest;

    for (size_t i = 0; i < count; i++) {
        real value = values[i];
        bool finite = value - value == (real)0;
        low = finite && value < low ? value : low;
        high = finite && value > high ? value : high;
    }
    *least = low;
    *greatest = high;
}

/* The colours of rows, as they would be written. */
static void measure_rows(void *context, size_t first, size_t count, unsigned member)
{
    struct measuring *measuring = context;
    const struct encoding *encoding = measuring->encoding;
    const struct shape *shape = &measuring->field->shape;
    real least = (real)INFINITY, greatest = -(real)INFINITY, scratch[BLOCK];

    (void)member;
    for (size_t i = first; i < first + count; i++) {
        struct place place = place_of(i, encoding_colours(encoding), shape->rows);
        for (size_t begin = 0; begin < shape->nx; begin += BLOCK) {
            const struct site block = {measuring->first_plane + place.plane, place.row, place.channel, begin,
                                       size_least(BLOCK, shape->nx - begin)};
            widen(values_of(measuring->field, encoding, &block, scratch), block.count, &least, &greatest);
        }
    }
    if (least > greatest)
        return;
    raise_peak(&measuring->peaks.least, ~arith_rank_f64((double)least));
    raise_peak(&measuring->peaks.greatest, arith_rank_f64((double)greatest));
}

static void measure_planes(const struct field *field, const struct encoding *encoding, struct range planes,
                           const struct cpu_threads *threads, struct extremes *extremes)
{
    struct measuring measuring = {.field = field, .encoding = encoding, .first_plane = planes.first};

    cpu_threads_share_evenly(threads, planes.count * encoding_colours(encoding) * field->shape.rows,
                             measure_rows, &measuring);
    add_peaks(extremes, &measuring.peaks);
}
