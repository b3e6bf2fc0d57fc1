/* The rungs for volumes, alone on a device: each compared by bytes with a scalar reference of a few lines,
 * then timed against a copy from device to device in the same run.
 *
 *     kernels3d check [RUNG]         awkward extents × edge rules × types × ops; `smoke` takes fewer extents
 *     kernels3d time SIZE [RUNG [WxH [COARSEN]]]   medians, random data; SIZE is an extent, or X,ROWS,PLANES
 *
 * The status is 1 if a byte differs. */
#include "cuda_rung.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern const struct cuda_rung cuda_rung_naive, cuda_rung_tile, cuda_rung_march, cuda_rung_register,
    cuda_rung_plane, cuda_rung_fused;

static const struct cuda_rung *const rungs[] = {
    &cuda_rung_naive,    &cuda_rung_tile,  &cuda_rung_march,
    &cuda_rung_register, &cuda_rung_plane, &cuda_rung_fused,
};

static const char *const edge_names[] = {"reflect", "mirror", "nearest", "wrap", "constant", "hold"};

static void demand(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "kernels3d: %s: %s\n", what, cudaGetErrorString(status));
    exit(5);
}

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t random_bits()
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static double random_unit()
{
    return static_cast<double>(random_bits() >> 11) * 0x1p-53;
}

static struct cuda_limits limits_of_device()
{
    struct cuda_limits limits = {};
    cudaDeviceProp properties;

    demand(cudaGetDeviceProperties(&properties, 0), "properties");
    limits.multiprocessors = properties.multiProcessorCount;
    limits.threads_per_block = properties.maxThreadsPerBlock;
    limits.threads_per_multiprocessor = properties.maxThreadsPerMultiProcessor;
    limits.shared_per_block = properties.sharedMemPerBlockOptin;
    limits.shared_per_multiprocessor = properties.sharedMemPerMultiprocessor;
    limits.major = properties.major;
    limits.minor = properties.minor;
    limits.l2_bytes = properties.l2CacheSize;
    return limits;
}

/* ---- ops ---- */

/* An op with the memory of its taps. */
struct case_op {
    std::string name;
    struct op op;
    std::vector<struct op_tap> taps;
    std::vector<double> outside;
};

template <typename T> static double exact(double value)
{
    return static_cast<double>(static_cast<T>(value));
}

static struct reach widened(struct reach reach, int offset, bool both)
{
    return {std::min(reach.low, both ? -std::abs(offset) : offset),
            std::max(reach.high, both ? std::abs(offset) : offset)};
}

static void settle_reach(struct case_op *made)
{
    struct op *op = &made->op;
    const bool both = op->kind == OP_GRADIENT;

    op->x = op->row = op->plane = {0, 0};
    for (const struct op_tap &tap : made->taps) {
        op->x = widened(op->x, tap.dx, both);
        op->row = widened(op->row, tap.drow, both);
        op->plane = widened(op->plane, tap.dplane, both);
    }
}

/* Taps that `wanted` accepts of the box of a radius, in raster order, with random weights. */
template <typename T, typename Wanted> static void add_taps(struct case_op *made, int radius, Wanted wanted)
{
    for (int z = -radius; z <= radius; z++)
        for (int y = -radius; y <= radius; y++)
            for (int x = -radius; x <= radius; x++)
                if (wanted(x, y, z))
                    made->taps.push_back({x, y, z, exact<T>(0.05 + 0.2 * random_unit())});
}

static bool on_star(int x, int y, int z)
{
    return (x != 0) + (y != 0) + (z != 0) <= 1;
}

template <typename T> static void add_heat(struct case_op *made)
{
    struct op *op = &made->op;
    const std::string &name = made->name;

    op->kind = OP_HEAT;
    op->flux = name == "tanh" ? FLUX_TANH : name == "pm1" ? FLUX_PM1 : name == "pm2" ? FLUX_PM2 : FLUX_LINEAR;
    op->reacts = name == "react";
    op->inner = op->reacts ? 2 : 1;
    op->reaction = exact<T>(0.03);
    op->remainder = exact<T>(1 - op->reaction);
    add_taps<T>(made, 1, [&](int x, int y, int z) {
        return on_star(x, y, z) && (op->flux < FLUX_PM1 || x != 0 || y != 0 || z != 0);
    });
}

