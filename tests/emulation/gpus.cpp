/* What each emulated GPU has to itself, and which of them a thread has chosen. */
#include "gpus.h"

#include "poison.h"

#include <algorithm>
#include <cstring>

namespace emulation
{

static thread_local int chosen_gpu;

int current_gpu()
{
    return chosen_gpu;
}

void choose_gpu(int index)
{
    chosen_gpu = index;
}

cudaError_t &last_error()
{
    static thread_local cudaError_t error = cudaSuccess;

    return error;
}

secluded_memory::secluded_memory(unsigned char *begin, std::size_t bytes)
    : begin_(begin), samples_(begin, begin + bytes)
{
    poison(begin, bytes);
}

bool secluded_memory::restore()
{
    std::vector<unsigned char> untouched(samples_.size());

    poison(untouched.data(), untouched.size());
    const bool whole = std::equal(untouched.begin(), untouched.end(), begin_);
    std::copy(samples_.begin(), samples_.end(), begin_);
    return whole;
}

} // namespace emulation
