/* Elapsed time. */
#ifndef CLOCK_H
#define CLOCK_H

/* Seconds on a clock that only goes forward. */
double clock_seconds(void);

#endif