template <typename T> static void add_chain(struct case_op *made)
{
    const std::string &name = made->name;

    if (name == "seven")
        add_taps<T>(made, 1, on_star);
    else if (name == "cross")
        add_taps<T>(made, 1, [](int x, int y, int z) { return on_star(x, y, z) && y == 0; });
    else if (name == "flat")
        add_taps<T>(made, 1, [](int x, int y, int z) { return on_star(x, y, z) && z == 0; });
    else if (name == "backward")
        add_taps<T>(made, 1,
                    [](int x, int y, int z) { return on_star(x, y, z) && x <= 0 && y >= 0 && z != -1; });
    else if (name == "forward")
        add_taps<T>(made, 1,
                    [](int x, int y, int z) { return on_star(x, y, z) && x >= 0 && y <= 0 && z != 1; });
    else if (name == "square")
        add_taps<T>(made, 1, [](int, int y, int) { return y == 0; });
    else if (name == "box")
        add_taps<T>(made, 1, [](int, int, int) { return true; });
    else if (name == "holes")
        add_taps<T>(made, 1, [](int x, int y, int z) { return (x + 2 * y + z + 9) % 3 != 0; });
    else if (name == "star2")
        add_taps<T>(made, 2, on_star);
    else if (name == "star4")
        add_taps<T>(made, 4, on_star);
    else if (name == "far")
        made->taps = {{5, 0, -3, 0.25}, {0, -4, 0, -0.5}, {-6, 2, 1, 0.125}};
}

template <typename T> static void make_op(struct case_op *made, const char *name, enum edge_rule edge)
{
    struct op *op = &made->op;

    made->name = name;
    *op = {};
    op->kind = OP_TAPS;
    op->work = sizeof(T) == 4 ? WORK_F32 : WORK_F64;
    op->edge = edge;
    op->inner = 1;
    op->inverse_scale = exact<T>(1.7);
    op->rate = exact<T>(0.11);
    op->amount = exact<T>(0.7);
    if (made->name == "gradient") {
        op->kind = OP_GRADIENT;
        made->taps = {{1, 0, 0, 1}, {0, 1, 0, 1}, {0, 0, 1, 1}};
    } else if (made->name == "unsharp") {
        op->kind = OP_UNSHARP;
    } else if (made->name == "linear" || made->name == "tanh" || made->name == "pm1" || made->name == "pm2" ||
               made->name == "react") {
        add_heat<T>(made);
    } else {
        add_chain<T>(made);
    }
    settle_reach(made);
    for (int c = 0; c < 4; c++)
        made->outside.push_back(exact<T>(0.3 + c));
    op->taps = made->taps.data();
    op->tap_count = made->taps.size();
    op->outside = edge == EDGE_CONSTANT ? made->outside.data() : NULL;
}

/* ---- the reference ---- */

template <typename T> struct grid {
    struct shape shape;
    std::vector<T> samples; /* plane, channel, row, x; packed */

    T &at(long long p, int c, long long r, long long x)
    {
        return samples[((static_cast<size_t>(p) * shape.channels + c) * shape.rows + r) * shape.nx + x];
    }
};

#define BY_TYPE(name)                                                                                        \
    static float name##_of(float v)                                                                          \
    {                                                                                                        \
        return arith_##name##_f32(v);                                                                        \
    }                                                                                                        \
    static double name##_of(double v)                                                                        \
    {                                                                                                        \
        return arith_##name##_f64(v);                                                                        \
    }
BY_TYPE(tanh)
BY_TYPE(pm1)
BY_TYPE(pm2)
BY_TYPE(sin)
BY_TYPE(sqrt)

static float fma_of(float a, float b, float c)
{
    return arith_fma_f32(a, b, c);
}
static double fma_of(double a, double b, double c)
{
    return arith_fma_f64(a, b, c);
}

