/* The arithmetic contract, read by both compilers: the same bits from a CPU and from a GPU.
 *
 * Everything here is made of +, −, *, /, fma and moves of bits, each of which IEEE 754 defines to the last
 * bit, and of nothing from a mathematics library but fma and sqrt. Compile with -ffp-contract=off; with nvcc,
 * --fmad=false --prec-div=true --prec-sqrt=true --ftz=false. The host rounds to nearest even.
 *
 * Largest errors in ulp, over all floats and over 10^8 doubles: exp 1.02 and 1.01, tanh 1.74 and 1.97,
 * sin 1.96 and 2.19; tests/check_arith.c holds them.
 *
 * Special values are selected at the end instead of branched to, so that loops over these functions become
 * vector code. Functions come in twins, _f32 and _f64, of the same structure. NaNs that come out have any
 * sign and payload: the stores make them canonical. */
#ifndef ARITH_H
#define ARITH_H

#include "edge.h"

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

/* a·b + c, rounded once. */
ARITH_FN float arith_fma_f32(float a, float b, float c)
{
    return fmaf(a, b, c);
}

ARITH_FN double arith_fma_f64(double a, double b, double c)
{
    return fma(a, b, c);
}

/* The correctly rounded square root. */
ARITH_FN float arith_sqrt_f32(float value)
{
    return sqrtf(value);
}

ARITH_FN double arith_sqrt_f64(double value)
{
    return sqrt(value);
}

