/* Phrases: what several texts say in the same words. */
#include "phrase.h"

#include "number.h"

void phrase_grid(FILE *stream, const struct grid *grid)
{
    fprintf(stream, "%zu × %zu", grid->nx, grid->ny);
    if (grid->axes == 3)
        fprintf(stream, " × %zu", grid->nz);
    fprintf(stream, ", %u channel%s", grid->channels, grid->channels == 1 ? "" : "s");
}

void phrase_joint(FILE *stream, const struct op *op)
{
    if (op->joint == 0)
        return;
    fprintf(stream, ", one conductivity for %zu channels", op_group(op, 0).count);
    if (op_group_count(op) > 1)
        fprintf(stream, " and one for the other %zu", op_group(op, 1).count);
}

void phrase_form(FILE *stream, const struct routine_facts *facts)
{
    if (facts->tile_x > 0)
        fprintf(stream, ", tile %u × %u", facts->tile_x, facts->tile_y);
    if (facts->tile_z > 1)
        fprintf(stream, " × %u", facts->tile_z);
    if (facts->coarsen > 0)
        fprintf(stream, ", coarsened %u", facts->coarsen);
    if (facts->stride > 1)
        fprintf(stream, " × %u apart", facts->stride);
    if (facts->steps > 1)
        fprintf(stream, ", up to %u steps a pass", facts->steps);
}

void phrase_launch(FILE *stream, const struct routine_facts *facts)
{
    if (facts->block[0] == 0)
        return;
    fprintf(stream, ", grid %u × %u × %u of blocks %u × %u × %u", facts->grid[0], facts->grid[1],
            facts->grid[2], facts->block[0], facts->block[1], facts->block[2]);
    fprintf(stream, ", %u registers, %zu bytes shared a block, occupancy %.0f %%", facts->registers,
            facts->shared_bytes, 100.0 * facts->occupancy);
}

/* The launch is left out: it depends on what is added up. */
void phrase_sums(FILE *stream, const struct plan *plan)
{
    if (!plan->adds || plan->sums.rung == NULL)
        return;
    fprintf(stream, "sums      rung %s: %s", plan->sums.rung->name, plan->sums.reason);
    phrase_form(stream, &plan->sums);
    fprintf(stream, ", blocks of %u threads\n", plan->sums.block[0]);
}

void phrase_device(FILE *stream, const struct plan *plan)
{
    fprintf(stream, "device    %s: %s", plan->device_name, plan->device_text);
    if (plan->device_reason[0] != '\0')
        fprintf(stream, " (%s)", plan->device_reason);
    fprintf(stream, "\n");
}

void phrase_ends(FILE *stream, const struct record_ends *ends)
{
    char line[DIAG_TEXT];

    fprintf(stream, "%s → ", diag_printable(ends->input, line, sizeof line));
    fprintf(stream, "%s", diag_printable(ends->output, line, sizeof line));
}
