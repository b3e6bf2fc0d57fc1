/* Targets: files that a pipeline writes, and what stands in them. */
#include "target.h"

#include "base/file_in.h"
#include "base/mem.h"
#include "base/size.h"
#include "format/joint.h"
#include "format/pattern.h"
#include "format/png_stack.h"

#include <limits.h>
#include <stdio.h>

/* Samples that go from a pool into a sink at a time. */
#define POUR_BYTES ((size_t)8 << 20)

/* What rank 0 tells the others of the file that all write. */
struct invitation {
    char temporary[PATH_MAX];
    uint64_t begin; /* of the samples */
};

/* Of a stack of pictures the first one has the file. */
static const char *file_path(const struct target_request *request, char first[PATTERN_NAME_MOST])
{
    if (request->format != &format_png_stack || !pattern_is_png(request->sink.pattern))
        return request->sink.pattern;
    pattern_expand(request->sink.pattern, png_stack_first(request->sink.origin), first);
    return first;
}

bool target_open(struct target *target, const struct target_request *request, struct fault *fault)
{
    char first[PATTERN_NAME_MOST];

    if (!file_out_open(&target->file, file_path(request, first), fault)) {
        target->file = NULL;
        return false;
    }
    if (sink_open(&target->sink, target->file, request->format, request->header, &request->sink, fault))
        return true;
    target->sink.format = NULL;
    return false;
}

/* ---- of several ranks ---- */

/* As much room as for the samples themselves, beside the file. */
static bool open_pool(struct target *target, const struct header *header, struct fault *fault)
{
    if (!file_out_open(&target->pool, file_out_name(target->file), fault)) {
        target->pool = NULL;
        return false;
    }
    target->joint = joint_sink(target->pool, header, 0);
    return true;
}

static bool open_place(struct target *target, const struct header *header, struct fault *fault)
{
    const struct sink_place *place = &target->sink.samples;

    if (place->file == NULL)
        return open_pool(target, header, fault);
    target->joint = joint_sink(place->file, header, place->begin);
    return true;
}

static bool invite(struct target *target, const struct target_request *request, struct invitation *invitation,
                   struct fault *fault)
{
    const struct sink_place *place = &target->joint.samples;

    if (!target_open(target, request, fault))
        return false;
    if (!file_out_is_renamed(target->file))
        return fault_raise_about(fault, STATUS_USAGE, file_out_name(target->file),
                                 "all ranks write the output, so it must be a regular file");
    if (!open_place(target, request->header, fault) || !sink_reserve(&target->joint, fault) ||
        !file_out_extend(place->file, place->begin + sink_bytes(&target->joint), fault))
        return false;
    invitation->begin = place->begin;
    return (size_t)snprintf(invitation->temporary, sizeof invitation->temporary, "%s",
                            file_out_temporary(place->file)) < sizeof invitation->temporary ||
           fault_raise_about(fault, STATUS_IO, file_out_name(target->file), "too long a name");
}

static bool join(struct target *target, const struct target_request *request,
                 const struct invitation *invitation, struct fault *fault)
{
    if (!file_out_join(&target->joined, request->sink.pattern, invitation->temporary, fault)) {
        target->joined = NULL;
        return false;
    }
    target->joint = joint_sink(target->joined, request->header, invitation->begin);
    return true;
}

bool target_open_joint(struct target *target, const struct target_request *request, struct peers *peers,
                       struct fault *fault)
{
    struct invitation invitation = {.begin = 0};
    bool first = peers_lead(peers);

    return peers_follow(peers, !first || invite(target, request, &invitation, fault), fault) &&
           peers_tell(peers, &invitation, sizeof invitation, fault) &&
           peers_agree(peers, first || join(target, request, &invitation, fault), fault);
}

static bool pour_planes(struct target *target, struct file_in *pool, unsigned char *samples, size_t batch,
                        struct fault *fault)
{
    const struct header *header = &target->joint.header;
    size_t planes = header->volumes * grid_planes(&header->grid), plane = header_plane_bytes(header), got;
    bool done = true;

    for (size_t first = 0, count; done && first < planes; first += count) {
        count = size_least(batch, planes - first);
        done = file_in_read(pool, samples, count * plane, &got, fault) &&
               (got == count * plane || fault_raise_about(fault, STATUS_IO, file_out_name(target->file),
                                                          "samples of other ranks did not arrive")) &&
               sink_write(&target->sink, samples, count, fault);
    }
    return done;
}

/* All samples, in their order, from the pool into the sink. */
static bool pour(struct target *target, struct fault *fault)
{
    size_t plane = header_plane_bytes(&target->joint.header), batch = size_most(1, POUR_BYTES / plane);
    unsigned char *samples = mem_alloc(batch, plane, "a buffer", fault);
    struct file_in *pool = NULL;
    bool done = samples != NULL && file_in_open(&pool, file_out_temporary(target->pool), fault) &&
                pour_planes(target, pool, samples, batch, fault);

    file_in_close(pool);
    mem_free(samples);
    return done;
}

/* ---- to its end ---- */

struct sink *target_sink(struct target *target)
{
    return target->joint.format != NULL ? &target->joint : &target->sink;
}

/* Of rank 0. */
static bool finish_own(struct target *target, struct fault *fault)
{
    if (target->pool != NULL && (!file_out_complete(target->pool, fault) || !pour(target, fault)))
        return false;
    return sink_finish(&target->sink, fault);
}

bool target_finish(struct target *target, struct peers *peers, struct fault *fault)
{
    if (target->joint.format == NULL)
        return true;
    return peers_agree(peers, target->joined == NULL || file_out_complete(target->joined, fault), fault) &&
           peers_follow(peers, target->joined != NULL || finish_own(target, fault), fault);
}

bool target_commit(struct target *target, struct fault *fault)
{
    return target->file == NULL || sink_commit(&target->sink, fault);
}

bool target_unseen(const struct target *target)
{
    return target->file != NULL && file_out_unseen(target->file);
}

void target_close(struct target *target)
{
    if (target->sink.format != NULL)
        sink_close(&target->sink);
    file_out_close(target->file);
    file_out_close(target->pool);
    file_out_close(target->joined);
}
