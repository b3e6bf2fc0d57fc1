/* A GPU as ways, true or emulated: one for each of its kernels, and its own choice. */
#ifndef WAYS_CUDA_H
#define WAYS_CUDA_H

#include <stdbool.h>

/* How often a kernel is tried, the slow ones less. NULL: the backend's own choice. */
unsigned ways_cuda_turns(const char *rung);

/* Of its turns, it takes large grids in one of so many. */
unsigned ways_cuda_large_turns(const char *rung);

/* Of the trials for the kernel alone, it takes one of so many. */
unsigned ways_cuda_own_turns(const char *rung);

/* What a GPU may be besides what it is: with little shared memory and code of the oldest compute capability;
   with more multiprocessors than most grids of tests have tiles. */
enum ways_cuda_kind { WAYS_CUDA_USUAL, WAYS_CUDA_OLD, WAYS_CUDA_LARGE, WAYS_CUDA_KINDS };

/* Devices that are opened from now on are of a kind. false: the device cannot be changed. */
bool ways_cuda_become(enum ways_cuda_kind kind);

/* Before the devices are closed: give back what is kept of their memory. */
void ways_cuda_closing(void);

#endif
