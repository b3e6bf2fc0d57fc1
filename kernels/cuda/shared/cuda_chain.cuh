/* The arithmetic of the ops, stated once for every rung of the ladder.
 *
 * A rung is a data movement: it has a reader, a function of (dx, drow, dplane) that returns the value which a
 * tap reads there, edge rule included. A filter is a function of a sample's own value and such a reader: it
 * has the arithmetic, the same chains as kernels/cpu/cpu_chain.inl and kernels/cpu/cpu_rows.inl. There are
 * three: for any op, with its taps in the device's memory, and for the star of a volume and of a picture,
 * whose offsets are compiled in and whose weights are kernel parameters. A kernel is a template of its
 * filter. */
#ifndef CUDA_CHAIN_CUH
#define CUDA_CHAIN_CUH

#include "cuda_rung.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <type_traits>

#define CUDA_INLINE __device__ __forceinline__

#define CUDA_WARP      32
#define CUDA_ALL_LANES 0xffffffffu

/* Loops of several turns for each thread say `unroll 1`: to unroll them, compilers would count their turns
 * first, by a 64-bit division that costs more than a turn. */

/* arith.h by work type: cuda_fma(a, b, c) is arith_fma_f32 of floats, arith_fma_f64 of doubles. */
#define CUDA_ARITH(name)                                                                                     \
    template <typename... Others> CUDA_INLINE float cuda_##name(float a, Others... others)                   \
    {                                                                                                        \
        return arith_##name##_f32(a, others...);                                                             \
    }                                                                                                        \
    template <typename... Others> CUDA_INLINE double cuda_##name(double a, Others... others)                 \
    {                                                                                                        \
        return arith_##name##_f64(a, others...);                                                             \
    }

CUDA_ARITH(fma)
CUDA_ARITH(pm1)
CUDA_ARITH(pm2)
CUDA_ARITH(pm1_joint)
CUDA_ARITH(pm2_joint)
CUDA_ARITH(tanh)
CUDA_ARITH(sqrt)
CUDA_ARITH(reciprocal)
CUDA_ARITH(react)
CUDA_ARITH(cover)
CUDA_ARITH(present)
CUDA_ARITH(unmarked)
CUDA_ARITH(average)
CUDA_ARITH(uncovered)
CUDA_ARITH(srgb_to_linear)
CUDA_ARITH(srgb_from_linear)
CUDA_ARITH(gamma_scaled)

CUDA_INLINE float cuda_combine(enum combine kind, float u, float kept, float a)
{
    return arith_combine_f32(kind, u, kept, a);
}
CUDA_INLINE double cuda_combine(enum combine kind, double u, double kept, double a)
{
    return arith_combine_f64(kind, u, kept, a);
}

/* A point filter, in the work type. */
template <typename T> struct cuda_point {
    enum point_kind kind;
    T numbers[POINT_NUMBERS];
    unsigned long long times;
    bool missing; /* NaN is a sample that is missing, and stays */
};

template <typename T> cuda_point<T> cuda_point_of(const struct point &point)
{
    cuda_point<T> same = {point.kind, {}, point.times, point.missing};

    for (int i = 0; i < POINT_NUMBERS; i++)
        same.numbers[i] = static_cast<T>(point.numbers[i]);
    return same;
}

/* What it makes of a sample, once. */
template <typename T> CUDA_INLINE T cuda_pointed(const cuda_point<T> &point, T v)
{
    const T *numbers = point.numbers;

    if (point.missing && v != v)
        return v;
    if constexpr (sizeof(T) == sizeof(float))
        return arith_point_f32(point.kind, v, numbers[0], numbers[1], numbers[2]);
    else
        return arith_point_f64(point.kind, v, numbers[0], numbers[1], numbers[2]);
}

/* OP_UNSHARP, behind its chain. */
template <typename T> CUDA_INLINE T cuda_unsharp(T amount, T original, T blurred)
{
    return cuda_fma(amount, original - blurred, original);
}

/* The parameters of OP_HEAT, in the work type. */
template <typename T> struct cuda_heat {
    enum flux flux;
    T inverse_scale, rate;
    unsigned long long inner;
    bool reacts;
    T reaction, remainder;
};

