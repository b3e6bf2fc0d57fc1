/* Routines: how an op comes to run. A wish may name a rung; otherwise it is the highest that applies. settle
   chooses the rung, the steps of a pass and the tiles, and writes them into a form; prepare allocates the
   threads' arenas; advance takes a field through one pass, by the kernels for this instruction set. */
#include "cpu_device.h"

#include "base/mem.h"
#include "base/threads.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Planes of a field that is larger than this have left the caches when others take their place. To fetch
   lines that are then overwritten would be in vain. */
#define CACHES_BYTES ((size_t)12 << 20)

/* Forecasts assume a machine of today, as measured on a Zen 5 with AVX-512; --bench measures the real one.
   The bytes that cores read and write in a second: one core alone, each of several, and all together at most.
   Then what one core computes in a second: taps of a star and of `naive`, and squares of changes in f64. A
   tap of a bilateral window counts as this share of another one. */
#define ASSUMED_BYTES_OF_ONE       36e9
#define ASSUMED_BYTES_OF_EACH      9e9
#define ASSUMED_BYTES_OF_ALL       150e9
#define ASSUMED_STAR_TAPS_F32      83e9
#define ASSUMED_STAR_TAPS_F64      42e9
#define ASSUMED_NAIVE_TAPS_F32     2.5e9
#define ASSUMED_NAIVE_TAPS_F64     1.25e9
#define ASSUMED_BILATERAL_TAP      0.75
#define ASSUMED_CHANGES_PER_SECOND 0.8e9

#define TEXT_OF_(number) #number
#define TEXT_OF(number)  TEXT_OF_(number)

struct routine {
    const struct op *op;
    unsigned steps;           /* the most that a pass takes */
    struct cpu_tiling tiling; /* for that many; a pass of fewer derives a smaller one */
    char *arenas;             /* one for each thread; NULL: the rung has no tiles */
};

enum { RUNG_NAIVE, RUNG_BLOCKED, RUNG_FUSED };

const struct rung cpu_routine_rungs[] = {
    [RUNG_NAIVE] = {"naive", "one step a pass, row by row; edge rules only where a row meets the edge"},
    [RUNG_BLOCKED] = {"blocked", "one step a pass; rows or tiles stream through the caches"},
    [RUNG_FUSED] = {"fused", "several steps a pass; tiles stream through a thread's own caches"},
    {NULL, NULL},
};

static bool find_rung(const char *name, int *rung, struct fault *fault)
{
    for (*rung = 0; cpu_routine_rungs[*rung].name != NULL; ++*rung) {
        if (strcmp(name, cpu_routine_rungs[*rung].name) == 0)
            return true;
    }
    return fault_set_for(fault, STATUS_USAGE, "--rung", "%s: the CPU has naive, blocked and fused", name);
}

/* Wishes that no rung of the CPU can fulfil. */
static bool check_wish(const struct rung_wish *wish, struct fault *fault)
{
    if (wish->coarsen != 0 || wish->stride != 0)
        return fault_raise(fault, STATUS_USAGE, "--coarsen: no rung of the CPU is coarsened");
    if (wish->steps > MOST_STEPS)
        return fault_raise(fault, STATUS_USAGE, "%u steps a pass: the CPU takes %d at most", wish->steps,
                           MOST_STEPS);
    return true;
}

/* The most steps of a pass that are worth trying for an op. */
static unsigned chosen_steps(const struct op *op, const struct shape *shape)
{
    return cpu_tiling_suits_picture(op) ? CHOSEN_PICTURE_STEPS
           : shape->rows > 1            ? CHOSEN_STEPS
                                        : CHOSEN_FLAT_STEPS;
}

/* The number of steps in a pass that makes a step cheapest: more steps save traffic, but widen the halo. */
static bool choose_steps(struct cpu_tiling *best, const struct op *op, const struct shape *shape,
                         const struct rung_wish *wish)
{
    unsigned least = wish->steps > 0 ? wish->steps : 2;
    unsigned most = wish->steps > 0 ? wish->steps : chosen_steps(op, shape);
    bool found = false;

    for (unsigned steps = least; steps <= most; steps++) {
        struct cpu_tiling tiling;
        if (!cpu_tiling_make(&tiling, op, shape, steps, wish->tile_x, wish->tile_y))
            break;
        if (!found || cpu_tiling_cost(&tiling, op) < cpu_tiling_cost(best, op))
            *best = tiling;
        found = true;
    }
    return found;
}

/* Why no rung with tiles applies to an op; NULL if one may. */
static const char *refuse_tiles(const struct op *op)
{
    if (op->kind == OP_COMBINE || op->kind == OP_AVERAGE || op->kind == OP_POINT || op->kind == OP_COVER ||
        op->kind == OP_UNCOVER || op->kind == OP_WEIGH)
        return "each sample is read once: there is nothing to keep in a cache";
    if (op->missing && op->kind != OP_HEAT && op->kind != OP_RANK)
        return "in place of neighbours that are missing it reads the sample itself";
    if (op->kind == OP_BILATERAL)
        return "its weights take the time, and rows are read in place";
    if (op_group_most(op) > MOST_LAYERS)
        return "a tile takes at most " TEXT_OF(MOST_LAYERS) " channels that share a conductivity";
    return NULL;
}

