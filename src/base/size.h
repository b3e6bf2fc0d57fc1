/* Sizes: the arithmetic of counts that C leaves out. */
#ifndef SIZE_H
#define SIZE_H

#include <stddef.h>

static inline size_t size_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t size_most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* How many parts of such a size a whole has, the last one perhaps shorter. */
static inline size_t size_divided_up(size_t whole, size_t part)
{
    return (whole + part - 1) / part;
}

/* The next multiple of a unit that is not below the value. */
static inline size_t size_rounded_up(size_t value, size_t unit)
{
    return size_divided_up(value, unit) * unit;
}

#endif
