/* The arithmetic contract: accuracy, special values, and the bits themselves. */
#include "model/arith.h"
#include "assertions.h"

#include <stdlib.h>

/* Float bit patterns are walked with a prime stride, so that every sign, exponent and fraction is met. */
#define STRIDE_F32 UINT32_C(4099)

/* Generous: a CPU without fma computes it step by step. */
#define TIMEOUT_SECONDS 300

/* Errors in units in the last place of the result, as measured over every float, and over 10^8 doubles. */
#define EXP_ULPS_F32  1.03
#define EXP_ULPS_F64  1.02
#define TANH_ULPS_F32 1.8
#define TANH_ULPS_F64 2.0
#define SIN_ULPS_F32  2.0
#define SIN_ULPS_F64  2.2
#define POW_ULPS_F32  0.66
#define POW_ULPS_F64  0.64
#define LONG_POW_ULPS 0.79 /* of exponents from -10 to 10, over all x whose power is no denormal number */
#define LN_ULPS_F32   0.55
#define LN_ULPS_F64   0.54
#define SRGB_ULPS_F32 4.0

static float exp_f32(float x)
{
    return arith_exp_f32(x);
}

static double exp_f64(double x)
{
    return arith_exp_f64(x);
}

static float tanh_f32(float x)
{
    return arith_tanh_f32(x);
}

static double tanh_f64(double x)
{
    return arith_tanh_f64(x);
}

static float sin_f32(float x)
{
    return arith_sin_f32(x);
}

static double sin_f64(double x)
{
    return arith_sin_f64(x);
}

static float ln_f32(float x)
{
    return arith_ln_f32(x);
}

static double ln_f64(double x)
{
    return arith_ln_f64(x);
}

/* A deterministic sequence of 64-bit numbers (SplitMix64). */
static uint64_t next(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* In [low, high). One call to an expression, or the compiler chooses which comes first. */
static double between(uint64_t *state, double low, double high)
{
    return low + (high - low) * ((double)(next(state) >> 11) * 0x1p-53);
}

/* Of either sign, and of a scale from 2^low to 2^high. */
static double scattered(uint64_t *state, int low, int high)
{
    double value = between(state, -1.0, 1.0);

    return ldexp(value, low + (int)(next(state) % (uint64_t)(high - low)));
}

static bool same_f32(float a, float b)
{
    return arith_bits_f32(arith_store_f32_f32(a)) == arith_bits_f32(arith_store_f32_f32(b));
}

static bool same_f64(double a, double b)
{
    return arith_bits_f64(arith_store_f64_f64(a)) == arith_bits_f64(arith_store_f64_f64(b));
}

/* The distance of value from what was expected. Infinity counts as the power of two past the largest number;
   NaN in one alone, and a wrong sign even of zero, are infinitely far. */
static double error_f32(float value, double expected)
{
    const double past = 0x1p128;
    double reached = isinf(value) ? copysign(past, (double)value) : (double)value;
    int exponent;

    if (isnan(value) || isnan(expected))
        return isnan(value) && isnan(expected) ? 0 : (double)INFINITY;
    if (!signbit(value) != !signbit(expected))
        return (double)INFINITY;
    if (fabs(expected) > past)
        expected = copysign(past, expected);
    frexp(fmax(fmin(fabs(expected), (double)FLT_MAX), (double)FLT_MIN), &exponent);
    return ldexp(fabs(reached - expected), FLT_MANT_DIG - exponent);
}

static void accurate_f32(float (*function)(float), double (*exact)(double), float x, double bound)
{
    double error = error_f32(function(x), exact((double)x));

    if (!(error <= bound))
        ck_abort_msg("%g ulp at %a: %a", error, (double)x, (double)function(x));
}

/* Some floats to either side of x. */
static void accurate_around_f32(float (*function)(float), double (*exact)(double), float x, double bound)
{
    const uint32_t near = 500;

    for (uint32_t bits = arith_bits_f32(x) - near; bits != arith_bits_f32(x) + near; bits++) {
        accurate_f32(function, exact, arith_value_f32(bits), bound);
        accurate_f32(function, exact, -arith_value_f32(bits), bound);
    }
}

static void accurate_everywhere_f32(float (*function)(float), double (*exact)(double), double bound)
{
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STRIDE_F32)
        accurate_f32(function, exact, arith_value_f32((uint32_t)bits), bound);
    for (int exponent = -140; exponent < 128; exponent++)
        accurate_f32(function, exact, ldexpf(1.0f, exponent), bound);
    for (int half = 1; half < 400; half++) {
        accurate_around_f32(function, exact, (float)half, bound);
        accurate_around_f32(function, exact, (float)(half * 0.34657359027997265), bound); /* ln(2)/2 */
        accurate_around_f32(function, exact, (float)(half * 1.5707963267948966), bound);  /* π/2 */
    }
}

/* The sine, where it is defined here. */
static double limited_sin(double x)
{
    return fabs(x) <= ARITH_SIN_LIMIT ? sin(x) : (double)NAN;
}

START_TEST(ln_is_accurate_f32)
{
    accurate_everywhere_f32(ln_f32, log, LN_ULPS_F32);
    accurate_around_f32(ln_f32, log, 1.0f, LN_ULPS_F32);
    accurate_around_f32(ln_f32, log, 0x1.6a09e6p-1f, LN_ULPS_F32); /* where the power of 2 changes */
    accurate_around_f32(ln_f32, log, FLT_MIN, LN_ULPS_F32);
}
END_TEST

START_TEST(exp_is_accurate_f32)
{
    accurate_everywhere_f32(exp_f32, exp, EXP_ULPS_F32);
}
END_TEST

START_TEST(tanh_is_accurate_f32)
{
    accurate_everywhere_f32(tanh_f32, tanh, TANH_ULPS_F32);
}
END_TEST

START_TEST(sin_is_accurate_f32)
{
    uint64_t state = 1;

    accurate_everywhere_f32(sin_f32, limited_sin, SIN_ULPS_F32);
    for (int i = 0; i < 300000; i++) {
        double half_turns = floor(between(&state, 0.0, 667543.0));
        accurate_f32(sin_f32, limited_sin, (float)(half_turns * 1.5707963267948966), SIN_ULPS_F32);
        accurate_f32(sin_f32, limited_sin, (float)between(&state, -0x1p20, 0x1p20), SIN_ULPS_F32);
    }
    accurate_around_f32(sin_f32, limited_sin, (float)ARITH_SIN_LIMIT, SIN_ULPS_F32);
}
END_TEST

