/* Lowering: from a stage on a grid to the operations that a backend runs for one step of it. */
#include "lower.h"

#include "base/mem.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CENTRAL 0.5 /* a central difference reaches across two samples */

/* A step on its way: what it is made of, and the operations so far. */
struct lowering {
    const struct stage *stage;
    const struct grid *grid;
    const struct encoding *encoding; /* of the field */
    enum work_type work;
    struct step *step;
    struct fault *fault;
};

struct shape lower_shape(const struct grid *grid, unsigned channels)
{
    return (struct shape){
        .nx = grid->nx, .rows = grid_rows(grid), .planes = grid_planes(grid), .channels = channels};
}

static void widen(struct reach *reach, int offset)
{
    if (offset < reach->low)
        reach->low = offset;
    if (offset > reach->high)
        reach->high = offset;
}

static void unite(struct reach *reach, const struct reach *other)
{
    widen(reach, other->low);
    widen(reach, other->high);
}

static const char *larger_range(enum work_type work)
{
    return work == WORK_F32 ? " (--work f64 has a larger range)" : "";
}

static bool refuse_small(enum work_type work, const char *what, struct fault *fault)
{
    return fault_raise(fault, STATUS_USAGE, "%s is too small for %s%s", what, work_name(work),
                       larger_range(work));
}

/* A number as the work type holds it; one that it cannot hold is refused. */
static bool settle_number(enum work_type work, double number, const char *what, double *settled,
                          struct fault *fault)
{
    *settled = work_round(work, number);
    if (isfinite(*settled))
        return true;
    return fault_raise(fault, STATUS_USAGE, "%s of %g does not fit %s%s", what, number, work_name(work),
                       larger_range(work));
}

/* −1 of an odd exponent, 1 of an even one, NaN of one that is not whole. */
static double parity(double exponent)
{
    return floor(exponent) != exponent ? (double)NAN : fmod(exponent, 2.0) != 0.0 ? -1.0 : 1.0;
}

/* The numbers of a FILTER_POINT. */
static bool settle_point(const struct stage *stage, enum work_type work, bool missing, struct point *point,
                         struct fault *fault)
{
    static const char *const names[][POINT_NUMBERS] = {
#define POINT(constant, name, syntax, least, most, a_name, b_name, c_name, ...) {a_name, b_name, c_name},
#include "model/points.def"
    };
    const struct point given = stage_point(stage);
    char what[64];

    *point = given;
    point->missing = missing;
    for (size_t i = 0; i < POINT_NUMBERS; i++) {
        if (!settle_number(work, given.numbers[i], names[given.kind][i], &point->numbers[i], fault))
            return false;
    }
    if (given.kind == POINT_POWER)
        point->numbers[1] = parity(point->numbers[0]);
    snprintf(what, sizeof what, "%s of %g", names[given.kind][0], given.numbers[0]);
    return given.kind != POINT_SCALE || point->numbers[0] != 0.0 || given.numbers[0] == 0.0 ||
           refuse_small(work, what, fault);
}

/* A weight that the work type rounds to zero does not exist either. */
static bool lower_taps(const struct lowering *lower, const struct stencil *stencil, struct op *op)
{
    const bool solid = lower->grid->axes == 3;

    op->taps = mem_alloc(stencil->count, sizeof *op->taps, "the taps", lower->fault);
    if (op->taps == NULL)
        return false;
    for (size_t i = 0; i < stencil->count; i++) {
        const struct tap *given = &stencil->taps[i];
        /* The rows of a picture are its planes. */
        struct op_tap tap = {given->dx, solid ? given->dy : 0, solid ? given->dz : given->dy, given->weight};
        if (!settle_number(op->work, tap.weight, "a weight", &tap.weight, lower->fault))
            return false;
        if (tap.weight == 0.0)
            continue;
        widen(&op->x, tap.dx);
        widen(&op->row, tap.drow);
        widen(&op->plane, tap.dplane);
        op->taps[op->tap_count++] = tap;
    }
    return true;
}

