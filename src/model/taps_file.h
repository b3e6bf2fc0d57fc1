/* Taps files: a tap a line, dx dy dz weight; # begins a comment. */
#ifndef TAPS_FILE_H
#define TAPS_FILE_H

#include "base/diag.h"
#include "stencil.h"

#include <stdbool.h>

/* Add the taps of a file, which may be a pipe, to the stencil: at least one, at most 254 bytes a line, and a
 * million lines.
 */
bool taps_file_read(const char *path, struct stencil *stencil, struct fault *fault);

#endif