START_TEST(pow_is_accurate_f32)
{
    uint64_t state = 2;

    for (int i = 0; i < 1000000; i++) {
        float x = i % 2 ? (float)between(&state, 0x1p-20, 4.0) : (float)exp2(between(&state, -20.0, 2.0));
        float y = (float)between(&state, 0.2, 5.0);
        double error = error_f32(arith_pow_f32(x, y), pow((double)x, (double)y));
        if (!(error <= POW_ULPS_F32))
            ck_abort_msg("%g ulp at %a to the %a", error, (double)x, (double)y);
    }
}
END_TEST

/* Exponents that people take, and some that are long. */
static const double exponents[] = {-10.0, -2.0, -1.0, -0.5, 0.2, 1.0 / 2.2, 0.5, 2.2, 3.0, 8.0, 10.0};

/* An x whose y-th power is about 2^n with |n| <= most. */
static double base_of(uint64_t *state, double most, double y)
{
    return exp2(between(state, -most, most) / fmax(1.0, fabs(y)));
}

START_TEST(long_pow_is_accurate_f32)
{
    float y = (float)exponents[_i];
    uint64_t state = 9;

    for (int i = 0; i < 200000; i++) {
        float x = (float)base_of(&state, 125.0, (double)y);
        double error = error_f32(arith_pow_f32(x, y), pow((double)x, (double)y));
        if (!(error <= LONG_POW_ULPS))
            ck_abort_msg("%g ulp at %a to the %a", error, (double)x, (double)y);
    }
}
END_TEST

#if LDBL_MANT_DIG >= 64
/* As error_f32, for a double measured with something longer. */
static double error_f64(double value, long double expected)
{
    const long double past = 0x1p1024L;
    long double reached = isinf(value) ? copysignl(past, (long double)value) : (long double)value;
    int exponent;

    if (isnan(value) || isnan(expected))
        return isnan(value) && isnan(expected) ? 0 : (double)INFINITY;
    if (!signbit(value) != !signbit(expected))
        return (double)INFINITY;
    if (fabsl(expected) > past)
        expected = copysignl(past, expected);
    frexpl(fmaxl(fminl(fabsl(expected), (long double)DBL_MAX), (long double)DBL_MIN), &exponent);
    return (double)ldexpl(fabsl(reached - expected), DBL_MANT_DIG - exponent);
}

static void accurate_f64(double (*function)(double), long double (*exact)(long double), double x,
                         double bound)
{
    double error = error_f64(function(x), exact((long double)x));

    if (!(error <= bound))
        ck_abort_msg("%g ulp at %a: %a", error, x, function(x));
}

/* Bit patterns of every kind; a range; and every scale of nearness to the multiples of a step. */
static void accurate_everywhere_f64(double (*function)(double), long double (*exact)(long double),
                                    double range, double step, double bound)
{
    uint64_t state = 3;

    for (int i = 0; i < 250000; i++) {
        double multiple = step * floor(between(&state, -range / step, range / step));
        double nearness = scattered(&state, -60, 0);
        accurate_f64(function, exact, arith_value_f64(next(&state)), bound);
        accurate_f64(function, exact, between(&state, -range, range), bound);
        accurate_f64(function, exact, multiple * (1.0 + nearness), bound);
        accurate_f64(function, exact, nearness, bound);
    }
}

static long double limited_sinl(long double x)
{
    return fabsl(x) <= ARITH_SIN_LIMIT ? sinl(x) : (long double)NAN;
}

START_TEST(ln_is_accurate_f64)
{
    uint64_t state = 10;

    accurate_everywhere_f64(ln_f64, logl, 4.0, 0.35355339059327376, LN_ULPS_F64);
    for (int i = 0; i < 250000; i++)
        accurate_f64(ln_f64, logl, 1.0 + scattered(&state, -52, 0), LN_ULPS_F64);
}
END_TEST

START_TEST(long_pow_is_accurate_f64)
{
    double y = exponents[_i];
    uint64_t state = 11;

    for (int i = 0; i < 100000; i++) {
        double x = base_of(&state, 1020.0, y);
        double error = error_f64(arith_pow_f64(x, y), powl((long double)x, (long double)y));
        if (!(error <= LONG_POW_ULPS))
            ck_abort_msg("%g ulp at %a to the %a", error, x, y);
    }
}
END_TEST

START_TEST(exp_is_accurate_f64)
{
    accurate_everywhere_f64(exp_f64, expl, 750.0, 0.34657359027997265, EXP_ULPS_F64);
}
END_TEST

START_TEST(tanh_is_accurate_f64)
{
    accurate_everywhere_f64(tanh_f64, tanhl, 22.0, 0.17328679513998632, TANH_ULPS_F64);
}
END_TEST

START_TEST(sin_is_accurate_f64)
{
    accurate_everywhere_f64(sin_f64, limited_sinl, 0x1p20, 1.5707963267948966, SIN_ULPS_F64);
    accurate_everywhere_f64(sin_f64, limited_sinl, 10.0, 1.5707963267948966, SIN_ULPS_F64);
}
END_TEST

START_TEST(pow_is_accurate_f64)
{
    uint64_t state = 4;

    for (int i = 0; i < 500000; i++) {
        double x = i % 2 ? between(&state, 0x1p-20, 4.0) : exp2(between(&state, -20.0, 2.0));
        double y = between(&state, 0.2, 5.0);
        double error = error_f64(arith_pow_f64(x, y), powl((long double)x, (long double)y));
        if (!(error <= POW_ULPS_F64))
            ck_abort_msg("%g ulp at %a to the %a", error, x, y);
    }
}
END_TEST
#endif

START_TEST(fma_rounds_once)
{
    /* The products are ties, which the addend breaks upwards; a sum rounded twice loses it. */
    ck_assert(arith_fma_f32(1.0f + 0x1p-12f, 1.0f + 0x1p-12f, 0x1p-60f) == 1.0f + 0x1p-11f + 0x1p-23f);
    ck_assert(arith_fma_f64(1.0 + 0x1p-27, 1.0 + 0x1p-26, 0x1p-120) == 1.0 + 0x1p-26 + 0x1p-27 + 0x1p-52);
    ck_assert(arith_fma_f32(0x1p-100f, 0x1p-49f, 0.0f) == 0x1p-149f);
}
END_TEST

