/* Divisions: how several processes divide the planes of a job among them, and how many of them. */
#include "division.h"

#include "base/size.h"
#include "share.h"

/* Planes that go from process to process before each level: through a network of 10 Gb/s, and the wait for
 * them. */
#define ASSUMED_BYTES_PER_SECOND 1e9
#define ASSUMED_SECONDS          50e-6

static const char no_faster[] = "more ranks would not be faster";

/* Planes that a level of one step reads on both sides, all steps together; and how many such levels read any.
 */
struct reading {
    double planes, levels;
};

static struct reading count_reading(const struct prediction_case *expected)
{
    struct reading reading = {0.0, 0.0};

    for (size_t i = 0; i < expected->step_count; i++) {
        const struct step *step = &expected->steps[i].step;
        for (size_t k = 0; k < step->count; k++) {
            double planes = (double)(step->ops[k].plane.high - step->ops[k].plane.low);
            double steps = planes > 0.0 ? (double)expected->job->stages[i].steps : 0.0;
            reading.planes += steps * planes;
            reading.levels += steps;
        }
    }
    return reading;
}

/* Seconds for what goes to and fro before the levels. */
static double predict_trading(const struct prediction_case *expected)
{
    const struct reading reading = count_reading(expected);
    double plane = lower_samples(expected->shape, 1) * (double)work_size(expected->job->work);

    return reading.planes * plane / ASSUMED_BYTES_PER_SECOND + reading.levels * ASSUMED_SECONDS;
}

/* What such a division takes, of what one process takes. */
static double predict(const struct division_case *dividing, enum division_kind kind, size_t members,
                      double alone)
{
    double planes = (double)dividing->levels->planes, each = planes / (double)members;
    /* The first level computes all that is read beside a part, and the last one nothing of it. */
    double computed = each + count_reading(dividing->expected).planes / 2.0;

    if (kind == DIVISION_SHARES)
        return alone * each / planes + predict_trading(dividing->expected);
    return alone * (computed < planes ? computed / planes : 1.0);
}

/* The cheapest number of members for a kind. */
static void consider(const struct division_case *dividing, enum division_kind kind, size_t most, double alone,
                     bool wished, struct division *best)
{
    for (size_t members = 2; members <= most; members++) {
        double seconds = predict(dividing, kind, members, alone);
        if (seconds < best->seconds || (wished && members == most)) {
            best->kind = kind;
            best->members = members;
            best->seconds = seconds;
        }
    }
}

/* Why there is one alone; NULL where planes can be divided. */
static const char *keeps_together(const struct division_case *dividing)
{
    if (dividing->states > 0)
        return "only one rank can write what --tee and --frames name";
    return levels_mix_ends(dividing->levels)
               ? "an edge that wraps is followed or preceded by one that does not"
               : NULL;
}

struct division division_choose(const struct division_case *dividing, enum division_kind wish)
{
    const struct job *job = dividing->expected->job;
    const struct prediction_case *expected = dividing->expected;
    bool whole = job_waits_for_change(job) || job->measures;
    size_t planes = job_planes(job).count, all = grid_planes(&job->in.grid);
    double alone = prediction_alone(expected, dividing->backend, 0);
    struct division best = {
        .kind = DIVISION_ALONE, .members = 1, .seconds = alone, .why = keeps_together(dividing)};

    best.parts = best.why == NULL && !whole;
    best.shares = best.why == NULL && dividing->random && !job->copies;
    if (best.parts && wish != DIVISION_SHARES)
        consider(dividing, DIVISION_PARTS, size_least(dividing->processes, planes), alone,
                 wish == DIVISION_PARTS || job->copies, &best);
    if (best.shares && wish != DIVISION_PARTS)
        consider(dividing, DIVISION_SHARES, size_least(dividing->processes, all), alone,
                 wish == DIVISION_SHARES, &best);
    if (best.members == 1 && best.why == NULL && planes == 1)
        best.why = "there is only one plane";
    else if (best.members == 1 && best.why == NULL)
        best.why = whole && !best.shares
                       ? "the whole grid is needed, and its planes can only be read in order"
                       : no_faster;
    return best;
}

bool division_step_down(struct division *division)
{
    if (division->kind == DIVISION_ALONE)
        return false;
    if (division->kind == DIVISION_SHARES && division->parts) {
        division->kind = DIVISION_PARTS;
        return true;
    }
    if (division->kind == DIVISION_PARTS)
        division->why = "there is too little memory for one pass over a part";
    else
        division->why = division->unlike ? "the ranks would take different numbers of steps at once"
                                         : "the grid is too large for the memory of all ranks together";
    division->kind = DIVISION_ALONE;
    division->members = 1;
    return true;
}

static struct range overlap(struct range a, struct range b)
{
    size_t first = size_most(a.first, b.first), end = size_least(a.first + a.count, b.first + b.count);

    return (struct range){first, end > first ? end - first : 0};
}

void division_apply(const struct division *division, size_t member, struct job *job)
{
    const struct range planes = job_planes(job);
    struct shares shares = {.planes = planes.count, .count = division->members};
    struct range own;

    if (division->kind == DIVISION_SHARES)
        shares.planes = grid_planes(&job->in.grid);
    own = shares_own(&shares, member);
    if (division->kind == DIVISION_SHARES)
        own = overlap(own, planes);
    else
        own.first += planes.first;
    job_divide(job, own, member, division->members);
}
