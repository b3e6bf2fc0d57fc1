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

/* Let each device have so many bytes of memory, if it is an emulated one; 0: as many as it has otherwise. The
   programs that test ranks have this, and what follows. */
void running_limit_memory(size_t bytes);

/* Let the last emulated device be unable to lock pages of memory that it is lent, or able again. */
void running_refuse_locks(bool refuse);

#endif