START_TEST(exp_has_special_values)
{
    ck_assert(same_f32(arith_exp_f32(0.0f), 1.0f) && same_f32(arith_exp_f32(-0.0f), 1.0f));
    ck_assert(same_f64(arith_exp_f64(0.0), 1.0) && same_f64(arith_exp_f64(-0.0), 1.0));
    ck_assert(same_f32(arith_exp_f32(INFINITY), INFINITY) && same_f32(arith_exp_f32(-INFINITY), 0.0f));
    ck_assert(same_f64(arith_exp_f64((double)INFINITY), (double)INFINITY));
    ck_assert(same_f64(arith_exp_f64(-(double)INFINITY), 0.0));
    ck_assert(isnan(arith_exp_f32(NAN)) && isnan(arith_exp_f64((double)NAN)));
    ck_assert(isnan(arith_exp_f32(-NAN)) && isnan(arith_exp_f64(-(double)NAN)));
    ck_assert(same_f32(arith_exp_f32(FLT_MAX), INFINITY) && same_f32(arith_exp_f32(-FLT_MAX), 0.0f));
    ck_assert(same_f64(arith_exp_f64(DBL_MAX), (double)INFINITY) && same_f64(arith_exp_f64(-DBL_MAX), 0.0));

    /* The last argument of a finite power and the first without; the last that is more than 0. */
    ck_assert(!isinf(arith_exp_f32(0x1.62e42ep6f)) && isinf(arith_exp_f32(0x1.62e430p6f)));
    ck_assert(!isinf(arith_exp_f64(0x1.62e42fefa39efp9)) && isinf(arith_exp_f64(0x1.62e42fefa39f0p9)));
    ck_assert(same_f32(arith_exp_f32(-0x1.9fe368p6f), 0x1p-149f) && arith_exp_f32(-0x1.9fe36ap6f) == 0.0f);
    ck_assert(arith_exp_f64(-745.0) == 0x1p-1074 && arith_exp_f64(-745.2) == 0.0);
}
END_TEST

START_TEST(tanh_has_special_values)
{
    ck_assert(same_f32(arith_tanh_f32(0.0f), 0.0f) && same_f32(arith_tanh_f32(-0.0f), -0.0f));
    ck_assert(same_f64(arith_tanh_f64(0.0), 0.0) && same_f64(arith_tanh_f64(-0.0), -0.0));
    ck_assert(same_f32(arith_tanh_f32(INFINITY), 1.0f) && same_f32(arith_tanh_f32(-INFINITY), -1.0f));
    ck_assert(same_f64(arith_tanh_f64((double)INFINITY), 1.0));
    ck_assert(same_f64(arith_tanh_f64(-(double)INFINITY), -1.0));
    ck_assert(isnan(arith_tanh_f32(NAN)) && isnan(arith_tanh_f64((double)NAN)));
    ck_assert(same_f32(arith_tanh_f32(0x1p-149f), 0x1p-149f));
    ck_assert(same_f64(arith_tanh_f64(-0x1p-1074), -0x1p-1074));
    ck_assert(same_f32(arith_tanh_f32(FLT_MAX), 1.0f) && same_f64(arith_tanh_f64(-DBL_MAX), -1.0));

    /* Odd, and never past 1. */
    for (uint32_t bits = 0; bits < ARITH_INFINITY_F32; bits += STRIDE_F32) {
        float x = arith_value_f32(bits);
        bool odd = same_f32(arith_tanh_f32(-x), -arith_tanh_f32(x));
        if (!(odd && arith_tanh_f32(x) <= 1.0f && arith_tanh_f64((double)x) <= 1.0))
            ck_abort_msg("tanh at %a", (double)x);
    }
}
END_TEST

START_TEST(sin_has_special_values)
{
    const float limit_f32 = ARITH_SIN_LIMIT;
    const double limit_f64 = ARITH_SIN_LIMIT;

    ck_assert(same_f32(arith_sin_f32(0.0f), 0.0f) && same_f32(arith_sin_f32(-0.0f), -0.0f));
    ck_assert(same_f64(arith_sin_f64(0.0), 0.0) && same_f64(arith_sin_f64(-0.0), -0.0));
    ck_assert(isnan(arith_sin_f32(INFINITY)) && isnan(arith_sin_f32(-INFINITY)) && isnan(arith_sin_f32(NAN)));
    ck_assert(isnan(arith_sin_f64((double)INFINITY)) && isnan(arith_sin_f64(-(double)INFINITY)));
    ck_assert(isnan(arith_sin_f64((double)NAN)));
    ck_assert(same_f32(arith_sin_f32(-0x1p-149f), -0x1p-149f));
    ck_assert(same_f64(arith_sin_f64(0x1p-1074), 0x1p-1074));
    ck_assert(!isnan(arith_sin_f32(limit_f32)) && isnan(arith_sin_f32(nextafterf(limit_f32, INFINITY))));
    ck_assert(!isnan(arith_sin_f32(-limit_f32)) && isnan(arith_sin_f32(nextafterf(-limit_f32, -INFINITY))));
    ck_assert(!isnan(arith_sin_f64(limit_f64)) && isnan(arith_sin_f64(nextafter(limit_f64, DBL_MAX))));
    ck_assert(!isnan(arith_sin_f64(-limit_f64)) && isnan(arith_sin_f64(nextafter(-limit_f64, -DBL_MAX))));
    ck_assert(isnan(arith_sin_f32(FLT_MAX)) && isnan(arith_sin_f64(-DBL_MAX)));
}
END_TEST

START_TEST(pow_has_special_values)
{
    const float xs[] = {0.0f, 0x1p-149f, 0x1.8p-140f, FLT_MIN,       0x1.6a09e6p-1f, 0x1.6a09e8p-1f, 1.0f,
                        0.5f, 2.0f,      10.0f,       0x1.6a09e6p0f, FLT_MAX,        INFINITY};
    const float ys[] = {-300.0f, -1.0f, -0.5f, -FLT_MIN, 0.0f, 0.1f, 0.5f, 1.0f, 2.0f, 64.0f, FLT_MAX};

    for (size_t i = 0; i < sizeof xs / sizeof *xs; i++)
        for (size_t j = 0; j < sizeof ys / sizeof *ys; j++) {
            double x = (double)xs[i], y = (double)ys[j];
            double power_f64 = arith_pow_f64(x, y);
            /* Far out the argument of exp2 is long: its ulps are more. */
            ck_assert(error_f32(arith_pow_f32(xs[i], ys[j]), pow(x, y)) <= 2.0);
            ck_assert(isinf(power_f64) == isinf(pow(x, y)) && !(fabs(power_f64 / pow(x, y) - 1.0) > 1e-14));
        }
    for (int exponent = -149; exponent < 128; exponent++) {
        ck_assert(same_f32(arith_pow_f32(ldexpf(1.0f, exponent), 1.0f), ldexpf(1.0f, exponent)));
        ck_assert(same_f64(arith_pow_f64(ldexp(1.0, exponent), 0.5), sqrt(ldexp(1.0, exponent))) ||
                  exponent % 2 != 0);
    }
    ck_assert(same_f32(arith_pow_f32(-0.0f, 2.0f), 0.0f) && same_f64(arith_pow_f64(-0.0, 2.0), 0.0));
    ck_assert(isnan(arith_pow_f32(-1.0f, 2.0f)) && isnan(arith_pow_f64(-1.0, 2.0)));
    ck_assert(isnan(arith_pow_f32(-INFINITY, 2.0f)) && isnan(arith_pow_f64(-(double)INFINITY, 2.0)));
    ck_assert(isnan(arith_pow_f32(NAN, 2.0f)) && isnan(arith_pow_f64((double)NAN, 2.0)));
    ck_assert(isnan(arith_pow_f32(2.0f, NAN)) && isnan(arith_pow_f64(0.0, (double)NAN)));
}
END_TEST

