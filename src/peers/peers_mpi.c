/* Peers that reach each other through MPI. No other file knows it.

   Every call that may wait is a non-blocking one, which is then tested with naps in between: a rank that
   waits takes no processor from those that compute. A call that fails loses all later ones too, and MPI is
   left as it is, since it could not end without the others. Ranks of a node share windows of memory where MPI
   has such memory to give. */
#include "peers.h"

#include "base/clock.h"
#include "base/mem.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Counts are ints, and some libraries fail where bytes are more than that. */
#define MOST_BYTES ((size_t)1 << 30)

enum { TAG_WARNING = 1, TAG_MESSAGE = 2 };

/* Ranks form a tree, in which each has two below it. A warning goes to rank 0, and from there down the tree.
 */
#define BELOW         2
#define WARNINGS_MOST (1 + BELOW)

struct comm {
    MPI_Comm comm;
    int index, count;
    int *counts;                         /* room for a count and a place of each, when bytes are gathered */
    MPI_Request warnings[WARNINGS_MOST]; /* that this rank has sent */
    int warning_count;
    bool has_warned, has_passed_on; /* rank 0, or those below */
    MPI_Request *requests;          /* that are under way, and room for more */
    size_t request_count, request_capacity;
    bool whole;           /* it is of all ranks, and MPI ends with it */
    bool own_lost, *lost; /* a call of this rank has failed, and with it all later ones */
};

static bool fail(struct comm *comm, int code, struct fault *fault)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    *comm->lost = true;
    MPI_Error_string(code, text, &length);
    return fault_raise(fault, STATUS_FAILURE, "MPI: %s", text);
}

static void send_warning(struct comm *comm, int to)
{
    MPI_Isend(NULL, 0, MPI_BYTE, to, TAG_WARNING, comm->comm, &comm->warnings[comm->warning_count++]);
}

/* Once, to the ranks below this one. */
static void pass_on(struct comm *comm)
{
    for (int to = BELOW * comm->index + 1; !comm->has_passed_on && to <= BELOW * (comm->index + 1); to++) {
        if (to < comm->count)
            send_warning(comm, to);
    }
    comm->has_passed_on = true;
}

/* Whether a warning has come, which stays until all forget it. */
static bool is_warned(void *state)
{
    struct comm *comm = state;
    int there = 0;

    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG_WARNING, comm->comm, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
        !there)
        return false;
    pass_on(comm);
    return true;
}

static void warn(void *state)
{
    struct comm *comm = state;

    comm->has_warned = true;
    if (comm->index == 0)
        pass_on(comm);
    else
        send_warning(comm, 0);
}

/* Wait for the request of a call that has returned `code`. Ranks below a rank that waits may be working. */
static bool complete(struct comm *comm, int code, MPI_Request *request, struct fault *fault)
{
    int done = 0;

    if (*comm->lost)
        return fault_raise(fault, STATUS_FAILURE, "MPI has failed");
    for (unsigned looks = 0; code == MPI_SUCCESS && !done; looks++) {
        code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            break;
        is_warned(comm);
        clock_nap(looks);
    }
    return code == MPI_SUCCESS || fail(comm, code, fault);
}

/* The values of all ranks, or of those of a node, combined. */
static bool combine(struct comm *comm, MPI_Comm among, uint64_t *value, MPI_Op op, struct fault *fault)
{
    uint64_t own = *value;
    MPI_Request request;
    int code = MPI_Iallreduce(&own, value, 1, MPI_UINT64_T, op, among, &request);

    return complete(comm, code, &request, fault);
}

static bool minimum(void *state, uint64_t *value, struct fault *fault)
{
    struct comm *comm = state;

    return combine(comm, comm->comm, value, MPI_MIN, fault);
}

static int piece_of(uint64_t left)
{
    return (int)(left < MOST_BYTES ? left : MOST_BYTES);
}

static bool broadcast(void *state, size_t from, void *bytes, size_t size, struct fault *fault)
{
    struct comm *comm = state;
    unsigned char *next = bytes;
    bool done = true;

    for (int piece; done && size > 0; size -= (size_t)piece, next += piece) {
        MPI_Request request;
        piece = piece_of(size);
        done = complete(comm, MPI_Ibcast(next, piece, MPI_BYTE, (int)from, comm->comm, &request), &request,
                        fault);
    }
    return done;
}

static bool list(void *state, uint64_t own, uint64_t *values, struct fault *fault)
{
    struct comm *comm = state;
    MPI_Request request;
    int code = MPI_Iallgather(&own, 1, MPI_UINT64_T, values, 1, MPI_UINT64_T, comm->comm, &request);

    return complete(comm, code, &request, fault);
}

