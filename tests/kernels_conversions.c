/* Samples of files into fields and back. */
#include "assertions.h"
#include "fixture.h"
#include "harness.h"
#include "kernels.h"
#include "reference.h"
#include "seam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRANSFERS = TRANSFER_GAMMA + 1 };

/* ---- conversions ---- */

/* A file's pixels into a field, out of it as they stand there, and back into a file of another encoding. */
struct conversion {
    struct encoding in, out;
    enum work_type work;
    enum fill fill;
    struct grid grid;
    uint64_t seed;
};

static void describe(const struct conversion *conversion, const char *what)
{
    const struct encoding *in = &conversion->in, *out = &conversion->out;

    ck_abort_msg("%s: %s%s → %s → %s%s, %u channels, alpha %d, premultiply %d, transfer %d, fill %d", what,
                 sample_name(in->type), in->swapped ? " swapped" : "", work_name(conversion->work),
                 sample_name(out->type), out->swapped ? " swapped" : "", in->channels, in->alpha,
                 in->premultiply, (int)in->transfer, (int)conversion->fill);
}

/* Returns the outcomes, also of what was uploaded before. */
static struct outcomes compare_download(struct seam *seam, const struct conversion *conversion,
                                        const struct encoding *encoding, const double *field)
{
    size_t pixels = conversion->grid.nx * conversion->grid.ny * conversion->grid.nz;
    size_t bytes = pixels * encoding->channels * sample_size(encoding->type);
    unsigned char *got = fixture_memory(bytes, 1), *wanted = fixture_memory(bytes, 1);
    struct outcomes outcomes = seam_download(seam, encoding, got);
    struct outcomes meant = reference_encode(encoding, conversion->work, field, pixels, wanted);

    if (outcomes.nans != meant.nans)
        describe(conversion, "the count of NaNs differs");
    if (outcomes.below != meant.below || outcomes.above != meant.above)
        describe(conversion, "the count of what is cut off or infinite differs");
    if (memcmp(got, wanted, bytes) != 0)
        describe(conversion,
                 encoding == &conversion->out ? "what is written differs" : "what is read differs");
    free(got);
    free(wanted);
    return outcomes;
}

static void check_conversion(struct conversion conversion, const struct way *way, enum cut cut)
{
    const struct encoding *in = &conversion.in;
    unsigned channels = reference_field_channels(in);
    size_t pixels = conversion.grid.nx * conversion.grid.ny * conversion.grid.nz;
    size_t samples = pixels * in->channels;
    const struct encoding plain = plain_encoding(conversion.work, channels);
    struct seam seam = {
        .way = way, .shape = lower_shape(&conversion.grid, channels), .work = conversion.work, .cut = cut};
    unsigned char *mask = fixture_mask(pixels, conversion.seed);
    unsigned char *native = fixture_memory(samples, sample_size(in->type)), *file;
    double *field = fixture_memory(pixels * channels, sizeof *field);
    struct outcomes outcomes;
    uint64_t missing;

    seam.mask = mask;
    ck_assert_uint_eq(encoding_field_channels(in), channels);
    fill_samples(conversion.fill, in->type, native, samples, conversion.seed);
    if (in->marked)
        conversion.in.mark = sample_number(in->type, false, native + samples / 2 * sample_size(in->type));
    conversion.out.mark = conversion.in.original.mark = 7.0;
    file = encoded_copy(in, native, samples);
    missing = reference_decode(in, conversion.work, file, mask, pixels, field);
    seam_open(&seam);
    seam_upload(&seam, seam.fields[0], in, file);
    outcomes = compare_download(&seam, &conversion, &plain, field);
    if (outcomes.strays != reference_strays(in, file, samples))
        describe(&conversion, "the count of strays differs");
    if (outcomes.missing != missing)
        describe(&conversion, "the count of what is missing differs");
    outcomes = compare_download(&seam, &conversion, &conversion.out, field);
    if (outcomes.strays != 0 || outcomes.missing != 0)
        describe(&conversion, "what is read is counted twice");
    seam_close(&seam);
    free(native);
    free(file);
    free(field);
    free(mask);
}

