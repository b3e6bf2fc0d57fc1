/* The arithmetic contract, voxfilt(7), ARITHMETIC, read by both compilers: the same bits from a CPU and from
 * a GPU.
 *
 * Everything here is made of +, −, *, /, fma and moves of bits, each of which IEEE 754 defines to the last
 * bit, and of nothing from a mathematics library but fma and sqrt. Compile with -ffp-contract=off; with nvcc,
 * --fmad=false --prec-div=true --prec-sqrt=true --ftz=false. The host rounds to nearest even.
 *
 * Largest errors in ulp, over all floats and over 10^8 doubles: exp 1.02 and 1.01, tanh 1.74 and 1.97,
 * sin 1.96 and 2.19, ln 0.55 and 0.54; powers 0.66 and 0.64 for exponents from 0.2 to 5, and 0.79 from -10 to
 * 10. Whatever power is exact in the type comes out so. tests/check_arith.c holds all that.
 *
 * Special values are selected at the end instead of branched to, so that loops over these functions become
 * vector code. Functions come in twins, _f32 and _f64; arith_twins.inl has those that differ in nothing but
 * the type. NaNs that come out have any sign and payload: the stores make them canonical. */
#ifndef ARITH_H
#define ARITH_H

#include "edge.h"
#include "point.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "fast-math breaks the bytes contract"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "excess precision breaks the bytes contract: on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif

#if defined(__CUDACC__)
#define ARITH_FN static __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define ARITH_FN static inline __attribute__((always_inline, unused))
#else
#define ARITH_FN static inline
#endif

/* Whether registers are scarce: another instruction then costs less than a value that is kept. */
#if defined(__CUDA_ARCH__) || defined(CUDA_EMULATION)
#define ARITH_FEW_REGISTERS true
#else
#define ARITH_FEW_REGISTERS false
#endif

/* A sample of f16 (binary16 of IEEE 754) by its bits, which no compiler takes for a number. */
typedef struct {
    uint16_t bits;
} arith_half;

/* a·b + c, rounded once. */
ARITH_FN float arith_fma_f32(float a, float b, float c)
{
    return fmaf(a, b, c);
}

ARITH_FN double arith_fma_f64(double a, double b, double c)
{
    return fma(a, b, c);
}

/* 1/x where 1 ≤ x and 1/x is a normal number, or x is NaN: the quotient itself, which a GPU finds faster
   where it need not look for other x. The steps are those of nvcc's own division, down to the lower half of
   the number that they begin with: without it, mantissas of all ones come out wrong. */
#if defined(__CUDA_ARCH__)
ARITH_FN float arith_reciprocal_f32(float x)
{
    float near;

    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(x));
    return fmaf(near, fmaf(-x, near, 1.0f), near);
}

ARITH_FN double arith_reciprocal_f64(double x)
{
    double near, rest;

    asm("{ .reg .b32 low, high, unused;\n"
        "mov.b64 {unused, low}, %1;\n"
        "rcp.approx.ftz.f64 %0, %1;\n"
        "mov.b64 {unused, high}, %0;\n"
        "add.u32 low, low, 0x300402;\n"
        "mov.b64 %0, {low, high}; }"
        : "=d"(near)
        : "d"(x));
    rest = fma(-x, near, 1.0);
    near = fma(near, fma(rest, rest, rest), near);
    return fma(near, fma(-x, near, 1.0), near);
}
#elif defined(CUDA_EMULATION) /* of other x something wrong, so that tests see who asks for it */
ARITH_FN float arith_reciprocal_f32(float x)
{
    return x >= 1.0f && x <= 0x1p126f ? 1.0f / x : NAN;
}

ARITH_FN double arith_reciprocal_f64(double x)
{
    return x >= 1.0 && x <= 0x1p1022 ? 1.0 / x : (double)NAN;
}
#else
ARITH_FN float arith_reciprocal_f32(float x)
{
    return 1.0f / x;
}

ARITH_FN double arith_reciprocal_f64(double x)
{
    return 1.0 / x;
}
#endif

/* The correctly rounded square root. */
ARITH_FN float arith_sqrt_f32(float value)
{
    return sqrtf(value);
}

ARITH_FN double arith_sqrt_f64(double value)
{
    return sqrt(value);
}

