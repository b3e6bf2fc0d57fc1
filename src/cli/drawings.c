/* Drawings: the pictures that a run leaves beside its output for people to look at. */
#include "drawings.h"

#include <stdio.h>

struct observers drawings_observers(struct drawings *drawings, const struct options *options)
{
    *drawings = (struct drawings){.options = options};
    drawings->observer = preview_observer(&drawings->preview);
    return (struct observers){&drawings->observer, options->preview != NULL};
}

bool drawings_open(struct drawings *drawings, struct fault *fault)
{
    const struct options *options = drawings->options;

    if ((options->preview != NULL && !preview_open(&drawings->preview, options->preview, fault)) ||
        (options->plot != NULL && !plot_open(&drawings->plot, options->plot, fault)))
        return false;
    if (options->sync && options->preview != NULL)
        file_out_sync(drawings->preview.file);
    if (options->sync && options->plot != NULL)
        file_out_sync(drawings->plot.file);
    return true;
}

static void draw_checks(struct plot *plot, const struct pipeline *pipeline)
{
    const struct job *job = &pipeline->job;
    const struct stage *last = &job->stages[job->stage_count - 1];
    const struct history *history = &pipeline->summary.looks;
    size_t kept = history_kept(history);
    char title[160];
    const struct plot_checks checks = {.title = title,
                                       .history = history,
                                       .until = last->until,
                                       .steps = kept > 0 ? history_at(history, kept - 1).step : 0,
                                       .unreached = pipeline->summary.unreached};

    snprintf(title, sizeof title, "RMS change of a step: %.120s", last->spec);
    plot_draw_checks(plot, &checks);
}

bool drawings_finish(struct drawings *drawings, const struct pipeline *pipeline, struct file_set *set,
                     struct fault *fault)
{
    const struct options *options = drawings->options;

    if (options->preview != NULL &&
        (!preview_finish(&drawings->preview, fault) || !file_set_add(set, drawings->preview.file, fault)))
        return false;
    if (options->plot == NULL)
        return true;
    draw_checks(&drawings->plot, pipeline);
    return plot_finish(&drawings->plot, fault) && file_set_add(set, drawings->plot.file, fault);
}

void drawings_close(struct drawings *drawings)
{
    preview_close(&drawings->preview);
    plot_close(&drawings->plot);
}
