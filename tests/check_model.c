/* Tests of the model: numbers, grids, edges, filters and their weights, heat, stages, and the command line.
 */
#include "base/number.h"
#include "model/edge.h"
#include "model/stage.h"
#include "cli/option.h"
#include "assertions.h"
#include "fixture.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static const struct number_text {
    const char *text;
    bool is_number;
    double number;
    bool is_count;
    uint64_t count;
    bool is_bytes;
    uint64_t bytes;
} number_texts[] = {
    {"0", true, 0.0, true, 0, true, 0},
    {"12", true, 12.0, true, 12, true, 12},
    {"-3", true, -3.0, false, 0, false, 0},
    {"+3", true, 3.0, false, 0, false, 0},
    {"1.5", true, 1.5, false, 0, false, 0},
    {"1e-3", true, 1e-3, false, 0, false, 0},
    {"0x1p4", true, 16.0, false, 0, false, 0},
    {" 1", false, 0.0, false, 0, false, 0},
    {"1 ", false, 0.0, false, 0, false, 0},
    {"", false, 0.0, false, 0, false, 0},
    {"nan", false, 0.0, false, 0, false, 0},
    {"inf", false, 0.0, false, 0, false, 0},
    {"1e999", false, 0.0, false, 0, false, 0},
    {"1x", false, 0.0, false, 0, false, 0},
    {"18446744073709551615", true, 0x1p64, true, UINT64_MAX, true, UINT64_MAX},
    {"18446744073709551616", true, 0x1p64, false, 0, false, 0},
    {"2K", false, 0.0, false, 0, true, 2048},
    {"1.5G", false, 0.0, false, 0, true, UINT64_C(1610612736)},
    {"0.5KiB", false, 0.0, false, 0, true, 512},
    {"1.3K", false, 0.0, false, 0, true, 1331},
    {"1.K", false, 0.0, false, 0, false, 0},
    {".5K", false, 0.0, false, 0, false, 0},
    {"1.5e1K", false, 0.0, false, 0, false, 0},
    {"16777216.5T", false, 0.0, false, 0, false, 0},
    {"2k", false, 0.0, false, 0, true, 2048},
    {"3M", false, 0.0, false, 0, true, UINT64_C(3) << 20},
    {"3MiB", false, 0.0, false, 0, true, UINT64_C(3) << 20},
    {"3GB", false, 0.0, false, 0, true, UINT64_C(3) << 30},
    {"1T", false, 0.0, false, 0, true, UINT64_C(1) << 40},
    {"16777216T", false, 0.0, false, 0, false, 0},
    {"7B", false, 0.0, false, 0, true, 7},
    {"7iB", false, 0.0, false, 0, false, 0},
    {"7KK", false, 0.0, false, 0, false, 0},
    {"K", false, 0.0, false, 0, false, 0},
};

START_TEST(products_name_each_factor)
{
    static const size_t factors[] = {640, 480, SIZE_MAX, 1};
    static const size_t large[] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
    struct number_product product = number_format_product(factors, 4);

    ck_assert_str_eq(product.text, "640 x 480 x 18446744073709551615 x 1");
    product = number_format_product(factors, 2);
    ck_assert_str_eq(product.text, "640 x 480");
    product = number_format_product(factors, 1);
    ck_assert_str_eq(product.text, "640");
    product = number_format_product(large, 5);
    ck_assert_uint_eq(strlen(product.text), 5 * 20 + 4 * 3);
    product = number_format_product(large, 6);
    ck_assert_uint_eq(strlen(product.text), sizeof product.text - 1);
}
END_TEST

START_TEST(numbers_are_the_whole_text)
{
    const struct number_text *wanted = &number_texts[_i];
    double number;
    uint64_t count, bytes;

    ck_assert_msg(number_parse_double(wanted->text, &number) == wanted->is_number, "'%s'", wanted->text);
    ck_assert(!wanted->is_number || number == wanted->number);
    ck_assert_msg(number_parse_count(wanted->text, &count) == wanted->is_count, "'%s'", wanted->text);
    ck_assert(!wanted->is_count || count == wanted->count);
    ck_assert_msg(number_parse_bytes(wanted->text, &bytes) == wanted->is_bytes, "'%s'", wanted->text);
    ck_assert(!wanted->is_bytes || bytes == wanted->bytes);
}
END_TEST

START_TEST(lists_have_a_length)
{
    double values[3];
    size_t count;

    ck_assert(number_parse_list("1,2.5", ',', 1, 3, values, &count));
    ck_assert_uint_eq(count, 2);
    ck_assert_double_eq(values[0], 1.0);
    ck_assert_double_eq(values[1], 2.5);
    ck_assert(!number_parse_list("1,2", ',', 3, 3, values, &count));
    ck_assert(!number_parse_list("1,2,3,4", ',', 1, 3, values, &count));
    ck_assert(!number_parse_list("1,,2", ',', 1, 3, values, &count));
    ck_assert(!number_parse_list("1,2,", ',', 1, 3, values, &count));
    ck_assert(!number_parse_list("", ',', 1, 3, values, &count));
}
END_TEST

/* The text in memory of its own, where macros of check can look at it. */
static const char *kept(struct number_printed printed)
{
    static struct number_printed last;

    last = printed;
    return last.text;
}

START_TEST(shares_are_written_for_readers)
{
    ck_assert_str_eq(kept(number_format_share(0, 7)), "0 %");
    ck_assert_str_eq(kept(number_format_share(7, 7)), "100 %");
    ck_assert_str_eq(kept(number_format_share(1, 3)), "33 %");
    ck_assert_str_eq(kept(number_format_share(1, 27)), "3.7 %");
    ck_assert_str_eq(kept(number_format_share(1, 1000)), "0.10 %");
    ck_assert_str_eq(kept(number_format_share(19, 20)), "95.0 %");
    ck_assert_str_eq(kept(number_format_share(999, 1000)), "99.90 %");
    ck_assert_str_eq(kept(number_format_share(1, UINT64_C(1) << 40)), "less than 0.01 %");
    ck_assert_str_eq(kept(number_format_share((UINT64_C(1) << 60) - 1, UINT64_C(1) << 60)),
                     "more than 99.99 %");
}
END_TEST

START_TEST(numbers_have_the_digits_that_matter)
{
    ck_assert_str_eq(kept(number_format_double(0.7)), "0.7");
    ck_assert_str_eq(kept(number_format_double(2.0 * 0.35)), "0.7");
    ck_assert_str_eq(kept(number_format_double(1.0 / 3.0)), "0.3333333333333333");
    ck_assert_str_eq(kept(number_format_double(0.1 + 0.2)), "0.30000000000000004");
    ck_assert_str_eq(kept(number_format_double(-1e300)), "-1e+300");
    ck_assert_str_eq(kept(number_format_double(-0.0)), "-0");
}
END_TEST

/* Each limit is stored as a value of the type, and the next one of the work type beyond it is not. */
START_TEST(limits_are_the_last_values_that_fit)
{
    for (int i = 0; i < SAMPLE_TYPES; i++) {
        enum sample_type type = (enum sample_type)i;
        struct sample_limits wide = sample_limits(type, WORK_F64), narrow = sample_limits(type, WORK_F32);
        ck_assert_double_eq(narrow.low, (double)(float)narrow.low);
        ck_assert_double_eq(narrow.high, (double)(float)narrow.high);
        ck_assert(narrow.high <= wide.high && narrow.low >= wide.low);
        ck_assert((double)nextafterf((float)narrow.high, INFINITY) > wide.high);
        ck_assert((double)nextafterf((float)narrow.low, -INFINITY) < wide.low);
        if (sample_size(type) == 8 && sample_is_integer(type)) {
            ck_assert_double_eq(wide.high, sample_max(type));
            ck_assert_double_eq(wide.low, sample_min(type) - (sample_min(type) < 0.0 ? 0.0 : 0.5));
        } else if (sample_is_integer(type)) {
            ck_assert_double_eq(rint(wide.high), sample_max(type));
            ck_assert_double_eq(rint(nextafter(wide.high, INFINITY)), sample_max(type) + 1.0);
            ck_assert_double_eq(rint(wide.low), sample_min(type));
            ck_assert_double_eq(rint(nextafter(wide.low, -INFINITY)), sample_min(type) - 1.0);
        }
    }
    ck_assert_double_eq(nextafter(sample_limits(SAMPLE_F16, WORK_F64).high, INFINITY), 65520.0);
    ck_assert_double_eq(nextafterf((float)sample_limits(SAMPLE_F16, WORK_F32).high, INFINITY), 65520.0);
    ck_assert(isfinite((float)sample_limits(SAMPLE_F32, WORK_F64).high));
    ck_assert(isinf((float)nextafter(sample_limits(SAMPLE_F32, WORK_F64).high, INFINITY)));
}
END_TEST

static const struct {
    double seconds;
    const char *text;
} times[] = {
    {0.0, "less than 0.001 ms"}, {1.2e-5, "0.012 ms"},  {0.00123, "1.23 ms"},
    {0.0456, "45.6 ms"},         {0.25, "250 ms"},      {0.99951, "1.0 s"},
    {12.34, "12.3 s"},           {99.96, "1 min 40 s"}, {119.6, "2 min 0 s"},
    {3599.0, "59 min 59 s"},     {7260.0, "2 h 1 min"},
};

START_TEST(times_are_written_for_readers)
{
    ck_assert_str_eq(kept(number_format_seconds(times[_i].seconds)), times[_i].text);
}
END_TEST

START_TEST(bytes_are_written_for_readers)
{
    ck_assert_str_eq(kept(number_format_bytes(1023.0)), "1023 B");
    ck_assert_str_eq(kept(number_format_bytes(1536.0)), "1.5 KiB");
    ck_assert_str_eq(kept(number_format_bytes(200.0 * 1024)), "200 KiB");
    ck_assert_str_eq(kept(number_format_bytes(0x1p32)), "4.0 GiB");
}
END_TEST

/* As refusals list them. */
#define TYPES   "u8, i8, u16, i16, u32, i32, u64, i64, f16, f32 or f64"
#define FORMATS "raw, raw.gz, nii, nii.gz, hdr, nrrd, nhdr, mha, mhd, npy, tif, tiff, zarr or ome.zarr"
#define RULES   "reflect, mirror, nearest, wrap, constant[:V] or hold"

