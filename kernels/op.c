/* Operations that a backend runs: what they are called, where their taps are, and which channels they take
   together; and the type of the samples that they run on. */
#include "backend.h"

enum sample_type shape_sample(const struct shape *shape, enum work_type work)
{
    return shape->narrow ? shape->type : work_sample(work);
}

const char *op_name(const struct op *op)
{
    static const char *const points[] = {
#define POINT(constant, name, ...) #name,
#include "model/points.def"
    };
    static const char *const combines[] = {
#define COMBINE(constant, name, value) #name,
#include "model/combine.def"
    };
    static const char *const others[] = {
        [OP_TAPS] = "taps",       [OP_PASSES] = "passes",       [OP_HEAT] = "heat",
        [OP_UNSHARP] = "unsharp", [OP_BILATERAL] = "bilateral", [OP_GRADIENT] = "gradient",
        [OP_RANK] = "rank",       [OP_COVER] = "cover",         [OP_UNCOVER] = "uncover",
        [OP_WEIGH] = "weigh",     [OP_AVERAGE] = "average",
    };

    if (op->kind == OP_POINT)
        return points[op->point.kind];
    return op->kind == OP_COMBINE ? combines[op->combine] : others[op->kind];
}

/* The farther end of a reach. */
static int farthest(struct reach reach)
{
    return -reach.low > reach.high ? -reach.low : reach.high;
}

int op_radius(const struct op *op)
{
    int x = farthest(op->x), row = farthest(op->row), plane = farthest(op->plane);

    return x > row ? (x > plane ? x : plane) : row > plane ? row : plane;
}

bool op_is_star(const struct op *op)
{
    for (size_t k = 0; k < op->tap_count; k++) {
        const struct op_tap *tap = &op->taps[k];
        if ((tap->dx != 0) + (tap->drow != 0) + (tap->dplane != 0) > 1)
            return false;
    }
    return true;
}

bool op_is_chain(const struct op *op)
{
    return op->kind == OP_TAPS || op->kind == OP_UNSHARP;
}

bool op_reads_itself_outside(const struct op *op)
{
    return op->x.low == -op->x.high && op->row.low == -op->row.high && op->plane.low == -op->plane.high &&
           !edge_has(op->edge, EDGE_PERIODIC) && !edge_has(op->edge, EDGE_HAS_VALUE);
}

bool op_takes_extreme(const struct op *op)
{
    return op->kind == OP_RANK && (op->rank == 0 || op->rank + 1 == op->tap_count);
}

bool op_sharpens(const struct op *op)
{
    return op->kind == OP_UNSHARP ||
           (op->pass_count > 0 && op->passes[op->pass_count - 1].kind == OP_UNSHARP);
}

/* Without a joint flux each channel is a group; with one, the joint channels are a group, and those behind
 * them another. */
size_t op_group_count(const struct op *op)
{
    return op->joint == 0 ? op->channels : op->channels > op->joint ? 2 : 1;
}

struct range op_group(const struct op *op, size_t index)
{
    if (op->joint == 0)
        return (struct range){index, 1};
    return index == 0 ? (struct range){0, op->joint} : (struct range){op->joint, op->channels - op->joint};
}

size_t op_group_most(const struct op *op)
{
    size_t first = op_group(op, 0).count, last = op_group(op, op_group_count(op) - 1).count;

    return first > last ? first : last;
}

bool op_mixes_channels(const struct op *op)
{
    return op->joint > 0 || op->kind == OP_COVER || op->kind == OP_UNCOVER || op->kind == OP_WEIGH ||
           op->kind == OP_AVERAGE;
}

bool op_reads_kept(const struct op *op)
{
    return op->kind == OP_UNSHARP || op->kind == OP_COMBINE || op->kind == OP_AVERAGE;
}