/* Where weights are asked for, not all of them may be rounded to zero. */
static bool lower_weights(const struct lowering *lower, const struct stencil *stencil, struct op *op)
{
    return lower_taps(lower, stencil, op) &&
           (op->tap_count > 0 || stencil->count == 0 || refuse_small(op->work, "every weight", lower->fault));
}

/* The constants that EDGE_CONSTANT puts into the channels of a field; channels that the stage does not
 * compute get none. */
static bool lower_outside(const struct lowering *lower, struct op *op)
{
    const struct encoding *encoding = lower->encoding;
    const struct stage *stage = lower->stage;
    /* The constant is a value of the file. It becomes a sample, and then goes the way of samples: into light,
       and times alpha where colour is. */
    unsigned channels = encoding_field_channels(encoding);
    struct encoding own = *encoding;

    own.premultiply = encoding->premultiply && !stage->leaves_alpha;
    op->outside = mem_zeroed(channels, sizeof *op->outside, "the edge", lower->fault);
    if (op->outside == NULL)
        return false;
    encoding_outside(&own, op->work, intensity_sample(&stage->intensity, stage->edge.value), op->outside);
    for (unsigned channel = 0; channel < encoding_work_channels(encoding); channel++) {
        if (isnan(op->outside[channel]) && encoding->missing)
            continue;
        if (!settle_number(op->work, op->outside[channel], "--edge: a constant", &op->outside[channel],
                           lower->fault))
            return false;
    }
    return true;
}

/* A new operation at the end of the step. */
static struct op *begin_op(const struct lowering *lower, enum op_kind kind)
{
    const struct encoding *encoding = lower->encoding;
    const struct stage *stage = lower->stage;
    /* A stage that reads no neighbours has no edge: it must not keep others from theirs. */
    const enum edge_rule edge = stage_reads_neighbours(stage) ? stage->edge.rule : EDGE_DEFAULT;
    struct op *op = &lower->step->ops[lower->step->count];

    *op = (struct op){.kind = kind, .work = lower->work, .edge = edge, .inner = 1};
    op->channels = stage->leaves_alpha ? encoding_colours(encoding) : encoding_work_channels(encoding);
    op->missing = encoding->missing;
    op->begins = lower->step->count++ == 0;
    return !edge_has(op->edge, EDGE_HAS_VALUE) || lower_outside(lower, op) ? op : NULL;
}

unsigned lower_joint_channels(const struct stage *stage, const struct encoding *encoding)
{
    bool covered = encoding->alpha && encoding->premultiply && !stage->leaves_alpha;

    return encoding_colours(encoding) + (covered ? 1 : 0);
}

/* What channels share; what a single one has is not shared. */
static void join_channels(const struct lowering *lower, struct op *op)
{
    op->joint = lower_joint_channels(lower->stage, lower->encoding);
    if (op_group_most(op) == 1)
        op->joint = 0;
}

/* What heat is beside its taps. Its scale is a value, and becomes one of samples. */
static bool lower_heat(const struct lowering *lower, struct op *op)
{
    const struct heat *heat = &lower->stage->heat;
    double scale = heat->scale / intensity_unit(&lower->stage->intensity);
    struct fault *fault = lower->fault;

    /* A single relaxation of linear heat without reaction is nothing but its taps, if none is missing. */
    if (heat->flux == FLUX_LINEAR && heat->inner == 1 && !heat->reacts && !op->missing)
        return true;
    op->kind = OP_HEAT;
    op->flux = heat->flux;
    op->inner = heat->inner;
    op->reacts = heat->reacts;
    if (heat->joint)
        join_channels(lower, op);
    return settle_number(op->work, 1.0 / scale, "1/scale", &op->inverse_scale, fault) &&
           settle_number(op->work, heat->alpha * heat->dt * scale, "alpha*dt*scale", &op->rate, fault) &&
           settle_number(op->work, heat->reaction, "a reaction", &op->reaction, fault) &&
           settle_number(op->work, 1.0 - heat->reaction, "1 - reaction", &op->remainder, fault);
}