/* Any op that looks at its neighbours in its own channel, its taps in the device's memory. */
template <typename T> struct cuda_any_filter {
    enum op_kind kind;
    bool missing; /* a NaN is a sample that is missing */
    int tap_count;
    const cuda_tap<T> *taps;
    cuda_heat<T> heat;

    template <typename Reader> CUDA_INLINE T operator()(T own, const Reader &read) const
    {
        if (missing && own != own)
            return own;
        return filtered(own, [&](int dx, int drow, int dplane) {
            const T value = read(dx, drow, dplane);
            return missing && kind != OP_HEAT ? cuda_present(value, own) : value;
        });
    }

    template <typename Reader> CUDA_INLINE T filtered(T own, const Reader &read) const
    {
        switch (kind) {
        case OP_HEAT:
            return relaxed(own, read);
        case OP_GRADIENT:
            return gradient(read);
        default:
            return chain(read);
        }
    }

    /* The tap chain: the first a product, each next one a fused multiply-add. Unrolled further, it takes the
       registers of threads that would hide its latency. */
    template <typename Reader> CUDA_INLINE T chain(const Reader &read) const
    {
        T sum = T(0);

#pragma unroll 4
        for (int k = 0; k < tap_count; k++) {
            const cuda_tap<T> tap = taps[k];
            const T value = read(tap.dx, tap.drow, tap.dplane);
            sum = k == 0 ? tap.weight * value : cuda_fma(tap.weight, value, sum);
        }
        return sum;
    }

    /* The length of the vector of central differences; the taps are the neighbours ahead. */
    template <typename Reader> CUDA_INLINE T gradient(const Reader &read) const
    {
        T sum = T(0);

#pragma unroll 1
        for (int k = 0; k < tap_count; k++) {
            const cuda_tap<T> tap = taps[k];
            const T ahead = read(tap.dx, tap.drow, tap.dplane);
            const T behind = read(-tap.dx, -tap.drow, -tap.dplane);
            const T slope = (ahead - behind) * tap.weight;
            sum = k == 0 ? slope * slope : cuda_fma(slope, slope, sum);
        }
        return cuda_sqrt(sum);
    }

    /* The sample under relaxation changes while its neighbours are frozen. */
    template <typename Reader> CUDA_INLINE T relaxed(T own, const Reader &read) const
    {
        T neighbours[OP_HEAT_TAPS], weights[OP_HEAT_TAPS];
        unsigned centres =
            0; /* a bit for each tap that reads the sample itself: that on it, or a missing one */

#pragma unroll
        for (int k = 0; k < OP_HEAT_TAPS; k++) {
            if (k < tap_count) {
                const cuda_tap<T> tap = taps[k];
                weights[k] = tap.weight;
                neighbours[k] = read(tap.dx, tap.drow, tap.dplane);
                const bool centre = tap.dx == 0 && tap.drow == 0 && tap.dplane == 0;
                centres |= (centre || (missing && neighbours[k] != neighbours[k]) ? 1u : 0u) << k;
            }
        }
        for (unsigned long long n = 0; n < heat.inner; n++) {
            own = moved(own, heat_chain(own, neighbours, weights, centres));
            if (heat.reacts)
                own = cuda_react(own, heat.reaction, heat.remainder);
        }
        return own;
    }

    CUDA_INLINE T heat_chain(T own, const T (&neighbours)[OP_HEAT_TAPS], const T (&weights)[OP_HEAT_TAPS],
                             unsigned centres) const
    {
        T sum = T(0);

#pragma unroll
        for (int k = 0; k < OP_HEAT_TAPS; k++) {
            if (k < tap_count) {
                T value = (centres >> k & 1) != 0 ? own : neighbours[k];
                T weight = weights[k];
                if (heat.flux == FLUX_PM1 || heat.flux == FLUX_PM2) {
                    value = value - own;
                    weight = weight * face_flux(value * heat.inverse_scale);
                }
                sum = k == 0 ? weight * value : cuda_fma(weight, value, sum);
            }
        }
        return sum;
    }

    /* g(q), the conductivity of a face. */
    CUDA_INLINE T face_flux(T q) const
    {
        return heat.flux == FLUX_PM1 ? cuda_pm1(q) : cuda_pm2(q);
    }

    /* The sample after a relaxation, from its chain's sum. */
    CUDA_INLINE T moved(T own, T sum) const
    {
        switch (heat.flux) {
        case FLUX_LINEAR:
            return sum;
        case FLUX_TANH:
            return cuda_fma(heat.rate, cuda_tanh(sum * heat.inverse_scale), own);
        default:
            return own + sum;
        }
    }
};

