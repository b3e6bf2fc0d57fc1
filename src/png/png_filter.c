/* The filters of PNG. Before a row is deflated, each of its bytes becomes its difference from a neighbour or
   a mean of neighbours; after inflating, the neighbour is added again. Applying them is independent from byte
   to byte, and compiled so that the loops become vectors. Undoing them is not: a byte needs what came out one
   pixel before, so only the bytes of one pixel, 8 at the most, are lanes of a vector; in `up` alone all bytes
   are. */
#include "png_filter.h"

#include <stdint.h>
#include <string.h>

/* ---- applied ---- */

#define INLINE static inline __attribute__((always_inline))

/* As the standard numbers them: none, sub (left), up (above), average, Paeth. */
enum { TYPES = 5 };

/* Sums of this many bytes, each at most 128, fit into 16 bits. */
enum { CHUNK = 256 };

/* A row and what its filters read: the bytes one pixel before, those above, and those above and before. */
struct neighbours {
    const uint8_t *here, *left, *above, *corner;
};

/* Differences are bytes modulo 256: 255 is as near to zero as 1 is. */
INLINE uint8_t magnitude(uint8_t difference)
{
    uint8_t negated = (uint8_t)-difference;
    return difference < negated ? difference : negated;
}

INLINE uint8_t average(uint8_t left, uint8_t above)
{
    return (uint8_t)((left + above) >> 1);
}

INLINE int16_t distance(int16_t difference)
{
    int16_t negated = (int16_t)-difference;
    return difference > negated ? difference : negated;
}

/* The neighbour nearest to left + above − corner; in a tie left before above before corner. */
INLINE uint8_t paeth(uint8_t left, uint8_t above, uint8_t corner)
{
    int16_t to_left = (int16_t)(above - corner), to_above = (int16_t)(left - corner);
    int16_t far = distance((int16_t)(to_left + to_above));
    int16_t near_left = distance(to_left), near_above = distance(to_above);
    int16_t best = near_above < near_left ? near_above : near_left;
    uint8_t of_two = near_left <= near_above ? left : above;
    return far < best ? corner : of_two;
}

INLINE uint8_t difference(int type, const struct neighbours *row, size_t i)
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
INLINE void add_sums(const struct neighbours *row, size_t begin, size_t count, uint64_t sums[TYPES])
{
    uint16_t part[TYPES] = {0};
    for (size_t i = begin; i < begin + count; i++)
        for (int type = 0; type < TYPES; type++)
            part[type] = (uint16_t)(part[type] + magnitude(difference(type, row, i)));
    for (int type = 0; type < TYPES; type++)
        sums[type] += part[type];
}

/* The type whose differences from zero have the least sum, by which libpng chooses, too. */
INLINE int least_sum(const struct neighbours *row, size_t bytes)
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

/* The type is a constant within each loop, so that the switch in `difference` is gone from it. */
#define FILTER_AS(type)                                                                                      \
    case type:                                                                                               \
        for (size_t i = 0; i < bytes; i++)                                                                   \
            filtered[i] = difference(type, row, i);                                                          \
        break

INLINE void filter_row(int type, const struct neighbours *row, size_t bytes, uint8_t *restrict filtered)
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

/* In whatever vectors the caller is compiled for. */
INLINE void apply(const struct png_filter_rows *rows, enum png_filter filter, uint8_t *filtered)
{
    for (size_t y = 0; y < rows->count; y++) {
        /* The first pixel's left neighbour is among the zeros before the row, so no byte needs a case of its
           own. */
        const uint8_t *here = rows->first + y * rows->stride, *above = here - rows->stride;
        struct neighbours row = {here, here - rows->pixel, above, above - rows->pixel};
        int type = filter == PNG_FILTER_LEAST_SUM ? least_sum(&row, rows->bytes) : (int)filter;
        filtered[0] = (unsigned char)type;
        filter_row(type, &row, rows->bytes, filtered + 1);
        filtered += rows->bytes + 1;
    }
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void apply_with_avx2(const struct png_filter_rows *rows,
                                                            enum png_filter filter, uint8_t *filtered)
{
    apply(rows, filter, filtered);
}
#endif

void png_filter_apply(const struct png_filter_rows *rows, enum png_filter filter, unsigned char *filtered)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        apply_with_avx2(rows, filter, filtered);
        return;
    }
