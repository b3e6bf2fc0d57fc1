/* Reservations: the room that a sink takes for what a run will write, while others read and compute. */
#include "reservation.h"

#include "base/thread.h"

static void *reserve(void *data)
{
    struct reservation *reservation = data;
    struct fault fault;

    diag_divert(reservation->messages);
    if (!reservation->end.prepare(reservation->end.file, &fault)) {
        pthread_mutex_lock(&reservation->mutex);
        reservation->fault = fault;
        reservation->failed = true;
        pthread_mutex_unlock(&reservation->mutex);
    }
    return NULL;
}

void reservation_begin(struct reservation *reservation, struct carrier_end *end)
{
    *reservation = (struct reservation){.end = *end, .messages = diag_stream()};
    pthread_mutex_init(&reservation->mutex, NULL);
    if (end->prepare == NULL)
        return;
    end->prepare = NULL;
    reservation->runs = thread_start(&reservation->thread, reserve, reservation);
    if (!reservation->runs)
        (void)reserve(reservation);
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

bool reservation_end(struct reservation *reservation, struct fault *fault)
{
    bool failed;

    if (reservation->runs)
        pthread_join(reservation->thread, NULL);
    failed = reservation_has_failed(reservation, fault);
    pthread_mutex_destroy(&reservation->mutex);
    return !failed;
}