/* OP_HEAT of channels under one conductivity. */
template <typename T> struct cuda_joint_filter {
    bool missing; /* a NaN is a sample that is missing: nothing flows over its faces */
    int tap_count;
    const cuda_tap<T> *taps;
    cuda_heat<T> heat;

    /* One relaxation of a pixel: own(c) is its value in a channel, read(k, c) what tap k reads there, and
       put(c, value) takes what it becomes. A channel is read twice, which the first-level cache serves, so
       that there may be any number. */
    template <typename Own, typename Read, typename Put>
    CUDA_INLINE void relax(int channels, const Own &own, const Read &read, const Put &put) const
    {
        T factors[OP_HEAT_TAPS];

        conduct(channels, own, read, factors);
#pragma unroll 1
        for (int c = 0; c < channels; c++) {
            const T u = own(c);
            T sum = T(0);
#pragma unroll
            for (int k = 0; k < OP_HEAT_TAPS; k++) {
                if (k < tap_count) {
                    const T difference = jump(read(k, c), u);
                    sum = k == 0 ? factors[k] * difference : cuda_fma(factors[k], difference, sum);
                }
            }
            put(c, heat.reacts ? cuda_react(u + sum, heat.reaction, heat.remainder) : u + sum);
        }
    }

    CUDA_INLINE T jump(T value, T own) const
    {
        return missing ? cuda_present(value - own, T(0)) : value - own;
    }

    /* c·g(s) of every face. */
    template <typename Own, typename Read>
    CUDA_INLINE void conduct(int channels, const Own &own, const Read &read, T (&factors)[OP_HEAT_TAPS]) const
    {
#pragma unroll 1
        for (int c = 0; c < channels; c++) {
            const T u = own(c);
#pragma unroll
            for (int k = 0; k < OP_HEAT_TAPS; k++) {
                if (k < tap_count) {
                    const T q = jump(read(k, c), u) * heat.inverse_scale;
                    factors[k] = c == 0 ? q * q : cuda_fma(q, q, factors[k]);
                }
            }
        }
#pragma unroll
        for (int k = 0; k < OP_HEAT_TAPS; k++) {
            if (k < tap_count)
                factors[k] = taps[k].weight * (heat.flux == FLUX_PM1 ? cuda_pm1_joint(factors[k])
                                                                     : cuda_pm2_joint(factors[k]));
        }
    }
};

/* The seven-point star with all its taps: offsets are known to the compiler, weights are kernel parameters.
 */
template <typename T> struct cuda_star_filter {
    T weights[7]; /* in raster order */

    template <typename Reader> CUDA_INLINE T operator()(T own, const Reader &read) const
    {
        T sum = weights[0] * read(0, 0, -1);
        sum = cuda_fma(weights[1], read(0, -1, 0), sum);
        sum = cuda_fma(weights[2], read(-1, 0, 0), sum);
        sum = cuda_fma(weights[3], own, sum);
        sum = cuda_fma(weights[4], read(1, 0, 0), sum);
        sum = cuda_fma(weights[5], read(0, 1, 0), sum);
        return cuda_fma(weights[6], read(0, 0, 1), sum);
    }
};

/* The same for a picture, whose rows are planes: five taps. */
template <typename T> struct cuda_cross_filter {
    T weights[5]; /* in raster order */

    template <typename Reader> CUDA_INLINE T operator()(T own, const Reader &read) const
    {
        T sum = weights[0] * read(0, 0, -1);
        sum = cuda_fma(weights[1], read(-1, 0, 0), sum);
        sum = cuda_fma(weights[2], own, sum);
        sum = cuda_fma(weights[3], read(1, 0, 0), sum);
        return cuda_fma(weights[4], read(0, 0, 1), sum);
    }
};

/* The reach of an op's taps, for kernels that test whether a sample is near an edge. */
struct cuda_reach {
    struct reach x, row, plane;
    enum edge_rule rule;

    static CUDA_INLINE bool inside(struct reach reach, long long index, long long extent)
    {
        return index + reach.low >= 0 && index + reach.high < extent;
    }

    /* No tap of the sample reads outside the grid. */
    template <typename T>
    CUDA_INLINE bool interior(const cuda_view<T> &view, long long plane_index, int row_index,
                              int x_index) const
    {
        return inside(x, x_index, view.nx) && inside(row, row_index, view.rows) &&
               inside(plane, plane_index, view.planes);
    }
};

/* Indices [low, low + count) of an axis. */
struct cuda_indices {
    int low;
    unsigned count;

    CUDA_INLINE bool holds(int index) const
    {
        return static_cast<unsigned>(index - low) < count;
    }
};

