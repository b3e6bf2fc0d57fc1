/* Reservations: the room that a file will need, taken while others read and compute. */
#include "reservation.h"

#include "mem.h"
#include "thread.h"

#include <pthread.h>

/* Room that is taken at a time. Between two pieces, the thread sees whether more is wanted. */
#define PIECE_BYTES ((uint64_t)1 << 30)

struct reservation {
    struct file_out *file;
    uint64_t bytes;
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

static void take_room(struct reservation *reservation)
{
    uint64_t taken = 0;
    struct fault fault;
    bool done = true;

    while (done && taken < reservation->bytes && is_wanted(reservation)) {
        uint64_t left = reservation->bytes - taken;
        taken += left < PIECE_BYTES ? left : PIECE_BYTES;
        done = file_out_reserve(reservation->file, taken, &fault);
    }
    if (!done)
        fail(reservation, &fault);
}

static void *take_room_beside(void *data)
{
    take_room(data);
    return NULL;
}

struct reservation *reservation_begin(struct file_out *file, uint64_t bytes)
{
    struct fault lack;
    struct reservation *reservation = mem_zeroed(1, sizeof *reservation, "the reservation", &lack);

    if (reservation == NULL)
        return NULL;
    reservation->file = file;
    reservation->bytes = bytes;
    pthread_mutex_init(&reservation->mutex, NULL);
    reservation->runs = thread_start(&reservation->thread, take_room_beside, reservation);
    if (!reservation->runs)
        take_room(reservation);
    return reservation;
}

bool reservation_has_failed(struct reservation *reservation, struct fault *fault)
{
    bool failed;

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
    mem_free(reservation);
}
