/* Samples of a file into fields in a GPU's memory, and back. */
#ifndef CUDA_CONVERT_H
#define CUDA_CONVERT_H

#include "cuda_field.h"

/* struct outcomes as kernels count it, in the device's memory. */
struct cuda_outcomes {
    unsigned long long outside, missing, strays, nans, below, above;
};

/* Planes of a file, packed, in the device's memory, into planes of a field. Strays, and what is
   missing or outside a mask in the counted planes, are added. Channels that the field has beyond
   encoding_work_channels(encoding) become 0, but for originals. */
template <typename T>
cudaError_t cuda_load_planes(const struct encoding *encoding, const void *packed, const cuda_view<T> &to,
                             struct range planes, struct range counted, struct cuda_outcomes *outcomes,
                             cudaStream_t stream);

/* And back; the other outcomes are added. */
template <typename T>
cudaError_t cuda_store_planes(const struct encoding *encoding, const cuda_view<T> &from, void *packed,
                              struct range planes, struct cuda_outcomes *outcomes, cudaStream_t stream);

/* Extremes as integers of the same order (arith_rank_f64), in the device's memory, so that atomicMax raises
   them; 0: none yet. The least is kept as its complement. */
struct cuda_peaks {
    unsigned long long least, greatest;
};

/* Add the extremes of the colours that cuda_store_planes would write. */
template <typename T>
cudaError_t cuda_measure_planes(const struct encoding *encoding, const cuda_view<T> &from,
                                struct range planes, struct cuda_peaks *peaks, cudaStream_t stream);

#endif
