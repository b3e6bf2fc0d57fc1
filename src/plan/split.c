/* Splits: how several processes divide the planes of a job among them, and how many of them.

   There are three ways. One process computes all planes. Or each computes a part in one pass: nothing is
   exchanged, but planes beside a part are computed by several. Or each has a share, and before each level
   gets the planes that the level reads beside it. For each way and each number of processes the seconds are
   predicted, from those of one process, from the planes that are computed twice, and from the speed of the
   link; the least are chosen. A plan may find later that memory is too short for the chosen way, or that
   processes would compute different levels: then the next best is chosen. */
#include "split.h"

#include "base/size.h"
#include "shares.h"

#include <math.h>

/* The steps that a level is assumed to take at once. Forms settle them later. */
#define ASSUMED_TOGETHER 8

static const char no_faster[] = "more ranks would not be faster";
static const char mixed_ends[] = "some edges wrap along the planes, and others do not";

/* Planes that a level of one step reads on both sides, all steps together; and how many such levels read any.
 */
struct reading {
    double planes, levels, bytes;
    size_t reach, again; /* the planes that a level reads on one side, and those it computes twice */
};

static struct reading count_reading(const struct prediction_case *expected)
{
    struct reading reading = {.planes = 0.0};

    for (size_t i = 0; i < expected->step_count; i++) {
        const struct step *step = &expected->steps[i].step;
        uint64_t most = expected->job->stages[i].steps;
        /* Only steps of one operation are taken several at once. */
        size_t together = step->count == 1 && most > 1 ? size_least(ASSUMED_TOGETHER, (size_t)most) : 1;
        for (size_t k = 0; k < step->count; k++) {
            const struct op *op = &step->ops[k];
            double planes = (double)(op->plane.high - op->plane.low);
            double steps = planes > 0.0 ? (double)most : 0.0;
            size_t reach = size_most((size_t)-op->plane.low, (size_t)op->plane.high);
            reading.planes += steps * planes;
            reading.levels += steps;
            /* The widest level decides. */
            reading.reach = size_most(reading.reach, together * reach);
            reading.again = size_most(reading.again, (together - 1) * reach);
        }
    }
    reading.bytes = reading.planes * expected->plane_samples *
                    (double)sample_size(shape_sample(expected->shape, expected->job->work));
    return reading;
}

static double count_steps(const struct job *job)
{
    double steps = 0.0;

    for (size_t i = 0; i < job->stage_count; i++)
        steps += (double)job->stages[i].steps;
    return steps;
}

/* The time of such a split, from the time of one process. The first level of a pass computes all
   planes that are read beside a part; the last level computes none of them. */
static struct split_option option_of(const struct split_case *splitting, enum split_kind kind, size_t members,
                                     double alone)
{
    const struct reading reading = count_reading(splitting->expected);
    double planes = (double)splitting->levels->planes, each = planes / (double)members;
    double steps = count_steps(splitting->expected->job), beside = reading.planes / 2.0;
    struct split_option option = {.fate = SPLIT_CAN, .members = members};
    unsigned pieces = shares_pieces(splitting->levels->planes / members, reading.reach);

    if (kind == SPLIT_SHARES)
        beside = (double)(pieces * reading.again);
    option.seconds = alone * fmin(1.0, (each + beside) / planes);
    if (kind == SPLIT_SHARES) {
        /* Two members have each other on one side only, unless the ends meet. */
        const bool one_side = members == 2 && !levels_wraps(splitting->levels);
        const double received = one_side ? reading.bytes / 2.0 : reading.bytes;
        const double exchange =
            received / splitting->link.bytes_per_second + reading.levels * splitting->link.seconds;
        if (steps > 0.0)
            option.step_bytes = received / steps;
        /* Planes are exchanged before each level. If the inside is large enough, it is computed meanwhile. */
        option.seconds = pieces > 1 ? fmax(option.seconds, exchange) : option.seconds + exchange;
    }
    return option;
}

/* The cheapest number of members for a kind; the largest if the kind is wished for. */
static struct split_option consider(const struct split_case *splitting, enum split_kind kind, size_t most,
                                    double alone, bool wished)
{
    struct split_option best = {.fate = SPLIT_CANNOT};

    for (size_t members = 2; members <= most; members++) {
        const struct split_option option = option_of(splitting, kind, members, alone);
        if (members == 2 || option.seconds < best.seconds || (wished && members == most))
            best = option;
    }
    return best;
}

/* Whether the job can be divided so at all. */
static bool suits(const struct split_case *splitting, enum split_kind kind)
{
    const struct job *job = splitting->expected->job;
    bool mixes = levels_mix_ends(splitting->levels);

    switch (kind) {
    case SPLIT_PARTS:
        return !mixes && !job_waits_for_change(job) && !job->measures;
    case SPLIT_SHARES:
        return !mixes && !job->copies;
    default:
        return false;
    }
}

