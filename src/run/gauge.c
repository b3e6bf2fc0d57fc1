/* Gauges: how fast ranks exchange planes with those beside them. */
#include "gauge.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdint.h>

/* One to each of two sides, and one from it. */
#define MESSAGES   4
#define LONG_BYTES (GAUGE_BYTES / MESSAGES)

/* Short messages are timed for a part of the time, and long ones for the rest. */
#define SHORT_BYTES   ((size_t)64)
#define SHORT_SECONDS (GAUGE_SECONDS / 5)

struct gauge {
    struct peers *peers;
    struct fault *fault;
    unsigned char *buffer;
    struct peers_message messages[MESSAGES];
    size_t count;
};

static void add_neighbour(struct gauge *gauge, size_t peer)
{
    for (int incoming = 0; incoming < 2; incoming++) {
        unsigned char *bytes = gauge->buffer + gauge->count * LONG_BYTES;
        gauge->messages[gauge->count++] =
            (struct peers_message){.peer = peer, .incoming = incoming != 0, .bytes = bytes};
    }
}

static void add_neighbours(struct gauge *gauge)
{
    size_t own = peers_index(gauge->peers);

    if (own > 0)
        add_neighbour(gauge, own - 1);
    if (own + 1 < peers_count(gauge->peers))
        add_neighbour(gauge, own + 1);
}

/* Seconds of the slowest rank for so many exchanges, one after another. */
static bool exchange(struct gauge *gauge, size_t bytes, unsigned rounds, double *seconds)
{
    double begun = clock_seconds();
    uint64_t left;

    for (size_t i = 0; i < gauge->count; i++)
        gauge->messages[i].size = bytes;
    for (unsigned i = 0; i < rounds; i++) {
        if (!peers_start_messages(gauge->peers, gauge->messages, gauge->count, gauge->fault) ||
            !peers_wait_for_messages(gauge->peers, gauge->fault))
            return false;
    }
    left = UINT64_MAX - (uint64_t)((clock_seconds() - begun) * 1e9);
    if (!peers_min(gauge->peers, &left, gauge->fault))
        return false;
    *seconds = (double)(UINT64_MAX - left) / 1e9;
    return true;
}

/* Seconds of one exchange. The number of rounds doubles until they take long enough to be timed. */
static bool time_exchange(struct gauge *gauge, size_t bytes, double least, double *each)
{
    double seconds = 0.0;
    unsigned rounds = 1;

    if (!exchange(gauge, bytes, 1, &seconds)) /* the first one connects the ranks */
        return false;
    do {
        rounds *= 2;
        if (!exchange(gauge, bytes, rounds, &seconds))
            return false;
    } while (seconds < least / 2.0);
    *each = seconds / rounds;
    return true;
}

static bool measure(struct gauge *gauge, struct link *link)
{
    const double least = 1e-9;
    size_t sides = peers_count(gauge->peers) > 2 ? 2 : 1;
    double brief, full, moving;

    add_neighbours(gauge);
    if (!time_exchange(gauge, SHORT_BYTES, SHORT_SECONDS, &brief) ||
        !time_exchange(gauge, LONG_BYTES, GAUGE_SECONDS - SHORT_SECONDS, &full))
        return false;
    link->seconds = brief > least ? brief : least;
    /* Short messages may have waited for a processor that long ones found free. */
    moving = full - brief > full / 2.0 ? full - brief : full / 2.0;
    link->bytes_per_second = (double)(sides * LONG_BYTES) / (moving > least ? moving : least);
    return true;
}

bool gauge_link(struct peers *peers, struct link *link, struct fault *fault)
{
    struct gauge gauge = {.peers = peers, .fault = fault};
    bool done;

    gauge.buffer = mem_zeroed(1, GAUGE_BYTES, "a measurement", fault);
    done = peers_agree(peers, gauge.buffer != NULL, fault) && measure(&gauge, link);
    mem_free(gauge.buffer);
    return done;
}
