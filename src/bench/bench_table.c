/* The table that a bench prints, as text or as JSON, and its rows as bars of a plot.

   Rows are printed as they are measured. Each compares its rate with two limits of the device: a copy, which
   reads and writes each sample once, and the multiply-adds that it could do. A pass of several steps moves
   fewer bytes a step than a copy does, and so may exceed it. */
#include "bench_table.h"

#include "base/json.h"
#include "base/number.h"
#include "plot.h"

#include <math.h>

static unsigned threads_of(const struct form *form)
{
    return form->block[0] * form->block[1] * form->block[2];
}

static const char *judge_name(const struct bench_case *bench)
{
    return bench->device.backend == &backend_cpu ? "one thread of the baseline build" : "the CPU";
}

/* Taps added up a second by the multiply-adds that the device could do; NAN where either is unknown: an
   update that is not a chain of taps is more than multiply-adds. */
static double share_of_multiply_adds(const struct bench_case *bench, const struct bench_row *row)
{
    const struct op *op = bench->op;

    if (op == NULL || (op->kind != OP_TAPS && op->kind != OP_PASSES))
        return NAN;
    /* Joined passes chain weights only where samples are missing. Of those that are measured, none is. */
    const double chained = bench_case_cells(bench) * op->channels / bench->shape.channels;
    return chained / row->seconds * (double)op->tap_count / bench->multiply_adds;
}

/* The unit of rates: pixels of pictures, cells of volumes. */
struct unit {
    double count;
    const char *name;
};

static struct unit unit_of(const struct bench_case *bench)
{
    return bench->request->pictures ? (struct unit){1e6, "Mpx/s"} : (struct unit){1e9, "GCells/s"};
}

static double rate_in_units(const struct bench_case *bench, double seconds)
{
    return bench_case_rate(bench, seconds) / unit_of(bench).count;
}

/* Blocks of threads, with registers and shared memory of their own: columns of a GPU's table. The CPU's rungs
   leave these columns out. */
static bool has_blocks(const struct bench_case *bench)
{
    return bench->device.backend != &backend_cpu;
}

void bench_table_head(struct bench_case *bench)
{
    const struct shape *shape = &bench->shape;

    if (bench->request->json)
        return;
    fprintf(bench->stream, "%s: %s %s", bench->title, grid_format_extents(&bench->request->grid).text,
            work_name(bench->request->work));
    if (shape->channels > 1)
        fprintf(bench->stream, " with %u channels", shape->channels);
    fprintf(bench->stream, ", copy %.4g GB/s read and written", bench->copy_speed / 1e9);
    if (!isnan(bench->multiply_adds))
        fprintf(bench->stream, ", %.4g G multiply-adds/s", bench->multiply_adds / 1e9);
    fprintf(bench->stream, ", bytes compared with those of %s\n", judge_name(bench));
    fprintf(bench->stream, "%-11s %-9s %-8s %5s ", "rung", "tile", "coarsen", "steps");
    if (has_blocks(bench))
        fprintf(bench->stream, "%7s %5s %4s %8s %9s %5s ", "threads", "warps", "regs", "shared", "blocks/SM",
                "occ.");
    fprintf(bench->stream, "%6s %9s %9s %7s %6s %6s %-6s %s\n", "OP/B", "ms/step", unit_of(bench).name,
            "GB/s", "copy", "fma", "bytes", "comment");
}

#define WHAT_A_PLAN_TAKES "what a plan takes"

/* Why the row is as fast as it is. */
static void comment(const struct bench_case *bench, const struct bench_row *row, char *text, size_t size)
{
    const struct form *form = &row->form;

    *text = '\0';
    if (bench_case_is_planned(bench, form))
        diag_append(text, size, WHAT_A_PLAN_TAKES);
    if (row->wish.tile_x > 0 && row->wish.tile_x == form->suggested_tile)
        diag_append(text, size, "%stile suggested by the occupancy calculator", diag_comma(text));
    if (form->local_bytes > 0)
        diag_append(text, size, "%s%zu bytes a thread spilled", diag_comma(text), form->local_bytes);
    if (form->bound != NULL)
        diag_append(text, size, "%sblocks limited by %s", diag_comma(text), form->bound);
    if (form->bound != NULL && form->waves < 1.0)
        diag_append(text, size, ", fills %.0f %% of the device", 100.0 * form->waves);
}

