/* Peers that are threads of one process, for tests. */
#include "peers_threads.h"

#include "fixture.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANKS_MOST = 16, MESSAGES_MOST = 64 };

/* A message that was started, and does not wait for its receiver. */
struct crate {
    struct crate *next;
    size_t from, to, size;
    unsigned char bytes[];
};

/* What all teams of a program have in common. */
struct peers_threads {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t fails, lacks;       /* ranks */
    size_t together;           /* of a node */
    unsigned long call, calls; /* of the rank that fails */
    unsigned long looks;
    size_t most_bytes; /* of memory that others see and of messages, together, of one rank */
    bool broken;
    struct room *rooms; /* the first is that of all */
};

/* Ranks that talk to each other. */
struct room {
    struct room *next_room;
    struct peers_threads *threads;
    size_t count, open;
    size_t here;         /* who have come to where all have to be */
    unsigned long round; /* how often they all have */
    uint64_t least, next;
    void *shared; /* of the one that tells */
    size_t maps;  /* that are not given back */
    bool warned[RANKS_MOST];
    struct crate *crates; /* on their way, in the order in which they were sent */
    struct seat {
        struct room *room;
        size_t index;
        size_t rank; /* in the room of all */
        int file;    /* the memory that others on its node map */
        size_t bytes;
        uint64_t value;      /* that it lists */
        const void *brought; /* to rank 0 */
        struct peers_message messages[MESSAGES_MOST];
        size_t count;
    } seats[RANKS_MOST];
};

static struct room *open_room(struct peers_threads *threads, size_t count)
{
    struct room *room = fixture_memory(1, sizeof *room), **last = &threads->rooms;

    *room = (struct room){.threads = threads, .count = count, .open = count, .next = UINT64_MAX};
    for (size_t i = 0; i < count; i++)
        room->seats[i] = (struct seat){.room = room, .index = i, .rank = i};
    while (*last != NULL)
        last = &(*last)->next_room;
    *last = room;
    return room;
}

struct peers_threads *peers_threads_open(size_t count)
{
    struct peers_threads *threads = fixture_memory(1, sizeof *threads);

    fixture_require(count <= RANKS_MOST, "few ranks");
    *threads = (struct peers_threads){.fails = count, .lacks = count, .together = count};
    pthread_mutex_init(&threads->mutex, NULL);
    pthread_cond_init(&threads->changed, NULL);
    open_room(threads, count);
    return threads;
}

void peers_threads_fail(struct peers_threads *threads, size_t index, unsigned long call)
{
    threads->fails = index;
    threads->call = call;
}

void peers_threads_lack(struct peers_threads *threads, size_t index)
{
    threads->lacks = index;
}

void peers_threads_part(struct peers_threads *threads, size_t together)
{
    threads->together = together;
}

bool peers_threads_have_failed(const struct peers_threads *threads)
{
    return threads->broken;
}

size_t peers_threads_most_bytes(const struct peers_threads *threads)
{
    return threads->most_bytes;
}

unsigned long peers_threads_looks(const struct peers_threads *threads)
{
    return threads->looks;
}

static bool lose(struct fault *fault)
{
    return fault_raise(fault, STATUS_FAILURE, "the others are out of reach");
}

/* Every call begins with this, and has the mutex from then on; false without it. */
static bool enter(struct seat *seat, struct fault *fault)
{
    struct peers_threads *threads = seat->room->threads;

    pthread_mutex_lock(&threads->mutex);
    if (seat->rank == threads->fails && ++threads->calls == threads->call) {
        threads->broken = true;
        pthread_cond_broadcast(&threads->changed);
    }
    if (!threads->broken)
        return true;
    pthread_mutex_unlock(&threads->mutex);
    return lose(fault);
}

static bool leave(struct seat *seat, bool done, struct fault *fault)
{
    pthread_mutex_unlock(&seat->room->threads->mutex);
    return done || lose(fault);
}

static void wake(struct room *room)
{
    pthread_cond_broadcast(&room->threads->changed);
}

