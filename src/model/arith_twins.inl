/* Functions that differ in nothing but the type: arith.h includes this file once for each work type. Within,
   `real` is the type, `bits_of_real` the unsigned integer of its width, number(x) a literal of the type,
   twin(name) the function and constant(NAME) the constant of the type. It undefines them at its end. */

/* The bits of a value, and the value of bits. */
ARITH_FN bits_of_real twin(arith_bits)(real value)
{
    bits_of_real bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

ARITH_FN real twin(arith_value)(bits_of_real bits)
{
    real value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

ARITH_FN real twin(arith_magnitude)(real value)
{
    return twin(arith_value)(twin(arith_bits)(value) & ~constant(ARITH_SIGN));
}

/* A magnitude, its sign bit clear, with the sign of another value. */
ARITH_FN real twin(arith_signed)(real magnitude, real sign)
{
    return twin(arith_value)(twin(arith_bits)(magnitude) | (twin(arith_bits)(sign) & constant(ARITH_SIGN)));
}

/* Loads: what a file's sample is in this type. */
#define HALF_SAMPLE(...)
#define SAMPLE(constant, name, stored, ...)                                                                  \
    ARITH_FN real twin(arith_load_##name)(stored sample)                                                     \
    {                                                                                                        \
        return (real)sample;                                                                                 \
    }
#include "samples.def"

/* exp(r) − 1 for |r| ≤ ln(2)/2 and a little more. */
ARITH_FN real twin(arith_expm1_core)(real r)
{
    return twin(arith_fma)(r * r, twin(arith_expm1_series)(r), r);
}

/* value·2^n, rounded once, for value near 1 and |n| up to twice the bias less 2; shifted is n + SIGNED_WHOLE.
   Two factors, since 2^n itself may be no normal number: the first product is exact. */
ARITH_FN real twin(arith_scale)(real value, real shifted)
{
    bits_of_real exponents =
        twin(arith_bits)(shifted) - twin(arith_bits)(constant(ARITH_SIGNED_WHOLE)) + 2 * constant(ARITH_BIAS);
    bits_of_real half = exponents >> 1;

    return value * twin(arith_value)(half << constant(ARITH_FRACTION)) *
           twin(arith_value)((exponents - half) << constant(ARITH_FRACTION));
}

/* x − n·ln(2), for the whole number n nearest to x/ln(2). */
ARITH_FN real twin(arith_exp_rest)(real x, real n)
{
    return twin(arith_fma)(n, -constant(ARITH_LN2_LOW), twin(arith_fma)(n, -constant(ARITH_LN2_HIGH), x));
}

/* 2^n, a normal number, or 0 for the power of 2 just below; shifted is n + WHOLE or n + SIGNED_WHOLE. */
ARITH_FN real twin(arith_binade)(real shifted)
{
    return twin(arith_value)((twin(arith_bits)(shifted) + constant(ARITH_BIAS)) << constant(ARITH_FRACTION));
}

/* exp(x), denormal results included. Beyond the bounds the result is 0 or infinite all the same. */
ARITH_FN real twin(arith_exp)(real x)
{
    const real highest = constant(ARITH_EXP_HIGHEST), lowest = constant(ARITH_EXP_LOWEST);
    real shifted, r;

    x = x > highest ? highest : x;
    x = x < lowest ? lowest : x;
    shifted = twin(arith_fma)(x, constant(ARITH_LOG2E), constant(ARITH_SIGNED_WHOLE));
    r = twin(arith_exp_rest)(x, shifted - constant(ARITH_SIGNED_WHOLE));
    return twin(arith_scale)(number(1.0) + twin(arith_expm1_core)(r), shifted);
}

/* tanh(x) = e/(e + 2) with e = exp(2|x|) − 1, which loses nothing near 0. What the sum and the quotient lose
   to rounding is put back at the end. Beyond the bound on 2|x| it is 1. */
ARITH_FN real twin(arith_tanh)(real x)
{
    const real highest = constant(ARITH_TANH_HIGHEST);
    real twice = number(2.0) * twin(arith_magnitude)(x);
    real shifted, r, power, e, sum, sum_low, inverse, quotient, rest;

    twice = twice > highest ? highest : twice;
    shifted = twin(arith_fma)(twice, constant(ARITH_LOG2E), constant(ARITH_WHOLE));
    r = twin(arith_exp_rest)(twice, shifted - constant(ARITH_WHOLE));
    power = twin(arith_binade)(shifted);
    e = twin(arith_fma)(power, twin(arith_expm1_core)(r), power - number(1.0));
    sum = e + number(2.0);
    sum_low = e > number(2.0) ? number(2.0) - (sum - e) : e - (sum - number(2.0));
    inverse = twin(arith_reciprocal)(sum);
    quotient = e * inverse;
    rest = twin(arith_fma)(-quotient, sum_low, twin(arith_fma)(-quotient, sum, e));
    return twin(arith_signed)(twin(arith_fma)(rest, inverse, quotient), x);
}

/* sin(u) for |u| ≤ 2^20, else NaN. With |u| = n·π + r, |r| ≤ π/2 and a little more, it is sin(r) times the
   sign of u, negated where n is odd. */
ARITH_FN real twin(arith_sin)(real u)
{
    real magnitude = twin(arith_magnitude)(u);
    real shifted = twin(arith_fma)(magnitude, constant(ARITH_INVERSE_PI), constant(ARITH_WHOLE));
    real n = shifted - constant(ARITH_WHOLE);
    real r, square, s;
    bits_of_real odd = twin(arith_bits)(shifted) << (8 * sizeof(real) - 1);
    bits_of_real sign = odd ^ (twin(arith_bits)(u) & constant(ARITH_SIGN));

    r = twin(arith_fma)(n, -constant(ARITH_PI_HIGH), magnitude); /* exact */
    r = twin(arith_fma)(n, -constant(ARITH_PI_MIDDLE), r);
    r = twin(arith_fma)(n, -constant(ARITH_PI_LOW), r);
    square = r * r;
    s = twin(arith_fma)(r * square, twin(arith_sin_series)(square), r);
    s = twin(arith_value)(twin(arith_bits)(s) ^ sign);
    return magnitude <= (real)ARITH_SIN_LIMIT ? s : twin(arith_value)(constant(ARITH_NAN));
}

/* A number of more than a word's precision: high + low, low at most half a unit in the last place of high. */
struct twin(arith_pair)
{
    real high, low;
};

/* log2(x) for finite x > 0; any finite pair for other x. */
ARITH_FN struct twin(arith_pair) twin(arith_log2)(real x)
{
    bool denormal = x < constant(ARITH_LEAST_NORMAL);
    bits_of_real bits = twin(arith_bits)(denormal ? x * constant(ARITH_LIFT) : x);
    bits_of_real biased =
        (bits + (twin(arith_bits)(number(1.0)) - constant(ARITH_ROOT_HALF))) >> constant(ARITH_FRACTION);
    real m = twin(arith_value)(bits - (biased << constant(ARITH_FRACTION)) + twin(arith_bits)(number(1.0)));
    real n = twin(arith_value)(twin(arith_bits)(constant(ARITH_WHOLE)) | biased) -
             (constant(ARITH_WHOLE) + constant(ARITH_BIAS));
    real numerator = m - number(1.0); /* exact */
    real denominator = m + number(1.0);
    real denominator_low = m - (denominator - number(1.0));
    real inverse = number(1.0) / denominator;
    real s = numerator * inverse;
    real s_low = twin(arith_fma)(-s, denominator_low, twin(arith_fma)(-s, denominator, numerator)) * inverse;
    real square = s * s;
    real leading, tail, sum;
    struct twin(arith_pair) result;

    leading = s * constant(ARITH_TWO_LOG2E_HIGH);
    tail = twin(arith_fma)(s, constant(ARITH_TWO_LOG2E_HIGH), -leading);
    tail = twin(arith_fma)(s, constant(ARITH_TWO_LOG2E_LOW), tail);
    tail = twin(arith_fma)(s_low, constant(ARITH_TWO_LOG2E_HIGH), tail);
    tail = twin(arith_fma)(s * square, twin(arith_log2_series)(square), tail);

    n -= denormal ? constant(ARITH_LIFTED) : number(0.0);
    sum = n + leading; /* |n| ≥ 1 > |leading|, or n = 0 */
    tail += leading - (sum - n);
    result.high = sum + tail;
    result.low = tail - (result.high - sum);
    return result;
}

/* The natural logarithm: −∞ of 0, NaN of what is below. */
ARITH_FN real twin(arith_ln)(real x)
{
    const real infinity = twin(arith_value)(constant(ARITH_INFINITY));
    struct twin(arith_pair) log2 = twin(arith_log2)(x);
    real high = log2.high * constant(ARITH_LN2_HIGH);
    real low = twin(arith_fma)(log2.high, constant(ARITH_LN2_HIGH), -high);
    real ln;

    low = twin(arith_fma)(log2.high, constant(ARITH_LN2_LOW), low);
    low = twin(arith_fma)(log2.low, constant(ARITH_LN2_HIGH), low);
    ln = x == infinity ? x : high + low;
    ln = x == number(0.0) ? -infinity : ln;
    return x >= number(0.0) ? ln : twin(arith_value)(constant(ARITH_NAN));
}

/* x to the power of y + y_low, y finite and y_low the rest of a longer y, for x ≥ 0; NaN for other x. 0 and ∞
   are as in C. */
ARITH_FN real twin(arith_power)(real x, real y, real y_low)
{
    const real highest = constant(ARITH_POWER_HIGHEST), lowest = constant(ARITH_POWER_LOWEST);
    const real infinity = twin(arith_value)(constant(ARITH_INFINITY));
    struct twin(arith_pair) log2 = twin(arith_log2)(x);
    real high = y * log2.high;
    real low = twin(arith_fma)(y, log2.low, twin(arith_fma)(y, log2.high, -high));
    real bounded, shifted, rest, r, r_low, sum, power, limit;

    low = twin(arith_fma)(y_low, log2.high, low);
    bounded = high > highest ? highest : high;
    bounded = bounded < lowest ? lowest : bounded;
    low = bounded == high ? low : number(0.0);
    shifted = bounded + constant(ARITH_SIGNED_WHOLE);
    bounded -= shifted - constant(ARITH_SIGNED_WHOLE); /* exact */
    rest = bounded + low;
    low -= rest - bounded;
    r = rest * constant(ARITH_LN2_HIGH);
    r_low = twin(arith_fma)(rest, constant(ARITH_LN2_HIGH), -r);
    r_low = twin(arith_fma)(rest, constant(ARITH_LN2_LOW), r_low);
    r_low = twin(arith_fma)(low, constant(ARITH_LN2_HIGH), r_low);
    sum = number(1.0) + r;
    r_low = (r - (sum - number(1.0))) + twin(arith_fma)(r_low, r, r_low);
    power = twin(arith_scale)(sum + twin(arith_fma)(r * r, twin(arith_expm1_series)(r), r_low), shifted);

    limit = (x == number(0.0)) == (y > number(0.0)) ? number(0.0) : infinity;
    power = ((x == number(0.0)) | (x == infinity)) ? limit : power;
    power = y == number(0.0) ? number(1.0) : power;
    return ((x >= number(0.0)) & (y == y)) ? power : twin(arith_value)(constant(ARITH_NAN));
}

/* x ≥ 0 to the power of a finite y. */
ARITH_FN real twin(arith_pow)(real x, real y)
{
    return twin(arith_power)(x, y, number(0.0));
}

/* x to the power of y for any x. parity is −1 if y is odd, 1 if it is even, and NaN if it is not whole: then
   numbers below 0 have no power. */
ARITH_FN real twin(arith_signed_pow)(real x, real y, real parity)
{
    real power = twin(arith_pow)(twin(arith_magnitude)(x), y);

    power = parity < number(0.0) ? twin(arith_signed)(power, x) : power;
    return x < number(0.0) ? power * (parity * parity) : power;
}

/* The Perona–Malik fluxes of s = Σ q², one for several channels. The first is exp(−s), and 0 beyond a bound,
   up to which it is far from denormal, so that 2^n + 2^n·core is rounded as 1 + core is. The 0 is
   chosen at the end, so that nothing waits for the comparison. Where registers are scarce, s would occupy one
   until then. There, s beyond the bound is replaced at the start by a number for which 2^n is 0. */
ARITH_FN real twin(arith_pm1_joint)(real s)
{
    const bool beyond = s > constant(ARITH_PM1_HIGHEST);
    real x = ARITH_FEW_REGISTERS && beyond ? -constant(ARITH_PM1_NONE) : -s;
    real shifted = twin(arith_fma)(x, constant(ARITH_LOG2E), constant(ARITH_SIGNED_WHOLE));
    real r = twin(arith_exp_rest)(x, shifted - constant(ARITH_SIGNED_WHOLE));
    real power = twin(arith_binade)(shifted);
    real flux = twin(arith_fma)(power, twin(arith_expm1_core)(r), power);

    return !ARITH_FEW_REGISTERS && beyond ? number(0.0) : flux;
}

ARITH_FN real twin(arith_pm2_joint)(real s)
{
    return number(1.0) / (s + number(1.0));
}

/* The Perona–Malik fluxes g(q). */
ARITH_FN real twin(arith_pm1)(real q)
{
    return twin(arith_pm1_joint)(q * q);
}

ARITH_FN real twin(arith_pm2)(real q)
{
    return number(1.0) / twin(arith_fma)(q, q, number(1.0));
}

/* One reaction after a relaxation: reaction is E, remainder 1 − E. */
ARITH_FN real twin(arith_react)(real u, real reaction, real remainder)
{
    return twin(arith_fma)(reaction, twin(arith_sin)(u), remainder * u);
}

/* IEC 61966-2-1 on the unit scale, odd, and past 1 by the same power. 1 stays 1. */
ARITH_FN real twin(arith_srgb_decode)(real v)
{
    real m = twin(arith_magnitude)(v);
    real base = twin(arith_fma)(m, constant(ARITH_DECODE_SLOPE), constant(ARITH_DECODE_OFFSET));
    real curve = twin(arith_power)(base, constant(ARITH_DECODE_POWER), constant(ARITH_DECODE_REST));

    return twin(arith_signed)(m <= number(0.04045) ? m / number(12.92) : curve, v);
}

ARITH_FN real twin(arith_srgb_encode)(real v)
{
    real m = twin(arith_magnitude)(v);
    real root = twin(arith_power)(m, constant(ARITH_ENCODE_POWER), constant(ARITH_ENCODE_REST));
    real offset = twin(arith_fma)(constant(ARITH_ENCODE_SCALE_REST), root, number(-0.055));
    real curve = twin(arith_fma)(number(1.055), root, offset);

    return twin(arith_signed)(m <= number(0.0031308) ? m * number(12.92) : curve, v);
}

/* A power of the magnitude, under the sign. */
ARITH_FN real twin(arith_gamma)(real v, real exponent)
{
    return twin(arith_signed)(twin(arith_pow)(twin(arith_magnitude)(v), exponent), v);
}

/* The same curves on the scale of the samples, 0 to max. */
ARITH_FN real twin(arith_srgb_to_linear)(real v, real max)
{
    return twin(arith_srgb_decode)(v / max) * max;
}

ARITH_FN real twin(arith_srgb_from_linear)(real v, real max)
{
    return twin(arith_srgb_encode)(v / max) * max;
}

ARITH_FN real twin(arith_gamma_scaled)(real v, real max, real exponent)
{
    return twin(arith_gamma)(v / max, exponent) * max;
}

/* alpha in [0, max] as a fraction of max; NaN counts as 0. */
ARITH_FN real twin(arith_cover)(real alpha, real max)
{
    alpha = alpha > number(0.0) ? alpha : number(0.0);
    alpha = alpha < max ? alpha : max;
    return alpha / max;
}

/* Colour that was multiplied by a cover, which is `separate` where nothing is left to divide by. */
ARITH_FN real twin(arith_uncovered)(real colour, real separate, real cover)
{
    return cover == number(0.0) ? separate : colour / cover;
}

/* NaN stays. */
ARITH_FN real twin(arith_clamp)(real v, real least, real greatest)
{
    v = v < least ? least : v;
    return v > greatest ? greatest : v;
}

/* A weighed sum over samples of which some may be missing, as it would be if those that are there stood for
   all: `weight` is their share of the weights' whole sum. NaN if none is there. */
ARITH_FN real twin(arith_average)(real sum, real weight, real whole)
{
    return weight == number(0.0) ? twin(arith_value)(constant(ARITH_NAN)) : sum * (whole / weight);
}

/* What a chain reads for a tap: the sample itself where the neighbour is missing. */
ARITH_FN real twin(arith_present)(real value, real own)
{
    return value == value ? value : own;
}

/* A sample and NaN change places where the sample is the mark, so that a NaN beside samples that are marked
   with another value can be told from what is not there. And back. */
ARITH_FN real twin(arith_unmarked)(real v, real mark)
{
    if (v != v)
        return mark;
    return twin(arith_bits)(v) == twin(arith_bits)(mark) ? twin(arith_value)(constant(ARITH_NAN)) : v;
}

/* The bits of the nearest whole number, half to even, in [0, highest]; NaN becomes 0. */
ARITH_FN bits_of_real twin(arith_unsigned)(real v, real highest)
{
    v = v > number(0.0) ? v : number(0.0); /* NaN, too */
    v = v < highest ? v : highest;
    return twin(arith_bits)(v + constant(ARITH_WHOLE));
}

/* The same in [−highest − 1, highest], whose low bits are the number in two's complement. */
ARITH_FN bits_of_real twin(arith_twos_complement)(real v, real highest)
{
    const real lowest = -highest - number(1.0);

    v = v == v ? v : number(0.0);
    v = v > lowest ? v : lowest;
    v = v < highest ? v : highest;
    return twin(arith_bits)(v + constant(ARITH_SIGNED_WHOLE));
}

/* Stores: to the nearest whole number, half to even; what lies outside goes to the nearest that the type has,
   NaN to 0. */
ARITH_FN uint8_t twin(arith_store_u8)(real v)
{
    return (uint8_t)twin(arith_unsigned)(v, number(255.0));
}

ARITH_FN int8_t twin(arith_store_i8)(real v)
{
    return (int8_t)twin(arith_twos_complement)(v, number(127.0));
}

ARITH_FN uint16_t twin(arith_store_u16)(real v)
{
    return (uint16_t)twin(arith_unsigned)(v, number(65535.0));
}

ARITH_FN int16_t twin(arith_store_i16)(real v)
{
    return (int16_t)twin(arith_twos_complement)(v, number(32767.0));
}

/* The value, or for any NaN the one that is canonical. The choice is made among bits, where no compiler may
   take one NaN for another. */
ARITH_FN real twin(arith_canonical)(real v)
{
    bits_of_real bits = twin(arith_bits)(v);

    return twin(arith_value)((bits & ~constant(ARITH_SIGN)) > constant(ARITH_INFINITY) ? constant(ARITH_NAN)
                                                                                       : bits);
}

/* Whole numbers in the order of ranks: −∞ … −0 < +0 … ∞ < NaN; and back. */
ARITH_FN order_of_real twin(arith_order)(real v)
{
    bits_of_real bits = twin(arith_bits)(twin(arith_canonical)(v));

    return (order_of_real)(bits & constant(ARITH_SIGN) ? bits ^ ~constant(ARITH_SIGN) : bits);
}

ARITH_FN real twin(arith_ordered)(order_of_real order)
{
    bits_of_real bits = (bits_of_real)order;

    return twin(arith_value)(bits & constant(ARITH_SIGN) ? bits ^ ~constant(ARITH_SIGN) : bits);
}

/* Rounded to nearest even, to ∞ from half a unit past the greatest on; NaN becomes the one that is canonical.
   A sum rounds what becomes denormal; else what is cut off is rounded among bits, and a carry goes where it
   belongs. */
ARITH_FN arith_half twin(arith_store_f16)(real v)
{
    const unsigned cut = constant(ARITH_FRACTION) - ARITH_FRACTION_F16;
    const bits_of_real bias = constant(ARITH_BIAS) - ARITH_BIAS_F16, one = 1;
    const bits_of_real least = (bias + 1) << constant(ARITH_FRACTION); /* normal half */
    const bits_of_real past = (bias + 31) << constant(ARITH_FRACTION); /* the greatest, rounded or not */
    const real units = constant(ARITH_HALF_UNITS);
    bits_of_real bits = twin(arith_bits)(v), size = bits & ~constant(ARITH_SIGN);
    bits_of_real denormal = twin(arith_bits)(twin(arith_value)(size) + units) - twin(arith_bits)(units);
    bits_of_real rounded = size + (one << (cut - 1)) - 1 + (size >> cut & 1);
    bits_of_real half = (rounded - (bias << constant(ARITH_FRACTION))) >> cut;
    arith_half sample;

    half = size < least ? denormal : half;
    half = rounded >= past ? ARITH_INFINITY_F16 : half;
    half = size > constant(ARITH_INFINITY) ? ARITH_NAN_F16
                                           : half | (bits & constant(ARITH_SIGN)) >> (8 * sizeof(real) - 16);
    sample.bits = (uint16_t)half;
    return sample;
}

/* Filters of one sample, each by its kind; and any of them. */
#define POINT(constant, name, syntax, least, most, a_name, b_name, c_name, intensity, cost, summary, value)  \
    ARITH_FN real twin(arith_point_##constant)(real v, real a, real b, real c)                               \
    {                                                                                                        \
        (void)a, (void)b, (void)c;                                                                           \
        return value;                                                                                        \
    }
#include "points.def"

/* What combines two fields, each by its kind; and any of them. */
#define COMBINE(constant, name, value)                                                                       \
    ARITH_FN real twin(arith_combine_##constant)(real u, real kept, real a)                                  \
    {                                                                                                        \
        (void)kept, (void)a;                                                                                 \
        return value;                                                                                        \
    }
#include "combine.def"

ARITH_FN real twin(arith_combine)(enum combine kind, real u, real kept, real a)
{
    switch (kind) {
#define COMBINE(constant, name, value)                                                                       \
    case COMBINE_##constant:                                                                                 \
        return twin(arith_combine_##constant)(u, kept, a);
#include "combine.def"
    default:
        return u;
    }
}

ARITH_FN real twin(arith_point)(enum point_kind kind, real v, real a, real b, real c)
{
    switch (kind) {
#define POINT(constant, ...)                                                                                 \
    case POINT_##constant:                                                                                   \
        return twin(arith_point_##constant)(v, a, b, c);
#include "points.def"
    default:
        return v;
    }
}

#undef real
#undef bits_of_real
#undef order_of_real
#undef number
#undef twin
#undef constant