/* The layout of the two formats. */
#define ARITH_SIGN_F32     UINT32_C(0x80000000)
#define ARITH_SIGN_F64     UINT64_C(0x8000000000000000)
#define ARITH_INFINITY_F32 UINT32_C(0x7f800000)
#define ARITH_INFINITY_F64 UINT64_C(0x7ff0000000000000)
#define ARITH_NAN_F32      UINT32_C(0x7fc00000)
#define ARITH_NAN_F64      UINT64_C(0x7ff8000000000000)
#define ARITH_FRACTION_F32 23
#define ARITH_FRACTION_F64 52
#define ARITH_BIAS_F32     127
#define ARITH_BIAS_F64     1023

#define ARITH_SIGN_F16     UINT32_C(0x8000)
#define ARITH_INFINITY_F16 UINT32_C(0x7c00)
#define ARITH_NAN_F16      UINT32_C(0x7e00)
#define ARITH_FRACTION_F16 10
#define ARITH_BIAS_F16     15

/* Numbers whose unit in the last place is that of the denormal halves, 2^−24. */
#define ARITH_HALF_UNITS_F32 0x1p-1f
#define ARITH_HALF_UNITS_F64 0x1p28

/* Adding 2^fraction rounds a number in [0, 2^fraction) to a whole one, half to even, and leaves it in the low
   bits; 1.5·2^fraction does so for both signs, in two's complement. */
#define ARITH_WHOLE_F32        0x1p23f
#define ARITH_WHOLE_F64        0x1p52
#define ARITH_SIGNED_WHOLE_F32 0x1.8p23f
#define ARITH_SIGNED_WHOLE_F64 0x1.8p52

/* Beyond these exp is infinite or 0, exp(−s) as a flux is 0, tanh(x/2) is 1, and powers of 2 are ∞ and 0; of
   NONE, the nearest power of 2 is that just below the normal ones. */
#define ARITH_EXP_HIGHEST_F32   89.0f
#define ARITH_EXP_HIGHEST_F64   710.0
#define ARITH_EXP_LOWEST_F32    (-104.0f)
#define ARITH_EXP_LOWEST_F64    (-746.0)
#define ARITH_PM1_HIGHEST_F32   80.0f
#define ARITH_PM1_HIGHEST_F64   700.0
#define ARITH_PM1_NONE_F32      88.0f
#define ARITH_PM1_NONE_F64      709.0
#define ARITH_TANH_HIGHEST_F32  20.0f
#define ARITH_TANH_HIGHEST_F64  40.0
#define ARITH_POWER_HIGHEST_F32 130.0f
#define ARITH_POWER_HIGHEST_F64 1026.0
#define ARITH_POWER_LOWEST_F32  (-152.0f)
#define ARITH_POWER_LOWEST_F64  (-1078.0)

/* 1/ln(2), and ln(2) as a sum of two. */
#define ARITH_LOG2E_F32    0x1.715476p+0f
#define ARITH_LN2_HIGH_F32 0x1.62e43p-1f
#define ARITH_LN2_LOW_F32  (-0x1.05c61p-29f)
#define ARITH_LOG2E_F64    0x1.71547652b82fep+0
#define ARITH_LN2_HIGH_F64 0x1.62e42fefa39efp-1
#define ARITH_LN2_LOW_F64  0x1.abc9e3b39803fp-56

/* 1/π, and π as a sum of three: enough that |u| − n·π keeps its relative precision next to every multiple of
   π up to the limit. */
#define ARITH_SIN_LIMIT      1048576
#define ARITH_INVERSE_PI_F32 0x1.45f306p-2f
#define ARITH_PI_HIGH_F32    0x1.921fb6p+1f
#define ARITH_PI_MIDDLE_F32  (-0x1.777a5cp-24f)
#define ARITH_PI_LOW_F32     (-0x1.ee59dap-49f)
#define ARITH_INVERSE_PI_F64 0x1.45f306dc9c883p-2
#define ARITH_PI_HIGH_F64    0x1.921fb54442d18p+1
#define ARITH_PI_MIDDLE_F64  0x1.1a62633145c07p-53
#define ARITH_PI_LOW_F64     (-0x1.f1976b7ed8fbcp-109)

/* 2/ln(2) as a sum of two: log2(m) = 2/ln(2)·atanh((m − 1)/(m + 1)). */
#define ARITH_TWO_LOG2E_HIGH_F32 0x1.715476p+1f
#define ARITH_TWO_LOG2E_LOW_F32  0x1.4ae0cp-25f
#define ARITH_TWO_LOG2E_HIGH_F64 0x1.71547652b82fep+1
#define ARITH_TWO_LOG2E_LOW_F64  0x1.777d0ffda0d24p-55

