/* Elapsed time, and waiting. */
#include "clock.h"

#include <time.h>

#define EAGER_LOOKS    2000
#define LONGEST_NAP_NS 1000000L

double clock_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void clock_nap(unsigned looks)
{
    if (looks > EAGER_LOOKS)
        clock_rest(looks - EAGER_LOOKS);
}

void clock_rest(unsigned microseconds)
{
    long ns = 1000L * (long)microseconds;
    const struct timespec time = {0, ns < LONGEST_NAP_NS ? ns : LONGEST_NAP_NS};

    nanosleep(&time, NULL);
}
