/* The plot of a bench: a chart of bars for each table. */
#include "bench_plot.h"

#include "base/number.h"
#include "plot.h"

#include <math.h>
#include <string.h>

/* Cells, or pixels, in a unit of the axis. */
static double unit_of(const struct bench_case *bench)
{
    return bench->request->pictures ? 1e6 : 1e9;
}

static void name_row(const struct form *form, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", form->rung->name);

    if (form->tile_x > 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, " %ux%u", form->tile_x, form->tile_y);
    if (form->tile_z > 1 && used < size)
        used += (size_t)snprintf(text + used, size - used, "x%u", form->tile_z);
    if (form->coarsen > 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, ", coarsened %u", form->coarsen);
    if (form->stride > 1 && used < size)
        used += (size_t)snprintf(text + used, size - used, "x%u", form->stride);
    if (form->steps > 0 && used < size)
        snprintf(text + used, size - used, ", %u step%s", form->steps, number_plural(form->steps));
}

bool bench_plot_row(struct bench_case *bench, const struct bench_row *row)
{
    struct plot_bar bar = {.chosen = bench_case_is_planned(bench, &row->form)};

    if (bench->request->plot == NULL)
        return true;
    name_row(&row->form, bar.label, sizeof bar.label);
    if (row->equal)
        bar.value = bench_case_rate(bench, row->seconds) / unit_of(bench);
    else
        snprintf(bar.missing, sizeof bar.missing, "bytes differ");
    return plot_add_bar(bench->request->plot, &bar, bench->fault);
}

bool bench_plot_refusal(struct bench_case *bench, const char *rung)
{
    struct plot_bar bar = {.missing = "does not apply"};

    if (bench->request->plot == NULL)
        return true;
    snprintf(bar.label, sizeof bar.label, "%s", rung);
    return plot_add_bar(bench->request->plot, &bar, bench->fault);
}

static void describe(const struct bench_case *bench, char *text, size_t size)
{
    const struct grid *grid = &bench->request->grid;
    char extents[80], device[256];

    int used = snprintf(extents, sizeof extents, "%zu", grid->nx);

    if (grid->axes > 1)
        used += snprintf(extents + used, sizeof extents - (size_t)used, " x %zu", grid->ny);
    if (grid->axes == 3)
        snprintf(extents + used, sizeof extents - (size_t)used, " x %zu", grid->nz);
    bench->device.backend->describe(bench->devices.indices[0], device, sizeof device);
    snprintf(text, size, "%.120s: %s %s on %s", bench->title, extents, work_name(bench->request->work),
             device);
}

/* What a step costs that moves each sample once: a pass of several steps may be faster. */
static double rate_of_copy(const struct bench_case *bench)
{
    double bytes = bench_case_cells(bench) * 2.0 * (double)work_size(bench->request->work);

    return bench_case_rate(bench, bytes / bench->copy_speed) / unit_of(bench);
}

void bench_plot_end(struct bench_case *bench)
{
    const char *unit = bench->request->pictures ? "Mpx/s" : "GCells/s";
    char title[512], copy[128];
    const struct plot_chart chart = {.title = title,
                                     .unit = unit,
                                     .line_label = copy,
                                     .chosen_label = "what a plan takes",
                                     .line = rate_of_copy(bench)};

    if (bench->request->plot == NULL)
        return;
    describe(bench, title, sizeof title);
    snprintf(copy, sizeof copy, "the speed of a copy, %.4g GB/s: %.4g %s if each step is a pass over memory",
             bench->copy_speed / 1e9, chart.line, unit);
    plot_end_bars(bench->request->plot, &chart);
}