/* Settles a rung's tiles; returns why the rung does not apply, or NULL. */
typedef const char *refusal(const struct op *op, const struct shape *shape, const struct rung_wish *wish,
                            struct cpu_tiling *tiling);

static const char *refuse_naive(const struct op *op, const struct shape *shape, const struct rung_wish *wish,
                                struct cpu_tiling *tiling)
{
    (void)op, (void)shape;
    cpu_tiling_none(tiling);
    return wish->tile_x > 0 ? "it has no tiles" : wish->steps > 1 ? "it takes one step a pass" : NULL;
}

static const char *refuse_blocked(const struct op *op, const struct shape *shape,
                                  const struct rung_wish *wish, struct cpu_tiling *tiling)
{
    const char *reason = refuse_tiles(op);

    if (reason != NULL)
        return reason;
    if (wish->steps > 1)
        return "it takes only one step a pass";
    if (!cpu_tiling_make(tiling, op, shape, 1, wish->tile_x, wish->tile_y))
        return "a tile takes more than 16 MiB a thread";
    return NULL;
}

static const char *refuse_fused(const struct op *op, const struct shape *shape, const struct rung_wish *wish,
                                struct cpu_tiling *tiling)
{
    const char *reason = refuse_tiles(op);

    if (reason != NULL)
        return reason;
    if (op->kind == OP_RANK)
        return "ranks take one step a pass";
    if (wish->steps == 1)
        return "it needs more than one step a pass";
    if (op->kind == OP_UNSHARP)
        return "the input of a step is kept for one step alone";
    if (!choose_steps(tiling, op, shape, wish))
        return "a tile of several steps takes more than 16 MiB a thread";
    return NULL;
}

static refusal *const refusals[] = {
    [RUNG_NAIVE] = refuse_naive, [RUNG_BLOCKED] = refuse_blocked, [RUNG_FUSED] = refuse_fused};

/* The rung that is wished for, if it applies; else the highest one that does, or naive if memory is short. */
static bool choose_rung(const struct op *op, const struct shape *shape, const struct rung_wish *wish,
                        int *rung, struct cpu_tiling *tiling, struct fault *fault)
{
    const char *reason;

    if (wish->rung != NULL) {
        if (!find_rung(wish->rung, rung, fault))
            return false;
        reason = refusals[*rung](op, shape, wish, tiling);
    } else {
        *rung = wish->lean ? RUNG_NAIVE : RUNG_FUSED;
        while ((reason = refusals[*rung](op, shape, wish, tiling)) != NULL && *rung > RUNG_NAIVE)
            --*rung;
    }
    return reason == NULL ||
           fault_set_for(fault, STATUS_USAGE, "--rung", "%s: %s", cpu_routine_rungs[*rung].name, reason);
}

void cpu_routine_release(struct device *device, struct routine *routine)
{
    (void)device;
    mem_free(routine->arenas);
    mem_free(routine);
}

_Static_assert(sizeof(struct cpu_tiling) <= sizeof((struct form){0}.own), "a form has no room for tiles");

/* Write the tiles into the form's fields that others read. */
static void tell_tiles(struct form *form, const struct device *device, const struct cpu_tiling *tiling)
{
    form->tiles = true;
    form->tile_x = (unsigned)tiling->tile_x;
    form->tile_y = (unsigned)tiling->tile_rows;
    form->tile_z = 1;
    form->memory_bytes = (size_t)device->threads * tiling->layout.bytes;
    cpu_tiling_offers(tiling, &form->shape, form->offers, ROUTINE_TILES);
}

static const char *reason_for(const struct rung_wish *wish)
{
    return wish->reason != NULL ? wish->reason
           : wish->rung != NULL ? "asked for"
                                : "the highest rung that applies";
}

/* Seconds of a core for a sample in a step of a pass. */
static double core_seconds(const struct op *op, const struct cpu_tiling *tiling, struct cpu_times times)
{
    bool single = op->work == WORK_F32;
    double moving;
    double taps = op->kind == OP_COMBINE ? 0.0 : fmax(1.0, (double)op->tap_count) * (double)op->inner;

    if (op->kind == OP_BILATERAL)
        taps *= ASSUMED_BILATERAL_TAP;
    if (tiling->engine == CPU_ENGINE_NAIVE)
        return taps * times.computing / (single ? ASSUMED_NAIVE_TAPS_F32 : ASSUMED_NAIVE_TAPS_F64);
    moving = cpu_tiling_moving(tiling, op);
    return ((cpu_tiling_cost(tiling, op) - moving) * times.computing + moving * times.moving) /
           (single ? ASSUMED_STAR_TAPS_F32 : ASSUMED_STAR_TAPS_F64);
}

static double bytes_per_second(int threads)
{
    return fmin(ASSUMED_BYTES_OF_ALL, fmax(ASSUMED_BYTES_OF_ONE, ASSUMED_BYTES_OF_EACH * threads));
}

