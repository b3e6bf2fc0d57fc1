/* What differs from one instruction set to the next: the width of a vector, its fused multiply-add, shifts
   from one vector to the next, and stores that leave the caches alone. */
#ifndef CPU_ISA_H
#define CPU_ISA_H

#include "model/arith.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

/* Vectors that an instruction set has registers for. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define ISA_REGISTERS 32
#else
#define ISA_REGISTERS 16
#endif

#define ISA_INLINE static inline __attribute__((always_inline))

typedef float isa_vector_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef double isa_vector_f64 __attribute__((vector_size(VECTOR_BYTES)));

/* a·b + c in every lane, rounded once. */
ISA_INLINE isa_vector_f32 isa_fma_f32(isa_vector_f32 a, isa_vector_f32 b, isa_vector_f32 c)
{
#if defined(__AVX512F__)
    return (isa_vector_f32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (isa_vector_f32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__ARM_NEON) && defined(__aarch64__)
    return (isa_vector_f32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    for (size_t lane = 0; lane < sizeof c / sizeof c[0]; lane++)
        c[lane] = arith_fma_f32(a[lane], b[lane], c[lane]);
    return c;
#endif
}

ISA_INLINE isa_vector_f64 isa_fma_f64(isa_vector_f64 a, isa_vector_f64 b, isa_vector_f64 c)
{
#if defined(__AVX512F__)
    return (isa_vector_f64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (isa_vector_f64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__ARM_NEON) && defined(__aarch64__)
    return (isa_vector_f64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    for (size_t lane = 0; lane < sizeof c / sizeof c[0]; lane++)
        c[lane] = arith_fma_f64(a[lane], b[lane], c[lane]);
    return c;
#endif
}

/* The vectors that begin one sample before `centre` and one sample behind its first, out of registers, where
   one instruction does that (ISA_SHIFTS). A load would straddle two lines of the cache. */
#if defined(__AVX512F__)
#define ISA_SHIFTS 1

ISA_INLINE isa_vector_f32 isa_left_f32(isa_vector_f32 before, isa_vector_f32 centre)
{
    return (isa_vector_f32)_mm512_alignr_epi32((__m512i)centre, (__m512i)before, 15);
}

ISA_INLINE isa_vector_f32 isa_right_f32(isa_vector_f32 centre, isa_vector_f32 behind)
{
    return (isa_vector_f32)_mm512_alignr_epi32((__m512i)behind, (__m512i)centre, 1);
}

ISA_INLINE isa_vector_f64 isa_left_f64(isa_vector_f64 before, isa_vector_f64 centre)
{
    return (isa_vector_f64)_mm512_alignr_epi64((__m512i)centre, (__m512i)before, 7);
}

ISA_INLINE isa_vector_f64 isa_right_f64(isa_vector_f64 centre, isa_vector_f64 behind)
{
    return (isa_vector_f64)_mm512_alignr_epi64((__m512i)behind, (__m512i)centre, 1);
}
#endif

#define ISA_LINE 64 /* bytes that memory moves at once */

/* Copy what will not be read again soon: no line of `to` is fetched to be overwritten, where the instruction
   set can say so. Others may read it after isa_stores_done. */
static inline void isa_copy_past_caches(void *to, const void *from, size_t bytes)
{
#if defined(__SSE2__)
    size_t head = -(uintptr_t)to % ISA_LINE;

    if (head > bytes)
        head = bytes;
    memcpy(to, from, head);
    for (; head + ISA_LINE <= bytes; head += ISA_LINE) {
        const char *line = (const char *)from + head;
#if defined(__AVX2__)
        for (size_t i = 0; i < ISA_LINE; i += sizeof(__m256i))
            _mm256_stream_si256((__m256i *)((char *)to + head + i),
                                _mm256_loadu_si256((const __m256i *)(line + i)));
#else
        for (size_t i = 0; i < ISA_LINE; i += sizeof(__m128i))
            _mm_stream_si128((__m128i *)((char *)to + head + i),
                             _mm_loadu_si128((const __m128i *)(line + i)));
#endif
    }
    memcpy((char *)to + head, (const char *)from + head, bytes - head);
#else
    memcpy(to, from, bytes);
#endif
}

/* The same from a register; `to` is aligned like a vector. */
ISA_INLINE void isa_stream_f32(float *to, isa_vector_f32 values)
{
#if defined(__AVX512F__)
    _mm512_stream_ps(to, (__m512)values);
#elif defined(__AVX2__)
    _mm256_stream_ps(to, (__m256)values);
#elif defined(__SSE2__)
    _mm_stream_ps(to, (__m128)values);
#else
    *(isa_vector_f32 *)(void *)to = values;
#endif
}

ISA_INLINE void isa_stream_f64(double *to, isa_vector_f64 values)
{
#if defined(__AVX512F__)
    _mm512_stream_pd(to, (__m512d)values);
#elif defined(__AVX2__)
    _mm256_stream_pd(to, (__m256d)values);
#elif defined(__SSE2__)
    _mm_stream_pd(to, (__m128d)values);
#else
    *(isa_vector_f64 *)(void *)to = values;
#endif
}

/* Have a line at hand in the second-level cache soon. */
static inline void isa_fetch(const void *line)
{
#if defined(__GNUC__)
    __builtin_prefetch(line, 0, 2);
#else
    (void)line;
#endif
}

static inline void isa_stores_done(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
