/* Links: how fast ranks exchange messages with those beside them, as it is measured or assumed.

   All ranks exchange messages with both neighbours, as they do before each level: short ones, whose time is
   that of a message, and then long ones, whose time beyond that gives the bytes a second. Rounds double until
   they take long enough for a clock. The slowest rank counts, since the others wait for it. */
#include "link.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdint.h>

/* A network of 10 Gb/s. */
#define ASSUMED_BYTES_PER_SECOND 1e9
#define ASSUMED_SECONDS          50e-6

/* One to each of two sides, and one from it. */
#define MESSAGES   4
#define LONG_BYTES (LINK_BYTES / MESSAGES)

/* Short messages are timed for a part of the time, and long ones for the rest. */
#define SHORT_BYTES   ((size_t)64)
#define SHORT_SECONDS (LINK_SECONDS / 5)

struct link link_assumed(void)
{
    return (struct link){ASSUMED_BYTES_PER_SECOND, ASSUMED_SECONDS};
}

struct measurement {
    struct peers *peers;
    struct fault *fault;
    unsigned char *buffer;
    struct peers_message messages[MESSAGES];
    size_t count;
};

static void add_neighbour(struct measurement *measurement, size_t peer)
{
    for (int incoming = 0; incoming < 2; incoming++) {
        unsigned char *bytes = measurement->buffer + measurement->count * LONG_BYTES;
        measurement->messages[measurement->count++] =
            (struct peers_message){.peer = peer, .incoming = incoming != 0, .bytes = bytes};
    }
}

/* Seconds of the slowest rank for this many exchanges, one after another. */
static bool exchange(struct measurement *measurement, size_t bytes, unsigned rounds, double *seconds)
{
    double begun = clock_seconds();
    uint64_t left;

    for (size_t i = 0; i < measurement->count; i++)
        measurement->messages[i].size = bytes;
    for (unsigned i = 0; i < rounds; i++) {
        if (!peers_start_messages(measurement->peers, measurement->messages, measurement->count,
                                  measurement->fault) ||
            !peers_wait_for_messages(measurement->peers, measurement->fault))
            return false;
    }
    left = UINT64_MAX - (uint64_t)((clock_seconds() - begun) * 1e9);
    if (!peers_min(measurement->peers, &left, measurement->fault))
        return false;
    *seconds = (double)(UINT64_MAX - left) / 1e9;
    return true;
}

/* Seconds of one exchange. The number of rounds doubles until they take long enough to be timed. */
static bool time_exchange(struct measurement *measurement, size_t bytes, double least, double *each)
{
    double seconds = 0.0;
    unsigned rounds = 1;

    if (!exchange(measurement, bytes, 1, &seconds)) /* the first one connects the ranks */
        return false;
    do {
        rounds *= 2;
        if (!exchange(measurement, bytes, rounds, &seconds))
            return false;
    } while (seconds < least / 2.0);
    *each = seconds / rounds;
    return true;
}

static bool measure(struct measurement *measurement, struct link *link)
{
    const double least = 1e-9;
    size_t own = peers_index(measurement->peers), count = peers_count(measurement->peers);
    size_t sides = count > 2 ? 2 : 1;
    double brief, full, moving;

    if (own > 0)
        add_neighbour(measurement, own - 1);
    if (own + 1 < count)
        add_neighbour(measurement, own + 1);
    if (!time_exchange(measurement, SHORT_BYTES, SHORT_SECONDS, &brief) ||
        !time_exchange(measurement, LONG_BYTES, LINK_SECONDS - SHORT_SECONDS, &full))
        return false;
    link->seconds = brief > least ? brief : least;
    /* Short messages may have waited for a processor that long ones found free. */
    moving = full - brief > full / 2.0 ? full - brief : full / 2.0;
    link->bytes_per_second = (double)(sides * LONG_BYTES) / (moving > least ? moving : least);
    return true;
}

bool link_measure(struct peers *peers, struct link *link, struct fault *fault)
{
    struct measurement measurement = {.peers = peers, .fault = fault};
    bool done;

    measurement.buffer = mem_zeroed(1, LINK_BYTES, "a measurement", fault);
    done = peers_agree(peers, measurement.buffer != NULL, fault) && measure(&measurement, link);
    mem_free(measurement.buffer);
    return done;
}
