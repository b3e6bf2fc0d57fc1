/* Divisions: how several processes divide the planes of a job among them, and how many of them. */
#include "division.h"

#include "base/size.h"
#include "share.h"

/* The steps that a level is assumed to take at once. Forms settle them later. */
#define ASSUMED_TOGETHER 8

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static const char no_faster[] = "more ranks would not be faster";
static const char mixed_ends[] = "some edges wrap along the planes, and others do not";

/* Planes that a level of one step reads on both sides, all steps together; and how many such levels read any.
 */
struct reading {
    double planes, levels, bytes;
    size_t reach, again; /* the planes that a level reads on one side, and those it computes twice */
};

/* The widest level decides. */
static void widen(struct reading *reading, const struct op *op, size_t together)
{
    size_t reach = size_most((size_t)-op->plane.low, (size_t)op->plane.high);

    reading->reach = size_most(reading->reach, together * reach);
    reading->again = size_most(reading->again, (together - 1) * reach);
}

static struct reading count_reading(const struct prediction_case *expected)
{
    struct reading reading = {.planes = 0.0};

    for (size_t i = 0; i < expected->step_count; i++) {
        const struct step *step = &expected->steps[i].step;
        uint64_t most = expected->job->stages[i].steps;
        size_t together = step->count == 1 && most > 1 ? size_least(ASSUMED_TOGETHER, (size_t)most) : 1;
        for (size_t k = 0; k < step->count; k++) {
            const struct op *op = &step->ops[k];
            double planes = (double)(op->plane.high - op->plane.low);
            double steps = planes > 0.0 ? (double)most : 0.0;
            reading.planes += steps * planes;
            reading.levels += steps;
            widen(&reading, op, together);
        }
    }
    reading.bytes =
        reading.planes * lower_samples(expected->shape, 1) * (double)work_size(expected->job->work);
    return reading;
}

static double count_steps(const struct job *job)
{
    double steps = 0.0;

    for (size_t i = 0; i < job->stage_count; i++)
        steps += (double)job->stages[i].steps;
    return steps;
}

/* What a member gets from others. Two members have each other on one side only, unless the ends meet. */
static double received_bytes(const struct division_case *dividing, const struct reading *reading,
                             size_t members)
{
    return members == 2 && !levels_wraps(dividing->levels) ? reading->bytes / 2.0 : reading->bytes;
}

/* Adds the exchange of planes before each level. If the inside is large enough, it is computed meanwhile. */
static void predict_shares(const struct division_case *dividing, const struct reading *reading,
                           unsigned pieces, struct division_option *option)
{
    double exchange = received_bytes(dividing, reading, option->members) / dividing->link.bytes_per_second +
                      reading->levels * dividing->link.seconds;

    option->seconds = pieces > 1 ? larger(option->seconds, exchange) : option->seconds + exchange;
}

/* The time of such a division, from the time of one process. The first level of a pass computes all
   planes that are read beside a part; the last level computes none of them. */
static struct division_option predict(const struct division_case *dividing, enum division_kind kind,
                                      size_t members, double alone)
{
    const struct reading reading = count_reading(dividing->expected);
    double planes = (double)dividing->levels->planes, each = planes / (double)members;
    double steps = count_steps(dividing->expected->job), beside = reading.planes / 2.0;
    struct division_option option = {.fate = DIVISION_CAN, .members = members};
    unsigned pieces = shares_pieces(dividing->levels->planes / members, reading.reach);

    if (kind == DIVISION_SHARES)
        beside = (double)(pieces * reading.again);
    option.seconds = alone * smaller(1.0, (each + beside) / planes);
    if (kind == DIVISION_SHARES && steps > 0.0)
        option.step_bytes = received_bytes(dividing, &reading, members) / steps;
    if (kind == DIVISION_SHARES)
        predict_shares(dividing, &reading, pieces, &option);
    return option;
}

/* The cheapest number of members for a kind; the largest if the kind is wished for. */
static struct division_option consider(const struct division_case *dividing, enum division_kind kind,
                                       size_t most, double alone, bool wished)
{
    struct division_option best = {.fate = DIVISION_CANNOT};

    for (size_t members = 2; members <= most; members++) {
        const struct division_option option = predict(dividing, kind, members, alone);
        if (members == 2 || option.seconds < best.seconds || (wished && members == most))
            best = option;
    }
    return best;
}

