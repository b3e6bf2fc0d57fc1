/* The bench of several devices that share a grid, as a run on them would.

   Each device has a lane with the planes of its share and a halo on either side. A pass computes the own
   planes of each lane, and then every lane hands its neighbours the planes that their next pass reads. Lanes
   wait for each other as in a run: what is measured is the slowest of them, and what each was handed. */
#include "bench_fleet.h"

#include "base/size.h"
#include "plan/lane.h"
#include "plan/shares.h"

#include <math.h>

/* Fields that passes take turns with. */
enum { FIELDS = 2 };

/* All of the devices and their shares. The arrays have an entry for each device, in the order of the command
   line. */
struct fleet {
    struct bench_case *bench;
    struct lane lanes[DEVICES_MOST];
    struct staging *staging[DEVICES_MOST];
    struct shares shares;
    struct shape shape; /* of the fields: of the unrolled grid, where it is */
    struct levels_step step;
    const struct form *form;
    unsigned field; /* that the next pass reads */
    size_t passes;
    uint64_t handed[DEVICES_MOST]; /* planes */
    double handing[DEVICES_MOST], compute[DEVICES_MOST];
};

static struct fleet fleet_of(struct bench_case *bench, const struct form *form, size_t count)
{
    const struct op *op = bench->op;
    size_t reach = size_most((size_t)-op->plane.low, (size_t)op->plane.high);
    struct fleet fleet = {.bench = bench, .shape = bench->shape, .form = form};

    /* A halo is as deep as a pass looks: the reach of a step, or of the form, times the steps of a pass. A
       periodic edge makes neighbours of the first and the last device. */
    fleet.shares = (struct shares){.planes = bench->shape.planes,
                                   .count = count,
                                   .halo = size_most(reach, form->reach) * form->steps,
                                   .around = edge_has(op->edge, EDGE_PERIODIC)};
    fleet.shape.planes += 2 * shares_overlap(&fleet.shares);
    fleet.step.step.ops[0] = *op;
    fleet.step.step.count = 1;
    fleet.step.forms[0] = *form;
    return fleet;
}

/* ---- opening and closing ---- */

static bool open_lane(struct fleet *fleet, size_t index)
{
    struct bench_case *bench = fleet->bench;
    const struct backend *backend = bench->devices.backend;
    const struct device_request request = {.index = bench->devices.indices[index]};
    const struct range held = shares_reached(&fleet->shares, index, fleet->shares.halo);
    struct lane *lane = &fleet->lanes[index];

    if (!lane_open(lane, backend, &request, bench->fault) ||
        !lane_prepare(lane, &fleet->step, 1, bench->fault) ||
        !lane_create_fields(lane, FIELDS, &fleet->shape, bench->request->work, held, bench->fault))
        return false;
    fleet->staging[index] =
        backend->staging_create(lane->device, bench->batch * bench->plane_bytes, NULL, bench->fault);
    return fleet->staging[index] != NULL;
}

/* After a fault they may still be about to read each other's fields. */
static void close_all(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->shares.count; i++) {
        struct lane *lane = &fleet->lanes[i];
        struct fault again;
        double unused = 0.0;
        if (lane->device == NULL)
            continue;
        (void)lane->backend->sync(lane->device, &unused, &again);
        lane->backend->staging_destroy(lane->device, fleet->staging[i]);
        lane_destroy_fields(lane);
    }
    for (size_t i = 0; i < fleet->shares.count; i++)
        lane_close(&fleet->lanes[i]);
}

/* ---- passes ---- */

static bool exchange(struct fleet *fleet)
{
    return lane_exchange(fleet->lanes, &fleet->shares, fleet->field, fleet->shares.halo, fleet->handed,
                         fleet->bench->fault);
}

/* What reads a second field is timed with any. */
static bool advance(struct fleet *fleet, size_t index, unsigned to)
{
    const struct lane *lane = &fleet->lanes[index];
    const struct field *kept = op_reads_kept(&fleet->step.step.ops[0]) ? lane->fields[fleet->field] : NULL;

    return lane->backend->advance(lane->device, lane->routines[0][0], fleet->form->steps,
                                  lane->fields[fleet->field], kept, lane->fields[to],
                                  shares_own(&fleet->shares, index), fleet->bench->fault);
}

static bool pass(struct bench_case *bench, void *context)
{
    struct fleet *fleet = context;
    const unsigned to = (fleet->field + 1) % FIELDS;
    bool done = true;

    (void)bench;
    for (size_t i = 0; done && i < fleet->shares.count; i++)
        done = advance(fleet, i, to);
    fleet->field = to;
    fleet->passes++;
    return done && exchange(fleet);
}

/* ---- the same bytes ---- */

/* Its planes in the grid. */
static struct range grid_planes_of(const struct fleet *fleet, size_t index)
{
    const struct range own = shares_own(&fleet->shares, index);

    return (struct range){own.first - shares_overlap(&fleet->shares), own.count};
}

/* A lane as a stand, so that a fleet fills and compares its planes by the same code as a single device. */
static struct bench_stand stand_of(const struct fleet *fleet, size_t index)
{
    const struct lane *lane = &fleet->lanes[index];

