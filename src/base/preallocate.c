/* Reservations: the room that files will need, taken while others read and compute. */
#include "preallocate.h"

#include "mem.h"
#include "threads.h"

#include <pthread.h>
#include <string.h>

/* Room that is taken at a time. Between two pieces, other processes can write into the file, and the thread
   sees whether more is wanted. */
#define PIECE_BYTES ((uint64_t)64 << 20)

struct preallocation {
    struct preallocate_file *rooms;
    size_t count;
    pthread_t thread;
    bool runs;             /* the thread does, and nobody has waited for it */
    pthread_mutex_t mutex; /* of what follows */
    bool unwanted, failed;
    struct fault fault;
};

static bool is_wanted(struct preallocation *preallocation)
{
    bool wanted;

    pthread_mutex_lock(&preallocation->mutex);
    wanted = !preallocation->unwanted;
    pthread_mutex_unlock(&preallocation->mutex);
    return wanted;
}

static void fail(struct preallocation *preallocation, const struct fault *fault)
{
    pthread_mutex_lock(&preallocation->mutex);
    preallocation->fault = *fault;
    preallocation->failed = true;
    pthread_mutex_unlock(&preallocation->mutex);
}

static bool take_room(struct preallocation *preallocation, const struct preallocate_file *room,
                      struct fault *fault)
{
    uint64_t taken = 0;
    bool done = true;

    while (done && taken < room->bytes && is_wanted(preallocation)) {
        uint64_t left = room->bytes - taken;
        taken += left < PIECE_BYTES ? left : PIECE_BYTES;
        done = file_out_reserve(room->file, taken, fault);
    }
    return done;
}

static void take_rooms(struct preallocation *preallocation)
{
    struct fault fault;
    bool done = true;

    for (size_t i = 0; done && i < preallocation->count; i++)
        done = take_room(preallocation, &preallocation->rooms[i], &fault);
    if (!done)
        fail(preallocation, &fault);
}

static void *take_rooms_beside(void *data)
{
    take_rooms(data);
    return NULL;
}

static struct preallocation *of_rooms(const struct preallocate_file *rooms, size_t count, struct fault *fault)
{
    struct preallocation *preallocation = mem_zeroed(1, sizeof *preallocation, "the preallocation", fault);

    if (preallocation == NULL)
        return NULL;
    preallocation->rooms = mem_alloc(count, sizeof *rooms, "the preallocation", fault);
    if (preallocation->rooms == NULL) {
        mem_free(preallocation);
        return NULL;
    }
    memcpy(preallocation->rooms, rooms, count * sizeof *rooms);
    preallocation->count = count;
    return preallocation;
}

struct preallocation *preallocate_begin(const struct preallocate_file *rooms, size_t count,
                                        struct fault *fault)
{
    struct preallocation *preallocation = of_rooms(rooms, count, fault);

    if (preallocation == NULL)
        return NULL;
    pthread_mutex_init(&preallocation->mutex, NULL);
    preallocation->runs =
        thread_start(&preallocation->thread, THREAD_SMALL_STACK, take_rooms_beside, preallocation);
    if (!preallocation->runs)
        take_rooms(preallocation);
    return preallocation;
}

bool preallocate_has_failed(struct preallocation *preallocation, struct fault *fault)
{
    bool failed;

    if (preallocation == NULL)
        return false;
    pthread_mutex_lock(&preallocation->mutex);
    failed = preallocation->failed;
    if (failed)
        *fault = preallocation->fault;
    pthread_mutex_unlock(&preallocation->mutex);
    return failed;
}

static void join(struct preallocation *preallocation)
{
    if (preallocation->runs)
        pthread_join(preallocation->thread, NULL);
    preallocation->runs = false;
}

bool preallocate_wait(struct preallocation *preallocation, struct fault *fault)
{
    if (preallocation != NULL)
        join(preallocation);
    return !preallocate_has_failed(preallocation, fault);
}

void preallocate_end(struct preallocation *preallocation)
{
    if (preallocation == NULL)
        return;
    pthread_mutex_lock(&preallocation->mutex);
    preallocation->unwanted = true;
    pthread_mutex_unlock(&preallocation->mutex);
    join(preallocation);
    pthread_mutex_destroy(&preallocation->mutex);
    mem_free(preallocation->rooms);
    mem_free(preallocation);
}
