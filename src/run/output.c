/* Outputs: the way from whole planes of a run into a file that may hold a part of each, and that several
   ranks may write. */
#include "output.h"

#include "base/mem.h"

#include <string.h>

/* ---- the ends of a rank's bytes ---- */

enum { LOW, HIGH, ENDS };

/* Kept bytes in the form in which they go to rank 0: the places and sizes of both ends, and their bytes. */
struct output_fringe_ends {
    uint64_t at[ENDS], size[ENDS];
    unsigned char bytes[];
};

static size_t bytes_of(const struct output_fringe_ends *ends)
{
    return sizeof *ends + (size_t)(ends->size[LOW] + ends->size[HIGH]);
}

/* Where one block at least is the rank's alone, what is before it and after it; else all bytes are one end.
 */
static void find_ends(struct output_fringe *fringe, uint64_t begin, uint64_t end,
                      struct output_fringe_ends *ends)
{
    uint64_t first = (begin + OUTPUT_BLOCK - 1) / OUTPUT_BLOCK * OUTPUT_BLOCK;
    uint64_t last = end / OUTPUT_BLOCK * OUTPUT_BLOCK;

    fringe->begin = first < last ? first : end;
    fringe->end = first < last ? last : end;
    *ends = (struct output_fringe_ends){.at = {begin, fringe->end},
                                        .size = {fringe->begin - begin, end - fringe->end}};
}

bool output_fringe_open(struct output_fringe *fringe, struct file_out *file, uint64_t begin, uint64_t end,
                        bool direct, struct fault *fault)
{
    struct output_fringe_ends ends;

    *fringe = (struct output_fringe){.file = file, .direct = direct, .begin = begin, .end = end};
    if (fringe->direct)
        return true;
    find_ends(fringe, begin, end, &ends);
    fringe->ends = mem_alloc(1, bytes_of(&ends), "the ends of a part", fault);
    if (fringe->ends == NULL)
        return false;
    memcpy(fringe->ends, &ends, sizeof ends);
    return true;
}

size_t output_fringe_most(uint64_t bytes)
{
    return (size_t)(bytes < ENDS * OUTPUT_BLOCK ? bytes : ENDS * OUTPUT_BLOCK);
}

/* Keep the bytes that lie in an end. */
static void keep(struct output_fringe_ends *ends, int which, uint64_t offset, const unsigned char *bytes,
                 size_t size)
{
    /* The part of these bytes that lies in the end, which may be none. */
    uint64_t from = ends->at[which] > offset ? ends->at[which] : offset;
    uint64_t to = ends->at[which] + ends->size[which];

    to = to < offset + size ? to : offset + size;
    if (from < to)
        /* Bytes of the high end stand behind all of those of the low one. */
        memcpy(ends->bytes + (which == HIGH ? ends->size[LOW] : 0) + (from - ends->at[which]),
               bytes + (from - offset), (size_t)(to - from));
}

bool output_fringe_write(const struct output_fringe *fringe, uint64_t offset, const void *bytes, size_t size,
                         struct fault *fault)
{
    uint64_t from = offset > fringe->begin ? offset : fringe->begin;
    uint64_t to = offset + size < fringe->end ? offset + size : fringe->end;

    if (!fringe->direct) {
        keep(fringe->ends, LOW, offset, bytes, size);
        keep(fringe->ends, HIGH, offset, bytes, size);
    }
    return from >= to || file_out_write_at(fringe->file, from, (const unsigned char *)bytes + (from - offset),
                                           (size_t)(to - from), fault);
}

/* Rank 0 brings nothing to itself. What others bring stands anywhere, and not as a struct has to. */
static bool write_ends(void *data, const void *bytes, size_t size, struct fault *fault)
{
    const struct output_fringe *fringe = data;
    struct output_fringe_ends ends;
    const unsigned char *low;

    if (size == 0)
        return true;
    memcpy(&ends, bytes, sizeof ends);
    low = (const unsigned char *)bytes + sizeof ends;
    return file_out_write_at(fringe->file, ends.at[LOW], low, (size_t)ends.size[LOW], fault) &&
           file_out_write_at(fringe->file, ends.at[HIGH], low + ends.size[LOW], (size_t)ends.size[HIGH],
                             fault);
}