/* The deviation of differences is a value, and becomes one of samples. */
static bool lower_bilateral(const struct lowering *lower, struct op *op)
{
    const struct filter_body *body = &lower->stage->body;
    double range = body->amount / intensity_unit(&lower->stage->intensity);

    join_channels(lower, op);
    return lower_weights(lower, &body->taps, op) &&
           settle_number(op->work, sqrt(0.5) / range, "1/SR", &op->inverse_scale, lower->fault);
}

/* Heat that is asked to flow does not stand still because the work type has no number so small. */
static bool check_flow(const struct heat *heat, const struct op *op, struct fault *fault)
{
    bool asked = heat->alpha > 0.0 && heat->dt > 0.0;
    bool flows = op_radius(op) > 0 && (heat->flux != FLUX_TANH || op->rate > 0.0);
    char what[64];

    snprintf(what, sizeof what, "alpha*dt = %g", heat->alpha * heat->dt);
    return !asked || flows || refuse_small(op->work, what, fault);
}

/* The stencil of a gradient: the neighbour ahead on each axis; the backend knows the one behind. Both count
   for how far the operation reaches. */
static bool lower_gradient(const struct lowering *lower, struct op *op)
{
    const double *h = lower->stage->spacing;
    struct tap taps[] = {{1, 0, 0, CENTRAL / h[0]}, {0, 1, 0, CENTRAL / h[1]}, {0, 0, 1, CENTRAL / h[2]}};
    const struct stencil ahead = {.count = lower->grid->axes, .taps = taps};
    bool lowered = lower_weights(lower, &ahead, op);

    op->x.low = -op->x.high;
    op->row.low = -op->row.high;
    op->plane.low = -op->plane.high;
    return lowered;
}

/* What combines a chain with those before it; COMBINES is nothing. */
static enum combine combine_of(const struct stage *stage, size_t chain)
{
    static const enum combine lengths[][FILTER_CHAINS] = {
        {COMBINE_LENGTH_1},
        {COMBINES, COMBINE_LENGTH_2},
        {COMBINES, COMBINE_SQUARES, COMBINE_LENGTH_3},
    };

    if (stage->filter->kind == FILTER_LENGTH)
        return lengths[stage->body.chains - 1][chain];
    return stage->filter->kind == FILTER_SUM && chain > 0 ? COMBINE_SUM : COMBINES;
}

/* ---- weights of samples ---- */

/* The weights behind the channels of samples go through the chain as these do. What is outside the grid
   weighs as much as what is inside, where nothing is missing. */
static void weigh(struct op *op, unsigned weighed, double whole)
{
    op->missing = false;
    op->channels = 2 * weighed;
    for (unsigned channel = 0; op->outside != NULL && channel < weighed; channel++) {
        bool there = !isnan(op->outside[channel]);
        op->outside[weighed + channel] = there ? whole : 0.0;
        op->outside[channel] = there ? op->outside[channel] : 0.0;
    }
}

/* What a chain of taps makes of a constant, by fused multiply-adds of the work type. */
static double chain_constant(const struct op *op, double value)
{
    double sum = op->tap_count == 0 ? 0.0 : work_round(op->work, op->taps[0].weight * value);

    for (size_t i = 1; i < op->tap_count; i++) {
        const double weight = op->taps[i].weight;
        sum = op->work == WORK_F32 ? (double)fmaf((float)weight, (float)value, (float)sum)
                                   : fma(weight, value, sum);
    }
    return sum;
}

/* The same, unless EDGE_HOLD keeps the sample along one of the axes of `held`. */
static double pass_constant(const struct op *op, unsigned held, double value)
{
    const struct reach *reaches[] = {&op->x, &op->row, &op->plane};

    for (unsigned axis = 0; axis < 3; axis++) {
        if ((held >> axis & 1) != 0 && (reaches[axis]->low < 0 || reaches[axis]->high > 0))
            return value;
    }
    return chain_constant(op, value);
}

/* One more operation of an average: its effect on the weights of samples around which nothing is missing. */
static void add_pass(struct op *average, const struct op *pass)
{
    for (unsigned held = 0; held < sizeof average->whole / sizeof *average->whole; held++)
        average->whole[held] = pass_constant(pass, held, average->whole[held]);
    unite(&average->held[0], &pass->x);
    unite(&average->held[1], &pass->row);
    unite(&average->held[2], &pass->plane);
}