#endif
    apply(rows, filter, filtered);
}

/* ---- undone ---- */

enum { LANES = 8 };

typedef uint8_t bytes8 __attribute__((vector_size(LANES)));
typedef int16_t words8 __attribute__((vector_size(LANES * sizeof(int16_t))));

/* The pixel before the first is black. */
static const words8 black = {0};

static inline bytes8 load(const unsigned char *from)
{
    bytes8 lanes;
    memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

static inline words8 load_wide(const unsigned char *from)
{
    return __builtin_convertvector(load(from), words8);
}

/* Lanes beyond the pixel are stored, too, and overwritten by the next pixel. */
static inline void store(unsigned char *to, bytes8 lanes)
{
    memcpy(to, &lanes, sizeof lanes);
}

static inline void store_wide(unsigned char *to, words8 lanes)
{
    store(to, __builtin_convertvector(lanes, bytes8));
}

/* Spelled so that compilers see one instruction in it, which they do not in a choice by masks. */
static inline words8 least_of(words8 a, words8 b)
{
    words8 least;
    for (int i = 0; i < LANES; i++)
        least[i] = a[i] < b[i] ? a[i] : b[i];
    return least;
}

static inline words8 most_of(words8 a, words8 b)
{
    words8 most;
    for (int i = 0; i < LANES; i++)
        most[i] = a[i] > b[i] ? a[i] : b[i];
    return most;
}

static inline words8 choose(words8 mask, words8 yes, words8 no)
{
    return (mask & yes) | (~mask & no);
}

/* The neighbour nearest to left + above − corner; in a tie left before above before corner. That is the
   larger of left and above where the corner lies in the lower third of what is between them, or below; the
   smaller where it lies in the upper third, or above; else the corner. (The distances themselves would make a
   longer chain from pixel to pixel.) */
static inline words8 paeth_of_lanes(words8 left, words8 above, words8 corner)
{
    words8 bound = corner * 3 - above - left;
    words8 least = least_of(left, above), most = most_of(left, above);
    return choose(bound > least, choose(most > bound, corner, least), most);
}

/* A step of these loops is a pixel, and `pixel` its bytes: the lanes beyond hold rubbish, which the next step
   overwrites. */
static inline void unfilter_sub(const struct png_filtered_row *row, size_t pixel,
                                unsigned char *restrict plain)
{
    bytes8 left = {0};
    for (size_t i = 0; i < row->bytes; i += pixel) {
        left += load(row->filtered + i);
        store(plain + i, left);
    }
}

static inline void unfilter_average(const struct png_filtered_row *row, size_t pixel,
                                    unsigned char *restrict plain)
{
    words8 left = black;
    for (size_t i = 0; i < row->bytes; i += pixel) {
        left = (load_wide(row->filtered + i) + ((left + load_wide(row->above + i)) >> 1)) & 0xff;
        store_wide(plain + i, left);
    }
}

static inline void unfilter_paeth(const struct png_filtered_row *row, size_t pixel,
                                  unsigned char *restrict plain)
{
    words8 left = black, corner = black;
    for (size_t i = 0; i < row->bytes; i += pixel) {
        words8 above = load_wide(row->above + i);
        left = (load_wide(row->filtered + i) + paeth_of_lanes(left, above, corner)) & 0xff;
        corner = above;
        store_wide(plain + i, left);
    }
}

static inline void unfilter_up(const struct png_filtered_row *row, unsigned char *restrict plain)
{
    for (size_t i = 0; i < row->bytes; i++)
        plain[i] = (unsigned char)(row->filtered[i] + row->above[i]);
}

bool png_filter_undo(unsigned type, const struct png_filtered_row *row, unsigned char *restrict plain)
{
    switch (type) {
    case 0:
        memcpy(plain, row->filtered, row->bytes);
        return true;
    case 1:
        unfilter_sub(row, row->pixel, plain);
        return true;
    case 2:
        unfilter_up(row, plain);
        return true;
    case 3:
        unfilter_average(row, row->pixel, plain);
        return true;
    case 4:
        unfilter_paeth(row, row->pixel, plain);
        return true;
    default:
        return false;
    }
}
