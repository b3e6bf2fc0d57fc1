/* Targets of a run: its output, and the states on the way that are written as well.

   A single process opens each file with its sink, and writes. Of several ranks, rank 0 alone opens it, and
   they write it together in one of three ways. If its format has samples at fixed places, rank 0 makes the
   file long enough and tells the others its temporary name; each rank writes its planes where they belong. If
   samples can only be written in turn, as in compressed files and pictures, the ranks write them into a joint
   spool. Each rank has blocks of its own there, in which its planes of one output follow those of another, so
   that no block has two writers. Once all ranks have written, rank 0 pours the samples into the outputs in
   their order.

   While the ranks compute, a thread of rank 0 takes room on the disk for these files. After the run all learn
   whether there was enough, and then each completes what it wrote. Until the outputs have their names, every
   rank guards the temporary files of rank 0: if a signal ends another rank, a launcher may kill rank 0 by
   SIGKILL. */
#include "targets.h"

#include "base/file_in.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/size.h"
#include "format/stack.h"
#include "run/output.h"

#include <stdio.h>
#include <string.h>

/* Samples that go into a sink at a time. */
#define POUR_BYTES ((size_t)8 << 20)

/* ---- a file that all write ---- */

/* By rank 0: make the file as long as it will be, and describe it. */
static bool offer_file(struct joint_file *offer, struct file_out *file, uint64_t begin, uint64_t bytes,
                       struct fault *fault)
{
    if (!file_out_extend(file, begin + bytes, fault))
        return false;
    offer->begin = begin;
    offer->synced = file_out_is_synced(file);
    return (size_t)snprintf(offer->temporary, sizeof offer->temporary, "%s", file_out_temporary(file)) <
               sizeof offer->temporary ||
           fault_set_for(fault, STATUS_IO, file_out_name(file), "too long a name");
}

/* All ranks together: rank 0 offers its file, if it has one; the others open it. */
static bool join_file(struct joint_file *offer, struct peers *peers, bool done, const char *path,
                      struct file_out **joined, struct fault *fault)
{
    *joined = NULL;
    if (!peers_follow(peers, done, fault) || !peers_broadcast(peers, offer, sizeof *offer, fault))
        return false;
    done = peers_lead(peers) || offer->temporary[0] == '\0' ||
           file_out_join(joined, path, offer->temporary, offer->synced, fault);
    return peers_agree(peers, done, fault);
}

/* ---- a spool for outputs that take samples in turn: the places of ranks ---- */

/* Planes of an output that a rank has of one volume. */
static size_t planes_of(const struct joint_spool *spool, size_t member)
{
    const struct job *job = spool->job;

    return split_window(spool->split, member, job).count * job->written_planes;
}

/* All that a rank has of an output. */
static uint64_t output_bytes(const struct joint_spool *spool, size_t member)
{
    const struct header *header = &spool->job->written;

    return (uint64_t)header->volumes * planes_of(spool, member) * header_plane_bytes(header);
}

/* The begin of the blocks of a rank; of the rank behind the last: the size of the spool. */
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

/* All ranks together: rank 0 makes a file beside the first output, and the others join it. */
static bool spool_open(struct joint_spool *spool, const struct job *job, const struct split *split,
                       size_t outputs, const struct file_out *first, const char *path, struct peers *peers,
                       struct fault *fault)
{
    struct joint_file offer = {.begin = 0};
    bool done = true;