/* Chains of weights none of which is below 0, over samples some of which may be missing. */
static bool lower_average(const struct lowering *lower, const struct stencil *passes, size_t count)
{
    struct op average = {.kind = OP_AVERAGE, .whole = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}};
    struct op *op = begin_op(lower, OP_WEIGH);

    if (op == NULL)
        return false;
    average.weighed = op->weighed = op->channels;
    weigh(op, op->weighed, 1.0);
    for (size_t i = 0; i < count; i++) {
        if (passes[i].count == 0)
            continue;
        op = begin_op(lower, OP_TAPS);
        if (op == NULL || !lower_weights(lower, &passes[i], op))
            return false;
        weigh(op, average.weighed, average.whole[0]);
        add_pass(&average, op);
    }
    op = begin_op(lower, OP_AVERAGE);
    if (op == NULL)
        return false;
    op->weighed = average.weighed;
    op->freed = op->weighed == encoding_work_channels(lower->encoding) ? op->weighed : 0;
    op->channels = encoding_field_channels(lower->encoding);
    op->missing = false;
    memcpy(op->whole, average.whole, sizeof op->whole);
    memcpy(op->held, average.held, sizeof op->held);
    lower->step->last_reader = lower->step->count - 1;
    return true;
}

static bool settle_amount(const struct lowering *lower, struct op *op)
{
    return settle_number(lower->work, lower->stage->body.amount, "an amount", &op->amount, lower->fault);
}

/* An unsharp mask of a mean that stands there: its taps are the sample alone. */
static bool lower_sharpening(const struct lowering *lower)
{
    struct tap tap = {.weight = 1.0};
    const struct stencil centre = {.count = 1, .taps = &tap};
    struct op *op = begin_op(lower, OP_UNSHARP);

    if (op == NULL || !lower_weights(lower, &centre, op) || !settle_amount(lower, op))
        return false;
    op->missing = false;
    lower->step->last_reader = lower->step->count - 1;
    return true;
}

/* An operation along each axis that is filtered. The last one of unsharp reads the step's input, too. */
static bool lower_axes(const struct lowering *lower, size_t chain)
{
    const struct stencil *along = &lower->stage->body.along[3 * chain];
    const bool sharpens = lower->stage->filter->kind == FILTER_UNSHARP;
    struct step *step = lower->step;
    const size_t first = step->count;
    struct op *op = NULL;

    for (unsigned axis = 0; axis < lower->grid->axes; axis++) {
        if (along[axis].count == 0)
            continue;
        op = begin_op(lower, OP_TAPS);
        if (op == NULL || !lower_weights(lower, &along[axis], op))
            return false;
        op->begins = step->count - 1 == first;
    }
    if (sharpens)
        op->kind = OP_UNSHARP;
    step->last_reader = sharpens ? step->count - 1 : first;
    return !sharpens || settle_amount(lower, op);
}

/* Combine the chain with what was kept. last: no later operation reads what was kept. */
static struct op *add_combine(const struct lowering *lower, enum combine combine, bool last)
{
    struct op *op = begin_op(lower, OP_COMBINE);

    if (op != NULL)
        op->combine = combine;
    if (last)
        lower->step->last_reader = lower->step->count - 1;
    return op;
}

/* The operations of a chain, and what combines it with those before it. */
static bool lower_chain(const struct lowering *lower, size_t chain)
{
    const struct stage *stage = lower->stage;
    enum combine combine = combine_of(stage, chain);
    struct op *op;

    if (lower->encoding->missing && stage_averages(stage))
        return lower_average(lower, stage->body.along, lower->grid->axes) &&
               (stage->filter->kind != FILTER_UNSHARP || lower_sharpening(lower));
    if (!lower_axes(lower, chain))
        return false;
    if (combine == COMBINES)
        return true;
    op = add_combine(lower, combine, chain == 0);
    return op != NULL && settle_amount(lower, op);
}

