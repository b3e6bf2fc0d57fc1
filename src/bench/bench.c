/* The bench: every rung of a device on one stage, compared with the CPU's bytes and then timed.

   Each operation of a stage has a table. Its rows are the rungs of the device's ladder in order: each as a
   plan would form it, then with the tiles, coarsenings and numbers of steps that the command line leaves
   open. A rung that does not apply says why. Below the table is the fastest row; with several devices named,
   that kernel is measured on two of them, three, and so on. --tune keeps the fastest as wisdom, which later
   plans read. If the device has several ways to add, they get a table of their own behind the last stage. */
#include "bench.h"

#include "base/mem.h"
#include "plan/forms.h"
#include "plan/wisdom.h"
#include "bench_fleet.h"
#include "bench_table.h"

#include <math.h>
#include <string.h>

/* Than the fastest so far, if there is one. */
static bool is_faster(const struct bench_row *row, const struct bench_row *fastest)
{
    return row->equal && (fastest->form.rung == NULL || row->seconds < fastest->seconds);
}

/* Print a row, and remember it if it is the fastest of all, or the fastest in the form that a plan takes. The
   two differ where a plan does not know the best form: that is what --tune is for. */
static bool take_row(struct bench_case *bench, const struct bench_row *row)
{
    bench->differs = bench->differs || !row->equal;
    if (is_faster(row, &bench->best))
        bench->best = *row;
    if (bench_case_is_planned(bench, &row->form) && is_faster(row, &bench->taken))
        bench->taken = *row;
    return bench_table_row(bench, row);
}

/* A kernel is slow if its step takes so many times as long as with the kernel that a plan takes. Few runs
   suffice to show that it is no rival. */
#define SLOW_FACTOR 2.0

static double slow_call(const struct bench_case *bench, unsigned steps)
{
    return SLOW_FACTOR * bench->plan_seconds * steps;
}

/* ---- rungs of stages ---- */

static bool time_kernel(struct bench_case *bench, struct bench_kernel *kernel, double *seconds)
{
    bool done =
        bench_case_fill_kept(bench, &bench->device, kernel) &&
        bench_case_measure(bench, bench_case_pass, kernel, slow_call(bench, kernel->form.steps), seconds);

    /* A pass of several steps is compared with others by the time of one of them. */
    *seconds /= kernel->form.steps;
    return done;
}

/* Find plan_seconds before the first row, since the kernel that a plan takes often comes late in a table. A
   table of a single rung does without: none of its rows is slow. */
static bool find_plan_seconds(struct bench_case *bench, const struct rung_wish *wish)
{
    struct bench_kernel kernel;
    struct fault refusal;
    bool done;

    bench->plan_seconds = INFINITY;
    if (!bench_case_prepare(bench, &bench->device, bench->op, wish, &kernel, &refusal))
        return true;
    bench->plan_seconds = 0.0; /* few runs suffice for this measurement itself */
    done = time_kernel(bench, &kernel, &bench->plan_seconds);
    bench->device.backend->release(bench->device.device, kernel.routine);
    return done;
}

/* One line of the table: prepare, compare, then time. A rung that does not apply says why and fails nothing.
 */
static bool bench_form(struct bench_case *bench, const struct rung_wish *wish)
{
    struct bench_stand *stand = &bench->device;
    struct bench_row row = {.wish = *wish};
    struct field *last = stand->fields[0];
    struct bench_kernel kernel;
    struct fault refusal;
    bool done;

    /* The fault of a refusal is a local one: a rung that does not apply is a line of the table, not the end
       of the bench. */
    if (!bench_case_prepare(bench, stand, bench->op, wish, &kernel, &refusal))
        return bench_table_refusal(bench, wish->rung, &refusal);
    row.form = kernel.form;
    done = bench_case_expect(bench, row.form.steps) &&
           bench_case_take_steps(bench, stand, &kernel, row.form.steps, &last) &&
           bench_case_compare(bench, stand, last, bench_case_planes(bench), 0, &row.equal);
    if (done && row.equal)
        done = time_kernel(bench, &kernel, &row.seconds);
    stand->backend->release(stand->device, kernel.routine);
    return done && take_row(bench, &row);
}

/* Values for rungs that take a coarsening, and a stride. */
static const unsigned swept_factors[] = {1, 2, 4, 8, 16, 32, 64};
static const unsigned swept_strides[] = {1, 2, 8, 32};

/* One line of a sweep over tiles: the same wish with another tile. */
static bool bench_tile(struct bench_case *bench, const struct rung_wish *wish, unsigned x, unsigned y)
{
    struct rung_wish tiled = *wish;

    tiled.tile_x = x;
    tiled.tile_y = y;
    return bench_form(bench, &tiled);
}

/* The square that the occupancy calculator suggests, unless the rung offers it, and tiles that the rung
 * offers. */