/* One sample of a grid, and what it reads. */
template <typename T> struct place {
    grid<T> &from, &kept;
    const struct op *op;
    long long p, r, x;
    int c;

    T read(const struct op_tap &tap, int sign)
    {
        const long long i = arith_edge_index(op->edge, p + sign * tap.dplane, from.shape.planes);
        const long long j = arith_edge_index(op->edge, r + sign * tap.drow, from.shape.rows);
        const long long k = arith_edge_index(op->edge, x + sign * tap.dx, from.shape.nx);
        if (i < 0 || j < 0 || k < 0)
            return op->edge == EDGE_CONSTANT ? static_cast<T>(op->outside[c]) : T(0);
        return from.at(i, c, j, k);
    }

    static bool inside(struct reach reach, long long i, long long n)
    {
        return i + reach.low >= 0 && i + reach.high < n;
    }

    T value()
    {
        const T u = from.at(p, c, r, x);
        if (op->edge == EDGE_HOLD &&
            !(inside(op->x, x, from.shape.nx) && inside(op->row, r, from.shape.rows) &&
              inside(op->plane, p, from.shape.planes)))
            return u;
        switch (op->kind) {
        case OP_UNSHARP:
            return fma_of(static_cast<T>(op->amount), kept.at(p, c, r, x) - u, kept.at(p, c, r, x));
        case OP_GRADIENT:
            return gradient();
        case OP_HEAT:
            return relaxed(u);
        default:
            return chain();
        }
    }

    T chain()
    {
        T sum = 0;
        for (size_t k = 0; k < op->tap_count; k++) {
            const T weight = static_cast<T>(op->taps[k].weight), v = read(op->taps[k], 1);
            sum = k == 0 ? weight * v : fma_of(weight, v, sum);
        }
        return sum;
    }

    T gradient()
    {
        T sum = 0;
        for (size_t k = 0; k < op->tap_count; k++) {
            const T slope = (read(op->taps[k], 1) - read(op->taps[k], -1)) * T(0.5);
            sum = k == 0 ? slope * slope : fma_of(slope, slope, sum);
        }
        return sqrt_of(sum);
    }

    T relaxed(T u)
    {
        const T inverse = static_cast<T>(op->inverse_scale);
        for (uint64_t n = 0; n < op->inner; n++) {
            T sum = 0;
            for (size_t k = 0; k < op->tap_count; k++) {
                const struct op_tap &tap = op->taps[k];
                const bool centre = tap.dx == 0 && tap.drow == 0 && tap.dplane == 0;
                T weight = static_cast<T>(tap.weight), v = centre ? u : read(tap, 1);
                if (op->flux == FLUX_PM1 || op->flux == FLUX_PM2) {
                    v = v - u;
                    weight = weight * (op->flux == FLUX_PM1 ? pm1_of(v * inverse) : pm2_of(v * inverse));
                }
                sum = k == 0 ? weight * v : fma_of(weight, v, sum);
            }
            u = op->flux == FLUX_LINEAR ? sum
                : op->flux == FLUX_TANH ? fma_of(static_cast<T>(op->rate), tanh_of(sum * inverse), u)
                                        : u + sum;
            if (op->reacts)
                u = fma_of(static_cast<T>(op->reaction), sin_of(u), static_cast<T>(op->remainder) * u);
        }
        return u;
    }
};

/* One step. */
template <typename T> static grid<T> reference(grid<T> &from, grid<T> &kept, const struct op *op)
{
    grid<T> to = from;

    for (long long p = 0; p < static_cast<long long>(from.shape.planes); p++)
        for (int c = 0; c < static_cast<int>(from.shape.channels); c++)
            for (long long r = 0; r < static_cast<long long>(from.shape.rows); r++)
                for (long long x = 0; x < static_cast<long long>(from.shape.nx); x++)
                    to.at(p, c, r, x) = place<T>{from, kept, op, p, r, x, c}.value();
    return to;
}

/* ---- fields ---- */

