/* Samples as whole numbers of the same order, so that neither NaN nor -0 needs thought where they are
 * compared: -inf ... -0 < +0 ... +inf < NaN. */
#ifndef CUDA_ORDER_CUH
#define CUDA_ORDER_CUH

#include "cuda_chain.cuh"

/* The order of a value, and the value of an order. */
#define CUDA_ORDER(real, whole, type)                                                                        \
    static CUDA_INLINE whole order_of(real value)                                                            \
    {                                                                                                        \
        return arith_order_##type(value);                                                                    \
    }                                                                                                        \
    static CUDA_INLINE real ordered(whole order)                                                             \
    {                                                                                                        \
        return arith_ordered_##type(order);                                                                  \
    }

CUDA_ORDER(float, int32_t, f32)
CUDA_ORDER(double, int64_t, f64)

/* The order of a value times a sign, 1 or -1. A GPU's multiply-add in f32 makes every NaN the one with the
   greatest bits. */
static CUDA_INLINE int32_t order_of(float value, float sign)
{
    const float signed_value = cuda_fma(value, sign, -0.0F);
#ifdef __CUDA_ARCH__
    const int32_t bits = __float_as_int(signed_value);
    return bits ^ (bits >> 31 & INT32_MAX);
#else
    return order_of(signed_value);
#endif
}
static CUDA_INLINE int64_t order_of(double value, double sign)
{
    return order_of(value * sign);
}

template <typename T> struct order_for {
    using type = decltype(order_of(T()));
};

template <typename Order> static CUDA_INLINE Order lesser(Order a, Order b)
{
    return a < b ? a : b;
}
template <typename Order> static CUDA_INLINE Order greater(Order a, Order b)
{
    return a < b ? b : a;
}

#endif
