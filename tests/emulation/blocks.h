/* Runs the blocks of a launch, their threads as fibers: one block after another, or all of them by turns. */
#ifndef EMULATION_BLOCKS_H
#define EMULATION_BLOCKS_H

#include "cuda_emulation.h"
#include "emulation.h"

#include <functional>
#include <string>

namespace emulation
{

struct launch_shape {
    std::string kernel; /* its name, and where it was launched */
    dim3 grid, block;
    std::size_t shared_bytes;
    int code; /* the compute capability that the kernel is said to be compiled for, as 90 */
    bool (*is_allocated)(const void *memory, std::size_t bytes);
    bool together; /* blocks run by turns, and may await each other's signals */
};

struct schedule {
    enum emulation_order order;
    std::uint64_t seed;
};

/* "file:line", the file without its folders. */
std::string place(site at);

/* Run thread in every thread of every block. Return what the kernel did wrong, or "". */
std::string run_blocks(const launch_shape &shape, const schedule &schedule,
                       const std::function<void()> &thread);

} // namespace emulation

#endif
