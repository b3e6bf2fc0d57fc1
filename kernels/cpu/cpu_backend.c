/* The CPU as a device: memory of the process, loops chosen for its instruction set, a pool of threads. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "model/arith.h"
#include "kernels/backend.h"
#include "cpu_kernels.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Forecasts assume a machine of today; --bench is for the real one. */
#define ASSUMED_BYTES_PER_SECOND   16e9
#define ASSUMED_CHANGES_PER_SECOND 0.8e9 /* of a thread, which adds up their squares in f64 */

/* Taps that a thread adds up a second, by what stands behind them. */
struct assumed_taps {
    double star, fused_star; /* the sample and its nearest neighbours; several steps a pass */
    double picture;          /* several steps, where these go row by row */
    double box;              /* all neighbours */
    double other;
    double flux;
};

static const struct assumed_taps assumed_f32 = {7.0e9, 16.8e9, 29e9, 6.75e9, 2.5e9, 1.5e9};
static const struct assumed_taps assumed_f64 = {2.8e9, 5.6e9, 14e9, 3.4e9, 1.25e9, 0.75e9};

#define ASSUMED_STACK_BYTES ((size_t)8 << 20) /* of a thread, where no limit says */

/* Samples that make a thread worth waking. */
#define SAMPLES_A_THREAD ((size_t)1 << 14)

/* Steps of a pass: those that are chosen, of planes, of planes of one row and of pictures that go row by row,
   and the most that a wish may ask for. */
#define CHOSEN_STEPS         10
#define CHOSEN_FLAT_STEPS    16
#define CHOSEN_PICTURE_STEPS 24
#define MOST_STEPS           64

/* A pass that writes more than this finds nothing of it in the caches afterwards. */
#define CACHES_BYTES ((size_t)16 << 20)

/* Bytes after which a first-level cache has the same places again, and what keeps large planes, and rows that
   are planes, from such distances. */
#define CACHE_PERIOD ((size_t)4 << 10)
#define LEAST_APART  ((size_t)64 << 10)
#define PLANE_GAP    ((size_t)33 << 6)
#define ROW_GAP      ((size_t)1 << 6)

#define CACHE_LINE ((size_t)64)

/* Bytes that one thread copies at a time. */
#define COPY_CHUNK ((size_t)256 << 10)

/* Of multiply-adds: so long that waking threads does not show. */
#define MULTIPLYING_SECONDS 0.02

#define TEXT_OF_(number) #number
#define TEXT_OF(number)  TEXT_OF_(number)

/* Row sums that are held at once. */
#define ROW_SUMS ((size_t)1 << 16)

struct device {
    const struct build *build;
    struct pool *pool;
    int threads;
    bool asked;  /* for just so many */
    double span; /* when it began */
    struct outcomes outcomes;
    struct extremes extremes;
};

/* What is moved is there on return; its time is told to who waits for it. */
struct cpu_staging {
    struct staging staging;
    double seconds;
};

struct routine {
    const struct op *op;
    unsigned steps;           /* the most that a pass takes */
    struct cpu_tiling tiling; /* of so many; a pass of fewer has a smaller one */
    void *block;              /* the memory of the arenas */
    char *arenas;             /* one a thread, from a line of the caches on; NULL: the rung has no tiles */
};

enum { RUNG_NAIVE, RUNG_BLOCKED, RUNG_FUSED };

static const struct rung cpu_rungs[] = {
    [RUNG_NAIVE] = {"naive", "one step a pass, row by row; edge rules only where a row meets the edge"},
    [RUNG_BLOCKED] = {"blocked", "one step a pass; rows or tiles stream through the caches"},
    [RUNG_FUSED] = {"fused", "several steps a pass; tiles stream through a thread's own caches"},
    {NULL, NULL},
};

static const struct rung cpu_sum_rungs[] = {{NULL, NULL}};

static unsigned cpu_count(void)
{
    return 1;
}

static bool always(void)
{
    return true;
}

/* What the levels of x86-64 add and the kernels use; no compiler names the levels themselves in this call
   everywhere. */