    *spool = (struct joint_spool){.job = job, .split = split, .outputs = outputs};
    if (peers_lead(peers))
        done = file_out_open(&spool->file, file_out_name(first), fault) &&
               offer_file(&offer, spool->file, 0, begin_of(spool, split->members), fault);
    return join_file(&offer, peers, done, path, &spool->joined, fault);
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

/* ---- samples out of it ---- */

/* The state of pouring: from the spool into a sink. */
struct pouring {
    struct file_in *file;
    struct sink *sink;
    unsigned char *samples;
    size_t plane_bytes, batch; /* planes */
};

/* Write some planes of one rank into the sink. */
static bool pour_planes(const struct pouring *pouring, uint64_t begin, size_t planes, struct fault *fault)
{
    for (size_t first = 0, count, got; first < planes; first += count) {
        uint64_t offset = begin + (uint64_t)first * pouring->plane_bytes;
        count = size_least(pouring->batch, planes - first);
        if (!file_in_read_at(pouring->file, offset, pouring->samples, count * pouring->plane_bytes, &got,
                             fault))
            return false;
        if (got < count * pouring->plane_bytes)
            return fault_set_for(fault, STATUS_IO, file_out_name(pouring->sink->file),
                                 "samples of other ranks did not arrive");
        if (!sink_write(pouring->sink, pouring->samples, count, fault))
            return false;
    }
    return true;
}

/* Write all samples of an output, which each rank has left at its place, in the order of planes. */
static bool spool_pour(const struct joint_spool *spool, size_t output, struct sink *sink, struct fault *fault)
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

/* ---- a file ---- */

/* The file of a stack is its first one. */
static const char *file_path(const struct target_request *request, char first[PATTERN_NAME_MOST])
{
    if (request->format->slice == NULL || stack_of_name(request->sink.pattern) == NULL)
        return request->sink.pattern;
    stack_name_first(&request->sink, first);
    return first;
}

static bool target_open(struct target *target, const struct target_request *request, struct fault *fault)
{
    char first[PATTERN_NAME_MOST];

    if (!(request->format->folder ? file_out_open_folder : file_out_open)(&target->file,
                                                                          file_path(request, first), fault))
        return false;
    if (request->sync)
        file_out_sync(target->file);
    return sink_open(&target->sink, target->file, request->format, request->header, &request->sink, fault);
}

/* ---- one of several ranks ---- */

/* Before it is opened: a pipe would wait for its reader. A folder whose name is taken is refused when it is
   made. */
static bool check_kind(const struct target_request *request, struct fault *fault)
{
    char first[PATTERN_NAME_MOST];
    const char *path = file_path(request, first);

    return request->format->folder || file_out_is_file(path) ||
           fault_set_for(fault, STATUS_USAGE, path_is_standard(path) ? "standard output" : path,
                         "all ranks write to it, so it must be a regular file");
}

/* By rank 0: open a target and, if its samples have places, offer its file. */
static bool invite(struct target *target, const struct target_request *request, struct joint_file *offer,
                   struct fault *fault)
{
    const struct sink_place *place = &target->sink.samples;

    if (!check_kind(request, fault) || !target_open(target, request, fault))
        return false;
    return place->file == NULL ||
           offer_file(offer, place->file, place->begin, sink_bytes(&target->sink), fault);
}

static bool target_open_joint(struct target *target, const struct target_request *request,
                              struct peers *peers, struct fault *fault)
{
    struct joint_file offer = {.begin = 0};
    bool first = peers_lead(peers), done = !first || invite(target, request, &offer, fault);
    struct file_out *file;

    if (!join_file(&offer, peers, done, target->path, &target->joined, fault))
        return false;
    file = first ? target->sink.samples.file : target->joined;
    if (file != NULL)
        target->joint = sink_joint(request->header, (struct sink_place){.file = file, .begin = offer.begin});
    return true;
}

/* ---- a stack of several ranks ---- */

/* By any other rank: open the stack in these files. */
static bool join_files(struct target *target, const struct target_request *request, struct fault *fault)
{
    struct sink_request sink = request->sink;
    char first[PATTERN_NAME_MOST];

    sink.temporaries = target->temporaries;
    return file_out_join(&target->joined, file_path(request, first), target->temporaries, request->sync,
                         fault) &&
           sink_open(&target->sink, target->joined, request->format, request->header, &sink, fault);
}

/* All ranks together: rank 0 opens the stack and makes all of its files. */
static bool target_open_stack(struct target *target, const struct target_request *request,
                              struct peers *peers, struct fault *fault)
{
    bool first = peers_lead(peers), done;
    size_t bytes = 0;

