/* Elapsed time, and waiting. */
#ifndef CLOCK_H
#define CLOCK_H

#include <time.h>

/* Seconds on a clock that only goes forward. */
double clock_seconds(void);

/* Back off in a polling loop; `looks` is the number of polls so far. The first do not wait, since what is
   awaited often comes soon; then each wait is longer, up to a millisecond. */
void clock_nap(unsigned looks);

/* The time on CLOCK_MONOTONIC that many microseconds from now. */
struct timespec clock_after(unsigned microseconds);

#endif
