/* The filters of PNG, taken back from rows that were inflated. Up is a loop over bytes; the others add to a
   byte what came out one pixel before, so that only the bytes of one pixel, 8 at the most, are lanes of a
   vector. */
#include "png_unfilter.h"

#include <stdint.h>
#include <string.h>

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
static inline words8 paeth(words8 left, words8 above, words8 corner)
{
    words8 bound = corner * 3 - above - left;
    words8 least = least_of(left, above), most = most_of(left, above);
    return choose(bound > least, choose(most > bound, corner, least), most);
}

static inline void unfilter_sub(const struct png_unfilter_rows *rows, size_t pixel,
                                unsigned char *restrict plain)
{
    bytes8 left = {0};
    for (size_t i = 0; i < rows->bytes; i += pixel) {
        left += load(rows->filtered + i);
        store(plain + i, left);
    }
}

static inline void unfilter_average(const struct png_unfilter_rows *rows, size_t pixel,
                                    unsigned char *restrict plain)
{
    words8 left = black;
    for (size_t i = 0; i < rows->bytes; i += pixel) {
        left = (load_wide(rows->filtered + i) + ((left + load_wide(rows->above + i)) >> 1)) & 0xff;
        store_wide(plain + i, left);
    }
}

static inline void unfilter_paeth(const struct png_unfilter_rows *rows, size_t pixel,
                                  unsigned char *restrict plain)
{
    words8 left = black, corner = black;
    for (size_t i = 0; i < rows->bytes; i += pixel) {
        words8 above = load_wide(rows->above + i);
        left = (load_wide(rows->filtered + i) + paeth(left, above, corner)) & 0xff;
        corner = above;
        store_wide(plain + i, left);
    }
}

static inline void unfilter_up(const struct png_unfilter_rows *rows, unsigned char *restrict plain)
{
    for (size_t i = 0; i < rows->bytes; i++)
        plain[i] = (unsigned char)(rows->filtered[i] + rows->above[i]);
}

bool png_unfilter(unsigned type, const struct png_unfilter_rows *rows, unsigned char *restrict plain)
{
    switch (type) {
    case 0:
        memcpy(plain, rows->filtered, rows->bytes);
        return true;
    case 1:
        unfilter_sub(rows, rows->pixel, plain);
        return true;
    case 2:
        unfilter_up(rows, plain);
        return true;
    case 3:
        unfilter_average(rows, rows->pixel, plain);
        return true;
    case 4:
        unfilter_paeth(rows, rows->pixel, plain);
        return true;
    default:
        return false;
    }
}
