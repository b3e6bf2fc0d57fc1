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

/* Planes of the file that are those of some planes of the grid, in one volume of a series. */
static struct range written_planes(const struct job *job, size_t volume, struct range planes)
{
    const struct range all = job_planes(job);
    size_t each = job_written_planes(job);

    return (struct range){(volume * all.count + planes.first - all.first) * each, planes.count * each};
}

struct range outlet_bytes(const struct outlet *outlet, size_t volume)
{
    const struct range planes = written_planes(outlet->job, volume, job_window(outlet->job));
    size_t plane = header_plane_bytes(&outlet->sink->header);

    return (struct range){outlet->sink->samples.begin + planes.first * plane, planes.count * plane};
}

bool outlet_write_at(struct outlet *outlet, void *samples, size_t volume, struct range planes,
                     struct fault *fault)
{
    const struct range written = written_planes(outlet->job, volume, planes);
    size_t plane = header_plane_bytes(&outlet->sink->header);

    cut(outlet->job, samples, planes.count);
    return outlet->fringe == NULL
               ? sink_write_at(outlet->sink, samples, written.first, written.count, fault)
               : fringe_write(outlet->fringe, outlet->sink->samples.begin + (uint64_t)written.first * plane,
                              samples, written.count * plane, fault);
}