/* Planes of a grid in the device's memory. */
template <typename T> struct device_field {
    cuda_view<T> view;
    size_t bytes;

    device_field(const struct shape &shape, struct range planes)
    {
        const long long lane = CUDA_ROW_ALIGNMENT / sizeof(T);
        view.pitch = (static_cast<long long>(shape.nx) + lane - 1) / lane * lane;
        view.nx = static_cast<int>(shape.nx);
        view.rows = static_cast<int>(shape.rows);
        view.channels = static_cast<int>(shape.channels);
        view.planes = static_cast<long long>(shape.planes);
        view.first = static_cast<long long>(planes.first);
        view.count = static_cast<long long>(planes.count);
        bytes = static_cast<size_t>(view.plane_stride()) * planes.count * sizeof(T);
        demand(cudaMalloc(reinterpret_cast<void **>(&view.samples), bytes), "cudaMalloc");
    }
    ~device_field()
    {
        cudaFree(view.samples);
    }
    device_field(const device_field &) = delete;

    void put(grid<T> &from)
    {
        std::vector<T> packed(bytes / sizeof(T), T(7));
        each_row([&](long long p, int c, int r, size_t offset) {
            memcpy(&packed[offset], &from.at(p, c, r, 0), view.nx * sizeof(T));
        });
        demand(cudaMemcpy(view.samples, packed.data(), bytes, cudaMemcpyHostToDevice), "upload");
    }

    void get(grid<T> &to)
    {
        std::vector<T> packed(bytes / sizeof(T));
        demand(cudaMemcpy(packed.data(), view.samples, bytes, cudaMemcpyDeviceToHost), "download");
        each_row([&](long long p, int c, int r, size_t offset) {
            memcpy(&to.at(p, c, r, 0), &packed[offset], view.nx * sizeof(T));
        });
    }

    template <typename Act> void each_row(Act act)
    {
        for (long long p = view.first; p < view.first + view.count; p++)
            for (int c = 0; c < view.channels; c++)
                for (int r = 0; r < view.rows; r++)
                    act(p, c, r, static_cast<size_t>(view.row(p, c, r) - view.samples));
    }
};

/* What a launch reads of an op in the device's memory. */
template <typename T> struct device_op {
    struct cuda_op op;
    void *taps = NULL, *outside = NULL;

    explicit device_op(const struct op *from)
    {
        std::vector<cuda_tap<T>> list(from->tap_count + 1);
        T values[4] = {};
        for (size_t k = 0; k < from->tap_count; k++)
            list[k] = {from->taps[k].dx, from->taps[k].drow, from->taps[k].dplane,
                       static_cast<T>(from->taps[k].weight)};
        for (int c = 0; c < 4 && from->outside != NULL; c++)
            values[c] = static_cast<T>(from->outside[c]);
        demand(cudaMalloc(&taps, list.size() * sizeof list[0]), "cudaMalloc");
        demand(cudaMalloc(&outside, sizeof values), "cudaMalloc");
        demand(cudaMemcpy(taps, list.data(), list.size() * sizeof list[0], cudaMemcpyHostToDevice), "taps");
        demand(cudaMemcpy(outside, values, sizeof values, cudaMemcpyHostToDevice), "outside");
        op = {from, taps, from->outside == NULL ? NULL : outside};
    }
    ~device_op()
    {
        cudaFree(taps);
        cudaFree(outside);
    }
    device_op(const device_op &) = delete;
};

/* ---- checks ---- */

static long long checked, differing, refused;

static bool same_sample(float a, float b)
{
    return arith_bits_f32(arith_store_f32_f32(a)) == arith_bits_f32(arith_store_f32_f32(b));
}
static bool same_sample(double a, double b)
{
    return arith_bits_f64(arith_store_f64_f64(a)) == arith_bits_f64(arith_store_f64_f64(b));
}

template <typename T> static grid<T> random_grid(const struct shape &shape, bool wild)
{
    grid<T> made = {shape, std::vector<T>(shape.nx * shape.rows * shape.planes * shape.channels)};

    for (T &sample : made.samples)
        sample = static_cast<T>(random_unit() * 2 - 1);
    if (wild) {
        made.samples[random_bits() % made.samples.size()] = static_cast<T>(NAN);
        made.samples[random_bits() % made.samples.size()] = static_cast<T>(INFINITY);
        made.samples[random_bits() % made.samples.size()] = static_cast<T>(-0.0);
    }
    return made;
}

