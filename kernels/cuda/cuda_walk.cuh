/* What the walks along the planes of a volume share: how the planes are cut into chunks. */
#ifndef CUDA_WALK_CUH
#define CUDA_WALK_CUH

#include "cuda_chain.cuh"

/* The planes of a chunk, at most `most` of them, for which cost(chunk, chunks) is least; of equals the
 * longest. */
template <typename Cost> static inline long long cuda_walk_chunk(long long planes, long long most, Cost cost)
{
    const long long fewest = cuda_ceil_divide(planes, most);
    long long best = planes;
    double least = 0;

    for (long long chunks = fewest; chunks <= planes && chunks < fewest + 256; chunks++) {
        const long long chunk = cuda_ceil_divide(planes, chunks);
        const double spent = cost(chunk, cuda_ceil_divide(planes, chunk));
        if (chunks == fewest || spent < least) {
            least = spent;
            best = chunk;
        }
    }
    return best;
}

#endif