    return (struct bench_stand){.backend = lane->backend,
                                .device = lane->device,
                                .fields = {lane->fields[0], lane->fields[1]},
                                .staging = fleet->staging[index]};
}

/* Each device gets its own planes of the judge's noise; the halos come from the neighbours, as in a run. */
static bool fill(struct fleet *fleet)
{
    bool done = true;

    fleet->field = 0;
    for (size_t i = 0; done && i < fleet->shares.count; i++) {
        struct bench_stand stand = stand_of(fleet, i);
        done = bench_case_fill_planes(fleet->bench, &stand, 0, grid_planes_of(fleet, i),
                                      shares_overlap(&fleet->shares));
    }
    return done && exchange(fleet);
}

static bool compare(struct fleet *fleet, bool *equal)
{
    bool done = true;

    *equal = true;
    for (size_t i = 0; done && *equal && i < fleet->shares.count; i++) {
        struct bench_stand stand = stand_of(fleet, i);
        done = bench_case_compare(fleet->bench, &stand, stand.fields[fleet->field], grid_planes_of(fleet, i),
                                  shares_overlap(&fleet->shares), equal);
    }
    return done;
}

/* Two passes, so that the second one needs what the first has handed over. But what reads the step's input
   beside what it goes on from would read another one then. */
static bool check(struct fleet *fleet, bool *equal)
{
    const struct op *op = &fleet->step.step.ops[0];
    const unsigned passes = op_reads_kept(op) || op_sharpens(op) ? 1 : 2;
    bool done = bench_case_expect(fleet->bench, passes * fleet->form->steps) && fill(fleet);

    for (unsigned i = 0; done && i < passes; i++)
        done = pass(fleet->bench, fleet);
    return done && compare(fleet, equal);
}

/* ---- stopwatches ---- */

static bool begin_all(struct bench_case *bench, void *context)
{
    struct fleet *fleet = context;
    bool done = true;

    for (size_t i = 0; done && i < fleet->shares.count; i++)
        done = fleet->lanes[i].backend->begin_span(fleet->lanes[i].device, bench->fault);
    return done;
}

/* Seconds of the slowest of them since the span began; waiting for planes of a neighbour counts. */
static bool end_all(struct bench_case *bench, void *context, double *seconds)
{
    struct fleet *fleet = context;

    for (size_t i = 0; i < fleet->shares.count; i++) {
        const struct lane *lane = &fleet->lanes[i];
        double own = 0.0;
        if (!lane->backend->end_span(lane->device, &own, bench->fault) ||
            !lane->backend->sync(lane->device, &own, bench->fault))
            return false;
        fleet->compute[i] += own;
        *seconds = own > *seconds ? own : *seconds;
    }
    return true;
}

/* ---- a row ---- */

/* Set the counters back: the passes that compared bytes are no part of the measurement. */
static bool forget_handings(struct fleet *fleet)
{
    bool done = true;

    for (size_t i = 0; done && i < fleet->shares.count; i++) {
        double unused = 0.0;
        done = fleet->lanes[i].backend->tell_handings(fleet->lanes[i].device, &unused, fleet->bench->fault);
        fleet->handed[i] = 0;
        fleet->compute[i] = 0.0;
    }
    fleet->passes = 0;
    return done;
}

static bool tell_share(struct fleet *fleet, size_t index, struct bench_share *share)
{
    const struct lane *lane = &fleet->lanes[index];
    const double steps = (double)fleet->passes * fleet->form->steps;
    /* Counters cover all runs, the first one too. Divided by all steps that were taken, they are figures of
       one step. */
    const double plane = (double)lane->backend->field_bytes(&fleet->shape, fleet->bench->request->work, 1);

    if (!lane->backend->tell_handings(lane->device, &fleet->handing[index], fleet->bench->fault))
        return false;
    *share = (struct bench_share){.backend = lane->backend->name,
                                  .index = lane->index,
                                  .compute = fleet->compute[index] / steps,
                                  .handed_bytes = (double)fleet->handed[index] * plane / steps,
                                  .handing = fleet->handing[index] / steps};
    return true;
}

static bool measure(struct fleet *fleet, struct bench_fleet_row *row)
{
    static const struct bench_watch watch = {begin_all, end_all};
    bool done = forget_handings(fleet) &&
                bench_case_measure_by(fleet->bench, &watch, pass, fleet, INFINITY, &row->seconds);

    row->seconds /= fleet->form->steps;
    for (size_t i = 0; done && i < fleet->shares.count; i++)
        done = tell_share(fleet, i, &row->shares[i]);
    return done;
}

bool bench_fleet_measure(struct bench_case *bench, size_t count, struct bench_fleet_row *row, bool *fits)
{
    struct fleet fleet = fleet_of(bench, &bench->best.form, count);
    bool done = true;

    *row = (struct bench_fleet_row){.count = count};
    /* Even the smallest share must hold what both of its neighbours take from it, side by side. */
    *fits = count <= bench->shape.planes && 2 * fleet.shares.halo <= bench->shape.planes / count;
    if (!*fits)
        return true;
    for (size_t i = 0; done && i < count; i++)
        done = open_lane(&fleet, i);
    done = done && check(&fleet, &row->equal) && (!row->equal || measure(&fleet, row));
    close_all(&fleet);
    return done;
}