static void wait(struct room *room)
{
    pthread_cond_wait(&room->threads->changed, &room->threads->mutex);
}

/* Until all have come. */
static bool meet(struct room *room)
{
    unsigned long round = room->round;

    if (++room->here == room->count) {
        room->here = 0;
        room->round++;
        room->least = room->next;
        room->next = UINT64_MAX;
        wake(room);
    }
    while (room->round == round && !room->threads->broken)
        wait(room);
    return room->round != round;
}

static bool minimum(void *state, uint64_t *value, struct fault *fault)
{
    struct seat *seat = state;
    struct room *room = seat->room;
    bool done;

    if (!enter(seat, fault))
        return false;
    room->next = *value < room->next ? *value : room->next;
    done = meet(room);
    *value = room->least; /* until all have come again */
    return leave(seat, done, fault);
}

static bool broadcast(void *state, size_t from, void *bytes, size_t size, struct fault *fault)
{
    struct seat *seat = state;
    struct room *room = seat->room;
    bool done;

    if (!enter(seat, fault))
        return false;
    if (seat->index == from)
        room->shared = bytes;
    done = meet(room) && !room->threads->broken; /* the one that tells may have left */
    if (done && seat->index != from)
        memcpy(bytes, room->shared, size);
    return leave(seat, done && meet(room), fault);
}

static bool list(void *state, uint64_t own, uint64_t *values, struct fault *fault)
{
    struct seat *seat = state;
    struct room *room = seat->room;
    bool done;

    if (!enter(seat, fault))
        return false;
    seat->value = own;
    done = meet(room);
    for (size_t i = 0; i < room->count; i++)
        values[i] = room->seats[i].value;
    return leave(seat, done && meet(room), fault);
}

static bool gather(void *state, const void *bytes, const uint64_t *sizes, void *into, struct fault *fault)
{
    struct seat *seat = state;
    struct room *room = seat->room;
    unsigned char *next = into;
    bool done;

    if (!enter(seat, fault))
        return false;
    seat->brought = bytes;
    done = meet(room) && !room->threads->broken; /* another one may have left */
    for (size_t i = 0; done && seat->index == 0 && i < room->count; next += sizes[i++]) {
        if (sizes[i] > 0)
            memcpy(next, room->seats[i].brought, sizes[i]);
    }
    return leave(seat, done && meet(room), fault);
}

static void send_crate(struct seat *seat, const struct peers_message *message)
{
    struct crate *crate = fixture_memory(1, sizeof *crate + message->size), **last = &seat->room->crates;

    *crate = (struct crate){.from = seat->index, .to = message->peer, .size = message->size};
    if (message->size > 0)
        memcpy(crate->bytes, message->bytes, message->size);
    while (*last != NULL)
        last = &(*last)->next;
    *last = crate;
    wake(seat->room);
}

/* Memory of a node is there only while planes are traded before levels; other messages do not count. */
static void note_bytes(const struct seat *seat)
{
    struct peers_threads *threads = seat->room->threads;
    size_t bytes = seat->bytes;

    for (size_t i = 0; i < seat->count; i++)
        bytes += seat->messages[i].size;
    if (seat->room->maps > 0 && bytes > threads->most_bytes)
        threads->most_bytes = bytes;
}

static bool start_messages(void *state, const struct peers_message *messages, size_t count,
                           struct fault *fault)
{
    struct seat *seat = state;

    fixture_require(seat->count == 0 && count <= MESSAGES_MOST, "one set of messages at a time");
    if (!enter(seat, fault))
        return false;
    memcpy(seat->messages, messages, count * sizeof *messages);
    seat->count = count;
    note_bytes(seat);
    for (size_t i = 0; i < count; i++) {
        if (!messages[i].incoming)
            send_crate(seat, &messages[i]);
    }
    return leave(seat, true, fault);
}

/* Where the first crate for it stands that such a rank has sent; at the end where there is none. */
static struct crate **find_crate(struct seat *seat, size_t from)
{
    struct crate **crate = &seat->room->crates;

    while (*crate != NULL && ((*crate)->from != from || (*crate)->to != seat->index))
        crate = &(*crate)->next;
    return crate;
}

