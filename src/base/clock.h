/* Elapsed time, and waiting. */
#ifndef CLOCK_H
#define CLOCK_H

/* Seconds on a clock that only goes forward. */
double clock_seconds(void);

/* Between two looks at what is awaited, of which there have been so many: nothing at first, since it often
   comes soon, then leave the processor to others, for ever longer, up to a millisecond. */
void clock_nap(unsigned looks);

#endif
