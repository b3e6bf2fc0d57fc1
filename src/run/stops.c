/* Stops: where the planes of a pass come from and where they go.

   The first pass reads the source, in order, or anywhere if it has samples at fixed places; then several
   threads read at once. A mask is read in step with it: of a series of volumes, the same for each. The last
   pass writes the sink, in order or by several threads alike. Between two passes planes stand in spool files,
   packed in the type that they are computed in: deleted files beside the output, which vanish with the
   process. A pass over a grid that goes around reads one spool and writes the other. Room for a sink that has
   a place for each plane is taken while planes come in; whoever is about to write first waits until there is
   all of it. */
#include "stops.h"

#include "format/box.h"
#include "model/sample.h"

#include <math.h>

bool stops_is_last(const struct stops *stops)
{
    return stops->volume + 1 >= stops->job->in.volumes &&
           stops->job->columns.index + 1 == job_columns(stops->job);
}

/* The next planes, or the job's box of each. */
static bool read_next(const struct job *job, struct source *source, void *samples, size_t planes,
                      struct fault *fault)
{
    return region_has_whole_planes(&job->box, &job->in.grid)
               ? source_read(source, samples, planes, fault)
               : box_read(source, samples, &job->box, planes, fault);
}

static bool read_in_order(void *file, void *samples, struct range planes, struct fault *fault)
{
    const struct stops *stops = file;

    return read_next(stops->job, stops->source, samples, planes.count, fault);
}

static bool read_anywhere(void *file, void *samples, struct range planes, struct fault *fault)
{
    const struct stops *stops = file;

    return box_read_at(stops->source, samples, stops->volume, &stops->job->box, planes.first, planes.count,
                       fault);
}

static bool end_source(void *file, struct fault *fault)
{
    const struct stops *stops = file;

    return !stops_is_last(stops) ||
           (source_end(stops->source, fault) && (stops->mask == NULL || source_end(stops->mask, fault)));
}

static void stop_source(void *file)
{
    struct stops *stops = file;

    file_in_cancel(stops->source->awaited);
    if (stops->mask != NULL)
        file_in_cancel(stops->mask->awaited);
}

/* Whether the value of one of a pixel's samples is neither 0 nor NaN. */
static bool is_inside(const struct header *header, const unsigned char *samples)
{
    const size_t size = sample_size(header->type);
    const bool swapped = header->endian != endian_native();

    for (unsigned channel = 0; channel < header->grid.channels; channel++) {
        double value = intensity_value(&header->intensity,
                                       sample_number(header->type, swapped, samples + channel * size));
        if (value != 0.0 && !isnan(value))
            return true;
    }
    return false;
}

/* Planes of the mask's samples, and in their place a byte a pixel. Samples of one byte are that already. */
static bool read_mask(void *file, void *bytes, struct range planes, struct fault *fault)
{
    const struct stops *stops = file;
    struct source *mask = stops->mask;
    const struct header *header = &mask->header;
    const struct grid *computed = &stops->job->computed;
    const size_t pixels = planes.count * grid_plane_samples(computed) / computed->channels;
    const size_t size = sample_size(header->type) * header->grid.channels;
    unsigned char *masks = bytes;

    if (!(mask->random ? box_read_at(mask, bytes, 0, &stops->job->box, planes.first, planes.count, fault)
                       : read_next(stops->job, mask, bytes, planes.count, fault)))
        return false;
    for (size_t i = 0; i < pixels && (size > 1 || !intensity_is_plain(&header->intensity)); i++)
        masks[i] = is_inside(header, masks + i * size);
    return true;
}

static bool write_sink(void *file, void *samples, struct range planes, struct fault *fault)
{
    const struct stops *stops = file;

    return output_write(&stops->output, samples, planes, fault);
}

void stops_begin_to_reserve(struct stops *stops)
{
    if (!stops->reserved)
        sink_begin_to_reserve(stops->output.sink);
}

bool stops_reserve(struct stops *stops, struct fault *fault)
{
    bool has_place = stops->output.sink->samples.file != NULL;

    stops->reserved = stops->reserved || !has_place || sink_reserve(stops->output.sink, fault);
    return stops->reserved;
}

/* Once, for all volumes: every thread of every pass to the sink asks. */
static bool reserve_sink(void *file, struct fault *fault)
{
    return stops_reserve(file, fault);
}

static bool read_spool(void *file, void *samples, struct range planes, struct fault *fault)
{
    const struct plane_spool *spool = file;

    return spool_read(&spool->spool, (uint64_t)planes.first * spool->plane_bytes, samples,
                      planes.count * spool->plane_bytes, fault);
}

