/* Reservoirs: a file of samples that several ranks write, for outputs that take them in turn. */
#include "reservoir.h"

#include "base/file_in.h"
#include "base/mem.h"
#include "base/size.h"
#include "run/output.h"
#include "invitation.h"

/* Samples that go into a sink at a time. */
#define POUR_BYTES ((size_t)8 << 20)

/* ---- the places of ranks ---- */

/* Planes of an output that a rank has of one volume. */
static size_t planes_of(const struct reservoir *reservoir, size_t member)
{
    const struct job *job = reservoir->job;

    return split_window(reservoir->split, member, job).count * job_written_planes(job);
}

/* All that a rank has of an output. */
static uint64_t output_bytes(const struct reservoir *reservoir, size_t member)
{
    const struct header *header = &reservoir->job->written;

    return (uint64_t)header->volumes * planes_of(reservoir, member) * header_plane_bytes(header);
}

/* Where the blocks of a rank begin; for the number of ranks: where the last ones end. */
static uint64_t begin_of(const struct reservoir *reservoir, size_t member)
{
    uint64_t begin = 0;

    for (size_t i = 0; i < member; i++) {
        uint64_t bytes = reservoir->outputs * output_bytes(reservoir, i);
        begin += (bytes + OUTPUT_BLOCK - 1) / OUTPUT_BLOCK * OUTPUT_BLOCK;
    }
    return begin;
}

static uint64_t place_of(const struct reservoir *reservoir, size_t member, size_t output)
{
    return begin_of(reservoir, member) + output * output_bytes(reservoir, member);
}

static uint64_t bytes_of(const struct reservoir *reservoir)
{
    return begin_of(reservoir, reservoir->split->members);
}

static bool create(struct reservoir *reservoir, const char *name, struct invitation *invitation,
                   struct fault *fault)
{
    if (file_out_open(&reservoir->file, name, fault))
        return invitation_write(invitation, reservoir->file, 0, bytes_of(reservoir), fault);
    reservoir->file = NULL;
    return false;
}

bool reservoir_open(struct reservoir *reservoir, const struct job *job, const struct split *split,
                    size_t outputs, const struct file_out *first, const char *path, struct peers *peers,
                    struct fault *fault)
{
    struct invitation invitation = {.begin = 0};
    bool done = true;

    *reservoir = (struct reservoir){.job = job, .split = split, .outputs = outputs};
    if (peers_lead(peers))
        done = create(reservoir, file_out_name(first), &invitation, fault);
    return invitation_send(&invitation, peers, done, path, &reservoir->joined, fault);
}

static struct file_out *file_of(const struct reservoir *reservoir)
{
    return reservoir->file != NULL ? reservoir->file : reservoir->joined;
}

struct sink reservoir_sink(const struct reservoir *reservoir, size_t output)
{
    const struct job *job = reservoir->job;

    return sink_joint(&job->written, (struct sink_place){.file = file_of(reservoir),
                                                         .begin = place_of(reservoir, job->member, output),
                                                         .apart = true});
}

struct reservation_room reservoir_room(const struct reservoir *reservoir)
{
    return (struct reservation_room){reservoir->file, bytes_of(reservoir)};
}

/* ---- samples out of it ---- */

/* What is under way into a sink. */
struct pouring {
    const struct reservoir *reservoir;
    struct file_in *file;
    struct sink *sink;
    unsigned char *samples;
    size_t batch; /* planes */
};

static bool read_samples(const struct pouring *pouring, uint64_t offset, size_t size, struct fault *fault)
{
    size_t got;

    return file_in_read_at(pouring->file, offset, pouring->samples, size, &got, fault) &&
           (got == size || fault_raise_about(fault, STATUS_IO, file_out_name(pouring->sink->file),
                                             "samples of other ranks did not arrive"));
}

static bool pour_planes(const struct pouring *pouring, uint64_t begin, size_t planes, struct fault *fault)
{
    size_t plane = header_plane_bytes(&pouring->reservoir->job->written);
    bool done = true;

    for (size_t first = 0, count; done && first < planes; first += count) {
        count = size_least(pouring->batch, planes - first);
        done = read_samples(pouring, begin + (uint64_t)first * plane, count * plane, fault) &&
               sink_write(pouring->sink, pouring->samples, count, fault);
    }
    return done;
}

static bool pour_volume(const struct pouring *pouring, size_t output, size_t volume, struct fault *fault)
{
    const struct reservoir *reservoir = pouring->reservoir;
    size_t plane = header_plane_bytes(&reservoir->job->written);
    bool done = true;

    for (size_t member = 0; done && member < reservoir->split->members; member++) {
        size_t planes = planes_of(reservoir, member);
        done = pour_planes(pouring, place_of(reservoir, member, output) + (uint64_t)volume * planes * plane,
                           planes, fault);
    }
    return done;
}

static bool pour_all(struct pouring *pouring, size_t output, struct fault *fault)
{
    const struct header *header = &pouring->reservoir->job->written;
    bool done = true;

    pouring->batch = size_most(1, POUR_BYTES / header_plane_bytes(header));
    pouring->samples = mem_alloc(pouring->batch, header_plane_bytes(header), "a buffer", fault);
    if (pouring->samples == NULL)
        return false;
    for (size_t volume = 0; done && volume < header->volumes; volume++)
        done = pour_volume(pouring, output, volume, fault);
    mem_free(pouring->samples);
    return done;
}

bool reservoir_pour(const struct reservoir *reservoir, size_t output, struct sink *sink, struct fault *fault)
{
    struct pouring pouring = {.reservoir = reservoir, .sink = sink};
    bool done = file_in_open(&pouring.file, file_out_temporary(reservoir->file), fault) &&
                pour_all(&pouring, output, fault);

    file_in_close(pouring.file);
    return done;
}

/* ---- to its end ---- */

bool reservoir_complete(struct reservoir *reservoir, struct fault *fault)
{
    return file_of(reservoir) == NULL || file_out_complete(file_of(reservoir), fault);
}

void reservoir_close(struct reservoir *reservoir)
{
    file_out_close(reservoir->file);
    file_out_close(reservoir->joined);
    reservoir->file = reservoir->joined = NULL;
}