/* Whether samples outside a mask stay although the work type does not hold them. */
static bool has_rests(const struct conversion *conversion)
{
    const enum sample_type type = conversion->in.type;

    return conversion->in.masked && (type == SAMPLE_U64 || type == SAMPLE_I64) &&
           conversion->out.type == type && conversion->work == WORK_F64;
}

/* In the ways whose turn it is. Conversion is no matter of kernels: those by a device's own choice do. One in
   three is masked, if samples go out as they came in. */
static void try_conversion(struct conversion conversion)
{
    static uint64_t done;
    uint64_t number = done++;
    bool same;

    if (!harness_takes(number))
        return;
    conversion.seed = number;
    conversion.in.missing = conversion.in.marked || number % 5 == 1;
    conversion.in.masked = conversion.out.masked =
        number % 3 == 1 && conversion.in.premultiply == conversion.out.premultiply;
    conversion.in.original.rests = conversion.out.original.rests = has_rests(&conversion);
    same = number % 4 == 0 || conversion.in.original.rests;
    conversion.in.original.scale = same ? 1.0 : 0.75;
    conversion.in.original.shift = same ? 0.0 : -20.5;
    conversion.grid = number % 2 == 0 ? grid_make(3, 13, 4, 3) : grid_make(2, 11, 5, 1);
    for (size_t i = 0; i < way_count; i++) {
        if (ways[i].rung != NULL || !way_has_turn(&ways[i], number))
            continue;
        ways_vary(number);
        check_conversion(conversion, &ways[i], (enum cut)(number % CUTS));
    }
}

START_TEST(every_type_into_every_other)
{
    struct conversion conversion = {0};

    conversion.in.type = (enum sample_type)_i;
    conversion.in.gamma = 1.0;
    for (unsigned i = 0; i < SAMPLE_TYPES * 2 * 2 * 2 * 2 * 4; i++) {
        unsigned rest = i / SAMPLE_TYPES;
        conversion.in.swapped = rest & 1;
        conversion.in.channels = rest / 16 + 1;
        conversion.in.marked = i % 7 == 3;
        conversion.out = conversion.in;
        conversion.out.type = (enum sample_type)(i % SAMPLE_TYPES);
        conversion.out.swapped = rest & 2;
        conversion.work = rest & 4 ? WORK_F32 : WORK_F64;
        conversion.fill = rest & 8 ? FILL_SPECIAL : FILL_RANDOM;
        try_conversion(conversion);
    }
}
END_TEST

START_TEST(every_kind_of_picture)
{
    static const double gammas[] = {2.2, 1.0, 1.0 / 1.8};
    static const struct point points[] = {
        {.kind = POINT_SCALE, .numbers = {0.75, 20.0}, .times = 1},
        {.kind = POINT_ABS, .numbers = {0.0}, .times = 1},
        {.kind = POINT_CLAMP, .numbers = {-3.5, 90.25}, .times = 1},
        {.kind = POINT_POWER, .numbers = {0.4, (double)NAN}, .times = 1},
        {.kind = POINT_POWER, .numbers = {-3.0, -1.0}, .times = 1},
        {.kind = POINT_THRESHOLD, .numbers = {12.5, 3.0, -200.5}, .times = 1},
        {.kind = POINT_LN, .numbers = {0.0}, .times = 1},
        {.kind = POINT_EXP, .numbers = {0.0}, .times = 2},
    };
    struct conversion conversion = {0};

    conversion.in.type = (enum sample_type)_i;
    for (unsigned i = 0; i < 2 * 2 * 2 * 2 * 4 * 3; i++) {
        unsigned rest = i / 16;
        conversion.in.swapped = i & 1;
        conversion.work = i & 2 ? WORK_F32 : WORK_F64;
        conversion.in.alpha = i & 4;
        conversion.in.opaque = sample_opaque(conversion.in.type);
        conversion.in.premultiply = (i & 4) && (i & 8);
        conversion.in.channels = rest % 4 + 1;
        conversion.in.transfer = (enum transfer)(rest / 4);
        conversion.in.gamma = gammas[i % 3];
        conversion.in.point_count = i % 5 == 1 ? 2 : 0;
        conversion.in.points[0] = points[i / 5 % LENGTH(points)];
        conversion.in.points[1] = (struct point){.kind = POINT_SCALE, .numbers = {-1.25, 3.0}, .times = 2};
        conversion.in.marked = i % 7 == 3;
        conversion.out = conversion.in;
        try_conversion(conversion);
    }
}
END_TEST