static void print_text_row(struct bench_case *bench, const struct bench_row *row)
{
    const struct form *form = &row->form;
    /* The traffic is what the form must move, not what the device did move: a cache that fails shows as a low
       figure. */
    double moved = bench_case_cells(bench) / row->seconds * form->bytes_per_update;
    double share = share_of_multiply_adds(bench, row);
    char tile[32], coarsen[32], multiplied[32] = "-", words[256];

    snprintf(tile, sizeof tile, form->tile_z > 1 ? "%ux%ux%u" : "%ux%u", form->tile_x, form->tile_y,
             form->tile_z);
    snprintf(coarsen, sizeof coarsen, form->stride > 1 ? "%ux%u" : "%u", form->coarsen, form->stride);
    if (row->equal && !isnan(share))
        snprintf(multiplied, sizeof multiplied, "%.0f%%", 100.0 * share);
    comment(bench, row, words, sizeof words);
    fprintf(bench->stream, "%-11s %-9s %-8s %5u ", form->rung->name, form->tile_x > 0 ? tile : "-",
            form->coarsen > 0 ? coarsen : "-", form->steps);
    if (has_blocks(bench))
        fprintf(bench->stream, "%7u %5u %4u %8zu %9u %4.0f%% ", threads_of(form),
                (threads_of(form) + 31) / 32, form->registers, form->shared_bytes,
                form->blocks_per_multiprocessor, 100.0 * form->occupancy);
    fprintf(bench->stream, "%6.2f ", form->operations_per_update / form->bytes_per_update);
    if (row->equal)
        fprintf(bench->stream, "%9.4f %9.2f %7.0f %5.0f%% %6s %-6s %s\n", 1e3 * row->seconds,
                rate_in_units(bench, row->seconds), moved / 1e9, 100.0 * moved / bench->copy_speed,
                multiplied, "equal", words);
    else
        fprintf(bench->stream, "%9s %9s %7s %6s %6s %-6s %s\n", "-", "-", "-", "-", multiplied, "DIFFER",
                words);
}

/* The members that all rows have. Each row of the array is on a line of its own. */
static struct json begin_json_row(struct bench_case *bench, const char *rung)
{
    const struct grid *grid = &bench->request->grid;
    struct json json = {.stream = bench->stream};

    fputs(bench->json_begun ? ",\n " : "[", bench->stream);
    bench->json_begun = true;
    json_begin_object(&json, NULL);
    json_text(&json, "table", bench->title);
    json_counts(&json, "extents", (const uint64_t[]){grid->nx, grid->ny, grid->nz}, 3);
    json_count(&json, "channels", bench->shape.channels);
    json_text(&json, "work", work_name(bench->request->work));
    json_text(&json, "rung", rung);
    return json;
}

static void print_json_rate(const struct bench_case *bench, struct json *json, double seconds)
{
    json_number(json, "seconds_per_step", seconds);
    json_number(json, bench->request->pictures ? "pixels_per_second" : "cells_per_second",
                bench_case_rate(bench, seconds));
}

/* `bytes` of memory traffic for an update. */
static void print_json_times(const struct bench_case *bench, struct json *json, double seconds, double bytes)
{
    double moved = bench_case_cells(bench) / seconds * bytes;

    print_json_rate(bench, json, seconds);
    json_number(json, "bytes_per_second", moved);
    json_number(json, "share_of_copy", moved / bench->copy_speed);
}

static void print_json_row(struct bench_case *bench, const struct bench_row *row)
{
    const struct form *form = &row->form;
    struct json json = begin_json_row(bench, form->rung->name);
    char words[256];

    json_counts(&json, "tile", (const uint64_t[]){form->tile_x, form->tile_y, form->tile_z}, 3);
    json_count(&json, "coarsen", form->coarsen);
    json_count(&json, "stride", form->stride);
    json_count(&json, "steps", form->steps);
    json_count(&json, "threads", threads_of(form));
    json_count(&json, "warps", (threads_of(form) + 31) / 32);
    json_count(&json, "registers", form->registers);
    json_count(&json, "local_bytes", form->local_bytes);
    json_count(&json, "shared_bytes", form->shared_bytes);
    json_count(&json, "blocks_per_multiprocessor", form->blocks_per_multiprocessor);
    json_number(&json, "occupancy", form->occupancy);
    json_number(&json, "operations_per_byte", form->operations_per_update / form->bytes_per_update);
    json_number(&json, "copy_bytes_per_second", bench->copy_speed);
    json_number(&json, "multiply_adds_per_second", bench->multiply_adds);
    json_flag(&json, "equal", row->equal);
    json_text(&json, "compared_with", judge_name(bench));
    if (row->equal) {
        print_json_times(bench, &json, row->seconds, form->bytes_per_update);
        json_number(&json, "share_of_multiply_adds", share_of_multiply_adds(bench, row));
    }
    comment(bench, row, words, sizeof words);
    json_text(&json, "comment", words);
    json_end_object(&json);
}