/* Planes that a launch may read. Rules other than wrap look back at most as far as the taps reach. */
static struct range reached(const struct op *op, int steps, size_t extent, struct range wanted)
{
    const long long radius = std::max(-op->plane.low, op->plane.high),
                    planes = static_cast<long long>(extent);
    const bool whole = op->edge == EDGE_WRAP || planes <= 2 * radius * (steps + 1);
    const long long low = whole ? 0 : std::max(0LL, static_cast<long long>(wanted.first) - steps * radius);
    const long long high =
        whole ? planes
              : std::min(planes, static_cast<long long>(wanted.first + wanted.count) + steps * radius);

    return {static_cast<size_t>(low), static_cast<size_t>(high - low)};
}

template <typename T>
static void compare(const struct cuda_rung *rung, const struct case_op &made, grid<T> &got, grid<T> &expected,
                    int steps, struct range planes)
{
    const struct shape &shape = got.shape;
    long long wrong = 0, at[4] = {};

    for (size_t p = planes.first; p < planes.first + planes.count; p++)
        for (unsigned c = 0; c < shape.channels; c++)
            for (size_t r = 0; r < shape.rows; r++)
                for (size_t x = 0; x < shape.nx; x++)
                    if (!same_sample(got.at(p, c, r, x), expected.at(p, c, r, x)) && wrong++ == 0) {
                        at[0] = static_cast<long long>(x);
                        at[1] = static_cast<long long>(r);
                        at[2] = static_cast<long long>(p);
                        at[3] = c;
                    }
    checked++;
    if (wrong == 0)
        return;
    if (differing++ < 40)
        printf("DIFFERS %s %s %s f%zu %zux%zux%zu steps %d planes %zu+%zu: %lld samples, the first at x %lld "
               "row %lld "
               "plane %lld channel %lld\n",
               rung->rung.name, made.name.c_str(), edge_names[made.op.edge], sizeof(T) * 8, shape.nx,
               shape.rows, shape.planes, steps, planes.first, planes.count, wrong, at[0], at[1], at[2],
               at[3]);
}

template <typename T>
static void check_launch(const struct cuda_rung *rung, const struct cuda_form *form,
                         const struct case_op &made, grid<T> &input, grid<T> &expected, int steps,
                         struct range planes)
{
    const struct shape &shape = input.shape;
    device_field<T> from(shape, reached(&made.op, steps, shape.planes, planes)), kept(shape, planes),
        to(shape, planes);
    device_op<T> on_device(&made.op);
    struct cuda_job job = {&on_device.op, form, &from.view, &kept.view, &to.view, planes, steps, 0};
    grid<T> got = input;

    from.put(input);
    kept.put(input);
    demand(cudaMemset(to.view.samples, 0xa5, to.bytes), "poison");
    demand(rung->launch(&job), rung->rung.name);
    demand(cudaDeviceSynchronize(), rung->rung.name);
    to.get(got);
    compare(rung, made, got, expected, steps, planes);
}

template <typename T>
static void check_case(const struct cuda_limits *limits, const char *only, const char *name,
                       enum edge_rule edge, const struct shape &shape, const struct cuda_wish &wish)
{
    struct case_op made;
    grid<T> input = random_grid<T>(shape, shape.nx % 2 == 1);
    std::vector<grid<T>> expected(1, input);

    make_op<T>(&made, name, edge);
    for (const struct cuda_rung *rung : rungs) {
        struct cuda_form form;
        char reason[200];
        if (only != NULL && strcmp(only, rung->rung.name) != 0)
            continue;
        if (!rung->shape(limits, &made.op, &shape, &wish, &form, reason, sizeof reason)) {
            refused++;
            continue;
        }
        for (int steps = 1; steps <= form.steps; steps++) {
            while (static_cast<int>(expected.size()) <= steps)
                expected.push_back(reference(expected.back(), input, &made.op));
            check_launch(rung, &form, made, input, expected[steps], steps, {0, shape.planes});
            if (shape.planes > 2)
                check_launch(rung, &form, made, input, expected[steps], steps,
                             {shape.planes / 3, std::max<size_t>(1, shape.planes / 2)});
        }
    }
}