static bool sweep_tiles(struct bench_case *bench, const struct rung_wish *wish, const struct form *form)
{
    unsigned side = form->suggested_tile;
    bool offered = side == 0;
    size_t count = 0;

    for (; count < ROUTINE_TILES && form->offers[count].x > 0; count++)
        offered = offered || (form->offers[count].x == side && form->offers[count].y == side);
    if (!offered && !bench_tile(bench, wish, side, side))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!bench_tile(bench, wish, form->offers[i].x, form->offers[i].y))
            return false;
    }
    return true;
}

/* One line of a sweep: of a stage's rung, or of sums. */
typedef bool form_bench(struct bench_case *bench, const struct rung_wish *wish);

/* Factors, and strides where the rung has any. */
static bool sweep_coarsenings(struct bench_case *bench, form_bench *line, const struct rung_wish *wish,
                              bool strides)
{
    for (size_t i = 0; i < sizeof swept_factors / sizeof *swept_factors; i++) {
        for (size_t k = 0; k < (strides ? sizeof swept_strides / sizeof *swept_strides : 1); k++) {
            struct rung_wish coarsened = *wish;
            coarsened.coarsen = swept_factors[i];
            coarsened.stride = strides ? swept_strides[k] : 0;
            if (!line(bench, &coarsened))
                return false;
        }
    }
    return true;
}

/* Fewer steps a pass than the rung can take, where it takes so few. */
#define MOST_DEPTHS_SWEPT 16

static bool sweep_depths(struct bench_case *bench, const struct rung_wish *wish, unsigned most)
{
    struct rung_wish shallow = *wish;
    struct fault refusal;
    struct form form;

    for (shallow.steps = 1; shallow.steps < most && most <= MOST_DEPTHS_SWEPT; shallow.steps++) {
        if (bench_case_settle(bench, &shallow, &form, &refusal) && !bench_form(bench, &shallow))
            return false;
    }
    return true;
}

/* A rung's own form, then what can be swept and is not asked for by the command line. */
static bool bench_rung(struct bench_case *bench, const struct rung *rung)
{
    struct rung_wish wish = bench->request->plan.wish;
    struct fault refusal;
    struct form form;

    wish.rung = rung->name;
    wish.steps = bench->single ? 1 : 0;
    if (!bench_case_settle(bench, &wish, &form, &refusal))
        return bench_table_refusal(bench, rung->name, &refusal);
    if (!bench_form(bench, &wish))
        return false;
    if (form.tiles && wish.tile_x == 0 && !sweep_tiles(bench, &wish, &form))
        return false;
    if (form.coarsens && wish.coarsen == 0 && !sweep_coarsenings(bench, bench_form, &wish, form.strides))
        return false;
    return sweep_depths(bench, &wish, form.steps);
}

/* Keep the fastest form, and its speed on this number of devices, for later plans. */
static bool keep_best(struct bench_case *bench, double seconds, size_t devices)
{
    const struct rung_wish *wish = &bench->best.wish;
    struct wisdom_entry entry = {.tile_x = wish->tile_x,
                                 .tile_y = wish->tile_y,
                                 .coarsen = wish->coarsen,
                                 .stride = wish->stride,
                                 .steps = wish->steps,
                                 .updates = bench_case_cells(bench) / seconds};

    if (bench->best.form.rung == NULL)
        return true;
    snprintf(entry.rung, sizeof entry.rung, "%s", bench->best.form.rung->name);
    wisdom_name_device(&entry, bench->device.backend, bench->devices.indices[0], bench->request->plan.threads,
                       devices);
    wisdom_name_problem(&entry, bench->op, &bench->shape, bench->single);
    return wisdom_keep(&entry, bench->fault);
}

/* The fastest kernel on two of the devices that are named, on three, and so on. */
static bool bench_fleets(struct bench_case *bench)
{
    struct bench_fleet_row row;
    bool fits;

    for (size_t count = 2; bench->best.form.rung != NULL && count <= bench->devices.count; count++) {
        if (!bench_fleet_measure(bench, count, &row, &fits))
            return false;
        bench_table_fleet(bench, fits ? &row : NULL, count);
        bench->differs = bench->differs || (fits && !row.equal);
        if (bench->request->keep && fits && row.equal && !keep_best(bench, row.seconds, count))
            return false;
    }
    return true;
}

