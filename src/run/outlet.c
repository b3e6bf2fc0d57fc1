/* Outlets: the way from whole planes of a run into a file that may hold a part of each, and that several
   ranks may write. */
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

/* Where some planes of the grid go, in planes from the sink's place on, in one volume of a series. */
static struct range written_planes(const struct outlet *outlet, size_t volume, struct range planes)
{
    const struct job *job = outlet->job;
    const struct range all = outlet->sink->samples.apart ? job_window(job) : job_planes(job);
    size_t each = job_written_planes(job);

    return (struct range){(volume * all.count + planes.first - all.first) * each, planes.count * each};
}

static uint64_t offset_of(const struct outlet *outlet, const struct range *written)
{
    return outlet->sink->samples.begin + (uint64_t)written->first * header_plane_bytes(&outlet->sink->header);
}

bool outlet_open(struct outlet *outlet, size_t volume, const struct peers *peers, struct fault *fault)
{
    const struct range written = written_planes(outlet, volume, job_window(outlet->job));
    uint64_t begin = offset_of(outlet, &written);

    outlet->joint = peers_count(peers) > 1;
    return !outlet->joint || outlet->sink->samples.apart ||
           fringe_open(&outlet->fringe, outlet->sink->samples.file, begin,
                       begin + (uint64_t)written.count * header_plane_bytes(&outlet->sink->header), peers,
                       fault);
}

bool outlet_write_at(struct outlet *outlet, void *samples, size_t volume, struct range planes,
                     struct fault *fault)
{
    const struct range written = written_planes(outlet, volume, planes);

    cut(outlet->job, samples, planes.count);
    return outlet->fringe.file == NULL
               ? sink_write_at(outlet->sink, samples, written.first, written.count, fault)
               : fringe_write(&outlet->fringe, offset_of(outlet, &written), samples,
                              written.count * header_plane_bytes(&outlet->sink->header), fault);
}

bool outlet_gather(const struct outlet *outlet, struct peers *peers, struct fault *fault)
{
    return outlet->fringe.file == NULL || fringe_gather(&outlet->fringe, peers, fault);
}

void outlet_close(struct outlet *outlet)
{
    fringe_close(&outlet->fringe);
}