static int check_all(const struct cuda_limits *limits, const char *only, bool small)
{
    const char *const names[] = {"seven", "cross", "square", "flat",     "backward", "forward", "box",
                                 "holes", "star2", "star4",  "far",      "nothing",  "linear",  "tanh",
                                 "pm1",   "pm2",   "react",  "gradient", "unsharp"};
    std::vector<struct shape> shapes = {{1, 1, 1, 1}, {2, 2, 2, 1},    {1, 5, 3, 1},   {3, 1, 7, 2},
                                        {9, 4, 6, 3}, {119, 23, 9, 1}, {130, 50, 5, 2}};
    struct cuda_wish none = {}, wide = {}, deep = {};

    if (!small)
        shapes.insert(shapes.end(), {{33, 7, 1, 1},
                                     {121, 40, 12, 1},
                                     {122, 41, 12, 1},
                                     {123, 48, 13, 1},
                                     {124, 49, 14, 1},
                                     {250, 97, 23, 1},
                                     {5, 3, 300, 1},
                                     {257, 2, 19, 1},
                                     {2, 131, 18, 1},
                                     {128, 1, 1, 1},
                                     {60, 64, 33, 1},
                                     {31, 33, 3, 1},
                                     {33, 31, 2, 1},
                                     {31, 1, 33, 3},
                                     {67, 1, 37, 1},
                                     {3, 31, 31, 2}});
    for (const struct shape &shape : shapes) {
        for (const char *name : names) {
            for (int edge = 0; edge < EDGE_RULES; edge++) {
                check_case<float>(limits, only, name, static_cast<enum edge_rule>(edge), shape, none);
                check_case<double>(limits, only, name, static_cast<enum edge_rule>(edge), shape, none);
            }
        }
    }
    /* More rows, planes or channels than one launch counts. */
    if (!small) {
        for (const struct shape &shape :
             std::vector<struct shape>{{1, 1, 530000, 1}, {3, 530000, 2, 1}, {1, 2, 3, 40000}}) {
            for (enum edge_rule edge : {EDGE_WRAP, EDGE_HOLD}) {
                for (const char *name : {"seven", "cross", "gradient"})
                    check_case<float>(limits, only, name, edge, shape, none);
            }
        }
    }
    wide.tile_x = wide.tile_y = 32;
    deep.coarsen = 5;
    for (const char *name : {"seven", "box", "star2", "pm1"}) {
        for (const struct cuda_wish &wish : {wide, deep}) {
            check_case<float>(limits, only, name, EDGE_REFLECT, {70, 37, 21, 1}, wish);
            check_case<double>(limits, only, name, EDGE_HOLD, {70, 37, 21, 1}, wish);
        }
    }
    printf("checked %lld launches, %lld differ; %lld refusals\n", checked, differing, refused);
    return differing == 0 ? 0 : 1;
}

/* ---- times ---- */

