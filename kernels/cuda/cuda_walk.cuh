/* What the walks along the planes share: how the planes are cut into chunks, and the boxes in which they
 * come. */
#ifndef CUDA_WALK_CUH
#define CUDA_WALK_CUH

#include "cuda_chain.cuh"

#define CUDA_SECTOR        32  /* bytes that memory moves together */
#define CUDA_BOX_ALIGNMENT 128 /* bytes, of a box in shared memory */

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

/* A field whose boxes a walk sends for. */
template <typename T> static inline struct cuda_boxed_field cuda_boxed(const cuda_view<T> &view)
{
    const size_t row = static_cast<size_t>(view.pitch) * sizeof(T);
    const size_t channel = row * static_cast<size_t>(view.rows);

    return {view.samples,
            sizeof(T),
            static_cast<size_t>(view.nx),
            static_cast<size_t>(view.rows),
            static_cast<size_t>(view.channels),
            static_cast<size_t>(view.count),
            row,
            channel,
            channel * static_cast<size_t>(view.channels)};
}

#endif
