/* Boxes: a part of each plane of a source, read as if it were the whole. */
#ifndef BOX_H
#define BOX_H

#include "base/diag.h"
#include "model/region.h"
#include "format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A box that goes past the end of an axis goes on at its beginning; it is no longer than the axis. Its
   planes do not count here: those that are asked for are read. */

/* Read planes of one volume of a `random` source, each as far as the box has it: in any order, and from
   several threads. */
bool box_read_at(struct source *source, void *samples, size_t volume, const struct region *box, size_t first,
                 size_t planes, struct fault *fault);

/* Read the next planes of any other source. Where `samples` is NULL they are passed over. */
bool box_read(struct source *source, void *samples, const struct region *box, size_t planes,
              struct fault *fault);

/* Read runs of samples of a file, packed: `begin` is where the samples of the grid do. *ended says whether
   the file ended before their last. From any thread. */
bool box_read_runs(const struct file_in *file, uint64_t begin, const struct region_runs *runs, void *samples,
                   bool *ended, struct fault *fault);

/* Whether runs of so many bytes in rows of so many are read with what is between them. */
bool box_reads_between(uint64_t row, uint64_t run);

/* The beside_bytes of a source whose box so many threads read. */
size_t box_beside_bytes(const struct source *source, const struct region *box, size_t threads);

#endif
