/* Outlets: the way from whole planes of a run into a file that may hold a part of each. */
#include "outlet.h"

static void cut(const struct job *job, void *samples, size_t planes)
{
    if (!region_has_whole_planes(&job->region, &job->out.grid))
        region_cut(&job->region, &job->out.grid, sample_size(job->out.type), samples, planes);
}

bool outlet_write(struct outlet *outlet, void *samples, size_t planes, struct fault *fault)
{
    const struct job *job = outlet->job;

    cut(job, samples, planes);
    return sink_write(outlet->sink, samples, planes * job_written_planes(job), fault);
}

bool outlet_write_at(struct outlet *outlet, void *samples, size_t volume, struct range planes,
                     struct fault *fault)
{
    const struct job *job = outlet->job;
    const struct range window = job_window(job);
    size_t each = job_written_planes(job), first = volume * window.count + planes.first - window.first;

    cut(job, samples, planes.count);
    return sink_write_at(outlet->sink, samples, first * each, planes.count * each, fault);
}