static bool bench_ladder(struct bench_case *bench)
{
    const struct rung_wish free = {.steps = bench->single ? 1 : 0};
    const char *asked = bench->request->plan.wish.rung;
    struct fault refusal;

    /* The operation is new: neither the rows nor the judge's bytes of the one before say anything about it.
       Then the form that a plan would take is settled, by which rows are marked. */
    bench->best.form.rung = bench->taken.form.rung = NULL;
    bench_case_forget(bench);
    if (!bench_case_settle(bench, &free, &bench->planned, &refusal))
        bench->planned.rung = NULL;
    bench_table_head(bench);
    bench->plan_seconds = INFINITY;
    if (asked == NULL && !find_plan_seconds(bench, &free))
        return false;
    for (const struct rung *rung = bench->device.backend->rungs; rung->name != NULL; rung++) {
        if ((asked == NULL || strcmp(asked, rung->name) == 0) && !bench_rung(bench, rung))
            return false;
    }
    /* Wisdom is kept before the line of the fastest row says so, and before several devices are tried, which
       takes long. */
    if (bench->request->keep && !keep_best(bench, bench->best.seconds, 1))
        return false;
    bench_table_best(bench);
    if (!bench_fleets(bench))
        return false;
    bench_table_end(bench);
    return true;
}

/* Rows that a plan takes, one for each operation that it makes of a step. */
struct taken_rows {
    struct bench_row rows[LOWER_OPS];
    size_t count;
};

/* The passes of a chain as one, if the device takes them so; `first` is the number of the first of them. So
   does a plan, unless that is only done if it is asked for. */
static bool bench_chain(struct bench_case *bench, const struct stage *stage, struct step *step, size_t index,
                        size_t first, struct taken_rows *taken)
{
    const struct rung_wish wish = {.rung = bench->request->plan.wish.rung, .steps = 1};
    const size_t passes = step->ops[index].pass_count;
    struct form form;
    struct fault refusal;
    char title[DIAG_TEXT];

    bench->op = &step->ops[index];
    bench->planned.rung = NULL;
    if (bench_case_settle(bench, &wish, &form, &refusal)) {
        /* The judge does not know joined passes; bench_case_expect has it take them one by one. */
        snprintf(title, sizeof title, "%s, operations %zu to %zu as one", stage->spec, first,
                 first + passes - 1);
        bench->title = title;
        if (!bench_ladder(bench))
            return false;
    }
    if (bench->planned.rung == NULL) {
        lower_part(step, index);
        return true;
    }
    /* One row takes the place of the rows of all passes that were joined; the rows behind them move up. */
    memmove(taken->rows + index + 1, taken->rows + index + passes,
            (step->count - index - 1) * sizeof *taken->rows);
    taken->rows[index] = bench->taken;
    taken->count = step->count;
    return true;
}

static bool bench_joined(struct bench_case *bench, const struct stage *stage, struct taken_rows *taken)
{
    struct step joined = bench->step;
    size_t next = 1;

    for (size_t i = 0; i < joined.count; i++) {
        size_t first = next, count;
        for (size_t most = LOWER_OPS; (count = lower_join(&joined, i, most)) > 0; most = count - 1) {
            if (!bench_chain(bench, stage, &joined, i, first, taken))
                return false;
            if (joined.ops[i].kind == OP_PASSES)
                break;
        }
        next += count > 0 ? count : 1;
    }
    return true;
}

/* Where the command line leaves out what a plan would take, nothing is known of the whole. */
static void bench_whole(struct bench_case *bench, const struct stage *stage, const struct taken_rows *taken)
{
    struct bench_whole whole = {.operations = taken->count};

    for (size_t i = 0; i < taken->count; i++) {
        const struct bench_row *row = &taken->rows[i];
        size_t used = strlen(whole.rungs);
        if (row->form.rung == NULL)
            return;
        snprintf(whole.rungs + used, sizeof whole.rungs - used, "%s%s", i > 0 ? " + " : "",
                 row->form.rung->name);
        whole.seconds += row->seconds;
        whole.bytes += row->form.bytes_per_update;
    }
    bench->title = stage->spec;
    bench_table_whole(bench, &whole);
}

/* The tables of a stage: one for each operation of its step, one for passes joined, and a line for the
   whole. */
static bool bench_ops(struct bench_case *bench, const struct stage *stage)
{
    struct taken_rows taken = {.count = bench->step.count};
    char title[DIAG_TEXT];

    bench->title = title;
    bench->single = forms_is_single(stage, &bench->step);
    for (size_t i = 0; i < bench->step.count; i++) {
        bench->op = &bench->step.ops[i];
        if (bench->step.count > 1)
            snprintf(title, sizeof title, "%s, operation %zu of %zu", stage->spec, i + 1, bench->step.count);
        else
            snprintf(title, sizeof title, "%s", stage->spec);
        if (!bench_ladder(bench))
            return false;
        taken.rows[i] = bench->taken;
    }
    if (!bench_joined(bench, stage, &taken))
        return false;
    if (bench->step.count > 1)
        bench_whole(bench, stage, &taken);
    return true;
}

/* ---- sums ---- */