/* Whether the edge rule has nothing but the sample itself outside an axis of a single sample. */
static bool repeats_single(enum edge_rule edge)
{
    return !edge_has(edge, EDGE_HAS_VALUE) && !edge_has(edge, EDGE_KEEPS_SAMPLE);
}

/* How far a window must reach along an axis to read all that it can, if it takes an extreme: over all
   samples, and where the edge rule has something else outside, to that as well. Of other ranks, what a window
   reads twice counts twice, but for an axis that has nothing but the sample itself. */
static struct reach reach_of_use(const struct op *op, struct reach reach, size_t extent)
{
    const bool repeats = repeats_single(op->edge);
    const size_t most = op_takes_extreme(op) || (repeats && extent == 1) ? extent - repeats : INT_MAX;

    return -reach.low <= (int64_t)most ? reach : (struct reach){-(int)most, (int)most};
}

static bool reaches(struct reach reach, int offset)
{
    return reach.low <= offset && offset <= reach.high;
}

/* Leave out taps of a box that read again what the others do. Where this decides which rank they have, the
   box has each sample equally often, so the rank is divided as the taps are. */
static void leave_out_repeats(struct op *op, const struct grid *grid)
{
    const struct shape shape = lower_shape(grid, 1);
    const struct reach x = reach_of_use(op, op->x, shape.nx), row = reach_of_use(op, op->row, shape.rows),
                       plane = reach_of_use(op, op->plane, shape.planes);
    const size_t taps = op->tap_count;
    const bool greatest = op->rank + 1 == taps;

    if (taps != span_of(op->x) * span_of(op->row) * span_of(op->plane))
        return;
    op->tap_count = 0;
    for (size_t i = 0; i < taps; i++) {
        const struct op_tap tap = op->taps[i];
        if (reaches(x, tap.dx) && reaches(row, tap.drow) && reaches(plane, tap.dplane))
            op->taps[op->tap_count++] = tap;
    }
    op->rank = greatest ? op->tap_count - 1 : op->rank / (taps / op->tap_count);
    op->x = x;
    op->row = row;
    op->plane = plane;
}

/* Where samples may be missing, NaN is last in either order: so the greatest that is there is the first one
   in the order that is turned around. What is missing then has the extreme of those around it, which the next
   side of a box needs; settle_present puts it right. */
static void leave_out_missing(struct op *op, const struct filter_body *body)
{
    op->missing = op->rank > 0 && op->rank + 1 < op->tap_count;
    op->percent = body->percent;
    if (op->missing || op->rank == 0)
        return;
    op->rank = 0;
    op->descends = !op->descends;
}

/* The sample of a rank among those that a window reads. */
static bool lower_window(const struct lowering *lower, size_t rank, const struct stencil *window)
{
    struct op *op = begin_op(lower, OP_RANK);

    if (op == NULL || !lower_weights(lower, window, op))
        return false;
    op->rank = rank == FILTER_GREATEST ? op->tap_count - 1 : rank;
    op->descends = lower->stage->intensity.slope < 0.0;
    if (lower->encoding->missing)
        leave_out_missing(op, &lower->stage->body);
    if (!op->missing)
        leave_out_repeats(op, lower->grid);
    return true;
}

/* A box from its sides. */
static bool multiply_sides(const struct stencil side[3], struct stencil *box, struct fault *fault)
{
    if ((double)side[0].count * (double)side[1].count * (double)side[2].count > FILTER_WINDOW)
        return fault_raise(fault, STATUS_USAGE, "under the edge rule hold, a window has at most %d samples",
                           FILTER_WINDOW);
    for (size_t z = 0; z < side[2].count; z++) {
        for (size_t y = 0; y < side[1].count; y++) {
            for (size_t x = 0; x < side[0].count; x++) {
                if (!stencil_add(box, side[0].taps[x].dx, side[1].taps[y].dy, side[2].taps[z].dz, 1.0, fault))
                    return false;
            }
        }
    }
    return true;
}

/* The extreme of a box is that of its sides, one after another, unless the edge rule holds samples by the
   whole box. Sides along which there is but one sample to read change nothing. */
