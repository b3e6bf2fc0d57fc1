/* The NVIDIA GPUs of this machine, for people to read. */
#ifndef CUDA_DEVICES_H
#define CUDA_DEVICES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUDA_DEVICE_LINE 384

/* Describe each device in one line, at most `capacity` of them; return how many lines were written. Without a
   driver there are no devices, which is no failure. No context is started, so this is cheap. */
size_t cuda_devices_list(char (*lines)[CUDA_DEVICE_LINE], size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
