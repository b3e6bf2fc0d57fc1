/* A GPU as ways, true or emulated: one for each of its kernels, and its own choice. */
#ifndef WAYS_CUDA_H
#define WAYS_CUDA_H

/* How often a kernel is tried, the slow ones less. NULL: the backend's own choice. */
unsigned ways_cuda_turns(const char *rung);

#endif