template <typename Act> static double median_seconds(Act act, int repetitions)
{
    std::vector<float> times;
    cudaEvent_t begin, end;

    demand(cudaEventCreate(&begin), "event");
    demand(cudaEventCreate(&end), "event");
    for (int n = 0; n < repetitions + 2; n++) {
        float ms = 0;
        demand(cudaEventRecord(begin, 0), "event");
        act();
        demand(cudaEventRecord(end, 0), "event");
        demand(cudaEventSynchronize(end), "event");
        demand(cudaEventElapsedTime(&ms, begin, end), "event");
        if (n >= 2)
            times.push_back(ms);
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    std::sort(times.begin(), times.end());
    return times[times.size() / 2] * 1e-3;
}

template <typename T> static void fill_random(device_field<T> &field)
{
    std::vector<T> noise(size_t(1) << 22);

    for (T &sample : noise)
        sample = static_cast<T>(random_unit());
    for (size_t done = 0; done < field.bytes; done += noise.size() * sizeof(T))
        demand(cudaMemcpy(reinterpret_cast<char *>(field.view.samples) + done, noise.data(),
                          std::min(field.bytes - done, noise.size() * sizeof(T)), cudaMemcpyHostToDevice),
               "noise");
}

template <typename T>
static void time_op(const struct cuda_limits *limits, const char *only, const char *name, enum edge_rule edge,
                    const struct shape &shape, const struct cuda_wish &wish)
{
    const struct range all = {0, shape.planes};
    const double samples = static_cast<double>(shape.nx * shape.rows * shape.planes);
    struct case_op made;
    device_field<T> from(shape, all), to(shape, all);

    make_op<T>(&made, name, edge);
    device_op<T> on_device(&made.op);
    fill_random(from);
    const double copy = median_seconds(
        [&] {
            demand(
                cudaMemcpyAsync(to.view.samples, from.view.samples, from.bytes, cudaMemcpyDeviceToDevice, 0),
                "copy");
        },
        9);
    printf("%s %s f%zu %zux%zux%zu: copy %.0f GB/s\n", name, edge_names[edge], sizeof(T) * 8, shape.nx,
           shape.rows, shape.planes, 2e-9 * static_cast<double>(from.bytes) / copy);
    for (const struct cuda_rung *rung : rungs) {
        struct cuda_form form;
        char reason[200];
        if (only != NULL && strcmp(only, rung->rung.name) != 0)
            continue;
        if (!rung->shape(limits, &made.op, &shape, &wish, &form, reason, sizeof reason)) {
            printf("    %-9s %s\n", rung->rung.name, reason);
            continue;
        }
        for (int steps = form.steps; steps >= 1; steps--) {
            struct cuda_job job = {&on_device.op, &form, &from.view, NULL, &to.view, all, steps, 0};
            const double seconds = median_seconds([&] { demand(rung->launch(&job), rung->rung.name); }, 9);
            printf("    %-9s %dx%d %d steps %9.3f ms %8.1f GCells/s, a pass %3.0f %% of copy\n",
                   rung->rung.name, form.tile_x, form.tile_y, steps, seconds * 1e3,
                   1e-9 * samples * steps / seconds, 100 * copy / seconds);
        }
    }
}

/* SIZE [RUNG [WxH [COARSEN]]] */
static void time_all(const struct cuda_limits *limits, int count, char **words)
{
    struct shape shape = {1, 1, 1, 1};
    struct cuda_wish wish = {};
    const char *only = count > 1 ? words[1] : NULL;

    if (sscanf(words[0], "%zu,%zu,%zu", &shape.nx, &shape.rows, &shape.planes) == 1)
        shape.rows = shape.planes = shape.nx;
    if (count > 2)
        sscanf(words[2], "%dx%d", &wish.tile_x, &wish.tile_y);
    wish.coarsen = count > 3 ? atoi(words[3]) : 0;
    const bool picture = shape.rows == 1;
    const std::vector<const char *> names = picture ? std::vector<const char *>{"cross", "square"}
                                                    : std::vector<const char *>{"seven", "box", "star2"};
    for (const char *name : names) {
        time_op<float>(limits, only, name, EDGE_REFLECT, shape, wish);
        time_op<double>(limits, only, name, EDGE_REFLECT, shape, wish);
    }
    time_op<float>(limits, only, names[0], EDGE_HOLD, shape, wish);
}

int main(int argc, char **argv)
{
    const struct cuda_limits limits = limits_of_device();

    if (argc >= 2 && (strcmp(argv[1], "check") == 0 || strcmp(argv[1], "smoke") == 0))
        return check_all(&limits, argc > 2 ? argv[2] : NULL, strcmp(argv[1], "smoke") == 0);
    if (argc >= 3 && strcmp(argv[1], "time") == 0) {
        time_all(&limits, argc - 2, argv + 2);
        return 0;
    }
    fprintf(stderr, "usage: kernels3d check [RUNG] | kernels3d time SIZE [RUNG [WxH [COARSEN]]]\n");
    return 2;
}
