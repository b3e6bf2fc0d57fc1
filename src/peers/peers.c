/* Peers: the processes, or ranks, that make a run together. */
#include "peers.h"

#include "base/mem.h"
#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fault that ends the run, as its rank tells it to all. */
struct failure {
    struct fault fault;
    char node[PEERS_NODE_MOST];
};

size_t peers_count(const struct peers *peers)
{
    return peers == NULL || peers->kind == NULL ? 1 : peers->place.count;
}

size_t peers_index(const struct peers *peers)
{
    return peers_count(peers) == 1 ? 0 : peers->place.index;
}

bool peers_lead(const struct peers *peers)
{
    return peers_index(peers) == 0;
}

static bool sign(size_t rank, const char *node, struct fault *fault)
{
    char name[PEERS_NODE_MOST + 40];

    snprintf(name, sizeof name, "rank %zu (%s)", rank, node);
    return fault_prefix(fault, name);
}

/* Put the rank before the fault, unless all of them have the same. */
static bool name_rank(struct peers *peers, size_t rank, const struct failure *told, bool mine,
                      struct fault *fault)
{
    uint64_t everybodys =
        mine && told->fault.status == fault->status && strcmp(told->fault.text, fault->text) == 0;

    if (!peers->kind->min(peers->state, &everybodys, fault))
        return false;
    *fault = told->fault;
    return !everybodys && sign(rank, told->node, fault);
}

/* One of them has failed: all come to have its fault. */
static bool tell_failure(struct peers *peers, size_t rank, bool mine, struct fault *fault)
{
    struct failure told = {.fault = {.status = STATUS_FAILURE}};

    if (rank == peers->place.index) {
        told.fault = *fault;
        memcpy(told.node, peers->place.node, sizeof told.node);
    }
    return peers->kind->broadcast(peers->state, rank, &told, sizeof told, fault) &&
           peers->kind->clear_warnings(peers->state, fault) && name_rank(peers, rank, &told, mine, fault);
}

bool peers_agree(struct peers *peers, bool done, struct fault *fault)
{
    uint64_t first;
    bool mine;

    if (peers_count(peers) == 1)
        return done;
    /* A rank that stops because another one did has no fault of its own. */
    mine = !done && !peers->heard;
    first = mine ? peers->place.index : peers->place.count;
    peers->heard = false;
    if (mine)
        peers->kind->warn(peers->state);
    if (!peers->kind->min(peers->state, &first, fault))
        return false;
    return first == peers->place.count || tell_failure(peers, (size_t)first, mine, fault);
}

/* The same in all versions, so that they understand each other this far. */
struct build {
    char version[64], node[64];
    uint64_t layout;
};

static bool raise_other_build(const struct build *other, size_t rank, const struct build *first,
                              struct fault *fault)
{
    if (strcmp(other->version, first->version) != 0)
        fault_raise(fault, STATUS_USAGE, "%.63s here, but %.63s on rank 0", other->version, first->version);
    else
        fault_raise(fault, STATUS_USAGE, "%.63s was built in another way than on rank 0", other->version);
    return sign(rank, other->node, fault);
}

bool peers_compare_builds(struct peers *peers, const char *version, uint64_t layout, struct fault *fault)
{
    struct build own = {.layout = layout}, first, other;
    uint64_t unlike;

    if (peers_count(peers) == 1)
        return true;
    snprintf(own.version, sizeof own.version, "%s", version);
    snprintf(own.node, sizeof own.node, "%s", peers->place.node);
    first = other = own;
    if (!peers_broadcast(peers, &first, sizeof first, fault))
        return false;
    unlike = strcmp(own.version, first.version) == 0 && own.layout == first.layout ? peers->place.count
                                                                                   : peers->place.index;
    if (!peers->kind->min(peers->state, &unlike, fault))
        return false;
    return unlike == peers->place.count ||
           (peers->kind->broadcast(peers->state, (size_t)unlike, &other, sizeof other, fault) &&
            raise_other_build(&other, (size_t)unlike, &first, fault));
}

bool peers_go_on(struct peers *peers, struct fault *fault)
{
    if (peers_count(peers) == 1 || !peers->kind->is_warned(peers->state))
        return true;
    peers->heard = true;
    return fault_raise(fault, STATUS_FAILURE, "another rank has stopped");
}

void peers_take_processors(const struct peers *peers, bool of_all)
{
    if (peers_count(peers) > 1 && peers->kind->take_processors != NULL)
        peers->kind->take_processors(peers->state, of_all);
}

bool peers_min(struct peers *peers, uint64_t *value, struct fault *fault)
{
    return peers_count(peers) == 1 || peers->kind->min(peers->state, value, fault);
}

bool peers_broadcast(struct peers *peers, void *bytes, size_t size, struct fault *fault)
{
    return peers_count(peers) == 1 || peers->kind->broadcast(peers->state, 0, bytes, size, fault);
}

bool peers_follow(struct peers *peers, bool done, struct fault *fault)
{
    struct fault told = {.status = STATUS_DONE};

    if (!done && peers_lead(peers))
        told = *fault;
    if (!peers_broadcast(peers, &told, sizeof told, fault))
        return false;
    if (told.status != STATUS_DONE)
        *fault = told;
    return told.status == STATUS_DONE;
}

bool peers_start_messages(struct peers *peers, const struct peers_message *messages, size_t count,
                          struct fault *fault)
{
    return peers->kind->start_messages(peers->state, messages, count, fault);
}

bool peers_test_messages(struct peers *peers)
{
    return peers->kind->test_messages(peers->state);
}

bool peers_wait_for_messages(struct peers *peers, struct fault *fault)
{
    return peers->kind->wait_for_messages(peers->state, fault);
}