/* Alpha keeps what part of opaque it is in a file of any other type, and colour may be times alpha there. */
START_TEST(every_alpha_into_every_other)
{
    struct conversion conversion = {.in.type = (enum sample_type)_i, .in.gamma = 1.0, .in.alpha = true};

    conversion.in.opaque = sample_opaque(conversion.in.type);
    for (unsigned i = 0; i < SAMPLE_TYPES * 2 * 2 * 2 * 2 * 3; i++) {
        unsigned rest = i / SAMPLE_TYPES;
        conversion.in.premultiply = rest & 1;
        conversion.in.channels = rest & 2 ? 2 : 4;
        conversion.work = rest & 4 ? WORK_F32 : WORK_F64;
        conversion.fill = rest & 8 ? FILL_SPECIAL : FILL_RANDOM;
        conversion.in.marked = i % 7 == 3;
        conversion.out = conversion.in;
        conversion.out.type = (enum sample_type)(i % SAMPLE_TYPES);
        conversion.out.associated = rest / 16 > 0;
        conversion.out.premultiply = conversion.in.premultiply && rest / 16 < 2;
        try_conversion(conversion);
    }
}
END_TEST

/* A field of floats, as a filter may leave it, into an integer picture: NaN, infinite, negative and huge
   colours and alphas. */
static void check_settling(const struct encoding *out, enum work_type work, const struct way *way)
{
    const struct grid grid = grid_make(2, 1030, 3, 1);
    size_t pixels = grid.nx * grid.ny;
    unsigned channels = reference_work_channels(out);
    const struct encoding plain = plain_encoding(work, channels);
    struct conversion conversion = {plain, *out, work, FILL_SPECIAL, grid, 0};
    struct seam seam = {.way = way, .shape = lower_shape(&grid, channels), .work = work};
    unsigned char *samples = fixture_memory(pixels * channels, work_size(work));
    double *field = fixture_memory(pixels * channels, sizeof *field);

    fill_samples(FILL_SPECIAL, plain.type, samples, pixels * channels, 5);
    reference_decode(&plain, work, samples, NULL, pixels, field);
    seam_open(&seam);
    seam_upload(&seam, seam.fields[0], &plain, samples);
    compare_download(&seam, &conversion, &conversion.out, field);
    seam_close(&seam);
    free(samples);
    free(field);
}

START_TEST(what_filters_leave_is_settled)
{
    for (unsigned i = 0; i < 32 * TRANSFERS; i++) {
        struct encoding out = {
            .type = i & 1 ? SAMPLE_U8 : SAMPLE_U16, .swapped = i & 2, .channels = 4, .alpha = true};
        out.opaque = sample_max(out.type);
        out.premultiply = i & 4;
        out.associated = i & 16;
        out.marked = i % 3 == 0;
        out.mark = 9.0;
        out.transfer = (enum transfer)(i / 32);
        out.gamma = 2.2;
        for (size_t k = 0; k < way_count; k++) {
            if (ways[k].rung == NULL)
                check_settling(&out, i & 8 ? WORK_F32 : WORK_F64, &ways[k]);
        }
    }
}
END_TEST

