/* Targets: files that a pipeline writes, and what stands in them. */
#include "target.h"

#include "base/path.h"
#include "format/pattern.h"
#include "format/png_stack.h"
#include "invitation.h"

/* Of a stack of pictures the first one has the file. */
static const char *file_path(const struct target_request *request, char first[PATTERN_NAME_MOST])
{
    if (!request->format->is_stack || !pattern_is_png(request->sink.pattern))
        return request->sink.pattern;
    pattern_expand(request->sink.pattern, png_stack_first(request->sink.origin), first);
    return first;
}

bool target_open(struct target *target, const struct target_request *request, struct fault *fault)
{
    char first[PATTERN_NAME_MOST];

    target->path = request->sink.pattern;
    if (!file_out_open(&target->file, file_path(request, first), fault)) {
        target->file = NULL;
        return false;
    }
    if (request->sync)
        file_out_sync(target->file);
    if (sink_open(&target->sink, target->file, request->format, request->header, &request->sink, fault))
        return true;
    target->sink.format = NULL;
    return false;
}

/* ---- of several ranks ---- */

/* Before it is opened: a pipe would wait for its reader. */
static bool check_kind(const struct target_request *request, struct fault *fault)
{
    char first[PATTERN_NAME_MOST];
    const char *path = file_path(request, first);

    return file_out_is_file(path) ||
           fault_raise_about(fault, STATUS_USAGE, path_is_standard(path) ? "standard output" : path,
                             "all ranks write to it, so it must be a regular file");
}

static bool invite(struct target *target, const struct target_request *request, struct invitation *invitation,
                   struct fault *fault)
{
    const struct sink_place *place = &target->sink.samples;

    if (!check_kind(request, fault) || !target_open(target, request, fault))
        return false;
    return place->file == NULL ||
           invitation_write(invitation, place->file, place->begin, sink_bytes(&target->sink), fault);
}

bool target_open_joint(struct target *target, const struct target_request *request, struct peers *peers,
                       struct fault *fault)
{
    struct invitation invitation = {.begin = 0};
    bool first = peers_lead(peers), done = !first || invite(target, request, &invitation, fault);
    struct file_out *file;

    target->path = request->sink.pattern;
    if (!invitation_send(&invitation, peers, done, target->path, &target->joined, fault))
        return false;
    file = first ? target->sink.samples.file : target->joined;
    if (file != NULL)
        target->joint =
            sink_joint(request->header, (struct sink_place){.file = file, .begin = invitation.begin});
    return true;
}

bool target_needs_place(const struct target *target)
{
    return target->joint.format == NULL;
}

/* ---- to its end ---- */

struct sink *target_sink(struct target *target)
{
    return target->joint.format != NULL ? &target->joint : &target->sink;
}

bool target_complete(struct target *target, struct fault *fault)
{
    return target->joined == NULL || file_out_complete(target->joined, fault);
}

bool target_add_files(const struct target *target, struct file_set *set, struct fault *fault)
{
    return target->file == NULL || sink_add_files(&target->sink, set, fault);
}

bool target_unseen(const struct target *target)
{
    return target->file == NULL || file_out_unseen(target->file);
}

void target_close(struct target *target)
{
    if (target->sink.format != NULL)
        sink_close(&target->sink);
    file_out_close(target->file);
    file_out_close(target->joined);
}
