/* Write a test picture, the same samples everywhere: gradients, discs, strokes like letters, and noise; or
   something like a photograph, a screenshot, a map, or a drawing with soft edges. */
#include "generator.h"

#include <getopt.h>
#include <png.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    uint32_t width, height;
    int channels; /* 1 gray, 3 RGB, 4 RGBA */
    int depth;
    bool interlaced;
    uint64_t seed;
    const struct content *content;
    const char *output;
};

/* Colours are 16 bits a channel until they are stored. */
struct colour {
    int32_t channel[4];
};

#define FULL  65535
#define NOISE 3000

/* What a picture shows: its colour at x, y. */
struct content {
    const char *name;
    struct colour (*paint)(const struct options *options, uint32_t x, uint32_t y);
};

static void fail(const char *message)
{
    generator_fail("make_picture", message);
}

static void usage(FILE *stream)
{
    fputs("Usage: make_picture [-d X,Y] [--gray|--rgb|--rgba] [--depth 8|16] [--interlaced]\n"
          "                    [--content shapes|photo|noisy|screenshot|map|soft] [--seed N] [-o FILE]\n"
          "Write a test picture as PNG (default: -d 640,480 --rgb --depth 8 --content shapes).\n",
          stream);
}

static bool in_disc(int64_t x, int64_t y, int64_t centre_x, int64_t centre_y, int64_t radius)
{
    return (x - centre_x) * (x - centre_x) + (y - centre_y) * (y - centre_y) <= radius * radius;
}

/* Letters are 5 × 7 cells of which a hash inks some, so they look like text in a script that nobody reads. */
static bool in_text(uint32_t x, uint32_t y)
{
    uint32_t column = x / 2, line = y / 2;
    uint32_t cell_x = column % 7, cell_y = line % 11;

    if (cell_x >= 5 || cell_y >= 7)
        return false;
    uint64_t letter = generator_hash(column / 7, line / 11 + 7);
    bool word_space = (letter >> 60) == 0;
    return !word_space && (letter >> (cell_y * 5 + cell_x) & 1) != 0;
}

/* Discs are translucent, so that alpha has something to show. */
static struct colour paint_shapes(const struct options *options, uint32_t x, uint32_t y)
{
    static const struct {
        int x, y, radius; /* in thousandths of the height */
        struct colour colour;
    } discs[] = {
        {330, 300, 190, {{FULL, 9000, 6000, FULL}}},
        {520, 330, 190, {{5000, 52000, 14000, FULL * 3 / 4}}},
        {430, 480, 190, {{8000, 20000, FULL, FULL / 2}}},
        {1050, 300, 120, {{FULL, FULL, FULL, FULL}}},
        {1050, 300, 60, {{0, 0, 0, FULL / 4}}},
    };
    const uint64_t width = options->width, height = options->height;
    struct colour colour = {{(int32_t)(FULL * (uint64_t)x / width), (int32_t)(FULL * (uint64_t)y / height),
                             (int32_t)(FULL - FULL * (uint64_t)x / width), FULL}};

    for (size_t i = 0; i < sizeof discs / sizeof discs[0]; i++) {
        int64_t scale = options->height;
        if (in_disc((int64_t)x * 1000, (int64_t)y * 1000, discs[i].x * scale, discs[i].y * scale,
                    discs[i].radius * scale))
            colour = discs[i].colour;
    }
    if (y >= height * 7 / 10 && x >= width / 16 && x < width - width / 16 && y < height * 95 / 100) {
        bool ink = in_text(x - (uint32_t)(width / 16), y - (uint32_t)(height * 7 / 10));
        colour =
            ink ? (struct colour){{2000, 2000, 4000, FULL}} : (struct colour){{62000, 61000, 56000, FULL}};
    }
    for (int c = 0; c < 3; c++) {
        uint64_t h = generator_hash((y * width + x) * 4 + (uint64_t)c, options->seed);
        int32_t value = colour.channel[c] + (int32_t)(h % (2 * NOISE + 1)) - NOISE;
        colour.channel[c] = value < 0 ? 0 : value > FULL ? FULL : value;
    }
    return colour;
}