static bool settle_sums(const struct bench_case *bench, const struct rung_wish *wish, struct form *form,
                        struct fault *fault)
{
    const struct bench_stand *stand = &bench->device;

    return stand->backend->settle_sums(stand->device, &bench->shape, bench->request->work, wish, form, fault);
}

/* One line of the table of sums: the changes between two fields. */
static bool bench_sum_form(struct bench_case *bench, const struct rung_wish *wish)
{
    struct bench_stand *stand = &bench->device, *judge = &bench->judge;
    size_t count = bench->shape.channels * bench->shape.planes, bytes = count * sizeof(double);
    struct bench_row row = {.wish = *wish};
    struct fault refusal;
    double *sums;
    bool done;

    if (!settle_sums(bench, wish, &row.form, &refusal))
        return bench_table_refusal(bench, wish->rung, &refusal);
    sums = mem_zeroed(2, bytes, "the sums", bench->fault);
    if (sums == NULL)
        return false;
    /* Sums have no routine of their own: the device is told by which form it adds from now on. The judge adds
       the same two fields by its own code, and every bit of every sum must agree. */
    stand->backend->add_by(stand->device, &row.form);
    done = bench_case_add_changes(bench, sums) &&
           judge->backend->change(judge->device, judge->fields[0], judge->fields[1], bench->shape.channels,
                                  false, bench_case_planes(bench), sums + count, bench->fault);
    row.equal = done && memcmp(sums, sums + count, bytes) == 0;
    if (done && row.equal)
        done = bench_case_measure(bench, bench_case_add_changes, sums, slow_call(bench, 1), &row.seconds);
    if (bench_case_is_planned(bench, &row.form))
        bench->plan_seconds = row.seconds;
    mem_free(sums);
    return done && take_row(bench, &row);
}

/* A way to add: as the device would have it, then with other numbers of samples a thread, unless the command
   line has one. */
static bool bench_sum_rung(struct bench_case *bench, const struct rung *rung)
{
    struct rung_wish wish = bench->request->plan.sums;
    struct form form;

    wish.rung = rung->name;
    if (wish.coarsen > 0)
        return bench_sum_form(bench, &wish);
    return bench_sum_form(bench, &wish) && settle_sums(bench, &wish, &form, bench->fault) &&
           sweep_coarsenings(bench, bench_sum_form, &wish, form.strides);
}

/* The ways to add, where the device has several and no rung of a stage alone is asked for. */
static bool bench_sums(struct bench_case *bench)
{
    const struct plan_request *plan = &bench->request->plan;
    const struct backend *backend = bench->device.backend;
    const struct rung_wish free = {.rung = NULL};

    if (backend->sum_rungs->name == NULL || (plan->wish.rung != NULL && plan->sums.rung == NULL))
        return true;
    bench->title = "changes of a step, added up";
    /* Sums belong to no operation: without one, the table leaves out what only rungs of stages have. */
    bench->op = NULL;
    bench->best.form.rung = NULL;
    bench->plan_seconds = INFINITY;
    if (!bench_case_fill(bench, &bench->judge, 1) || !bench_case_fill(bench, &bench->device, 1) ||
        !settle_sums(bench, &free, &bench->planned, bench->fault))
        return false;
    bench_table_head(bench);
    for (const struct rung *rung = backend->sum_rungs; rung->name != NULL; rung++) {
        if ((plan->sums.rung == NULL || strcmp(plan->sums.rung, rung->name) == 0) &&
            !bench_sum_rung(bench, rung))
            return false;
    }
    bench_table_best(bench);
    bench_table_end(bench);
    return true;
}

/* ---- stages ---- */

static bool bench_stage(struct bench_case *bench, const struct stage_request *request, bool last)
{
    bool only_sums = bench->request->plan.sums.rung != NULL && bench->request->plan.wish.rung == NULL;
    struct stage stage;
    bool done;

    if (!stage_build(request, &bench->request->grid, bench->request->force, &stage, bench->fault))
        return false;
    done = bench_case_open(bench, &stage) && (only_sums || bench_ops(bench, &stage)) &&
           (!last || bench_sums(bench));
    lower_free(&bench->step);
    stage_free(&stage);
    return done;
}

bool bench_run(FILE *stream, const struct bench_request *request, struct fault *fault)
{
    struct bench_case bench = {.request = request, .stream = stream, .fault = fault};
    bool done = true;

    for (size_t i = 0; done && i < request->stage_count; i++)
        done = bench_stage(&bench, &request->stages[i], i + 1 == request->stage_count);
    bench_case_close(&bench);
    if (!done)
        return false;
    if (request->json)
        fprintf(stream, "%s]\n", bench.json_begun ? "" : "[");
    return !bench.differs ||
           fault_raise(fault, STATUS_DEVICE, "--bench: the bytes of some rung differ: the table says which");
}
