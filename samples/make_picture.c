/* Write a test picture: gradients, discs, strokes like letters, and noise, the same samples everywhere. */
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
    const char *output;
};

/* Colours are 16 bits a channel until they are stored. */
struct colour {
    int32_t channel[4];
};

#define FULL  65535
#define NOISE 3000

static void fail(const char *message)
{
    generator_fail("make_picture", message);
}

static void usage(FILE *stream)
{
    fputs("Usage: make_picture [-d X,Y] [--gray|--rgb|--rgba] [--depth 8|16] [--interlaced]\n"
          "                    [--seed N] [-o FILE]\n"
          "Write a test picture as PNG (default: -d 640,480 --rgb --depth 8).\n",
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

/* The picture at x, y. Discs are translucent, so that alpha has something to show. */
static struct colour paint(const struct options *options, uint32_t x, uint32_t y)
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
                used += store(row + used, options, paint(options, x, y));
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
    static const struct option names[] = {
        {"gray", no_argument, NULL, 1},         {"rgb", no_argument, NULL, 3},
        {"rgba", no_argument, NULL, 4},         {"depth", required_argument, NULL, 'D'},
        {"interlaced", no_argument, NULL, 'I'}, {"seed", required_argument, NULL, 'S'},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0}};
    struct options options = {640, 480, 3, 8, false, 1, NULL};
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