static uint64_t hash_at(uint32_t x, uint32_t y, uint64_t seed)
{
    return generator_hash((uint64_t)y << 32 | x, seed);
}

/* Random values at the corners of cells of 2^bits pixels, joined smoothly: 0 to FULL. */
static int32_t smooth_noise(uint32_t x, uint32_t y, unsigned bits, uint64_t seed)
{
    int64_t value[2][2], part[2] = {x & ((1U << bits) - 1), y & ((1U << bits) - 1)};
    for (int axis = 0; axis < 2; axis++) {
        int64_t t = part[axis] << 12 >> bits;
        part[axis] = (t * t * (3 * 4096 - 2 * t)) >> 24;
    }
    for (uint32_t j = 0; j < 2; j++)
        for (uint32_t i = 0; i < 2; i++)
            value[j][i] = (int64_t)(hash_at((x >> bits) + i, (y >> bits) + j, seed + bits) >> 48);
    int64_t upper = value[0][0] * 4096 + (value[0][1] - value[0][0]) * part[0];
    int64_t lower = value[1][0] * 4096 + (value[1][1] - value[1][0]) * part[0];
    return (int32_t)((upper * 4096 + (lower - upper) * part[1]) >> 24);
}

/* Octaves from cells of 2^coarse pixels to such of 2^fine, each of half the weight of the one before. */
static int32_t octaves(uint32_t x, uint32_t y, unsigned coarse, unsigned fine, uint64_t seed)
{
    int32_t sum = 0;
    for (unsigned bits = coarse; bits >= fine; bits--)
        sum += smooth_noise(x, y, bits, seed) >> (coarse - bits + 1);
    return sum;
}

static int32_t clamped(int32_t value)
{
    return value < 0 ? 0 : value > FULL ? FULL : value;
}

/* Light with ever finer detail, colours that change slowly, and objects that hide what is behind them. */
static struct colour paint_photo(const struct options *options, uint32_t x, uint32_t y)
{
    struct colour colour = {.channel[3] = FULL};
    uint64_t object = (uint64_t)octaves(x, y, 9, 4, options->seed + 100) / 13000;
    int32_t light = octaves(x, y, 9, 1, options->seed + object);
    for (unsigned c = 0; c < 3; c++) {
        int32_t tint = octaves(x, y, 10, 8, options->seed + 200 + 10 * object + c) - FULL / 2;
        colour.channel[c] = clamped(light + tint / 3 + (int32_t)object * 4000 - 6000);
    }
    return colour;
}

static struct colour paint_noisy(const struct options *options, uint32_t x, uint32_t y)
{
    struct colour colour = paint_photo(options, x, y);
    for (unsigned c = 0; c < 3; c++) {
        uint64_t h = hash_at(x, y, options->seed + c);
        colour.channel[c] = clamped(colour.channel[c] + (int32_t)(h & 1023) + (int32_t)(h >> 10 & 1023) +
                                    (int32_t)(h >> 20 & 1023) - 1536);
    }
    return colour;
}

/* Letters of an alphabet of 50, whose strokes have three strengths as where edges are smoothed; returns how
   much ink there is. */
static int32_t ink_of_text(uint32_t x, uint32_t y)
{
    uint32_t cell_x = x % 8, cell_y = y % 18;
    uint64_t place = hash_at(x / 8, y / 18, 7);
    if (cell_x >= 7 || cell_y >= 11 || place % 6 == 0 || x / 8 > 20 + hash_at(0, y / 18, 8) % 60)
        return 0;
    uint64_t strokes = generator_hash(place % 50, cell_y / 2);
    return (int32_t)(strokes >> (2 * cell_x) & 3) * FULL / 3;
}

