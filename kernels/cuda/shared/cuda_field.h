/* Fields in a GPU's memory, as kernels see them, and the edges of their grid. */
#ifndef CUDA_FIELD_H
#define CUDA_FIELD_H

#include "model/arith.h"
#include "kernels/backend.h"
#include "cuda_platform.h"

/* Rows begin at multiples of this many bytes, the sector that memory moves at once; so a thread may also move
   16 bytes at once. */
#define CUDA_ROW_ALIGNMENT 32

/* Planes [first, first + count) of a grid, in the order plane, channel, row, x. */
template <typename T> struct cuda_view {
    T *samples;
    long long pitch; /* samples from a row to the next; a multiple of CUDA_ROW_ALIGNMENT bytes; the same for
                        all fields of a shape */
    int nx, rows;    /* of the grid */
    int channels;
    long long planes; /* of the whole grid */
    long long first, count;

    __host__ __device__ __forceinline__ T *row(long long plane, int channel, int row_index) const
    {
        return samples + (((plane - first) * channels + channel) * rows + row_index) * pitch;
    }

    /* Samples from a plane to the next, within one channel. */
    __host__ __device__ __forceinline__ long long plane_stride() const
    {
        return pitch * rows * channels;
    }
};

/* A tap with its weight in the work type. */
template <typename T> struct cuda_tap {
    int dx, drow, dplane;
    T weight;
};

/* The edge rule of an op. */
template <typename T> struct cuda_edge {
    enum edge_rule rule;
    const T *outside; /* EDGE_CONSTANT: one value a channel, in the device's memory; else NULL */
};

/* arith_edge_index, not inlined: its division takes registers, which threads inside the grid would pay for,
 * too. */
__device__ inline __attribute__((noinline)) long long cuda_edge_index(enum edge_rule rule, long long i,
                                                                      long long n)
{
    return arith_edge_index(rule, i, n);
}

#endif