/* ---- samples, edges, grids ---- */

static const struct {
    const char *name;
    size_t size;
    bool integer;
    double min, max;
    enum work_type work;
} sample_facts[SAMPLE_TYPES] = {
    [SAMPLE_U8] = {"u8", 1, true, 0.0, 255.0, WORK_F32},
    [SAMPLE_I8] = {"i8", 1, true, -128.0, 127.0, WORK_F32},
    [SAMPLE_U16] = {"u16", 2, true, 0.0, 65535.0, WORK_F32},
    [SAMPLE_I16] = {"i16", 2, true, -32768.0, 32767.0, WORK_F32},
    [SAMPLE_U32] = {"u32", 4, true, 0.0, 4294967295.0, WORK_F64},
    [SAMPLE_I32] = {"i32", 4, true, -2147483648.0, 2147483647.0, WORK_F64},
    [SAMPLE_U64] = {"u64", 8, true, 0.0, 0x1p64, WORK_F64},
    [SAMPLE_I64] = {"i64", 8, true, -0x1p63, 0x1p63, WORK_F64},
    [SAMPLE_F16] = {"f16", 2, false, 0.0, 0.0, WORK_F32},
    [SAMPLE_F32] = {"f32", 4, false, 0.0, 0.0, WORK_F32},
    [SAMPLE_F64] = {"f64", 8, false, 0.0, 0.0, WORK_F64},
};

START_TEST(sample_types)
{
    enum sample_type type = (enum sample_type)_i, parsed;

    ck_assert_msg(sample_facts[_i].name != NULL, "nothing is known of %s", sample_name(type));
    ck_assert_str_eq(sample_name(type), sample_facts[_i].name);
    ck_assert(sample_parse(sample_facts[_i].name, &parsed));
    ck_assert_int_eq(parsed, type);
    ck_assert_uint_eq(sample_size(type), sample_facts[_i].size);
    ck_assert_int_eq(sample_is_integer(type), sample_facts[_i].integer);
    ck_assert_int_eq(sample_work_type(type), sample_facts[_i].work);
    if (sample_facts[_i].integer)
        ck_assert_double_eq(sample_max(type), sample_facts[_i].max);
    ck_assert_double_eq(sample_min(type), sample_facts[_i].min);
    ck_assert(!sample_parse("u128", &parsed));
    ck_assert(!sample_parse("", &parsed));
}
END_TEST

/* A work type is a sample type that is stored as it is. */
START_TEST(work_types)
{
    enum work_type work = (enum work_type)_i;
    enum sample_type type = work_sample(work);

    ck_assert_str_eq(work_name(work), sample_name(type));
    ck_assert_uint_eq(work_size(work), sample_size(type));
    ck_assert_int_eq(sample_work_type(type), work);
    ck_assert(!sample_is_integer(type));
    ck_assert_double_eq(work_round(WORK_F32, 0.1), (double)0.1f);
    ck_assert_double_eq(work_round(WORK_F64, 0.1), 0.1);
}
END_TEST

static const struct {
    const char *text;
    enum edge_rule rule;
    double value;
    const char *refusal; /* NULL: it is good */
} edge_texts[] = {
    {"reflect", EDGE_REFLECT, 0.0, NULL},
    {"mirror", EDGE_MIRROR, 0.0, NULL},
    {"nearest", EDGE_NEAREST, 0.0, NULL},
    {"wrap", EDGE_WRAP, 0.0, NULL},
    {"hold", EDGE_HOLD, 0.0, NULL},
    {"constant", EDGE_CONSTANT, 0.0, NULL},
    {"constant:-2.5", EDGE_CONSTANT, -2.5, NULL},
    {"constant:", EDGE_CONSTANT, 0.0, "constant:: the constant is not a finite number"},
    {"constant:inf", EDGE_CONSTANT, 0.0, "constant:inf: the constant is not a finite number"},
    {"clamp", EDGE_CONSTANT, 0.0, "clamp: expected " RULES "; did you mean nearest?"},
    {"wrap:1", EDGE_CONSTANT, 0.0, "wrap:1: expected " RULES "; did you mean wrap?"},
};

START_TEST(edge_rules)
{
    struct edge edge;
    struct fault fault;
    bool parsed = edge_parse(edge_texts[_i].text, &edge, &fault);

    ck_assert_int_eq(parsed, edge_texts[_i].refusal == NULL);
    if (parsed) {
        ck_assert_int_eq(edge.rule, edge_texts[_i].rule);
        ck_assert_double_eq(edge.value, edge_texts[_i].value);
        ck_assert_int_eq(strncmp(edge_texts[_i].text, edge_name(edge.rule), strlen(edge_name(edge.rule))), 0);
    } else {
        ck_assert_int_eq(fault.status, STATUS_USAGE);
        ck_assert_str_eq(fault.text, edge_texts[_i].refusal);
    }
}
END_TEST

START_TEST(grids)
{
    struct grid volume = grid_make(3, 4, 5, 6), picture = grid_make(2, 4, 5, 1);
    struct fault fault;

    volume.channels = 3;
    ck_assert_uint_eq(grid_planes(&volume), 6);
    ck_assert_uint_eq(grid_rows(&volume), 5);
    ck_assert_uint_eq(grid_plane_samples(&volume), 60);
    ck_assert_uint_eq(grid_samples(&volume), 360);
    ck_assert_uint_eq(grid_planes(&picture), 5);
    ck_assert_uint_eq(grid_rows(&picture), 1);
    ck_assert_uint_eq(grid_plane_samples(&picture), 4);
    picture.spacing[1] = 0.5;
    picture.spacing[2] = 0.1;
    ck_assert_double_eq(grid_min_spacing(&picture), 0.5);
    ck_assert(grid_check(&volume, &fault));
    volume.ny = 0;
    ck_assert(!grid_check(&volume, &fault));
    ck_assert_int_eq(fault.status, STATUS_INPUT);
    volume.ny = (size_t)1 << 58;
    ck_assert(!grid_check(&volume, &fault));
    ck_assert_int_eq(fault.status, STATUS_LIMIT);
}
END_TEST

/* ---- filters ---- */

/* Weights on a box of offsets, in raster order, as scipy.ndimage and voxfilt(7), FILTERS have them. */
static const struct box {
    const char *options;
    unsigned axes;
    int low[3], high[3];
    double weights[30];
} boxes[] = {
    {"-f sharpen", 2, {-1, -1, 0}, {1, 1, 0}, {0, -1, 0, -1, 5, -1, 0, -1, 0}},
    {"-f sharpen", 3, {-1, -1, -1}, {1, 1, 1}, {0,  0, 0,  0, -1, 0, 0, 0, 0,  0, -1, 0, -1, 7,
                                                -1, 0, -1, 0, 0,  0, 0, 0, -1, 0, 0,  0, 0}},
    {"-f laplace", 2, {-1, -1, 0}, {1, 1, 0}, {0, 1, 0, 1, -4, 1, 0, 1, 0}},
    {"-f laplace", 3, {-1, -1, -1}, {1, 1, 1}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, -6,
                                                1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}},
    {"-f sobel:x", 2, {-1, -1, 0}, {1, 1, 0}, {-1, 0, 1, -2, 0, 2, -1, 0, 1}},
    {"-f sobel:y", 2, {-1, -1, 0}, {1, 1, 0}, {-1, -2, -1, 0, 0, 0, 1, 2, 1}},
    {"-f sobel:x", 3, {-1, -1, -1}, {1, 1, 1}, {-1, 0,  1, -2, 0,  2, -1, 0,  1, -2, 0,  2, -4, 0,
                                                4,  -2, 0, 2,  -1, 0, 1,  -2, 0, 2,  -1, 0, 1}},
    {"-f sobel:y", 3, {-1, -1, -1}, {1, 1, 1}, {-1, -2, -1, 0, 0,  0,  1,  2, 1, -2, -4, -2, 0, 0,
                                                0,  2,  4,  2, -1, -2, -1, 0, 0, 0,  1,  2,  1}},
    {"-f sobel:z", 3, {-1, -1, -1}, {1, 1, 1}, {-1, -2, -1, -2, -4, -2, -1, -2, -1, 0, 0, 0, 0, 0,
                                                0,  0,  0,  0,  1,  2,  1,  2,  4,  2, 1, 2, 1}},
    {"-f prewitt:x", 2, {-1, -1, 0}, {1, 1, 0}, {-1, 0, 1, -1, 0, 1, -1, 0, 1}},
    {"-f prewitt:y", 2, {-1, -1, 0}, {1, 1, 0}, {-1, -1, -1, 0, 0, 0, 1, 1, 1}},
    {"-f prewitt:y", 3, {-1, -1, -1}, {1, 1, 1}, {-1, -1, -1, 0, 0,  0,  1,  1, 1, -1, -1, -1, 0, 0,
                                                  0,  1,  1,  1, -1, -1, -1, 0, 0, 0,  1,  1,  1}},
    {"-f prewitt:z", 3, {-1, -1, -1}, {1, 1, 1}, {-1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0,
                                                  0,  0,  0,  0,  1,  1,  1,  1,  1,  1, 1, 1, 1}},
    {"-f laplace", 1, {-1, 0, 0}, {1, 0, 0}, {1, -2, 1}},
    {"-f sharpen", 1, {-1, 0, 0}, {1, 0, 0}, {-1, 3, -1}},
    {"-f sobel:x", 1, {-1, 0, 0}, {1, 0, 0}, {-1, 0, 1}},
    {"-f prewitt:x --spacing 2", 1, {-1, 0, 0}, {1, 0, 0}, {-0.5, 0, 0.5}},
    {"-f seven:1,2,3,0,0,0,0", 1, {-1, 0, 0}, {1, 0, 0}, {2, 1, 3}},
    {"-f matrix:1,2,3", 1, {-1, 0, 0}, {1, 0, 0}, {1, 2, 3}},
    {"-f heat --dt 0.5", 1, {-1, 0, 0}, {1, 0, 0}, {0.5, 0, 0.5}},
    {"-f sobel:x --flip", 2, {-1, -1, 0}, {1, 1, 0}, {1, 0, -1, 2, 0, -2, 1, 0, -1}},
    {"-f laplace --spacing 2,0.5", 2, {-1, -1, 0}, {1, 1, 0}, {0, 4, 0, 0.25, -8.5, 0.25, 0, 4, 0}},
    {"-f sobel:x --spacing 4,3", 2, {-1, -1, 0}, {1, 1, 0}, {-0.25, 0, 0.25, -0.5, 0, 0.5, -0.25, 0, 0.25}},
    {"-f prewitt:y --spacing 4,0.5", 2, {-1, -1, 0}, {1, 1, 0}, {-2, -2, -2, 0, 0, 0, 2, 2, 2}},
    {"-f identity", 3, {0, 0, 0}, {0, 0, 0}, {1}},
    {"-f median:1", 2, {-1, -1, 0}, {1, 1, 0}, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"-f min:1,ball", 2, {-1, -1, 0}, {1, 1, 0}, {0, 1, 0, 1, 1, 1, 0, 1, 0}},
    {"-f order:2,1,y", 3, {0, -2, 0}, {0, 2, 0}, {1, 1, 1, 1, 1}},
    {"-f star:2", 2, {-1, -1, 0}, {1, 1, 0}, {0, 1, 0, 1, -4, 1, 0, 1, 0}},
    {"-f seven:1,2,3,4,5,6,7", 3, {-1, -1, -1}, {1, 1, 1}, {0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 4, 0, 2, 1,
                                                            3, 0, 5, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0}},
    {"-f seven:1,2,3,4,5,6,7 --flip", 3, {-1, -1, -1}, {1, 1, 1}, {0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 5, 0, 3, 1,
                                                                   2, 0, 4, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0}},
    {"-f seven:1,2,3,4,5,0,0", 2, {-1, -1, 0}, {1, 1, 0}, {0, 4, 0, 2, 1, 3, 0, 5, 0}},
    {"-f twentyseven:1,2,3,4", 3, {-1, -1, -1}, {1, 1, 1}, {4, 3, 4, 3, 2, 3, 4, 3, 4, 3, 2, 3, 2, 1,
                                                            2, 3, 2, 3, 4, 3, 4, 3, 2, 3, 4, 3, 4}},
    {"-f twentyseven:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
     3,
     {-1, -1, -1},
     {1, 1, 1},
     {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27}},
    {"-f matrix:1,2,1;2,4,2;1,2,1/16",
     2,
     {-1, -1, 0},
     {1, 1, 0},
     {0.0625, 0.125, 0.0625, 0.125, 0.25, 0.125, 0.0625, 0.125, 0.0625}},
    {"-f matrix:1,2;3,4;5,6;7,8", 3, {-1, -2, 0}, {0, 1, 0}, {1, 2, 3, 4, 5, 6, 7, 8}},
    {"-f matrix:1,2,3,4/3", 2, {-2, 0, 0}, {1, 0, 0}, {1.0 / 3.0, 2.0 / 3.0, 1.0, 4.0 / 3.0}},
    {"-f matrix:1,2;3,4 --flip", 2, {0, 0, 0}, {1, 1, 0}, {4, 3, 2, 1}},
    {"-f taps:lopsided.taps", 2, {-3, -2, 0}, {2, 2, 0}, {0, 0,     0,    0.7, 0, 0, 0, 0,    0, 0,
                                                          0, 0.75,  -0.3, 0,   0, 0, 0, 0,    0, 0,
                                                          0, 1e-60, 0,    0,   0, 0, 0, 0.11, 0, 0}},
    {"-f taps:none.taps", 3, {0, 0, 0}, {0, 0, 0}, {0}},
    {"-f heat --dt 0.1",
     2,
     {-1, -1, 0},
     {1, 1, 0},
     {0, 0.1, 0, 0.1, 1.0 - 2.0 * (0.1 + 0.1), 0.1, 0, 0.1, 0}},
};

