/* Samples of a file into fields in a GPU's memory, and back. */
#ifndef CUDA_CONVERT_H
#define CUDA_CONVERT_H

#include "cuda_field.h"

/* Planes of a file, packed, in the device's memory, into planes of a field.
   The field has encoding_work_channels(encoding) channels. */
cudaError_t cuda_load_planes(const struct encoding *encoding, const void *packed, const cuda_view<float> &to,
                             struct range planes, cudaStream_t stream);
cudaError_t cuda_load_planes(const struct encoding *encoding, const void *packed, const cuda_view<double> &to,
                             struct range planes, cudaStream_t stream);

/* And back. NaNs that became 0 are added to *nans, in the device's memory. */
cudaError_t cuda_store_planes(const struct encoding *encoding, const cuda_view<float> &from, void *packed,
                              struct range planes, unsigned long long *nans, cudaStream_t stream);
cudaError_t cuda_store_planes(const struct encoding *encoding, const cuda_view<double> &from, void *packed,
                              struct range planes, unsigned long long *nans, cudaStream_t stream);

#endif