bool peers_share(struct peers *peers, const size_t *bytes, unsigned char **seen, void **memory,
                 struct fault *fault)
{
    return peers->kind->share(peers->state, bytes, seen, memory, fault);
}

void peers_unshare(struct peers *peers, void *memory)
{
    if (memory != NULL)
        peers->kind->unshare(peers->state, memory);
}

/* ---- what comes to rank 0 ---- */

/* Rank 0 takes what ranks bring as often as this is full. */
#define GATHER_BYTES ((uint64_t)1 << 20)

/* The bytes that ranks bring, and how many of them go to rank 0 in one turn: all that several ranks have, and
   nothing of the others. */
struct gathering {
    struct peers *peers;
    uint64_t *sizes, *turn;
    unsigned char *buffer; /* rank 0's, of `room` bytes */
    uint64_t room;
};

static bool open_gathering(struct gathering *gathering, uint64_t size, struct fault *fault)
{
    struct peers *peers = gathering->peers;
    size_t count = peers_count(peers);
    uint64_t most = 0, sum = 0;

    gathering->sizes = mem_zeroed(count, 2 * sizeof *gathering->sizes, "what ranks bring", fault);
    if (!peers_agree(peers, gathering->sizes != NULL, fault) ||
        !peers->kind->list(peers->state, size, gathering->sizes, fault))
        return false;
    gathering->turn = gathering->sizes + count;
    for (size_t i = 0; i < count; i++) {
        most = gathering->sizes[i] > most ? gathering->sizes[i] : most;
        sum += gathering->sizes[i];
    }
    gathering->room = sum < GATHER_BYTES ? sum : most > GATHER_BYTES ? most : GATHER_BYTES;
    if (peers_lead(peers))
        gathering->buffer = mem_alloc((size_t)gathering->room, 1, "what other ranks bring", fault);
    return peers_agree(peers, !peers_lead(peers) || gathering->buffer != NULL, fault);
}

/* Ranks from one on whose bytes fit the buffer together; returns the one behind them. */
static size_t fill_turn(struct gathering *gathering, size_t first)
{
    size_t count = peers_count(gathering->peers), end = first;

    memset(gathering->turn, 0, count * sizeof *gathering->turn);
    for (uint64_t left = gathering->room; end < count && gathering->sizes[end] <= left; end++)
        left -= gathering->turn[end] = gathering->sizes[end];
    return end;
}

static bool take_turn(const struct gathering *gathering, size_t first, size_t end, peers_taker *take,
                      void *data, struct fault *fault)
{
    const unsigned char *next = gathering->buffer;
    bool done = true;

    for (size_t i = first; done && i < end; next += gathering->sizes[i++])
        done = take(data, next, (size_t)gathering->sizes[i], fault);
    return done;
}

/* If rank 0 cannot take what comes, it goes on receiving it, since the others send it. */
static bool gather_all(struct gathering *gathering, const void *bytes, peers_taker *take, void *data,
                       struct fault *fault)
{
    struct peers *peers = gathering->peers;
    bool fine = true;

    for (size_t first = 0, end; first < peers_count(peers); first = end) {
        end = fill_turn(gathering, first);
        if (!peers->kind->gather(peers->state, bytes, gathering->turn, gathering->buffer, fault))
            return false;
        fine = fine && (!peers_lead(peers) || take_turn(gathering, first, end, take, data, fault));
    }
    return peers_agree(peers, fine, fault);
}

bool peers_gather(struct peers *peers, const void *bytes, size_t size, peers_taker *take, void *data,
                  struct fault *fault)
{
    struct gathering gathering = {.peers = peers};
    bool done;

    if (peers_count(peers) == 1)
        return take(data, bytes, size, fault);
    done = open_gathering(&gathering, size, fault) && gather_all(&gathering, bytes, take, data, fault);
    mem_free(gathering.buffer);
    mem_free(gathering.sizes);
    return done;
}

/* ---- teams ---- */

bool peers_team(struct peers *peers, size_t count, struct peers *team, struct fault *fault)
{
    bool done = true, reached;

    *team = (struct peers){.kind = NULL};
    if (peers_count(peers) == 1)
        return true;
    *team = *peers;
    team->place.count = count;
    reached = peers->kind->team(peers->state, count, &team->state, &done, fault);
    if (!reached || team->state == NULL)
        team->kind = NULL;
    if (reached && peers_agree(peers, done, fault))
        return true;
    peers_close(team);
    *team = (struct peers){.kind = NULL};
    return false;
}

void peers_close(struct peers *peers)
{
    if (peers != NULL && peers->kind != NULL)
        peers->kind->close(peers->state);
}

/* ---- launchers ---- */

/* The first that is set says how many tasks there are. */
static const struct launcher {
    const char *count, *index;
    bool of_mpi;
} launchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", true},
                 {"PMI_SIZE", "PMI_RANK", true},
                 {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", false}};

#define LAUNCHER_COUNT (sizeof launchers / sizeof *launchers)

static bool read_number(const char *name, uint64_t *number)
{
    const char *text = getenv(name);

    return text != NULL && number_parse_count(text, number);
}

uint64_t peers_launched(uint64_t *index)
{
    uint64_t count;

    *index = 0;
    for (size_t i = 0; i < LAUNCHER_COUNT; i++) {
        if (!read_number(launchers[i].count, &count))
            continue;
        if (!read_number(launchers[i].index, index))
            *index = 0;
        return count;
    }
    return 1;
}

bool peers_launched_alone(void)
{
    bool told = false;
    uint64_t count;

    for (size_t i = 0; i < LAUNCHER_COUNT; i++) {
        if (!read_number(launchers[i].count, &count))
            continue;
        if (count != 1)
            return false;
        told = told || launchers[i].of_mpi;
    }
    return told;
}