/* What each has of a piece of all bytes, and where that is in the piece. Returns where this rank has its own
   among all its bytes. */
static uint64_t find_piece(struct comm *comm, const uint64_t *sizes, uint64_t begin, uint64_t end)
{
    uint64_t at = 0, own = 0;

    for (int i = 0; i < comm->count; at += sizes[i++]) {
        uint64_t from = at > begin ? at : begin, to = at + sizes[i] < end ? at + sizes[i] : end;
        comm->counts[i] = from < to ? (int)(to - from) : 0;
        comm->counts[comm->count + i] = from < to ? (int)(from - begin) : 0;
        if (i == comm->index && from < to)
            own = from - at;
    }
    return own;
}

static bool gather(void *state, const void *bytes, const uint64_t *sizes, void *into, struct fault *fault)
{
    struct comm *comm = state;
    uint64_t sum = 0;
    bool done = true;

    for (int i = 0; i < comm->count; i++)
        sum += sizes[i];
    for (uint64_t begin = 0, end; done && begin < sum; begin = end) {
        MPI_Request request;
        uint64_t own;
        int code;
        end = begin + (uint64_t)piece_of(sum - begin);
        own = find_piece(comm, sizes, begin, end);
        code = MPI_Igatherv(comm->counts[comm->index] > 0 ? (const unsigned char *)bytes + own : NULL,
                            comm->counts[comm->index], MPI_BYTE,
                            comm->index == 0 ? (unsigned char *)into + begin : NULL, comm->counts,
                            comm->counts + comm->count, MPI_BYTE, 0, comm->comm, &request);
        done = complete(comm, code, &request, fault);
    }
    return done;
}

/* As MPI_Irecv is called. */
static int start_sending(void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request *request)
{
    return MPI_Isend(bytes, count, type, to, tag, comm, request);
}

static bool start_message(struct comm *comm, const struct peers_message *message, struct fault *fault)
{
    unsigned char *next = message->bytes;
    size_t left = message->size;
    int code, piece;

    do {
        MPI_Request *requests = mem_grow(comm->requests, comm->request_count, &comm->request_capacity,
                                         sizeof *requests, "messages", fault);
        if (requests == NULL) {
            *comm->lost = true;
            return false;
        }
        comm->requests = requests;
        piece = piece_of(left);
        code = (message->incoming ? MPI_Irecv : start_sending)(next, piece, MPI_BYTE, (int)message->peer,
                                                               TAG_MESSAGE, comm->comm,
                                                               &requests[comm->request_count]);
        comm->request_count += code == MPI_SUCCESS;
        left -= (size_t)piece;
        next = next != NULL ? next + piece : NULL;
    } while (code == MPI_SUCCESS && left > 0);
    return code == MPI_SUCCESS || fail(comm, code, fault);
}

static bool start_messages(void *state, const struct peers_message *messages, size_t count,
                           struct fault *fault)
{
    bool done = true;

    for (size_t i = 0; done && i < count; i++)
        done = start_message(state, &messages[i], fault);
    return done;
}

static bool test_messages(void *state)
{
    const struct comm *comm = state;
    int done = 1;

    for (size_t i = 0; done && !*comm->lost && i < comm->request_count; i++)
        *comm->lost = MPI_Test(&comm->requests[i], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    return done != 0 || *comm->lost;
}

static bool wait_for_messages(void *state, struct fault *fault)
{
    struct comm *comm = state;
    bool done = true;

    for (size_t i = 0; done && i < comm->request_count; i++)
        done = complete(comm, MPI_SUCCESS, &comm->requests[i], fault);
    comm->request_count = 0;
    return done;
}

/* One that comes to this rank. */
static bool receive_warning(struct comm *comm, struct fault *fault)
{
    MPI_Request request;

    return complete(comm, MPI_Irecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, TAG_WARNING, comm->comm, &request),
                    &request, fault);
}

/* All pass it on, so one comes to each from above, and to rank 0 one from each that sent some, itself left
 * out. */
static bool clear_warnings(void *state, struct fault *fault)
{
    struct comm *comm = state;
    uint64_t coming = comm->has_warned && comm->index > 0;
    bool done = combine(comm, comm->comm, &coming, MPI_SUM, fault);

    pass_on(comm);
    if (comm->index > 0)
        coming = 1;
    for (; done && coming > 0; coming--)
        done = receive_warning(comm, fault);
    for (int i = 0; done && i < comm->warning_count; i++)
        done = complete(comm, MPI_SUCCESS, &comm->warnings[i], fault);
    comm->warning_count = 0;
    comm->has_warned = comm->has_passed_on = false;
    return done;
}