/* As C has it, but NaN to the 0 is NaN, and -infinity has only whole powers. */
static double signed_power(double x, double y)
{
    return isnan(x) || (isinf(x) && x < 0.0 && floor(y) != y) ? (double)NAN : pow(x, y);
}

static double parity(double y)
{
    return floor(y) != y ? (double)NAN : fmod(y, 2.0) != 0.0 ? -1.0 : 1.0;
}

static float signed_pow_f32(float x, float y)
{
    return arith_signed_pow_f32(x, y, (float)parity((double)y));
}

static double signed_pow_f64(double x, double y)
{
    return arith_signed_pow_f64(x, y, parity(y));
}

START_TEST(signed_pow_has_special_values)
{
    const double xs[] = {
        0.0, -0.0, 1.0, -1.0, -2.0, 3.0, -0.5, 1e30, (double)INFINITY, -(double)INFINITY, (double)NAN};
    const double ys[] = {0.0,  1.0,        -1.0,        2.0,       -2.0, 3.0,   0.5,
                         -0.5, 16777215.0, -16777216.0, 8388607.5, 1e20, -1e20, 2.2};

    for (size_t i = 0; i < sizeof xs / sizeof *xs; i++)
        for (size_t j = 0; j < sizeof ys / sizeof *ys; j++) {
            double x = xs[i], y = ys[j];
            double whole = signed_power((double)(float)x, (double)(float)y), longer = signed_power(x, y);
            if (!(error_f32(signed_pow_f32((float)x, (float)y), whole) <= LONG_POW_ULPS) ||
                !(same_f64(signed_pow_f64(x, y), longer) ||
                  fabs(signed_pow_f64(x, y) / longer - 1.0) < 1e-14))
                ck_abort_msg("%a to the %a", x, y);
        }
}
END_TEST

/* Whatever the work type holds exactly comes out so. */
START_TEST(powers_of_whole_numbers_are_exact)
{
    uint64_t state = 12;

    for (int i = -4096; i <= 4096; i++) {
        double x = (double)i;
        ck_assert(signed_pow_f32((float)i, 2.0f) == (float)(i * i));
        ck_assert(abs(i) > 256 || signed_pow_f32((float)i, 3.0f) == (float)(i * i * i));
        ck_assert(signed_pow_f32((float)(i * i), 0.5f) == (float)abs(i));
        ck_assert(signed_pow_f64(x, 4.0) == x * x * x * x);
    }
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = next(&state);
        double x = arith_value_f64(bits);
        float x_f32 = arith_value_f32((uint32_t)bits);
        ck_assert(same_f64(signed_pow_f64(x, 1.0), x) && same_f32(signed_pow_f32(x_f32, 1.0f), x_f32));
    }
}
END_TEST

START_TEST(ln_has_special_values)
{
    ck_assert(same_f32(arith_ln_f32(1.0f), 0.0f) && same_f64(arith_ln_f64(1.0), 0.0));
    ck_assert(same_f32(arith_ln_f32(0.0f), -INFINITY) && same_f32(arith_ln_f32(-0.0f), -INFINITY));
    ck_assert(same_f64(arith_ln_f64(-0.0), -(double)INFINITY));
    ck_assert(same_f32(arith_ln_f32(INFINITY), INFINITY));
    ck_assert(same_f64(arith_ln_f64((double)INFINITY), (double)INFINITY));
    ck_assert(isnan(arith_ln_f32(-1.0f)) && isnan(arith_ln_f32(-INFINITY)) && isnan(arith_ln_f32(NAN)));
    ck_assert(isnan(arith_ln_f64(-0x1p-1074)) && isnan(arith_ln_f64((double)NAN)));
    ck_assert(same_f32(arith_ln_f32(0x1p-149f), -0x1.9d1dap6f));
    ck_assert(same_f64(arith_ln_f64(0x1p-1074), -0x1.74385446d71c3p9));
}
END_TEST

/* exp(−s), and 0 where s is large. */
static float decayed_f32(float s)
{
    return s > 80.0f ? 0.0f : arith_exp_f32(-s);
}

static double decayed_f64(double s)
{
    return s > 700.0 ? 0.0 : arith_exp_f64(-s);
}

START_TEST(fluxes_follow_their_formulas)
{
    uint64_t state = 5;

    for (int i = 0; i < 10000; i++) {
        double q = between(&state, -28.0, 28.0), reaction = between(&state, 0.0, 1.0);
        float q_f32 = (float)q, reaction_f32 = (float)reaction;
        ck_assert(same_f64(arith_pm1_f64(q), decayed_f64(q * q)));
        ck_assert(same_f64(arith_pm2_f64(q), 1.0 / fma(q, q, 1.0)));
        ck_assert(same_f64(arith_pm1_joint_f64(q * q), arith_pm1_f64(q)));
        ck_assert(same_f64(arith_pm2_joint_f64(q * q), 1.0 / (q * q + 1.0)));
        ck_assert(same_f64(arith_react_f64(q, reaction, 1.0 - reaction),
                           fma(reaction, arith_sin_f64(q), (1.0 - reaction) * q)));
        ck_assert(same_f32(arith_pm1_f32(q_f32), decayed_f32(q_f32 * q_f32)));
        ck_assert(same_f32(arith_pm2_f32(q_f32), 1.0f / fmaf(q_f32, q_f32, 1.0f)));
        ck_assert(same_f32(arith_pm1_joint_f32(q_f32 * q_f32), arith_pm1_f32(q_f32)));
        ck_assert(same_f32(arith_pm2_joint_f32(q_f32 * q_f32), 1.0f / (q_f32 * q_f32 + 1.0f)));
        ck_assert(same_f32(arith_react_f32(q_f32, reaction_f32, 1.0f - reaction_f32),
                           fmaf(reaction_f32, arith_sin_f32(q_f32), (1.0f - reaction_f32) * q_f32)));
    }
    ck_assert(arith_pm1_f32(0.0f) == 1.0f && arith_pm2_f32(0.0f) == 1.0f);
    ck_assert(arith_pm1_f32(INFINITY) == 0.0f && arith_pm2_f32(INFINITY) == 0.0f);
    ck_assert(arith_pm1_f64((double)INFINITY) == 0.0 && arith_pm2_f64((double)INFINITY) == 0.0);
    ck_assert(isnan(arith_pm1_f32(NAN)) && isnan(arith_pm2_f32(NAN)));
    ck_assert(isnan(arith_pm1_f64(-(double)NAN)) && isnan(arith_pm2_f64(-(double)NAN)));
    ck_assert(arith_pm1_joint_f32(80.0f) > 0.0f && same_f32(arith_pm1_joint_f32(80.00001f), 0.0f));
    ck_assert(arith_pm1_joint_f64(700.0) > 0.0 && same_f64(arith_pm1_joint_f64(700.00001), 0.0));
    ck_assert(same_f32(arith_pm1_joint_f32(FLT_MAX), 0.0f) && same_f64(arith_pm1_joint_f64(DBL_MAX), 0.0));
}
END_TEST

