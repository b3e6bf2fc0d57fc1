/* The work type (CPU_WORK: f32 or f64) and the instruction set (CPU_ISA) that a unit of kernels is built for:
   samples and their arithmetic, vectors and theirs, stores that bypass the caches. Kernels are written once,
   in these words; vectors are those of GCC and Clang, and intrinsics are only here. */
#ifndef CPU_VECTOR_H
#define CPU_VECTOR_H

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

/* Registers for vectors. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define ISA_REGISTERS 32
#else
#define ISA_REGISTERS 16
#endif

#define ISA_INLINE static inline __attribute__((always_inline))

#define CPU_JOIN_(a, b) a##_##b
#define CPU_JOIN(a, b)  CPU_JOIN_(a, b)

/* A name of the work type, one of the instruction set (CPU_ISA), and one of both: FN(cpu_kernels) is
   cpu_kernels_v3_f32. */
#define OF_WORK(name) CPU_JOIN(name, CPU_WORK)
#define OF_ISA(name)  CPU_JOIN(name, CPU_ISA)
#define FN(name)      CPU_JOIN(OF_ISA(name), CPU_WORK)

/* A counter is as wide as a value, so that a vector of comparisons is added to one of counts without a
 * conversion. */
typedef float real_f32;
typedef double real_f64;
typedef uint32_t counter_f32;
typedef uint64_t counter_f64;
typedef int32_t order_f32;
typedef int64_t order_f64;

typedef OF_WORK(real) real;
typedef OF_WORK(counter) counter;
typedef OF_WORK(order) order; /* of arith_order */

#define real_average          OF_WORK(arith_average)
#define real_bits             OF_WORK(arith_bits)
#define real_cover            OF_WORK(arith_cover)
#define real_fma              OF_WORK(arith_fma)
#define real_gamma_scaled     OF_WORK(arith_gamma_scaled)
#define real_order            OF_WORK(arith_order)
#define real_ordered          OF_WORK(arith_ordered)
#define real_pm1              OF_WORK(arith_pm1)
#define real_pm1_joint        OF_WORK(arith_pm1_joint)
#define real_pm2              OF_WORK(arith_pm2)
#define real_pm2_joint        OF_WORK(arith_pm2_joint)
#define real_present          OF_WORK(arith_present)
#define real_unmarked         OF_WORK(arith_unmarked)
#define real_react            OF_WORK(arith_react)
#define real_sqrt             OF_WORK(arith_sqrt)
#define real_srgb_from_linear OF_WORK(arith_srgb_from_linear)
#define real_srgb_to_linear   OF_WORK(arith_srgb_to_linear)
#define real_tanh             OF_WORK(arith_tanh)
#define real_uncovered        OF_WORK(arith_uncovered)

/* What rounds to whole numbers, and leaves them in the low bits of a sum. */
#define REAL_WHOLE_f32 ARITH_SIGNED_WHOLE_F32
#define REAL_WHOLE_f64 ARITH_SIGNED_WHOLE_F64
#define REAL_WHOLE     OF_WORK(REAL_WHOLE)

/* ---- vectors ---- */

typedef real vector __attribute__((vector_size(VECTOR_BYTES)));

/* A vector at any sample in memory. */
typedef vector stored_vector __attribute__((aligned(sizeof(real)), may_alias));

#define LANES (VECTOR_BYTES / sizeof(real)) /* samples in a vector */

/* x86's intrinsic for an operation on vectors of the work type: MM(fmadd) is _mm256_fmadd_ps. */
#if defined(__AVX512F__)
#define MM_f32(operation) _mm512_##operation##_ps
#define MM_f64(operation) _mm512_##operation##_pd
#elif defined(__AVX2__)
#define MM_f32(operation) _mm256_##operation##_ps
#define MM_f64(operation) _mm256_##operation##_pd
#else
#define MM_f32(operation) _mm_##operation##_ps
#define MM_f64(operation) _mm_##operation##_pd
#endif
#define MM(operation) OF_WORK(MM)(operation)

ISA_INLINE vector vector_load(const real *samples)
{
    return *(const stored_vector *)samples;
}

