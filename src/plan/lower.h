/* Lowering: from a stage on a grid to the operations that a backend runs for one step of it. */
#ifndef LOWER_H
#define LOWER_H

#include "base/diag.h"
#include "model/grid.h"
#include "model/stage.h"
#include "kernels/backend.h"

#include <stdbool.h>
#include <stddef.h>

#define LOWER_PASSES FILTER_PASSES
#define LOWER_OPS    (FILTER_PASSES + FILTER_CHAINS) /* and what combines each chain with those before it */

/* One step of a stage: its operations in order. */
struct step {
    struct op ops[LOWER_OPS];
    size_t count;
    struct op passes[LOWER_PASSES]; /* those that are joined */
    size_t pass_count;
    size_t last_reader; /* of the step's input */
};

/* Channels that a joint flux puts under one conductivity; one has nothing to share. Colour times alpha goes
   with alpha: else a flat colour would change where alpha does. Colour as it stands does not know of alpha.
 */
unsigned lower_joint_channels(const struct stage *stage, const struct encoding *encoding);

/* The extents of the fields of a grid, with the channels that are computed. */
struct shape lower_shape(const struct grid *grid, unsigned channels);

/* Make the operations of one step of a stage, which lower_free releases; on failure nothing is left.
   `encoding` says what the channels of the field are: stages may take colour as it stands, while the field
   has it multiplied by alpha because another stage takes it so. */
bool lower_stage(const struct stage *stage, const struct grid *grid, const struct encoding *encoding,
                 enum work_type work, struct step *step, struct fault *fault);
void lower_free(struct step *step);

/* Let one operation, an OP_PASSES, stand for the first passes, at most `most`, of the chain that an operation
   begins, or, from its OP_WEIGH on, for a whole average. Returns how many operations were
   joined, or 0 if they cannot be. lower_part undoes this, the last joined first. */
size_t lower_join(struct step *step, size_t index, size_t most);
void lower_part(struct step *step, size_t index);

/* All steps of a stage of FILTER_POINT, as conversion takes them along. */
bool lower_point(const struct stage *stage, enum work_type work, bool missing, struct point *point,
                 struct fault *fault);

#endif