/* The indices, counted from `first` on, whose taps do not leave [0, extent); none beyond −most or most. */
static inline struct cuda_indices cuda_interior(struct reach reach, long long extent, long long first,
                                                int most)
{
    const auto bounded = [most](long long index) {
        return index < -most ? -most : index < most ? index : most;
    };
    const long long low = bounded(-reach.low - first), end = bounded(extent - reach.high - first);

    return {static_cast<int>(low), low < end ? static_cast<unsigned>(end - low) : 0};
}

static inline struct cuda_reach cuda_reach_of(const struct op *op)
{
    return {op->x, op->row, op->plane, op->edge};
}

template <typename T> static inline cuda_edge<T> cuda_edge_of(const struct cuda_op *op)
{
    return {op->op->edge, static_cast<const T *>(op->outside)};
}

template <typename T> static inline cuda_heat<T> cuda_heat_of(const struct op *op)
{
    return {op->flux,   static_cast<T>(op->inverse_scale), static_cast<T>(op->rate),     op->inner,
            op->reacts, static_cast<T>(op->reaction),      static_cast<T>(op->remainder)};
}

template <typename T> static inline cuda_any_filter<T> cuda_any_filter_of(const struct cuda_op *op)
{
    return {op->op->kind, op->op->missing, static_cast<int>(op->op->tap_count),
            static_cast<const cuda_tap<T> *>(op->taps), cuda_heat_of<T>(op->op)};
}

template <typename T> static inline cuda_joint_filter<T> cuda_joint_filter_of(const struct cuda_op *op)
{
    return {op->op->missing, static_cast<int>(op->op->tap_count), static_cast<const cuda_tap<T> *>(op->taps),
            cuda_heat_of<T>(op->op)};
}

/* A linear op is a tap chain: OP_TAPS, and one linear relaxation without a reaction. Not where samples may be
   missing: what a tap reads then depends on the sample. */
static inline bool cuda_is_chain(const struct op *op)
{
    if (op->missing)
        return false;
    if (op->kind == OP_HEAT)
        return op->flux == FLUX_LINEAR && op->inner == 1 && !op->reacts;
    return op->kind == OP_TAPS;
}

/* The span of taps along an axis on both sides. */
static inline int cuda_span(struct reach reach)
{
    return reach.high - reach.low;
}

/* The index in a box of 3×3×3, in raster order, or −1 for a tap that lies outside. */
static inline int cuda_box_index(const struct op_tap *tap)
{
    if (tap->dx < -1 || tap->dx > 1 || tap->drow < -1 || tap->drow > 1 || tap->dplane < -1 || tap->dplane > 1)
        return -1;
    return (tap->dplane + 1) * 9 + (tap->drow + 1) * 3 + tap->dx + 1;
}

/* The places of the seven-point star in that box. */
static const int cuda_star_places[] = {4, 10, 12, 13, 14, 16, 22};

/* The index in that star, or −1 for a tap that lies outside. */
static inline int cuda_star_index(const struct op_tap *tap)
{
    int index = 6;

    while (index >= 0 && cuda_star_places[index] != cuda_box_index(tap))
        index--;
    return index;
}

/* Taps are distinct, none weighs 0, and they are in raster order: so to count them is enough. */

/* Whether an op is the whole star of a radius. */
static inline bool cuda_is_star(const struct op *op, int radius)
{
    return cuda_is_chain(op) && op_is_star(op) && op_radius(op) == radius &&
           op->tap_count == static_cast<size_t>(6 * radius + 1);
}

/* All of the 3×3×3 box. */
static inline bool cuda_is_full_box(const struct op *op)
{
    return cuda_is_chain(op) && op_radius(op) == 1 && op->tap_count == 27;
}

/* All of the five-point star of a picture, whose rows are planes. */
static inline bool cuda_is_full_cross(const struct op *op)
{
    return cuda_is_chain(op) && op_is_star(op) && op_radius(op) == 1 && cuda_span(op->row) == 0 &&
           op->tap_count == 5;
}

/* The passes of a joint op; in an average, those between the op that weighs and the one that divides. */
static inline const struct op *cuda_passes_of(const struct op *op)
{
    return op->passes + (op->weighed > 0 ? 1 : 0);
}

/* The weights of an op in the work type. */
template <typename T> static inline void cuda_copy_weights(const struct op *op, T *weights)
{
    for (size_t k = 0; k < op->tap_count; k++)
        weights[k] = static_cast<T>(op->taps[k].weight);
}

