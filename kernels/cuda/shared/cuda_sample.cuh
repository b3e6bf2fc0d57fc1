/* Samples of files in the device's memory, and their numbers: the conversions of arith.h by sample type and
 * work type, for kernels that are templates of the stored type (S) and the work type (T). */
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

/* arith.h by sample and work type. */
#define SAMPLE(constant, name, stored, ...)                                                                  \
    CUDA_INLINE void cuda_load(stored sample, float *value)                                                  \
    {                                                                                                        \
        *value = arith_load_##name##_f32(sample);                                                            \
    }                                                                                                        \
    CUDA_INLINE void cuda_load(stored sample, double *value)                                                 \
    {                                                                                                        \
        *value = arith_load_##name##_f64(sample);                                                            \
    }                                                                                                        \
    CUDA_INLINE void cuda_store(float value, stored *sample)                                                 \
    {                                                                                                        \
        *sample = arith_store_##name##_f32(value);                                                           \
    }                                                                                                        \
    CUDA_INLINE void cuda_store(double value, stored *sample)                                                \
    {                                                                                                        \
        *sample = arith_store_##name##_f64(value);                                                           \
    }
#include "model/samples.def"

/* The number of a sample, whose bytes are reversed first if it is in the other byte order. */
template <typename T, typename S> CUDA_INLINE T cuda_number(S sample, bool swapped)
{
    T value;

    cuda_load(swapped ? cuda_swapped(sample) : sample, &value);
    return value;
}

/* Call use(S()), where S is the type of a file's samples. */
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