static void choose(struct split *split, enum split_kind kind)
{
    split->kind = kind;
    split->members = split->options[kind].members;
    split->seconds = split->options[kind].seconds;
}

/* Choose the cheapest possible kind, from first on, and the first of several that are as cheap; one alone
   if none is possible, which then has the processors of the others. */
static void choose_cheapest(struct split *split, enum split_kind first)
{
    if (split->options[SPLIT_PARTS].fate != SPLIT_CAN && split->options[SPLIT_SHARES].fate != SPLIT_CAN)
        split->options[SPLIT_ALONE].seconds = split->undivided;
    choose(split, SPLIT_ALONE);
    for (enum split_kind kind = first; kind < SPLIT_KINDS; kind++) {
        const struct split_option *option = &split->options[kind];
        if (option->fate == SPLIT_CAN && (option->seconds < split->seconds || split->kind < first))
            choose(split, kind);
    }
}

static double predict_undivided(const struct split_case *splitting)
{
    struct prediction_case expected = *splitting->expected;

    if (splitting->threads_of_all > expected.device.threads)
        expected.device.threads = splitting->threads_of_all;
    return prediction_alone(&expected, splitting->backend, 0);
}

struct split split_choose(const struct split_case *splitting, enum split_kind wish)
{
    const struct job *job = splitting->expected->job;
    size_t planes = job->planes.count, all = grid_planes(&job->in.grid);
    double alone = prediction_alone(splitting->expected, splitting->backend, 0);
    struct split split = {.options[SPLIT_ALONE] = {SPLIT_CAN, 1, alone, 0.0},
                          .undivided = predict_undivided(splitting)};

    /* Copying needs nothing of other planes. */
    if (job->copies)
        wish = SPLIT_PARTS;
    for (enum split_kind kind = SPLIT_PARTS; kind < SPLIT_KINDS; kind++) {
        size_t most = size_least(splitting->processes, kind == SPLIT_PARTS ? planes : all);
        if (suits(splitting, kind))
            split.options[kind] = consider(splitting, kind, most, alone, wish == kind);
    }
    /* The prediction decides unless there is a wish that can be met. */
    choose_cheapest(&split, SPLIT_ALONE);
    if (wish != SPLIT_CHEAPEST)
        choose(&split, split.options[wish].fate == SPLIT_CAN ? wish : SPLIT_ALONE);
    if (split.kind == SPLIT_ALONE)
        split.why = planes == 1                          ? "there is only one plane"
                    : levels_mix_ends(splitting->levels) ? mixed_ends
                                                         : no_faster;
    return split;
}

double split_stakes(const struct split *split, size_t processes)
{
    const struct split_option *options = split->options;

    return options[SPLIT_SHARES].fate == SPLIT_CAN ? options[SPLIT_ALONE].seconds / (double)processes : 0.0;
}

/* Why one computes alone after a kind has failed. */
static const char *failing(enum split_kind kind, enum split_fate fate)
{
    if (fate == SPLIT_UNLIKE)
        return "the ranks would take different numbers of steps at once";
    return kind == SPLIT_PARTS ? "there is too little memory for one pass over a part"
                               : "the grid is too large for the memory of all ranks together";
}

bool split_step_down(struct split *split, enum split_fate fate)
{
    enum split_kind failed = split->kind;

    if (failed == SPLIT_ALONE)
        return false;
    split->options[failed].fate = fate;
    /* If there is too little memory for a part of the planes, one alone needs several passes, too, and
       its prediction does not include them. */
    choose_cheapest(split, fate == SPLIT_TOO_LARGE ? SPLIT_PARTS : SPLIT_ALONE);
    if (split->kind == SPLIT_ALONE)
        split->why = failing(failed, fate);
    else if (fate == SPLIT_UNLIKE)
        split->setback = "the ranks do not hold the grid together: they would take different numbers "
                         "of steps at once";
    return true;
}

size_t split_most_planes(const struct split *split, const struct job *job)
{
    size_t planes = split->kind == SPLIT_PARTS ? job->planes.count : grid_planes(&job->in.grid);

    return size_divided_up(planes, split->members);
}

struct range split_window(const struct split *split, size_t member, const struct job *job)
{
    const struct range planes = job->planes;
    const bool of_grid = split->kind != SPLIT_PARTS;
    struct shares shares = {.planes = planes.count, .count = split->members};
    struct range own;

    if (of_grid)
        shares.planes = grid_planes(&job->in.grid);
    own = shares_own(&shares, member);
    if (of_grid)
        return shares_common(own, planes);
    own.first += planes.first;
    return own;
}

void split_apply(const struct split *split, size_t member, struct job *job)
{
    job_divide(job, split_window(split, member, job), member, split->members);
}
