/* Elapsed time, and waiting. */
#include "clock.h"

/* Polls without a pause. From there on each pause is a microsecond longer, up to the longest. */
#define EAGER_LOOKS    2000
#define LONGEST_NAP_NS 1000000L
#define NS_PER_SECOND  1000000000L

double clock_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void clock_nap(unsigned looks)
{
    struct timespec nap = {0, LONGEST_NAP_NS};

    if (looks <= EAGER_LOOKS)
        return;
    if (looks - EAGER_LOOKS < LONGEST_NAP_NS / 1000)
        nap.tv_nsec = 1000L * (long)(looks - EAGER_LOOKS);
    nanosleep(&nap, NULL);
}

struct timespec clock_after(unsigned microseconds)
{
    struct timespec end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += 1000L * (long)(microseconds % 1000000);
    end.tv_sec += (time_t)(microseconds / 1000000) + end.tv_nsec / NS_PER_SECOND;
    end.tv_nsec %= NS_PER_SECOND;
    return end;
}