static bool take_crate(struct seat *seat, const struct peers_message *message)
{
    struct crate **place, *crate;

    while (*(place = find_crate(seat, message->peer)) == NULL && !seat->room->threads->broken)
        wait(seat->room);
    crate = *place;
    if (crate == NULL)
        return false;
    fixture_require(crate->size == message->size, "a message is as long as it was expected to be");
    if (crate->size > 0)
        memcpy(message->bytes, crate->bytes, crate->size);
    *place = crate->next;
    free(crate);
    return true;
}

/* Only its receiver moves a crate. */
static bool test_messages(void *state)
{
    struct seat *seat = state;
    bool there = true;

    pthread_mutex_lock(&seat->room->threads->mutex);
    seat->room->threads->looks++;
    for (size_t i = 0; i < seat->count; i++)
        there = there && (!seat->messages[i].incoming || *find_crate(seat, seat->messages[i].peer) != NULL);
    there = there || seat->room->threads->broken;
    pthread_mutex_unlock(&seat->room->threads->mutex);
    return there;
}

static bool wait_for_messages(void *state, struct fault *fault)
{
    struct seat *seat = state;
    bool done = true;

    if (!enter(seat, fault))
        return false;
    for (size_t i = 0; done && i < seat->count; i++)
        done = !seat->messages[i].incoming || take_crate(seat, &seat->messages[i]);
    seat->count = 0;
    return leave(seat, done, fault);
}

/* The memory of the ranks of a node, its own included, as one rank maps it. Each rank maps it at other
   addresses, as processes do. */
struct maps {
    unsigned char *begin[RANKS_MOST];
    size_t bytes[RANKS_MOST];
};

static bool is_alone(const struct seat *seat)
{
    size_t together = seat->room->threads->together, first = seat->rank / together * together;

    return together == 1 || (first == seat->rank && first + 1 >= seat->room->count);
}

static bool is_on_its_node(const struct seat *seat, const struct seat *other)
{
    size_t together = seat->room->threads->together;

    return other->rank / together == seat->rank / together;
}

static void make_file(struct seat *seat, const size_t *bytes)
{
    seat->file = memfd_create("node", MFD_CLOEXEC);
    seat->bytes = 0;
    for (size_t i = 0; i < seat->room->count; i++)
        seat->bytes += is_on_its_node(seat, &seat->room->seats[i]) ? bytes[i] : 0;
    fixture_require(seat->file >= 0 && ftruncate(seat->file, (off_t)seat->bytes) == 0, "memory of a node");
}

static void map_node(const struct seat *seat, struct maps *maps, unsigned char **seen)
{
    const struct room *room = seat->room;

    for (size_t i = 0; i < room->count; i++) {
        const struct seat *other = &room->seats[i];
        if (!is_on_its_node(seat, other) || other->bytes == 0)
            continue;
        maps->bytes[i] = other->bytes;
        maps->begin[i] = seen[i] =
            mmap(NULL, other->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, other->file, 0);
        fixture_require(seen[i] != MAP_FAILED, "memory of a node");
    }
}

static void unmap_node(struct maps *maps)
{
    for (size_t i = 0; i < RANKS_MOST; i++) {
        if (maps->begin[i] != NULL)
            munmap(maps->begin[i], maps->bytes[i]);
    }
    free(maps);
}

static bool share_memory(void *state, const size_t *bytes, unsigned char **seen, void **memory,
                         struct fault *fault)
{
    struct seat *seat = state;
    struct room *room = seat->room;
    struct maps *maps;
    bool done;

    *memory = NULL;
    for (size_t i = 0; i < room->count; i++)
        seen[i] = NULL;
    if (!enter(seat, fault))
        return false;
    maps = fixture_memory(1, sizeof *maps);
    *maps = (struct maps){.bytes = {0}};
    make_file(seat, bytes);
    done = meet(room);
    if (done && !is_alone(seat))
        map_node(seat, maps, seen);
    done = done && meet(room);
    close(seat->file);
    if (done) {
        *memory = maps;
        room->maps++;
    } else {
        unmap_node(maps);
    }
    return leave(seat, done, fault);
}