static bool lower_rank(const struct lowering *lower, size_t rank)
{
    const struct stage *stage = lower->stage;
    const struct grid *grid = lower->grid;
    const struct stencil *side = stage->body.along;
    const size_t first = lower->step->count, least = repeats_single(stage->edge.rule) ? 2 : 1;
    struct stencil box = {0};
    bool lowered = true;

    if (side[0].count == 0)
        return lower_window(lower, rank, &stage->body.taps);
    if (edge_has(stage->edge.rule, EDGE_KEEPS_SAMPLE)) {
        lowered = multiply_sides(side, &box, lower->fault) && lower_window(lower, rank, &box);
        stencil_free(&box);
        return lowered;
    }
    for (unsigned axis = 0; axis < grid->axes && lowered; axis++) {
        if (side[axis].count > 1 && grid_extent(grid, axis) >= least)
            lowered = lower_window(lower, rank, &side[axis]);
    }
    return lowered && (lower->step->count > first || lower_window(lower, rank, side));
}

/* After an extreme of what is there: what was missing in the step's input is so again. */
static bool settle_present(const struct lowering *lower)
{
    return !lower->encoding->missing || lower->step->ops[lower->step->count - 1].missing ||
           add_combine(lower, COMBINE_PRESENT, true) != NULL;
}

/* One rank after the other, or each of the step's input; and what combines the last with what there was
   before. Where a negative slope turns values around, it turns their difference around as well. What is
   missing in one of two results is missing in their difference. */
static bool lower_ranks(const struct lowering *lower)
{
    const struct filter_body *body = &lower->stage->body;
    const bool differs = lower->stage->filter->kind == FILTER_DIFFERENCE;
    const bool rises = !body->apart && body->ranks[0] == FILTER_GREATEST;
    const bool falls = rises == (lower->stage->intensity.slope < 0.0);
    struct step *step = lower->step;

    for (size_t i = 0; i < body->rank_count; i++) {
        size_t first = step->count;
        if (!lower_rank(lower, body->ranks[i]) || ((i == 0 || !differs) && !settle_present(lower)))
            return false;
        if (i > 0 && body->apart) {
            step->ops[first].begins = true;
            step->last_reader = first;
        }
    }
    return !differs || add_combine(lower, falls ? COMBINE_FALL : COMBINE_RISE, !body->apart) != NULL;
}

/* The operations of a step, by the kind of filter. */
static bool lower_ops(const struct lowering *lower)
{
    static const enum op_kind kinds[] = {
        [FILTER_TAPS] = OP_TAPS,           [FILTER_HEAT] = OP_TAPS,   [FILTER_GRADIENT] = OP_GRADIENT,
        [FILTER_POINT] = OP_POINT,         [FILTER_COVER] = OP_COVER, [FILTER_UNCOVER] = OP_UNCOVER,
        [FILTER_BILATERAL] = OP_BILATERAL,
    };
    const struct stage *stage = lower->stage;
    enum filter_kind kind = stage->filter->kind;
    struct op *op;

    if (kind == FILTER_RANK || kind == FILTER_DIFFERENCE)
        return lower_ranks(lower);
    for (size_t chain = 0; chain < stage->body.chains; chain++) {
        if (!lower_chain(lower, chain))
            return false;
    }
    if (stage->body.chains > 0)
        return true;
    if (lower->encoding->missing && stage_averages(stage))
        return lower_average(lower, &stage->body.taps, 1);
    op = begin_op(lower, kinds[kind]);
    if (op == NULL)
        return false;
    if (kind == FILTER_TAPS)
        return lower_weights(lower, &stage->body.taps, op);
    if (kind == FILTER_HEAT)
        return lower_taps(lower, &stage->body.taps, op) && lower_heat(lower, op) &&
               check_flow(&stage->heat, op, lower->fault);
    if (kind == FILTER_POINT)
        return settle_point(stage, lower->work, op->missing, &op->point, lower->fault);
    if (kind == FILTER_BILATERAL)
        return lower_bilateral(lower, op);
    if (kind == FILTER_GRADIENT)
        return lower_gradient(lower, op);
    /* Colour as it stands becomes the colour times alpha that premultiplied pictures carry; or back. */
    op->colours = encoding_colours(lower->encoding);
    op->max = lower->encoding->opaque;
    if (kind == FILTER_UNCOVER)
        op->channels = op->colours;
    return true;
}