static struct tap find_tap(const struct stencil *stencil, int dx, int dy, int dz)
{
    for (size_t i = 0; i < stencil->count; i++) {
        struct tap tap = stencil->taps[i];
        if (tap.dx == dx && tap.dy == dy && tap.dz == dz)
            return tap;
    }
    return (struct tap){dx, dy, dz, 0.0};
}

static void ck_raster_order(const struct stencil *stencil)
{
    for (size_t i = 0; i < stencil->count; i++) {
        const struct tap *a = &stencil->taps[i], *b = a + 1;
        ck_assert(a->weight != 0.0);
        if (i + 1 < stencil->count)
            ck_assert(a->dz < b->dz ||
                      (a->dz == b->dz && (a->dy < b->dy || (a->dy == b->dy && a->dx < b->dx))));
    }
}

static void ck_box(const struct box *box, const struct stencil *stencil)
{
    size_t next = 0, present = 0;

    for (int dz = box->low[2]; dz <= box->high[2]; dz++) {
        for (int dy = box->low[1]; dy <= box->high[1]; dy++) {
            for (int dx = box->low[0]; dx <= box->high[0]; dx++, next++) {
                double weight = find_tap(stencil, dx, dy, dz).weight;
                ck_assert_msg(weight == box->weights[next], "%s: %d %d %d: %.17g", box->options, dx, dy, dz,
                              weight);
                present += weight != 0.0;
            }
        }
    }
    ck_assert_uint_eq(stencil->count, present);
}

START_TEST(stencils_have_their_weights)
{
    const struct box *box = &boxes[_i];
    struct grid grid = grid_make(box->axes, 9, box->axes > 1 ? 9 : 1, box->axes == 3 ? 9 : 1);
    struct command command;
    struct stage stage;

    command_parse(&command, PROGRAM_VOXFILT, box->options);
    command_stage(&command, &grid, &stage);
    ck_raster_order(&stage.body.taps);
    ck_box(box, &stage.body.taps);
    stage_free(&stage);
    command_free(&command);
}
END_TEST

/* Build the first stage of some options on a grid without spacing of its own. */
static void build(const char *options, unsigned axes, struct stage *stage)
{
    struct grid grid = grid_make(axes, 9, 9, axes == 3 ? 9 : 1);
    struct command command;

    command_parse(&command, PROGRAM_VOXFILT, options);
    command_stage(&command, &grid, stage);
    command_free(&command);
}

static const double star_weights[4][5] = {
    {-2.0, 1.0, 0, 0, 0},
    {-5.0 / 2, 4.0 / 3, -1.0 / 12, 0, 0},
    {-49.0 / 18, 3.0 / 2, -3.0 / 20, 1.0 / 90, 0},
    {-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560},
};

START_TEST(stars_have_their_coefficients)
{
    int radius = _i / 2 + 1;
    unsigned axes = 2 + (unsigned)_i % 2;
    struct stage stage;
    char options[20];

    snprintf(options, sizeof options, "-f star:%d", 2 * radius);
    build(options, axes, &stage);
    ck_raster_order(&stage.body.taps);
    ck_assert_uint_eq(stage.body.taps.count, 1 + 2 * axes * (unsigned)radius);
    ck_assert_double_eq_tol(find_tap(&stage.body.taps, 0, 0, 0).weight, axes * star_weights[radius - 1][0],
                            1e-15);
    for (int distance = -radius; distance <= radius; distance++) {
        double wanted = star_weights[radius - 1][abs(distance)];
        if (distance == 0)
            continue;
        ck_assert_double_eq(find_tap(&stage.body.taps, distance, 0, 0).weight, wanted);
        ck_assert_double_eq(find_tap(&stage.body.taps, 0, distance, 0).weight, wanted);
        if (axes == 3)
            ck_assert_double_eq(find_tap(&stage.body.taps, 0, 0, distance).weight, wanted);
    }
    stage_free(&stage);
}
END_TEST

START_TEST(stars_are_divided_by_squares)
{
    struct stage stage;

    build("-f star:4 --spacing 3,7,0.1", 3, &stage);
    ck_assert_double_eq(find_tap(&stage.body.taps, 1, 0, 0).weight, 4.0 / 3.0 / (3.0 * 3.0));
    ck_assert_double_eq(find_tap(&stage.body.taps, 0, -2, 0).weight, -1.0 / 12.0 / (7.0 * 7.0));
    ck_assert_double_eq(find_tap(&stage.body.taps, 0, 0, 2).weight, -1.0 / 12.0 / (0.1 * 0.1));
    ck_assert_double_eq(find_tap(&stage.body.taps, 0, 0, 0).weight,
                        -2.5 * ((1.0 / (3.0 * 3.0) + 1.0 / (7.0 * 7.0)) + 1.0 / (0.1 * 0.1)));
    stage_free(&stage);
}
END_TEST

static const struct {
    const char *options;
    double sigma[3];
    int radius[3];
} gausses[] = {
    {"-f gauss:1", {1, 1, 1}, {4, 4, 4}},
    {"-f gauss:0.6", {0.6, 0.6, 0.6}, {2, 2, 2}},
    {"-f gauss:0.62", {0.62, 0.62, 0.62}, {2, 2, 2}},
    {"-f gauss:0.625", {0.625, 0.625, 0.625}, {3, 3, 3}},
    {"-f gauss:0.1", {0.1, 0.1, 0.1}, {0, 0, 0}},
    {"-f gauss:0", {0, 0, 0}, {0, 0, 0}},
    {"-f gauss:2u --spacing 1,2,0.5", {2, 1, 4}, {8, 4, 16}},
    {"-f gauss:2 -f laplace --spacing 1,2,0.5", {2, 2, 2}, {8, 8, 8}},
    {"-f gauss:2,1,0.6", {2, 1, 0.6}, {8, 4, 2}},
    {"-f gauss:2u,1u,0.3u --spacing 1,2,0.5", {2, 0.5, 0.6}, {8, 2, 2}},
    {"-f gauss:2u,1,0.3 --spacing 1,2,0.5", {2, 0.5, 0.6}, {8, 2, 2}},
    {"-f gauss:4.709640090061898987,2.354820045030949494,0 --fwhm", {2, 1, 0}, {8, 4, 0}},
    {"-f unsharp:2.354820045030949494u,5 --fwhm --spacing 1,2,0.5", {1, 0.5, 2}, {4, 2, 8}},
    {"-f unsharp:2u,0.5 --spacing 1,2,0.5", {2, 1, 4}, {8, 4, 16}},
};