/* Ties, limits and neighbours of limits of every integer type, from both work types. */
START_TEST(integers_round_and_saturate)
{
    static const double values[] = {
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        -2.5,
        126.5,
        127.4999,
        127.5,
        -128.5,
        -128.6,
        -129,
        254.5,
        255.5,
        256,
        32767.5,
        -32768.5,
        65534.5,
        65535.5,
        65536,
        2147483646.5,
        2147483647.5,
        -2147483648.5,
        -2147483649.0,
        4294967294.5,
        4294967295.5,
        4294967296.0,
        1e300,
        -1e300,
        0.49999999999999994,
        8388607.5,
        16777217.0,
        -0.0,
        (double)NAN,
        (double)INFINITY,
        -(double)INFINITY,
    };
    const struct grid grid = grid_make(2, LENGTH(values), 1, 1);
    enum work_type work = _i & 1 ? WORK_F32 : WORK_F64;
    const struct encoding in = {.type = SAMPLE_F64, .channels = 1, .gamma = 1.0};
    struct conversion conversion = {.in = in, .out = in, .work = work, .grid = grid};
    double field[LENGTH(values)];

    conversion.out.type = (enum sample_type)(_i / 2);
    reference_decode(&in, work, values, NULL, LENGTH(values), field);
    for (size_t i = 0; i < way_count; i++) {
        struct seam seam = {.way = &ways[i], .shape = lower_shape(&grid, 1), .work = work};
        if (ways[i].rung != NULL)
            continue;
        seam_open(&seam);
        seam_upload(&seam, seam.fields[0], &in, (const unsigned char *)values);
        compare_download(&seam, &conversion, &conversion.out, field);
        seam_close(&seam);
    }
}
END_TEST

/* Samples into a field, and from there into files of f16 and of the work type, by every device's own choice.
 */
static void check_halves(const struct encoding *in, enum work_type work, const void *samples, size_t count)
{
    const struct grid grid = grid_make(2, count / 256, 256, 1);
    struct conversion conversion = {.in = *in, .out = *in, .work = work, .grid = grid};
    const struct encoding plain = plain_encoding(work, 1);
    double *field = fixture_memory(count, sizeof *field);

    conversion.out.type = SAMPLE_F16;
    reference_decode(in, work, samples, NULL, count, field);
    for (size_t i = 0; i < way_count; i++) {
        struct seam seam = {.way = &ways[i], .shape = lower_shape(&grid, 1), .work = work};
        if (ways[i].rung != NULL)
            continue;
        seam_open(&seam);
        seam_upload(&seam, seam.fields[0], in, samples);
        if (compare_download(&seam, &conversion, &plain, field).strays !=
            reference_strays(in, samples, count))
            describe(&conversion, "the count of strays differs");
        compare_download(&seam, &conversion, &conversion.out, field);
        seam_close(&seam);
    }
    free(field);
}

START_TEST(every_half)
{
    enum { HALVES = 1 << 16 };
    const struct encoding in = {.type = SAMPLE_F16, .channels = 1, .gamma = 1.0, .swapped = _i & 2};
    uint16_t *halves = fixture_memory(HALVES, sizeof *halves);

    for (size_t i = 0; i < HALVES; i++)
        halves[i] = (uint16_t)i;
    check_halves(&in, _i & 1 ? WORK_F32 : WORK_F64, halves, HALVES);
    free(halves);
}
END_TEST

/* Every tie of two halves up to the one with infinity, and what the work type has next to it. */
START_TEST(every_tie_of_halves)
{
    enum { TIES = 0x7c00, SAMPLES = 6 * TIES };
    enum work_type work = _i == 0 ? WORK_F32 : WORK_F64;
    const struct encoding in = {.type = SAMPLE_F64, .channels = 1, .gamma = 1.0};
    double *values = fixture_memory(SAMPLES, sizeof *values), *value = values;

    for (int i = 0; i < TIES; i++) {
        int binade = i < 1024 ? 0 : i / 1024 - 1, fraction = i < 1024 ? i : i % 1024 + 1024;
        double tie = ldexp(fraction + 0.5, binade - 24);
        bool single = work == WORK_F32;
        double below = single ? (double)nextafterf((float)tie, 0.0f) : nextafter(tie, 0.0);
        double above = single ? (double)nextafterf((float)tie, INFINITY) : nextafter(tie, (double)INFINITY);
        const double around[] = {tie, below, above, -tie, -below, -above};
        memcpy(value, around, sizeof around);
        value += LENGTH(around);
    }
    check_halves(&in, work, values, SAMPLES);
    free(values);
}
END_TEST