/* Windows with text and icons, before a background that changes from top to bottom. */
static struct colour paint_screenshot(const struct options *options, uint32_t x, uint32_t y)
{
    static const struct colour inks[] = {
        {{3000, 3000, 4000}}, {{3000, 3000, 4000}}, {{40000, 6000, 9000}}, {{5000, 16000, 50000}}};
    uint32_t window_x = x % 960, window_y = y % 720;
    uint64_t line = hash_at(x / 960, y / 18, options->seed);
    int32_t shade = 8000 + (int32_t)(20000 * (uint64_t)y / options->height);
    if (window_x < 20 || window_y < 20)
        return (struct colour){{shade / 2, shade, shade + 9000, FULL}};
    if (window_y < 48)
        return (struct colour){
            {57000 - (int32_t)window_y * 400, 57000 - (int32_t)window_y * 400, 60000, FULL}};
    if (window_x < 84) {
        bool icon = window_x >= 36 && window_x < 68 && window_y % 64 >= 16 && window_y % 64 < 48;
        int32_t fade = (int32_t)(window_x + window_y % 64) * 400;
        uint64_t tint = hash_at(x / 960, y / 64, options->seed + 1);
        return icon ? (struct colour){{(int32_t)(tint & 0x7fff) + fade, (int32_t)(tint >> 16 & 0x7fff) + fade,
                                       50000, FULL}}
                    : (struct colour){{48000, 50000, 53000, FULL}};
    }
    struct colour paper = {{FULL, FULL, FULL, FULL}}, ink = inks[line >> 20 & 3];
    int32_t strength = line % 5 == 0 ? 0 : ink_of_text(x, y);
    for (int c = 0; c < 3; c++)
        paper.channel[c] -= (int32_t)((int64_t)(FULL - ink.channel[c]) * strength / FULL);
    return paper;
}

static uint32_t band(uint32_t x, uint32_t y, uint64_t seed)
{
    return (uint32_t)octaves(x, y, 8, 3, seed) / 5000;
}

/* Bands of height in few colours, with lines between them. */
static struct colour paint_map(const struct options *options, uint32_t x, uint32_t y)
{
    uint32_t here = band(x, y, options->seed);
    uint64_t tint = generator_hash(here, options->seed + 3);
    if (here != band(x + 2, y, options->seed) || here != band(x, y + 2, options->seed))
        return (struct colour){{9000, 7000, 5000, FULL}};
    if (here % 4 == 3 && (x + y) % 12 == 0)
        return (struct colour){{20000, 40000, 20000, FULL}};
    return (struct colour){
        {30000 + (int32_t)(tint & 0x7fff), 30000 + (int32_t)(tint >> 16 & 0x7fff), 30000, FULL}};
}

/* Plain and shaded shapes, whose alpha falls to nothing over some pixels. */
static struct colour paint_soft(const struct options *options, uint32_t x, uint32_t y)
{
    uint64_t tile = hash_at(x / 256, y / 256, options->seed);
    int64_t dx = (int64_t)(x % 256) - 128, dy = (int64_t)(y % 256) - 128, radius = 60 + (int64_t)(tile % 60);
    int64_t within =
        (radius * radius - dx * dx - dy * dy) * FULL / (radius * (int64_t)(4 + (tile >> 8) % 40));
    int32_t shade = (tile >> 60) % 2 == 0 ? 0 : (int32_t)(dy + 128) * 120;
    if (within <= 0)
        return (struct colour){{0, 0, 0, 0}};
    return (struct colour){{(int32_t)(tile >> 16 & 0x7fff) + shade, (int32_t)(tile >> 32 & 0x7fff) + shade,
                            20000 + shade, clamped((int32_t)(within < FULL ? within : FULL))}};
}

static const struct content contents[] = {
    {"shapes", paint_shapes},         {"photo", paint_photo}, {"noisy", paint_noisy},
    {"screenshot", paint_screenshot}, {"map", paint_map},     {"soft", paint_soft},
};