static struct comm comm_of(MPI_Comm mpi)
{
    struct comm comm = {.comm = mpi};

    MPI_Comm_set_errhandler(mpi, MPI_ERRORS_RETURN);
    MPI_Comm_rank(mpi, &comm.index);
    MPI_Comm_size(mpi, &comm.count);
    return comm;
}

/* A communicator that is lost takes all those of the process with it. */
static struct comm *keep_comm(const struct comm *form, bool *lost, struct fault *fault)
{
    struct comm *comm = mem_alloc(1, sizeof *comm, "the ranks", fault);
    int *counts = mem_alloc((size_t)form->count, 2 * sizeof *counts, "the ranks", fault);

    if (comm == NULL || counts == NULL) {
        mem_free(comm);
        mem_free(counts);
        return NULL;
    }
    *comm = *form;
    comm->counts = counts;
    comm->lost = lost != NULL ? lost : &comm->own_lost;
    return comm;
}

static bool team(void *state, size_t count, void **result, bool *done, struct fault *fault)
{
    struct comm *comm = state, form;
    bool member = comm->index < (int)count;
    MPI_Comm mpi;
    int code = MPI_Comm_split(comm->comm, member ? 0 : MPI_UNDEFINED, comm->index, &mpi);

    *result = NULL;
    if (code != MPI_SUCCESS)
        return fail(comm, code, fault);
    if (!member)
        return true;
    form = comm_of(mpi);
    *result = keep_comm(&form, comm->lost, fault);
    *done = *result != NULL;
    /* All members free it. */
    if (!*done)
        MPI_Comm_free(&mpi);
    return true;
}

static void finish(const struct comm *comm)
{
    MPI_Barrier(comm->comm);
    MPI_Finalize();
}

/* Without the others MPI cannot end as it should; the launcher ends them. With them, rank 0 has told what it
 * had to. */
static void close_comm(void *state)
{
    struct comm *comm = state;

    if (comm->whole && !*comm->lost)
        finish(comm);
    else if (!*comm->lost)
        MPI_Comm_free(&comm->comm);
    mem_free(comm->requests);
    mem_free(comm->counts);
    mem_free(comm);
}

/* ---- memory of a node ---- */

/* Where MPI takes it from, and the share of what is free there that it may take: a half. If too little is
   free, some libraries wait for ever. */
#define NODE_MEMORY       "/dev/shm"
#define NODE_MEMORY_SHARE 2

/* Memory that the ranks of a node see. */
struct window {
    MPI_Comm node;
    int locals;  /* ranks of the node */
    MPI_Win win; /* MPI_WIN_NULL: there is none */
};

static uint64_t spare_bytes(void)
{
    struct statvfs system;

    return statvfs(NODE_MEMORY, &system) == 0
               ? (uint64_t)system.f_bavail * system.f_frsize / NODE_MEMORY_SHARE
               : 0;
}

/* The index among all ranks of a rank of the node. */
static size_t index_of(const struct comm *comm, const struct window *window, int local)
{
    int index = MPI_UNDEFINED;
    MPI_Group all, node;

    MPI_Comm_group(comm->comm, &all);
    MPI_Comm_group(window->node, &node);
    MPI_Group_translate_ranks(node, 1, &local, all, &index);
    MPI_Group_free(&all);
    MPI_Group_free(&node);
    return (size_t)index;
}

/* Bytes for the ranks of the node. */
static size_t count_bytes(const struct comm *comm, const struct window *window, const size_t *bytes)
{
    size_t sum = 0;

    for (int local = 0; local < window->locals; local++)
        sum += bytes[index_of(comm, window, local)];
    return sum;
}

/* Each rank's memory begins on a page of its own, so that each can be page-locked by itself. */
static int allocate(struct window *window, size_t bytes)
{
    unsigned char *own;
    MPI_Info info;
    int code;

    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    code = MPI_Win_allocate_shared((MPI_Aint)bytes, 1, info, window->node, &own, &window->win);
    MPI_Info_free(&info);
    return code;
}

/* Where the ranks of the node have their memory. */
static int look_up(const struct comm *comm, const struct window *window, unsigned char **seen)
{
    int code = MPI_SUCCESS;

    for (int local = 0; code == MPI_SUCCESS && local < window->locals; local++) {
        MPI_Aint size;
        int unit;
        code = MPI_Win_shared_query(window->win, local, &size, &unit, &seen[index_of(comm, window, local)]);
    }
    return code;
}