static bool write_spool(void *file, void *samples, struct range planes, struct fault *fault)
{
    const struct plane_spool *spool = file;

    return spool_write(&spool->spool, (uint64_t)planes.first * spool->plane_bytes, samples,
                       planes.count * spool->plane_bytes, fault);
}

static struct stop from_source(struct stops *stops)
{
    const struct source *source = stops->source;
    /* A mask that is read in order may go with a source that can only be read anywhere. */
    const bool anywhere = source->random || source->format->read == NULL;

    return (struct stop){.end = {.file = stops,
                                 .move = anywhere ? read_anywhere : read_in_order,
                                 .finish = end_source,
                                 .interrupt = stop_source},
                         .mask = stops->mask != NULL ? read_mask : NULL,
                         .encoding = &stops->job->decode,
                         .plane_bytes = stops->job->in_plane_bytes,
                         .threads = stops->plan->schedule.readers,
                         .random = source->random,
                         .one_reader = source->one_reader,
                         .of_run = true,
                         .which = OBSERVER_INPUT};
}

/* The sink as a stop: in any order if it takes planes so, or if its samples have places, once there is room
   for them. */
static struct stop to_sink(struct stops *stops)
{
    const bool random = stops->output.anywhere;

    return (struct stop){.end = {.file = stops, .prepare = random ? reserve_sink : NULL, .move = write_sink},
                         .encoding = stops->encode,
                         .plane_bytes = stops->job->out_plane_bytes,
                         .threads = random ? stops->plan->schedule.writers : 1,
                         .random = random,
                         .of_run = true,
                         .which = OBSERVER_OUTPUT};
}

/* A spool file as a stop: it is read by several threads, and written in order. */
static struct stop at_spool(struct stops *stops, enum route_stop spool, bool reads)
{
    return (struct stop){
        .end = {.file = &stops->spools[spool - ROUTE_FIRST_SPOOL], .move = reads ? read_spool : write_spool},
        .encoding = &stops->spooled,
        .plane_bytes = stops->plan->packed_plane_bytes,
        .threads = reads ? stops->plan->schedule.readers : 1,
        .random = reads};
}

struct stop stops_from(struct stops *stops, enum route_stop stop)
{
    return stop == ROUTE_SOURCE ? from_source(stops) : at_spool(stops, stop, true);
}

struct stop stops_to(struct stops *stops, enum route_stop stop)
{
    return stop == ROUTE_SINK ? to_sink(stops) : at_spool(stops, stop, false);
}

struct stops stops_of(const struct plan *plan, const struct job *job, size_t volume, struct source *source,
                      struct source *mask, struct sink *sink, const struct encoding *encode)
{
    return (struct stops){
        .plan = plan,
        .job = job,
        .volume = volume,
        .source = source,
        .mask = job->mask_plane_bytes > 0 ? mask : NULL,
        .output = {.job = job, .sink = sink, .anywhere = sink->samples.file != NULL || sink->random},
        .reserved = volume > 0,
        .encode = encode,
        .spools = {{{.descriptor = -1}, plan->packed_plane_bytes},
                   {{.descriptor = -1}, plan->packed_plane_bytes}},
        .spooled = {.type = shape_sample(&plan->shape, job->work),
                    .channels = plan->shape.channels,
                    .gamma = 1.0},
        .held.descriptor = -1};
}

bool stops_open(struct stops *stops, struct fault *fault)
{
    const struct schedule *schedule = &stops->plan->schedule;
    const struct sink *sink = stops->output.sink;
    /* Spool files are made beside the output, on the disk that was chosen for much data. */
    const struct file_out *beside = sink->file != NULL ? sink->file : sink->samples.file;

    if (!file_in_make_cancellable(stops->source->awaited, fault) ||
        (stops->mask != NULL && !file_in_make_cancellable(stops->mask->awaited, fault)))
        return false;
    for (size_t i = 0; i < schedule->spools + schedule->holds_in_spool; i++) {
        if (!spool_create(i < schedule->spools ? &stops->spools[i].spool : &stops->held, beside, fault))
            return false;
    }
    if (schedule->holds_in_spool)
        stops->source->format->hold_in_spool(stops->source, &stops->held);
    return true;
}

void stops_close(struct stops *stops)
{
    for (size_t i = 0; i < STOPS_SPOOLS; i++)
        spool_close(&stops->spools[i].spool);
    spool_close(&stops->held);
    output_close(&stops->output);
}