ISA_INLINE void vector_store(real *samples, vector values)
{
    *(stored_vector *)samples = values;
}

/* A value in every lane. */
ISA_INLINE vector vector_splat(real value)
{
    return value - (vector){(real)0};
}

/* a·b + c in every lane, rounded once. */
ISA_INLINE vector vector_fma(vector a, vector b, vector c)
{
#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
    return MM(fmadd)(a, b, c);
#elif defined(__ARM_NEON) && defined(__aarch64__)
    typedef float32x4_t neon_f32;
    typedef float64x2_t neon_f64;
    return (vector)OF_WORK(vfmaq)((OF_WORK(neon))c, (OF_WORK(neon))a, (OF_WORK(neon))b);
#else
    for (size_t lane = 0; lane < LANES; lane++)
        c[lane] = real_fma(a[lane], b[lane], c[lane]);
    return c;
#endif
}

/* ---- vectors of whole numbers ---- */

/* In the order of samples: orders are as wide as these, shorts half as wide or less, and bytes a quarter.
   Bytes are for narrow fields, whose work type is f32. */
typedef order orders_key;
typedef int16_t shorts_key;
typedef int8_t bytes_key;
#define CPU_NARROW_f32 1
#define CPU_NARROW_f64 0

/* Whether any bit of a vector is set. */
#if defined(__AVX512F__)
#define ISA_ANY(bits) (_mm512_test_epi32_mask((__m512i)(bits), (__m512i)(bits)) != 0)
#elif defined(__AVX2__)
#define ISA_ANY(bits) (!_mm256_testz_si256((__m256i)(bits), (__m256i)(bits)))
#else
typedef uint64_t isa_halves __attribute__((vector_size(VECTOR_BYTES)));
#define ISA_ANY(bits) ((((isa_halves)(bits))[0] | ((isa_halves)(bits))[1]) != 0)
#endif

/* The lesser and the greater of both, in every lane: by an instruction where there is one. */
#define ISA_CHOICE_min(keys, a, b) keys##_choose((a) < (b), a, b)
#define ISA_CHOICE_max(keys, a, b) keys##_choose((a) < (b), b, a)
#define ISA_LANES(bits, which, suffix, a, b)                                                                 \
    _mm##bits##_##which##_##suffix((__m##bits##i)(a), (__m##bits##i)(b))

#define ISA_EXTREME_orders OF_WORK(ISA_EXTREME)
#if defined(__AVX512BW__)
#define ISA_EXTREME_f32(which, a, b)    ISA_LANES(512, which, epi32, a, b)
#define ISA_EXTREME_f64(which, a, b)    ISA_LANES(512, which, epi64, a, b)
#define ISA_EXTREME_shorts(which, a, b) ISA_LANES(512, which, epi16, a, b)
#define ISA_EXTREME_bytes(which, a, b)  ISA_LANES(512, which, epi8, a, b)
#elif defined(__AVX2__)
#define ISA_EXTREME_f32(which, a, b)    ISA_LANES(256, which, epi32, a, b)
#define ISA_EXTREME_f64(which, a, b)    ISA_CHOICE_##which(orders, a, b)
#define ISA_EXTREME_shorts(which, a, b) ISA_LANES(256, which, epi16, a, b)
#define ISA_EXTREME_bytes(which, a, b)  ISA_LANES(256, which, epi8, a, b)
#else
#define ISA_EXTREME_f32(which, a, b)   ISA_CHOICE_##which(orders, a, b)
#define ISA_EXTREME_f64(which, a, b)   ISA_CHOICE_##which(orders, a, b)
#define ISA_EXTREME_bytes(which, a, b) ISA_CHOICE_##which(bytes, a, b)
#if defined(__SSE2__)
#define ISA_EXTREME_shorts(which, a, b) _mm_##which##_epi16((__m128i)(a), (__m128i)(b))
#else
#define ISA_EXTREME_shorts(which, a, b) ISA_CHOICE_##which(shorts, a, b)
#endif
#endif

