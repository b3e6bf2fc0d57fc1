/* Losses: what a file tells that an output does not keep, by names, as a line of text. */
#ifndef LOSSES_H
#define LOSSES_H

#include <stddef.h>

/* Append a name to the text, which has room for `size` bytes. Names that do not fit become " and others". */
void losses_add(char *text, size_t size, const char *name);

#endif
