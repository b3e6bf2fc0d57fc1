/* Losses: samples that were not written as what they came to. */
#include "loss.h"

struct loss loss_of(const struct job *job, const struct run_summary *summary)
{
    const struct outcomes *outcomes = &summary->outcomes;
    const struct stretch ends = encoding_stretch(&job->encode);
    struct loss loss = {.samples = job->in.volumes * job->planes.count * grid_plane_samples(&job->out.grid),
                        .of_planes = !region_has_whole_planes(&job->region, &job->out.grid),
                        .integers = sample_is_integer(job->out.type),
                        .least = ends.least,
                        .greatest = ends.greatest,
                        .strays_in = outcomes->strays};

    loss.cuts = loss.integers || job->encode.ranged;
    if (loss.cuts) {
        loss.below = outcomes->below;
        loss.above = outcomes->above;
    } else {
        loss.strays_out = outcomes->below + outcomes->above;
    }
    if (loss.integers)
        loss.nans = outcomes->nans;
    else
        loss.strays_out += outcomes->nans;
    return loss;
}

void loss_add(struct loss *all, const struct loss *other)
{
    all->samples += other->samples;
    all->nans += other->nans;
    all->below += other->below;
    all->above += other->above;
    all->strays_in += other->strays_in;
    all->strays_out += other->strays_out;
}
