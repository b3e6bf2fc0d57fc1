/* The arithmetic of walks that keep rows of a picture in registers: windows of 3×3 taps, chained row by row.
 * A lane holds some samples of a row, the lanes of a warp the row. */
#ifndef CUDA_WINDOW_CUH
#define CUDA_WINDOW_CUH

#include "kernels/cuda/shared/cuda_row_ring.cuh"

/* Which of the nine taps exist, and their weights in raster order. */
template <typename Type> struct window_star {
    using T = Type;
    T weights[9];
    unsigned present;

    static CUDA_INLINE constexpr bool diagonal()
    {
        return false;
    }
    CUDA_INLINE bool exists(int k) const
    {
        return k % 2 == 1 || k == 4;
    }
};

template <typename Type> struct window_box {
    using T = Type;
    T weights[9];
    unsigned present;

    static CUDA_INLINE constexpr bool diagonal()
    {
        return true;
    }
    CUDA_INLINE bool exists(int) const
    {
        return true;
    }
};

/* Any taps: which they are is known at run time. */
template <typename Type> struct window_some {
    using T = Type;
    T weights[9];
    unsigned present;

    static CUDA_INLINE constexpr bool diagonal()
    {
        return true;
    }
    CUDA_INLINE bool exists(int k) const
    {
        return (present >> k & 1) != 0;
    }
};

/* The samples on either side of a lane's, from the lanes beside it. */
template <typename T, int Samples>
CUDA_INLINE void window_neighbours(const T (&row)[Samples], T *before, T *after)
{
    *before = __shfl_up_sync(CUDA_ALL_LANES, row[Samples - 1], 1);
    *after = __shfl_down_sync(CUDA_ALL_LANES, row[0], 1);
}

/* A chain starts at −0: fma(w, v, −0) is the product w·v, its sign included. */
template <typename T, int Samples> CUDA_INLINE void window_begin(T (&sums)[Samples])
{
#pragma unroll
    for (int i = 0; i < Samples; i++)
        sums[i] = -T(0);
}

/* Chain the taps of one row of the window. */
template <typename Taps, typename T, int Samples>
CUDA_INLINE void window_chain(const Taps &taps, int row_of_taps, const T (&row)[Samples], T before, T after,
                              T (&sums)[Samples])
{
    const int k = 3 * row_of_taps;

    if (taps.exists(k)) {
#pragma unroll
        for (int i = 0; i < Samples; i++)
            sums[i] = cuda_fma(taps.weights[k], i == 0 ? before : row[i > 0 ? i - 1 : 0], sums[i]);
    }
    if (taps.exists(k + 1)) {
#pragma unroll
        for (int i = 0; i < Samples; i++)
            sums[i] = cuda_fma(taps.weights[k + 1], row[i], sums[i]);
    }
    if (taps.exists(k + 2)) {
#pragma unroll
        for (int i = 0; i < Samples; i++)
            sums[i] = cuda_fma(taps.weights[k + 2],
                               i == Samples - 1 ? after : row[i < Samples - 1 ? i + 1 : 0], sums[i]);
    }
}

/* The index of a tap in the window, in raster order. */
static inline int window_index(const struct op_tap *tap)
{
    return (tap->dplane + 1) * 3 + tap->dx + 1;
}

template <typename Taps> static inline Taps window_taps(const struct op *op)
{
    Taps taps = {};

    for (size_t k = 0; k < op->tap_count; k++) {
        taps.weights[window_index(&op->taps[k])] = static_cast<typename Taps::T>(op->taps[k].weight);
        taps.present |= 1u << window_index(&op->taps[k]);
    }
    return taps;
}

#endif
