/* Targets of a run: its output, and the states on the way that are written as well. */
#include "targets.h"

#include "base/mem.h"

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

/* ---- of several ranks ---- */

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
    if (!reservoir_open(&targets->reservoir, job, split, count, first->file, first->path, targets->peers,
                        fault))
        return false;
    for (size_t i = 0; i < targets->count; i++) {
        if (target_needs_place(&targets->list[i]))
            targets->list[i].joint = reservoir_sink(&targets->reservoir, output++);
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
    if (targets->reservoir.file != NULL)
        rooms[count++] = reservoir_room(&targets->reservoir);
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
    bool done = reservoir_complete(&targets->reservoir, fault);

    for (size_t i = 0; done && i < targets->count; i++)
        done = target_complete(&targets->list[i], fault);
    return done;
}

static bool pour(struct targets *targets, struct fault *fault)
{
    size_t output = 0;
    bool done = true;

    for (size_t i = 0; done && i < targets->count; i++) {
        struct target *target = &targets->list[i];
        done = !target->joint.samples.apart ||
               reservoir_pour(&targets->reservoir, output++, &target->sink, fault);
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

    for (size_t i = 0; unseen && i < targets->count; i++)
        unseen = target_unseen(&targets->list[i]);
    return unseen;
}

void targets_close(struct targets *targets)
{
    reservation_end(targets->reservation);
    for (size_t i = 0; i < targets->count; i++)
        target_close(&targets->list[i]);
    reservoir_close(&targets->reservoir);
    mem_free(targets->list);
    *targets = (struct targets){.peers = targets->peers};
}