/* The extremes of what a download would write, of planes that are looked at in pieces. */
static void check_extremes(struct seam *seam, const struct encoding *out, const double *field, size_t pixels)
{
    const struct backend *backend = seam->way->backend;
    struct range planes = {0, 0};
    struct extremes extremes;
    struct fault fault;
    double low, high;

    reference_extremes(out, seam->work, field, pixels, &low, &high);
    while (cut_next(seam->cut, seam->shape.planes, &planes))
        ck_assert_msg(backend->measure(seam->way->device, seam->fields[0], out, planes, &fault), "%s",
                      fault.text);
    ck_assert_msg(backend->tell_extremes(seam->way->device, &extremes, &fault), "%s", fault.text);
    ck_assert(extremes.any);
    ck_assert_double_eq(extremes.least, low);
    ck_assert_double_eq(extremes.greatest, high);
    ck_assert(backend->tell_extremes(seam->way->device, &extremes, &fault));
    ck_assert_msg(!extremes.any, "%s: extremes are told twice", seam->way->name);
}

static void check_range(const struct encoding *out, enum work_type work, const struct way *way)
{
    const struct grid grid = grid_make(3, 1030, 3, 5);
    size_t pixels = grid.nx * grid.ny * grid.nz;
    unsigned channels = reference_work_channels(out);
    const struct encoding plain = plain_encoding(work, channels);
    struct conversion conversion = {plain, *out, work, FILL_SPECIAL, grid, 0};
    struct seam seam = {.way = way, .shape = lower_shape(&grid, channels), .work = work, .cut = CUT_UNEVEN};
    unsigned char *samples = fixture_memory(pixels * channels, work_size(work));
    double *field = fixture_memory(pixels * channels, sizeof *field);

    fill_samples(FILL_SPECIAL, plain.type, samples, pixels * channels, 6);
    reference_decode(&plain, work, samples, NULL, pixels, field);
    seam_open(&seam);
    seam_upload(&seam, seam.fields[0], &plain, samples);
    check_extremes(&seam, out, field, pixels);
    compare_download(&seam, &conversion, &conversion.out, field);
    seam_close(&seam);
    free(samples);
    free(field);
}

/* Ranges either way around, of one value, and of all; a picture's alpha stays out of them. */
START_TEST(ranges_are_put_into_types)
{
    static const double ranges[][2] = {{-1.5, 2.0}, {2.0, -1.5}, {0.25, 0.25}, {-1e300, 1e7}};
    struct encoding out = {.type = (enum sample_type)_i, .ranged = true, .gamma = 1.0};

    for (unsigned i = 0; i < LENGTH(ranges) * 2 * 3; i++) {
        out.low = ranges[i % LENGTH(ranges)][0];
        out.high = ranges[i % LENGTH(ranges)][1];
        out.alpha = i / 8 > 0;
        out.opaque = sample_opaque(out.type);
        out.premultiply = out.alpha && i / 8 == 1;
        out.channels = out.alpha ? 4 : 1;
        for (size_t k = 0; k < way_count; k++) {
            if (ways[k].rung == NULL && way_has_turn(&ways[k], i))
                check_range(&out, i & 4 ? WORK_F32 : WORK_F64, &ways[k]);
        }
    }
}
END_TEST