/* ---- as bars of a plot ---- */

static void name_row(const struct form *form, char *text, size_t size)
{
    snprintf(text, size, "%s", form->rung->name);
    if (form->tile_x > 0)
        diag_append(text, size, " %ux%u", form->tile_x, form->tile_y);
    if (form->tile_z > 1)
        diag_append(text, size, "x%u", form->tile_z);
    if (form->coarsen > 0)
        diag_append(text, size, ", coarsened %u", form->coarsen);
    if (form->stride > 1)
        diag_append(text, size, "x%u", form->stride);
    if (form->steps > 0)
        diag_append(text, size, ", %u step%s", form->steps, number_plural(form->steps));
}

/* A rung that does not apply, which has no row, is shown by its name. */
static bool plot_row(struct bench_case *bench, const char *rung, const struct bench_row *row)
{
    struct plot_bar bar = {.chosen = row != NULL && bench_case_is_planned(bench, &row->form)};

    if (bench->request->plot == NULL)
        return true;
    if (row == NULL)
        snprintf(bar.label, sizeof bar.label, "%s", rung);
    else
        name_row(&row->form, bar.label, sizeof bar.label);
    if (row != NULL && row->equal)
        bar.value = rate_in_units(bench, row->seconds);
    else
        snprintf(bar.missing, sizeof bar.missing, row == NULL ? "does not apply" : "bytes differ");
    return plot_add_bar(bench->request->plot, &bar, bench->fault);
}

/* The title of a chart, which must say on its own what was measured and on which device. */
static void describe(const struct bench_case *bench, char *text, size_t size)
{
    char device[256];

    bench->device.backend->describe(bench->devices.indices[0], device, sizeof device);
    snprintf(text, size, "%.120s: %s %s on %s", bench->title, grid_format_extents(&bench->request->grid).text,
             work_name(bench->request->work), device);
}

static void end_plot(struct bench_case *bench)
{
    const char *unit = unit_of(bench).name;
    double bytes = bench_case_cells(bench) * 2.0 * (double)work_size(bench->request->work);
    char title[512], copy[128];
    const struct plot_chart chart = {.title = title,
                                     .unit = unit,
                                     .line_label = copy,
                                     .chosen_label = WHAT_A_PLAN_TAKES,
                                     /* Steps that read and write each sample once; a pass of several may
                                        exceed it. */
                                     .line = rate_in_units(bench, bytes / bench->copy_speed)};

    if (bench->request->plot == NULL)
        return;
    describe(bench, title, sizeof title);
    snprintf(copy, sizeof copy, "the speed of a copy, %.4g GB/s: %.4g %s if each step is a pass over memory",
             bench->copy_speed / 1e9, chart.line, unit);
    plot_end_bars(bench->request->plot, &chart);
}

/* ---- rows ---- */

bool bench_table_row(struct bench_case *bench, const struct bench_row *row)
{
    if (bench->request->json)
        print_json_row(bench, row);
    else
        print_text_row(bench, row);
    fflush(bench->stream);
    return plot_row(bench, row->form.rung->name, row);
}

bool bench_table_refusal(struct bench_case *bench, const char *rung, const struct fault *refusal)
{
    /* A refusal has the members that name the row, and its reason in place of figures. */
    if (bench->request->json) {
        struct json json = begin_json_row(bench, rung);
        json_text(&json, "refused", refusal->text);
        json_end_object(&json);
    } else {
        fprintf(bench->stream, "%-11s does not apply: %s\n", rung, refusal->text);
    }
    return plot_row(bench, rung, NULL);
}

void bench_table_best(struct bench_case *bench)
{
    const struct bench_row *best = &bench->best;

    if (!bench->request->json && best->form.rung != NULL)
        fprintf(bench->stream, "fastest: %s, %.4f ms a step%s\n", best->form.rung->name, 1e3 * best->seconds,
                bench->request->keep && bench->op != NULL ? ": kept as wisdom" : "");
}

/* ---- several devices ---- */

