/* Joint files: temporary files of rank 0 that all ranks write or remove.

   Several ranks write an output in one of two ways. If its format has samples at fixed places, rank 0 creates
   the file, makes it long enough, and tells the others its temporary name; each rank writes its planes where
   they belong. If samples can only be written in turn, as in compressed files and pictures, the ranks write
   them into a joint spool. Each rank has blocks of its own there, in which its planes of one output follow
   those of another, so that no block has two writers. Once all ranks have written, rank 0 pours the samples
   into the outputs in their order. Until the outputs have their names, every rank guards the temporary files
   of rank 0: if a signal ends another rank, a launcher may kill rank 0 by SIGKILL. */
#include "joint.h"

#include "base/file_in.h"
#include "base/mem.h"
#include "base/size.h"
#include "run/output.h"

#include <stdio.h>
#include <string.h>

/* Samples that go into a sink at a time. */
#define POUR_BYTES ((size_t)8 << 20)

/* ---- a file that all write ---- */

bool joint_file_offer(struct joint_file *offer, struct file_out *file, uint64_t begin, uint64_t bytes,
                      struct fault *fault)
{
    if (!file_out_extend(file, begin + bytes, fault))
        return false;
    offer->begin = begin;
    offer->synced = file_out_is_synced(file);
    return (size_t)snprintf(offer->temporary, sizeof offer->temporary, "%s", file_out_temporary(file)) <
               sizeof offer->temporary ||
           fault_raise_about(fault, STATUS_IO, file_out_name(file), "too long a name");
}

static bool join(const struct joint_file *offer, const char *path, struct file_out **joined,
                 struct fault *fault)
{
    if (offer->temporary[0] == '\0' || file_out_join(joined, path, offer->temporary, offer->synced, fault))
        return true;
    *joined = NULL;
    return false;
}

bool joint_file_join(struct joint_file *offer, struct peers *peers, bool done, const char *path,
                     struct file_out **joined, struct fault *fault)
{
    *joined = NULL;
    return peers_follow(peers, done, fault) && peers_broadcast(peers, offer, sizeof *offer, fault) &&
           peers_agree(peers, peers_lead(peers) || join(offer, path, joined, fault), fault);
}

/* ---- a spool for outputs that take samples in turn: the places of ranks ---- */

/* Planes of an output that a rank has of one volume. */
static size_t planes_of(const struct joint_spool *spool, size_t member)
{
    const struct job *job = spool->job;

    return split_window(spool->split, member, job).count * job_written_planes(job);
}

/* All that a rank has of an output. */
static uint64_t output_bytes(const struct joint_spool *spool, size_t member)
{
    const struct header *header = &spool->job->written;

    return (uint64_t)header->volumes * planes_of(spool, member) * header_plane_bytes(header);
}

/* Where the blocks of a rank begin; for the number of ranks: where the last ones end. */
static uint64_t begin_of(const struct joint_spool *spool, size_t member)
{
    uint64_t begin = 0;

    for (size_t i = 0; i < member; i++) {
        uint64_t bytes = spool->outputs * output_bytes(spool, i);
        begin += (bytes + OUTPUT_BLOCK - 1) / OUTPUT_BLOCK * OUTPUT_BLOCK;
    }
    return begin;
}

static uint64_t place_of(const struct joint_spool *spool, size_t member, size_t output)
{
    return begin_of(spool, member) + output * output_bytes(spool, member);
}

static uint64_t bytes_of(const struct joint_spool *spool)
{
    return begin_of(spool, spool->split->members);
}

static bool create(struct joint_spool *spool, const char *name, struct joint_file *offer, struct fault *fault)
{
    if (file_out_open(&spool->file, name, fault))
        return joint_file_offer(offer, spool->file, 0, bytes_of(spool), fault);
    spool->file = NULL;
    return false;
}

bool joint_spool_open(struct joint_spool *spool, const struct job *job, const struct split *split,
                      size_t outputs, const struct file_out *first, const char *path, struct peers *peers,
                      struct fault *fault)
{
    struct joint_file offer = {.begin = 0};
    bool done = true;

    *spool = (struct joint_spool){.job = job, .split = split, .outputs = outputs};
    if (peers_lead(peers))
        done = create(spool, file_out_name(first), &offer, fault);
    return joint_file_join(&offer, peers, done, path, &spool->joined, fault);
}

static struct file_out *file_of(const struct joint_spool *spool)
{
    return spool->file != NULL ? spool->file : spool->joined;
}

struct sink joint_spool_sink(const struct joint_spool *spool, size_t output)
{
    const struct job *job = spool->job;

    return sink_joint(&job->written, (struct sink_place){.file = file_of(spool),
                                                         .begin = place_of(spool, job->member, output),
                                                         .apart = true});
}

