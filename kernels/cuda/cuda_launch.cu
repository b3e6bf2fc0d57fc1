/* Launches: what the runtime knows of a kernel before it runs. */
#include "cuda_launch.h"

#include "cuda_device.h"

#include <algorithm>

/* From here on shared memory has to be asked for. */
#define FREE_SHARED_BYTES ((size_t)48 << 10)

/* The resource that a block more would lack; registers are given out to warps in portions of 256. */
static const char *bound_of(const struct cuda_limits *limits, unsigned registers, unsigned threads,
                            size_t shared_bytes)
{
    const unsigned long long warps = (threads + 31) / 32, portions = (registers * 32 + 255) / 256;
    const unsigned long long by_registers = static_cast<unsigned>(limits->registers_per_multiprocessor) /
                                            256 / (portions * warps + (portions == 0 ? 1 : 0));
    const unsigned long long by_threads =
        static_cast<unsigned>(limits->threads_per_multiprocessor) / (32 * warps);
    const unsigned long long by_shared =
        shared_bytes == 0 ? ~0ull : limits->shared_per_multiprocessor / (shared_bytes + 1024);
    const unsigned long long by_blocks = static_cast<unsigned>(limits->blocks_per_multiprocessor);
    const unsigned long long least =
        std::min(std::min(by_registers, by_threads), std::min(by_shared, by_blocks));

    return least == by_threads     ? "threads"
           : least == by_shared    ? "shared memory"
           : least == by_registers ? "registers"
                                   : "blocks";
}

/* The side of the largest square of as many samples as the threads that the occupancy calculator suggests. */
static unsigned suggested_side(int threads)
{
    unsigned side = 1;

    while ((side + 1) * (side + 1) <= static_cast<unsigned>(threads))
        side++;
    return side;
}

bool cuda_launch_allow(const struct device *device, const struct cuda_form *launch, struct fault *fault)
{
    return launch->shared_bytes <= FREE_SHARED_BYTES ||
           cuda_device_check(cudaFuncSetAttribute(launch->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                  static_cast<int>(launch->shared_bytes)),
                             device, "shared memory", fault);
}

/* What is settled, and what the runtime knows of its kernel. */
bool cuda_launch_describe(const struct device *device, const struct cuda_form *launch, struct form *form,
                          struct fault *fault)
{
    const int threads = static_cast<int>(launch->block.x * launch->block.y * launch->block.z);
    int blocks = 0, least_grid = 0, suggested = 0;
    cudaFuncAttributes attributes;

    if (!cuda_device_check(cudaFuncGetAttributes(&attributes, launch->kernel), device, "a kernel", fault))
        return false;
    if (!cuda_launch_allow(device, launch, fault))
        return false;
    if (!cuda_device_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch->kernel, threads,
                                                                         launch->shared_bytes),
                           device, "a kernel", fault) ||
        !cuda_device_check(
            cudaOccupancyMaxPotentialBlockSize(&least_grid, &suggested, launch->kernel, launch->shared_bytes),
            device, "a kernel", fault))
        return false;
    form->steps = static_cast<unsigned>(launch->steps > 0 ? launch->steps : 1);
    form->reach = static_cast<unsigned>(launch->reach);
    form->tile_x = static_cast<unsigned>(launch->tile_x);
    form->tile_y = static_cast<unsigned>(launch->tile_y);
    form->tile_z = static_cast<unsigned>(launch->tile_z);
    form->coarsen = static_cast<unsigned>(launch->coarsen);
    form->stride = static_cast<unsigned>(launch->stride);
    form->suggested_tile = suggested_side(suggested);
    form->grid[0] = launch->grid.x;
    form->grid[1] = launch->grid.y;
    form->grid[2] = launch->grid.z;
    form->block[0] = launch->block.x;
    form->block[1] = launch->block.y;
    form->block[2] = launch->block.z;
    form->registers = static_cast<unsigned>(attributes.numRegs);
    form->local_bytes = attributes.localSizeBytes;
    form->shared_bytes = launch->shared_bytes;
    form->blocks_per_multiprocessor = static_cast<unsigned>(blocks);
    form->bound =
        bound_of(&device->limits, form->registers, static_cast<unsigned>(threads), launch->shared_bytes);
    form->occupancy = static_cast<double>(blocks * threads) / device->limits.threads_per_multiprocessor;
    if (blocks > 0)
        form->waves = static_cast<double>(launch->grid.x) * launch->grid.y * launch->grid.z /
                      (static_cast<double>(blocks) * device->limits.multiprocessors);
    form->bytes_per_update = launch->bytes_per_update;
    form->operations_per_update = launch->operations_per_update;
    return true;
}