#define SMALL_SHARES "a share has fewer planes than a pass reads beside it"

/* The speed of `count` devices as a share of `count` times that of one. */
static double share_of_ideal(const struct bench_case *bench, const struct bench_fleet_row *row)
{
    return bench->best.seconds / row->seconds / (double)row->count;
}

static void print_text_fleet(struct bench_case *bench, const struct bench_fleet_row *row)
{
    fprintf(bench->stream,
            "on %zu devices: %.4f ms a step, %.2f %s, %.1f %% of %zu times the speed of one; bytes equal%s\n",
            row->count, 1e3 * row->seconds, rate_in_units(bench, row->seconds), unit_of(bench).name,
            100.0 * share_of_ideal(bench, row), row->count, bench->request->keep ? ": kept as wisdom" : "");
    for (size_t i = 0; i < row->count; i++) {
        const struct bench_share *share = &row->shares[i];
        fprintf(bench->stream, "  %s:%d: computed %.4f ms a step, was handed %s in %.4f ms\n", share->backend,
                share->index, 1e3 * share->compute, number_format_bytes(share->handed_bytes).text,
                1e3 * share->handing);
    }
}

static void print_json_share(struct json *json, const struct bench_share *share)
{
    json_begin_object(json, NULL);
    json_format(json, "device", "\"%s:%d\"", share->backend, share->index);
    json_number(json, "compute", share->compute);
    json_number(json, "handed_bytes", share->handed_bytes);
    json_number(json, "handed_seconds", share->handing);
    json_end_object(json);
}

/* The members of other rows, as far as several devices have them. */
static void print_json_fleet(struct bench_case *bench, const struct bench_fleet_row *row, size_t count)
{
    struct json json = begin_json_row(bench, bench->best.form.rung->name);

    json_count(&json, "devices", count);
    if (row == NULL) {
        json_text(&json, "refused", SMALL_SHARES);
    } else {
        json_count(&json, "steps", bench->best.form.steps);
        json_flag(&json, "equal", row->equal);
    }
    if (row != NULL && row->equal) {
        print_json_rate(bench, &json, row->seconds);
        json_number(&json, "share_of_ideal", share_of_ideal(bench, row));
        json_begin_array(&json, "shares");
        for (size_t i = 0; i < row->count; i++)
            print_json_share(&json, &row->shares[i]);
        json_end_array(&json);
    }
    json_end_object(&json);
}

void bench_table_fleet(struct bench_case *bench, const struct bench_fleet_row *row, size_t count)
{
    if (bench->request->json)
        print_json_fleet(bench, row, count);
    else if (row == NULL)
        fprintf(bench->stream, "on %zu devices: " SMALL_SHARES "\n", count);
    else if (!row->equal)
        fprintf(bench->stream, "on %zu devices: bytes DIFFER\n", count);
    else
        print_text_fleet(bench, row);
    fflush(bench->stream);
}

void bench_table_end(struct bench_case *bench)
{
    if (!bench->request->json)
        fprintf(bench->stream, "\n");
    end_plot(bench);
}

/* ---- all operations of a stage ---- */

static void print_text_whole(struct bench_case *bench, const struct bench_whole *whole)
{
    double moved = bench_case_cells(bench) / whole->seconds * whole->bytes;

    fprintf(bench->stream,
            "%s, all %zu operations: %s, %.4f ms a step, %.2f %s, %.0f GB/s, %.0f%% of a copy: %s\n\n",
            bench->title, whole->operations, whole->rungs, 1e3 * whole->seconds,
            rate_in_units(bench, whole->seconds), unit_of(bench).name, moved / 1e9,
            100.0 * moved / bench->copy_speed, WHAT_A_PLAN_TAKES);
}

/* The members of other rows, as far as a sum of rows has them. */
static void print_json_whole(struct bench_case *bench, const struct bench_whole *whole)
{
    struct json json = begin_json_row(bench, whole->rungs);

    json_count(&json, "operations", whole->operations);
    json_number(&json, "copy_bytes_per_second", bench->copy_speed);
    print_json_times(bench, &json, whole->seconds, whole->bytes);
    json_text(&json, "comment", WHAT_A_PLAN_TAKES);
    json_end_object(&json);
}

void bench_table_whole(struct bench_case *bench, const struct bench_whole *whole)
{
    if (bench->request->json)
        print_json_whole(bench, whole);
    else
        print_text_whole(bench, whole);
}