    done = !first || (check_kind(request, fault) && target_open(target, request, fault) &&
                      stack_share(&target->sink, &target->temporaries, &bytes, fault));
    if (!peers_follow(peers, done, fault) || !peers_broadcast(peers, &bytes, sizeof bytes, fault))
        return false;
    if (!first)
        target->temporaries = mem_alloc(bytes, 1, "the names of a stack", fault);
    done = peers_agree(peers, target->temporaries != NULL, fault) &&
           peers_broadcast(peers, target->temporaries, bytes, fault) &&
           peers_agree(peers, first || join_files(target, request, fault), fault);
    target->joint = target->sink;
    return done;
}

/* ---- the targets ---- */

struct sink *target_sink(struct target *target)
{
    return target->joint.format != NULL ? &target->joint : &target->sink;
}

static bool are_joint(const struct targets *targets)
{
    return peers_count(targets->peers) > 1;
}

bool targets_make(struct targets *targets, size_t most, struct peers *peers, struct fault *fault)
{
    *targets = (struct targets){.peers = peers};
    targets->list = mem_zeroed(most, sizeof *targets->list, "the outputs", fault);
    return targets->list != NULL;
}

bool targets_add(struct targets *targets, const struct target_request *request, struct fault *fault)
{
    struct target *target = &targets->list[targets->count++];

    target->path = request->sink.pattern;
    /* A picture alone is written in turn, row by row. */
    if (are_joint(targets) && request->format->slice != NULL && request->header->grid.axes == 3)
        return target_open_stack(target, request, targets->peers, fault);
    return are_joint(targets) ? target_open_joint(target, request, targets->peers, fault)
                              : target_open(target, request, fault);
}

/* ---- all of several ranks ---- */

/* Sinks that take samples in turn get a place in the spool, which is beside the file of the first of them. */
static bool find_places(struct targets *targets, const struct job *job, const struct split *split,
                        struct fault *fault)
{
    const struct target *first = NULL;
    size_t count = 0, output = 0;

    /* The spool lies beside the first output that needs it. */
    for (size_t i = targets->count; i-- > 0;) {
        if (targets->list[i].joint.format == NULL) {
            first = &targets->list[i];
            count++;
        }
    }
    if (count == 0)
        return true;
    if (!spool_open(&targets->spool, job, split, count, first->file, first->path, targets->peers, fault))
        return false;
    for (size_t i = 0; i < targets->count; i++) {
        if (targets->list[i].joint.format == NULL)
            targets->list[i].joint = joint_spool_sink(&targets->spool, output++);
    }
    return true;
}

/* The disk space that each file needs. */
static size_t list_rooms(const struct targets *targets, struct preallocate_file *rooms)
{
    const struct joint_spool *spool = &targets->spool;
    size_t count = 0;

    for (size_t i = 0; i < targets->count; i++) {
        rooms[count] = sink_room(&targets->list[i].sink);
        count += rooms[count].file != NULL;
    }
    if (spool->file != NULL)
        rooms[count++] = (struct preallocate_file){spool->file, begin_of(spool, spool->split->members)};
    return count;
}

/* By rank 0. The sink of the output tells the run if there is too little. */
static bool begin_to_reserve(struct targets *targets, struct fault *fault)
{
    struct preallocate_file *rooms = mem_alloc(targets->count + 1, sizeof *rooms, "the outputs", fault);

    if (rooms == NULL)
        return false;
    targets->preallocation = preallocate_begin(rooms, list_rooms(targets, rooms), fault);
    target_sink(&targets->list[0])->preallocation = targets->preallocation;
    mem_free(rooms);
    return targets->preallocation != NULL;
}

bool targets_settle(struct targets *targets, const struct job *job, const struct split *split,
                    struct fault *fault)
{
    struct peers *peers = targets->peers;

