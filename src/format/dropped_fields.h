/* Dropped fields: what a file tells that an output does not keep, by names, as a line of text. */
#ifndef DROPPED_FIELDS_H
#define DROPPED_FIELDS_H

#include <stddef.h>

/* Append a name to the text, which has room for `size` bytes. Names that do not fit become " and others". */
void dropped_fields_add(char *text, size_t size, const char *name);

/* Append the name with its index, as in "spacings[3]", for each of the distances from `first` on that tells
   something: neither NaN, 0 nor 1. */
void dropped_fields_add_distances(char *text, size_t size, const char *name, const double *distances,
                                  size_t first, size_t count);

#endif
