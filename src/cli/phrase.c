/* Phrases: lines, and parts of lines, that both --explain and --report print. */
#include "phrase.h"

#include "base/number.h"
#include "base/path.h"

void phrase_grid(FILE *stream, const struct header *header)
{
    static const char *const names[] = {
        [SERIES_CHANNEL] = "C", [SERIES_TIME] = "T", [SERIES_OTHER] = "other"};
    const struct grid *grid = &header->grid;

    fprintf(stream, "%s, %u channel%s", grid_format_extents(grid).text, grid->channels,
            number_plural(grid->channels));
    if (header->volumes > 1)
        fprintf(stream, ", a series of %zu", header->volumes);
    if (header->choice.count > 0)
        fprintf(stream, ", volume %zu of %zu", header->choice.volume, header->choice.count);
    for (size_t i = 0; i < header->series_axes; i++)
        fprintf(stream, "%s%s %zu%s", i > 0 ? ", " : " (", names[header->series[i].kind],
                header->series[i].extent, i + 1 == header->series_axes ? ")" : "");
}

void phrase_joint(FILE *stream, const struct op *op)
{
    if (op->joint == 0)
        return;
    fprintf(stream, ", one %s for %zu channels", op->kind == OP_BILATERAL ? "weight" : "conductivity",
            op_group(op, 0).count);
    if (op_group_count(op) > 1)
        fprintf(stream, " and one for the other %zu", op_group(op, 1).count);
}

/* A number of 0 means that the rung has no such choice, and 1 that there is nothing to tell. */
void phrase_form(FILE *stream, const struct form *form)
{
    const size_t tile[] = {form->tile_x, form->tile_y, form->tile_z};

    if (form->tile_x > 0)
        fprintf(stream, ", tile %s", number_format_product(tile, form->tile_z > 1 ? 3 : 2).text);
    if (form->coarsen > 0)
        fprintf(stream, ", coarsened %u", form->coarsen);
    if (form->stride > 1)
        fprintf(stream, " x %u apart", form->stride);
    if (form->steps > 1)
        fprintf(stream, ", up to %u steps a pass", form->steps);
}

void phrase_launch(FILE *stream, const struct form *form)
{
    const size_t grid[] = {form->grid[0], form->grid[1], form->grid[2]};
    const size_t block[] = {form->block[0], form->block[1], form->block[2]};

    /* The CPU launches no blocks. */
    if (form->block[0] == 0)
        return;
    fprintf(stream, ", grid %s of blocks %s", number_format_product(grid, 3).text,
            number_format_product(block, 3).text);
    fprintf(stream, ", %u registers, %zu bytes shared a block, occupancy %.0f %%", form->registers,
            form->shared_bytes, 100.0 * form->occupancy);
}

/* The launch is left out: it depends on what is added up. */
void phrase_sums(FILE *stream, const struct plan *plan)
{
    if (!plan->adds || plan->lanes[0].sums.rung == NULL)
        return;
    fprintf(stream, "sums      rung %s: %s", plan->lanes[0].sums.rung->name, plan->lanes[0].sums.reason);
    phrase_form(stream, &plan->lanes[0].sums);
    fprintf(stream, ", blocks of %u threads\n", plan->lanes[0].sums.block[0]);
}

void phrase_device(FILE *stream, const struct plan *plan)
{
    fprintf(stream, "device    %s: %s", plan->device_name, plan->device_text);
    if (plan->selection.reason[0] != '\0')
        fprintf(stream, " (%s)", plan->selection.reason);
    fprintf(stream, "\n");
}

/* Planes of others that each rank needs. */
static void phrase_beside(FILE *stream, const struct plan *plan, enum split_kind kind)
{
    size_t beside = plan->beside;

    if (kind == SPLIT_SHARES)
        fprintf(stream, "; each holds %zu more on either side, which others hand over", plan->shares.halo);
    else if (beside >= plan->shape.planes)
        fprintf(stream, "; each reads and computes all of them");
    else if (beside > 0)
        fprintf(stream, "; each reads %zu more on either side, and computes some of these as well", beside);
}

