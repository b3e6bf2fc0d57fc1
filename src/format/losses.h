/* Losses: what a file tells that an output does not keep, by names, as a line of text. */
#ifndef LOSSES_H
#define LOSSES_H

#include <stddef.h>

/* Append a name to those of the text, of `size` bytes; a name that has no room there is one of some others.
 */
void losses_add(char *text, size_t size, const char *name);

#endif