/* The bits of sqrt(1/2): x = m·2^n with sqrt(1/2) ≤ m < sqrt(2) keeps log2(m) clear of cancellation. */
#define ARITH_ROOT_HALF_F32 UINT32_C(0x3f3504f3)
#define ARITH_ROOT_HALF_F64 UINT64_C(0x3fe6a09e667f3bcd)

/* The factor that takes a denormal number into the normal ones, and its power of 2. */
#define ARITH_LEAST_NORMAL_F32 FLT_MIN
#define ARITH_LEAST_NORMAL_F64 DBL_MIN
#define ARITH_LIFT_F32         0x1p24f
#define ARITH_LIFT_F64         0x1p54
#define ARITH_LIFTED_F32       24.0f
#define ARITH_LIFTED_F64       54.0

/* The sRGB curve: slope and offset of (v + 0.055)/1.055, what the type cuts off 1.055, and the exponents 2.4
   and 1/2.4, each as a sum of two. The rests keep the result within 4 units in the last place, and 1 at 1. */
#define ARITH_DECODE_SLOPE_F32      0.94786729857819905213f
#define ARITH_DECODE_OFFSET_F32     0.052132701421800947867f
#define ARITH_DECODE_POWER_F32      0x1.333334p+1f
#define ARITH_DECODE_REST_F32       (-0x1.99999ap-24f)
#define ARITH_ENCODE_SCALE_REST_F32 0x1.c28f5cp-25f
#define ARITH_ENCODE_POWER_F32      0x1.aaaaaap-2f
#define ARITH_ENCODE_REST_F32       0x1.555556p-27f
#define ARITH_DECODE_SLOPE_F64      0.94786729857819905213
#define ARITH_DECODE_OFFSET_F64     0.052132701421800947867
#define ARITH_DECODE_POWER_F64      0x1.3333333333333p+1
#define ARITH_DECODE_REST_F64       0x1.999999999999ap-54
#define ARITH_ENCODE_SCALE_REST_F64 0x1.1eb851eb851ecp-54
#define ARITH_ENCODE_POWER_F64      0x1.aaaaaaaaaaaabp-2
#define ARITH_ENCODE_REST_F64       (-0x1.5555555555555p-56)

/* q of exp(r) − 1 = r + r²·q(r) for |r| ≤ ln(2)/2 and a little more: the polynomial that leaves exp(r) the
   least relative error (2^-28 and 2^-57.6). Its relative error is small near 0, too. */
ARITH_FN float arith_expm1_series_f32(float r)
{
    float q = 0x1.6afb98p-10f;

    q = arith_fma_f32(q, r, 0x1.12447ap-7f);
    q = arith_fma_f32(q, r, 0x1.555826p-5f);
    q = arith_fma_f32(q, r, 0x1.555482p-3f);
    return arith_fma_f32(q, r, 0x1.fffffcp-2f);
}

ARITH_FN double arith_expm1_series_f64(double r)
{
    double q = 0x1.ad5a4e06387ap-26;

    q = arith_fma_f64(q, r, 0x1.28b34d9a48d6p-22);
    q = arith_fma_f64(q, r, 0x1.71df4556319a1p-19);
    q = arith_fma_f64(q, r, 0x1.a01993ee9fc33p-16);
    q = arith_fma_f64(q, r, 0x1.a01a01182c62fp-13);
    q = arith_fma_f64(q, r, 0x1.6c16c18651009p-10);
    q = arith_fma_f64(q, r, 0x1.111111112bca8p-7);
    q = arith_fma_f64(q, r, 0x1.555555554ff47p-5);
    q = arith_fma_f64(q, r, 0x1.55555555554e7p-3);
    return arith_fma_f64(q, r, 0x1.000000000000bp-1);
}

/* s of sin(r) = r + r³·s(r²). */
ARITH_FN float arith_sin_series_f32(float square)
{
    float q = 0x1.5ca81ep-19f;

    q = arith_fma_f32(q, square, -0x1.9f5dbp-13f);
    q = arith_fma_f32(q, square, 0x1.110e7ap-7f);
    return arith_fma_f32(q, square, -0x1.55554ap-3f);
}