/* The bits of a value, and the value of bits. */
ARITH_FN uint32_t arith_bits_f32(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

ARITH_FN uint64_t arith_bits_f64(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

ARITH_FN float arith_value_f32(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

ARITH_FN double arith_value_f64(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
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

/* Adding 2^fraction rounds a number in [0, 2^fraction) to a whole one, half to even, and leaves it in the low
   bits; 1.5·2^fraction does so for both signs, in two's complement. */
#define ARITH_WHOLE_F32        0x1p23f
#define ARITH_WHOLE_F64        0x1p52
#define ARITH_SIGNED_WHOLE_F32 0x1.8p23f
#define ARITH_SIGNED_WHOLE_F64 0x1.8p52

ARITH_FN float arith_magnitude_f32(float value)
{
    return arith_value_f32(arith_bits_f32(value) & ~ARITH_SIGN_F32);
}

ARITH_FN double arith_magnitude_f64(double value)
{
    return arith_value_f64(arith_bits_f64(value) & ~ARITH_SIGN_F64);
}

/* A magnitude, its sign bit clear, with the sign of another value. */
ARITH_FN float arith_signed_f32(float magnitude, float sign)
{
    return arith_value_f32(arith_bits_f32(magnitude) | (arith_bits_f32(sign) & ARITH_SIGN_F32));
}

ARITH_FN double arith_signed_f64(double magnitude, double sign)
{
    return arith_value_f64(arith_bits_f64(magnitude) | (arith_bits_f64(sign) & ARITH_SIGN_F64));
}

/* exp(r) − 1 for |r| ≤ ln(2)/2 and a little more: r + r²·q(r), where q is the polynomial that leaves exp(r)
   the least relative error (2^-28 and 2^-57.6). Its relative error is small near 0, too. */
ARITH_FN float arith_expm1_core_f32(float r)
{
    float q = 0x1.6afb98p-10f;

    q = arith_fma_f32(q, r, 0x1.12447ap-7f);
    q = arith_fma_f32(q, r, 0x1.555826p-5f);
    q = arith_fma_f32(q, r, 0x1.555482p-3f);
    q = arith_fma_f32(q, r, 0x1.fffffcp-2f);
    return arith_fma_f32(r * r, q, r);
}

ARITH_FN double arith_expm1_core_f64(double r)
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
    q = arith_fma_f64(q, r, 0x1.000000000000bp-1);
    return arith_fma_f64(r * r, q, r);
}

/* value·2^n, rounded once, for value near 1 and |n| up to twice the bias less 2; shifted is n + SIGNED_WHOLE.
   Two factors, since 2^n itself may be no normal number: the first product is exact. */
ARITH_FN float arith_scale_f32(float value, float shifted)
{
    uint32_t exponents =
        arith_bits_f32(shifted) - arith_bits_f32(ARITH_SIGNED_WHOLE_F32) + 2 * ARITH_BIAS_F32;
    uint32_t half = exponents >> 1;

    return value * arith_value_f32(half << ARITH_FRACTION_F32) *
           arith_value_f32((exponents - half) << ARITH_FRACTION_F32);
}

ARITH_FN double arith_scale_f64(double value, double shifted)
{
    uint64_t exponents =
        arith_bits_f64(shifted) - arith_bits_f64(ARITH_SIGNED_WHOLE_F64) + 2 * ARITH_BIAS_F64;
    uint64_t half = exponents >> 1;

    return value * arith_value_f64(half << ARITH_FRACTION_F64) *
           arith_value_f64((exponents - half) << ARITH_FRACTION_F64);
}

/* 1/ln(2), and ln(2) as a sum of two. */
#define ARITH_LOG2E_F32    0x1.715476p+0f
#define ARITH_LN2_HIGH_F32 0x1.62e43p-1f
#define ARITH_LN2_LOW_F32  (-0x1.05c61p-29f)
#define ARITH_LOG2E_F64    0x1.71547652b82fep+0
#define ARITH_LN2_HIGH_F64 0x1.62e42fefa39efp-1
#define ARITH_LN2_LOW_F64  0x1.abc9e3b39803fp-56

/* exp(x), denormal results included. Beyond the bounds the result is 0 or infinite all the same. */
ARITH_FN float arith_exp_f32(float x)
{
    const float highest = 89.0f, lowest = -104.0f;
    float shifted, n, r;

    x = x > highest ? highest : x;
    x = x < lowest ? lowest : x;
    shifted = arith_fma_f32(x, ARITH_LOG2E_F32, ARITH_SIGNED_WHOLE_F32);
    n = shifted - ARITH_SIGNED_WHOLE_F32;
    r = arith_fma_f32(n, -ARITH_LN2_HIGH_F32, x);
    r = arith_fma_f32(n, -ARITH_LN2_LOW_F32, r);
    return arith_scale_f32(1.0f + arith_expm1_core_f32(r), shifted);
}

ARITH_FN double arith_exp_f64(double x)
{
    const double highest = 710.0, lowest = -746.0;
    double shifted, n, r;

    x = x > highest ? highest : x;
    x = x < lowest ? lowest : x;
    shifted = arith_fma_f64(x, ARITH_LOG2E_F64, ARITH_SIGNED_WHOLE_F64);
    n = shifted - ARITH_SIGNED_WHOLE_F64;
    r = arith_fma_f64(n, -ARITH_LN2_HIGH_F64, x);
    r = arith_fma_f64(n, -ARITH_LN2_LOW_F64, r);
    return arith_scale_f64(1.0 + arith_expm1_core_f64(r), shifted);
}

/* tanh(x) = e/(e + 2) with e = exp(2|x|) − 1, which loses nothing near 0. What the sum and the quotient lose
   to rounding is put back at the end. Beyond the bound on 2|x| it is 1. */
ARITH_FN float arith_tanh_f32(float x)
{
    const float highest = 20.0f;
    float twice = 2.0f * arith_magnitude_f32(x);
    float shifted, n, r, power, e, sum, sum_low, inverse, quotient, rest;

    twice = twice > highest ? highest : twice;
    shifted = arith_fma_f32(twice, ARITH_LOG2E_F32, ARITH_WHOLE_F32);
    n = shifted - ARITH_WHOLE_F32;
    r = arith_fma_f32(n, -ARITH_LN2_HIGH_F32, twice);
    r = arith_fma_f32(n, -ARITH_LN2_LOW_F32, r);
    power = arith_value_f32((arith_bits_f32(shifted) + ARITH_BIAS_F32) << ARITH_FRACTION_F32);
    e = arith_fma_f32(power, arith_expm1_core_f32(r), power - 1.0f);
    sum = e + 2.0f;
    sum_low = e > 2.0f ? 2.0f - (sum - e) : e - (sum - 2.0f);
    inverse = 1.0f / sum;
    quotient = e * inverse;
    rest = arith_fma_f32(-quotient, sum_low, arith_fma_f32(-quotient, sum, e));
    return arith_signed_f32(arith_fma_f32(rest, inverse, quotient), x);
}

ARITH_FN double arith_tanh_f64(double x)
{
    const double highest = 40.0;
    double twice = 2.0 * arith_magnitude_f64(x);
    double shifted, n, r, power, e, sum, sum_low, inverse, quotient, rest;

    twice = twice > highest ? highest : twice;
    shifted = arith_fma_f64(twice, ARITH_LOG2E_F64, ARITH_WHOLE_F64);
    n = shifted - ARITH_WHOLE_F64;
    r = arith_fma_f64(n, -ARITH_LN2_HIGH_F64, twice);
    r = arith_fma_f64(n, -ARITH_LN2_LOW_F64, r);
    power = arith_value_f64((arith_bits_f64(shifted) + ARITH_BIAS_F64) << ARITH_FRACTION_F64);
    e = arith_fma_f64(power, arith_expm1_core_f64(r), power - 1.0);
    sum = e + 2.0;
    sum_low = e > 2.0 ? 2.0 - (sum - e) : e - (sum - 2.0);
    inverse = 1.0 / sum;
    quotient = e * inverse;
    rest = arith_fma_f64(-quotient, sum_low, arith_fma_f64(-quotient, sum, e));
    return arith_signed_f64(arith_fma_f64(rest, inverse, quotient), x);
}

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

/* sin(u) for |u| ≤ 2^20, else NaN. With |u| = n·π + r, |r| ≤ π/2 and a little more, it is sin(r) times the
   sign of u, negated where n is odd. */
ARITH_FN float arith_sin_f32(float u)
{
    float magnitude = arith_magnitude_f32(u);
    float shifted = arith_fma_f32(magnitude, ARITH_INVERSE_PI_F32, ARITH_WHOLE_F32);
    float n = shifted - ARITH_WHOLE_F32;
    float r, square, s;
    uint32_t sign = (arith_bits_f32(shifted) << 31) ^ (arith_bits_f32(u) & ARITH_SIGN_F32);

    r = arith_fma_f32(n, -ARITH_PI_HIGH_F32, magnitude); /* exact */
    r = arith_fma_f32(n, -ARITH_PI_MIDDLE_F32, r);
    r = arith_fma_f32(n, -ARITH_PI_LOW_F32, r);
    square = r * r;
    s = 0x1.5ca81ep-19f;
    s = arith_fma_f32(s, square, -0x1.9f5dbp-13f);
    s = arith_fma_f32(s, square, 0x1.110e7ap-7f);
    s = arith_fma_f32(s, square, -0x1.55554ap-3f);
    s = arith_fma_f32(r * square, s, r);
    s = arith_value_f32(arith_bits_f32(s) ^ sign);
    return magnitude <= (float)ARITH_SIN_LIMIT ? s : arith_value_f32(ARITH_NAN_F32);
}

ARITH_FN double arith_sin_f64(double u)
{
    double magnitude = arith_magnitude_f64(u);
    double shifted = arith_fma_f64(magnitude, ARITH_INVERSE_PI_F64, ARITH_WHOLE_F64);
    double n = shifted - ARITH_WHOLE_F64;
    double r, square, s;
    uint64_t sign = (arith_bits_f64(shifted) << 63) ^ (arith_bits_f64(u) & ARITH_SIGN_F64);

    r = arith_fma_f64(n, -ARITH_PI_HIGH_F64, magnitude); /* exact */
    r = arith_fma_f64(n, -ARITH_PI_MIDDLE_F64, r);
    r = arith_fma_f64(n, -ARITH_PI_LOW_F64, r);
    square = r * r;
    s = 0x1.8832a6216e4b1p-49;
    s = arith_fma_f64(s, square, -0x1.ae438460f8d05p-41);
    s = arith_fma_f64(s, square, 0x1.6123cd07155f7p-33);
    s = arith_fma_f64(s, square, -0x1.ae6454d473fdbp-26);
    s = arith_fma_f64(s, square, 0x1.71de3a52a0b11p-19);
    s = arith_fma_f64(s, square, -0x1.a01a01a014d6fp-13);
    s = arith_fma_f64(s, square, 0x1.11111111110c8p-7);
    s = arith_fma_f64(s, square, -0x1.5555555555555p-3);
    s = arith_fma_f64(r * square, s, r);
    s = arith_value_f64(arith_bits_f64(s) ^ sign);
    return magnitude <= (double)ARITH_SIN_LIMIT ? s : arith_value_f64(ARITH_NAN_F64);
}

/* A number of more than a word's precision: high + low, low at most half a unit in the last place of high. */
struct arith_pair_f32 {
    float high, low;
};

struct arith_pair_f64 {
    double high, low;
};

/* 2/ln(2) as a sum of two: log2(m) = 2/ln(2)·atanh((m − 1)/(m + 1)). */
#define ARITH_TWO_LOG2E_HIGH_F32 0x1.715476p+1f
#define ARITH_TWO_LOG2E_LOW_F32  0x1.4ae0cp-25f
#define ARITH_TWO_LOG2E_HIGH_F64 0x1.71547652b82fep+1
#define ARITH_TWO_LOG2E_LOW_F64  0x1.777d0ffda0d24p-55

/* The bits of sqrt(1/2): x = m·2^n with sqrt(1/2) ≤ m < sqrt(2) keeps log2(m) clear of cancellation. */
#define ARITH_ROOT_HALF_F32 UINT32_C(0x3f3504f3)
#define ARITH_ROOT_HALF_F64 UINT64_C(0x3fe6a09e667f3bcd)

/* log2(x) for finite x > 0; any finite pair for other x. */
ARITH_FN struct arith_pair_f32 arith_log2_f32(float x)
{
    const float lift = 0x1p24f; /* takes a denormal x into the normal numbers */
    bool denormal = x < FLT_MIN;
    uint32_t bits = arith_bits_f32(denormal ? x * lift : x);
    uint32_t biased = (bits + (arith_bits_f32(1.0f) - ARITH_ROOT_HALF_F32)) >> ARITH_FRACTION_F32;
    float m = arith_value_f32(bits - (biased << ARITH_FRACTION_F32) + arith_bits_f32(1.0f));
    float n = arith_value_f32(arith_bits_f32(ARITH_WHOLE_F32) | biased) - (ARITH_WHOLE_F32 + ARITH_BIAS_F32);
    float numerator = m - 1.0f; /* exact */
    float denominator = m + 1.0f;
    float denominator_low = m - (denominator - 1.0f);
    float inverse = 1.0f / denominator;
    float s = numerator * inverse;
    float s_low = arith_fma_f32(-s, denominator_low, arith_fma_f32(-s, denominator, numerator)) * inverse;
    float square = s * s;
    float q, leading, tail, sum;
    struct arith_pair_f32 result;

    q = 0x1.58b45p-2f;
    q = arith_fma_f32(q, square, 0x1.a5cebep-2f);
    q = arith_fma_f32(q, square, 0x1.2776e2p-1f);
    q = arith_fma_f32(q, square, 0x1.ec709ep-1f);
    leading = s * ARITH_TWO_LOG2E_HIGH_F32;
    tail = arith_fma_f32(s, ARITH_TWO_LOG2E_HIGH_F32, -leading);
    tail = arith_fma_f32(s, ARITH_TWO_LOG2E_LOW_F32, tail);
    tail = arith_fma_f32(s_low, ARITH_TWO_LOG2E_HIGH_F32, tail);
    tail = arith_fma_f32(s * square, q, tail);

    n -= denormal ? 24.0f : 0.0f;
    sum = n + leading; /* |n| ≥ 1 > |leading|, or n = 0 */
    tail += leading - (sum - n);
    result.high = sum + tail;
    result.low = tail - (result.high - sum);
    return result;
}

ARITH_FN struct arith_pair_f64 arith_log2_f64(double x)
{
    const double lift = 0x1p54; /* takes a denormal x into the normal numbers */
    bool denormal = x < DBL_MIN;
    uint64_t bits = arith_bits_f64(denormal ? x * lift : x);
    uint64_t biased = (bits + (arith_bits_f64(1.0) - ARITH_ROOT_HALF_F64)) >> ARITH_FRACTION_F64;
    double m = arith_value_f64(bits - (biased << ARITH_FRACTION_F64) + arith_bits_f64(1.0));
    double n = arith_value_f64(arith_bits_f64(ARITH_WHOLE_F64) | biased) - (ARITH_WHOLE_F64 + ARITH_BIAS_F64);
    double numerator = m - 1.0; /* exact */
    double denominator = m + 1.0;
    double denominator_low = m - (denominator - 1.0);
    double inverse = 1.0 / denominator;
    double s = numerator * inverse;
    double s_low = arith_fma_f64(-s, denominator_low, arith_fma_f64(-s, denominator, numerator)) * inverse;
    double square = s * s;
    double q, leading, tail, sum;
    struct arith_pair_f64 result;

    q = 0x1.8708194c5dcf6p-3;
    q = arith_fma_f64(q, square, 0x1.878e115ec03adp-3);
    q = arith_fma_f64(q, square, 0x1.c6a14231e9a19p-3);
    q = arith_fma_f64(q, square, 0x1.0c9a5e2e2c424p-2);
    q = arith_fma_f64(q, square, 0x1.484b143675072p-2);
    q = arith_fma_f64(q, square, 0x1.a61762a72f88p-2);
    q = arith_fma_f64(q, square, 0x1.2776c50ef9e6fp-1);
    q = arith_fma_f64(q, square, 0x1.ec709dc3a03fdp-1);
    leading = s * ARITH_TWO_LOG2E_HIGH_F64;
    tail = arith_fma_f64(s, ARITH_TWO_LOG2E_HIGH_F64, -leading);
    tail = arith_fma_f64(s, ARITH_TWO_LOG2E_LOW_F64, tail);
    tail = arith_fma_f64(s_low, ARITH_TWO_LOG2E_HIGH_F64, tail);
    tail = arith_fma_f64(s * square, q, tail);

    n -= denormal ? 54.0 : 0.0;
    sum = n + leading; /* |n| ≥ 1 > |leading|, or n = 0 */
    tail += leading - (sum - n);
    result.high = sum + tail;
    result.low = tail - (result.high - sum);
    return result;
}

/* x to the power of y + y_low, y finite and y_low the rest of a longer y, for x ≥ 0; NaN for other x. 0 and ∞
   are as in C. */
ARITH_FN float arith_power_f32(float x, float y, float y_low)
{
    const float highest = 130.0f, lowest = -152.0f; /* powers of 2 that are ∞ and 0 */
    const float infinity = arith_value_f32(ARITH_INFINITY_F32);
    struct arith_pair_f32 log2 = arith_log2_f32(x);
    float high = y * log2.high;
    float low = arith_fma_f32(y, log2.low, arith_fma_f32(y, log2.high, -high));
    float bounded, shifted, r, power, limit;

    low = arith_fma_f32(y_low, log2.high, low);
    bounded = high > highest ? highest : high;
    bounded = bounded < lowest ? lowest : bounded;
    low = bounded == high ? low : 0.0f;
    shifted = bounded + ARITH_SIGNED_WHOLE_F32;
    r = (bounded - (shifted - ARITH_SIGNED_WHOLE_F32)) + low;
    power = arith_scale_f32(1.0f + arith_expm1_core_f32(r * ARITH_LN2_HIGH_F32), shifted);

    limit = (x == 0.0f) == (y > 0.0f) ? 0.0f : infinity;
    power = ((x == 0.0f) | (x == infinity)) ? limit : power;
    power = y == 0.0f ? 1.0f : power;
    return ((x >= 0.0f) & (y == y)) ? power : arith_value_f32(ARITH_NAN_F32);
}

ARITH_FN double arith_power_f64(double x, double y, double y_low)
{
    const double highest = 1026.0, lowest = -1078.0; /* powers of 2 that are ∞ and 0 */
    const double infinity = arith_value_f64(ARITH_INFINITY_F64);
    struct arith_pair_f64 log2 = arith_log2_f64(x);
    double high = y * log2.high;
    double low = arith_fma_f64(y, log2.low, arith_fma_f64(y, log2.high, -high));
    double bounded, shifted, r, power, limit;

    low = arith_fma_f64(y_low, log2.high, low);
    bounded = high > highest ? highest : high;
    bounded = bounded < lowest ? lowest : bounded;
    low = bounded == high ? low : 0.0;
    shifted = bounded + ARITH_SIGNED_WHOLE_F64;
    r = (bounded - (shifted - ARITH_SIGNED_WHOLE_F64)) + low;
    power = arith_scale_f64(1.0 + arith_expm1_core_f64(r * ARITH_LN2_HIGH_F64), shifted);

    limit = (x == 0.0) == (y > 0.0) ? 0.0 : infinity;
    power = ((x == 0.0) | (x == infinity)) ? limit : power;
    power = y == 0.0 ? 1.0 : power;
    return ((x >= 0.0) & (y == y)) ? power : arith_value_f64(ARITH_NAN_F64);
}

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

/* What differs in nothing but the type is written once, for both. Within, `real` is the type, number(x) a
 * literal of the type, twin(name) the function and constant(NAME)
 * the constant of the type.
 *
 * pow: x ≥ 0 to the power of a finite y.
 * pm1, pm2: the Perona–Malik fluxes g(q); pm1_joint, pm2_joint: the same of s = Σ q², one for several
 * channels. react: one reaction after a relaxation, E = reaction and 1 − E = remainder. srgb_decode,
 * srgb_encode: IEC 61966-2-1 on the unit scale, odd, and past 1 by the same power. 1 stays 1. srgb_to_linear,
 * srgb_from_linear, gamma_scaled: the same curves on the scale of the samples, 0 to max. gamma: a power of
 * the magnitude, under the sign. cover: alpha in [0, max] as a fraction of max; NaN counts as 0. uncovered:
 * colour that was multiplied by a cover, which is `separate` where nothing is left to divide by. */
#define ARITH_TWINS(real, number, twin, constant)                                                            \
    ARITH_FN real twin(arith_pow)(real x, real y)                                                            \
    {                                                                                                        \
        return twin(arith_power)(x, y, number(0.0));                                                         \
    }                                                                                                        \
                                                                                                             \
    ARITH_FN real twin(arith_pm1_joint)(real s)                                                              \
    {                                                                                                        \
        return twin(arith_exp)(-s);                                                                          \
    }                                                                                                        \
                                                                                                             \
    ARITH_FN real twin(arith_pm2_joint)(real s)                                                              \
    {                                                                                                        \
        return number(1.0) / (s + number(1.0));                                                              \
    }                                                                                                        \
                                                                                                             \
    ARITH_FN real twin(arith_pm1)(real q)                                                                    \
    {                                                                                                        \
        return twin(arith_pm1_joint)(q * q);                                                                 \
    }                                                                                                        \
                                                                                                             \
    ARITH_FN real twin(arith_pm2)(real q)                                                                    \
    {                                                                                                        \
        return number(1.0) / twin(arith_fma)(q, q, number(1.0));                                             \
    }                                                                                                        \
                                                                                                             \
    ARITH_FN real twin(arith_react)(real u, real reaction, real remainder)                                   \
    {                                                                                                        \
        return twin(arith_fma)(reaction, twin(arith_sin)(u), remainder * u);                                 \
    }                                                                                                        \
                                                                                                             \
    ARITH_FN real twin(arith_srgb_decode)(real v)                                                            \
    {                                                                                                        \
        real m = twin(arith_magnitude)(v);                                                                   \
        real base = twin(arith_fma)(m, constant(ARITH_DECODE_SLOPE), constant(ARITH_DECODE_OFFSET));         \
        real curve = twin(arith_power)(base, constant(ARITH_DECODE_POWER), constant(ARITH_DECODE_REST));     \
                                                                                                             \
        return twin(arith_signed)(m <= number(0.04045) ? m / number(12.92) : curve, v);                      \
    }                                                                                                        \
                                                                                                             \
    ARITH_FN real twin(arith_srgb_encode)(real v)                                                            \
    {                                                                                                        \
        real m = twin(arith_magnitude)(v);                                                                   \
        real root = twin(arith_power)(m, constant(ARITH_ENCODE_POWER), constant(ARITH_ENCODE_REST));         \
        real offset = twin(arith_fma)(constant(ARITH_ENCODE_SCALE_REST), root, number(-0.055));              \
        real curve = twin(arith_fma)(number(1.055), root, offset);                                           \
                                                                                                             \
        return twin(arith_signed)(m <= number(0.0031308) ? m * number(12.92) : curve, v);                    \
    }                                                                                                        \
                                                                                                             \
    ARITH_FN real twin(arith_gamma)(real v, real exponent)                                                   \
    {                                                                                                        \
        return twin(arith_signed)(twin(arith_pow)(twin(arith_magnitude)(v), exponent), v);                   \
    }                                                                                                        \
                                                                                                             \
    ARITH_FN real twin(arith_srgb_to_linear)(real v, real max)                                               \
    {                                                                                                        \
        return twin(arith_srgb_decode)(v / max) * max;                                                       \
    }                                                                                                        \
                                                                                                             \
    ARITH_FN real twin(arith_srgb_from_linear)(real v, real max)                                             \
    {                                                                                                        \
        return twin(arith_srgb_encode)(v / max) * max;                                                       \
    }                                                                                                        \
                                                                                                             \
    ARITH_FN real twin(arith_gamma_scaled)(real v, real max, real exponent)                                  \
    {                                                                                                        \
        return twin(arith_gamma)(v / max, exponent) * max;                                                   \
    }                                                                                                        \
                                                                                                             \
    ARITH_FN real twin(arith_cover)(real alpha, real max)                                                    \
    {                                                                                                        \
        alpha = alpha > number(0.0) ? alpha : number(0.0);                                                   \
        alpha = alpha < max ? alpha : max;                                                                   \
        return alpha / max;                                                                                  \
    }                                                                                                        \
                                                                                                             \
    ARITH_FN real twin(arith_uncovered)(real colour, real separate, real cover)                              \
    {                                                                                                        \
        return cover == number(0.0) ? separate : colour / cover;                                             \
    }

#define ARITH_NUMBER_F32(literal) literal##f
#define ARITH_NUMBER_F64(literal) literal
#define ARITH_NAME_F32(name)      name##_f32
#define ARITH_NAME_F64(name)      name##_f64
#define ARITH_CONSTANT_F32(name)  name##_F32
#define ARITH_CONSTANT_F64(name)  name##_F64
ARITH_TWINS(float, ARITH_NUMBER_F32, ARITH_NAME_F32, ARITH_CONSTANT_F32)
ARITH_TWINS(double, ARITH_NUMBER_F64, ARITH_NAME_F64, ARITH_CONSTANT_F64)
#undef ARITH_TWINS
#undef ARITH_NUMBER_F32
#undef ARITH_NUMBER_F64
#undef ARITH_NAME_F32
#undef ARITH_NAME_F64
#undef ARITH_CONSTANT_F32
#undef ARITH_CONSTANT_F64

/* Stores: to the nearest whole number, half to even, what lies outside to the nearest that the type has, NaN
   to 0. Where a float's own precision cannot hold every value of the type, the way leads through double,
   exactly. */
#define ARITH_STORE_UNSIGNED(name, type, real, highest, whole, bits)                                         \
    ARITH_FN type name(real v)                                                                               \
    {                                                                                                        \
        v = v > 0 ? v : 0; /* NaN, too */                                                                    \
        v = v < (highest) ? v : (highest);                                                                   \
        return (type)bits(v + (whole));                                                                      \
    }

#define ARITH_STORE_SIGNED(name, type, real, lowest, highest, whole, bits)                                   \
    ARITH_FN type name(real v)                                                                               \
    {                                                                                                        \
        v = v == v ? v : 0;                                                                                  \
        v = v > (lowest) ? v : (lowest);                                                                     \
        v = v < (highest) ? v : (highest);                                                                   \
        return (type)bits(v + (whole));                                                                      \
    }

ARITH_STORE_UNSIGNED(arith_store_u8_f32, uint8_t, float, 255.0f, ARITH_WHOLE_F32, arith_bits_f32)
ARITH_STORE_UNSIGNED(arith_store_u16_f32, uint16_t, float, 65535.0f, ARITH_WHOLE_F32, arith_bits_f32)
ARITH_STORE_UNSIGNED(arith_store_u8_f64, uint8_t, double, 255.0, ARITH_WHOLE_F64, arith_bits_f64)
ARITH_STORE_UNSIGNED(arith_store_u16_f64, uint16_t, double, 65535.0, ARITH_WHOLE_F64, arith_bits_f64)
ARITH_STORE_UNSIGNED(arith_store_u32_f64, uint32_t, double, 4294967295.0, ARITH_WHOLE_F64, arith_bits_f64)
ARITH_STORE_SIGNED(arith_store_i8_f32, int8_t, float, -128.0f, 127.0f, ARITH_SIGNED_WHOLE_F32, arith_bits_f32)
ARITH_STORE_SIGNED(arith_store_i16_f32, int16_t, float, -32768.0f, 32767.0f, ARITH_SIGNED_WHOLE_F32,
                   arith_bits_f32)
ARITH_STORE_SIGNED(arith_store_i8_f64, int8_t, double, -128.0, 127.0, ARITH_SIGNED_WHOLE_F64, arith_bits_f64)
ARITH_STORE_SIGNED(arith_store_i16_f64, int16_t, double, -32768.0, 32767.0, ARITH_SIGNED_WHOLE_F64,
                   arith_bits_f64)
ARITH_STORE_SIGNED(arith_store_i32_f64, int32_t, double, -2147483648.0, 2147483647.0, ARITH_SIGNED_WHOLE_F64,
                   arith_bits_f64)
#undef ARITH_STORE_UNSIGNED
#undef ARITH_STORE_SIGNED

ARITH_FN uint32_t arith_store_u32_f32(float v)
{
    return arith_store_u32_f64((double)v);
}

ARITH_FN int32_t arith_store_i32_f32(float v)
{
    return arith_store_i32_f64((double)v);
}

/* Stores to floats: to nearest, and every NaN to the one that is canonical. The choice is made among bits,
   where no compiler may take one NaN for another. */
ARITH_FN float arith_store_f32_f32(float v)
{
    uint32_t bits = arith_bits_f32(v);

    return arith_value_f32((bits & ~ARITH_SIGN_F32) > ARITH_INFINITY_F32 ? ARITH_NAN_F32 : bits);
}

ARITH_FN double arith_store_f64_f64(double v)
{
    uint64_t bits = arith_bits_f64(v);

    return arith_value_f64((bits & ~ARITH_SIGN_F64) > ARITH_INFINITY_F64 ? ARITH_NAN_F64 : bits);
}

ARITH_FN float arith_store_f32_f64(double v)
{
    return arith_store_f32_f32((float)v);
}

ARITH_FN double arith_store_f64_f32(float v)
{
    return arith_store_f64_f64((double)v);
}

/* v from a range into another, for --out-range: both ends of the one become those of the other exactly. */
ARITH_FN double arith_stretch_f64(double v, double low, double span, double least, double width)
{
    return arith_fma_f64((v - low) / span, width, least);
}

/* NaN stays. */
ARITH_FN double arith_clamp_f64(double v, double least, double greatest)
{
    v = v < least ? least : v;
    return v > greatest ? greatest : v;
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

/* The order of sums: the rows of a channel are cut into leaves of so many samples, the last padded with
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
