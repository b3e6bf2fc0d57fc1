/* Tests of the PNG format: every kind of picture in, samples and notes out, damage refused. */
#include "base/checksum.h"
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/deflate.h"
#include "format/format.h"
#include "png/png_filter.h"
#include "assertions.h"
#include "fixture.h"
#include "harness.h"
#include "profile.h"

#include <png.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { ROWS_MOST = 64, PALETTE_SIZE = 16 };

/* ---- byte strings and temporary files ---- */

struct bytes {
    unsigned char *data;
    size_t size;
};

static void bytes_append(struct bytes *bytes, const void *data, size_t size)
{
    if (size == 0)
        return;
    bytes->data = realloc(bytes->data, bytes->size + size);
    ck_assert_ptr_nonnull(bytes->data);
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static void bytes_free(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}

struct scratch {
    char path[512];
};

static struct scratch scratch_make(void)
{
    struct scratch scratch;
    const char *folder = getenv("TMPDIR");
    snprintf(scratch.path, sizeof scratch.path, "%s/check_png.XXXXXX", folder != NULL ? folder : "/tmp");
    int descriptor = mkstemp(scratch.path);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    return scratch;
}

/* For reading and for writing. */
static size_t threads = 2;

/* Made and removed outside the tests, so that a test that fails leaves none. */
static struct scratch scratch_in, scratch_out;

static void scratch_setup(void)
{
    scratch_in = scratch_make();
    scratch_out = scratch_make();
}

static void scratch_teardown(void)
{
    unlink(scratch_in.path);
    unlink(scratch_out.path);
}

static void fill_input(const void *data, size_t size)
{
    FILE *file = fopen(scratch_in.path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

static struct bytes output_content(void)
{
    struct bytes content;

    content.data = file_content(scratch_out.path, &content.size);
    return content;
}

/* ---- a picture, packed as PNG packs it, and the file that libpng makes of it ---- */

struct picture {
    unsigned width, height;
    int color_type, depth;
    bool interlaced, transparent;
    size_t row_bytes;
    unsigned char *rows;
    png_color palette[PALETTE_SIZE];
    unsigned palette_size;
    png_byte palette_alpha[PALETTE_SIZE];
    unsigned palette_alphas;
    png_color_16 key;
};

static unsigned raw_channels(const struct picture *picture)
{
    switch (picture->color_type) {
    case PNG_COLOR_TYPE_RGB:
        return 3;
    case PNG_COLOR_TYPE_GRAY_ALPHA:
        return 2;
    case PNG_COLOR_TYPE_RGB_ALPHA:
        return 4;
    default:
        return 1;
    }
}

static unsigned next_random(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 16;
}

/* The raw value of one channel of one pixel, straight from the packed row. */
static unsigned raw_value(const struct picture *picture, unsigned x, unsigned y, unsigned channel)
{
    const unsigned char *row = picture->rows + y * picture->row_bytes;
    size_t index = (size_t)x * raw_channels(picture) + channel;
    unsigned depth = (unsigned)picture->depth;
    if (depth == 16)
        return (unsigned)row[2 * index] << 8 | row[2 * index + 1];
    size_t bit = index * depth;
    return (unsigned)row[bit / 8] >> (8 - depth - bit % 8) & ((1U << depth) - 1);
}

static struct picture picture_make(unsigned width, unsigned height, int color_type, int depth,
                                   bool interlaced, bool transparent)
{
    struct picture picture = {.width = width,
                              .height = height,
                              .color_type = color_type,
                              .depth = depth,
                              .interlaced = interlaced,
                              .transparent = transparent};
    uint32_t seed = width * 31 + height * 7 + (unsigned)color_type * 3 + (unsigned)depth;
    picture.row_bytes = ((size_t)width * raw_channels(&picture) * (unsigned)depth + 7) / 8;
    picture.rows = malloc(picture.row_bytes * height);
    ck_assert_ptr_nonnull(picture.rows);
    for (size_t i = 0; i < picture.row_bytes * height; i++)
        picture.rows[i] = (unsigned char)next_random(&seed);
    picture.palette_size = depth < 4 ? 1U << depth : PALETTE_SIZE;
    picture.palette_alphas = (picture.palette_size + 1) / 2;
    for (unsigned i = 0; i < PALETTE_SIZE; i++) {
        picture.palette[i].red = (png_byte)next_random(&seed);
        picture.palette[i].green = (png_byte)next_random(&seed);
        picture.palette[i].blue = (png_byte)next_random(&seed);
        picture.palette_alpha[i] = (png_byte)next_random(&seed);
    }
    if (color_type == PNG_COLOR_TYPE_PALETTE && depth == 8)
        for (size_t i = 0; i < picture.row_bytes * height; i++)
            picture.rows[i] %= PALETTE_SIZE + 1; /* the last index has no colour */
    /* A key that is certain to occur. */
    picture.key.gray = picture.key.red = (png_uint_16)raw_value(&picture, width / 2, height / 2, 0);
    if (color_type == PNG_COLOR_TYPE_RGB) {
        picture.key.green = (png_uint_16)raw_value(&picture, width / 2, height / 2, 1);
        picture.key.blue = (png_uint_16)raw_value(&picture, width / 2, height / 2, 2);
    }
    return picture;
}

static void picture_free(struct picture *picture)
{
    free(picture->rows);
    picture->rows = NULL;
}

static void append_to_bytes(png_structp png, png_bytep data, size_t size)
{
    bytes_append(png_get_io_ptr(png), data, size);
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

static _Noreturn void fail_test(png_structp png, png_const_charp message)
{
    (void)png;
    ck_abort_msg("libpng: %s", message);
    abort();
}

static void set_colours(png_structp png, png_infop info, const struct picture *picture)
{
    if (picture->color_type == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(png, info, picture->palette, (int)picture->palette_size);
        if (picture->transparent)
            png_set_tRNS(png, info, picture->palette_alpha, (int)picture->palette_alphas, NULL);
    } else if (picture->transparent) {
        png_set_tRNS(png, info, NULL, 0, &picture->key);
    }
}

static struct bytes picture_encode(const struct picture *picture)
{
    struct bytes file = {0};
    png_bytep pointers[ROWS_MOST];
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, fail_test, NULL);
    png_infop info = png_create_info_struct(png);
    ck_assert_uint_le(picture->height, ROWS_MOST);
    for (unsigned y = 0; y < picture->height; y++)
        pointers[y] = picture->rows + y * picture->row_bytes;
    png_set_write_fn(png, &file, append_to_bytes, flush_nothing);
    png_set_IHDR(png, info, picture->width, picture->height, picture->depth, picture->color_type,
                 picture->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    set_colours(png, info, picture);
    png_set_check_for_invalid_index(png, 0);
    png_write_info(png, info);
    png_write_image(png, pointers);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return file;
}

/* ---- what the reader has to make of it, by the letter of the specification ---- */

static bool expected_alpha(const struct picture *picture)
{
    return picture->transparent || (picture->color_type & PNG_COLOR_MASK_ALPHA) != 0;
}

static unsigned expected_channels(const struct picture *picture)
{
    bool color = (picture->color_type & PNG_COLOR_MASK_COLOR) != 0;
    return (color ? 3U : 1U) + (expected_alpha(picture) ? 1U : 0U);
}

static unsigned expected_value(const struct picture *picture, unsigned x, unsigned y, unsigned channel)
{
    bool is_alpha = expected_alpha(picture) && channel == expected_channels(picture) - 1;
    unsigned most = picture->depth == 16 ? 65535 : 255;
    if (picture->color_type == PNG_COLOR_TYPE_PALETTE) {
        unsigned index = raw_value(picture, x, y, 0);
        static const png_color black;
        const png_color *color = index < picture->palette_size ? &picture->palette[index] : &black;
        if (is_alpha)
            return index < picture->palette_alphas ? picture->palette_alpha[index] : most;
        return channel == 0 ? color->red : channel == 1 ? color->green : color->blue;
    }
    if (is_alpha && picture->color_type == PNG_COLOR_TYPE_GRAY)
        return raw_value(picture, x, y, 0) == picture->key.gray ? 0 : most;
    if (is_alpha && picture->color_type == PNG_COLOR_TYPE_RGB) {
        bool is_key = raw_value(picture, x, y, 0) == picture->key.red &&
                      raw_value(picture, x, y, 1) == picture->key.green &&
                      raw_value(picture, x, y, 2) == picture->key.blue;
        return is_key ? 0 : most;
    }
    return raw_value(picture, x, y, channel) * most / ((1U << picture->depth) - 1);
}

static unsigned sample_at(const unsigned char *samples, size_t index, enum sample_type type,
                          enum endian endian)
{
    if (type == SAMPLE_U8)
        return samples[index];
    const unsigned char *pair = samples + 2 * index;
    return endian == ENDIAN_BIG ? (unsigned)pair[0] << 8 | pair[1] : (unsigned)pair[1] << 8 | pair[0];
}

/* ---- reading through the format ---- */

struct opened {
    struct file_in *file;
    struct source source;
    struct spool spool;
};

static int nameless_file(void)
{
    char path[] = "/tmp/check_png.XXXXXX";
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(unlink(path), 0);
    return descriptor;
}

/* With two threads, a picture that has to be held is held in a spool. */
static bool open_picture(struct opened *opened, struct fault *fault)
{
    struct source_request request = {.threads = threads};
    opened->spool = (struct spool){.descriptor = -1, .output = "out"};
    ck_assert(file_in_open(&opened->file, scratch_in.path, fault));
    if (!source_open(&opened->source, opened->file, &format_png, &request, fault)) {
        file_in_close(opened->file);
        return false;
    }
    if (opened->source.held_bytes > 0 && threads > 1) {
        opened->spool.descriptor = nameless_file();
        opened->source.format->hold_in_spool(&opened->source, &opened->spool);
    }
    return true;
}

static void close_picture(struct opened *opened)
{
    source_close(&opened->source);
    spool_close(&opened->spool);
    file_in_close(opened->file);
}

static size_t file_samples_bytes(const struct header *header)
{
    return header_plane_bytes(header) * grid_planes(&header->grid);
}

/* All samples, in steps of `step` rows; NULL and a fault when the file is refused anywhere. */
static unsigned char *read_samples(struct opened *opened, size_t step, struct fault *fault)
{
    const struct header *header = &opened->source.header;
    size_t rows = grid_planes(&header->grid);
    unsigned char *samples = malloc(file_samples_bytes(header));
    ck_assert_ptr_nonnull(samples);
    for (size_t row = 0; row < rows; row += step) {
        size_t count = rows - row < step ? rows - row : step;
        if (!source_read(&opened->source, samples + row * header_plane_bytes(header), count, fault)) {
            free(samples);
            return NULL;
        }
    }
    if (!source_end(&opened->source, fault)) {
        free(samples);
        return NULL;
    }
    return samples;
}

/* Whether the whole file is taken; a fault tells why not. */
static bool takes(const void *data, size_t size, struct fault *fault)
{
    struct opened opened;
    fill_input(data, size);
    if (!open_picture(&opened, fault))
        return false;
    unsigned char *samples = read_samples(&opened, 4, fault);
    close_picture(&opened);
    free(samples);
    return samples != NULL;
}

/* By one thread and by two in turn. */
static void check_refused(const void *data, size_t size, const char *what)
{
    threads = 3 - threads;
    struct fault fault = {.status = STATUS_DONE};
    bool taken = takes(data, size, &fault);
    ck_assert_msg(!taken, "%s is taken", what);
    ck_assert_msg(fault.status == STATUS_INPUT, "%s: status %d: %s", what, (int)fault.status, fault.text);
    ck_assert_ptr_nonnull(strstr(fault.text, scratch_in.path));
    ck_assert_ptr_null(strchr(fault.text, '\n'));
}

static void check_header(const struct source *source, const struct picture *picture)
{
    const struct header *header = &source->header;
    ck_assert_uint_eq(header->grid.axes, 2);
    ck_assert_uint_eq(header->grid.nx, picture->width);
    ck_assert_uint_eq(header->grid.ny, picture->height);
    ck_assert_uint_eq(header->grid.nz, 1);
    ck_assert_uint_eq(header->grid.channels, expected_channels(picture));
    ck_assert_int_eq(header->alpha, expected_alpha(picture));
    ck_assert_int_eq(header->type, picture->depth == 16 ? SAMPLE_U16 : SAMPLE_U8);
    ck_assert_int_eq(header->endian, ENDIAN_BIG);
    ck_assert_uint_eq(source->held_bytes, picture->interlaced ? file_samples_bytes(header) : 0);
}

static void check_samples(const struct header *header, const unsigned char *samples,
                          const struct picture *picture)
{
    size_t index = 0;
    for (unsigned y = 0; y < picture->height; y++)
        for (unsigned x = 0; x < picture->width; x++)
            for (unsigned channel = 0; channel < header->grid.channels; channel++) {
                unsigned got = sample_at(samples, index++, header->type, header->endian);
                unsigned expected = expected_value(picture, x, y, channel);
                ck_assert_msg(got == expected, "type %d depth %d: (%u, %u) channel %u: %u, not %u",
                              picture->color_type, picture->depth, x, y, channel, got, expected);
            }
}

/* ---- writing through the format, and reading that back by libpng alone ---- */

static void write_picture(const struct header *header, const unsigned char *samples, int level,
                          const struct source *origin)
{
    struct fault fault;
    struct file_out *file;
    struct sink sink;
    struct sink_request request = {.level = level, .threads = threads, .origin = origin};
    size_t rows = grid_planes(&header->grid);
    ck_assert(file_out_open(&file, scratch_out.path, &fault));
    ck_assert_msg(sink_open(&sink, file, &format_png, header, &request, &fault), "%s", fault.text);
    ck_assert(sink_write(&sink, samples, 1, &fault));
    ck_assert(sink_write(&sink, samples + header_plane_bytes(header), rows - 1, &fault));
    ck_assert(sink_finish(&sink, &fault) && file_set_commit_one(file, &fault));
    sink_close(&sink);
    file_out_close(file);
}

struct cursor {
    const struct bytes *bytes;
    size_t position;
};

static void read_from_bytes(png_structp png, png_bytep data, size_t size)
{
    struct cursor *cursor = png_get_io_ptr(png);
    ck_assert_uint_le(size, cursor->bytes->size - cursor->position);
    memcpy(data, cursor->bytes->data + cursor->position, size);
    cursor->position += size;
}

/* What we write gives libpng no cause to warn, but for the colour profiles of these tests, which are none. */
static void fail_on_warning(png_structp png, png_const_charp message)
{
    if (strncmp(message, "iCCP: ", 6) != 0)
        fail_test(png, message);
}

/* The samples as they stand in the file: 16 bit is big-endian. */
static unsigned char *libpng_samples(const struct bytes *file, const struct header *header)
{
    struct cursor cursor = {.bytes = file};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, fail_test, fail_on_warning);
    png_infop info = png_create_info_struct(png);
    unsigned char *samples = malloc(file_samples_bytes(header));
    ck_assert_ptr_nonnull(samples);
    png_set_read_fn(png, &cursor, read_from_bytes);
    png_read_info(png, info);
    ck_assert_uint_eq(png_get_image_width(png, info), header->grid.nx);
    ck_assert_uint_eq(png_get_image_height(png, info), header->grid.ny);
    ck_assert_uint_eq(png_get_channels(png, info), header->grid.channels);
    ck_assert_uint_eq(png_get_bit_depth(png, info), 8 * sample_size(header->type));
    ck_assert_int_eq(png_get_interlace_type(png, info), PNG_INTERLACE_NONE);
    ck_assert_uint_eq(png_get_rowbytes(png, info), header_plane_bytes(header));
    for (size_t row = 0; row < header->grid.ny; row++)
        png_read_row(png, samples + row * header_plane_bytes(header), NULL);
    png_read_end(png, info);
    png_destroy_read_struct(&png, &info, NULL);
    ck_assert_uint_eq(cursor.position, file->size);
    return samples;
}

static void check_written(const struct header *header, const unsigned char *samples)
{
    struct bytes file = output_content();
    unsigned char *reread = libpng_samples(&file, header);
    size_t count = grid_samples(&header->grid), same = 0;
    while (same < count && sample_at(reread, same, header->type, ENDIAN_BIG) ==
                               sample_at(samples, same, header->type, header->endian))
        same++;
    ck_assert_msg(same == count, "sample %zu differs", same);
    free(reread);
    bytes_free(&file);
}

/* ---- every kind of picture ---- */

static void check_picture(const struct picture *picture)
{
    struct fault fault;
    struct opened opened;
    struct bytes file = picture_encode(picture);
    for (size_t step = 1; step <= 5; step += 4) {
        threads = step == 1 ? 1 : 2;
        fill_input(file.data, file.size);
        ck_assert_msg(open_picture(&opened, &fault), "%s", fault.text);
        check_header(&opened.source, picture);
        unsigned char *samples = read_samples(&opened, step, &fault);
        ck_assert_msg(samples != NULL, "%s", fault.text);
        check_samples(&opened.source.header, samples, picture);
        write_picture(&opened.source.header, samples, step == 1 ? -1 : 1, &opened.source);
        check_written(&opened.source.header, samples);
        close_picture(&opened);
        free(samples);
    }
    bytes_free(&file);
}

static const struct kind {
    int color_type, depth;
    bool transparent;
} kinds[] = {
    {PNG_COLOR_TYPE_GRAY, 1, false},       {PNG_COLOR_TYPE_GRAY, 2, false},
    {PNG_COLOR_TYPE_GRAY, 4, false},       {PNG_COLOR_TYPE_GRAY, 8, false},
    {PNG_COLOR_TYPE_GRAY, 16, false},      {PNG_COLOR_TYPE_GRAY, 1, true},
    {PNG_COLOR_TYPE_GRAY, 2, true},        {PNG_COLOR_TYPE_GRAY, 4, true},
    {PNG_COLOR_TYPE_GRAY, 8, true},        {PNG_COLOR_TYPE_GRAY, 16, true},
    {PNG_COLOR_TYPE_RGB, 8, false},        {PNG_COLOR_TYPE_RGB, 16, false},
    {PNG_COLOR_TYPE_RGB, 8, true},         {PNG_COLOR_TYPE_RGB, 16, true},
    {PNG_COLOR_TYPE_PALETTE, 1, false},    {PNG_COLOR_TYPE_PALETTE, 2, false},
    {PNG_COLOR_TYPE_PALETTE, 4, false},    {PNG_COLOR_TYPE_PALETTE, 8, false},
    {PNG_COLOR_TYPE_PALETTE, 1, true},     {PNG_COLOR_TYPE_PALETTE, 2, true},
    {PNG_COLOR_TYPE_PALETTE, 4, true},     {PNG_COLOR_TYPE_PALETTE, 8, true},
    {PNG_COLOR_TYPE_GRAY_ALPHA, 8, false}, {PNG_COLOR_TYPE_GRAY_ALPHA, 16, false},
    {PNG_COLOR_TYPE_RGB_ALPHA, 8, false},  {PNG_COLOR_TYPE_RGB_ALPHA, 16, false},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

START_TEST(every_kind)
{
    static const unsigned sizes[][2] = {{1, 1}, {1, 7}, {7, 1}, {33, 31}};
    const struct kind *kind = &kinds[_i / 2];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct picture picture = picture_make(sizes[i][0], sizes[i][1], kind->color_type, kind->depth,
                                              _i % 2 != 0, kind->transparent);
        check_picture(&picture);
        picture_free(&picture);
    }
}
END_TEST

START_TEST(little_endian_and_every_level)
{
    struct header header = {.grid = grid_make(2, 33, 31, 1), .type = SAMPLE_U16, .endian = ENDIAN_LITTLE};
    uint32_t seed = 5;
    header.grid.channels = 3;
    size_t size = file_samples_bytes(&header);
    unsigned char *samples = malloc(size);
    ck_assert_ptr_nonnull(samples);
    for (size_t i = 0; i < size; i++)
        samples[i] = (unsigned char)next_random(&seed);
    for (int level = -1; level <= MOST_LEVEL; level++) {
        write_picture(&header, samples, level, NULL);
        check_written(&header, samples);
    }
    free(samples);
}
END_TEST

/* ---- pictures of several strips ---- */

enum pattern { FLAT, GRADIENT, NOISE, TEXT, PATTERNS };

static unsigned char pattern_byte(enum pattern pattern, size_t i, size_t row_bytes, uint32_t *seed)
{
    size_t x = i % row_bytes, y = i / row_bytes;
    switch (pattern) {
    case FLAT:
        return 200;
    case GRADIENT:
        return (unsigned char)(x / 16 + y);
    case NOISE:
        return (unsigned char)next_random(seed);
    default: /* the same few shapes over and over */
        return (x / 8 * 7 + y / 12 * 5) % 9 < 3 && (x % 8 * 3 + y % 12) % 5 < 3 ? 0 : 255;
    }
}

static unsigned char *pattern_make(const struct header *header, enum pattern pattern)
{
    size_t size = file_samples_bytes(header), row_bytes = header_plane_bytes(header);
    unsigned char *samples = malloc(size);
    uint32_t seed = 11;
    ck_assert_ptr_nonnull(samples);
    for (size_t i = 0; i < size; i++)
        samples[i] = pattern_byte(pattern, i, row_bytes, &seed);
    return samples;
}

static struct header large_header(size_t width, size_t height, unsigned channels, enum sample_type type)
{
    struct header header = {.grid = grid_make(2, width, height, 1), .type = type, .endian = ENDIAN_BIG};
    header.grid.channels = channels;
    header.alpha = channels % 2 == 0;
    return header;
}

static struct bytes written_by(size_t writers, const struct header *header, const unsigned char *samples,
                               int level)
{
    threads = writers;
    write_picture(header, samples, level, NULL);
    return output_content();
}

static void check_any_threads(const struct header *header, enum pattern pattern, int level)
{
    static const size_t writers[] = {2, 3, 7};
    unsigned char *samples = pattern_make(header, pattern);
    struct bytes alone = written_by(1, header, samples, level);
    check_written(header, samples);
    for (size_t i = harness_thinning() > 1 ? 2 : 0; i < sizeof writers / sizeof writers[0]; i++) {
        struct bytes shared = written_by(writers[i], header, samples, level);
        ck_assert_uint_eq(shared.size, alone.size);
        ck_assert_mem_eq(shared.data, alone.data, alone.size);
        bytes_free(&shared);
    }
    bytes_free(&alone);
    free(samples);
}

START_TEST(the_file_does_not_depend_on_threads)
{
    static const int levels[] = {-1, 0, 1, 3, 9};
    struct header header = large_header(701, 500, 3, SAMPLE_U8);
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        check_any_threads(&header, (enum pattern)_i, levels[i]);
}
END_TEST

static const struct {
    size_t width, height;
    unsigned channels;
    enum sample_type type;
} strip_shapes[] = {
    {1, 300000, 1, SAMPLE_U8},  {3, 40000, 2, SAMPLE_U16}, {90000, 5, 4, SAMPLE_U8},
    {90001, 3, 4, SAMPLE_U16},  {600000, 1, 1, SAMPLE_U8}, {524287, 3, 1, SAMPLE_U8},
    {524288, 3, 1, SAMPLE_U8},  {262143, 4, 1, SAMPLE_U8}, {511, 1025, 4, SAMPLE_U8},
    {40000, 20, 1, SAMPLE_U16},
};

START_TEST(strips_of_every_shape)
{
    struct header header = large_header(strip_shapes[_i].width, strip_shapes[_i].height,
                                        strip_shapes[_i].channels, strip_shapes[_i].type);
    check_any_threads(&header, TEXT, 1);
    check_any_threads(&header, TEXT, -1);
    check_any_threads(&header, NOISE, 3);
}
END_TEST

/* What each level is for. */
START_TEST(levels_compress)
{
    struct header header = large_header(701, 700, 3, SAMPLE_U8);
    for (enum pattern pattern = FLAT; pattern < PATTERNS; pattern++) {
        unsigned char *samples = pattern_make(&header, pattern);
        size_t plain = file_samples_bytes(&header);
        for (int level = 0; level <= MOST_LEVEL; level++) {
            struct bytes file = written_by(2, &header, samples, level);
            if (level == 0)
                ck_assert_uint_gt(file.size, plain);
            else if (pattern == NOISE)
                ck_assert_uint_lt(file.size, plain + plain / 1000 + 1000);
            else
                ck_assert_uint_lt(file.size, plain / (pattern == TEXT && level > 1 ? 20 : 8));
            bytes_free(&file);
        }
        free(samples);
    }
}
END_TEST

static void write_some_and_give_up(const struct header *header, const unsigned char *samples, size_t rows)
{
    struct fault fault;
    struct file_out *file;
    struct sink sink;
    struct sink_request request = {.level = 9, .threads = threads};
    ck_assert(file_out_open(&file, scratch_out.path, &fault));
    ck_assert(sink_open(&sink, file, &format_png, header, &request, &fault));
    ck_assert(sink_write(&sink, samples, rows, &fault));
    sink_close(&sink);
    file_out_close(file);
}

START_TEST(writing_may_be_given_up)
{
    struct header header = large_header(701, 700, 3, SAMPLE_U8);
    unsigned char *samples = pattern_make(&header, NOISE);
    for (threads = 1; threads <= 2; threads++)
        for (size_t rows = 1; rows <= 700; rows += 349)
            write_some_and_give_up(&header, samples, rows);
    free(samples);
}
END_TEST

static void read_some_and_give_up(const struct header *header, const unsigned char *samples, size_t count)
{
    unsigned char *rows = malloc(count * header_plane_bytes(header) + 1);
    struct fault fault;
    struct opened opened;
    ck_assert_ptr_nonnull(rows);
    ck_assert(open_picture(&opened, &fault));
    if (count > 0)
        ck_assert(source_read(&opened.source, rows, count, &fault));
    ck_assert_mem_eq(rows, samples, count * header_plane_bytes(header));
    close_picture(&opened);
    free(rows);
}

/* Many times, since the thread that inflates may be anywhere when its reader goes. */
START_TEST(reading_may_be_given_up)
{
    enum { TIMES = 200 };
    struct header header = large_header(701, 700, 3, SAMPLE_U8);
    unsigned char *samples = pattern_make(&header, NOISE);
    struct bytes file = written_by(2, &header, samples, 1);
    fill_input(file.data, file.size);
    for (threads = 1; threads <= 2; threads++)
        for (size_t count = 0; count < 700; count += 233)
            read_some_and_give_up(&header, samples, count);
    threads = 2;
    for (int i = 0; i < TIMES; i++)
        read_some_and_give_up(&header, samples, (size_t)i % 8);
    bytes_free(&file);
    free(samples);
}
END_TEST

static void check_not_writable(const struct header *header, enum status status)
{
    struct fault fault = {.status = STATUS_DONE};
    struct file_out *file;
    struct sink sink;
    struct sink_request request = {.level = -1, .threads = threads};
    ck_assert(file_out_open(&file, scratch_out.path, &fault));
    ck_assert(!sink_open(&sink, file, &format_png, header, &request, &fault));
    ck_assert_int_eq(fault.status, status);
    file_out_close(file);
}

START_TEST(what_a_png_cannot_hold)
{
    struct header header = {.grid = grid_make(2, 3, 3, 1), .type = SAMPLE_F32, .endian = ENDIAN_BIG};
    check_not_writable(&header, STATUS_USAGE);
    header.type = SAMPLE_U8;
    header.grid.channels = 2;
    check_not_writable(&header, STATUS_USAGE);
    header.grid.channels = 3;
    header.alpha = true;
    check_not_writable(&header, STATUS_USAGE);
    header = (struct header){.grid = grid_make(3, 3, 3, 3), .type = SAMPLE_U8};
    check_not_writable(&header, STATUS_USAGE);
    header = (struct header){.grid = grid_make(2, (size_t)1 << 31, 1, 1), .type = SAMPLE_U8};
    check_not_writable(&header, STATUS_LIMIT);
}
END_TEST

/* ---- chunks ---- */

static uint32_t checksum(const unsigned char *data, size_t size)
{
    uint32_t sum = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        sum ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            sum = (sum & 1) != 0 ? 0xedb88320 ^ sum >> 1 : sum >> 1;
    }
    return ~sum;
}

static uint32_t get32(const unsigned char *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static void put32(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void append_chunk(struct bytes *file, const char *type, const void *data, size_t size)
{
    unsigned char number[4];
    size_t begin = file->size + 4;
    put32(number, (uint32_t)size);
    bytes_append(file, number, 4);
    bytes_append(file, type, 4);
    bytes_append(file, data, size);
    put32(number, checksum(file->data + begin, size + 4));
    bytes_append(file, number, 4);
}

/* The offset of the first chunk of a type; the size of the file where there is none. */
static size_t chunk_offset(const struct bytes *file, const char *type)
{
    size_t offset = 8;
    while (offset < file->size && memcmp(file->data + offset + 4, type, 4) != 0)
        offset += 12 + get32(file->data + offset);
    return offset;
}

static size_t chunk_count(const struct bytes *file, const char *type)
{
    size_t count = 0;
    for (size_t offset = 8; offset < file->size; offset += 12 + get32(file->data + offset))
        count += memcmp(file->data + offset + 4, type, 4) == 0;
    return count;
}

struct extra {
    const char *type;
    const char *data;
    size_t size;
};

/* The picture with chunks put in before its IDAT and before its IEND. */
static struct bytes with_chunks(const struct bytes *plain, const struct extra *early, size_t earlies,
                                const struct extra *late, size_t lates)
{
    struct bytes file = {0};
    size_t image = chunk_offset(plain, "IDAT"), end = chunk_offset(plain, "IEND");
    bytes_append(&file, plain->data, image);
    for (size_t i = 0; i < earlies; i++)
        append_chunk(&file, early[i].type, early[i].data, early[i].size);
    bytes_append(&file, plain->data + image, end - image);
    for (size_t i = 0; i < lates; i++)
        append_chunk(&file, late[i].type, late[i].data, late[i].size);
    bytes_append(&file, plain->data + end, plain->size - end);
    return file;
}

static struct bytes small_png(int color_type, int depth, bool interlaced, bool transparent)
{
    struct picture picture = picture_make(5, 4, color_type, depth, interlaced, transparent);
    struct bytes file = picture_encode(&picture);
    picture_free(&picture);
    return file;
}

/* Read a file and write its samples again, notes kept. */
static struct bytes copy_of(const struct bytes *file)
{
    struct fault fault;
    struct opened opened;
    fill_input(file->data, file->size);
    ck_assert_msg(open_picture(&opened, &fault), "%s", fault.text);
    unsigned char *samples = read_samples(&opened, 4, &fault);
    ck_assert_msg(samples != NULL, "%s", fault.text);
    write_picture(&opened.source.header, samples, -1, &opened.source);
    check_written(&opened.source.header, samples);
    close_picture(&opened);
    free(samples);
    struct bytes copy = output_content();
    return copy;
}

static void check_has_chunk(const struct bytes *file, const struct extra *extra)
{
    struct bytes chunk = {0};
    append_chunk(&chunk, extra->type, extra->data, extra->size);
    bool found = false;
    for (size_t offset = 8; offset < file->size; offset += 12 + get32(file->data + offset))
        found = found || (chunk.size <= file->size - offset &&
                          memcmp(file->data + offset, chunk.data, chunk.size) == 0);
    ck_assert_msg(found, "%s is lost", extra->type);
    bytes_free(&chunk);
}

static struct header header_of(const struct bytes *file)
{
    struct fault fault;
    struct opened opened;
    fill_input(file->data, file->size);
    ck_assert_msg(open_picture(&opened, &fault), "%s", fault.text);
    struct header header = opened.source.header;
    close_picture(&opened);
    return header;
}

#define CHUNK(type, text)                                                                                    \
    {                                                                                                        \
        type, text, sizeof text - 1                                                                          \
    }
#define GAMMA_45455 CHUNK("gAMA", "\0\0\xb1\x8f")
#define PRIMARIES                                                                                            \
    CHUNK("cHRM",                                                                                            \
          "\0\0\x7a\x26\0\0\x80\x84\0\0\xfa\0\0\0\x80\xe8\0\0\x75\x30\0\0\xea\x60\0\0\x3a\x98\0\0\x17\x70")
#define PERCEPTUAL CHUNK("sRGB", "\0")
#define PROFILE    CHUNK("iCCP", "name\0\0not really a profile")

START_TEST(notes_are_kept)
{
    static const struct extra early[] = {
        GAMMA_45455,
        PROFILE,
        PRIMARIES,
        CHUNK("pHYs", "\0\0\x0b\x13\0\0\x0b\x13\1"),
        CHUNK("tEXt", "Title\0before"),
        CHUNK("tEXt", "Title\0again"),
        CHUNK("eXIf", "MM\0*\0\0\0\x08\0\0"),
    };
    static const struct extra late[] = {
        CHUNK("tEXt", "Comment\0after"),
        CHUNK("zTXt", "Comment\0\0\170\332\053\110\114\316\116\115\001\000\010\206\002\151"),
        CHUNK("iTXt", "Comment\0\0\0en\0\0text"),
    };
    static const struct extra stale[] = {
        CHUNK("sBIT", "\5\5\5"),
        CHUNK("bKGD", "\0\1\0\2\0\3"),
        CHUNK("tIME", "\7\xe8\1\1\0\0\0"),
        CHUNK("vpAg", "private"),
    };
    struct bytes plain = small_png(PNG_COLOR_TYPE_RGB, 8, false, false);
    struct bytes noted =
        with_chunks(&plain, early, sizeof early / sizeof early[0], late, sizeof late / sizeof late[0]);
    struct bytes file = with_chunks(&noted, stale, sizeof stale / sizeof stale[0], NULL, 0);
    struct bytes copy = copy_of(&file);
    for (size_t i = 0; i < sizeof early / sizeof early[0]; i++) {
        check_has_chunk(&copy, &early[i]);
        ck_assert_uint_lt(chunk_offset(&copy, early[i].type), chunk_offset(&copy, "IDAT"));
    }
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++)
        check_has_chunk(&copy, &late[i]);
    ck_assert_uint_gt(chunk_offset(&copy, "zTXt"), chunk_offset(&copy, "IDAT"));
    ck_assert_uint_gt(chunk_offset(&copy, "iTXt"), chunk_offset(&copy, "IDAT"));
    ck_assert_uint_eq(chunk_count(&copy, "tEXt"), 3);
    for (size_t i = 0; i < sizeof stale / sizeof stale[0]; i++)
        ck_assert_uint_eq(chunk_count(&copy, stale[i].type), 0);
    bytes_free(&plain);
    bytes_free(&noted);
    bytes_free(&file);
    bytes_free(&copy);
}
END_TEST

START_TEST(bad_notes_are_dropped)
{
    static const struct extra early[] = {
        CHUNK("gAMA", "\0\0\0\0"),  CHUNK("sRGB", "\4"),    CHUNK("pHYs", "short"),
        CHUNK("tEXt", "no zero"),   CHUNK("tEXt", ""),      CHUNK("tEXt", "\0empty"),
        CHUNK("eXIf", "MM\0*\0\0"), CHUNK("eXIf", "again"),
    };
    static const struct extra late[] = {GAMMA_45455, CHUNK("pHYs", "\0\0\x0b\x13\0\0\x0b\x13\1")};
    struct bytes plain = small_png(PNG_COLOR_TYPE_GRAY, 8, true, false);
    struct bytes file =
        with_chunks(&plain, early, sizeof early / sizeof early[0], late, sizeof late / sizeof late[0]);
    struct bytes copy = copy_of(&file);
    ck_assert_uint_eq(chunk_count(&copy, "gAMA"), 0);
    ck_assert_uint_eq(chunk_count(&copy, "sRGB"), 0);
    ck_assert_uint_eq(chunk_count(&copy, "pHYs"), 0);
    ck_assert_uint_eq(chunk_count(&copy, "tEXt"), 0);
    ck_assert_uint_eq(chunk_count(&copy, "eXIf"), 1);
    bytes_free(&plain);
    bytes_free(&file);
    bytes_free(&copy);
}
END_TEST

START_TEST(colour_chunks_after_the_palette_do_not_count)
{
    static const struct extra early[] = {GAMMA_45455, CHUNK("pHYs", "\0\0\x0b\x13\0\0\x0b\x13\1")};
    struct bytes plain = small_png(PNG_COLOR_TYPE_PALETTE, 4, false, true);
    struct bytes file = with_chunks(&plain, early, 2, NULL, 0);
    struct bytes copy = copy_of(&file);
    ck_assert_uint_eq(chunk_count(&copy, "gAMA"), 0);
    ck_assert_uint_eq(chunk_count(&copy, "pHYs"), 1);
    bytes_free(&plain);
    bytes_free(&file);
    bytes_free(&copy);
}
END_TEST

static const struct {
    struct extra chunks[2];
    size_t count;
    bool profiled;
    double file_gamma;
} transfers[] = {
    {{{0}}, 0, false, 0},
    {{GAMMA_45455}, 1, false, 0.45455},
    {{PERCEPTUAL}, 1, false, 0},
    {{PERCEPTUAL, GAMMA_45455}, 2, false, 0},
    {{PROFILE, GAMMA_45455}, 2, true, 0},
    {{CHUNK("cICP", "\1\15\0\1")}, 1, true, 0},
    {{CHUNK("gAMA", "\0\0\0\0")}, 1, false, 0},
    {{CHUNK("gAMA", "\0\1\x86\xa0")}, 1, false, 1},
};

START_TEST(transfer_curve)
{
    struct bytes plain = small_png(PNG_COLOR_TYPE_RGB, 8, false, false);
    struct bytes file = with_chunks(&plain, transfers[_i].chunks, transfers[_i].count, NULL, 0);
    struct header header = header_of(&file);
    ck_assert_int_eq(header.profile != NULL, transfers[_i].profiled);
    ck_assert_double_eq(header.file_gamma, transfers[_i].file_gamma);
    bytes_free(&plain);
    bytes_free(&file);
}
END_TEST

/* A profile as iCCP has it, and bytes after its end. */
static struct bytes profile_chunk(const struct profile_recipe *recipe, size_t excess)
{
    unsigned char profile[PROFILE_ROOM], deflated[2 * PROFILE_ROOM];
    uLongf deflated_size = sizeof deflated;
    struct bytes chunk = {0};
    ck_assert_int_eq(compress(deflated, &deflated_size, profile, profile_make(recipe, profile)), Z_OK);
    bytes_append(&chunk, "any name\0", 10);
    bytes_append(&chunk, deflated, deflated_size);
    bytes_append(&chunk, "excess", excess);
    return chunk;
}

static bool profile_is_unknown(int color_type, const struct bytes *chunk)
{
    struct extra chunks[] = {{"iCCP", (const char *)chunk->data, chunk->size}, GAMMA_45455};
    struct bytes plain = small_png(color_type, 8, false, false);
    struct bytes file = with_chunks(&plain, chunks, 2, NULL, 0);
    struct header header = header_of(&file);
    ck_assert(header.profile == NULL || strcmp(header.profile, "iCCP") == 0);
    ck_assert_double_eq(header.file_gamma, 0);
    bytes_free(&plain);
    bytes_free(&file);
    return header.profile != NULL;
}

static const struct {
    const struct profile_recipe *recipe;
    int color_type;
    bool unknown;
} profiles[] = {
    {&profile_srgb_v2, PNG_COLOR_TYPE_RGB, false}, {&profile_srgb_v4, PNG_COLOR_TYPE_RGB_ALPHA, false},
    {&profile_gray, PNG_COLOR_TYPE_GRAY, false},   {&profile_gray, PNG_COLOR_TYPE_GRAY_ALPHA, false},
    {&profile_adobe, PNG_COLOR_TYPE_RGB, true},    {&profile_srgb_v2, PNG_COLOR_TYPE_GRAY, true},
    {&profile_gray, PNG_COLOR_TYPE_RGB, true},
};

START_TEST(profiles_are_known_by_what_they_say)
{
    struct bytes chunk = profile_chunk(profiles[_i].recipe, 0),
                 longer = profile_chunk(profiles[_i].recipe, 1);
    ck_assert_int_eq(profile_is_unknown(profiles[_i].color_type, &chunk), profiles[_i].unknown);
    ck_assert(profile_is_unknown(profiles[_i].color_type, &longer));
    for (; chunk.size > 10; chunk.size -= chunk.size > 40 ? 30 : 1) {
        struct bytes shorter = {chunk.data, chunk.size - 1};
        ck_assert(profile_is_unknown(profiles[_i].color_type, &shorter));
    }
    bytes_free(&chunk);
    bytes_free(&longer);
}
END_TEST

/* Set the bits of tRNS that the depth leaves unused. */
static void fill_unused_bits(struct bytes *file, int depth)
{
    unsigned char *chunk = file->data + chunk_offset(file, "tRNS");
    uint32_t size = get32(chunk), unused = 0xffffU << depth;
    for (uint32_t i = 0; i < size; i += 2) {
        chunk[8 + i] |= (unsigned char)(unused >> 8);
        chunk[9 + i] |= (unsigned char)unused;
    }
    put32(chunk + 8 + size, checksum(chunk + 4, size + 4));
}

static void check_key_above_depth(const struct kind *kind, bool interlaced)
{
    struct fault fault;
    struct opened opened;
    struct picture picture = picture_make(33, 31, kind->color_type, kind->depth, interlaced, true);
    struct bytes file = picture_encode(&picture);
    fill_unused_bits(&file, kind->depth);
    fill_input(file.data, file.size);
    ck_assert_msg(open_picture(&opened, &fault), "%s", fault.text);
    unsigned char *samples = read_samples(&opened, 4, &fault);
    ck_assert_msg(samples != NULL, "%s", fault.text);
    check_samples(&opened.source.header, samples, &picture);
    close_picture(&opened);
    free(samples);
    bytes_free(&file);
    picture_free(&picture);
}

START_TEST(unused_bits_of_a_transparent_colour_do_not_count)
{
    const struct kind *kind = &kinds[_i / 2];
    if (kind->transparent && kind->color_type != PNG_COLOR_TYPE_PALETTE && kind->depth < 16)
        check_key_above_depth(kind, _i % 2 != 0);
}
END_TEST

/* ---- damage ---- */

/* Every place of a file is damaged, or in a thinned run one of three, others in each file. */
static size_t places_apart(void)
{
    return harness_thinning() > 1 ? 3 : 1;
}

START_TEST(truncation_is_refused)
{
    static const struct extra note = CHUNK("tEXt", "Title\0x");
    struct fault fault;
    struct bytes plain =
        small_png(kinds[_i / 2].color_type, kinds[_i / 2].depth, _i % 2 != 0, kinds[_i / 2].transparent);
    struct bytes file = with_chunks(&plain, &note, 1, &note, 1);
    for (size_t size = (size_t)_i % places_apart(); size < file.size; size += places_apart())
        check_refused(file.data, size, "a file cut short");
    bytes_append(&file, "trailing", 8);
    for (size_t cut = 0; cut <= 8; cut++)
        ck_assert_msg(takes(file.data, file.size - cut, &fault), "%s", fault.text);
    bytes_free(&plain);
    bytes_free(&file);
}
END_TEST

/* What no checksum covers but the length fields, and those lead astray. */
START_TEST(a_flipped_bit_is_refused)
{
    struct bytes file =
        small_png(kinds[_i / 2].color_type, kinds[_i / 2].depth, _i % 2 != 0, kinds[_i / 2].transparent);
    for (size_t i = (size_t)_i % places_apart(); i < file.size; i += places_apart()) {
        file.data[i] ^= 0x40;
        check_refused(file.data, file.size, "a flipped bit");
        file.data[i] ^= 0x40;
    }
    bytes_free(&file);
}
END_TEST

START_TEST(a_damaged_note_is_dropped)
{
    static const struct extra notes[] = {CHUNK("tEXt", "Title\0bad"), CHUNK("tEXt", "Title\0good")};
    struct bytes plain = small_png(PNG_COLOR_TYPE_RGB, 16, false, false);
    struct bytes file = with_chunks(&plain, notes, 2, NULL, 0);
    file.data[chunk_offset(&file, "tEXt") + 8] ^= 1;
    struct bytes copy = copy_of(&file);
    ck_assert_uint_eq(chunk_count(&copy, "tEXt"), 1);
    check_has_chunk(&copy, &notes[1]);
    bytes_free(&plain);
    bytes_free(&file);
    bytes_free(&copy);
}
END_TEST

static struct bytes with_image(const struct bytes *plain, const unsigned char *data, size_t size)
{
    struct bytes file = {0};
    size_t end = chunk_offset(plain, "IEND");
    bytes_append(&file, plain->data, chunk_offset(plain, "IDAT"));
    append_chunk(&file, "IDAT", data, size);
    bytes_append(&file, plain->data + end, plain->size - end);
    return file;
}

/* A file whose chunks are whole but whose image data is not what they promise. */
static void check_refused_with_idat(const unsigned char *data, size_t size, const char *what)
{
    struct bytes plain = small_png(PNG_COLOR_TYPE_GRAY, 8, false, false);
    struct bytes file = with_image(&plain, data, size);
    check_refused(file.data, file.size, what);
    bytes_free(&plain);
    bytes_free(&file);
}

START_TEST(image_data_that_does_not_match_is_refused)
{
    struct bytes plain = small_png(PNG_COLOR_TYPE_GRAY, 8, false, false);
    size_t image = chunk_offset(&plain, "IDAT");
    uint32_t size = get32(plain.data + image);
    struct bytes longer = {0};
    bytes_append(&longer, plain.data + image + 8, size);
    bytes_append(&longer, "more", 4);
    check_refused_with_idat(longer.data, longer.size, "excess data");
    longer.data[size - 1] ^= 1;
    check_refused_with_idat(longer.data, size, "a wrong Adler-32");
    check_refused_with_idat(longer.data, size / 2, "half the data");
    check_refused_with_idat(longer.data, 0, "no data");
    bytes_free(&plain);
    bytes_free(&longer);
}
END_TEST

/* The picture with its image data cut into chunks of so many bytes, empty ones between, and after the first
   of them what is given. */
static struct bytes with_cut_image(const struct bytes *plain, size_t part, const struct extra *between)
{
    size_t image = chunk_offset(plain, "IDAT"), end = chunk_offset(plain, "IEND");
    size_t size = get32(plain->data + image);
    struct bytes file = {0};
    bytes_append(&file, plain->data, image);
    append_chunk(&file, "IDAT", "", 0);
    for (size_t done = 0; done < size; done += part) {
        size_t count = size - done < part ? size - done : part;
        append_chunk(&file, "IDAT", plain->data + image + 8 + done, count);
        append_chunk(&file, "IDAT", "", 0);
        if (done == 0 && between != NULL)
            append_chunk(&file, between->type, between->data, between->size);
    }
    bytes_append(&file, plain->data + end, plain->size - end);
    return file;
}

START_TEST(image_data_may_be_cut_anywhere)
{
    static const struct extra note = CHUNK("tEXt", "Title\0x");
    struct fault fault;
    struct bytes plain = small_png(PNG_COLOR_TYPE_RGB, 8, _i != 0, false);
    size_t size = get32(plain.data + chunk_offset(&plain, "IDAT"));
    for (size_t part = 1; part <= size; part++) {
        struct bytes cut = with_cut_image(&plain, part, NULL), parted = with_cut_image(&plain, part, &note);
        for (threads = 1; threads <= 2; threads++)
            ck_assert_msg(takes(cut.data, cut.size, &fault), "%s", fault.text);
        if (part < size)
            check_refused(parted.data, parted.size, "image data in two places");
        bytes_free(&cut);
        bytes_free(&parted);
    }
    bytes_free(&plain);
}
END_TEST

static uint32_t expected_adler(const unsigned char *data, size_t size)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < size; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

/* The picture's image data as stored blocks of so many bytes. */
static struct bytes stored(const unsigned char *data, size_t size, size_t part)
{
    struct bytes stream = {0};
    unsigned char sum[4];
    bytes_append(&stream, "\x78\x01", 2);
    for (size_t done = 0; done < size; done += part) {
        size_t count = size - done < part ? size - done : part;
        unsigned char head[5] = {done + count == size, (unsigned char)count, 0, (unsigned char)~count, 0xff};
        bytes_append(&stream, head, 5);
        bytes_append(&stream, data + done, count);
    }
    put32(sum, expected_adler(data, size));
    bytes_append(&stream, sum, 4);
    return stream;
}

/* Gray, 5 × 4: the rows with their filter types are 24 bytes. */
START_TEST(the_image_data_fills_the_picture_exactly)
{
    static const unsigned char rows[25] = {0};
    struct bytes plain = small_png(PNG_COLOR_TYPE_GRAY, 8, false, false);
    struct fault fault;
    for (size_t size = 1; size <= sizeof rows; size++)
        for (size_t part = 1; part <= size; part++) {
            struct bytes stream = stored(rows, size, part);
            if (size == 24) {
                struct bytes file = with_image(&plain, stream.data, stream.size);
                ck_assert_msg(takes(file.data, file.size, &fault), "%s", fault.text);
                bytes_free(&file);
            } else {
                check_refused_with_idat(stream.data, stream.size, "too many or too few samples");
            }
            bytes_free(&stream);
        }
    bytes_free(&plain);
}
END_TEST

static const struct extra bad_streams[] = {
    CHUNK("a window of 64 KiB", "\x88\x1c\x03\x00\x00\x00\x00\x01"),
    CHUNK("a wrong check of the header", "\x78\x02\x03\x00\x00\x00\x00\x01"),
    CHUNK("another method", "\x77\x07\x03\x00\x00\x00\x00\x01"),
    CHUNK("a preset dictionary", "\x78\x20\x00\x00\x00\x01\x03\x00\x00\x00\x00\x01"),
    CHUNK("a block of type 3", "\x78\x01\x07\x00\x00\x00\x00\x01"),
    CHUNK("a stored block of contradictory lengths", "\x78\x01\x01\x18\x00\x00\x00"),
    CHUNK("a match before the beginning", "\x78\x01\x03\x02\x00\x00\x00\x00\x00"),
    CHUNK("a header alone", "\x78\x01"),
    CHUNK("half a header", "\x78"),
    CHUNK("no samples", "\x78\x01\x03\x00\x00\x00\x00\x01"),
};

START_TEST(a_bad_deflate_stream_is_refused)
{
    check_refused_with_idat((const unsigned char *)bad_streams[_i].data, bad_streams[_i].size,
                            bad_streams[_i].type);
}
END_TEST

START_TEST(an_unknown_critical_chunk_is_refused)
{
    static const struct extra chunk = CHUNK("ABCD", "data");
    struct bytes plain = small_png(PNG_COLOR_TYPE_RGB, 8, false, false);
    struct bytes early = with_chunks(&plain, &chunk, 1, NULL, 0);
    struct bytes late = with_chunks(&plain, NULL, 0, &chunk, 1);
    check_refused(early.data, early.size, "an unknown critical chunk");
    check_refused(late.data, late.size, "an unknown critical chunk");
    bytes_free(&plain);
    bytes_free(&early);
    bytes_free(&late);
}
END_TEST

START_TEST(too_many_notes_are_over_the_limit)
{
    static const struct extra note = CHUNK("tEXt", "Title\0x");
    struct fault fault = {.status = STATUS_DONE};
    struct bytes plain = small_png(PNG_COLOR_TYPE_RGB, 8, false, false);
    struct extra notes[1001];
    for (size_t i = 0; i < 1001; i++)
        notes[i] = note;
    struct bytes most = with_chunks(&plain, notes, 1000, NULL, 0);
    struct bytes over = with_chunks(&plain, notes, 1001, NULL, 0);
    ck_assert(takes(most.data, most.size, &fault));
    ck_assert(!takes(over.data, over.size, &fault));
    ck_assert_int_eq(fault.status, STATUS_LIMIT);
    bytes_free(&plain);
    bytes_free(&most);
    bytes_free(&over);
}
END_TEST

/* Sizes that a few bytes cannot fill are refused before anything is allocated for them. */
START_TEST(an_empty_promise_is_refused)
{
    struct bytes file = small_png(PNG_COLOR_TYPE_RGB_ALPHA, 16, _i != 0, false);
    put32(file.data + 16, 0x7fffffff);
    put32(file.data + 20, 0x7fffffff);
    put32(file.data + 29, checksum(file.data + 12, 17));
    check_refused(file.data, file.size, "a picture of 2^31 − 1 squared");
    bytes_free(&file);
}
END_TEST

/* Damage within the deflated data, by the words that libpng has for it. */
static const struct wrong {
    size_t size, excess; /* bytes of rows, and of what follows the stream */
    unsigned char type;  /* of the last row's filter */
    const char *text;
} wrongs[] = {
    {24, 0, 4, NULL},
    {24, 0, 5, "bad adaptive filter value"},
    {24, 0, 255, "bad adaptive filter value"},
    {23, 0, 0, "Not enough image data"},
    {25, 0, 0, "IDAT: Too much image data"},
    {24, 1, 0, "IDAT: extra compressed data"},
    {23, 1, 0, "Not enough image data"},
    {25, 1, 0, "IDAT: Too much image data"},
};
enum { WRONGS = sizeof wrongs / sizeof wrongs[0] };

START_TEST(what_is_wrong_with_image_data_is_said)
{
    const struct wrong *wrong = &wrongs[_i];
    struct bytes plain = small_png(PNG_COLOR_TYPE_GRAY, 8, false, false);
    unsigned char rows[25] = {0};
    char expected[sizeof scratch_in.path + 100];
    struct fault fault;
    rows[18] = wrong->type;
    struct bytes stream = stored(rows, wrong->size, wrong->size);
    bytes_append(&stream, "excess", wrong->excess);
    struct bytes file = with_image(&plain, stream.data, stream.size);
    for (threads = 1; threads <= 2; threads++) {
        bool taken = takes(file.data, file.size, &fault);
        ck_assert_int_eq(taken, wrong->text == NULL);
        if (taken)
            continue;
        snprintf(expected, sizeof expected, "%s: %s", scratch_in.path, wrong->text);
        ck_assert_str_eq(fault.text, expected);
    }
    bytes_free(&plain);
    bytes_free(&stream);
    bytes_free(&file);
}
END_TEST

START_TEST(image_data_in_two_places_is_said)
{
    struct bytes plain = small_png(PNG_COLOR_TYPE_GRAY, 8, false, false);
    static const struct extra chunks[] = {CHUNK("tEXt", "Title\0x"), CHUNK("IDAT", "")};
    struct bytes file = with_chunks(&plain, NULL, 0, chunks, 2);
    struct fault fault;
    ck_assert(!takes(file.data, file.size, &fault));
    ck_assert_ptr_nonnull(strstr(fault.text, ": IDAT: ..Too many IDATs found"));
    bytes_free(&plain);
    bytes_free(&file);
}
END_TEST

/* ---- filters and checksums, by the letter of the specification ---- */

enum { FILTERS = 5, FILTERED_ROWS = 6, FILTERED_BYTES_MOST = 400 };

static int distance(int a, int b)
{
    return a < b ? b - a : a - b;
}

static int expected_paeth(int left, int above, int corner)
{
    int guess = left + above - corner;
    int of_left = distance(guess, left), of_above = distance(guess, above),
        of_corner = distance(guess, corner);
    if (of_left <= of_above && of_left <= of_corner)
        return left;
    return of_above <= of_corner ? above : corner;
}

static int expected_prediction(unsigned type, int left, int above, int corner)
{
    const int predictions[FILTERS] = {0, left, above, (left + above) / 2,
                                      expected_paeth(left, above, corner)};
    return predictions[type];
}

static void check_unfiltered(unsigned type, const struct png_filtered_row *rows, const unsigned char *plain)
{
    for (size_t i = 0; i < rows->bytes; i++) {
        bool inside = i >= rows->pixel;
        int left = inside ? plain[i - rows->pixel] : 0, corner = inside ? rows->above[i - rows->pixel] : 0;
        int expected = rows->filtered[i] + expected_prediction(type, left, rows->above[i], corner);
        ck_assert_msg(plain[i] == (expected & 0xff),
                      "filter %u, pixels of %zu bytes, byte %zu of %zu: %d, not %d", type, rows->pixel, i,
                      rows->bytes, plain[i], expected & 0xff);
    }
}

START_TEST(filters_are_taken_back)
{
    unsigned char filtered[FILTERED_BYTES_MOST], above[FILTERED_BYTES_MOST], plain[FILTERED_BYTES_MOST];
    uint32_t seed = 7;
    for (size_t pixel = 1; pixel <= PNG_FILTER_REACH; pixel++)
        for (size_t bytes = pixel; bytes <= FILTERED_BYTES_MOST - PNG_FILTER_SLACK; bytes += pixel) {
            struct png_filtered_row rows = {filtered, above, bytes, pixel};
            for (size_t i = 0; i < sizeof filtered; i++) {
                filtered[i] = (unsigned char)next_random(&seed);
                above[i] = (unsigned char)next_random(&seed);
            }
            ck_assert(png_filter_undo((unsigned)_i, &rows, plain));
            check_unfiltered((unsigned)_i, &rows, plain);
        }
}
END_TEST

START_TEST(other_filters_are_none)
{
    unsigned char row[1 + PNG_FILTER_SLACK] = {0}, plain[1 + PNG_FILTER_SLACK];
    struct png_filtered_row rows = {row, row, 1, 1};
    for (unsigned type = FILTERS; type < 256; type++)
        ck_assert(!png_filter_undo(type, &rows, plain));
}
END_TEST

/* Pixels of eight bytes, each with another value above: the first is made `left`, the second is the guess. */
START_TEST(paeth_chooses_as_specified)
{
    unsigned char filtered[16 + PNG_FILTER_SLACK] = {0}, above[16 + PNG_FILTER_SLACK] = {0};
    unsigned char plain[16 + PNG_FILTER_SLACK];
    struct png_filtered_row rows = {filtered, above, 16, 8};
    for (int left = 0; left < 256; left++)
        for (int corner = 0; corner < 256; corner++) {
            memset(filtered, left - corner, 8);
            memset(above, corner, 8);
            for (int first = 0; first < 256; first += 8) {
                for (int lane = 0; lane < 8; lane++)
                    above[8 + lane] = (unsigned char)(first + lane);
                ck_assert(png_filter_undo(4, &rows, plain));
                for (int lane = 0; lane < 8; lane++)
                    if (plain[8 + lane] != expected_paeth(left, first + lane, corner))
                        ck_abort_msg("left %d, above %d, corner %d: %d", left, first + lane, corner,
                                     plain[8 + lane]);
            }
        }
}
END_TEST

static void check_comes_back(const struct png_filter_rows *rows, const unsigned char *filtered)
{
    unsigned char plain[FILTERED_BYTES_MOST];
    for (size_t y = 0; y < rows->count; y++, filtered += rows->bytes + 1) {
        const unsigned char *here = rows->first + y * rows->stride;
        struct png_filtered_row back = {filtered + 1, here - rows->stride, rows->bytes, rows->pixel};
        ck_assert(png_filter_undo(filtered[0], &back, plain));
        ck_assert_mem_eq(plain, here, rows->bytes);
    }
}

START_TEST(what_was_filtered_comes_back)
{
    enum { BYTES = 192, STRIDE = BYTES + PNG_FILTER_REACH };
    unsigned char room[(FILTERED_ROWS + 1) * STRIDE + PNG_FILTER_REACH] = {0};
    unsigned char filtered[FILTERED_ROWS * (BYTES + 1) + PNG_FILTER_SLACK];
    uint32_t seed = 3;
    for (size_t y = 1; y <= FILTERED_ROWS; y++)
        for (size_t i = 0; i < BYTES; i++)
            room[y * STRIDE + PNG_FILTER_REACH + i] = (unsigned char)(i * y + next_random(&seed) % 40);
    struct png_filter_rows rows = {room + STRIDE + PNG_FILTER_REACH, STRIDE, BYTES, FILTERED_ROWS,
                                   (size_t)_i};
    for (enum png_filter filter = PNG_FILTER_NONE_ROW; filter <= PNG_FILTER_LEAST_SUM; filter++) {
        png_filter_apply(&rows, filter, filtered);
        check_comes_back(&rows, filtered);
    }
}
END_TEST

/* Whole and in two parts; full of 255, too, which is where sums overflow first. */
START_TEST(checksums_are_those_of_the_specifications)
{
    enum { SIZE = 70000 };
    unsigned char *data = malloc(SIZE);
    uint32_t seed = 9;
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (unsigned char)(_i != 0 ? 255 : next_random(&seed));
    for (size_t size = 0; size <= SIZE; size += size < 300 ? 1 : size / 2 + 1) {
        const unsigned char *rest = data + size / 3;
        uint32_t crc = checksum_crc(CHECKSUM_CRC, data, size / 3),
                 adler = checksum_adler(CHECKSUM_ADLER, data, size / 3);
        ck_assert_uint_eq(checksum_crc(crc, rest, size - size / 3), checksum(data, size));
        ck_assert_uint_eq(checksum_adler(adler, rest, size - size / 3), expected_adler(data, size));
    }
    free(data);
}
END_TEST

static Suite *png_suite(void)
{
    Suite *suite = suite_create("png");
    TCase *kinds_case = tcase_create("kinds");
    TCase *strips_case = tcase_create("strips");
    TCase *notes_case = tcase_create("notes");
    TCase *damage_case = tcase_create("damage");
    TCase *bytes_case = tcase_create("bytes");
    tcase_set_timeout(kinds_case, 60);
    tcase_set_timeout(strips_case, 300);
    tcase_set_timeout(damage_case, 60);
    tcase_add_loop_test(kinds_case, every_kind, 0, 2 * KINDS);
    tcase_add_test(kinds_case, little_endian_and_every_level);
    tcase_add_test(kinds_case, what_a_png_cannot_hold);
    tcase_add_loop_test(strips_case, the_file_does_not_depend_on_threads, 0, PATTERNS);
    tcase_add_loop_test(strips_case, strips_of_every_shape, 0,
                        (int)(sizeof strip_shapes / sizeof *strip_shapes));
    tcase_add_test(strips_case, levels_compress);
    tcase_add_test(strips_case, writing_may_be_given_up);
    tcase_add_test(strips_case, reading_may_be_given_up);
    tcase_add_test(notes_case, notes_are_kept);
    tcase_add_test(notes_case, bad_notes_are_dropped);
    tcase_add_test(notes_case, colour_chunks_after_the_palette_do_not_count);
    tcase_add_loop_test(notes_case, transfer_curve, 0, (int)(sizeof transfers / sizeof *transfers));
    tcase_add_loop_test(notes_case, profiles_are_known_by_what_they_say, 0,
                        (int)(sizeof profiles / sizeof *profiles));
    tcase_add_loop_test(notes_case, unused_bits_of_a_transparent_colour_do_not_count, 0, 2 * KINDS);
    tcase_add_loop_test(damage_case, truncation_is_refused, 0, 2 * KINDS);
    tcase_add_loop_test(damage_case, a_flipped_bit_is_refused, 0, 2 * KINDS);
    tcase_add_test(damage_case, a_damaged_note_is_dropped);
    tcase_add_test(damage_case, image_data_that_does_not_match_is_refused);
    tcase_add_loop_test(damage_case, image_data_may_be_cut_anywhere, 0, 2);
    tcase_add_test(damage_case, the_image_data_fills_the_picture_exactly);
    tcase_add_loop_test(damage_case, a_bad_deflate_stream_is_refused, 0,
                        (int)(sizeof bad_streams / sizeof *bad_streams));
    tcase_add_loop_test(damage_case, what_is_wrong_with_image_data_is_said, 0, WRONGS);
    tcase_add_test(damage_case, image_data_in_two_places_is_said);
    tcase_add_test(damage_case, an_unknown_critical_chunk_is_refused);
    tcase_add_test(damage_case, too_many_notes_are_over_the_limit);
    tcase_add_loop_test(damage_case, an_empty_promise_is_refused, 0, 2);
    tcase_set_timeout(bytes_case, 60);
    tcase_add_loop_test(bytes_case, filters_are_taken_back, 0, FILTERS);
    tcase_add_test(bytes_case, other_filters_are_none);
    tcase_add_test(bytes_case, paeth_chooses_as_specified);
    tcase_add_loop_test(bytes_case, what_was_filtered_comes_back, 1, PNG_FILTER_REACH + 1);
    tcase_add_loop_test(bytes_case, checksums_are_those_of_the_specifications, 0, 2);
    TCase *cases[] = {kinds_case, strips_case, notes_case, damage_case, bytes_case};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tcase_add_unchecked_fixture(cases[i], scratch_setup, scratch_teardown);
        suite_add_tcase(suite, cases[i]);
    }
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(png_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