static void ck_gauss(const struct stencil *line, int axis, double sigma, int radius)
{
    double sum = 0.0, centre = find_tap(line, 0, 0, 0).weight;

    ck_assert_uint_eq(line->count, (unsigned)(2 * radius + 1));
    for (int i = -radius; i <= radius; i++) {
        double weight = find_tap(line, axis == 0 ? i : 0, axis == 1 ? i : 0, axis == 2 ? i : 0).weight;
        double wanted = i == 0 ? 1.0 : exp(-0.5 * i * i / (sigma * sigma));
        ck_assert_double_eq_tol(weight / centre, wanted, 4 * DBL_EPSILON * wanted);
        sum += weight;
    }
    ck_assert_double_eq_tol(sum, 1.0, 4 * DBL_EPSILON);
}

START_TEST(gauss_is_normalised)
{
    struct stage stage;

    build(gausses[_i].options, 3, &stage);
    for (int axis = 0; axis < 3; axis++) {
        ck_raster_order(&stage.body.along[axis]);
        ck_gauss(&stage.body.along[axis], axis, gausses[_i].sigma[axis], gausses[_i].radius[axis]);
    }
    stage_free(&stage);
    build("-f gauss:1", 2, &stage);
    ck_assert_uint_eq(stage.body.along[2].count, 0);
    stage_free(&stage);
}
END_TEST

START_TEST(box_is_a_mean)
{
    struct stage stage;

    build("-f box:3", 3, &stage);
    for (int axis = 0; axis < 3; axis++) {
        ck_assert_uint_eq(stage.body.along[axis].count, 7);
        for (size_t i = 0; i < 7; i++) {
            const struct tap *tap = &stage.body.along[axis].taps[i];
            const int offset[3] = {tap->dx, tap->dy, tap->dz};
            ck_assert_int_eq(offset[axis], (int)i - 3);
            ck_assert_int_eq(abs(tap->dx) + abs(tap->dy) + abs(tap->dz), abs(offset[axis]));
            ck_assert_double_eq(tap->weight, 1.0 / 7.0);
        }
    }
    stage_free(&stage);
}
END_TEST

/* The first derivatives of a Gaussian of 1.5 by their formulas, at -d: taps correlate. */
static double gauss_at(int order, double d)
{
    double v = 1.5 * 1.5, g = exp(-0.5 * d * d / v);

    return order == 0   ? g
           : order == 1 ? d / v * g
           : order == 2 ? (d * d / v - 1.0) / v * g
                        : (d * d / v - 3.0) * d / (v * v) * g;
}

/* Each order divides by the spacing of its axis once. */
START_TEST(derivatives_of_gauss)
{
    static const int orders[3] = {1, 3, 2};
    static const double spacing[3] = {2.0, 0.5, 4.0};
    struct stage stage;
    double sum = 0.0;

    for (int d = -6; d <= 6; d++)
        sum += gauss_at(0, d);
    build("-f gauss:1.5,order=1,3,2 --spacing 2,0.5,4", 3, &stage);
    for (int axis = 0; axis < 3; axis++) {
        const struct stencil *line = &stage.body.along[axis];
        ck_raster_order(line);
        ck_assert_uint_eq(line->count, orders[axis] == 2 ? 13 : 12);
        for (size_t i = 0; i < line->count; i++) {
            const struct tap *tap = &line->taps[i];
            const int offset[3] = {tap->dx, tap->dy, tap->dz};
            double wanted = gauss_at(orders[axis], offset[axis]) / sum / pow(spacing[axis], orders[axis]);
            ck_assert_double_eq_tol(tap->weight, wanted, 1e-14 * fabs(wanted) + 1e-18);
        }
    }
    stage_free(&stage);
}
END_TEST

/* A chain for each axis, with the derivative along it. */
START_TEST(chains_of_derivatives)
{
    struct stage stage;

    build("-f log:1", 3, &stage);
    ck_assert_uint_eq(stage.body.chains, 3);
    ck_assert_double_eq(stage.body.amount, 1.0);
    for (size_t chain = 0; chain < 3; chain++) {
        for (size_t axis = 0; axis < 3; axis++) {
            double sum = stencil_sum(&stage.body.along[3 * chain + axis]);
            ck_assert(chain == axis ? fabs(sum) < 0.01 : fabs(sum - 1.0) < 1e-15);
        }
    }
    stage_free(&stage);
    build("-f dog:1,2", 2, &stage);
    ck_assert_uint_eq(stage.body.chains, 2);
    ck_assert_double_eq(stage.body.amount, -1.0);
    ck_gauss(&stage.body.along[0], 0, 1.0, 4);
    ck_gauss(&stage.body.along[4], 1, 2.0, 8);
    stage_free(&stage);
}
END_TEST

/* Their ranks in the window; as scipy.ndimage has percentiles. */
START_TEST(ranks_are_counted)
{
    static const struct {
        const char *options;
        unsigned axes;
        size_t rank;
    } ranks[] = {{"-f median:1", 3, 13},
                 {"-f median:2,ball", 2, 6},
                 {"-f max:3,ball", 2, FILTER_GREATEST},
                 {"-f min:3", 3, 0},
                 {"-f order:1,8", 2, 8},
                 {"-f percentile:1,100", 2, 8},
                 {"-f percentile:1,99.9", 2, 8},
                 {"-f percentile:1,50", 3, 13},
                 {"-f percentile:2,30,x", 3, 1},
                 {"-f percentile:7,0,ball", 2, 0}};

    for (size_t i = 0; i < LENGTH(ranks); i++) {
        struct stage stage;
        build(ranks[i].options, ranks[i].axes, &stage);
        ck_assert_msg(stage.body.ranks[0] == ranks[i].rank, "%s", ranks[i].options);
        stage_free(&stage);
    }
}
END_TEST

/* The radius goes by the spacing of each axis. */
START_TEST(bilateral_weighs_distance)
{
    struct stage stage;

    build("-f bilateral:1.5u,7 --spacing 1,3,0.75", 3, &stage);
    ck_assert_double_eq(stage.body.amount, 7.0);
    ck_assert_uint_eq(stage.body.taps.count, 7 * 3 * 9);
    ck_raster_order(&stage.body.taps);
    for (size_t i = 0; i < stage.body.taps.count; i++) {
        const struct tap *tap = &stage.body.taps.taps[i];
        double x = tap->dx / 1.5, y = tap->dy / 0.5, z = tap->dz / 2.0;
        double wanted = exp(-0.5 * (x * x + y * y + z * z));
        ck_assert_double_eq_tol(tap->weight, wanted, 1e-15 * wanted);
    }
    stage_free(&stage);
}
END_TEST

START_TEST(unsharp_takes_its_amount)
{
    struct stage stage;

    build("-f unsharp:1,-0.25", 2, &stage);
    ck_assert_double_eq(stage.body.amount, -0.25);
    stage_free(&stage);
}
END_TEST

