/* Targets of a run: its output, and the states on the way that are written as well.

   A single process opens each file with its sink, and writes. Of several ranks, rank 0 alone opens them. The
   others join its temporary file, and all write it; or, if samples come in turn, all write a spool, from
   which rank 0 fills the sinks after the run (joint.c). While the ranks compute, a thread of rank 0 takes
   room on the disk for these files. After the run all learn whether there was enough, and then each completes
   what it wrote. */
#include "targets.h"

#include "base/mem.h"
#include "base/path.h"
#include "format/pattern.h"
#include "format/png_stack.h"

/* ---- a file ---- */

/* Of a stack of pictures the first one has the file. */
static const char *file_path(const struct target_request *request, char first[PATTERN_NAME_MOST])
{
    if (!request->format->is_stack || !pattern_is_png(request->sink.pattern))
        return request->sink.pattern;
    pattern_expand(request->sink.pattern, png_stack_first(request->sink.origin), first);
    return first;
}

static bool target_open(struct target *target, const struct target_request *request, struct fault *fault)
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

/* ---- one of several ranks ---- */

/* Before it is opened: a pipe would wait for its reader. */
static bool check_kind(const struct target_request *request, struct fault *fault)
{
    char first[PATTERN_NAME_MOST];
    const char *path = file_path(request, first);

    return file_out_is_file(path) ||
           fault_raise_about(fault, STATUS_USAGE, path_is_standard(path) ? "standard output" : path,
                             "all ranks write to it, so it must be a regular file");
}

static bool invite(struct target *target, const struct target_request *request, struct joint_file *offer,
                   struct fault *fault)
{
    const struct sink_place *place = &target->sink.samples;

    if (!check_kind(request, fault) || !target_open(target, request, fault))
        return false;
    return place->file == NULL ||
           joint_file_offer(offer, place->file, place->begin, sink_bytes(&target->sink), fault);
}

static bool target_open_joint(struct target *target, const struct target_request *request,
                              struct peers *peers, struct fault *fault)
{
    struct joint_file offer = {.begin = 0};
    bool first = peers_lead(peers), done = !first || invite(target, request, &offer, fault);
    struct file_out *file;

    target->path = request->sink.pattern;
    if (!joint_file_join(&offer, peers, done, target->path, &target->joined, fault))
        return false;
    file = first ? target->sink.samples.file : target->joined;
    if (file != NULL)
        target->joint = sink_joint(request->header, (struct sink_place){.file = file, .begin = offer.begin});
    return true;
}

static bool target_needs_place(const struct target *target)
{
    return target->joint.format == NULL;
}

/* ---- to its end ---- */

struct sink *target_sink(struct target *target)
{
    return target->joint.format != NULL ? &target->joint : &target->sink;
}

static bool target_add_files(const struct target *target, struct file_set *set, struct fault *fault)
{
    return target->file == NULL || sink_add_files(&target->sink, set, fault);
}

static void target_close(struct target *target)
{
    if (target->sink.format != NULL)
        sink_close(&target->sink);
    file_out_close(target->file);
    file_out_close(target->joined);
}

/* ---- all of them ---- */

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

    return are_joint(targets) ? target_open_joint(target, request, targets->peers, fault)
                              : target_open(target, request, fault);
}

/* ---- all of several ranks ---- */

static size_t count_in_turn(const struct targets *targets)
{
    size_t count = 0;

    for (size_t i = 0; i < targets->count; i++)
        count += target_needs_place(&targets->list[i]);
    return count;
}

static const struct target *first_in_turn(const struct targets *targets)
{
    const struct target *target = targets->list;

    while (!target_needs_place(target))
        target++;
    return target;
}

static bool find_places(struct targets *targets, const struct job *job, const struct split *split,
                        struct fault *fault)
{
    size_t count = count_in_turn(targets), output = 0;
    const struct target *first;

    if (count == 0)
        return true;
    first = first_in_turn(targets);
    if (!joint_spool_open(&targets->spool, job, split, count, first->file, first->path, targets->peers,
                          fault))
        return false;
    for (size_t i = 0; i < targets->count; i++) {
        if (target_needs_place(&targets->list[i]))
            targets->list[i].joint = joint_spool_sink(&targets->spool, output++);
    }
    return true;
}

static size_t list_rooms(const struct targets *targets, struct reservation_room *rooms)
{
    size_t count = 0;

    for (size_t i = 0; i < targets->count; i++) {
        rooms[count] = sink_room(&targets->list[i].sink);
        count += rooms[count].file != NULL;
    }
    if (targets->spool.file != NULL)
        rooms[count++] = joint_spool_room(&targets->spool);
    return count;
}

/* By rank 0. The sink of the output tells the run if there is too little. */
static bool begin_to_reserve(struct targets *targets, struct fault *fault)
{
    struct reservation_room *rooms = mem_alloc(targets->count + 1, sizeof *rooms, "the outputs", fault);

    if (rooms == NULL)
        return false;
    targets->reservation = reservation_begin(rooms, list_rooms(targets, rooms), fault);
    target_sink(&targets->list[0])->reservation = targets->reservation;
    mem_free(rooms);
    return targets->reservation != NULL;
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
    bool has = made ? reservation_wait(targets->reservation, fault)
                    : !reservation_has_failed(targets->reservation, fault);

    return peers_follow(targets->peers, has, fault);
}

/* What this rank wrote. */
static bool complete(struct targets *targets, struct fault *fault)
{
    bool done = joint_spool_complete(&targets->spool, fault);

    for (size_t i = 0; done && i < targets->count; i++) {
        struct file_out *joined = targets->list[i].joined;
        done = joined == NULL || file_out_complete(joined, fault);
    }
    return done;
}

static bool pour(struct targets *targets, struct fault *fault)
{
    size_t output = 0;
    bool done = true;

    for (size_t i = 0; done && i < targets->count; i++) {
        struct target *target = &targets->list[i];
        done =
            !target->joint.samples.apart || joint_spool_pour(&targets->spool, output++, &target->sink, fault);
    }
    return done;
}

/* By rank 0. Threads that compress one output go on while the next one is filled. */
static bool finish_own(struct targets *targets, struct fault *fault)
{
    bool done = pour(targets, fault);

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

    for (size_t i = 1; done && i < targets->count; i++)
        done = target_add_files(&targets->list[i], set, fault);
    return done && target_add_files(&targets->list[0], set, fault);
}

bool targets_unseen(const struct targets *targets)
{
    bool unseen = targets->count > 0 && targets->list[0].file != NULL;

    for (size_t i = 0; unseen && i < targets->count; i++) {
        const struct file_out *file = targets->list[i].file;
        unseen = file == NULL || file_out_unseen(file);
    }
    return unseen;
}

void targets_close(struct targets *targets)
{
    reservation_end(targets->reservation);
    for (size_t i = 0; i < targets->count; i++)
        target_close(&targets->list[i]);
    joint_spool_close(&targets->spool);
    mem_free(targets->list);
    *targets = (struct targets){.peers = targets->peers};
}