static double exact_decode(double v)
{
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double exact_encode(double v)
{
    return v <= 0.0031308 ? v * 12.92 : 1.055 * pow(v, 1.0 / 2.4) - 0.055;
}

/* Within the bound, at −v the opposite, and in f64 as good as the C library's own pow. */
static bool follows(float f32, float opposite_f32, double f64, double exact)
{
    return error_f32(f32, exact) <= SRGB_ULPS_F32 && same_f32(opposite_f32, -f32) &&
           fabs(f64 - exact) <= 8 * DBL_EPSILON * exact;
}

START_TEST(srgb_follows_the_curve)
{
    for (int i = 0; i <= 400000; i++) {
        float v = (float)i / 100000.0f; /* past 1, too */
        if (!follows(arith_srgb_decode_f32(v), arith_srgb_decode_f32(-v), arith_srgb_decode_f64((double)v),
                     exact_decode((double)v)))
            ck_abort_msg("decoding %a", (double)v);
        if (!follows(arith_srgb_encode_f32(v), arith_srgb_encode_f32(-v), arith_srgb_encode_f64((double)v),
                     exact_encode((double)v)))
            ck_abort_msg("encoding %a", (double)v);
    }
    ck_assert(arith_srgb_decode_f32(1.0f) == 1.0f && arith_srgb_decode_f64(1.0) == 1.0);
    ck_assert(arith_srgb_encode_f32(1.0f) == 1.0f && arith_srgb_encode_f64(1.0) == 1.0);
    ck_assert(isinf(arith_srgb_decode_f32(INFINITY)) && isinf(arith_srgb_encode_f32(-INFINITY)));
    ck_assert(isnan(arith_srgb_decode_f32(NAN)) && isnan(arith_srgb_encode_f32(NAN)));
}
END_TEST

START_TEST(srgb_and_gamma_return_every_value)
{
    const float gammas[] = {2.2f, 1.8f, 1.0f / 0.45455f};

    for (int max = 255; max <= 65535; max += 65535 - 255)
        for (int v = 0; v <= max; v++) {
            float unit = (float)v / (float)max;
            double unit_f64 = (double)v / max;
            float back = arith_srgb_encode_f32(arith_srgb_decode_f32(unit));
            double back_f64 = arith_srgb_encode_f64(arith_srgb_decode_f64(unit_f64));
            ck_assert_int_eq(arith_store_u16_f32(back * (float)max), v);
            ck_assert_int_eq(arith_store_u16_f64(back_f64 * max), v);
            for (size_t i = 0; i < sizeof gammas / sizeof *gammas; i++) {
                back = arith_gamma_f32(arith_gamma_f32(unit, gammas[i]), 1.0f / gammas[i]);
                ck_assert_int_eq(arith_store_u16_f32(back * (float)max), v);
            }
        }
    ck_assert(same_f32(arith_gamma_f32(-0.25f, 0.5f), -0.5f) && same_f64(arith_gamma_f64(-0.25, 0.5), -0.5));
    ck_assert(same_f32(arith_gamma_f32(-0.0f, 2.2f), -0.0f) && isnan(arith_gamma_f32(NAN, 2.2f)));
}
END_TEST

START_TEST(colour_is_divided_by_its_cover)
{
    ck_assert(same_f32(arith_uncovered_f32(3.0f, 7.0f, 0.25f), 12.0f));
    ck_assert(same_f32(arith_uncovered_f32(3.0f, 7.0f, 0.0f), 7.0f));
    ck_assert(same_f64(arith_uncovered_f64(3.0, 7.0, 0.25), 12.0));
    ck_assert(same_f64(arith_uncovered_f64(3.0, 7.0, 0.0), 7.0));
}
END_TEST

START_TEST(cover_is_a_clamped_fraction)
{
    for (int alpha = 0; alpha <= 255; alpha++)
        ck_assert(arith_cover_f32((float)alpha, 255.0f) == (float)alpha / 255.0f);
    ck_assert(same_f32(arith_cover_f32(-3.0f, 255.0f), 0.0f) && arith_cover_f32(300.0f, 255.0f) == 1.0f);
    ck_assert(same_f32(arith_cover_f32(NAN, 255.0f), 0.0f) && same_f32(arith_cover_f32(-0.0f, 255.0f), 0.0f));
    ck_assert(arith_cover_f32(INFINITY, 255.0f) == 1.0f && arith_cover_f32(-INFINITY, 255.0f) == 0.0f);
    ck_assert(same_f64(arith_cover_f64((double)NAN, 65535.0), 0.0) && arith_cover_f64(7e4, 65535.0) == 1.0);
    ck_assert(arith_cover_f64(1.0, 65535.0) == 1.0 / 65535.0);
}
END_TEST

/* The indices of one period of a rule that repeats; returns how many. */
static int64_t edge_period(enum edge_rule rule, int64_t n, int64_t *indices)
{
    int64_t period = 0;

    for (int64_t i = 0; i < n; i++)
        indices[period++] = i;
    if (rule == EDGE_REFLECT)
        for (int64_t i = n - 1; i >= 0; i--)
            indices[period++] = i;
    if (rule == EDGE_MIRROR)
        for (int64_t i = n - 2; i >= 1; i--)
            indices[period++] = i;
    return period;
}

static int64_t naive_edge_index(enum edge_rule rule, int64_t i, int64_t n)
{
    int64_t indices[16], period, distance;

    if (rule == EDGE_CONSTANT || rule == EDGE_HOLD)
        return i >= 0 && i < n ? i : -1;
    if (rule == EDGE_NEAREST)
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    period = edge_period(rule, n, indices);
    distance = i % period;
    return indices[distance < 0 ? distance + period : distance];
}

START_TEST(edge_indices_follow_the_rules)
{
    const int64_t far = INT64_C(1) << 40;

    for (int rule = 0; rule < EDGE_RULES; rule++)
        for (int64_t n = 1; n <= 8; n++) {
            enum edge_rule edge = (enum edge_rule)rule;
            for (int64_t i = -40; i <= 40; i++) {
                ck_assert_int_eq(arith_edge_index(edge, i, n), naive_edge_index(edge, i, n));
                ck_assert_int_eq(arith_edge_index(edge, i + far, n), naive_edge_index(edge, i + far, n));
                ck_assert_int_eq(arith_edge_index(edge, i - far, n), naive_edge_index(edge, i - far, n));
            }
        }
    ck_assert_int_eq(arith_edge_index(EDGE_REFLECT, far, far), far - 1);
    ck_assert_int_eq(arith_edge_index(EDGE_MIRROR, far, far), far - 2);
    ck_assert_int_eq(arith_edge_index(EDGE_WRAP, far, far), 0);
    ck_assert_int_eq(arith_edge_index(EDGE_REFLECT, -far, far), far - 1);
}
END_TEST

/* What an integer of that range should hold: the definition, in the most obvious words. */
static int64_t naive_store(double v, int64_t lowest, int64_t highest)
{
    double below = floor(v), whole;

    if (isnan(v))
        return 0;
    if (v <= (double)lowest)
        return lowest;
    if (v >= (double)highest)
        return highest;
    whole = v - below < 0.5           ? below
            : v - below > 0.5         ? below + 1
            : fmod(below, 2.0) == 0.0 ? below
                                      : below + 1;
    return (int64_t)whole;
}

static void stored(double v, int64_t value, int64_t lowest, int64_t highest)
{
    if (value != naive_store(v, lowest, highest))
        ck_abort_msg("%a became %lld", v, (long long)value);
}

static void stores_agree_f64(double v)
{
    stored(v, arith_store_u8_f64(v), 0, UINT8_MAX);
    stored(v, arith_store_i8_f64(v), INT8_MIN, INT8_MAX);
    stored(v, arith_store_u16_f64(v), 0, UINT16_MAX);
    stored(v, arith_store_i16_f64(v), INT16_MIN, INT16_MAX);
    stored(v, arith_store_u32_f64(v), 0, UINT32_MAX);
    stored(v, arith_store_i32_f64(v), INT32_MIN, INT32_MAX);
}

static void stores_agree_f32(float v)
{
    stored((double)v, arith_store_u8_f32(v), 0, UINT8_MAX);
    stored((double)v, arith_store_i8_f32(v), INT8_MIN, INT8_MAX);
    stored((double)v, arith_store_u16_f32(v), 0, UINT16_MAX);
    stored((double)v, arith_store_i16_f32(v), INT16_MIN, INT16_MAX);
    stored((double)v, arith_store_u32_f32(v), 0, UINT32_MAX);
    stored((double)v, arith_store_i32_f32(v), INT32_MIN, INT32_MAX);
    stores_agree_f64((double)v);
}

START_TEST(integer_stores_round_and_saturate)
{
    const double bounds[] = {0.0,     127.0,   -128.0,       255.0,         32767.0,     -32768.0,
                             65535.0, 8388608, 2147483647.0, -2147483648.0, 4294967295.0};
    uint64_t state = 6;

    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        for (int quarter = -40; quarter <= 40; quarter++) {
            double v = bounds[i] + quarter * 0.25;
            stores_agree_f64(v);
            stores_agree_f64(nextafter(v, -DBL_MAX));
            stores_agree_f64(nextafter(v, DBL_MAX));
            stores_agree_f32((float)v);
            stores_agree_f32(nextafterf((float)v, -INFINITY));
            stores_agree_f32(nextafterf((float)v, INFINITY));
        }
    for (int i = 0; i < 20000; i++) {
        stores_agree_f64(scattered(&state, 0, 40));
        stores_agree_f32(arith_value_f32((uint32_t)next(&state)));
        stores_agree_f64(arith_value_f64(next(&state)));
        stores_agree_f32(0.5f * (float)(i - 10000)); /* ties */
    }
    stores_agree_f32(NAN);
    stores_agree_f32(-NAN);
    stores_agree_f32(INFINITY);
    stores_agree_f32(-INFINITY);
    stores_agree_f32(0x1p-149f);
    stores_agree_f32(-0.0f);
    stores_agree_f32(FLT_MAX);
    stores_agree_f64(-0x1p-1074);
    stores_agree_f64(-DBL_MAX);
}
END_TEST

START_TEST(float_stores_have_one_nan)
{
    const uint32_t nans_f32[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff};
    const float kept[] = {0.0f, -0.0f, 0x1p-149f, -0x1.8p-130f, 1.0f, FLT_MAX, -FLT_MAX, INFINITY, -INFINITY};
    const uint64_t nans_f64[] = {UINT64_C(0x7ff8000000000000), UINT64_C(0xfff8000000000000),
                                 UINT64_C(0x7ff0000000000001), UINT64_C(0xffffffffffffffff)};

    for (size_t i = 0; i < sizeof nans_f32 / sizeof *nans_f32; i++) {
        float nan = arith_value_f32(nans_f32[i]);
        ck_assert_uint_eq(arith_bits_f32(arith_store_f32_f32(nan)), ARITH_NAN_F32);
        ck_assert_uint_eq(arith_bits_f64(arith_store_f64_f32(nan)), ARITH_NAN_F64);
    }
    for (size_t i = 0; i < sizeof nans_f64 / sizeof *nans_f64; i++) {
        double nan = arith_value_f64(nans_f64[i]);
        ck_assert_uint_eq(arith_bits_f32(arith_store_f32_f64(nan)), ARITH_NAN_F32);
        ck_assert_uint_eq(arith_bits_f64(arith_store_f64_f64(nan)), ARITH_NAN_F64);
    }
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        ck_assert_uint_eq(arith_bits_f32(arith_store_f32_f32(kept[i])), arith_bits_f32(kept[i]));
        ck_assert_uint_eq(arith_bits_f32(arith_store_f32_f64((double)kept[i])), arith_bits_f32(kept[i]));
        ck_assert_uint_eq(arith_bits_f64(arith_store_f64_f32(kept[i])), arith_bits_f64((double)kept[i]));
        ck_assert_uint_eq(arith_bits_f64(arith_store_f64_f64((double)kept[i])),
                          arith_bits_f64((double)kept[i]));
    }

    /* To nearest, half to even, at ties among normal and denormal floats, and past the largest. */
    ck_assert(arith_store_f32_f64(1.0 + 0x1p-24) == 1.0f);
    ck_assert(arith_store_f32_f64(1.0 + 0x1.8p-23) == 1.0f + 0x1p-22f);
    ck_assert(arith_store_f32_f64(0x1p-150) == 0.0f && arith_store_f32_f64(0x1.8p-149) == 0x1p-148f);
    ck_assert(arith_store_f32_f64(0x1.ffffffp127) == INFINITY);
    ck_assert(arith_store_f32_f64(0x1.fffffefffffffp127) == FLT_MAX);
}
END_TEST

