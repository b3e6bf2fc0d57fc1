/* Write a noisy phantom: a head of nested ellipsoids, as computed tomography sees one, the same bytes
 * everywhere. */
#include "generator.h"

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Axes and centre in thousandths of half the grid, and the density that the inside adds, of 255. Later ones
   lie in earlier ones, so densities are differences. */
struct ellipsoid {
    int centre[3], axis[3];
    int density;
};

static const struct ellipsoid phantom[] = {
    {{0, 0, 0}, {690, 920, 810}, 200},                                           /* skull */
    {{0, -18, 0}, {662, 874, 780}, -110},                                        /* brain */
    {{220, 0, 0}, {110, 310, 220}, -50},                                         /* ventricles */
    {{-220, 0, 0}, {160, 410, 280}, -50}, {{0, 350, -150}, {210, 250, 410}, 30}, /* tissue */
    {{0, 100, 250}, {46, 46, 50}, 45},                                           /* nodules, */
    {{-80, -605, 0}, {46, 23, 50}, 45},                                          /* smaller and smaller */
    {{60, -605, -100}, {23, 46, 20}, 45}, {{0, -300, 300}, {16, 16, 16}, 60},
};

#define NOISE 24 /* the range of the noise is ± this, of 255 */

struct options {
    uint64_t extent[3];
    char type; /* 'b' u8, 's' u16, 'f' f32 */
    uint64_t seed;
    const char *output;
};

static void fail(const char *message)
{
    generator_fail("make_volume", message);
}

static void usage(FILE *stream)
{
    fputs("Usage: make_volume [-n N | -d X,Y,Z] [-t u8|u16|f32] [--seed N] [-o FILE]\n"
          "Write a noisy phantom as raw samples, little-endian, x fastest (default: -n 64 -t f32).\n",
          stream);
}

/* Two uniform numbers added make a triangle, which is bell enough. Result: −65536·NOISE to 65536·NOISE. */
static int64_t noise(uint64_t seed, uint64_t index)
{
    uint64_t h = generator_hash(index, seed);

    return ((int64_t)(h & 0xffff) + (int64_t)(h >> 48) - 0xffff) * NOISE;
}

/* Density at a point in thousandths of half the grid. Integers alone, so that no machine rounds otherwise. */
static int density(const int64_t point[3])
{
    int sum = 0;

    for (size_t i = 0; i < sizeof phantom / sizeof phantom[0]; i++) {
        int64_t distance = 0;
        for (int axis = 0; axis < 3; axis++) {
            int64_t from_centre = (point[axis] - phantom[i].centre[axis]) * 4096 / phantom[i].axis[axis];
            distance += from_centre * from_centre;
        }
        if (distance <= 4096 * 4096)
            sum += phantom[i].density;
    }
    return sum;
}

/* The sample as an integer of 0 to 255 · 65536. */
static uint32_t sample(const struct options *options, uint64_t x, uint64_t y, uint64_t z)
{
    const uint64_t index[3] = {x, y, z};
    int64_t point[3];

    for (int axis = 0; axis < 3; axis++)
        point[axis] = (int64_t)((2 * index[axis] + 1) * 1000 / options->extent[axis]) - 1000;
    int64_t value = (int64_t)density(point) * 65536 +
                    noise(options->seed, (z * options->extent[1] + y) * options->extent[0] + x);
    return value < 0 ? 0 : value > 255 * 65536 ? 255 * 65536 : (uint32_t)value;
}

/* Store a sample little-endian; return its bytes. */
static size_t store(unsigned char *bytes, char type, uint32_t value)
{
    uint32_t bits;
    float real;
    size_t size;

    switch (type) {
    case 'b':
        bits = (value + 32768) >> 16;
        size = 1;
        break;
    case 's': /* in the 12 bits that scanners use */
        bits = (uint32_t)(((uint64_t)value * 4095 / 255 + 32768) >> 16);
        size = 2;
        break;
    default: /* 24 bits fit, so this is exact */
        real = (float)value / 65536.0f;
        memcpy(&bits, &real, sizeof bits);
        size = 4;
    }
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
    return size;
}

/* "X,Y,Z" or, with count 1, "N". */
static void parse_extents(uint64_t *extents, int count, const char *text)
{
    for (int i = 0; i < count; i++) {
        char *end;
        extents[i] = strtoull(text, &end, 10);
        if (end == text || extents[i] == 0 || extents[i] > 1000000 || *end != (i + 1 < count ? ',' : '\0'))
            fail("extents are numbers from 1 to 1000000: -n N or -d X,Y,Z");
        text = end + 1;
    }
}

static struct options parse(int argc, char **argv)
{
    static const struct option names[] = {
        {"seed", required_argument, NULL, 'S'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    struct options options = {{64, 64, 64}, 'f', 1, NULL};
    int name;

    while ((name = getopt_long(argc, argv, "n:d:t:o:", names, NULL)) != -1) {
        switch (name) {
        case 'n':
            parse_extents(options.extent, 1, optarg);
            options.extent[1] = options.extent[2] = options.extent[0];
            break;
        case 'd':
            parse_extents(options.extent, 3, optarg);
            break;
        case 't':
            options.type = strcmp(optarg, "u8") == 0 ? 'b' : strcmp(optarg, "u16") == 0 ? 's' : 'f';
            if (options.type == 'f' && strcmp(optarg, "f32") != 0)
                fail("the type is u8, u16 or f32");
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
    FILE *stream = generator_open("make_volume", options.output);
    unsigned char *row = malloc(options.extent[0] * 4);

    if (row == NULL)
        fail("out of memory");
    for (uint64_t z = 0; z < options.extent[2]; z++) {
        for (uint64_t y = 0; y < options.extent[1]; y++) {
            size_t bytes = 0;
            for (uint64_t x = 0; x < options.extent[0]; x++)
                bytes += store(row + bytes, options.type, sample(&options, x, y, z));
            if (fwrite(row, 1, bytes, stream) != bytes)
                fail("writing failed");
        }
    }
    generator_close("make_volume", stream);
    free(row);
    return EXIT_SUCCESS;
}
