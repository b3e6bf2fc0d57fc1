/* Reservations: the room that files will need, taken while others read and compute. */
#include "reservation.h"

#include "mem.h"
#include "thread.h"

#include <pthread.h>
#include <string.h>

/* Room that is taken at a time. Between two pieces, other processes can write into the file, and the thread
   sees whether more is wanted. */
#define PIECE_BYTES ((uint64_t)64 << 20)

struct reservation {
    struct reservation_room *rooms;
    size_t count;
    pthread_t thread;
    bool runs;             /* the thread does, and nobody has waited for it */
    pthread_mutex_t mutex; /* of what follows */
    bool unwanted, failed;
    struct fault fault;
};

static bool is_wanted(struct reservation *reservation)
{
    bool wanted;

    pthread_mutex_lock(&reservation->mutex);
    wanted = !reservation->unwanted;
    pthread_mutex_unlock(&reservation->mutex);
    return wanted;
}

static void fail(struct reservation *reservation, const struct fault *fault)
{
    pthread_mutex_lock(&reservation->mutex);
    reservation->fault = *fault;
    reservation->failed = true;
    pthread_mutex_unlock(&reservation->mutex);
}

static bool take_room(struct reservation *reservation, const struct reservation_room *room,
                      struct fault *fault)
{
    uint64_t taken = 0;
    bool done = true;

    while (done && taken < room->bytes && is_wanted(reservation)) {
        uint64_t left = room->bytes - taken;
        taken += left < PIECE_BYTES ? left : PIECE_BYTES;
        done = file_out_reserve(room->file, taken, fault);
    }
    return done;
}

static void take_rooms(struct reservation *reservation)
{
    struct fault fault;
    bool done = true;

    for (size_t i = 0; done && i < reservation->count; i++)
        done = take_room(reservation, &reservation->rooms[i], &fault);
    if (!done)
        fail(reservation, &fault);
}

static void *take_rooms_beside(void *data)
{
    take_rooms(data);
    return NULL;
}

static struct reservation *of_rooms(const struct reservation_room *rooms, size_t count, struct fault *fault)
{
    struct reservation *reservation = mem_zeroed(1, sizeof *reservation, "the reservation", fault);

    if (reservation == NULL)
        return NULL;
    reservation->rooms = mem_alloc(count, sizeof *rooms, "the reservation", fault);
    if (reservation->rooms == NULL) {
        mem_free(reservation);
        return NULL;
    }
    memcpy(reservation->rooms, rooms, count * sizeof *rooms);
    reservation->count = count;
    return reservation;
}

struct reservation *reservation_begin(const struct reservation_room *rooms, size_t count, struct fault *fault)
{
    struct reservation *reservation = of_rooms(rooms, count, fault);

    if (reservation == NULL)
        return NULL;
    pthread_mutex_init(&reservation->mutex, NULL);
    reservation->runs = thread_start(&reservation->thread, take_rooms_beside, reservation);
    if (!reservation->runs)
        take_rooms(reservation);
    return reservation;
}

bool reservation_has_failed(struct reservation *reservation, struct fault *fault)
{
    bool failed;

    if (reservation == NULL)
        return false;
    pthread_mutex_lock(&reservation->mutex);
    failed = reservation->failed;
    if (failed)
        *fault = reservation->fault;
    pthread_mutex_unlock(&reservation->mutex);
    return failed;
}

static void join(struct reservation *reservation)
{
    if (reservation->runs)
        pthread_join(reservation->thread, NULL);
    reservation->runs = false;
}

bool reservation_wait(struct reservation *reservation, struct fault *fault)
{
    if (reservation != NULL)
        join(reservation);
    return !reservation_has_failed(reservation, fault);
}

void reservation_end(struct reservation *reservation)
{
    if (reservation == NULL)
        return;
    pthread_mutex_lock(&reservation->mutex);
    reservation->unwanted = true;
    pthread_mutex_unlock(&reservation->mutex);
    join(reservation);
    pthread_mutex_destroy(&reservation->mutex);
    mem_free(reservation->rooms);
    mem_free(reservation);
}