/* ---- f16 ---- */

/* By the words of IEEE 754; ∞ as the number that would follow. */
static double half_magnitude(uint32_t bits)
{
    int exponent = (int)(bits >> 10), fraction = (int)(bits & 1023);

    return exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
}

static float load_half_f32(uint32_t bits)
{
    return arith_load_f16_f32((arith_half){(uint16_t)bits});
}

static double load_half_f64(uint32_t bits)
{
    return arith_load_f16_f64((arith_half){(uint16_t)bits});
}

/* All of them. */
START_TEST(halves_are_loaded_exactly)
{
    for (uint32_t sign = 0; sign <= 0x8000; sign += 0x8000) {
        for (uint32_t bits = 0; bits < 0x8000; bits++) {
            bool nan = bits > 0x7c00;
            double expected = bits < 0x7c00 ? half_magnitude(bits) : nan ? (double)NAN : (double)INFINITY;
            double signed_expected = sign != 0 ? -expected : expected;
            ck_assert(same_f64(load_half_f64(sign | bits), signed_expected));
            ck_assert(same_f32(load_half_f32(sign | bits), (float)signed_expected));
            ck_assert_uint_eq(arith_store_f16_f32(load_half_f32(sign | bits)).bits,
                              nan ? 0x7e00 : sign | bits);
            ck_assert_uint_eq(arith_store_f16_f64(load_half_f64(sign | bits)).bits,
                              nan ? 0x7e00 : sign | bits);
        }
    }
}
END_TEST