/* What parsing or building a filter refuses, in 2D where it matters. */
static const struct {
    const char *options;
    enum status status;
    const char *text;
} filter_refusals[] = {
    {"-f nosuch", STATUS_USAGE, "--filter: nosuch: no such filter (--list names them)"},
    {"-f lap", STATUS_USAGE, "--filter: lap: no such filter; did you mean laplace?"},
    {"-f nosuch:1", STATUS_USAGE, "--filter: nosuch: no such filter (--list names them)"},
    {"-f heat:1", STATUS_USAGE, "--filter: heat:1: expected heat"},
    {"-f laplace:", STATUS_USAGE, "--filter: laplace:: expected laplace"},
    {"-f gauss", STATUS_USAGE, "--filter: gauss: expected gauss:S[u],...[,order=X,Y,Z]"},
    {"-f gauss:u", STATUS_USAGE, "--filter: gauss:u: expected gauss:S[u],...[,order=X,Y,Z]"},
    {"-f gauss:1,2,3,4", STATUS_USAGE, "--filter: gauss:1,2,3,4: expected gauss:S[u],...[,order=X,Y,Z]"},
    {"-f unsharp:1", STATUS_USAGE, "--filter: unsharp:1: expected unsharp:S[u],A"},
    {"-f unsharp:1,2u", STATUS_USAGE, "--filter: unsharp:1,2u: expected unsharp:S[u],A"},
    {"-f box:x", STATUS_USAGE, "--filter: box:x: expected box:R,..."},
    {"-f star:", STATUS_USAGE, "--filter: star:: expected star:O"},
    {"-f sobel", STATUS_USAGE, "--filter: sobel: expected sobel:x|y|z"},
    {"-f sobel:w", STATUS_USAGE, "--filter: sobel:w: expected sobel:x|y|z"},
    {"-f prewitt:xy", STATUS_USAGE, "--filter: prewitt:xy: expected prewitt:x|y|z"},
    {"-f seven:1,2,3", STATUS_USAGE, "--filter: seven:1,2,3: expected seven:c0,...,c6"},
    {"-f twentyseven:1,2,3", STATUS_USAGE, "--filter: twentyseven:1,2,3: expected twentyseven:w1,..."},
    {"-f matrix:", STATUS_USAGE, "--filter: matrix:: expected matrix:\"ROW; ...\"[/D]"},
    {"-f taps:", STATUS_USAGE, "--filter: taps:: expected taps:FILE"},
    {"-f gauss:-1", STATUS_USAGE, "--filter: gauss:-1: a standard deviation of -1 is below 0"},
    {"-f gauss:1e6", STATUS_USAGE, "--filter: gauss:1e6: a radius of 4000000 is more than 1048576"},
    {"-f box:-1", STATUS_USAGE, "--filter: box:-1: the radius is a whole number, 0 or more"},
    {"-f box:1.5", STATUS_USAGE, "--filter: box:1.5: the radius is a whole number, 0 or more"},
    {"-f box:1048577", STATUS_USAGE, "--filter: box:1048577: a radius of 1048577 is more than 1048576"},
    {"-f star:3", STATUS_USAGE, "--filter: star:3: the order is 2, 4, 6 or 8"},
    {"-f star:10", STATUS_USAGE, "--filter: star:10: the order is 2, 4, 6 or 8"},
    {"-f star:4.5", STATUS_USAGE, "--filter: star:4.5: the order is 2, 4, 6 or 8"},
    {"-f sobel:z", STATUS_USAGE, "--filter: sobel:z: this grid has no z axis"},
    {"-f seven:1,0,0,0,0,1,0", STATUS_USAGE,
     "--filter: seven:1,0,0,0,0,1,0: it has taps along z, and this grid has no z axis"},
    {"-f twentyseven:1,2,3,4,5", STATUS_USAGE,
     "--filter: twentyseven:1,2,3,4,5: 5 weights: there are 4 or 27"},
    {"-f twentyseven:1,2,3,4", STATUS_USAGE,
     "--filter: twentyseven:1,2,3,4: it has taps along z, and this grid has no z axis"},
    {"-f matrix:1,a", STATUS_USAGE, "--filter: matrix:1,a: row 1 of the matrix: not a number"},
    {"-f matrix:1,,2", STATUS_USAGE, "--filter: matrix:1,,2: row 1 of the matrix: not a number"},
    {"-f matrix:1,2;3", STATUS_USAGE,
     "--filter: matrix:1,2;3: row 2 of the matrix has 1 weight, the first has 2"},
    {"-f matrix:1;", STATUS_USAGE, "--filter: matrix:1;: row 2 of the matrix has 0 weights, the first has 1"},
    {"-f matrix:;1", STATUS_USAGE, "--filter: matrix:;1: a matrix has 1 to 1024 rows and columns"},
    {"-f matrix:1/0", STATUS_USAGE,
     "--filter: matrix:1/0: the divisor of the matrix must be a number, and not 0"},
    {"-f matrix:1/", STATUS_USAGE,
     "--filter: matrix:1/: the divisor of the matrix must be a number, and not 0"},
    {"-f matrix:1/2/3", STATUS_USAGE,
     "--filter: matrix:1/2/3: the divisor of the matrix must be a number, and not 0"},
    {"-f taps:nowhere.taps", STATUS_IO, "--filter: nowhere.taps: No such file or directory"},
    {"-f taps:words.taps", STATUS_INPUT,
     "--filter: words.taps: line 2: a tap is three whole offsets and a weight: dx dy dz w"},
    {"-f taps:short.taps", STATUS_INPUT,
     "--filter: short.taps: line 1: a tap is three whole offsets and a weight: dx dy dz w"},
    {"-f taps:wide.taps", STATUS_INPUT,
     "--filter: wide.taps: line 1: a tap is three whole offsets and a weight: dx dy dz w"},
    {"-f taps:broken.taps", STATUS_INPUT,
     "--filter: broken.taps: line 1: a tap is three whole offsets and a weight: dx dy dz w"},
    {"-f taps:twice.taps", STATUS_INPUT, "--filter: twice.taps: line 3: the tap at 1 0 0 is given twice"},
    {"-f taps:far.taps", STATUS_INPUT,
     "--filter: far.taps: line 1: the tap at 1048577 0 0 reaches farther than 1048576 samples"},
    {"-f taps:solid.taps", STATUS_USAGE,
     "--filter: taps:solid.taps: it has taps along z, and this grid has no z axis"},
    {"-f median:1,w", STATUS_USAGE, "--filter: median:1,w: expected median:R[,SHAPE]"},
    {"-f median:ball", STATUS_USAGE, "--filter: median:ball: expected median:R[,SHAPE]"},
    {"-f max:1,ball,x", STATUS_USAGE, "--filter: max:1,ball,x: expected max:R[,SHAPE]"},
    {"-f min:1.5", STATUS_USAGE, "--filter: min:1.5: the radius is a whole number, 0 or more"},
    {"-f max:-1", STATUS_USAGE, "--filter: max:-1: the radius is a whole number, 0 or more"},
    {"-f max:1048577", STATUS_USAGE, "--filter: max:1048577: a radius of 1048577 is more than 1048576"},
    {"-f median:1,z", STATUS_USAGE, "--filter: median:1,z: this grid has no z axis"},
    {"-f median:95", STATUS_USAGE,
     "--filter: median:95: a radius of 95 is too large: the box around a window has at most 35937 samples"},
    {"-f order:1,9", STATUS_USAGE,
     "--filter: order:1,9: a window of 9 samples has those from 0 to 8 in order"},
    {"-f order:1,-1,ball", STATUS_USAGE,
     "--filter: order:1,-1,ball: a window of 5 samples has those from 0 to 4 in order"},
    {"-f order:1,0.5", STATUS_USAGE,
     "--filter: order:1,0.5: a window of 9 samples has those from 0 to 8 in order"},
    {"-f percentile:1,100.5", STATUS_USAGE,
     "--filter: percentile:1,100.5: a percentile of 100.5 is not from 0 to 100"},
    {"-f percentile:1,-1", STATUS_USAGE,
     "--filter: percentile:1,-1: a percentile of -1 is not from 0 to 100"},
    {"-f box:1 --dt 1", STATUS_USAGE, "--dt: box:1: this filter is not heat"},
    {"-f heat --scale 2", STATUS_USAGE, "--scale: heat: a linear flux has no scale"},
    {"-f heat --flux linear --scale 2", STATUS_USAGE, "--scale: heat: a linear flux has no scale"},
    {"-f heat --flux-channels joint", STATUS_USAGE,
     "--flux-channels: heat: only pm1 and pm2 have a conductivity to share"},
    {"-f heat --flux tanh --scale 2 --flux-channels separate", STATUS_USAGE,
     "--flux-channels: heat: only pm1 and pm2 have a conductivity to share"},
    {"-f box:1 --flux-channels joint", STATUS_USAGE, "--flux-channels: box:1: this filter is not heat"},
    {"-f heat --flux pm1", STATUS_USAGE,
     "--flux: heat: pm1 needs a --scale: differences well above it stay, those well below it are smoothed"},
    {"-f heat --flux pm2", STATUS_USAGE,
     "--flux: heat: pm2 needs a --scale: differences well above it stay, those well below it are smoothed"},
    {"-f heat --flux tanh", STATUS_USAGE,
     "--flux: heat: tanh needs a --scale: no update changes a sample by more than alpha*dt times it"},
    {"-f heat --sigma 1 --dt 0.1", STATUS_USAGE,
     "--sigma chooses steps and dt itself: it excludes --steps, --dt and --until"},
    {"-f heat --sigma 1 --steps 3", STATUS_USAGE,
     "--sigma chooses steps and dt itself: it excludes --steps, --dt and --until"},
    {"-f heat --sigma 1 --alpha 0", STATUS_USAGE, "--sigma needs an --alpha above 0"},
    {"-f heat --sigma 1e6", STATUS_USAGE, "--sigma 1e+06 takes 4e+12 steps: more than 10^9"},
    {"-f heat --dt 0.26", STATUS_USAGE,
     "heat: alpha*dt = 0.26 is unstable on this grid: the largest stable value is 0.25 (--force runs it "
     "anyway)"},
};

static const struct {
    const char *name, *text;
} bad_taps[] = {
    {"words.taps", "0 0 0 1\nx 0 0 1\n"},
    {"short.taps", "0 0 1\n"},
    {"wide.taps", "0 0 0 1 2\n"},
    {"broken.taps", "0.5 0 0 1\n"},
    {"twice.taps", "1 0 0 1\n\n1 0 0 2 # again\n"},
    {"far.taps", "1048577 0 0 1\n"},
};

static void write_bad_taps(void)
{
    for (size_t i = 0; i < LENGTH(bad_taps); i++)
        file_fill(bad_taps[i].name, bad_taps[i].text, strlen(bad_taps[i].text));
}

/* Parse one stage's options and build it on a grid; false with the fault that either raised. */
static bool try_stage(const char *options, unsigned axes, struct stage *stage, struct fault *fault)
{
    struct grid grid = grid_make(axes, 9, 9, axes == 3 ? 9 : 1);
    struct command command;
    bool built = false;

    command_parse(&command, PROGRAM_VOXFILT, options);
    *fault = command.fault;
    memcpy(grid.spacing, command.options.source.grid.spacing, sizeof grid.spacing);
    if (command.parsed)
        built = stage_build(&command.options.stages[0], &grid, command.options.job.force, stage, fault);
    command_free(&command);
    return built;
}

START_TEST(bad_filters_are_refused)
{
    struct stage stage;
    struct fault fault;

    ck_assert_msg(!try_stage(filter_refusals[_i].options, 2, &stage, &fault), "%s is accepted",
                  filter_refusals[_i].options);
    ck_assert_str_eq(fault.text, filter_refusals[_i].text);
    ck_assert_int_eq(fault.status, filter_refusals[_i].status);
}
END_TEST

/* ---- heat ---- */

/* The value that a refusal names is accepted, and little more is refused. */
static void ck_limit(const char *spacing, unsigned axes)
{
    struct stage stage;
    struct fault fault;
    char options[200];
    const char *named;
    double limit;

    snprintf(options, sizeof options, "-f heat --dt 1e6 --spacing %s", spacing);
    ck_assert(!try_stage(options, axes, &stage, &fault));
    named = strstr(fault.text, "value is ");
    ck_assert_ptr_nonnull(named);
    limit = strtod(named + strlen("value is "), NULL);
    snprintf(options, sizeof options, "-f heat --dt %.17g --spacing %s", limit, spacing);
    ck_assert_msg(try_stage(options, axes, &stage, &fault), "spacing %s: %s", spacing, fault.text);
    stage_free(&stage);
    snprintf(options, sizeof options, "-f heat --dt %.17g --spacing %s", limit * 1.00002, spacing);
    ck_assert_msg(!try_stage(options, axes, &stage, &fault), "spacing %s: %.17g is not the limit", spacing,
                  limit);
    snprintf(options, sizeof options, "-f heat --force --dt %.17g --spacing %s", limit * 2, spacing);
    ck_assert(try_stage(options, axes, &stage, &fault));
    stage_free(&stage);
}

START_TEST(the_limit_is_stable)
{
    char spacing[100];

    for (unsigned i = 0; i < 1000; i++) {
        double x = 1.0 + (i % 10) / 7.0, y = 1.0 + (i / 10 % 10) / 3.0, z = 0.1 + (i / 100) / 1.9;
        snprintf(spacing, sizeof spacing, "%.17g,%.17g,%.17g", x, y, z);
        ck_limit(spacing, 2 + i % 2);
    }
    ck_limit("1,1,1", 3);
    ck_limit("1,1", 2);
}
END_TEST

