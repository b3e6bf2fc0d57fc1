/* Patterns: names of files that differ in a number, as "slices/%04d.png". */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdbool.h>
#include <stdint.h>

/* Size of a buffer for any expanded name. */
#define PATTERN_NAME_MOST 4096

/* Whether the only conversion in the text is %d, perhaps with zeros and a width. Too long a text is no
 * pattern. */
bool pattern_is(const char *text);

/* Whether a text has a conversion of printf for whole numbers, so that whoever gave it may have meant a
 * pattern.
 */
bool pattern_seems(const char *text);

/* Write the name that a valid pattern has for a number. */
void pattern_expand(const char *pattern, uint64_t number, char name[PATTERN_NAME_MOST]);

/* Whether the pattern has a file's name, and whether two patterns may have a name in common; all without
 * folders. */
bool pattern_has(const char *pattern, const char *name);
bool pattern_may_meet(const char *pattern, const char *other);

/* Find the greatest number of an existing file; false: there is none, or the number is in the name of a
 * folder. */
bool pattern_find_last(const char *pattern, uint64_t *number);

#endif