static const struct content *content_named(const char *name)
{
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
        if (strcmp(contents[i].name, name) == 0)
            return &contents[i];
    fail("no such content");
    return NULL;
}

/* Store a pixel as PNG wants it; return its bytes. */
static size_t store(unsigned char *bytes, const struct options *options, struct colour colour)
{
    size_t used = 0;

    if (options->channels == 1)
        colour.channel[0] = (2 * colour.channel[0] + 5 * colour.channel[1] + colour.channel[2]) / 8;
    for (int c = 0; c < options->channels; c++) {
        bytes[used++] = (unsigned char)(colour.channel[c] >> 8);
        if (options->depth == 16)
            bytes[used++] = (unsigned char)(colour.channel[c] & 0xff);
    }
    return used;
}

static void write_picture(FILE *stream, const struct options *options, unsigned char *row)
{
    static const int types[] = {
        [1] = PNG_COLOR_TYPE_GRAY, [3] = PNG_COLOR_TYPE_RGB, [4] = PNG_COLOR_TYPE_RGBA};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png == NULL ? NULL : png_create_info_struct(png);

    if (info == NULL)
        fail("out of memory");
    if (setjmp(png_jmpbuf(png)))
        fail("writing failed");
    png_init_io(png, stream);
    png_set_IHDR(png, info, options->width, options->height, options->depth, types[options->channels],
                 options->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int pass = png_set_interlace_handling(png); pass > 0; pass--) {
        for (uint32_t y = 0; y < options->height; y++) {
            size_t used = 0;
            for (uint32_t x = 0; x < options->width; x++)
                used += store(row + used, options, options->content->paint(options, x, y));
            png_write_row(png, row);
        }
    }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
}

static void parse_extents(struct options *options, const char *text)
{
    char *end;
    unsigned long width = strtoul(text, &end, 10), height = 0;

    if (*end == ',')
        height = strtoul(end + 1, &end, 10);
    if (*end != '\0' || width == 0 || height == 0 || width > 100000 || height > 100000)
        fail("extents are two numbers from 1 to 100000: -d X,Y");
    options->width = (uint32_t)width;
    options->height = (uint32_t)height;
}

static struct options parse(int argc, char **argv)
{
    static const struct option names[] = {{"gray", no_argument, NULL, 1},
                                          {"rgb", no_argument, NULL, 3},
                                          {"rgba", no_argument, NULL, 4},
                                          {"depth", required_argument, NULL, 'D'},
                                          {"interlaced", no_argument, NULL, 'I'},
                                          {"seed", required_argument, NULL, 'S'},
                                          {"content", required_argument, NULL, 'C'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {640, 480, 3, 8, false, 1, contents, NULL};
    int name;

    while ((name = getopt_long(argc, argv, "d:o:", names, NULL)) != -1) {
        switch (name) {
        case 1:
        case 3:
        case 4:
            options.channels = name;
            break;
        case 'd':
            parse_extents(&options, optarg);
            break;
        case 'D':
            options.depth = atoi(optarg);
            if (options.depth != 8 && options.depth != 16)
                fail("the depth is 8 or 16");
            break;
        case 'C':
            options.content = content_named(optarg);
            break;
        case 'I':
            options.interlaced = true;
            break;
        case 'S':
            options.seed = strtoull(optarg, NULL, 10);
            break;
        case 'o':
            options.output = optarg;
            break;
        case 'h':
            usage(stdout);
            exit(EXIT_SUCCESS);
        default:
            usage(stderr);
            exit(2);
        }
    }
    if (optind < argc) {
        usage(stderr);
        exit(2);
    }
    return options;
}

int main(int argc, char **argv)
{
    struct options options = parse(argc, argv);
    FILE *stream = generator_open("make_picture", options.output);
    unsigned char *row = malloc((size_t)options.width * 8);

    if (row == NULL)
        fail("out of memory");
    write_picture(stream, &options, row);
    free(row);
    generator_close("make_picture", stream);
    return EXIT_SUCCESS;
}
