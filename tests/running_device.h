/* The device that a program of tests runs on: each is linked with one. */
#ifndef RUNNING_DEVICE_H
#define RUNNING_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

/* As --device takes it; it may vary from run to run. */
extern const char *running_device;

/* Of large sets of runs, it takes one in so many. */
unsigned running_turns(void);

/* Before the run of this number, in what its outcome must not depend on. */
void running_vary(unsigned long run);

/* Give each emulated device so many bytes of memory; 0: as many as it has by default. Only the programs that
   test ranks have this function and the next one. */
void running_limit_memory(size_t bytes);

/* Whether the last emulated device refuses to lock memory that others have allocated. */
void running_refuse_locks(bool refuse);

#endif
