/* Phrases: lines, and parts of lines, that both --explain and --report print. */
#ifndef PHRASE_H
#define PHRASE_H

#include "kernels/backend.h"
#include "plan/plan.h"
#include "pipeline/pipeline.h"

#include <stdio.h>

/* The names of an input and an output; "-" is standard input or output. */
const char *phrase_input(const char *path);
const char *phrase_output(const char *path);

/* Parts of a line: the extents and channels, and the two ends of a run. */
void phrase_grid(FILE *stream, const struct header *header);
void phrase_ends(FILE *stream, const char *input, const char *output);

/* Channels that share a conductivity, if any do. */
void phrase_joint(FILE *stream, const struct op *op);
/* The shape of a routine: tile, coarsening and steps, as far as its rung has them. */
void phrase_form(FILE *stream, const struct form *form);

/* How a device with blocks and threads launches it. */
void phrase_launch(FILE *stream, const struct form *form);

/* Whole lines: none of a region if all of the result is written, and none of columns if there is only one. */
void phrase_region(FILE *stream, const struct job *job);
void phrase_box(FILE *stream, const struct plan *plan);
void phrase_columns(FILE *stream, const struct job *job);
void phrase_sums(FILE *stream, const struct plan *plan);
void phrase_device(FILE *stream, const struct plan *plan);

/* How several ranks split the planes, or why they do not. Prints nothing for a single rank. */
void phrase_ranks(FILE *stream, const struct pipeline *pipeline);

/* How several devices share the planes; nothing where there is one. */
void phrase_shares(FILE *stream, const struct plan *plan);

#endif