static void stores_half(double value, uint32_t bits)
{
    bool fits = (double)(float)value == value;

    if (arith_store_f16_f64(value).bits != bits || arith_store_f16_f64(-value).bits != (bits | 0x8000) ||
        (fits && arith_store_f16_f32((float)value).bits != bits) ||
        (fits && arith_store_f16_f32(-(float)value).bits != (bits | 0x8000)))
        ck_abort_msg("%a is stored as %x, not %x", value, arith_store_f16_f64(value).bits, bits);
}

/* Every tie between two halves, from 0 to where ∞ begins, and the neighbours of either work type: a double
   next to a tie is not rounded to the float that is one. */
START_TEST(halves_are_stored_to_nearest_even)
{
    for (uint32_t bits = 0; bits < 0x7c00; bits++) {
        double tie = (half_magnitude(bits) + half_magnitude(bits + 1)) / 2.0;
        stores_half(tie, bits + (bits & 1));
        stores_half(nextafter(tie, 0.0), bits);
        stores_half(nextafter(tie, (double)INFINITY), bits + 1);
        stores_half((double)nextafterf((float)tie, 0.0f), bits);
        stores_half((double)nextafterf((float)tie, INFINITY), bits + 1);
    }
}
END_TEST

/* No half is nearer to a float than the one that is stored. */
static void stores_nearest(float v)
{
    uint32_t stored = arith_store_f16_f32(v).bits, bits = stored & 0x7fff;
    double size = fabs((double)v), far = fabs(size - half_magnitude(bits));

    if (isnan(v)) {
        ck_assert_uint_eq(stored, 0x7e00);
        return;
    }
    ck_assert_uint_eq(arith_store_f16_f64((double)v).bits, stored);
    ck_assert_int_eq(stored >> 15, signbit(v) ? 1 : 0);
    if (size >= 65520.0)
        ck_assert_uint_eq(bits, 0x7c00);
    else if (far > fabs(size - half_magnitude(bits + 1)) ||
             (bits > 0 && far > fabs(size - half_magnitude(bits - 1))))
        ck_abort_msg("%a is stored as %x", (double)v, stored);
}

START_TEST(floats_become_the_nearest_halves)
{
    uint32_t bits = 0;

    do {
        stores_nearest(arith_value_f32(bits));
        bits += STRIDE_F32;
    } while (bits >= STRIDE_F32);
    stores_half((double)INFINITY, 0x7c00);
    stores_half(DBL_MAX, 0x7c00);
    stores_half((double)FLT_MAX, 0x7c00);
    stores_half(0x1p-1074, 0);
    stores_half(0x1p-149, 0);
    ck_assert_uint_eq(arith_store_f16_f64(arith_value_f64(UINT64_C(0xfff0000000000001))).bits, 0x7e00);
    ck_assert_uint_eq(arith_store_f16_f32(arith_value_f32(UINT32_C(0xff800001))).bits, 0x7e00);
}
END_TEST

/* The fold by recursion: the sum from index at of every step-th number. */
static double tree_sum(const double *leaf, size_t at, size_t step)
{
    return step == ARITH_LEAF ? leaf[at] : tree_sum(leaf, at, 2 * step) + tree_sum(leaf, at + step, 2 * step);
}

START_TEST(leaves_fold_by_halves)
{
    double leaf[ARITH_LEAF], kept[ARITH_LEAF];
    uint64_t state = 7;

    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < ARITH_LEAF; i++)
            leaf[i] = kept[i] = scattered(&state, 0, 80);
        ck_assert(same_f64(arith_fold_leaf(leaf), tree_sum(kept, 0, 1)));
    }
    for (size_t i = 0; i < ARITH_LEAF; i++)
        leaf[i] = (double)i;
    ck_assert(arith_fold_leaf(leaf) == 1023.0 * 512.0);
}
END_TEST

static void hash_bits(uint64_t *hash, uint64_t bits)
{
    *hash = (*hash ^ bits) * UINT64_C(0x100000001b3);
    *hash ^= *hash >> 29;
}

static void hash_f32(uint64_t *hash, float value)
{
    hash_bits(hash, arith_bits_f32(arith_store_f32_f32(value)));
}