static bool open_window(const struct comm *comm, struct window *window, size_t bytes, unsigned char **seen)
{
    return allocate(window, bytes) == MPI_SUCCESS &&
           MPI_Win_set_errhandler(window->win, MPI_ERRORS_RETURN) == MPI_SUCCESS &&
           MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win) == MPI_SUCCESS &&
           look_up(comm, window, seen) == MPI_SUCCESS;
}

/* If one rank of a node has no window, none uses one. All ranks of a node give back a window together, so one
   that only some have is left as it is. */
static bool agree_on_window(struct comm *comm, struct window *window, bool opened, unsigned char **seen,
                            struct fault *fault)
{
    uint64_t all_opened = opened;

    if (!combine(comm, window->node, &all_opened, MPI_MIN, fault))
        return false;
    if (all_opened)
        return true;
    window->win = MPI_WIN_NULL;
    for (int i = 0; i < comm->count; i++)
        seen[i] = NULL;
    return true;
}

/* A rank that is alone on its node needs none. */
static bool fill_window(struct comm *comm, struct window *window, const size_t *bytes, unsigned char **seen,
                        struct fault *fault)
{
    uint64_t own, needed, spare = spare_bytes();

    MPI_Comm_set_errhandler(window->node, MPI_ERRORS_RETURN);
    MPI_Comm_size(window->node, &window->locals);
    if (window->locals == 1)
        return true;
    own = needed = count_bytes(comm, window, bytes);
    if (!combine(comm, window->node, &needed, MPI_SUM, fault) ||
        !combine(comm, window->node, &spare, MPI_MIN, fault))
        return false;
    return needed == 0 || spare < needed ||
           agree_on_window(comm, window, open_window(comm, window, (size_t)own, seen), seen, fault);
}

static bool share_memory(void *state, const size_t *bytes, unsigned char **seen, void **memory,
                         struct fault *fault)
{
    struct comm *comm = state;
    struct window *window = mem_zeroed(1, sizeof *window, "memory of a node", fault);
    uint64_t has = window != NULL;
    int code;

    *memory = NULL;
    for (int i = 0; i < comm->count; i++)
        seen[i] = NULL;
    if (!minimum(comm, &has, fault) || !has) {
        mem_free(window);
        return !*comm->lost;
    }
    window->win = MPI_WIN_NULL;
    code = MPI_Comm_split_type(comm->comm, MPI_COMM_TYPE_SHARED, comm->index, MPI_INFO_NULL, &window->node);
    if (code != MPI_SUCCESS) {
        mem_free(window);
        return fail(comm, code, fault);
    }
    *memory = window;
    return fill_window(comm, window, bytes, seen, fault);
}

static void unshare_memory(void *state, void *memory)
{
    const struct comm *comm = state;
    struct window *window = memory;

    if (!*comm->lost && window->win != MPI_WIN_NULL) {
        MPI_Win_unlock_all(window->win);
        MPI_Win_free(&window->win);
    }
    if (!*comm->lost)
        MPI_Comm_free(&window->node);
    mem_free(window);
}

/* ---- processors ---- */

/* What this rank was bound to, and what all ranks of its node were. */
static cpu_set_t own_processors, all_processors;

/* The processors that a process may run on; none where a machine has more than a set holds. */
static cpu_set_t processors_of(pid_t process)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(process, sizeof set, &set) != 0)
        CPU_ZERO(&set);
    return set;
}

/* If it cannot, it goes on with what it has. */
static void take_processors(void *state, bool of_all)
{
    (void)state;
    (void)sched_setaffinity(0, sizeof all_processors, of_all ? &all_processors : &own_processors);
}

static const struct peers_kind peers_mpi = {.take_processors = take_processors,
                                            .min = minimum,
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
                                            .close = close_comm};

/* ---- where a rank is ---- */

static void name_node(struct peers_place *place)
{
    char name[PEERS_NODE_MOST] = "";

    gethostname(name, sizeof name - 1);
    snprintf(place->node, sizeof place->node, "%.*s", (int)strcspn(name, "."), name);
}

/* Ranks of the node that may run on the same processors, and what all of them may run on, beside the
   launcher, which nobody has bound. */