/* choose: a where the mask, as a comparison leaves it, is set, else b. differ: whether any lane does. */
#define ISA_KEYS(keys)                                                                                       \
    typedef keys##_key keys##_vector __attribute__((vector_size(VECTOR_BYTES)));                             \
    typedef keys##_vector stored_##keys __attribute__((aligned(sizeof(keys##_key)), may_alias));             \
                                                                                                             \
    ISA_INLINE keys##_vector keys##_load(const keys##_key *from)                                             \
    {                                                                                                        \
        return *(const stored_##keys *)from;                                                                 \
    }                                                                                                        \
    ISA_INLINE void keys##_store(keys##_key *to, keys##_vector values)                                       \
    {                                                                                                        \
        *(stored_##keys *)to = values;                                                                       \
    }                                                                                                        \
    ISA_INLINE keys##_vector keys##_splat(keys##_key value)                                                  \
    {                                                                                                        \
        return value - (keys##_vector){0};                                                                   \
    }                                                                                                        \
    ISA_INLINE keys##_vector keys##_choose(keys##_vector mask, keys##_vector a, keys##_vector b)             \
    {                                                                                                        \
        return (a & mask) | (b & ~mask);                                                                     \
    }                                                                                                        \
    ISA_INLINE bool keys##_differ(keys##_vector a, keys##_vector b)                                          \
    {                                                                                                        \
        keys##_vector differ = a ^ b;                                                                        \
        return ISA_ANY(differ);                                                                              \
    }                                                                                                        \
    ISA_INLINE keys##_vector keys##_least(keys##_vector a, keys##_vector b)                                  \
    {                                                                                                        \
        return (keys##_vector)ISA_EXTREME_##keys(min, a, b);                                                 \
    }                                                                                                        \
    ISA_INLINE keys##_vector keys##_greatest(keys##_vector a, keys##_vector b)                               \
    {                                                                                                        \
        return (keys##_vector)ISA_EXTREME_##keys(max, a, b);                                                 \
    }

ISA_KEYS(orders)
ISA_KEYS(shorts)
ISA_KEYS(bytes)

/* The vector that begins so many bytes, 16 at most, behind the start of the first register and goes on in the
   second one; defined where two instructions make it. */
#if defined(__AVX512BW__)
#define ISA_BEHIND(first, second, bytes)                                                                     \
    _mm512_alignr_epi8(_mm512_alignr_epi64((__m512i)(second), (__m512i)(first), 2), (__m512i)(first), bytes)
#endif

/* The vectors that begin one sample before `centre` and one sample behind its first, out of registers, where
   one instruction does that (ISA_SHIFTS). A load would straddle two lines of the cache. */
#if defined(__AVX512F__)
#define ISA_SHIFTS    1
#define ISA_ALIGN_f32 _mm512_alignr_epi32
#define ISA_ALIGN_f64 _mm512_alignr_epi64

ISA_INLINE vector vector_left(vector before, vector centre)
{
    return (vector)OF_WORK(ISA_ALIGN)((__m512i)centre, (__m512i)before, LANES - 1);
}

ISA_INLINE vector vector_right(vector centre, vector behind)
{
    return (vector)OF_WORK(ISA_ALIGN)((__m512i)behind, (__m512i)centre, 1);
}
#endif

/* ---- past the caches ---- */

#define ISA_LINE 64 /* bytes that memory moves at once */

/* Copy by streaming stores what will not be read again soon: no line of `to` is fetched just to be
   overwritten, if the instruction set has such stores. Other threads may read it after isa_stores_done. */
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

/* Store a register; past the caches, to an address that is aligned like a vector. */
ISA_INLINE void vector_put(bool past_caches, real *to, vector values)
{
#if defined(__SSE2__)
    if (past_caches) {
        MM(stream)(to, values);
        return;
    }
#else
    (void)past_caches;
#endif
    vector_store(to, values);
}

/* Prefetch a line into the second-level cache. */
static inline void isa_fetch(const void *line)
{
#if defined(__GNUC__)
    __builtin_prefetch(line, 0, 2);
#else
    (void)line;
#endif
}

/* Wait until others see the streaming stores. */
static inline void isa_stores_done(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