static void hash_f64(uint64_t *hash, double value)
{
    hash_bits(hash, arith_bits_f64(arith_store_f64_f64(value)));
}

/* A file filtered here must have the bits of one filtered anywhere, by any compiler, in any release: a change
   of these numbers is a change of what the programs put out. */
START_TEST(bits_are_what_they_always_were)
{
    const uint64_t expected_f32 = UINT64_C(0xddaa43d2f58b90c8), expected_f64 = UINT64_C(0x1511618ca1954737);
    uint64_t hash_of_f32 = 0, hash_of_f64 = 0, state = 8;

    for (int i = 0; i < 200000; i++) {
        double moderate = scattered(&state, -16, 8);
        uint64_t bits = next(&state);
        double xs[] = {moderate, arith_value_f64(bits)};
        float xs_f32[] = {(float)moderate, arith_value_f32((uint32_t)bits)};
        double y = between(&state, 0.2, 5.0);
        for (size_t k = 0; k < 2; k++) {
            hash_f32(&hash_of_f32, arith_exp_f32(xs_f32[k]));
            hash_f32(&hash_of_f32, arith_tanh_f32(xs_f32[k]));
            hash_f32(&hash_of_f32, arith_sin_f32(xs_f32[k]));
            hash_f32(&hash_of_f32, arith_pm1_f32(xs_f32[k]));
            hash_f32(&hash_of_f32, arith_pm2_f32(xs_f32[k]));
            hash_f32(&hash_of_f32, arith_react_f32(xs_f32[k], 0.25f, 0.75f));
            hash_f32(&hash_of_f32, arith_srgb_decode_f32(xs_f32[k]));
            hash_f32(&hash_of_f32, arith_srgb_encode_f32(xs_f32[k]));
            hash_f32(&hash_of_f32, arith_gamma_f32(xs_f32[k], (float)y));
            hash_f32(&hash_of_f32, arith_ln_f32(xs_f32[k]));
            hash_f32(&hash_of_f32, signed_pow_f32(xs_f32[k], (float)(2 * i % 7 - 4)));
            hash_f32(&hash_of_f32, arith_cover_f32(xs_f32[k], 255.0f));
            hash_bits(&hash_of_f32, arith_store_u8_f32(xs_f32[k]));
            hash_bits(&hash_of_f32, arith_store_u32_f32(xs_f32[k]));
            hash_f64(&hash_of_f64, arith_exp_f64(xs[k]));
            hash_f64(&hash_of_f64, arith_tanh_f64(xs[k]));
            hash_f64(&hash_of_f64, arith_sin_f64(xs[k]));
            hash_f64(&hash_of_f64, arith_pm1_f64(xs[k]));
            hash_f64(&hash_of_f64, arith_pm2_f64(xs[k]));
            hash_f64(&hash_of_f64, arith_react_f64(xs[k], 0.25, 0.75));
            hash_f64(&hash_of_f64, arith_srgb_decode_f64(xs[k]));
            hash_f64(&hash_of_f64, arith_srgb_encode_f64(xs[k]));
            hash_f64(&hash_of_f64, arith_gamma_f64(xs[k], y));
            hash_f64(&hash_of_f64, arith_ln_f64(xs[k]));
            hash_f64(&hash_of_f64, signed_pow_f64(xs[k], 2 * i % 7 - 4));
            hash_f64(&hash_of_f64, arith_cover_f64(xs[k], 255.0));
            hash_bits(&hash_of_f64, arith_store_u16_f64(xs[k]));
            hash_bits(&hash_of_f64, arith_bits_f32(arith_store_f32_f64(xs[k])));
        }
    }
    if (hash_of_f32 != expected_f32 || hash_of_f64 != expected_f64)
        ck_abort_msg("0x%016llx and 0x%016llx", (unsigned long long)hash_of_f32,
                     (unsigned long long)hash_of_f64);
}
END_TEST

static TCase *accuracy_case(void)
{
    TCase *tests = tcase_create("accuracy");

    tcase_set_timeout(tests, TIMEOUT_SECONDS);
    tcase_add_test(tests, exp_is_accurate_f32);
    tcase_add_test(tests, tanh_is_accurate_f32);
    tcase_add_test(tests, sin_is_accurate_f32);
    tcase_add_test(tests, pow_is_accurate_f32);
    tcase_add_loop_test(tests, long_pow_is_accurate_f32, 0, sizeof exponents / sizeof *exponents);
    tcase_add_test(tests, ln_is_accurate_f32);
#if LDBL_MANT_DIG >= 64
    tcase_add_test(tests, exp_is_accurate_f64);
    tcase_add_test(tests, tanh_is_accurate_f64);
    tcase_add_test(tests, sin_is_accurate_f64);
    tcase_add_test(tests, pow_is_accurate_f64);
    tcase_add_loop_test(tests, long_pow_is_accurate_f64, 0, sizeof exponents / sizeof *exponents);
    tcase_add_test(tests, ln_is_accurate_f64);
#endif
    tcase_add_test(tests, srgb_follows_the_curve);
    tcase_add_test(tests, srgb_and_gamma_return_every_value);
    tcase_add_test(tests, bits_are_what_they_always_were);
    return tests;
}

static TCase *values_case(void)
{
    TCase *tests = tcase_create("values");

    tcase_set_timeout(tests, TIMEOUT_SECONDS);
    tcase_add_test(tests, fma_rounds_once);
    tcase_add_test(tests, exp_has_special_values);
    tcase_add_test(tests, tanh_has_special_values);
    tcase_add_test(tests, sin_has_special_values);
    tcase_add_test(tests, pow_has_special_values);
    tcase_add_test(tests, signed_pow_has_special_values);
    tcase_add_test(tests, powers_of_whole_numbers_are_exact);
    tcase_add_test(tests, ln_has_special_values);
    tcase_add_test(tests, fluxes_follow_their_formulas);
    tcase_add_test(tests, cover_is_a_clamped_fraction);
    tcase_add_test(tests, colour_is_divided_by_its_cover);
    tcase_add_test(tests, edge_indices_follow_the_rules);
    tcase_add_test(tests, integer_stores_round_and_saturate);
    tcase_add_test(tests, float_stores_have_one_nan);
    tcase_add_test(tests, halves_are_loaded_exactly);
    tcase_add_test(tests, halves_are_stored_to_nearest_even);
    tcase_add_test(tests, floats_become_the_nearest_halves);
    tcase_add_test(tests, leaves_fold_by_halves);
    return tests;
}

int main(void)
{
    Suite *suite = suite_create("arith");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, accuracy_case());
    suite_add_tcase(suite, values_case());
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
