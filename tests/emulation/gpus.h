/* What each emulated GPU has to itself, and which of them a thread has chosen. */
#ifndef EMULATION_GPUS_H
#define EMULATION_GPUS_H

#include "cuda_emulation.h"

#include <cstddef>
#include <map>
#include <set>
#include <vector>

namespace emulation
{

struct gpu {
    std::size_t bytes = 0;                     /* of its memory that are allocated */
    cudaError_t lasting_error = cudaSuccess;   /* until it is reset */
    std::map<const void *, int> shared_limits; /* by kernel, where one was set */
    std::set<int> peers;                       /* whose memory it may use beside its own */
};

/* Those that anybody has asked for. */
class gpus
{
  public:
    gpu &of(int index)
    {
        return owned_[index];
    }
    bool reaches(int user, int owner)
    {
        return user == owner || of(user).peers.count(owner) != 0;
    }
    void reset()
    {
        owned_.clear();
    }

  private:
    std::map<int, gpu> owned_;
};

/* That of the calling thread, the first unless it has chosen another. */
int current_gpu();
void choose_gpu(int index);

/* What the calling thread was last told of, until it asks. */
cudaError_t &last_error();

/* Memory that a kernel must not find: poison stands in its place as long as this lives. */
class secluded_memory
{
  public:
    secluded_memory(unsigned char *begin, std::size_t bytes);
    secluded_memory(secluded_memory &&) = default;

    /* Put back what was there. Whether nobody wrote into the memory meanwhile. */
    bool restore();

  private:
    unsigned char *begin_;
    std::vector<unsigned char> samples_;
};

} // namespace emulation

#endif