static const struct {
    const char *options;
    unsigned axes;
    uint64_t steps;
    double dt;
} schedules[] = {
    {"-f heat", 3, 10, 0.125},
    {"-f heat --alpha 2", 3, 10, 0.0625},
    {"-f heat --spacing 2,0.5,1", 3, 10, 0.03125},
    {"-f heat --spacing 2,0.5,0.1", 2, 10, 0.03125},
    {"-f heat --alpha 0", 3, 10, 0.0},
    {"-f heat --dt 0.1 -s 3", 3, 3, 0.1},
    {"-f heat --until 1", 3, 1000, 0.125},
    {"-f heat --until 1 -s 7", 3, 7, 0.125},
    {"-f heat --sigma 1", 3, 4, 0.125},
    {"-f heat --sigma 1.1", 3, 5, 1.1 * 1.1 / 10.0},
    {"-f heat --sigma 1.5 --alpha 3", 3, 9, 2.25 / 54.0},
    {"-f heat --sigma 0", 3, 0, 0.0},
    {"-f heat --sigma 1u --spacing 0.5,1,2", 3, 16, 1.0 / 32.0},
    {"-f heat --sigma 1 --spacing 0.5,1,2", 3, 4, 0.25 / 8.0},
    {"-f gauss:1", 3, 1, 0.0},
    {"-f gauss:1 --until 1", 3, 1000, 0.0},
};

START_TEST(schedules_are_settled)
{
    struct stage stage;

    build(schedules[_i].options, schedules[_i].axes, &stage);
    ck_assert_uint_eq(stage.steps, schedules[_i].steps);
    ck_assert_double_le(fabs(stage.heat.dt - schedules[_i].dt), 2 * DBL_EPSILON * schedules[_i].dt);
    stage_free(&stage);
}
END_TEST

START_TEST(heat_takes_its_options)
{
    struct stage stage;

    build("-f heat --flux pm2 --scale 3 --inner 4 --reaction -0.5 --alpha 0.5 --spacing 1,2,4", 3, &stage);
    ck_assert_int_eq(stage.heat.flux, FLUX_PM2);
    ck_assert_double_eq(stage.heat.scale, 3.0);
    ck_assert_uint_eq(stage.heat.inner, 4);
    ck_assert(stage.heat.reacts);
    ck_assert_double_eq(stage.heat.reaction, -0.5);
    ck_assert_double_eq(stage.heat.rate[0], 0.125);
    ck_assert_double_eq(stage.heat.rate[1], 0.03125);
    ck_assert_double_eq(stage.heat.rate[2], 0.0078125);
    ck_assert_uint_eq(stage.body.taps.count, 6);
    stage_free(&stage);
    build("-f heat --flux tanh --scale 1 --spacing 1,2,4", 3, &stage);
    ck_assert_double_eq(find_tap(&stage.body.taps, 0, 1, 0).weight, 0.25);
    ck_assert_double_eq(find_tap(&stage.body.taps, 0, 0, 0).weight, -2.0 * (1.25 + 0.0625));
    stage_free(&stage);
}
END_TEST

/* ---- stages ---- */

START_TEST(stages_take_defaults)
{
    struct command command;
    const struct stage_request *stages;

    command_parse(&command, PROGRAM_VOXFILT,
                  "-s 4 -e wrap --alpha 2 --until 3 --flip -f box:1 -e hold -f heat --alpha 5 -f heat -s 9");
    ck_assert(command.parsed);
    stages = command.options.stages;
    ck_assert_uint_eq(command.options.job.stage_count, 3);
    ck_assert_uint_eq(stages[0].given, STAGE_STEPS | STAGE_EDGE | STAGE_FLIP);
    ck_assert_uint_eq(stages[0].steps, 4);
    ck_assert_int_eq(stages[0].edge.rule, EDGE_HOLD);
    ck_assert_uint_eq(stages[1].given, STAGE_STEPS | STAGE_EDGE | STAGE_FLIP | STAGE_ALPHA);
    ck_assert_uint_eq(stages[1].steps, 4);
    ck_assert_int_eq(stages[1].edge.rule, EDGE_WRAP);
    ck_assert_double_eq(stages[1].alpha, 5.0);
    ck_assert_uint_eq(stages[2].given, STAGE_STEPS | STAGE_EDGE | STAGE_FLIP | STAGE_ALPHA | STAGE_UNTIL);
    ck_assert_uint_eq(stages[2].steps, 9);
    ck_assert_double_eq(stages[2].alpha, 2.0);
    ck_assert_double_eq(stages[2].until, 3.0);
    command_free(&command);
}
END_TEST

static const struct {
    enum stage_option option;
    size_t place, size;
} stage_options[] = {
#define STAGE_OPTION(constant, letter, name, argument, kind, type, member, standard, help)                   \
    {STAGE_##constant, offsetof(struct stage_request, member), sizeof(type)},
#include "model/stage_options.def"
};

/* Every value of one byte throughout, which each of its members can have. */
static struct stage_request request_of(unsigned char byte)
{
    struct stage_request request = {.given = 0};

    for (size_t i = 0; i < LENGTH(stage_options); i++)
        memset((char *)&request + stage_options[i].place, byte, stage_options[i].size);
    return request;
}

/* Each option by itself, as a default and as a stage's own. */
START_TEST(every_option_is_inherited)
{
    const unsigned option = stage_options[_i].option;
    /* Some defaults go to stages with a nonlinear flux or a sigma alone; this one has its own. */
    const unsigned flux = option & (STAGE_SCALE | STAGE_FLUX_CHANNELS) ? STAGE_FLUX
                          : option == STAGE_FWHM                       ? STAGE_SIGMA
                                                                       : 0;

    for (unsigned char own = 0; own <= 1; own++) {
        struct stage_request stage = request_of(1), defaults = request_of(0);
        const unsigned char *member = (unsigned char *)&stage + stage_options[_i].place;
        struct fault fault;
        stage.flux = FLUX_PM1;
        stage.given = (own ? option : 0) | flux;
        defaults.flux = FLUX_LINEAR;
        defaults.given = option;
        ck_assert(filter_parse("heat", &stage.call, &fault));
        stage_inherit(&stage, &defaults);
        ck_assert_uint_eq(stage.given, option | flux);
        ck_assert_uint_eq(stage.own, (own ? option : 0) | flux);
        for (size_t i = 0; i < stage_options[_i].size && option != STAGE_FLUX; i++)
            ck_assert_uint_eq(member[i], own);
        ck_assert(option != STAGE_FLUX || stage.flux == (own ? FLUX_PM1 : FLUX_LINEAR));
    }
}
END_TEST

/* The order of the list, of which each option is a bit, and its names. */
START_TEST(every_option_has_its_name)
{
    const char *name = stage_option_name(stage_options[_i].option);

    ck_assert_uint_eq(stage_options[_i].option, 1U << _i);
    for (int i = 0; i < _i; i++)
        ck_assert_str_ne(stage_option_name(stage_options[i].option), name);
}
END_TEST

/* What a value of its kind is stored as is what stands there. */
START_TEST(every_value_fits_its_place)
{
    const struct option_row *row = &option_table[_i];
    const bool in_place = row->size > 0;

    switch (row->kind) {
    case OPTION_FLAG:
        ck_assert_uint_eq(row->size, sizeof(bool));
        break;
    case OPTION_COUNT:
        ck_assert(row->size == sizeof(uint64_t) || row->size == sizeof(unsigned));
        ck_assert(row->size == sizeof(uint64_t) || row->most <= INT_MAX);
        break;
    case OPTION_BYTES:
        ck_assert_uint_eq(row->size, sizeof(uint64_t));
        break;
    case OPTION_NUMBER:
        ck_assert_uint_eq(row->size, sizeof(double));
        break;
    case OPTION_WORD:
        ck_assert_uint_eq(row->size, sizeof(enum sample_type));
        break;
    case OPTION_FORMAT:
    case OPTION_NAME:
        ck_assert_uint_eq(row->size, sizeof(void *));
        break;
    case OPTION_ACTION:
        ck_assert(!in_place || row->size == sizeof(bool) || row->size == sizeof(enum shell));
        break;
    case OPTION_CALL:
        ck_assert(row->call != NULL);
        break;
    }
    ck_assert(row->kind == OPTION_FLAG || row->kind == OPTION_ACTION || row->kind == OPTION_CALL ||
              row->argument != NULL);
}
END_TEST

START_TEST(a_default_scale_leaves_linear_stages_alone)
{
    static const struct stage_request defaults = {.given = STAGE_SCALE, .scale = 2.0};
    struct stage_request stage = {.given = 0};
    struct fault fault;

    ck_assert(filter_parse("heat", &stage.call, &fault));
    stage_inherit(&stage, &defaults);
    ck_assert_uint_eq(stage.given, 0);
}
END_TEST

START_TEST(checks_are_every_so_many_and_the_last)
{
    for (uint64_t last = 0; last < 25; last++) {
        const struct checks checks = {(uint64_t)_i, last};
        uint64_t count = 0, unseen = 0, longest = 0;
        for (uint64_t step = 1; step <= last; step++) {
            bool checked = step % (uint64_t)_i == 0 || step == last;
            ck_assert(checks_is_due(&checks, step) == checked);
            count += checked;
            unseen = checked ? 0 : unseen + 1;
            longest = unseen > longest ? unseen : longest;
        }
        ck_assert_uint_eq(checks_count(&checks), count);
        ck_assert_uint_eq(checks_longest_gap(&checks), longest);
        for (uint64_t behind = 0; behind < last; behind++) {
            uint64_t next = behind + 1;
            while (!checks_is_due(&checks, next))
                next++;
            ck_assert_uint_eq(checks_next(&checks, behind), next);
        }
    }
    ck_assert_uint_eq(checks_next(&(struct checks){UINT64_MAX, UINT64_MAX}, 7), UINT64_MAX);
}
END_TEST

START_TEST(convergence_keeps_the_latest)
{
    struct convergence convergence;
    struct fault fault;

    ck_assert(convergence_open(&convergence, UINT64_MAX, &fault));
    for (uint64_t step = 1; step <= CONVERGENCE_KEPT + 3; step++)
        convergence_add(&convergence, step, 0.5 * (double)step);
    ck_assert_uint_eq(convergence.count, CONVERGENCE_KEPT + 3);
    ck_assert_uint_eq(convergence_kept(&convergence), CONVERGENCE_KEPT);
    ck_assert_uint_eq(convergence_at(&convergence, 0).step, 4);
    ck_assert_uint_eq(convergence_at(&convergence, CONVERGENCE_KEPT - 1).step, CONVERGENCE_KEPT + 3);
    ck_assert_double_eq(convergence_at(&convergence, 1).change, 2.5);
    convergence_close(&convergence);
}
END_TEST

/* The program's default is there although nobody gave it. */
START_TEST(channels_of_a_flux)
{
    static const struct {
        enum program program;
        const char *options;
        bool joint;
    } cases[] = {{PROGRAM_IMGHEAT, "--flux pm1 --scale 1", true},
                 {PROGRAM_VOXFILT, "-n 2 --flux pm1 --scale 1", false},
                 {PROGRAM_IMGHEAT, "--flux-channels separate --flux pm2 --scale 1", false},
                 {PROGRAM_VOXFILT, "-n 2 --flux pm2 --flux-channels joint --scale 1", true},
                 {PROGRAM_IMGHEAT,
                  "--flux-channels separate -f heat --flux pm1 --scale 1 --flux-channels joint", true},
                 {PROGRAM_IMGHEAT, "--flux tanh --scale 1", false},
                 {PROGRAM_IMGHEAT, "-s 1", false}};
    const struct grid grid = grid_make(2, 4, 4, 1);

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct command command;
        struct stage stage;
        struct fault fault;
        command_parse(&command, cases[i].program, cases[i].options);
        ck_assert_msg(command.parsed, "%s: %s", cases[i].options, command.fault.text);
        ck_assert(stage_build(&command.options.stages[0], &grid, false, &stage, &fault));
        ck_assert_msg(stage.heat.joint == cases[i].joint, "%s", cases[i].options);
        stage_free(&stage);
        command_free(&command);
    }
}
END_TEST