static void unshare_memory(void *state, void *memory)
{
    struct seat *seat = state;

    pthread_mutex_lock(&seat->room->threads->mutex);
    seat->room->maps--;
    seat->bytes = 0;
    pthread_mutex_unlock(&seat->room->threads->mutex);
    unmap_node(memory);
}

static void warn(void *state)
{
    struct seat *seat = state;

    pthread_mutex_lock(&seat->room->threads->mutex);
    seat->room->warned[seat->index] = true;
    pthread_mutex_unlock(&seat->room->threads->mutex);
}

static bool is_warned(void *state)
{
    struct seat *seat = state;
    bool warned = false;

    pthread_mutex_lock(&seat->room->threads->mutex);
    for (size_t i = 0; i < seat->room->count; i++)
        warned = warned || (i != seat->index && seat->room->warned[i]);
    pthread_mutex_unlock(&seat->room->threads->mutex);
    return warned;
}

static bool clear_warnings(void *state, struct fault *fault)
{
    struct seat *seat = state;
    bool done;

    if (!enter(seat, fault))
        return false;
    done = meet(seat->room);
    seat->room->warned[seat->index] = false;
    return leave(seat, done && meet(seat->room), fault);
}

static bool team(void *state, size_t count, void **result, bool *team_done, struct fault *fault)
{
    struct seat *seat = state;
    struct room *room = seat->room;
    bool done;

    *result = NULL;
    if (!enter(seat, fault))
        return false;
    if (seat->index == 0)
        room->shared = open_room(room->threads, count);
    done = meet(room);
    if (done && seat->index < count)
        *result = &((struct room *)room->shared)->seats[seat->index];
    *team_done = *result == NULL || seat->rank != room->threads->lacks;
    if (!*team_done) {
        ((struct room *)room->shared)->open--;
        *result = NULL;
        fault_raise(fault, STATUS_LIMIT, "no memory for a team");
    }
    return leave(seat, done && meet(room), fault);
}

static void leave_room(void *state)
{
    struct seat *seat = state;
    struct room *room = seat->room;
    struct peers_threads *threads = room->threads;

    pthread_mutex_lock(&threads->mutex);
    room->open--;
    for (size_t i = 0; !threads->broken && i < room->count; i++)
        fixture_require(!room->warned[i], "nothing is left unheard");
    pthread_mutex_unlock(&threads->mutex);
}

static const struct peers_kind peers_threads = {.min = minimum,
                                                .broadcast = broadcast,
                                                .list = list,
                                                .gather = gather,
                                                .start_messages = start_messages,
                                                .test_messages = test_messages,
                                                .wait_for_messages = wait_for_messages,
                                                .share = share_memory,
                                                .unshare = unshare_memory,
                                                .warn = warn,
                                                .is_warned = is_warned,
                                                .clear_warnings = clear_warnings,
                                                .team = team,
                                                .close = leave_room};

struct peers peers_threads_peers(struct peers_threads *threads, size_t index)
{
    struct peers peers = {.kind = &peers_threads,
                          .state = &threads->rooms->seats[index],
                          .place = {.index = index,
                                    .count = threads->rooms->count,
                                    .local = index,
                                    .locals = threads->rooms->count,
                                    .sharers = threads->rooms->count}};

    memcpy(peers.place.node, "here", sizeof "here");
    return peers;
}

void peers_threads_close(struct peers_threads *threads)
{
    for (struct room *room = threads->rooms, *next; room != NULL; room = next) {
        fixture_require(threads->broken || (room->open == 0 && room->crates == NULL), "every team is closed");
        fixture_require(room->maps == 0, "memory of nodes is given back");
        for (struct crate *crate = room->crates, *after; crate != NULL; crate = after) {
            after = crate->next;
            free(crate);
        }
        next = room->next_room;
        free(room);
    }
    pthread_cond_destroy(&threads->changed);
    pthread_mutex_destroy(&threads->mutex);
    free(threads);
}