void phrase_ranks(FILE *stream, const struct pipeline *pipeline)
{
    const struct ranks *ranks = &pipeline->ranks;
    const struct job *job = &pipeline->job;
    const struct split *split = &ranks->split;
    /* How many ranks compute, and why not all of them; then what each computes and what it needs of
       others. */
    size_t most = split_most_planes(split, job);

    if (!ranks_are_several(ranks))
        return;
    fprintf(stream, "ranks     %zu", split->members);
    if (split->members < peers_count(ranks->all))
        fprintf(stream, " of %zu", peers_count(ranks->all));
    if (split->why != NULL)
        fprintf(stream, ": %s", split->why);
    if (split->members > 1) {
        fprintf(stream, ", of up to %zu %s%s each", most, job->in.grid.axes == 3 ? "plane" : "row",
                number_plural(most));
        phrase_beside(stream, &pipeline->plan, split->kind);
    }
    fprintf(stream, "\n");
}

void phrase_shares(FILE *stream, const struct plan *plan)
{
    const struct shares *shares = &plan->shares;

    if (shares->held > 1)
        fprintf(stream,
                "shares    %zu, of up to %zu plane%s and %zu beside them on each side, handed over %s\n",
                shares->count, shares_most(shares), number_plural(shares_most(shares)), shares->halo,
                shares->direct ? "directly" : "through the host's memory");
}

const char *phrase_input(const char *path)
{
    return path_is_standard(path) ? "standard input" : path;
}

const char *phrase_output(const char *path)
{
    return path_is_standard(path) ? "standard output" : path;
}

void phrase_ends(FILE *stream, const char *input, const char *output)
{
    char line[DIAG_TEXT];

    fprintf(stream, "%s -> ", diag_printable(phrase_input(input), line, sizeof line));
    fprintf(stream, "%s", diag_printable(phrase_output(output), line, sizeof line));
}

/* The ends of a range as --crop takes them; one that goes past the last index ends beyond it. */
static void phrase_range(FILE *stream, unsigned axis, size_t first, size_t count)
{
    fprintf(stream, "%s%c %zu:%zu", axis > 0 ? ", " : "", "xyz"[axis], first, first + count);
}

void phrase_box(FILE *stream, const struct plan *plan)
{
    const struct job *job = plan->job;
    const unsigned axes = job->in.grid.axes, along = axes == 3 ? 2 : 1;

    if (job->region_kind == REGION_WHOLE || job_columns(job) > 1)
        return;
    fprintf(stream, "box       ");
    for (unsigned axis = 0; axis < axes; axis++)
        phrase_range(stream, axis, axis == along ? plan->read.first : job->box.first[axis],
                     axis == along ? plan->read.count : job->box.count[axis]);
    fprintf(stream, " of the grid are computed for it: %llu of %llu bytes are read\n",
            (unsigned long long)plan->read_bytes,
            (unsigned long long)(header_samples(&job->in) * sample_size(job->in.type)));
}

void phrase_columns(FILE *stream, const struct job *job)
{
    const struct columns *columns = &job->columns;

    if (job_columns(job) == 1)
        return;
    fprintf(stream, "columns   %zu, one after the other: %zu along x and %zu along y, of %zu x %zu samples",
            job_columns(job), columns->count[0], columns->count[1], columns->extent[0], columns->extent[1]);
    fprintf(stream, "; boxes of %zu x %zu are computed for them\n", job->computed.nx, job->computed.ny);
}

void phrase_region(FILE *stream, const struct job *job)
{
    const struct region *region = &job->region;

    /* Each range has the ends that --crop takes. */
    if (job->region_kind == REGION_WHOLE)
        return;
    fprintf(stream, "region    ");
    for (unsigned axis = 0; axis < job->in.grid.axes; axis++)
        phrase_range(stream, axis, region->first[axis], region->count[axis]);
    fprintf(stream, " of the result\n");
}
