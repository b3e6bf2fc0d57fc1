/* The table that a bench prints, as text or as JSON. */
#include "bench_table.h"

#include "base/json.h"
#include "base/number.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

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
    if (bench->op == NULL || (bench->op->kind != OP_TAPS && bench->op->kind != OP_PASSES))
        return NAN;
    return bench_case_cells(bench) / row->seconds * (double)bench->op->tap_count / bench->multiply_adds;
}

/* Blocks of threads, with registers and shared memory of their own: columns of a GPU's table. */
static bool has_blocks(const struct bench_case *bench)
{
    return bench->device.backend != &backend_cpu;
}

static void print_extents(const struct bench_case *bench)
{
    const struct grid *grid = &bench->request->grid;
    size_t extents[3] = {grid->nx, grid->ny, grid->nz};
    char text[96];

    fprintf(bench->stream, "%s: %s %s", bench->title,
            number_format_product(extents, grid->axes, text, sizeof text), work_name(bench->request->work));
}

void bench_table_head(struct bench_case *bench)
{
    const struct shape *shape = &bench->shape;

    if (bench->request->json)
        return;
    print_extents(bench);
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
    fprintf(bench->stream, "%6s %9s %9s %7s %6s %6s %-6s %s\n", "OP/B", "ms/step",
            bench->request->pictures ? "Mpx/s" : "GCells/s", "GB/s", "copy", "fma", "bytes", "comment");
}

static void remark(char *text, size_t size, const char *format, ...) DIAG_PRINTF(3, 4);

/* Add to a comment. */
static void remark(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;

    if (used > 0 && used + 2 < size)
        used += (size_t)snprintf(text + used, size - used, ", ");
    va_start(arguments, format);
    if (used < size)
        vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* What a reader would ask about the row next. */
static void comment(const struct bench_case *bench, const struct bench_row *row, char *text, size_t size)
{
    const struct form *form = &row->form;

    *text = '\0';
    if (bench_case_is_planned(bench, form))
        remark(text, size, "what a plan takes");
    if (row->wish.tile_x > 0 && row->wish.tile_x == form->suggested_tile)
        remark(text, size, "tile suggested by the occupancy calculator");
    if (form->local_bytes > 0)
        remark(text, size, "%zu bytes a thread spilled", form->local_bytes);
    if (form->bound != NULL)
        remark(text, size, "blocks limited by %s", form->bound);
    if (form->bound != NULL && form->waves < 1.0)
        remark(text, size, "fills %.0f %% of the device", 100.0 * form->waves);
}

static void print_text_row(struct bench_case *bench, const struct bench_row *row)
{
    const struct form *form = &row->form;
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
                bench_case_rate(bench, row->seconds) / (bench->request->pictures ? 1e6 : 1e9), moved / 1e9,
                100.0 * moved / bench->copy_speed, multiplied, "equal", words);
    else
        fprintf(bench->stream, "%9s %9s %7s %6s %6s %-6s %s\n", "-", "-", "-", "-", multiplied, "DIFFER",
                words);
}

/* What rows and refusals have in common. */
static void begin_json_row(struct bench_case *bench, const char *rung)
{
    const struct grid *grid = &bench->request->grid;
    FILE *stream = bench->stream;

    fprintf(stream, "%s{\"table\": ", bench->json_begun ? ",\n " : "[");
    json_text(stream, bench->title);
    fprintf(stream,
            ", \"extents\": [%zu, %zu, %zu], \"channels\": %u, \"work\": \"%s\", \"rung\": ", grid->nx,
            grid->ny, grid->nz, bench->shape.channels, work_name(bench->request->work));
    json_text(stream, rung);
    bench->json_begun = true;
}

static void print_json_times(const struct bench_case *bench, const struct bench_row *row)
{
    double rate = bench_case_cells(bench) / row->seconds, moved = rate * row->form.bytes_per_update;
    FILE *stream = bench->stream;

    fprintf(stream, ", ");
    json_number(stream, "seconds_per_step", row->seconds);
    fprintf(stream, ", ");
    json_number(stream, bench->request->pictures ? "pixels_per_second" : "cells_per_second",
                bench_case_rate(bench, row->seconds));
    fprintf(stream, ", ");
    json_number(stream, "bytes_per_second", moved);
    fprintf(stream, ", ");
    json_number(stream, "share_of_copy", moved / bench->copy_speed);
    fprintf(stream, ", ");
    json_number(stream, "share_of_multiply_adds", share_of_multiply_adds(bench, row));
}

static void print_json_row(struct bench_case *bench, const struct bench_row *row)
{
    const struct form *form = &row->form;
    FILE *stream = bench->stream;
    char words[256];

    begin_json_row(bench, form->rung->name);
    fprintf(stream, ", \"tile\": [%u, %u, %u], \"coarsen\": %u, \"stride\": %u, \"steps\": %u, ",
            form->tile_x, form->tile_y, form->tile_z, form->coarsen, form->stride, form->steps);
    fprintf(stream, "\"threads\": %u, \"warps\": %u, \"registers\": %u, \"local_bytes\": %zu, ",
            threads_of(form), (threads_of(form) + 31) / 32, form->registers, form->local_bytes);
    fprintf(stream, "\"shared_bytes\": %zu, \"blocks_per_multiprocessor\": %u, ", form->shared_bytes,
            form->blocks_per_multiprocessor);
    json_number(stream, "occupancy", form->occupancy);
    fprintf(stream, ", ");
    json_number(stream, "operations_per_byte", form->operations_per_update / form->bytes_per_update);
    fprintf(stream, ", ");
    json_number(stream, "copy_bytes_per_second", bench->copy_speed);
    fprintf(stream, ", ");
    json_number(stream, "multiply_adds_per_second", bench->multiply_adds);
    fprintf(stream, ", \"equal\": %s, \"compared_with\": \"%s\"", row->equal ? "true" : "false",
            judge_name(bench));
    if (row->equal)
        print_json_times(bench, row);
    comment(bench, row, words, sizeof words);
    fprintf(stream, ", \"comment\": ");
    json_text(stream, words);
    fprintf(stream, "}");
}