/* Whether the job can be divided so at all. */
static bool suits(const struct division_case *dividing, enum division_kind kind)
{
    const struct job *job = dividing->expected->job;
    bool mixes = levels_mix_ends(dividing->levels);

    switch (kind) {
    case DIVISION_PARTS:
        return !mixes && !job_waits_for_change(job) && !job->measures;
    case DIVISION_SHARES:
        return !mixes && !job->copies;
    default:
        return false;
    }
}

static void choose(struct division *division, enum division_kind kind)
{
    division->kind = kind;
    division->members = division->options[kind].members;
    division->seconds = division->options[kind].seconds;
}

/* Choose the cheapest possible kind, from first on, and the first of several that are as cheap; one alone
   if none is possible. */
static void choose_cheapest(struct division *division, enum division_kind first)
{
    choose(division, DIVISION_ALONE);
    for (enum division_kind kind = first; kind < DIVISION_KINDS; kind++) {
        const struct division_option *option = &division->options[kind];
        if (option->fate == DIVISION_CAN && (option->seconds < division->seconds || division->kind < first))
            choose(division, kind);
    }
}

struct division division_choose(const struct division_case *dividing, enum division_kind wish)
{
    const struct job *job = dividing->expected->job;
    size_t planes = job_planes(job).count, all = grid_planes(&job->in.grid);
    double alone = prediction_alone(dividing->expected, dividing->backend, 0);
    struct division division = {.options[DIVISION_ALONE] = {DIVISION_CAN, 1, alone, 0.0}};

    if (job->copies)
        wish = DIVISION_PARTS;
    for (enum division_kind kind = DIVISION_PARTS; kind < DIVISION_KINDS; kind++) {
        size_t most = size_least(dividing->processes, kind == DIVISION_PARTS ? planes : all);
        if (suits(dividing, kind))
            division.options[kind] = consider(dividing, kind, most, alone, wish == kind);
    }
    choose_cheapest(&division, DIVISION_ALONE);
    if (wish != DIVISION_CHEAPEST)
        choose(&division, division.options[wish].fate == DIVISION_CAN ? wish : DIVISION_ALONE);
    if (division.kind == DIVISION_ALONE)
        division.why = planes == 1                         ? "there is only one plane"
                       : levels_mix_ends(dividing->levels) ? mixed_ends
                                                           : no_faster;
    return division;
}

double division_stakes(const struct division *division, size_t processes)
{
    const struct division_option *options = division->options;

    return options[DIVISION_SHARES].fate == DIVISION_CAN ? options[DIVISION_ALONE].seconds / (double)processes
                                                         : 0.0;
}

/* Why one computes alone after a kind has failed. */
static const char *failing(enum division_kind kind, enum division_fate fate)
{
    if (fate == DIVISION_UNLIKE)
        return "the ranks would take different numbers of steps at once";
    return kind == DIVISION_PARTS ? "there is too little memory for one pass over a part"
                                  : "the grid is too large for the memory of all ranks together";
}

bool division_step_down(struct division *division, enum division_fate fate)
{
    enum division_kind failed = division->kind;

    if (failed == DIVISION_ALONE)
        return false;
    division->options[failed].fate = fate;
    /* If there is too little memory for a part of the planes, one alone needs several passes, too, and
       its prediction does not include them. */
    choose_cheapest(division, fate == DIVISION_TOO_LARGE ? DIVISION_PARTS : DIVISION_ALONE);
    if (division->kind == DIVISION_ALONE)
        division->why = failing(failed, fate);
    else if (fate == DIVISION_UNLIKE)
        division->setback = "the ranks do not hold the grid together: they would take different numbers "
                            "of steps at once";
    return true;
}

size_t division_most_planes(const struct division *division, const struct job *job)
{
    size_t planes = division->kind == DIVISION_PARTS ? job_planes(job).count : grid_planes(&job->in.grid);

    return size_divided_up(planes, division->members);
}

static struct range overlap(struct range a, struct range b)
{
    size_t first = size_most(a.first, b.first), end = size_least(a.first + a.count, b.first + b.count);

    return (struct range){first, end > first ? end - first : 0};
}

struct range division_window(const struct division *division, size_t member, const struct job *job)
{
    const struct range planes = job_planes(job);
    const bool of_grid = division->kind != DIVISION_PARTS;
    struct shares shares = {.planes = planes.count, .count = division->members};
    struct range own;

    if (of_grid)
        shares.planes = grid_planes(&job->in.grid);
    own = shares_own(&shares, member);
    if (of_grid)
        return overlap(own, planes);
    own.first += planes.first;
    return own;
}

void division_apply(const struct division *division, size_t member, struct job *job)
{
    job_divide(job, division_window(division, member, job), member, division->members);
}