/* On a sample in a pass: all cores compute, and share the memory. */
static double pass_seconds(const struct op *op, const struct shape *shape, const struct cpu_tiling *tiling,
                           int threads, struct cpu_times times)
{
    /* The samples of OP_UNSHARP are written, read again with what is kept, and written again. */
    double fields = op->kind == OP_UNSHARP ? 5.0 : op->kind == OP_COMBINE ? 3.0 : 2.0;
    double moving = fields * (double)sample_bytes(shape, op->work) / bytes_per_second(threads);

    return fmax(moving, tiling->steps * core_seconds(op, tiling, times) / threads);
}

static void expect(const struct device *device, const struct cpu_tiling *tiling, struct form *form)
{
    struct cpu_times times = cpu_device_times(device->build, form->op);
    struct cpu_tiling single;

    cpu_tiling_fewer(&single, tiling, form->op, 1);
    form->pass_seconds = pass_seconds(form->op, &form->shape, tiling, device->threads, times);
    form->step_seconds = pass_seconds(form->op, &form->shape, &single, device->threads, times);
}

bool cpu_routine_settle(const struct device *device, const struct op *op, const struct shape *shape,
                        const struct rung_wish *wish, struct form *form, struct fault *fault)
{
    struct cpu_tiling tiling = {0};
    int rung;

    if (op->kind == OP_PASSES)
        return fault_raise(fault, STATUS_USAGE, "the CPU takes passes one by one");
    if (!check_wish(wish, fault) || !choose_rung(op, shape, wish, &rung, &tiling, fault))
        return false;
    /* The tiling travels in the form to prepare; figures are for --explain and forecasts. */
    *form = (struct form){.op = op, .shape = *shape, .rung = &cpu_routine_rungs[rung], .steps = tiling.steps};
    memcpy(form->own, &tiling, sizeof tiling);
    if (rung != RUNG_NAIVE)
        tell_tiles(form, device, &tiling);
    form->bytes_per_update = 2.0 * (double)sample_bytes(shape, op->work) / form->steps;
    form->operations_per_update = 2.0 * (double)op->tap_count;
    expect(device, &tiling, form);
    snprintf(form->reason, sizeof form->reason, "%s", reason_for(wish));
    return true;
}

/* A device that is not opened settles as well as another one. */
struct forecast cpu_routine_predict(const struct device_request *request, const struct op *op,
                                    const struct shape *shape, bool single)
{
    const struct cpu_build *build = cpu_device_build();
    const struct device device = {.build = build, .threads = (int)thread_count(request->threads)};
    const struct rung_wish wish = {.steps = single ? 1 : 0};
    double by_memory = bytes_per_second(device.threads) / (2.0 * (double)sample_bytes(shape, op->work));
    struct forecast forecast = {.updates = by_memory,
                                .changes = fmin(by_memory, ASSUMED_CHANGES_PER_SECOND * device.threads)};
    struct fault fault;
    struct form form;

    if (build != NULL && cpu_routine_settle(&device, op, shape, &wish, &form, &fault))
        forecast.updates = form.steps / form.pass_seconds;
    return forecast;
}

bool cpu_routine_prepare(struct device *device, const struct form *form, struct routine **result,
                         struct fault *fault)
{
    struct routine *routine = mem_zeroed(1, sizeof *routine, "a routine", fault);

    if (routine == NULL)
        return false;
    routine->op = form->op;
    routine->steps = form->steps;
    memcpy(&routine->tiling, form->own, sizeof routine->tiling);
    /* One that is never used takes no memory: the system adds pages on first use. */
    if (form->memory_bytes > 0 &&
        (routine->arenas = mem_large(form->memory_bytes, 1, "tiles", fault)) == NULL) {
        cpu_routine_release(device, routine);
        return false;
    }
    *result = routine;
    return true;
}

bool cpu_routine_advance(struct device *device, struct routine *routine, unsigned steps,
                         const struct field *from, const struct field *kept, struct field *to,
                         struct range planes, struct fault *fault)
{
    size_t samples = samples_of(&to->shape, planes.count);
    struct cpu_tiling tiling;
    struct cpu_sweep sweep = {
        .op = routine->op,
        .tiling = &tiling,
        .from = from,
        .kept = kept,
        .to = to,
        .planes = planes,
        .arenas = routine->arenas,
        .arena_bytes = routine->tiling.layout.bytes,
        .threads = cpu_device_threads(device, samples),
        .past_caches =
            samples_of(&to->shape, to->planes.count) * sample_bytes(&to->shape, to->work) > CACHES_BYTES};

    /* A pass may have fewer steps than the form, at the end of a run. */
    if (steps > routine->steps)
        return fault_raise(fault, STATUS_FAILURE, "%u steps in one pass: this rung takes %u", steps,
                           routine->steps);
    cpu_tiling_fewer(&tiling, &routine->tiling, routine->op, steps);
    device->build->kernels[routine->op->work]->run(&sweep);
    return true;
}