static void count_sharers(MPI_Comm node, struct peers_place *place)
{
    cpu_set_t launcher = processors_of(getppid());

    own_processors = processors_of(0);
    CPU_ZERO(&all_processors);
    for (size_t i = 0; i < place->locals; i++) {
        cpu_set_t other = own_processors;
        if (place->locals > 1)
            MPI_Bcast(&other, (int)sizeof other, MPI_BYTE, (int)i, node);
        place->sharers += CPU_EQUAL(&own_processors, &other) ? 1 : 0;
        CPU_OR(&all_processors, &all_processors, &other);
    }
    place->processors = (size_t)CPU_COUNT(&all_processors);
    place->available = (size_t)CPU_COUNT(&launcher);
}

static bool find_place(const struct comm *comm, struct peers_place *place, struct fault *fault)
{
    int local = 0, locals = 1;
    MPI_Comm node;

    *place = (struct peers_place){.index = (size_t)comm->index, .count = (size_t)comm->count};
    name_node(place);
    if (MPI_Comm_split_type(comm->comm, MPI_COMM_TYPE_SHARED, comm->index, MPI_INFO_NULL, &node) !=
        MPI_SUCCESS)
        return fault_raise(fault, STATUS_FAILURE, "MPI does not say which ranks share a node");
    MPI_Comm_rank(node, &local);
    MPI_Comm_size(node, &locals);
    place->local = (size_t)local;
    place->locals = (size_t)locals;
    count_sharers(node, place);
    MPI_Comm_free(&node);
    return true;
}

/* ---- how it was launched ---- */

/* "Open MPI 4.1.4" of "Open MPI v4.1.4, package: …", "MPICH 4.0.2" of "MPICH Version:      4.0.2\n…". */
static void name_library(char *text, size_t size)
{
    char all[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    const char *number;
    int length = 0;

    MPI_Get_library_version(all, &length);
    all[strcspn(all, ",\n")] = '\0';
    number = strpbrk(all, "0123456789");
    if (strncmp(all, "Open MPI", 8) == 0 && number != NULL)
        snprintf(text, size, "Open MPI %s", number);
    else if (strncmp(all, "MPICH", 5) == 0 && number != NULL)
        snprintf(text, size, "MPICH %s", number);
    else
        snprintf(text, size, "%.60s", all);
}

/* Launchers end all tasks when the first of them fails, so the one that tells why has to be first. */
static void leave_last(bool silent)
{
    if (silent)
        sleep(1);
}

/* Each would run by itself, and all write the same file. */
static bool refuse_singletons(bool *silent, struct fault *fault)
{
    uint64_t index, count = peers_launched(&index);
    char library[80];

    if (count <= 1)
        return true;
    name_library(library, sizeof library);
    *silent = index > 0;
    leave_last(*silent);
    return fault_raise(
        fault, STATUS_USAGE,
        "%llu tasks were started, but MPI (%s) sees only 1: use its own mpirun, or srun --mpi=%s",
        (unsigned long long)count, library, strncmp(library, "Open MPI", 8) == 0 ? "pmix" : "pmi2");
}

/* In memory of its own once all have that: none of them waits for one that has come no farther. */
static bool settle(struct peers *peers, struct comm *world, int granted, bool *silent, struct fault *fault)
{
    struct comm *kept = NULL;
    bool done = find_place(world, &peers->place, fault);

    if (done && granted < MPI_THREAD_FUNNELED)
        done = fault_raise(fault, STATUS_FAILURE, "MPI does not support threads");
    if (done)
        kept = keep_comm(world, NULL, fault);
    if (peers_agree(peers, kept != NULL, fault)) {
        peers->state = kept;
        return true;
    }
    *silent = world->index > 0;
    peers->kind = NULL;
    if (!*world->lost)
        finish(world);
    leave_last(*silent);
    mem_free(kept);
    return false;
}

bool peers_mpi_open(struct peers *peers, bool *silent, struct fault *fault)
{
    struct comm world;
    int granted;

    *silent = false;
    *peers = (struct peers){.kind = NULL};
    /* Starting MPI may take longer than the run, and a single rank has nobody to reach. */
    if (peers_launched_alone()) {
        peers->place = (struct peers_place){.count = 1, .locals = 1};
        name_node(&peers->place);
        count_sharers(MPI_COMM_NULL, &peers->place);
        return true;
    }
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &granted) != MPI_SUCCESS)
        return fault_raise(fault, STATUS_FAILURE, "MPI cannot be started");
    world = comm_of(MPI_COMM_WORLD);
    world.lost = &world.own_lost;
    world.whole = true;
    *peers = (struct peers){.kind = &peers_mpi, .state = &world};
    return settle(peers, &world, granted, silent, fault) &&
           (world.count > 1 || refuse_singletons(silent, fault));
}