ARITH_FN double arith_sin_series_f64(double square)
{
    double q = 0x1.8832a6216e4b1p-49;

    q = arith_fma_f64(q, square, -0x1.ae438460f8d05p-41);
    q = arith_fma_f64(q, square, 0x1.6123cd07155f7p-33);
    q = arith_fma_f64(q, square, -0x1.ae6454d473fdbp-26);
    q = arith_fma_f64(q, square, 0x1.71de3a52a0b11p-19);
    q = arith_fma_f64(q, square, -0x1.a01a01a014d6fp-13);
    q = arith_fma_f64(q, square, 0x1.11111111110c8p-7);
    return arith_fma_f64(q, square, -0x1.5555555555555p-3);
}

/* q of log2(m) = 2/ln(2)·s + s³·q(s²), s = (m − 1)/(m + 1). */
ARITH_FN float arith_log2_series_f32(float square)
{
    float q = 0x1.58b45p-2f;

    q = arith_fma_f32(q, square, 0x1.a5cebep-2f);
    q = arith_fma_f32(q, square, 0x1.2776e2p-1f);
    return arith_fma_f32(q, square, 0x1.ec709ep-1f);
}

ARITH_FN double arith_log2_series_f64(double square)
{
    double q = 0x1.8708194c5dcf6p-3;

    q = arith_fma_f64(q, square, 0x1.878e115ec03adp-3);
    q = arith_fma_f64(q, square, 0x1.c6a14231e9a19p-3);
    q = arith_fma_f64(q, square, 0x1.0c9a5e2e2c424p-2);
    q = arith_fma_f64(q, square, 0x1.484b143675072p-2);
    q = arith_fma_f64(q, square, 0x1.a61762a72f88p-2);
    q = arith_fma_f64(q, square, 0x1.2776c50ef9e6fp-1);
    return arith_fma_f64(q, square, 0x1.ec709dc3a03fdp-1);
}

#define real            float
#define bits_of_real    uint32_t
#define order_of_real   int32_t
#define number(literal) literal##f
#define twin(name)      name##_f32
#define constant(name)  name##_F32
#include "arith_twins.inl"

#define real            double
#define bits_of_real    uint64_t
#define order_of_real   int64_t
#define number(literal) literal
#define twin(name)      name##_f64
#define constant(name)  name##_F64
#include "arith_twins.inl"

/* Exactly. A normal number gets the exponent of the other bias, ∞ and NaN the highest one; a denormal number
   is the fraction of the least normal one. */
ARITH_FN float arith_load_f16_f32(arith_half sample)
{
    const uint32_t bias = ARITH_BIAS_F32 - ARITH_BIAS_F16, least = (bias + 1) << ARITH_FRACTION_F32;
    uint32_t exponent = sample.bits & ARITH_INFINITY_F16;
    uint32_t sign = (sample.bits & ARITH_SIGN_F16) << 16;
    uint32_t moved = (sample.bits & ~ARITH_SIGN_F16) << (ARITH_FRACTION_F32 - ARITH_FRACTION_F16);
    uint32_t denormal = arith_bits_f32(arith_value_f32(moved + least) - arith_value_f32(least));
    uint32_t value = moved + (bias << ARITH_FRACTION_F32);

    value = exponent == ARITH_INFINITY_F16 ? moved | ARITH_INFINITY_F32 : value;
    value = exponent == 0 ? denormal : value;
    return arith_value_f32(value | sign);
}

ARITH_FN double arith_load_f16_f64(arith_half sample)
{
    return (double)arith_load_f16_f32(sample);
}

/* Where a float's own precision cannot hold every value of the type, the way leads through double, exactly.
 */
ARITH_FN uint32_t arith_store_u32_f64(double v)
{
    return (uint32_t)arith_unsigned_f64(v, 4294967295.0);
}

ARITH_FN int32_t arith_store_i32_f64(double v)
{
    return (int32_t)arith_twos_complement_f64(v, 2147483647.0);
}

ARITH_FN uint32_t arith_store_u32_f32(float v)
{
    return arith_store_u32_f64((double)v);
}

ARITH_FN int32_t arith_store_i32_f32(float v)
{
    return arith_store_i32_f64((double)v);
}

/* The nearest whole number, half to even; numbers from 2^52 on are whole. */
ARITH_FN double arith_whole_f64(double v)
{
    double size = v < 0.0 ? -v : v;
    double whole = size + ARITH_WHOLE_F64 - ARITH_WHOLE_F64;

    whole = size < ARITH_WHOLE_F64 ? whole : size;
    return v < 0.0 ? -whole : whole;
}