static const struct {
    const char *options;
    bool keeps;
} constants[] = {
    {"-f heat", true},
    {"-f heat --flux pm1 --scale 3", true},
    {"-f heat --flux tanh --scale 3 --inner 2", true},
    {"-f heat --reaction 0.5", false},
    {"-f heat --reaction 0", true},
    {"-f gauss:2", true},
    {"-f box:3", true},
    {"-f unsharp:1,5", true},
    {"-f gauss:1,order=0,0", true},
    {"-f gauss:1,order=0,1", false},
    {"-f gauss:0.3,order=2,0", false},
    {"-f log:1", false},
    {"-f bilateral:1,5", true},
    {"-f dog:1,2", false},
    {"-f gradmag:1", false},
    {"-f identity", true},
    {"-f sharpen", true},
    {"-f median:1", true},
    {"-f min:2,ball", true},
    {"-f open:2", true},
    {"-f tophat:2", false},
    {"-f morphgrad:1", false},
    {"-f gradient", false},
    {"-f scale:1,0", false},
    {"-f clamp:0,1", false},
    {"-f laplace", false},
    {"-f star:6", false},
    {"-f sobel:x", false},
    {"-f prewitt:y", false},
    {"-f seven:0.2,0.2,0.2,0.2,0.2,0,0", true},
    {"-f seven:1,1,1,1,1,0,0", false},
    {"-f matrix:0", false},
    {"-f matrix:3", false},
    {"-f matrix:1,2,1;2,4,2;1,2,1/16", true},
    {"-f matrix:1,2,1;2,4,2;1,2,1/15", false},
    {"-f matrix:.111,.111,.111;.111,.111,.111;.111,.111,.111", true},
    {"-f matrix:1.001953125", true},
    {"-f matrix:1.001953126", false},
    {"-f matrix:0.998046875", true},
    {"-f matrix:0.998046874", false},
};

START_TEST(stages_that_keep_constants)
{
    struct stage stage;

    build(constants[_i].options, 2, &stage);
    ck_assert_msg(stage_keeps_constants(&stage) == constants[_i].keeps, "%s", constants[_i].options);
    stage_free(&stage);
}
END_TEST

START_TEST(identity_is_known)
{
    struct stage stage;

    build("-f identity", 2, &stage);
    ck_assert(stage_is_identity(&stage));
    stage_free(&stage);
    build("-f box:0", 2, &stage);
    ck_assert(!stage_is_identity(&stage));
    stage_free(&stage);
}
END_TEST

/* ---- the command line ---- */

static const struct {
    enum program program;
    const char *options, *text;
} usage_errors[] = {
    {PROGRAM_VOXFILT, "--nosuch", "--nosuch: no such option (--help lists them)"},
    {PROGRAM_VOXFILT, "-X", "-X: no such option (--help lists them)"},
    {PROGRAM_VOXFILT, "--s 3",
     "--s: ambiguous option; possibilities: --skip, --spacing, --slice, --steps, --sigma, --scale, --sync, "
     "--stats"},
    {PROGRAM_VOXFILT, "--linear", "--linear: no such option (imgheat has it)"},
    {PROGRAM_IMGHEAT, "-n 3", "-n: no such option (voxfilt has it)"},
    {PROGRAM_IMGHEAT, "--skip 3", "--skip: no such option (voxfilt has it)"},
    {PROGRAM_IMGHEAT, "--out-type u8", "--out-type: no such option (voxfilt has it)"},
    {PROGRAM_VOXFILT, "--steps", "--steps: option requires an argument"},
    {PROGRAM_VOXFILT, "-n", "-n: option requires an argument"},
    {PROGRAM_VOXFILT, "-f", "-f: option requires an argument"},
    {PROGRAM_VOXFILT, "--flip=1", "--flip=1: option takes no argument"},
    {PROGRAM_VOXFILT, "-i a.raw in.raw", "in.raw: --input already gives the input"},
    {PROGRAM_IMGHEAT, "-i a.png b.png", "b.png: --input already gives the input"},
    {PROGRAM_VOXFILT, "-n 0", "-n: 0: expected a whole number above 0"},
    {PROGRAM_VOXFILT, "-n 1.5", "-n: 1.5: expected a whole number above 0"},
    {PROGRAM_VOXFILT, "-n 99999999999999999", "-n: 99999999999999999: expected a whole number above 0"},
    {PROGRAM_IMGHEAT, "-d 5", "-d: 5: expected X,Y, whole numbers above 0"},
    {PROGRAM_VOXFILT, "-d 0", "-d: 0: expected X[,Y[,Z]], whole numbers above 0"},
    {PROGRAM_VOXFILT, "-d 5,0", "-d: 5,0: expected X[,Y[,Z]], whole numbers above 0"},
    {PROGRAM_VOXFILT, "-d 5,4.5", "-d: 5,4.5: expected X[,Y[,Z]], whole numbers above 0"},
    {PROGRAM_VOXFILT, "-d 1,2,3,4", "-d: 1,2,3,4: expected X[,Y[,Z]], whole numbers above 0"},
    {PROGRAM_VOXFILT, "-n 5 -d 5,5", "-d: 5,5: -n already gives the extents"},
    {PROGRAM_VOXFILT, "-d 5,5 -n 5", "-n: 5: -d already gives the extents"},
    {PROGRAM_VOXFILT, "--channels 0", "--channels: 0: expected a whole number from 1 to 65536"},
    {PROGRAM_VOXFILT, "--channels 65537", "--channels: 65537: expected a whole number from 1 to 65536"},
    {PROGRAM_VOXFILT, "-t u65", "--type: u65: expected " TYPES},
    {PROGRAM_VOXFILT, "--out-type x", "--out-type: x: expected " TYPES},
    {PROGRAM_VOXFILT, "--endian middle", "--endian: middle: expected little or big"},
    {PROGRAM_VOXFILT, "--out-endian x", "--out-endian: x: expected little or big"},
    {PROGRAM_VOXFILT, "--skip -1", "--skip: -1: expected a count of bytes"},
    {PROGRAM_VOXFILT, "--spacing 1,", "--spacing: 1,: expected X[,Y[,Z]]"},
    {PROGRAM_VOXFILT, "-d 5 --spacing 1,1", "--spacing: 2 distances for 1 axis"},
    {PROGRAM_VOXFILT, "--spacing 1,0,1", "--spacing: 1,0,1: expected distances from 1e-100 to 1e100"},
    {PROGRAM_VOXFILT, "--spacing 1,1 -n 5", "--spacing: 2 distances for 3 axes"},
    {PROGRAM_VOXFILT, "-d 5,5 --spacing 1,1,1", "--spacing: 3 distances for 2 axes"},
    {PROGRAM_VOXFILT, "-f gauss:2 -f box:1 --spacing 1,2,3",
     "--spacing: no stage of this chain uses it, and the output does not keep it"},
    {PROGRAM_VOXFILT, "--format png", "--format: png: expected " FORMATS},
    {PROGRAM_VOXFILT, "--out-format gif", "--out-format: gif: expected " FORMATS},
    {PROGRAM_IMGHEAT, "-f nosuch", "--filter: nosuch: no such filter (--list names them)"},
    {PROGRAM_IMGHEAT, "-s -1", "--steps: -1: expected a whole number"},
    {PROGRAM_IMGHEAT, "-s 1.0", "--steps: 1.0: expected a whole number"},
    {PROGRAM_IMGHEAT, "-e around", "--edge: around: expected " RULES},
    {PROGRAM_IMGHEAT, "--alpha -1", "--alpha: -1: expected 0 or more"},
    {PROGRAM_IMGHEAT, "--alpha x", "--alpha: x: expected a number"},
    {PROGRAM_IMGHEAT, "--dt -1", "--dt: -1: expected 0 or more"},
    {PROGRAM_IMGHEAT, "--sigma -1", "--sigma: -1: expected a number, 0 or more, with or without u"},
    {PROGRAM_IMGHEAT, "--sigma 1v", "--sigma: 1v: expected a number, 0 or more, with or without u"},
    {PROGRAM_IMGHEAT, "--flux cubic", "--flux: cubic: expected linear, tanh, pm1 or pm2"},
    {PROGRAM_IMGHEAT, "--scale 0", "--scale: 0: expected a number above 0"},
    {PROGRAM_IMGHEAT, "--flux-channels both", "--flux-channels: both: expected joint or separate"},
    {PROGRAM_VOXFILT, "--flux-channels joint",
     "--flux-channels: no stage of this chain has a flux of pm1 or pm2"},
    {PROGRAM_IMGHEAT, "--flux-channels joint -f box:1", "--flux-channels: no stage of this chain is heat"},
    {PROGRAM_IMGHEAT, "--inner 0", "--inner: 0: expected a whole number above 0"},
    {PROGRAM_IMGHEAT, "--reaction x", "--reaction: x: expected a number"},
    {PROGRAM_IMGHEAT, "--until 0", "--until: 0: expected a number above 0"},
    {PROGRAM_IMGHEAT, "--alpha-mode other", "--alpha-mode: other: expected premultiply or separate"},
    {PROGRAM_IMGHEAT, "--level 10", "--level: 10: expected 0 to 9"},
    {PROGRAM_IMGHEAT, "--work f16", "--work: f16: expected f32 or f64"},
    {PROGRAM_IMGHEAT, "-j 0", "--threads: 0: expected a whole number from 1 to 4096"},
    {PROGRAM_IMGHEAT, "-j 4097", "--threads: 4097: expected a whole number from 1 to 4096"},
    {PROGRAM_IMGHEAT, "-m 0", "--memory: 0: expected a count of bytes above 0, with K, M, G or T"},
    {PROGRAM_IMGHEAT, "-m 1X", "--memory: 1X: expected a count of bytes above 0, with K, M, G or T"},
    {PROGRAM_IMGHEAT, "--report=xml", "--report: xml: expected text[:FILE] or json[:FILE]"},
    {PROGRAM_IMGHEAT, "--progress sometimes", "--progress: sometimes: expected auto, always or never"},
    {PROGRAM_VOXFILT, "--alpha 1 -f box:1", "--alpha: no stage of this chain is heat"},
    {PROGRAM_VOXFILT, "--flux pm1 -f box:1 -f gauss:1", "--flux: no stage of this chain is heat"},
    {PROGRAM_VOXFILT, "-f box:1 --until 2 -f heat", "--until: box:1: only the last stage can wait for it"},
};