bool lower_point(const struct stage *stage, enum work_type work, bool missing, struct point *point,
                 struct fault *fault)
{
    if (!settle_point(stage, work, missing, point, fault))
        return fault_prefix(fault, stage->spec);
    point->times = stage->steps;
    return true;
}

bool lower_stage(const struct stage *stage, const struct grid *grid, const struct encoding *encoding,
                 enum work_type work, struct step *step, struct fault *fault)
{
    const struct lowering lower = {stage, grid, encoding, work, step, fault};

    *step = (struct step){.count = 0};
    if (lower_ops(&lower))
        return true;
    lower_free(step);
    return fault_prefix(fault, stage->spec);
}

/* One operation that does what several passes do, and reaches as far as all of them. Where it makes averages,
   these are all that it computes. */
static struct op join(const struct op *passes, size_t count)
{
    const struct op *last = &passes[count - 1];
    struct op joint = last->kind == OP_AVERAGE ? *last : passes[0];

    joint.begins = passes[0].begins;
    if (joint.kind == OP_AVERAGE)
        joint.channels = joint.weighed;
    joint.kind = OP_PASSES;
    joint.taps = NULL;
    joint.passes = passes;
    joint.pass_count = count;
    for (size_t i = 1; i < count; i++) {
        joint.tap_count += passes[i].tap_count;
        unite(&joint.x, &passes[i].x);
        unite(&joint.row, &passes[i].row);
        unite(&joint.plane, &passes[i].plane);
    }
    return joint;
}

/* Let `to` operations take the place of `from` at an index. */
static void move_ops(struct step *step, size_t index, size_t from, size_t to)
{
    memmove(step->ops + index + to, step->ops + index + from,
            (step->count - index - from) * sizeof *step->ops);
    step->count = step->count - from + to;
    if (step->last_reader > index)
        step->last_reader = step->last_reader + to - from;
}

/* Operations of a chain of passes, from an index on. */
static size_t count_passes(const struct step *step, size_t index, bool weighed)
{
    size_t count = 0;

    while (index + count < step->count && op_is_chain(&step->ops[index + count]) &&
           step->ops[index + count].begins == (count == 0 && !weighed))
        count++;
    return count;
}

size_t lower_join(struct step *step, size_t index, size_t most)
{
    struct op *passes = step->passes + step->pass_count;
    const bool averages = index < step->count && step->ops[index].kind == OP_WEIGH;
    const bool weighed = averages || (index > 0 && step->ops[index - 1].kind == OP_WEIGH);
    size_t count = count_passes(step, index + averages, weighed);

    /* An average takes what is around its passes along. */
    if (averages)
        count += 2;
    else if (count > most)
        count = most;
    if (count < 2 || count > most || step->ops[index].missing)
        return 0;
    /* What is outside weighs more or less from pass to pass. */
    if (weighed && step->ops[index].outside != NULL)
        return 0;
    /* The passes move aside, where lower_part finds them again. */
    memcpy(passes, step->ops + index, count * sizeof *passes);
    step->pass_count += count;
    move_ops(step, index, count, 1);
    step->ops[index] = join(passes, count);
    return count;
}

void lower_part(struct step *step, size_t index)
{
    const size_t count = step->ops[index].pass_count;

    if (count == 0)
        return;
    step->pass_count -= count;
    move_ops(step, index, 1, count);
    memcpy(step->ops + index, step->passes + step->pass_count, count * sizeof *step->ops);
    if (step->last_reader == index && op_reads_kept(&step->ops[index + count - 1]))
        step->last_reader = index + count - 1;
}

void lower_free(struct step *step)
{
    for (size_t i = step->count; i > 0; i--)
        lower_part(step, i - 1);
    for (size_t i = 0; i < step->count; i++) {
        mem_free(step->ops[i].taps);
        mem_free(step->ops[i].outside);
    }
    step->count = 0;
}