struct reservation_room joint_spool_room(const struct joint_spool *spool)
{
    return (struct reservation_room){spool->file, bytes_of(spool)};
}

/* ---- samples out of it ---- */

/* What is under way into a sink. */
struct pouring {
    struct file_in *file;
    struct sink *sink;
    unsigned char *samples;
    size_t plane_bytes, batch; /* planes */
};

static bool pour_planes(const struct pouring *pouring, uint64_t begin, size_t planes, struct fault *fault)
{
    for (size_t first = 0, count, got; first < planes; first += count) {
        uint64_t offset = begin + (uint64_t)first * pouring->plane_bytes;
        count = size_least(pouring->batch, planes - first);
        if (!file_in_read_at(pouring->file, offset, pouring->samples, count * pouring->plane_bytes, &got,
                             fault))
            return false;
        if (got < count * pouring->plane_bytes)
            return fault_raise_about(fault, STATUS_IO, file_out_name(pouring->sink->file),
                                     "samples of other ranks did not arrive");
        if (!sink_write(pouring->sink, pouring->samples, count, fault))
            return false;
    }
    return true;
}

bool joint_spool_pour(const struct joint_spool *spool, size_t output, struct sink *sink, struct fault *fault)
{
    const struct header *header = &spool->job->written;
    size_t plane_bytes = header_plane_bytes(header), members = spool->split->members;
    struct pouring pouring = {
        .sink = sink, .plane_bytes = plane_bytes, .batch = size_most(1, POUR_BYTES / plane_bytes)};
    bool done = file_in_open(&pouring.file, file_out_temporary(spool->file), fault);

    if (done)
        pouring.samples = mem_alloc(pouring.batch, plane_bytes, "a buffer", fault);
    done = pouring.samples != NULL;
    for (size_t i = 0; done && i < header->volumes * members; i++) {
        size_t volume = i / members, member = i % members, planes = planes_of(spool, member);
        done =
            pour_planes(&pouring, place_of(spool, member, output) + (uint64_t)volume * planes * plane_bytes,
                        planes, fault);
    }
    mem_free(pouring.samples);
    file_in_close(pouring.file);
    return done;
}

bool joint_spool_complete(struct joint_spool *spool, struct fault *fault)
{
    return file_of(spool) == NULL || file_out_complete(file_of(spool), fault);
}

void joint_spool_close(struct joint_spool *spool)
{
    file_out_close(spool->file);
    file_out_close(spool->joined);
    spool->file = spool->joined = NULL;
}

/* ---- temporary files that all remove ---- */

/* What the others need memory for. */
struct extent {
    size_t count, bytes;
};

static bool list_own(struct joint_guards *guards, struct extent *extent, struct fault *fault)
{
    sigset_t before;

    guard_enter(&before);
    extent->bytes = guard_list(NULL, 0, &extent->count);
    guards->paths = mem_alloc(extent->bytes, 1, "the temporary files", fault);
    if (guards->paths != NULL)
        guard_list(guards->paths, extent->bytes, &extent->count);
    guard_leave(&before);
    return guards->paths != NULL;
}

static bool make_room(struct joint_guards *guards, const struct extent *extent, struct fault *fault)
{
    guards->paths = mem_alloc(extent->bytes, 1, "the temporary files", fault);
    guards->guarded = mem_alloc(extent->count, sizeof *guards->guarded, "the temporary files", fault);
    return guards->paths != NULL && guards->guarded != NULL;
}

static void guard_all(struct joint_guards *guards, size_t count)
{
    const char *path = guards->paths;
    sigset_t before;

    guard_enter(&before);
    for (size_t i = 0; i < count; i++) {
        guards->guarded[i].path = path;
        guard_add(&guards->guarded[i]);
        path += strlen(path) + 1;
    }
    guard_leave(&before);
    guards->count = count;
}

bool joint_guards_tell(struct joint_guards *guards, struct peers *peers, struct fault *fault)
{
    struct extent extent = {.count = 0};
    bool first = peers_lead(peers), done;

    if (peers_count(peers) == 1)
        return true;
    done = !first || list_own(guards, &extent, fault);
    if (!peers_broadcast(peers, &extent, sizeof extent, fault) ||
        !peers_agree(peers, done && (first || make_room(guards, &extent, fault)), fault) ||
        !peers_broadcast(peers, guards->paths, extent.bytes, fault))
        return false;
    if (!first)
        guard_all(guards, extent.count);
    return true;
}

void joint_guards_forget(struct joint_guards *guards)
{
    sigset_t before;

    guard_enter(&before);
    for (size_t i = 0; i < guards->count; i++)
        guard_drop(&guards->guarded[i]);
    guard_leave(&before);
    mem_free(guards->paths);
    mem_free(guards->guarded);
    *guards = (struct joint_guards){.count = 0};
}