#ifdef HAVE_CPU_V3
static bool has_v3(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}
#endif

#ifdef HAVE_CPU_V4
static bool has_v4(void)
{
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

/* The kernels of each work type, built for an instruction set; the fastest last. */
static const struct build {
    const char *name;
    bool (*runs_here)(void);
    const struct cpu_kernels *kernels[2];
} builds[] = {
#define BUILD(isa, runs_here)                                                                                \
    {#isa, runs_here, {[WORK_F32] = &cpu_kernels_##isa##_f32, [WORK_F64] = &cpu_kernels_##isa##_f64}},
    BUILD(baseline, always)
#ifdef HAVE_CPU_V3
        BUILD(v3, has_v3)
#endif
#ifdef HAVE_CPU_V4
            BUILD(v4, has_v4)
#endif
#undef BUILD
};

#define BUILDS (sizeof builds / sizeof *builds)

static const struct build *fastest_build(void)
{
    size_t i = BUILDS - 1;

    while (!builds[i].runs_here())
        i--;
    return &builds[i];
}

/* "baseline, v3 and v4": the builds that run here. */
static void name_builds(char *text, size_t size)
{
    const char *names[BUILDS];
    size_t count = 0, length = 0;

    for (size_t i = 0; i < BUILDS; i++) {
        if (builds[i].runs_here())
            names[count++] = builds[i].name;
    }
    for (size_t i = 0; i < count && length < size; i++) {
        const char *before = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        length += (size_t)snprintf(text + length, size - length, "%s%s", before, names[i]);
    }
}

/* VOXFILT_ISA lets tests compare the builds on one machine. */
static const char *wanted_build(void)
{
    return getenv("VOXFILT_ISA");
}

/* NULL where the one that is wanted does not run here. */
static const struct build *build_here(void)
{
    const char *wanted = wanted_build();

    if (wanted == NULL)
        return fastest_build();
    for (size_t i = 0; i < BUILDS; i++) {
        if (strcmp(wanted, builds[i].name) == 0 && builds[i].runs_here())
            return &builds[i];
    }
    return NULL;
}

static bool choose_build(struct device *device, struct fault *fault)
{
    char names[64] = "";

    device->build = build_here();
    if (device->build != NULL)
        return true;
    name_builds(names, sizeof names);
    return fault_raise(fault, STATUS_DEVICE, "VOXFILT_ISA: %s: this build on this machine has %s",
                       wanted_build(), names);
}

static int threads_of(const struct device_request *request)
{
    return (int)thread_count(request->threads);
}

static void cpu_close(struct device *device)
{
    pool_destroy(device->pool);
    mem_free(device);
}

/* Threads whose stacks fit into an address-space limit (ulimit -v), with most of it left for the data. */
static size_t affordable_threads(void)
{
    struct rlimit addresses, stack;
    size_t stack_bytes = ASSUMED_STACK_BYTES;

    if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY)
        stack_bytes = (size_t)stack.rlim_cur;
    return (size_t)addresses.rlim_cur / 4 / stack_bytes + 1;
}

/* Stacks of threads take from the addresses that the data needs. */
static bool count_threads(const struct device_request *request, int *threads, struct fault *fault)
{
    size_t affordable = affordable_threads(), wanted = request->threads;

    if (wanted > affordable)
        return fault_raise(fault, STATUS_LIMIT,
                           "--threads: the stacks of %zu threads leave no room in the limit on addresses",
                           wanted);
    if (wanted == 0)
        wanted = thread_count(0);
    *threads = wanted < affordable ? (int)wanted : (int)affordable;
    return true;
}

static bool cpu_open(struct device **result, const struct device_request *request, struct fault *fault)
{
    struct device *device = mem_zeroed(1, sizeof *device, "the device", fault);

    if (device == NULL)
        return false;
    *result = device;
    if (request->plain) {
        device->build = &builds[0];
        device->threads = 1;
        return true;
    }
    device->asked = request->threads > 0;
    if (!count_threads(request, &device->threads, fault) || !choose_build(device, fault) ||
        !pool_create(&device->pool, (unsigned)device->threads - 1, POOL_FULL_STACKS, fault)) {
        cpu_close(device);
        *result = NULL;
        return false;
    }
    return true;
}

static void cpu_describe(int index, char *text, size_t size)
{
    const struct build *build = build_here();

    (void)index;
    snprintf(text, size, "%zu processors, %s instructions", thread_processors(),
             build == NULL ? "no such" : build->name);
}

static void cpu_warm_up(int index)
{
    (void)index;
}

static bool is_near(struct reach reach)
{
    return reach.low >= -1 && reach.high <= 1;
}

static bool is_star(const struct op *op)
{
    for (size_t k = 0; k < op->tap_count; k++) {
        const struct op_tap *tap = &op->taps[k];
        if ((tap->dx != 0) + (tap->drow != 0) + (tap->dplane != 0) > 1)
            return false;
    }
    return true;
}

static double assumed_taps_per_second(const struct op *op, bool single)
{
    const struct assumed_taps *assumed = op->work == WORK_F32 ? &assumed_f32 : &assumed_f64;

    if (op->kind == OP_HEAT)
        return assumed->flux;
    if (!single && cpu_tiling_suits_picture(op))
        return assumed->picture;
    if (op->kind != OP_TAPS || !is_near(op->x) || !is_near(op->row) || !is_near(op->plane))
        return assumed->other;
    if (!is_star(op))
        return assumed->box;
    return single ? assumed->star : assumed->fused_star;
}

static struct forecast cpu_predict(const struct device_request *request, const struct op *op,
                                   const struct shape *shape, bool single)
{
    double taps = fmax(1.0, (double)op->tap_count) * (double)op->inner;
    double fields = op->kind == OP_UNSHARP ? 3.0 : 2.0;
    double by_memory = ASSUMED_BYTES_PER_SECOND / (fields * (double)work_size(op->work));
    double by_taps = assumed_taps_per_second(op, single) * threads_of(request) / taps;
    struct forecast forecast = {
        .updates = fmin(by_memory * (single ? 1 : CHOSEN_STEPS), by_taps),
        .changes = fmin(ASSUMED_BYTES_PER_SECOND / (2.0 * (double)work_size(op->work)),
                        ASSUMED_CHANGES_PER_SECOND * threads_of(request)),
    };

    (void)shape;
    return forecast;
}

static uint64_t cpu_memory(const struct device *device)
{
    (void)device;
    return 0;
}

/* Samples one above the other must not all compete for the same few places of a cache. */
static size_t gap_behind(size_t plane_bytes, size_t rows)
{
    if (plane_bytes % CACHE_PERIOD != 0 || plane_bytes < LEAST_APART)
        return 0;
    return rows > 1 ? PLANE_GAP : ROW_GAP;
}

static size_t cpu_field_bytes(const struct shape *shape, enum work_type work, size_t planes)
{
    size_t plane = shape->channels * shape->rows * shape->nx * work_size(work);

    return planes * (plane + gap_behind(plane, shape->rows));
}

/* A wish for nothing in particular leads to the highest rung that runs the op. */
static bool find_rung(const char *name, int *rung, struct fault *fault)
{
    for (*rung = 0; cpu_rungs[*rung].name != NULL; ++*rung) {
        if (strcmp(name, cpu_rungs[*rung].name) == 0)
            return true;
    }
    return fault_raise(fault, STATUS_USAGE, "--rung: %s: the CPU has naive, blocked and fused", name);
}

static bool check_wish(const struct rung_wish *wish, struct fault *fault)
{
    if (wish->coarsen != 0 || wish->stride != 0)
        return fault_raise(fault, STATUS_USAGE, "--coarsen: no rung of the CPU is coarsened");
    if (wish->steps > MOST_STEPS)
        return fault_raise(fault, STATUS_USAGE, "%u steps a pass: the CPU takes %d at most", wish->steps,
                           MOST_STEPS);
    return true;
}

static unsigned chosen_steps(const struct op *op, const struct shape *shape)
{
    return cpu_tiling_suits_picture(op) ? CHOSEN_PICTURE_STEPS
           : shape->rows > 1            ? CHOSEN_STEPS
                                        : CHOSEN_FLAT_STEPS;
}

/* As many steps a pass as make one of them cheapest. */
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

/* Tiles for a rung, or why it does not apply. */
static const char *refusal_of(int rung, const struct op *op, const struct shape *shape,
                              const struct rung_wish *wish, struct cpu_tiling *tiling)
{
    if (rung == RUNG_NAIVE) {
        cpu_tiling_none(tiling);
        return wish->tile_x > 0 ? "it has no tiles" : wish->steps > 1 ? "it takes one step a pass" : NULL;
    }
    if (op->kind == OP_UNSHARP || op->kind == OP_SCALE || op->kind == OP_COVER || op->kind == OP_UNCOVER)
        return "each sample is read once: there is nothing to keep in a cache";
    if (op_group_most(op) > MOST_LAYERS)
        return "a tile takes at most " TEXT_OF(MOST_LAYERS) " channels that share a conductivity";
    if (rung == RUNG_BLOCKED && wish->steps > 1)
        return "it takes only one step a pass";
    if (rung == RUNG_BLOCKED && !cpu_tiling_make(tiling, op, shape, 1, wish->tile_x, wish->tile_y))
        return "a tile takes more than 16 MiB a thread";
    if (rung == RUNG_FUSED && wish->steps == 1)
        return "it needs more than one step a pass";
    if (rung == RUNG_FUSED && !choose_steps(tiling, op, shape, wish))
        return "a tile of several steps takes more than 16 MiB a thread";
    return NULL;
}

static bool choose_rung(const struct op *op, const struct shape *shape, const struct rung_wish *wish,
                        int *rung, struct cpu_tiling *tiling, struct fault *fault)
{
    const char *refusal;

    if (wish->rung != NULL) {
        if (!find_rung(wish->rung, rung, fault))
            return false;
        refusal = refusal_of(*rung, op, shape, wish, tiling);
    } else {
        *rung = wish->lean ? RUNG_NAIVE : RUNG_FUSED;
        while ((refusal = refusal_of(*rung, op, shape, wish, tiling)) != NULL && *rung > RUNG_NAIVE)
            --*rung;
    }
    return refusal == NULL ||
           fault_raise(fault, STATUS_USAGE, "--rung: %s: %s", cpu_rungs[*rung].name, refusal);
}

/* Large pages, where the system has them, for memory that is swept in strides: a page of the usual size holds
   a row or two. Nothing is lost where the advice is not taken. */
static void advise_large_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)memory + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)memory + bytes) / page * page;

    if (end > first)
        (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

/* Of all threads; those that never come to theirs take no memory, as no page is there before it is used. */
static bool create_arenas(struct routine *routine, size_t bytes, struct fault *fault)
{
    routine->block = mem_untouched(bytes + CACHE_LINE, "tiles", fault);
    if (routine->block == NULL)
        return false;
    routine->arenas = (char *)(((uintptr_t)routine->block + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    advise_large_pages(routine->arenas, bytes);
    return true;
}

static void cpu_release(struct device *device, struct routine *routine)
{
    (void)device;
    mem_free(routine->block);
    mem_free(routine);
}

_Static_assert(sizeof(struct cpu_tiling) <= sizeof((struct form){0}.own), "a form has no room for tiles");

static void tell_tiles(struct form *form, const struct device *device, const struct cpu_tiling *tiling)
{
    form->tiles = true;
    form->tile_x = (unsigned)tiling->tile_x;
    form->tile_y = (unsigned)tiling->tile_rows;
    form->tile_z = 1;
    form->memory_bytes = (size_t)device->threads * tiling->layout.bytes;
    cpu_tiling_offers(tiling, form->op, &form->shape, form->offers, ROUTINE_TILES);
}

static const char *reason_for(const struct rung_wish *wish)
{
    return wish->reason != NULL ? wish->reason
           : wish->rung != NULL ? "asked for"
                                : "the highest rung that applies";
}

static bool cpu_settle(const struct device *device, const struct op *op, const struct shape *shape,
                       const struct rung_wish *wish, struct form *form, struct fault *fault)
{
    struct cpu_tiling tiling = {0};
    int rung;

    if (!check_wish(wish, fault) || !choose_rung(op, shape, wish, &rung, &tiling, fault))
        return false;
    *form = (struct form){.op = op, .shape = *shape, .rung = &cpu_rungs[rung], .steps = tiling.steps};
    memcpy(form->own, &tiling, sizeof tiling);
    if (rung != RUNG_NAIVE)
        tell_tiles(form, device, &tiling);
    form->bytes_per_update = 2.0 * (double)work_size(op->work) / form->steps;
    form->operations_per_update = 2.0 * (double)op->tap_count;
    snprintf(form->reason, sizeof form->reason, "%s", reason_for(wish));
    return true;
}

static bool cpu_prepare(struct device *device, const struct form *form, struct routine **result,
                        struct fault *fault)
{
    struct routine *routine = mem_zeroed(1, sizeof *routine, "a routine", fault);

    if (routine == NULL)
        return false;
    routine->op = form->op;
    routine->steps = form->steps;
    memcpy(&routine->tiling, form->own, sizeof routine->tiling);
    if (form->memory_bytes > 0 && !create_arenas(routine, form->memory_bytes, fault)) {
        cpu_release(device, routine);
        return false;
    }
    *result = routine;
    return true;
}

static void cpu_staging_destroy(struct device *device, struct staging *staging)
{
    (void)device;
    if (staging == NULL)
        return;
    mem_free(staging->samples);
    mem_free((struct cpu_staging *)staging);
}

static struct staging *cpu_staging_create(struct device *device, size_t bytes, struct fault *fault)
{
    struct cpu_staging *created = mem_zeroed(1, sizeof *created, "the batch", fault);

    if (created == NULL)
        return NULL;
    created->staging.samples = mem_alloc(bytes, 1, "the batch", fault);
    if (created->staging.samples != NULL)
        return &created->staging;
    cpu_staging_destroy(device, &created->staging);
    return NULL;
}

static bool cpu_staging_wait(struct device *device, struct staging *staging, double *seconds,
                             struct fault *fault)
{
    struct cpu_staging *moved = (struct cpu_staging *)staging;

    (void)device, (void)fault;
    *seconds += moved->seconds;
    moved->seconds = 0.0;
    return true;
}

/* Threads for so many samples: as many as were asked for, else no more than they are worth. */
static struct cpu_crew crew_for(const struct device *device, size_t samples)
{
    size_t worth = samples / SAMPLES_A_THREAD + 1;
    bool fewer = !device->asked && worth < (size_t)device->threads;

    return (struct cpu_crew){device->pool, fewer ? (unsigned)worth : (unsigned)device->threads};
}

static size_t samples_of(const struct shape *shape, size_t planes)
{
    return planes * shape->rows * shape->channels * shape->nx;
}

static void cpu_field_destroy(struct device *device, struct field *field)
{
    (void)device;
    if (field == NULL)
        return;
    mem_free(field->samples);
    mem_free(field);
}

static bool cpu_field_create(struct device *device, struct field **result, const struct shape *shape,
                             enum work_type work, struct range planes, struct fault *fault)
{
    struct field *field = mem_zeroed(1, sizeof *field, "a field", fault);

    if (field == NULL)
        return false;
    field->shape = *shape;
    field->work = work;
    field->planes = planes;
    field->pitch = cpu_field_bytes(shape, work, 1) / work_size(work);
    field->samples = mem_alloc(planes.count, field->pitch * work_size(work), "the planes", fault);
    if (field->samples == NULL) {
        cpu_field_destroy(device, field);
        return false;
    }
    advise_large_pages(field->samples, cpu_field_bytes(shape, work, planes.count));
    *result = field;
    return true;
}

static bool cpu_field_slide(struct device *device, struct field *field, size_t first, struct range keep,
                            struct fault *fault)
{
    (void)device, (void)fault;
    field->start = keep.count == 0 ? 0 : (field->start + first - field->planes.first) % field->planes.count;
    field->planes.first = first;
    return true;
}

static bool cpu_upload(struct device *device, struct field *field, const struct encoding *encoding,
                       struct staging *staging, struct range planes, struct range counted,
                       struct fault *fault)
{
    const struct cpu_crew crew = crew_for(device, samples_of(&field->shape, planes.count));
    double begun = clock_seconds();

    (void)fault;
    device->build->kernels[field->work]->load(field, encoding, staging->samples, planes, counted, &crew,
                                              &device->outcomes);
    ((struct cpu_staging *)staging)->seconds += clock_seconds() - begun;
    return true;
}

static bool cpu_download(struct device *device, const struct field *field, const struct encoding *encoding,
                         struct staging *staging, struct range planes, struct fault *fault)
{
    const struct cpu_crew crew = crew_for(device, samples_of(&field->shape, planes.count));
    double begun = clock_seconds();

    (void)fault;
    device->build->kernels[field->work]->store(field, encoding, staging->samples, planes, &crew,
                                               &device->outcomes);
    ((struct cpu_staging *)staging)->seconds += clock_seconds() - begun;
    return true;
}

static bool cpu_tell_outcomes(struct device *device, struct outcomes *outcomes, struct fault *fault)
{
    (void)fault;
    outcomes->strays += device->outcomes.strays;
    outcomes->nans += device->outcomes.nans;
    outcomes->below += device->outcomes.below;
    outcomes->above += device->outcomes.above;
    device->outcomes = (struct outcomes){0};
    return true;
}

static bool cpu_measure(struct device *device, const struct field *field, const struct encoding *encoding,
                        struct range planes, struct fault *fault)
{
    const struct cpu_crew crew = crew_for(device, samples_of(&field->shape, planes.count));

    (void)fault;
    device->build->kernels[field->work]->measure(field, encoding, planes, &crew, &device->extremes);
    return true;
}

static bool cpu_tell_extremes(struct device *device, struct extremes *extremes, struct fault *fault)
{
    (void)fault;
    *extremes = device->extremes;
    device->extremes = (struct extremes){0};
    return true;
}

static bool cpu_advance(struct device *device, struct routine *routine, unsigned steps,
                        const struct field *from, const struct field *kept, struct field *to,
                        struct range planes, struct fault *fault)
{
    size_t samples = samples_of(&to->shape, planes.count);
    struct cpu_tiling tiling;
    struct cpu_sweep sweep = {.op = routine->op,
                              .tiling = &tiling,
                              .from = from,
                              .kept = kept,
                              .to = to,
                              .planes = planes,
                              .arenas = routine->arenas,
                              .arena_bytes = routine->tiling.layout.bytes,
                              .crew = crew_for(device, samples),
                              .past_caches = samples * work_size(to->work) > CACHES_BYTES};

    if (steps > routine->steps)
        return fault_raise(fault, STATUS_FAILURE, "%u steps in one pass: this rung takes %u", steps,
                           routine->steps);
    cpu_tiling_fewer(&tiling, &routine->tiling, routine->op, steps);
    device->build->kernels[routine->op->work]->run[tiling.engine](&sweep);
    return true;
}

static bool cpu_begin_span(struct device *device, struct fault *fault)
{
    (void)fault;
    device->span = clock_seconds();
    return true;
}

static bool cpu_end_span(struct device *device, double *seconds, struct fault *fault)
{
    (void)fault;
    *seconds += clock_seconds() - device->span;
    return true;
}

static bool cpu_sync(struct device *device, double *seconds, struct fault *fault)
{
    (void)device, (void)seconds, (void)fault;
    return true;
}

struct copying {
    char *to;
    const char *from;
};

static void copy_some(void *context, struct range bytes, unsigned member)
{
    const struct copying *copying = context;

    (void)member;
    memcpy(copying->to + bytes.first, copying->from + bytes.first, bytes.count);
}

static bool cpu_copy(struct device *device, const struct field *from, struct field *to, struct fault *fault)
{
    const struct cpu_crew crew = {device->pool, (unsigned)device->threads};
    struct copying copying = {to->samples, from->samples};

    (void)fault;
    cpu_crew_share(&crew, cpu_field_bytes(&from->shape, from->work, from->planes.count), COPY_CHUNK,
                   copy_some, &copying);
    to->start = from->start;
    return true;
}

struct multiplying {
    const struct cpu_kernels *kernels;
    double end;
    atomic_uint_fast64_t count;
};

static void multiply_until_end(void *context, struct range turns, unsigned member)
{
    struct multiplying *multiplying = context;
    uint64_t count = 0;

    (void)turns, (void)member;
    while (clock_seconds() < multiplying->end)
        (void)multiplying->kernels->multiply_add(0.5, &count);
    atomic_fetch_add(&multiplying->count, count);
}

static double cpu_multiply_adds(struct device *device, enum work_type work)
{
    const struct cpu_crew crew = {device->pool, (unsigned)device->threads};
    double start = clock_seconds();
    struct multiplying multiplying = {device->build->kernels[work], start + MULTIPLYING_SECONDS, 0};

    cpu_crew_share(&crew, crew.members, 1, multiply_until_end, &multiplying);
    return (double)atomic_load(&multiplying.count) / (clock_seconds() - start);
}

/* Planes whose rows are summed together, so that threads have work and the row sums stay few. */
static size_t planes_together(size_t rows, size_t planes)
{
    size_t together = rows >= ROW_SUMS ? 1 : ROW_SUMS / rows;

    return together < planes ? together : planes;
}

static double plane_sum(const double *row_sums, size_t rows)
{
    double sum = 0.0;

    for (size_t row = 0; row < rows; row++)
        sum += row_sums[row];
    return sum;
}

static bool cpu_change(struct device *device, const struct field *a, const struct field *b, unsigned channels,
                       struct range planes, double *sums, struct fault *fault)
{
    size_t rows = a->shape.rows, together = planes_together(channels * rows, planes.count);
    double *row_sums = mem_alloc(together, channels * rows * sizeof *row_sums, "row sums", fault);
    struct range part = {planes.first, 0};
    struct cpu_crew crew;

    if (row_sums == NULL)
        return false;
    for (size_t left = planes.count; left > 0; left -= part.count) {
        part.first += part.count;
        part.count = left < together ? left : together;
        crew = crew_for(device, samples_of(&a->shape, part.count));
        device->build->kernels[a->work]->change_rows(a, b, channels, part, row_sums, &crew);
        for (size_t i = 0; i < part.count * channels; i++)
            *sums++ = plane_sum(row_sums + i * rows, rows);
    }
    mem_free(row_sums);
    return true;
}

/* Planes of a file that are surveyed together. */
struct survey {
    const struct encoding *encoding;
    const struct shape *shape;
    const unsigned char *samples;
    size_t planes;
};

static size_t packed_plane_bytes(const struct encoding *encoding, const struct shape *shape)
{
    return shape->nx * shape->rows * encoding->channels * sample_size(encoding->type);
}

/* Each channel of each plane about its own anchor: of the plane, and of all its rows. */
static void begin_tallies(const struct survey *survey, struct tally *planes, struct tally *rows)
{
    const struct shape *shape = survey->shape;
    unsigned channels = survey->encoding->channels;
    size_t plane_bytes = packed_plane_bytes(survey->encoding, shape);

    for (size_t i = 0; i < survey->planes * channels; i++) {
        planes[i] =
            tally_empty(tally_anchor(survey->encoding, (unsigned)(i % channels),
                                     survey->samples + i / channels * plane_bytes, shape->nx * shape->rows));
        for (size_t row = 0; row < shape->rows; row++)
            rows[i * shape->rows + row] = planes[i];
    }
}

static void survey_planes(struct device *device, const struct survey *survey, struct tally *planes,
                          struct tally *rows)
{
    const struct cpu_crew crew = crew_for(device, samples_of(survey->shape, survey->planes));
    size_t row_count = survey->shape->rows;

    begin_tallies(survey, planes, rows);
    device->build->kernels[WORK_F64]->survey_rows(survey->encoding, survey->shape, survey->samples,
                                                  survey->planes, rows, &crew);
    for (size_t i = 0; i < survey->planes * survey->encoding->channels * row_count; i++)
        tally_add(&planes[i / row_count], &rows[i]);
}

static bool cpu_survey(struct device *device, const struct encoding *encoding, const struct shape *shape,
                       const void *samples, size_t planes, struct tally *tallies, struct fault *fault)
{
    size_t rows_a_plane = encoding->channels * shape->rows;
    size_t together = planes_together(rows_a_plane, planes);
    struct tally *rows = mem_alloc(together, rows_a_plane * sizeof *rows, "row sums", fault);
    struct survey survey = {encoding, shape, samples, 0};

    if (rows == NULL)
        return false;
    for (size_t left = planes; left > 0; left -= survey.planes) {
        survey.planes = left < together ? left : together;
        survey_planes(device, &survey, tallies, rows);
        tallies += survey.planes * encoding->channels;
        survey.samples += survey.planes * packed_plane_bytes(encoding, shape);
    }
    mem_free(rows);
    return true;
}

static size_t rows_together(const struct shape *shape, size_t planes)
{
    size_t rows = shape->channels * shape->rows;

    return planes_together(rows, planes) * rows;
}

static size_t cpu_survey_bytes(const struct shape *shape, size_t planes)
{
    return rows_together(shape, planes) * sizeof(struct tally);
}

static size_t cpu_change_bytes(const struct shape *shape, size_t planes)
{
    return rows_together(shape, planes) * sizeof(double);
}

static bool cpu_settle_sums(const struct device *device, const struct shape *shape, enum work_type work,
                            const struct rung_wish *wish, struct form *form, struct fault *fault)
{
    (void)device, (void)work;
    *form = (struct form){.shape = *shape};
    return wish->rung == NULL ||
           fault_raise(fault, STATUS_USAGE, "--rung: %s: the CPU has one way to add", wish->rung);
}

static void cpu_add_by(struct device *device, const struct form *form)
{
    (void)device, (void)form;
}

const struct backend backend_cpu = {
    .name = "cpu",
    .rungs = cpu_rungs,
    .count = cpu_count,
    .describe = cpu_describe,
    .warm_up = cpu_warm_up,
    .predict = cpu_predict,
    .open = cpu_open,
    .close = cpu_close,
    .memory = cpu_memory,
    .field_bytes = cpu_field_bytes,
    .settle = cpu_settle,
    .prepare = cpu_prepare,
    .release = cpu_release,
    .field_create = cpu_field_create,
    .field_destroy = cpu_field_destroy,
    .field_slide = cpu_field_slide,
    .staging_create = cpu_staging_create,
    .staging_destroy = cpu_staging_destroy,
    .upload = cpu_upload,
    .download = cpu_download,
    .staging_wait = cpu_staging_wait,
    .tell_outcomes = cpu_tell_outcomes,
    .measure = cpu_measure,
    .tell_extremes = cpu_tell_extremes,
    .advance = cpu_advance,
    .begin_span = cpu_begin_span,
    .end_span = cpu_end_span,
    .sync = cpu_sync,
    .copy = cpu_copy,
    .multiply_adds = cpu_multiply_adds,
    .change = cpu_change,
    .survey = cpu_survey,
    .sum_rungs = cpu_sum_rungs,
    .settle_sums = cpu_settle_sums,
    .add_by = cpu_add_by,
    .survey_bytes = cpu_survey_bytes,
    .change_bytes = cpu_change_bytes,
};