START_TEST(bad_usage_is_refused)
{
    struct command command;

    command_parse(&command, usage_errors[_i].program, usage_errors[_i].options);
    ck_assert_msg(!command.parsed, "%s is accepted", usage_errors[_i].options);
    ck_assert_str_eq(command.fault.text, usage_errors[_i].text);
    ck_assert_int_eq(command.fault.status, STATUS_USAGE);
    command_free(&command);
}
END_TEST

START_TEST(voxfilt_takes_its_options)
{
    struct command command;
    const struct options *options = &command.options;

    command_parse(
        &command, PROGRAM_VOXFILT,
        "--input a --output b -d 4,5,6 --channels 2 --type i16 --endian big --out-endian little --skip 1K "
        "--spacing 1,2,3 --out-type f32 --format raw --work f64 --device cpu --threads 3 --memory 2M "
        "--report=json --stats --progress never --force");
    ck_assert_msg(command.parsed, "%s", command.fault.text);
    ck_assert_str_eq(options->inputs[0], "a");
    ck_assert_str_eq(options->output, "b");
    ck_assert(options->source.has_dims && options->source.has_type && options->source.has_endian);
    ck_assert_uint_eq(options->source.grid.axes, 3);
    ck_assert_uint_eq(options->source.grid.nx, 4);
    ck_assert_uint_eq(options->source.grid.ny, 5);
    ck_assert_uint_eq(options->source.grid.nz, 6);
    ck_assert_uint_eq(options->source.grid.channels, 2);
    ck_assert_double_eq(options->source.grid.spacing[2], 3.0);
    ck_assert_int_eq(options->source.type, SAMPLE_I16);
    ck_assert_int_eq(options->source.endian, ENDIAN_BIG);
    ck_assert_uint_eq(options->source.skip, 1024);
    ck_assert(options->job.has_out_endian && options->job.out_endian == ENDIAN_LITTLE);
    ck_assert(options->job.has_out_type && options->job.out_type == SAMPLE_F32);
    ck_assert(options->job.has_work && options->job.work == WORK_F64);
    ck_assert(options->job.force);
    ck_assert_ptr_eq(options->format, &format_raw);
    ck_assert_ptr_null(options->out_format);
    ck_assert_str_eq(options->plan.device, "cpu");
    ck_assert_uint_eq(options->plan.threads, 3);
    ck_assert_uint_eq(options->plan.memory, 2 << 20);
    ck_assert_int_eq(options->report, REPORT_JSON);
    ck_assert(options->run.stats);
    ck_assert_int_eq(options->run.progress, PROGRESS_NEVER);
    ck_assert_uint_eq(options->job.stage_count, 1);
    ck_assert_str_eq(options->stages[0].call.filter->name, "heat");
    command_free(&command);
}
END_TEST

START_TEST(imgheat_takes_its_options)
{
    struct command command;
    const struct options *options = &command.options;

    command_parse(&command, PROGRAM_IMGHEAT,
                  "a.png --linear --alpha-mode separate --level 0 b.png -o c/ --report");
    ck_assert_msg(command.parsed, "%s", command.fault.text);
    ck_assert_uint_eq(options->input_count, 2);
    ck_assert_str_eq(options->inputs[0], "a.png");
    ck_assert_str_eq(options->inputs[1], "b.png");
    ck_assert_str_eq(options->output, "c/");
    ck_assert(options->job.linear_light);
    ck_assert_int_eq(options->job.alpha_mode, ALPHA_SEPARATE);
    ck_assert_int_eq(options->level, 0);
    ck_assert_int_eq(options->report, REPORT_TEXT);
    command_free(&command);
    command_parse(&command, PROGRAM_IMGHEAT, "");
    ck_assert(command.parsed);
    ck_assert_str_eq(options->inputs[0], "-");
    ck_assert_uint_eq(options->input_count, 1);
    ck_assert_int_eq(options->level, -1);
    ck_assert_int_eq(options->job.alpha_mode, ALPHA_PREMULTIPLY);
    command_free(&command);
}
END_TEST

START_TEST(actions)
{
    static const enum program programs[] = {PROGRAM_VOXFILT, PROGRAM_IMGHEAT};
    static const struct {
        const char *options;
        enum action action;
    } given[] = {{"", ACTION_RUN},
                 {"--explain", ACTION_EXPLAIN},
                 {"--list", ACTION_LIST},
                 {"--help", ACTION_HELP},
                 {"--version", ACTION_VERSION}};

    for (size_t i = 0; i < LENGTH(programs) * LENGTH(given); i++) {
        struct command command;
        command_parse(&command, programs[i / LENGTH(given)], given[i % LENGTH(given)].options);
        ck_assert(command.parsed);
        ck_assert_int_eq(command.options.action, given[i % LENGTH(given)].action);
        command_free(&command);
    }
}
END_TEST

static Suite *model_suite(void)
{
    Suite *suite = suite_create("model");
    TCase *words = tcase_create("words"), *filters = tcase_create("filters");
    TCase *stages = tcase_create("stages"), *options = tcase_create("options");

    tcase_add_test(words, products_name_each_factor);
    tcase_add_loop_test(words, numbers_are_the_whole_text, 0, (int)LENGTH(number_texts));
    tcase_add_test(words, lists_have_a_length);
    tcase_add_test(words, bytes_are_written_for_readers);
    tcase_add_loop_test(words, times_are_written_for_readers, 0, (int)LENGTH(times));
    tcase_add_test(words, shares_are_written_for_readers);
    tcase_add_test(words, numbers_have_the_digits_that_matter);
    tcase_add_test(words, limits_are_the_last_values_that_fit);
    tcase_add_loop_test(words, sample_types, 0, SAMPLE_TYPES);
    tcase_add_loop_test(words, work_types, 0, WORK_TYPES);
    tcase_add_loop_test(words, edge_rules, 0, (int)LENGTH(edge_texts));
    tcase_add_test(words, grids);
    tcase_add_loop_test(filters, stencils_have_their_weights, 0, (int)LENGTH(boxes));
    tcase_add_loop_test(filters, stars_have_their_coefficients, 0, (int)(2 * LENGTH(star_weights)));
    tcase_add_test(filters, stars_are_divided_by_squares);
    tcase_add_loop_test(filters, gauss_is_normalised, 0, (int)LENGTH(gausses));
    tcase_add_test(filters, box_is_a_mean);
    tcase_add_test(filters, derivatives_of_gauss);
    tcase_add_test(filters, chains_of_derivatives);
    tcase_add_test(filters, ranks_are_counted);
    tcase_add_test(filters, bilateral_weighs_distance);
    tcase_add_test(filters, unsharp_takes_its_amount);
    tcase_add_loop_test(filters, bad_filters_are_refused, 0, (int)LENGTH(filter_refusals));
    tcase_add_test(stages, the_limit_is_stable);
    tcase_add_loop_test(stages, schedules_are_settled, 0, (int)LENGTH(schedules));
    tcase_add_test(stages, heat_takes_its_options);
    tcase_add_test(stages, stages_take_defaults);
    tcase_add_loop_test(stages, every_option_is_inherited, 0, (int)LENGTH(stage_options));
    tcase_add_loop_test(stages, every_option_has_its_name, 0, (int)LENGTH(stage_options));
    tcase_add_loop_test(stages, checks_are_every_so_many_and_the_last, 1, 10);
    tcase_add_test(stages, convergence_keeps_the_latest);
    tcase_add_test(stages, identity_is_known);
    tcase_add_test(stages, a_default_scale_leaves_linear_stages_alone);
    tcase_add_test(stages, channels_of_a_flux);
    tcase_add_loop_test(stages, stages_that_keep_constants, 0, LENGTH(constants));
    tcase_add_loop_test(options, every_value_fits_its_place, 0, OPTIONS);
    tcase_add_loop_test(options, bad_usage_is_refused, 0, (int)LENGTH(usage_errors));
    tcase_add_test(options, voxfilt_takes_its_options);
    tcase_add_test(options, imgheat_takes_its_options);
    tcase_add_test(options, actions);
    suite_add_tcase(suite, words);
    suite_add_tcase(suite, filters);
    suite_add_tcase(suite, stages);
    suite_add_tcase(suite, options);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(model_suite());
    int failed;

    folder_enter();
    write_bad_taps();
    srunner_run_all(runner, CK_ENV);
    folder_leave();
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
