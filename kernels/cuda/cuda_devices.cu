/* The NVIDIA GPUs of this machine, for people to read. */
#include "cuda_devices.h"

#include <cstdio>
#include <cuda_runtime.h>

size_t cuda_devices_list(char (*lines)[CUDA_DEVICE_LINE], size_t capacity)
{
    int devices = 0;
    size_t used = 0;

    if (cudaGetDeviceCount(&devices) != cudaSuccess)
        return 0;
    for (int device = 0; device < devices && used < capacity; device++) {
        cudaDeviceProp properties;
        if (cudaGetDeviceProperties(&properties, device) != cudaSuccess)
            continue;
        snprintf(lines[used++], CUDA_DEVICE_LINE,
                 "cuda:%d  %s, compute capability %d.%d, %d multiprocessors, %.1f GiB", device, properties.name,
                 properties.major, properties.minor, properties.multiProcessorCount,
                 (double)properties.totalGlobalMem / (1024.0 * 1024.0 * 1024.0));
    }
    return used;
}
