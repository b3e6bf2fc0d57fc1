/* The filters of PNG, applied to rows before they are deflated. Compiled so that the loops become vectors. */
#include "png_filter.h"

#include <stdint.h>
#include <string.h>

enum { TYPES = 5 };

/* Sums of this many bytes, each at most 128, fit into 16 bits. */
enum { CHUNK = 256 };

/* A row and what its filters read: the bytes one pixel before, those above, and those above and before. */
struct neighbours {
    const uint8_t *here, *left, *above, *corner;
};

static inline uint8_t magnitude(uint8_t difference)
{
    uint8_t negated = (uint8_t)-difference;
    return difference < negated ? difference : negated;
}

static inline uint8_t average(uint8_t left, uint8_t above)
{
    return (uint8_t)((left + above) >> 1);
}

static inline int16_t distance(int16_t difference)
{
    int16_t negated = (int16_t)-difference;
    return difference > negated ? difference : negated;
}

/* The neighbour nearest to left + above − corner; in a tie left before above before corner. */
static inline uint8_t paeth(uint8_t left, uint8_t above, uint8_t corner)
{
    int16_t to_left = (int16_t)(above - corner), to_above = (int16_t)(left - corner);
    int16_t far = distance((int16_t)(to_left + to_above));
    int16_t near_left = distance(to_left), near_above = distance(to_above);
    int16_t best = near_above < near_left ? near_above : near_left;
    uint8_t of_two = near_left <= near_above ? left : above;
    return far < best ? corner : of_two;
}

static inline uint8_t difference(int type, const struct neighbours *row, size_t i)
{
    uint8_t here = row->here[i];
    switch (type) {
    case 1:
        return (uint8_t)(here - row->left[i]);
    case 2:
        return (uint8_t)(here - row->above[i]);
    case 3:
        return (uint8_t)(here - average(row->left[i], row->above[i]));
    case 4:
        return (uint8_t)(here - paeth(row->left[i], row->above[i], row->corner[i]));
    default:
        return here;
    }
}

/* One loop for all types: the row and its neighbours are loaded once. */
static inline void add_sums(const struct neighbours *row, size_t begin, size_t count, uint64_t sums[TYPES])
{
    uint16_t part[TYPES] = {0};
    for (size_t i = begin; i < begin + count; i++)
        for (int type = 0; type < TYPES; type++)
            part[type] = (uint16_t)(part[type] + magnitude(difference(type, row, i)));
    for (int type = 0; type < TYPES; type++)
        sums[type] += part[type];
}

/* The type whose differences from zero have the least sum, by which libpng chooses, too. */
static int least_sum(const struct neighbours *row, size_t bytes)
{
    uint64_t sums[TYPES] = {0};
    size_t done = 0;
    int best = 0;
    for (; bytes - done >= CHUNK; done += CHUNK)
        add_sums(row, done, CHUNK, sums);
    add_sums(row, done, bytes - done, sums);
    for (int type = 1; type < TYPES; type++)
        if (sums[type] < sums[best])
            best = type;
    return best;
}

#define FILTER_AS(type)                                                                                      \
    case type:                                                                                               \
        for (size_t i = 0; i < bytes; i++)                                                                   \
            filtered[i] = difference(type, row, i);                                                          \
        break

static void filter_row(int type, const struct neighbours *row, size_t bytes, uint8_t *restrict filtered)
{
    switch (type) {
        FILTER_AS(1);
        FILTER_AS(2);
        FILTER_AS(3);
        FILTER_AS(4);
    default:
        memcpy(filtered, row->here, bytes);
    }
}

void png_filter_apply(const struct png_filter_rows *rows, enum png_filter filter, unsigned char *filtered)
{
    for (size_t y = 0; y < rows->count; y++) {
        const uint8_t *here = rows->first + y * rows->stride, *above = here - rows->stride;
        struct neighbours row = {here, here - rows->pixel, above, above - rows->pixel};
        int type = filter == PNG_FILTER_LEAST_SUM ? least_sum(&row, rows->bytes) : 0;
        filtered[0] = (unsigned char)type;
        filter_row(type, &row, rows->bytes, filtered + 1);
        filtered += rows->bytes + 1;
    }
}
