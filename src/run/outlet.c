/* Outlets: the way from whole planes of a run into a file that may hold a part of each. */
#include "outlet.h"

bool outlet_write(struct outlet *outlet, void *samples, size_t planes, struct fault *fault)
{
    const struct job *job = outlet->job;

    if (!region_has_whole_planes(&job->region, &job->out.grid))
        region_cut(&job->region, &job->out.grid, sample_size(job->out.type), samples, planes);
    return sink_write(outlet->sink, samples, planes * job_written_planes(job), fault);
}