START_TEST(without_a_finite_sample_there_are_no_extremes)
{
    static const double samples[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    const struct encoding in = {.type = SAMPLE_F64, .channels = 1, .gamma = 1.0};
    const struct grid grid = grid_make(2, LENGTH(samples), 1, 1);

    for (size_t i = 0; i < way_count; i++) {
        struct seam seam = {.way = &ways[i], .shape = lower_shape(&grid, 1), .work = WORK_F32};
        struct extremes extremes;
        struct fault fault;
        if (ways[i].rung != NULL)
            continue;
        seam_open(&seam);
        seam_upload(&seam, seam.fields[0], &in, (const unsigned char *)samples);
        ck_assert(
            ways[i].backend->measure(ways[i].device, seam.fields[0], &in, (struct range){0, 1}, &fault));
        ck_assert(ways[i].backend->tell_extremes(ways[i].device, &extremes, &fault));
        ck_assert(!extremes.any);
        seam_close(&seam);
    }
}
END_TEST

/* Of 9 by 5 samples in 3 planes all are NaN, some of them infinite, which may be the mark; those of 3 columns
 * and 2 rows count. */
START_TEST(outcomes_are_those_of_some_columns_and_rows)
{
    const bool ranged = _i & 1, marked = _i & 2;
    const struct range columns = {4, 3}, rows = {1, 2};
    const struct grid grid = grid_make(3, 9, 5, 3);
    struct encoding in = {.type = SAMPLE_F64, .channels = 1, .gamma = 1.0}, out = in;
    double samples[9 * 5 * 3];
    unsigned char got[sizeof samples];

    in.missing = true;
    in.marked = marked;
    in.mark = (double)INFINITY;
    in.counted_columns = out.counted_columns = columns;
    in.counted_rows = out.counted_rows = rows;
    out.type = SAMPLE_U8;
    out.ranged = ranged;
    out.high = 1.0;
    for (size_t i = 0; i < LENGTH(samples); i++)
        samples[i] = i % 9 == 5 ? (double)INFINITY : (double)NAN;
    for (size_t i = 0; i < way_count; i++) {
        struct seam seam = {.way = &ways[i], .shape = lower_shape(&grid, 1), .work = WORK_F64};
        struct outcomes outcomes;
        if (ways[i].rung != NULL)
            continue;
        seam_open(&seam);
        seam_upload(&seam, seam.fields[0], &in, (const unsigned char *)samples);
        outcomes = seam_download(&seam, &out, got);
        ck_assert_uint_eq(outcomes.strays, 3 * 2 * 3);
        ck_assert_uint_eq(outcomes.missing, marked ? 3 * 2 * 3 : 2 * 2 * 3);
        ck_assert_uint_eq(outcomes.nans, marked ? 3 * 2 * 3 : 2 * 2 * 3);
        ck_assert_uint_eq(outcomes.above, marked ? 0 : 2 * 3);
        ck_assert_uint_eq(outcomes.below, 0);
        seam_close(&seam);
    }
}
END_TEST

/* A constant edge in a picture with alpha and a curve: what stands outside is a pixel of the file. */
START_TEST(outside_is_a_pixel_of_the_file)
{
    struct encoding encoding = {
        .type = _i & 1 ? SAMPLE_U8 : SAMPLE_U16, .channels = 4, .alpha = true, .gamma = 2.2};
    enum work_type work = _i & 2 ? WORK_F32 : WORK_F64;
    double got[7];

    encoding.opaque = sample_max(encoding.type);
    encoding.premultiply = _i & 4;
    encoding.transfer = (enum transfer)(_i / 8);
    for (int i = -3; i < 600; i += 7) {
        double value = i / 2.0, wanted[7];
        encoding_outside(&encoding, work, value, got);
        reference_outside(&encoding, work, value, wanted);
        for (unsigned c = 0; c < reference_work_channels(&encoding); c++)
            ck_assert_double_eq(got[c], wanted[c]);
    }
}
END_TEST

/* ---- speed ---- */

/* The most that a sample may take, as a multiple of the time in which one of the work type is moved. The
   compiler turns conversions into vector loops; one that is a scalar loop takes five to ten times as long.
   Integers of 64 bits are left out, since AVX2 cannot convert them. */
#define SLOWEST       12.0
#define SLOWEST_CURVE 45.0

/* Nanoseconds of all threads. */
static double processor_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The time of a sample in an upload or a download, whichever takes longer; of each the least of several, and
   of pixels that fit the caches. */
static double conversion_time(const struct way *way, enum work_type work, const struct encoding *encoding)
{
    const struct grid grid = grid_make(2, 512, 16, 1);
    const struct range planes = {0, grid.ny};
    size_t samples = grid.nx * grid.ny * encoding->channels;
    struct seam seam = {
        .way = way, .shape = lower_shape(&grid, encoding_field_channels(encoding)), .work = work};
    struct fault fault;
    struct staging *staging = ways_take_staging(way, samples * sample_size(encoding->type), &fault);
    double up = INFINITY, down = INFINITY;

    ck_assert_msg(staging != NULL, "%s", fault.text);
    seam_open(&seam);
    fill_samples(FILL_RANDOM, encoding->type, staging->samples, samples, 7);
    for (int i = 0; i < 5; i++) {
        double begun = processor_time(), turned;
        ck_assert(
            way->backend->upload(way->device, seam.fields[0], encoding, staging, planes, planes, &fault));
        turned = processor_time();
        ck_assert(way->backend->download(way->device, seam.fields[0], encoding, staging, planes, &fault));
        up = fmin(up, turned - begun);
        down = fmin(down, processor_time() - turned);
    }
    seam_close(&seam);
    ways_leave_staging(way, staging);
    return fmax(up, down) / (double)samples;
}

START_TEST(conversions_are_fast)
{
    for (unsigned i = 0; i < 2 * 2 * 2 * 3 * 2 * TRANSFERS; i++) {
        unsigned kind = i / 8 % 3, rest = i / 24;
        enum work_type work = i & 4 ? WORK_F64 : WORK_F32;
        struct encoding encoding = {.type = (enum sample_type)_i, .gamma = 2.2};
        encoding.swapped = i & 1;
        encoding.missing = i & 2;
        encoding.alpha = kind > 0;
        encoding.premultiply = kind > 1;
        encoding.opaque = sample_opaque(encoding.type);
        encoding.channels = encoding.alpha ? 4 : rest & 1 ? 3 : 1;
        encoding.transfer = (enum transfer)(rest / 2);
        if (encoding.type == SAMPLE_U64 || encoding.type == SAMPLE_I64)
            return;
        for (size_t k = 0; k < way_count; k++) {
            const struct encoding plain = plain_encoding(work, 1);
            double slowest = encoding.transfer == TRANSFER_NONE ? SLOWEST : SLOWEST_CURVE, ratio;
            if (!ways[k].timed)
                continue;
            ratio = conversion_time(&ways[k], work, &encoding) / conversion_time(&ways[k], work, &plain);
            ck_assert_msg(ratio < slowest,
                          "%s, %s%s, %s, %u channels, alpha %d, premultiply %d, transfer %d: %.1f times",
                          ways[k].name, sample_name(encoding.type), encoding.swapped ? " swapped" : "",
                          work_name(work), encoding.channels, encoding.alpha, encoding.premultiply,
                          (int)encoding.transfer, ratio);
        }
    }
}
END_TEST

TCase *conversions_case(void)
{
    TCase *tests = tcase_create("conversions");

    tcase_add_loop_test(tests, every_type_into_every_other, 0, SAMPLE_TYPES);
    tcase_add_loop_test(tests, every_kind_of_picture, 0, SAMPLE_F16);
    tcase_add_loop_test(tests, every_alpha_into_every_other, 0, SAMPLE_TYPES);
    tcase_add_test(tests, what_filters_leave_is_settled);
    tcase_add_loop_test(tests, integers_round_and_saturate, 0, 2 * SAMPLE_TYPES);
    tcase_add_loop_test(tests, every_half, 0, 4);
    tcase_add_loop_test(tests, every_tie_of_halves, 0, 2);
    tcase_add_loop_test(tests, ranges_are_put_into_types, 0, SAMPLE_TYPES);
    tcase_add_test(tests, without_a_finite_sample_there_are_no_extremes);
    tcase_add_loop_test(tests, outcomes_are_those_of_some_columns_and_rows, 0, 2);
    tcase_add_loop_test(tests, outside_is_a_pixel_of_the_file, 0, 8 * TRANSFERS);
    tcase_add_loop_test(tests, conversions_are_fast, 0, SAMPLE_TYPES);
    return tests;
}