void bench_table_row(struct bench_case *bench, const struct bench_row *row)
{
    if (bench->request->json)
        print_json_row(bench, row);
    else
        print_text_row(bench, row);
    fflush(bench->stream);
}

void bench_table_refusal(struct bench_case *bench, const char *rung, const struct fault *refusal)
{
    if (bench->request->json) {
        begin_json_row(bench, rung);
        fprintf(bench->stream, ", \"refused\": ");
        json_text(bench->stream, refusal->text);
        fprintf(bench->stream, "}");
    } else {
        fprintf(bench->stream, "%-11s does not apply: %s\n", rung, refusal->text);
    }
}

void bench_table_best(struct bench_case *bench)
{
    const struct bench_row *best = &bench->best;

    if (!bench->request->json && best->form.rung != NULL)
        fprintf(bench->stream, "fastest: %s, %.4f ms a step%s\n", best->form.rung->name, 1e3 * best->seconds,
                bench->request->keep && bench->op != NULL ? ": kept as wisdom" : "");
}

/* ---- several devices ---- */

static double rate_in_units(const struct bench_case *bench, double seconds)
{
    return bench_case_rate(bench, seconds) / (bench->request->pictures ? 1e6 : 1e9);
}

/* Of so many times the speed of one. */
static double share_of_ideal(const struct bench_case *bench, const struct bench_fleet_row *row)
{
    return bench->best.seconds / row->seconds / (double)row->count;
}

static void print_text_fleet(struct bench_case *bench, const struct bench_fleet_row *row)
{
    fprintf(bench->stream,
            "on %zu devices: %.4f ms a step, %.2f %s, %.1f %% of %zu times the speed of one; bytes equal%s\n",
            row->count, 1e3 * row->seconds, rate_in_units(bench, row->seconds),
            bench->request->pictures ? "Mpx/s" : "GCells/s", 100.0 * share_of_ideal(bench, row), row->count,
            bench->request->keep ? ": kept as wisdom" : "");
    for (size_t i = 0; i < row->count; i++) {
        const struct bench_share *share = &row->shares[i];
        char bytes[32];
        fprintf(bench->stream, "  %s:%d: computed %.4f ms a step, was handed %s in %.4f ms\n", share->backend,
                share->index, 1e3 * share->compute,
                number_format_bytes(share->handed_bytes, bytes, sizeof bytes), 1e3 * share->handing);
    }
}

static void print_json_shares(FILE *stream, const struct bench_fleet_row *row)
{
    fprintf(stream, ", \"shares\": [");
    for (size_t i = 0; i < row->count; i++) {
        const struct bench_share *share = &row->shares[i];
        fprintf(stream, "%s{\"device\": \"%s:%d\", ", i > 0 ? ", " : "", share->backend, share->index);
        json_number(stream, "compute", share->compute);
        fprintf(stream, ", ");
        json_number(stream, "handed_bytes", share->handed_bytes);
        fprintf(stream, ", ");
        json_number(stream, "handed_seconds", share->handing);
        fprintf(stream, "}");
    }
    fprintf(stream, "]");
}

static void print_json_fleet(struct bench_case *bench, const struct bench_fleet_row *row)
{
    FILE *stream = bench->stream;

    json_number(stream, "seconds_per_step", row->seconds);
    fprintf(stream, ", ");
    json_number(stream, bench->request->pictures ? "pixels_per_second" : "cells_per_second",
                bench_case_rate(bench, row->seconds));
    fprintf(stream, ", ");
    json_number(stream, "share_of_ideal", share_of_ideal(bench, row));
    print_json_shares(stream, row);
}

/* The members of other rows, as far as several devices have them. */
static void print_json_fleet_row(struct bench_case *bench, const struct bench_fleet_row *row, size_t count)
{
    FILE *stream = bench->stream;

    begin_json_row(bench, bench->best.form.rung->name);
    fprintf(stream, ", \"devices\": %zu, ", count);
    if (row == NULL)
        fprintf(stream, "\"refused\": \"a share has fewer planes than a pass reads beside it\"");
    else
        fprintf(stream, "\"steps\": %u, \"equal\": %s", row->form.steps, row->equal ? "true" : "false");
    if (row != NULL && row->equal) {
        fprintf(stream, ", ");
        print_json_fleet(bench, row);
    }
    fprintf(stream, "}");
}

void bench_table_fleet(struct bench_case *bench, const struct bench_fleet_row *row, size_t count)
{
    if (bench->request->json)
        print_json_fleet_row(bench, row, count);
    else if (row == NULL)
        fprintf(bench->stream, "on %zu devices: a share has fewer planes than a pass reads beside it\n",
                count);
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
}
