/* Patterns: names of files that differ in a number, as "slices/%04d.png". */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A name with a number is shorter than this. */
#define PATTERN_NAME_MOST 4096

/* Whether the only conversion in it is %d, perhaps with zeros and a width; so long a name is none. */
bool pattern_is(const char *text);

/* The same of a stack of PNG pictures: its ending says so. NULL is none. */
bool pattern_is_png(const char *text);

/* "%03d" with its number. */
void pattern_expand(const char *pattern, uint64_t number, char name[PATTERN_NAME_MOST]);

/* Whether a file's name is one of the pattern's, and whether two patterns may have a name in common; all
   without folders. */
bool pattern_has(const char *pattern, const char *name);
bool pattern_may_meet(const char *pattern, const char *other);

/* The greatest number of a file that is there; false: there is none, or folders differ in the number. */
bool pattern_find_last(const char *pattern, uint64_t *number);

#endif