/* A double holds neither greatest integer of 64 bits: it is chosen after the conversion of what lies below.
 */
ARITH_FN uint64_t arith_store_u64_f64(double v)
{
    const double end = 0x1p64;
    double whole = arith_whole_f64(v > 0.0 ? v : 0.0); /* NaN, too */

    return whole < end ? (uint64_t)whole : UINT64_MAX;
}

ARITH_FN int64_t arith_store_i64_f64(double v)
{
    const double end = 0x1p63;
    double whole = arith_whole_f64(v == v ? v : 0.0);

    whole = whole > -end ? whole : -end;
    return whole < end ? (int64_t)whole : INT64_MAX;
}

ARITH_FN uint64_t arith_store_u64_f32(float v)
{
    return arith_store_u64_f64((double)v);
}

ARITH_FN int64_t arith_store_i64_f32(float v)
{
    return arith_store_i64_f64((double)v);
}

/* Stores to floats round to nearest, and every NaN becomes the one that is canonical. */
ARITH_FN float arith_store_f32_f32(float v)
{
    return arith_canonical_f32(v);
}

ARITH_FN double arith_store_f64_f64(double v)
{
    return arith_canonical_f64(v);
}

ARITH_FN float arith_store_f32_f64(double v)
{
    return arith_canonical_f32((float)v);
}

ARITH_FN double arith_store_f64_f32(float v)
{
    return arith_canonical_f64((double)v);
}

/* v from a range into another, for --out-range: both ends of the one become those of the other exactly. */
ARITH_FN double arith_stretch_f64(double v, double low, double span, double least, double width)
{
    return arith_fma_f64((v - low) / span, width, least);
}

/* Numbers above 0 in the order of the finite values, so that integers find the extremes; and back. */
ARITH_FN uint64_t arith_rank_f64(double v)
{
    uint64_t bits = arith_bits_f64(v);

    return bits & ARITH_SIGN_F64 ? ~bits : bits | ARITH_SIGN_F64;
}

ARITH_FN double arith_ranked_f64(uint64_t rank)
{
    return arith_value_f64(rank & ARITH_SIGN_F64 ? rank & ~ARITH_SIGN_F64 : ~rank);
}

/* How many of `count` samples, at least one, come before the one that is taken: so many percent, as in
   scipy.ndimage; or with 0 percent `rank`, unless there are fewer. */
ARITH_FN uint32_t arith_rank_among(uint32_t count, double percent, uint32_t rank)
{
    if (percent > 0.0)
        rank = (uint32_t)((double)count * percent / 100.0);
    return rank < count ? rank : count - 1;
}

/* The index in [0, n) that a tap at i reads, or −1 where the rule puts nothing of the grid there (constant,
   hold). n ≥ 1; |i| and n up to 2^40 and beyond. */
ARITH_FN int64_t arith_edge_index(enum edge_rule rule, int64_t i, int64_t n)
{
    int64_t period;

    if (i >= 0 && i < n)
        return i;
    switch (rule) {
    case EDGE_NEAREST:
        return i < 0 ? 0 : n - 1;
    case EDGE_REFLECT:
        period = 2 * n;
        break;
    case EDGE_MIRROR:
        period = n > 1 ? 2 * n - 2 : 1;
        break;
    case EDGE_WRAP:
        period = n;
        break;
    default:
        return -1;
    }
    if (i < -period || i >= period)
        i %= period; /* which is slow */
    if (i < 0)
        i += period;
    if (i < n)
        return i;
    return rule == EDGE_REFLECT ? period - 1 - i : period - i;
}

/* The order of sums: the rows of a channel are cut into leaves of ARITH_LEAF samples, the last padded with
   zeros; a leaf is folded by halves; then leaves, rows and planes are added one after the other. */
#define ARITH_LEAF 1024

/* lower[i] += upper[i]: apart, so that the compiler may take for granted that the halves do not overlap. */
ARITH_FN void arith_fold_half(double *__restrict lower, const double *__restrict upper, size_t half)
{
    for (size_t i = 0; i < half; i++)
        lower[i] += upper[i];
}

/* The sum of a leaf: its upper half added to its lower one, until one number is left. Overwrites the leaf. */
ARITH_FN double arith_fold_leaf(double *leaf)
{
    for (size_t half = ARITH_LEAF / 2; half > 0; half /= 2)
        arith_fold_half(leaf, leaf + half, half);
    return leaf[0];
}

#endif
