/* Elapsed time, and waiting. */
#ifndef CLOCK_H
#define CLOCK_H

#include <time.h>

/* Seconds on a clock that only goes forward. */
double clock_seconds(void);

/* Wait between two looks at what is awaited, after so many looks: at first not at all, since it often
   comes soon; then leave the processor to others, each time longer, up to a millisecond. */
void clock_nap(unsigned looks);

/* The time on CLOCK_MONOTONIC at which so long will have passed. */
struct timespec clock_after(unsigned microseconds);

#endif
