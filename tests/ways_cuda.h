/* A GPU as ways, true or emulated: one for each of its kernels, and its own choice. */
#ifndef WAYS_CUDA_H
#define WAYS_CUDA_H

#include <stdbool.h>

/* How often a kernel is tried, the slow ones less. NULL: the backend's own choice. */
unsigned ways_cuda_turns(const char *rung);

/* Devices that are opened from now on are as others are not: with little shared memory, and code of the
   oldest compute capability. false: the device cannot be changed. */
bool ways_cuda_be_old(bool old);

/* Before the devices are closed: give back what is kept of their memory. */
void ways_cuda_closing(void);

#endif