void output_fringe_close(struct output_fringe *fringe)
{
    mem_free(fringe->ends);
    fringe->ends = NULL;
}

/* ---- planes ---- */

/* Where some planes of the grid go, in planes from the sink's place on. */
static struct range written_planes(const struct output *output, struct range planes)
{
    const struct job *job = output->job;
    const struct range all = output->sink->samples.apart ? job->window : job->planes;
    size_t each = job->written_planes;

    return (struct range){(output->volume * all.count + planes.first - all.first) * each,
                          planes.count * each};
}

static uint64_t offset_of(const struct output *output, size_t written)
{
    return output->sink->samples.begin + (uint64_t)written * output->plane_bytes;
}

bool output_open(struct output *output, size_t volume, const struct peers *peers, struct fault *fault)
{
    const bool joint = peers_count(peers) > 1;
    struct range written;

    output->volume = volume;
    output->anywhere = output->anywhere || joint;
    output->plane_bytes = header_plane_bytes(&output->sink->header);
    written = written_planes(output, output->job->window);
    return !joint || output->sink->samples.apart || output->sink->random ||
           output_fringe_open(&output->fringe, output->sink->samples.file, offset_of(output, written.first),
                              offset_of(output, written.first + written.count), peers_lead(peers), fault);
}

/* Sinks take the planes of a column as a box (sink_write_box). */
static bool write_column(const struct output *output, const void *samples, struct range planes,
                         struct fault *fault)
{
    struct region box = output->job->columns.written;

    box.first[2] = planes.first - output->job->planes.first;
    box.count[2] = planes.count;
    return sink_write_box(output->sink, samples, output->volume, &box, fault);
}

bool output_write(const struct output *output, void *samples, struct range planes, struct fault *fault)
{
    const struct range written = written_planes(output, planes);
    const struct job *job = output->job;

    /* Keep only the part of each plane that the job writes. */
    if (!region_has_whole_planes(&job->kept, &job->computed))
        region_cut(&job->kept, &job->computed, sample_size(job->out.type), samples, planes.count, samples);
    if (job_columns(job) > 1)
        return write_column(output, samples, planes, fault);
    if (!output->anywhere)
        return sink_write(output->sink, samples, written.count, fault);
    return output->fringe.file == NULL
               ? sink_write_at(output->sink, samples, written.first, written.count, fault)
               : output_fringe_write(&output->fringe, offset_of(output, written.first), samples,
                                     written.count * output->plane_bytes, fault);
}

bool output_gather(const struct output *output, struct peers *peers, struct fault *fault)
{
    const struct output_fringe *fringe = &output->fringe;
    size_t size;

    if (fringe->file == NULL)
        return true;
    size = fringe->direct ? 0 : bytes_of(fringe->ends);
    return peers_gather(peers, fringe->ends, size, write_ends, (void *)fringe, fault);
}

void output_close(struct output *output)
{
    output_fringe_close(&output->fringe);
}

/* ---- what became of samples ---- */

void output_add_outcomes(struct outcomes *all, const struct outcomes *more)
{
    all->outside += more->outside;
    all->missing += more->missing;
    all->strays += more->strays;
    all->nans += more->nans;
    all->below += more->below;
    all->above += more->above;
}

static bool take_outcomes(void *data, const void *bytes, size_t size, struct fault *fault)
{
    struct outcomes more;

    (void)fault;
    memcpy(&more, bytes, size);
    output_add_outcomes(data, &more);
    return true;
}

bool output_gather_outcomes(struct outcomes *outcomes, struct peers *peers, struct fault *fault)
{
    const struct outcomes own = *outcomes;

    *outcomes = (struct outcomes){.strays = 0};
    return peers_gather(peers, &own, sizeof own, take_outcomes, outcomes, fault);
}