/* A filter whose weights are all that it holds. */
template <typename Filter> static inline Filter cuda_weights_of(const struct op *op)
{
    Filter filter;

    cuda_copy_weights(op, filter.weights);
    return filter;
}

/* Call act with a value of the work type. */
template <typename Act> static inline auto cuda_with_work(enum work_type work, const Act &act)
{
    return work == WORK_F32 ? act(float()) : act(double());
}

/* Call act with the constant of a number from Least to Most, in steps of Step. */
template <int Least, int Most, int Step, typename Act>
static inline auto cuda_with_number(int number, const Act &act)
{
    if constexpr (Most > Least) {
        if (number < Most)
            return cuda_with_number<Least, Most - Step, Step>(number, act);
    }
    return act(std::integral_constant<int, Most>());
}

/* The shape of the fields of a launch. */
static inline struct shape cuda_shape_of(const struct cuda_job *job)
{
    return cuda_with_work(job->op->op->work, [=](auto sample) {
        const auto &view = *static_cast<const cuda_view<decltype(sample)> *>(job->from);

        return (struct shape){static_cast<size_t>(view.nx),
                              static_cast<size_t>(view.rows),
                              static_cast<size_t>(view.planes),
                              static_cast<unsigned>(view.channels),
                              false,
                              work_sample(job->op->op->work)};
    });
}

/* Whether a filter other than cuda_any_filter serves the op. */
static inline bool cuda_knows_offsets(const struct op *op)
{
    return cuda_is_star(op, 1) || cuda_is_full_cross(op);
}

/* Call act with the filter that has most of the op compiled in. */
template <typename T, typename Act>
static inline auto cuda_with_filter(const struct cuda_op *op, const Act &act)
{
    if (cuda_is_star(op->op, 1))
        return act(cuda_weights_of<cuda_star_filter<T>>(op->op));
    if (cuda_is_full_cross(op->op))
        return act(cuda_weights_of<cuda_cross_filter<T>>(op->op));
    return act(cuda_any_filter_of<T>(op));
}
/* The same for an op that is not in a device's memory yet: only the filter's type counts. */
template <typename T, typename Act> static inline auto cuda_with_filter(const struct op *op, const Act &act)
{
    const struct cuda_op bare = {op, NULL, NULL};

    return cuda_with_filter<T>(&bare, act);
}

/* For forecasts: the operations of a flux as arith.h spells it, for each sample or each face. */
static inline double cuda_flux_operations(const struct op *op)
{
    const double faces = static_cast<double>(op->tap_count);
    const double division = 10, exponential = 28, hyperbolic = 26 + division;

    switch (op->flux) {
    case FLUX_TANH:
        return hyperbolic + 3;
    case FLUX_PM1:
        return faces * (exponential + 4) + 1;
    case FLUX_PM2:
        return faces * (division + 5) + 1;
    default:
        return 0;
    }
}

/* For forecasts: the first tap of a chain is one operation, each next one two. A gradient has a difference
   and a product before each, and a root behind. */
static inline double cuda_operations(const struct op *op)
{
    const double taps = static_cast<double>(op->tap_count), chain = 2.0 * taps - 1;
    const double reaction = 24, root = 10;

    if (op->kind == OP_GRADIENT)
        return 2.0 * taps + chain + root;
    if (op->kind != OP_HEAT)
        return chain;
    return static_cast<double>(op->inner) * (chain + cuda_flux_operations(op) + (op->reacts ? reaction : 0));
}

/* Give a reason and return false. */
static inline bool cuda_refuse(struct cuda_refusal *refusal, const char *format, ...) DIAG_PRINTF(2, 3);
static inline bool cuda_refuse(struct cuda_refusal *refusal, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(refusal->text, sizeof refusal->text, format, arguments);
    va_end(arguments);
    return false;
}

static inline long long cuda_ceil_divide(long long a, long long b)
{
    return (a + b - 1) / b;
}

static inline int cuda_larger(int a, int b)
{
    return a > b ? a : b;
}

/* Blocks of a one-dimensional grid; kernels stride over what is more. */
static inline unsigned cuda_blocks(long long work)
{
    const long long most = 0x7fffffff;

    return static_cast<unsigned>(work < most ? work : most);
}

/* More than 48 KiB of shared memory has to be asked for. */
template <typename Kernel> static inline cudaError_t cuda_permit_shared(Kernel *kernel, size_t bytes)
{
    if (bytes <= 48 * 1024)
        return cudaSuccess;
    return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

#endif
