/* Samples as files hold them, in the device's memory. */
#ifndef CUDA_SAMPLE_CUH
#define CUDA_SAMPLE_CUH

#include "cuda_chain.cuh"

/* Reverse the bytes of a sample. */
template <typename S> CUDA_INLINE S cuda_swapped(S value)
{
    unsigned char bytes[sizeof(S)], reversed[sizeof(S)];

    memcpy(bytes, &value, sizeof value);
#pragma unroll
    for (unsigned i = 0; i < sizeof(S); i++)
        reversed[i] = bytes[sizeof(S) - 1 - i];
    memcpy(&value, reversed, sizeof value);
    return value;
}

/* Call use(S()), S being what a file holds. */
template <typename Use> static inline cudaError_t cuda_with_sample(enum sample_type type, const Use &use)
{
    switch (type) {
#define SAMPLE(constant, name, stored, ...)                                                                  \
    case SAMPLE_##constant:                                                                                  \
        return use(stored());
#include "model/samples.def"
    default:
        return cudaErrorInvalidValue;
    }
}

#endif