    return !are_joint(targets) ||
           (find_places(targets, job, split, fault) &&
            peers_follow(peers, !peers_lead(peers) || begin_to_reserve(targets, fault), fault));
}

bool targets_have_room(struct targets *targets, bool made, struct fault *fault)
{
    bool has = made ? preallocate_wait(targets->preallocation, fault)
                    : !preallocate_has_failed(targets->preallocation, fault);

    return peers_follow(targets->peers, has, fault);
}

/* Wait until all that this rank wrote is in the files. */
static bool complete(struct targets *targets, struct fault *fault)
{
    struct file_out *spool = file_of(&targets->spool);
    bool done = spool == NULL || file_out_complete(spool, fault);

    for (size_t i = 0; done && i < targets->count; i++) {
        struct file_out *joined = targets->list[i].joined;
        done = joined == NULL || file_out_complete(joined, fault);
    }
    return done;
}

/* By rank 0. Threads that compress one output go on while the next one is filled. */
static bool finish_own(struct targets *targets, struct fault *fault)
{
    size_t output = 0;
    bool done = true;

    for (size_t i = 0; done && i < targets->count; i++) {
        struct target *target = &targets->list[i];
        if (target->joint.samples.apart)
            done = spool_pour(&targets->spool, output++, &target->sink, fault);
    }
    for (size_t i = 0; done && i < targets->count; i++)
        done = sink_finish(&targets->list[i].sink, fault);
    return done;
}

bool targets_finish(struct targets *targets, struct fault *fault)
{
    struct peers *peers = targets->peers;

    return !are_joint(targets) ||
           (peers_agree(peers, complete(targets, fault), fault) &&
            peers_follow(peers, !peers_lead(peers) || finish_own(targets, fault), fault));
}

/* ---- to their end ---- */

bool targets_add_files(const struct targets *targets, struct file_set *set, struct fault *fault)
{
    bool done = true;

    for (size_t i = 1; done && i <= targets->count; i++) {
        const struct target *target = &targets->list[i % targets->count];
        done = target->file == NULL || sink_add_files(&target->sink, set, fault);
    }
    return done;
}

bool targets_unseen(const struct targets *targets)
{
    bool unseen = targets->count > 0 && targets->list[0].file != NULL;

    for (size_t i = 0; unseen && i < targets->count; i++) {
        const struct file_out *file = targets->list[i].file;
        unseen = file == NULL || file_out_is_untouched(file);
    }
    return unseen;
}

/* ---- temporary files that all remove ---- */

/* The room that the other ranks need for the paths. */
struct extent {
    size_t count, bytes;
};

/* By rank 0: the paths of its temporary files. */
static bool list_own(struct targets *targets, struct extent *extent, struct fault *fault)
{
    sigset_t before;

    temp_cleanup_hold_signals(&before);
    extent->bytes = temp_cleanup_list(NULL, 0, &extent->count);
    targets->guarded_paths = mem_alloc(extent->bytes, 1, "the temporary files", fault);
    if (targets->guarded_paths != NULL)
        temp_cleanup_list(targets->guarded_paths, extent->bytes, &extent->count);
    temp_cleanup_release_signals(&before);
    return targets->guarded_paths != NULL;
}

/* By any other rank: put these paths on its list of temporary files. */
static void guard_all(struct targets *targets, size_t count)
{
    const char *path = targets->guarded_paths;
    sigset_t before;

    temp_cleanup_hold_signals(&before);
    for (; targets->guarded_count < count; targets->guarded_count++) {
        struct temp_file *guarded = &targets->guarded[targets->guarded_count];
        guarded->path = path;
        temp_cleanup_add(guarded);
        path += strlen(path) + 1;
    }
    temp_cleanup_release_signals(&before);
}

bool targets_guard(struct targets *targets, struct peers *all, struct fault *fault)
{
    struct extent extent = {.count = 0};
    bool first = peers_lead(all), done;

    if (peers_count(all) == 1)
        return true;
    done = !first || list_own(targets, &extent, fault);
    if (!peers_broadcast(all, &extent, sizeof extent, fault))
        return false;
    if (!first) {
        targets->guarded_paths = mem_alloc(extent.bytes, 1, "the temporary files", fault);
        targets->guarded = mem_alloc(extent.count, sizeof *targets->guarded, "the temporary files", fault);
        done = targets->guarded_paths != NULL && targets->guarded != NULL;
    }
    if (!peers_agree(all, done, fault) || !peers_broadcast(all, targets->guarded_paths, extent.bytes, fault))
        return false;
    if (!first)
        guard_all(targets, extent.count);
    return true;
}

static void drop_guarded(struct targets *targets)
{
    sigset_t before;

    temp_cleanup_hold_signals(&before);
    for (size_t i = 0; i < targets->guarded_count; i++)
        temp_cleanup_forget(&targets->guarded[i]);
    temp_cleanup_release_signals(&before);
    mem_free(targets->guarded_paths);
    mem_free(targets->guarded);
}

/* ---- the end ---- */

void targets_close(struct targets *targets)
{
    drop_guarded(targets);
    preallocate_end(targets->preallocation);
    for (size_t i = 0; i < targets->count; i++) {
        struct target *target = &targets->list[i];
        if (target->sink.format != NULL)
            sink_close(&target->sink);
        file_out_close(target->file);
        file_out_close(target->joined);
        mem_free(target->temporaries);
    }
    file_out_close(targets->spool.file);
    file_out_close(targets->spool.joined);
    mem_free(targets->list);
    *targets = (struct targets){.peers = targets->peers};
}
