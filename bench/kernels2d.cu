/* The picture rungs against a plain scalar reference, by bytes, and against the clock.
 *
 *   nvcc … bench/kernels2d.cu kernels/cuda/cuda_*.cu && ./kernels2d [check|time|all] [quick]
 *
 * Conversions and sums are compared with the CPU's own.
 * Fields are compared as they leave the device, NaNs alike whatever their payload. Times are medians of
 * device events over random data; the copy is a device-to-device copy of the same bytes in the same run. */
#include "arith.h"
#include "cuda_chain.cuh"
#include "cuda_convert.h"
#include "cuda_reduce.h"
extern "C" {
#include "cpu/cpu_kernels.h"
}

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern const struct cuda_rung cuda_rung_tile, cuda_rung_strip, cuda_rung_passes, cuda_rung_fused2;

static long failures, comparisons;

#define DEMAND(call) demand((call), #call)

static void demand(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    printf("FAILED %s: %s\n", what, cudaGetErrorString(error));
    exit(5);
}

/* ---- random numbers, the same on every machine ---- */

static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits()
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static double random_number()
{
    return static_cast<double>(random_bits() >> 11) * 0x1p-52 - 1.0;
}

/* ---- an op that owns its taps ---- */

template <typename T> struct owned_op {
    struct op op = {};
    std::vector<struct op_tap> taps;
    std::vector<double> outside;

    owned_op(enum op_kind kind, enum edge_rule edge, std::vector<struct op_tap> of, int channels) : taps(of)
    {
        op.kind = kind;
        op.work = sizeof(T) == 4 ? WORK_F32 : WORK_F64;
        op.edge = edge;
        op.inner = 1;
        for (int channel = 0; channel < channels; channel++)
            outside.push_back(static_cast<T>(0.75 + channel));
        for (auto &tap : taps) {
            tap.weight = static_cast<T>(tap.weight);
            widen(op.x, tap.dx);
            widen(op.row, tap.drow);
            widen(op.plane, tap.dplane);
        }
    }

    const struct op *settled()
    {
        op.taps = taps.data();
        op.tap_count = taps.size();
        op.outside = op.edge == EDGE_CONSTANT ? outside.data() : NULL;
        return &op;
    }

  private:
    static void widen(struct reach &reach, int offset)
    {
        reach.low = std::min(reach.low, offset);
        reach.high = std::max(reach.high, offset);
    }
};

typedef std::vector<struct op_tap> taps;

static double random_weight()
{
    double weight = random_number();

    return weight == 0 ? 1 : weight;
}

static taps box_taps(int low_x, int high_x, int low_y, int high_y, double gaps = 0)
{
    taps result;

    for (int y = low_y; y <= high_y; y++) {
        for (int x = low_x; x <= high_x; x++) {
            if (random_number() * 0.5 + 0.5 >= gaps)
                result.push_back({x, 0, y, random_weight()});
        }
    }
    if (result.empty())
        result.push_back({0, 0, 0, 1.5});
    return result;
}

static taps star_taps()
{
    return {{0, 0, -1, 0.11}, {-1, 0, 0, 0.13}, {0, 0, 0, 0.47}, {1, 0, 0, 0.17}, {0, 0, 1, 0.12}};
}

static taps line_taps(char axis, int low, int high, double gaps = 0)
{
    taps result;

    for (int i = low; i <= high; i++) {
        if (i != low && i != high && random_number() * 0.5 + 0.5 < gaps)
            continue;
        result.push_back({axis == 'x' ? i : 0, axis == 'y' ? i : 0, axis == 'z' ? i : 0, random_weight()});
    }
    return result;
}

/* ---- a grid on the host and the scalar reference ---- */

template <typename T> struct grid {
    long long nx, rows, planes;
    int channels;
    std::vector<T> samples;

    grid(long long x, long long r, long long p, int c)
        : nx(x), rows(r), planes(p), channels(c), samples(static_cast<size_t>(x * r * p * c))
    {
    }
    T &at(long long p, int c, long long r, long long x)
    {
        return samples[static_cast<size_t>(((p * channels + c) * rows + r) * nx + x)];
    }
    void randomise(bool specials)
    {
        for (auto &sample : samples)
            sample = static_cast<T>(random_number());
        if (specials && samples.size() > 3) {
            samples[random_bits() % samples.size()] = static_cast<T>(NAN);
            samples[random_bits() % samples.size()] = static_cast<T>(INFINITY);
            samples[random_bits() % samples.size()] = -T(0);
        }
    }
};

static float host_flux(enum flux flux, float q)
{
    return flux == FLUX_PM1 ? arith_pm1_f32(q) : arith_pm2_f32(q);
}
static double host_flux(enum flux flux, double q)
{
    return flux == FLUX_PM1 ? arith_pm1_f64(q) : arith_pm2_f64(q);
}
static float host_tanh(float v)
{
    return arith_tanh_f32(v);
}
static double host_tanh(double v)
{
    return arith_tanh_f64(v);
}
static float host_react(float u, float e, float r)
{
    return arith_react_f32(u, e, r);
}
static double host_react(double u, double e, double r)
{
    return arith_react_f64(u, e, r);
}
static float host_sqrt(float v)
{
    return sqrtf(v);
}
static double host_sqrt(double v)
{
    return sqrt(v);
}

template <typename T> struct scalar {
    const struct op &op;
    grid<T> &from;
    int c;
    long long p, r, x;

    T read(int dx, int drow, int dplane)
    {
        const long long i = arith_edge_index(op.edge, x + dx, from.nx);
        const long long j = arith_edge_index(op.edge, r + drow, from.rows);
        const long long k = arith_edge_index(op.edge, p + dplane, from.planes);

        if (i < 0 || j < 0 || k < 0)
            return op.edge == EDGE_CONSTANT ? static_cast<T>(op.outside[c]) : T(0);
        return from.at(k, c, j, i);
    }
    static bool out(struct reach reach, long long i, long long n)
    {
        return i + reach.low < 0 || i + reach.high >= n;
    }
    bool held()
    {
        return op.edge == EDGE_HOLD &&
               (out(op.x, x, from.nx) || out(op.row, r, from.rows) || out(op.plane, p, from.planes));
    }
    T chain()
    {
        T sum = 0;
        for (size_t k = 0; k < op.tap_count; k++) {
            const struct op_tap &tap = op.taps[k];
            const T v = read(tap.dx, tap.drow, tap.dplane), w = static_cast<T>(tap.weight);
            sum = k == 0 ? w * v : cuda_fma(w, v, sum);
        }
        return sum;
    }
    T heat()
    {
        T u = read(0, 0, 0);
        for (uint64_t n = 0; n < op.inner; n++) {
            T sum = 0;
            for (size_t k = 0; k < op.tap_count; k++) {
                const struct op_tap &tap = op.taps[k];
                const bool centre = tap.dx == 0 && tap.drow == 0 && tap.dplane == 0;
                T v = centre ? u : read(tap.dx, tap.drow, tap.dplane), w = static_cast<T>(tap.weight);
                if (op.flux == FLUX_PM1 || op.flux == FLUX_PM2) {
                    v = v - u;
                    w = w * host_flux(op.flux, v * static_cast<T>(op.inverse_scale));
                }
                sum = k == 0 ? w * v : cuda_fma(w, v, sum);
            }
            if (op.flux == FLUX_LINEAR)
                u = sum;
            else if (op.flux == FLUX_TANH)
                u = cuda_fma(static_cast<T>(op.rate), host_tanh(sum * static_cast<T>(op.inverse_scale)), u);
            else
                u = u + sum;
            if (op.reacts)
                u = host_react(u, static_cast<T>(op.reaction), static_cast<T>(op.remainder));
        }
        return u;
    }
    T gradient()
    {
        T sum = 0;
        for (size_t k = op.tap_count; k-- > 0;) {
            const struct op_tap &tap = op.taps[k];
            const T slope =
                (read(tap.dx, tap.drow, tap.dplane) - read(-tap.dx, -tap.drow, -tap.dplane)) * T(0.5);
            sum = k + 1 == op.tap_count ? slope * slope : cuda_fma(slope, slope, sum);
        }
        return host_sqrt(sum);
    }
    T result()
    {
        if (held())
            return read(0, 0, 0);
        return op.kind == OP_HEAT ? heat() : op.kind == OP_GRADIENT ? gradient() : chain();
    }
};

template <typename T> static void reference(const struct op &op, grid<T> &from, grid<T> &to)
{
#pragma omp parallel for collapse(3)
    for (long long p = 0; p < from.planes; p++)
        for (int c = 0; c < from.channels; c++)
            for (long long r = 0; r < from.rows; r++)
                for (long long x = 0; x < from.nx; x++)
                    to.at(p, c, r, x) = scalar<T>{op, from, c, p, r, x}.result();
}

/* ---- fields on the device ---- */

template <typename T> struct device_field {
    cuda_view<T> view;

    device_field(long long nx, long long rows, long long planes, int channels, long long first,
                 long long count)
    {
        const long long unit = CUDA_ROW_ALIGNMENT / sizeof(T);
        view = {NULL,
                (nx + unit - 1) / unit * unit,
                static_cast<int>(nx),
                static_cast<int>(rows),
                channels,
                planes,
                first,
                count};
        DEMAND(cudaMalloc(reinterpret_cast<void **>(&view.samples), bytes()));
        DEMAND(cudaMemset(view.samples, 0xff, bytes()));
    }
    ~device_field()
    {
        cudaFree(view.samples);
    }
    size_t bytes() const
    {
        return static_cast<size_t>(view.count * view.channels * view.rows * view.pitch) * sizeof(T);
    }
    size_t lines() const
    {
        return static_cast<size_t>(view.count * view.channels * view.rows);
    }
    void put(grid<T> &grid)
    {
        DEMAND(cudaMemcpy2D(view.samples, static_cast<size_t>(view.pitch) * sizeof(T),
                            &grid.at(view.first, 0, 0, 0), static_cast<size_t>(view.nx) * sizeof(T),
                            static_cast<size_t>(view.nx) * sizeof(T), lines(), cudaMemcpyHostToDevice));
    }
    void get(grid<T> &grid)
    {
        DEMAND(cudaMemcpy2D(&grid.at(view.first, 0, 0, 0), static_cast<size_t>(view.nx) * sizeof(T),
                            view.samples, static_cast<size_t>(view.pitch) * sizeof(T),
                            static_cast<size_t>(view.nx) * sizeof(T), lines(), cudaMemcpyDeviceToHost));
    }
};

template <typename T> struct device_op {
    struct cuda_op op;
    void *taps_memory = NULL, *outside_memory = NULL;

    device_op(const struct op *host)
    {
        std::vector<cuda_tap<T>> taps;
        std::vector<T> outside;

        for (size_t k = 0; k < host->tap_count; k++)
            taps.push_back({host->taps[k].dx, host->taps[k].drow, host->taps[k].dplane,
                            static_cast<T>(host->taps[k].weight)});
        DEMAND(cudaMalloc(&taps_memory, taps.size() * sizeof taps[0]));
        DEMAND(cudaMemcpy(taps_memory, taps.data(), taps.size() * sizeof taps[0], cudaMemcpyHostToDevice));
        if (host->outside != NULL) {
            for (int c = 0; c < 8; c++)
                outside.push_back(static_cast<T>(0.75 + c));
            DEMAND(cudaMalloc(&outside_memory, outside.size() * sizeof(T)));
            DEMAND(cudaMemcpy(outside_memory, outside.data(), outside.size() * sizeof(T),
                              cudaMemcpyHostToDevice));
        }
        op = {host, taps_memory, outside_memory};
    }
    ~device_op()
    {
        cudaFree(taps_memory);
        cudaFree(outside_memory);
    }
};

static struct cuda_limits device_limits()
{
    struct cuda_limits limits = {132, 1024, 2048, 227 * 1024, 228 * 1024, 9, 0, 50 << 20};
#ifndef CUDA_EMULATION
    cudaDeviceProp properties;
    DEMAND(cudaGetDeviceProperties(&properties, 0));
    limits = {properties.multiProcessorCount,
              properties.maxThreadsPerBlock,
              properties.maxThreadsPerMultiProcessor,
              properties.sharedMemPerBlockOptin,
              properties.sharedMemPerMultiprocessor,
              properties.major,
              properties.minor,
              properties.l2CacheSize};
#endif
    return limits;
}

/* ---- checks ---- */

static bool same(float a, float b)
{
    return arith_bits_f32(arith_store_f32_f32(a)) == arith_bits_f32(arith_store_f32_f32(b));
}
static bool same(double a, double b)
{
    return arith_bits_f64(arith_store_f64_f64(a)) == arith_bits_f64(arith_store_f64_f64(b));
}

template <typename T>
static void compare(const char *what, grid<T> &expected, grid<T> &got, long long first, long long count)
{
    comparisons++;
    for (long long p = first; p < first + count; p++)
        for (int c = 0; c < got.channels; c++)
            for (long long r = 0; r < got.rows; r++)
                for (long long x = 0; x < got.nx; x++)
                    if (!same(expected.at(p, c, r, x), got.at(p, c, r, x))) {
                        if (failures++ < 40)
                            printf("DIFFERS %s: plane %lld channel %d row %lld x %lld: %.9g, expected %.9g\n",
                                   what, p, c, r, x, static_cast<double>(got.at(p, c, r, x)),
                                   static_cast<double>(expected.at(p, c, r, x)));
                        return;
                    }
}

/* One op on one grid, all planes or some in the middle, against the reference. False if the rung does not
 * apply. */
template <typename T>
static bool check(const struct cuda_rung &rung, const char *name, owned_op<T> &owned, grid<T> &start,
                  int steps, struct cuda_wish wish, bool middle)
{
    const struct op *op = owned.settled();
    const struct cuda_limits limits = device_limits();
    const struct shape shape = {static_cast<size_t>(start.nx), static_cast<size_t>(start.rows),
                                static_cast<size_t>(start.planes), static_cast<unsigned>(start.channels)};
    struct cuda_form form;
    char reason[256], what[400];

    if (!rung.shape(&limits, op, &shape, &wish, &form, reason, sizeof reason))
        return false;
    steps = std::min(steps, form.steps);
    grid<T> expected = start, next = start, got = start;
    for (int step = 0; step < steps; step++) {
        reference(*op, expected, next);
        std::swap(expected.samples, next.samples);
    }

    long long first = 0, count = start.planes, held_first = 0, held_count = start.planes;
    if (middle && start.planes > 2) {
        first = start.planes / 3;
        count = std::max(1ll, start.planes / 3);
        if (op->edge != EDGE_WRAP) {
            held_first = std::max(0ll, first + steps * op->plane.low);
            held_count = std::min(start.planes, first + count + steps * op->plane.high) - held_first;
        }
    }
    device_field<T> from(start.nx, start.rows, start.planes, start.channels, held_first, held_count);
    device_field<T> to(start.nx, start.rows, start.planes, start.channels, first, count);
    device_op<T> on_device(op);
    from.put(start);
    const struct cuda_job job = {&on_device.op, &form,
                                 &from.view,    NULL,
                                 &to.view,      {static_cast<size_t>(first), static_cast<size_t>(count)},
                                 steps,         0};
    snprintf(what, sizeof what, "%s %s %s edge %d %lldx%lldx%lld*%d steps %d planes %lld+%lld",
             rung.rung.name, name, sizeof(T) == 4 ? "f32" : "f64", op->edge, start.nx, start.rows,
             start.planes, start.channels, steps, first, count);
    const cudaError_t error = rung.launch(&job);
    if (error != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) {
        printf("LAUNCH %s: %s\n", what,
               cudaGetErrorString(error != cudaSuccess ? error : cudaGetLastError()));
        exit(5);
    }
    to.get(got);
    compare(what, expected, got, first, count);
    return true;
}

struct extent {
    long long nx, rows, planes;
    int channels;
};

#ifdef CUDA_EMULATION
static const struct extent pictures[] = {{1, 1, 1, 1},   {2, 1, 1, 1},   {1, 1, 2, 2},   {3, 1, 5, 1},
                                         {31, 1, 33, 3}, {131, 1, 7, 1}, {270, 1, 40, 1}};
#else
static const struct extent pictures[] = {{1, 1, 1, 1},    {2, 1, 1, 1},    {1, 1, 2, 2},   {3, 1, 5, 1},
                                         {31, 1, 33, 3},  {64, 1, 65, 1},  {131, 1, 7, 2}, {5, 1, 130, 1},
                                         {257, 1, 99, 1}, {530, 1, 70, 1}, {300, 1, 61, 2}};
#endif
static const struct extent volumes[] = {
    {1, 1, 1, 1}, {7, 5, 3, 1}, {33, 17, 20, 1}, {530, 4, 18, 2}, {65, 40, 35, 1}};

template <typename T> static void check_taps(bool quick, bool only_fused)
{
    const int radii[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

    for (const auto &e : pictures) {
        for (int rule = 0; rule < EDGE_RULES; rule++) {
            const enum edge_rule edge = static_cast<enum edge_rule>(rule);
            for (int special = 0; special < 2; special++) {
                grid<T> start(e.nx, e.rows, e.planes, e.channels);
                start.randomise(special != 0);
                owned_op<T> star(OP_TAPS, edge, star_taps(), e.channels);
                owned_op<T> box(OP_TAPS, edge, box_taps(-1, 1, -1, 1), e.channels);
                owned_op<T> some(OP_TAPS, edge, box_taps(-1, 1, -1, 1, 0.5), e.channels);
                owned_op<T> side(OP_TAPS, edge, box_taps(0, 1, -1, 0), e.channels);
                for (int steps : {1, 2, 3, 5, 8, 11, 12}) {
                    if (quick && steps != 2 && steps != 12)
                        continue;
                    check(cuda_rung_fused2, "star", star, start, steps, {}, (steps & 1) != 0);
                    check(cuda_rung_fused2, "box", box, start, steps, {}, (steps & 1) == 0);
                    check(cuda_rung_fused2, "some", some, start, steps, {}, (steps & 1) != 0);
                    check(cuda_rung_fused2, "side", side, start, steps, {}, false);
                    struct cuda_wish short_strips = {};
                    short_strips.coarsen = 9;
                    check(cuda_rung_fused2, "star, strips of 9", star, start, steps, short_strips, false);
                }
                for (int r : radii) {
                    if (only_fused || (quick && r != 1 && r != 2 && r != 7 && r != 9 && r != 15))
                        continue;
                    owned_op<T> dense(OP_TAPS, edge, box_taps(-r, r, -r, r), e.channels);
                    struct cuda_wish tall = {};
                    tall.coarsen = 40;
                    check(cuda_rung_strip, "dense", dense, start, 1, {}, special != 0);
                    check(cuda_rung_strip, "dense, strips of 40", dense, start, 1, tall, false);
                    if (r <= 4) {
                        owned_op<T> gaps(OP_TAPS, edge, box_taps(-r, r, 1 - r, r, 0.4), e.channels);
                        check(cuda_rung_strip, "gaps", gaps, start, 1, {}, true);
                    }
                    if (r <= 3 || r == 15) {
                        check(cuda_rung_tile, "dense", dense, start, 1, {}, special != 0);
                        struct cuda_wish odd = {};
                        odd.tile_x = 25;
                        odd.tile_y = 7;
                        check(cuda_rung_tile, "dense 25x7", dense, start, 1, odd, false);
                    }
                }
            }
        }
    }
}

template <typename T> static void check_passes()
{
    std::vector<struct extent> all(volumes, volumes + sizeof volumes / sizeof *volumes);

    all.insert(all.end(), pictures, pictures + sizeof pictures / sizeof *pictures);
    for (const auto &e : all) {
        for (int rule = 0; rule < EDGE_RULES; rule++) {
            const enum edge_rule edge = static_cast<enum edge_rule>(rule);
            grid<T> start(e.nx, e.rows, e.planes, e.channels);
            start.randomise(rule % 2 != 0);
            for (char axis : {'x', 'y', 'z'}) {
                for (int r : {0, 1, 2, 3, 4, 7, 16, 41}) {
                    owned_op<T> dense(OP_TAPS, edge, line_taps(axis, -r, r), e.channels);
                    owned_op<T> gaps(OP_TAPS, edge, line_taps(axis, -r, r / 2, 0.4), e.channels);
                    const std::string name =
                        std::string("line along ") + axis + " radius " + std::to_string(r);
                    if (!check(cuda_rung_passes, name.c_str(), dense, start, 1, {}, r % 2 != 0))
                        failures++;
                    check(cuda_rung_passes, (name + " with gaps").c_str(), gaps, start, 1, {}, r % 2 == 0);
                }
            }
        }
    }
}

template <typename T> static void check_heat()
{
    const taps faces = {{0, 0, -1, 0.1}, {-1, 0, 0, 0.12}, {1, 0, 0, 0.12}, {0, 0, 1, 0.1}};
    const taps laplace = {{0, 0, -1, 1}, {-1, 0, 0, 1}, {0, 0, 0, -4}, {1, 0, 0, 1}, {0, 0, 1, 1}};

    for (const auto &e : pictures) {
        for (int rule = 0; rule < EDGE_RULES; rule++) {
            const enum edge_rule edge = static_cast<enum edge_rule>(rule);
            grid<T> start(e.nx, e.rows, e.planes, e.channels);
            start.randomise(rule % 2 != 0);
            for (int flux = 0; flux < FLUXES; flux++) {
                for (int inner : {1, 3}) {
                    const bool lone = flux == FLUX_PM1 || flux == FLUX_PM2;
                    owned_op<T> heat(OP_HEAT, edge,
                                     lone                ? faces
                                     : flux == FLUX_TANH ? laplace
                                                         : star_taps(),
                                     e.channels);
                    heat.op.flux = static_cast<enum flux>(flux);
                    heat.op.inverse_scale = static_cast<T>(1.0 / 0.3);
                    heat.op.rate = static_cast<T>(0.125 * 0.3);
                    heat.op.inner = static_cast<uint64_t>(inner);
                    heat.op.reacts = inner == 3;
                    heat.op.reaction = static_cast<T>(0.05);
                    heat.op.remainder = static_cast<T>(0.95);
                    check(cuda_rung_tile, "heat", heat, start, 1, {}, inner == 1);
                    struct cuda_wish small = {};
                    small.tile_x = small.tile_y = 12;
                    check(cuda_rung_tile, "heat 12x12", heat, start, 1, small, false);
                    for (int steps : {1, 3, 4})
                        check(cuda_rung_fused2, "heat", heat, start, steps, {}, steps == 3);
                }
            }
            owned_op<T> gradient(OP_GRADIENT, edge, {{0, 0, 1, 1}, {1, 0, 0, 1}}, e.channels);
            gradient.op.x = {-1, 1};
            gradient.op.plane = {-1, 1};
            check(cuda_rung_tile, "gradient", gradient, start, 1, {}, true);
        }
    }
}

/* ---- conversions and sums, against the CPU's ---- */

template <typename T> static struct field host_field(grid<T> &grid)
{
    struct field field = {};

    field.shape = {static_cast<size_t>(grid.nx), static_cast<size_t>(grid.rows),
                   static_cast<size_t>(grid.planes), static_cast<unsigned>(grid.channels)};
    field.work = sizeof(T) == 4 ? WORK_F32 : WORK_F64;
    field.planes = {0, field.shape.planes};
    field.samples = grid.samples.data();
    return field;
}

static void same_bytes(const char *what, const void *expected, const void *got, size_t size)
{
    comparisons++;
    if (memcmp(expected, got, size) != 0 && failures++ < 40)
        printf("DIFFERS %s\n", what);
}

/* Samples of a file: any bits, but floats are numbers now and then. */
static std::vector<unsigned char> random_file(enum sample_type type, size_t count, bool swapped)
{
    std::vector<unsigned char> bytes(count * sample_size(type));

    for (auto &byte : bytes)
        byte = static_cast<unsigned char>(random_bits());
    for (size_t i = 0; i < count && !sample_is_integer(type); i++) {
        const double value = i % 13 == 0 ? NAN : random_number() * 300;
        const float narrow = static_cast<float>(value);
        if (i % 7 != 0)
            memcpy(&bytes[i * sample_size(type)],
                   type == SAMPLE_F32 ? (const void *)&narrow : (const void *)&value, sample_size(type));
    }
    if (swapped)
        sample_swap(type, bytes.data(), count);
    return bytes;
}

template <typename T> static void check_convert()
{
    for (int type = 0; type < SAMPLE_TYPES; type++)
        for (int swapped = 0; swapped < 2; swapped++)
            for (unsigned channels : {1u, 2u, 3u, 4u})
                for (int curve = 0; curve < 3; curve++)
                    for (int mode = 0; mode < 3; mode++) {
                        struct encoding encoding = {};
                        encoding.type = static_cast<enum sample_type>(type);
                        encoding.swapped = swapped != 0;
                        encoding.channels = channels;
                        encoding.alpha = mode > 0 && channels % 2 == 0;
                        encoding.premultiply = mode > 1 && encoding.alpha;
                        encoding.transfer = static_cast<enum transfer>(curve);
                        encoding.gamma = 1 / 2.2;
                        if ((mode > 0 && !encoding.alpha) ||
                            (!sample_is_integer(encoding.type) && curve + mode > 0))
                            continue;
                        const bool picture = channels > 1;
                        grid<T> expected(131, picture ? 1 : 5, 9,
                                         static_cast<int>(encoding.alpha && encoding.premultiply
                                                              ? 2 * channels - 1
                                                              : channels));
                        grid<T> got = expected;
                        const size_t pixels =
                            static_cast<size_t>(expected.nx * expected.rows * expected.planes);
                        const auto file = random_file(encoding.type, pixels * channels, encoding.swapped);
                        struct field field = host_field(expected);
                        cpu_kernels_baseline.load(&field, &encoding, file.data(), field.planes, 1);

                        device_field<T> on_device(expected.nx, expected.rows, expected.planes,
                                                  expected.channels, 0, expected.planes);
                        void *packed;
                        unsigned long long *nans, nan_count = 0;
                        DEMAND(cudaMalloc(&packed, file.size()));
                        DEMAND(cudaMalloc(reinterpret_cast<void **>(&nans), sizeof *nans));
                        DEMAND(cudaMemset(nans, 0, sizeof *nans));
                        DEMAND(cudaMemcpy(packed, file.data(), file.size(), cudaMemcpyHostToDevice));
                        DEMAND(cuda_load_planes(&encoding, packed, on_device.view, field.planes, 0));
                        on_device.get(got);
                        char what[200];
                        snprintf(what, sizeof what, "load %s %s swapped %d channels %u curve %d mode %d",
                                 sample_name(encoding.type), sizeof(T) == 4 ? "f32" : "f64", swapped,
                                 channels, curve, mode);
                        compare(what, expected, got, 0, expected.planes);

                        for (auto &sample : expected.samples)
                            sample += static_cast<T>(random_number() *
                                                     (sample_is_integer(encoding.type) ? 3 : 1e-3));
                        for (size_t i = 0; i < expected.samples.size(); i += 29)
                            expected.samples[i] = static_cast<T>(NAN);
                        std::vector<unsigned char> back(file.size()), back_got(file.size());
                        const uint64_t nan_expected =
                            cpu_kernels_baseline.store(&field, &encoding, back.data(), field.planes, 1);
                        on_device.put(expected);
                        DEMAND(cuda_store_planes(&encoding, on_device.view, packed, field.planes, nans, 0));
                        DEMAND(cudaMemcpy(back_got.data(), packed, file.size(), cudaMemcpyDeviceToHost));
                        DEMAND(cudaMemcpy(&nan_count, nans, sizeof nan_count, cudaMemcpyDeviceToHost));
                        what[0] = 'S';
                        same_bytes(what, back.data(), back_got.data(), file.size());
                        if (nan_count != nan_expected && failures++ < 40)
                            printf("DIFFERS %s: %llu NaNs, expected %llu\n", what, nan_count,
                                   static_cast<unsigned long long>(nan_expected));
                        cudaFree(packed);
                        cudaFree(nans);
                    }
}

static std::vector<struct cuda_reduction> reductions()
{
    std::vector<struct cuda_reduction> all;
    char reason[200];

    for (int factor : {0, 1, 2, 4, 8, 16, 32}) {
        struct cuda_wish wish = {};
        struct cuda_reduction reduction;
        wish.coarsen = factor;
        if (cuda_reduction_settle(&wish, &reduction, reason, sizeof reason))
            all.push_back(reduction);
        wish.rung = "block";
        wish.stride = factor == 4 ? 3 : 0;
        if (cuda_reduction_settle(&wish, &reduction, reason, sizeof reason))
            all.push_back(reduction);
    }
    return all;
}

template <typename T> static void check_change()
{
    static const struct extent extents[] = {
        {1, 1, 1, 1}, {1023, 1, 5, 2}, {1024, 3, 2, 1}, {2500, 1, 7, 3}, {40, 33, 21, 1}};

    for (const auto &e : extents) {
        grid<T> a(e.nx, e.rows, e.planes, e.channels), b = a;
        a.randomise(false);
        b.randomise(false);
        device_field<T> on_a(e.nx, e.rows, e.planes, e.channels, 0, e.planes),
            on_b(e.nx, e.rows, e.planes, e.channels, 0, e.planes);
        on_a.put(a);
        on_b.put(b);
        struct field field_a = host_field(a), field_b = host_field(b);
        const unsigned channels = static_cast<unsigned>(e.channels);
        const struct range planes = {0, static_cast<size_t>(e.planes)};
        std::vector<double> rows(planes.count * channels * field_a.shape.rows), sums(planes.count * channels),
            got(sums.size());
        cpu_kernels_baseline.change_rows(&field_a, &field_b, channels, planes, rows.data(), 1);
        for (size_t i = 0; i < sums.size(); i++)
            for (size_t row = 0; row < field_a.shape.rows; row++)
                sums[i] += rows[i * field_a.shape.rows + row];
        void *scratch, *result;
        DEMAND(cudaMalloc(&scratch, cuda_change_scratch(&field_a.shape, planes.count)));
        DEMAND(cudaMalloc(&result, sums.size() * sizeof(double)));
        for (const auto &reduction : reductions()) {
            char what[200];
            DEMAND(cuda_change(&reduction, on_a.view, on_b.view, e.channels, planes, scratch,
                               static_cast<double *>(result), 0));
            DEMAND(cudaMemcpy(got.data(), result, sums.size() * sizeof(double), cudaMemcpyDeviceToHost));
            snprintf(what, sizeof what, "change %lldx%lldx%lld block %d factor %d", e.nx, e.rows, e.planes,
                     reduction.by_blocks, reduction.factor);
            same_bytes(what, sums.data(), got.data(), sums.size() * sizeof(double));
        }
        cudaFree(scratch);
        cudaFree(result);
    }
}

static bool same_tally(const struct tally &a, const struct tally &b)
{
    return a.count == b.count && a.nans == b.nans && a.min == b.min && a.max == b.max && same(a.sum, b.sum) &&
           same(a.squares, b.squares) && same(a.energy, b.energy) && a.anchor == b.anchor;
}

static void check_survey()
{
    for (int type = 0; type < SAMPLE_TYPES; type++)
        for (unsigned channels : {1u, 3u}) {
            struct encoding encoding = {};
            encoding.type = static_cast<enum sample_type>(type);
            encoding.swapped = channels == 3;
            encoding.channels = channels;
            const struct shape shape = {1500, 3, 4, channels};
            const size_t rows = shape.planes * channels * shape.rows;
            const auto file =
                random_file(encoding.type, shape.nx * shape.rows * shape.planes * channels, encoding.swapped);
            const std::vector<double> anchors = {1.5, -3.0, 100.0};
            std::vector<struct tally> of_rows(rows), expected(shape.planes * channels), got(expected.size());
            for (size_t i = 0; i < rows; i++) {
                of_rows[i] = {};
                of_rows[i].min = INFINITY;
                of_rows[i].max = -INFINITY;
                of_rows[i].anchor = anchors[i / shape.rows % channels];
            }
            cpu_kernels_baseline.survey_rows(&encoding, &shape, file.data(), shape.planes, of_rows.data(), 1);
            for (size_t i = 0; i < expected.size(); i++) {
                struct tally &total = expected[i];
                total = {};
                total.min = INFINITY;
                total.max = -INFINITY;
                total.anchor = anchors[i % channels];
                for (size_t row = 0; row < shape.rows; row++) {
                    const struct tally &part = of_rows[i * shape.rows + row];
                    total.count += part.count;
                    total.nans += part.nans;
                    total.min = fmin(total.min, part.min);
                    total.max = fmax(total.max, part.max);
                    total.sum += part.sum;
                    total.squares += part.squares;
                    total.energy += part.energy;
                }
            }
            void *scratch, *result, *packed, *on_anchors;
            DEMAND(cudaMalloc(&scratch, cuda_survey_scratch(&shape, shape.planes)));
            DEMAND(cudaMalloc(&result, got.size() * sizeof got[0]));
            DEMAND(cudaMalloc(&packed, file.size()));
            DEMAND(cudaMalloc(&on_anchors, sizeof(double) * 3));
            DEMAND(cudaMemcpy(packed, file.data(), file.size(), cudaMemcpyHostToDevice));
            DEMAND(cudaMemcpy(on_anchors, anchors.data(), sizeof(double) * 3, cudaMemcpyHostToDevice));
            for (const auto &reduction : reductions()) {
                DEMAND(cuda_survey(&reduction, &encoding, &shape, packed, shape.planes,
                                   static_cast<double *>(on_anchors), scratch,
                                   static_cast<struct tally *>(result), 0));
                DEMAND(cudaMemcpy(got.data(), result, got.size() * sizeof got[0], cudaMemcpyDeviceToHost));
                for (size_t i = 0; i < got.size(); i++) {
                    comparisons++;
                    if (!same_tally(expected[i], got[i]) && failures++ < 40)
                        printf("DIFFERS survey %s block %d factor %d: sum %.17g, expected %.17g\n",
                               sample_name(encoding.type), reduction.by_blocks, reduction.factor, got[i].sum,
                               expected[i].sum);
                }
            }
            cudaFree(scratch);
            cudaFree(result);
            cudaFree(packed);
            cudaFree(on_anchors);
        }
}

/* ---- times ---- */

#ifndef CUDA_EMULATION

struct timing {
    std::string name;
    double ms, rate, share;
};
static std::vector<struct timing> timings;

template <typename F> static double median_ms(F launch)
{
    std::vector<float> times;
    cudaEvent_t begin, end;

    DEMAND(cudaEventCreate(&begin));
    DEMAND(cudaEventCreate(&end));
    for (int i = 0; i < 13; i++) {
        float ms;
        DEMAND(cudaEventRecord(begin));
        launch();
        DEMAND(cudaEventRecord(end));
        DEMAND(cudaEventSynchronize(end));
        DEMAND(cudaEventElapsedTime(&ms, begin, end));
        if (i >= 2)
            times.push_back(ms);
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

template <typename T> struct stage {
    device_field<T> from, to;
    double copy_ms;

    stage(long long nx, long long rows, long long planes)
        : from(nx, rows, planes, 1, 0, planes), to(nx, rows, planes, 1, 0, planes)
    {
        std::vector<T> noise(1 << 22);
        for (auto &value : noise)
            value = static_cast<T>(random_number());
        for (size_t done = 0; done < from.bytes();) {
            const size_t part = std::min(from.bytes() - done, noise.size() * sizeof(T));
            DEMAND(cudaMemcpy(reinterpret_cast<char *>(from.view.samples) + done, noise.data(), part,
                              cudaMemcpyHostToDevice));
            done += part;
        }
        copy_ms = median_ms([&] {
            DEMAND(
                cudaMemcpyAsync(to.view.samples, from.view.samples, from.bytes(), cudaMemcpyDeviceToDevice));
        });
        printf("copy of %zu MiB: %.3f ms, %.0f GB/s\n", from.bytes() >> 20, copy_ms,
               2e-6 * static_cast<double>(from.bytes()) / copy_ms);
    }

    void time(const struct cuda_rung &rung, const std::string &name, owned_op<T> owned,
              struct cuda_wish wish = {}, int steps = 0)
    {
        const struct op *op = owned.settled();
        const struct cuda_limits limits = device_limits();
        const struct shape shape = {static_cast<size_t>(from.view.nx), static_cast<size_t>(from.view.rows),
                                    static_cast<size_t>(from.view.planes), 1};
        struct cuda_form form;
        char reason[256];
        device_op<T> on_device(op);

        if (!rung.shape(&limits, op, &shape, &wish, &form, reason, sizeof reason)) {
            printf("%s: %s\n", name.c_str(), reason);
            return;
        }
        if (steps == 0)
            steps = form.steps;
        const struct cuda_job job = {&on_device.op,     &form, &from.view, NULL, &to.view,
                                     {0, shape.planes}, steps, 0};
        const double ms = median_ms([&] { DEMAND(rung.launch(&job)); });
        const double samples = static_cast<double>(shape.nx * shape.rows * shape.planes);
        timings.push_back({std::string(rung.rung.name) + " " + name + (sizeof(T) == 4 ? " f32" : " f64") +
                               " steps " + std::to_string(steps) + " coarsen " + std::to_string(form.coarsen),
                           ms, samples * steps / ms * 1e-6, copy_ms / ms});
    }
};

static owned_op<float> square(int r)
{
    return owned_op<float>(OP_TAPS, EDGE_REFLECT, box_taps(-r, r, -r, r), 1);
}

static void time_pictures()
{
    const long long n = 16384;
    {
        stage<float> stage(n, 1, n);
        for (int r : {1, 2, 3, 4, 5, 7, 9, 15})
            stage.time(cuda_rung_strip, std::to_string(2 * r + 1), square(r));
        for (int coarsen : {8, 16, 24, 32, 48, 128, 256}) {
            struct cuda_wish wish = {};
            wish.coarsen = coarsen;
            stage.time(cuda_rung_strip, "3", square(1), wish);
            stage.time(cuda_rung_strip, "5", square(2), wish);
            stage.time(cuda_rung_strip, "11", square(5), wish);
            stage.time(cuda_rung_strip, "15", square(7), wish);
            stage.time(cuda_rung_fused2, "star", owned_op<float>(OP_TAPS, EDGE_REFLECT, star_taps(), 1),
                       wish);
        }
        stage.time(cuda_rung_strip, "5 with gaps",
                   owned_op<float>(OP_TAPS, EDGE_REFLECT, box_taps(-2, 2, -2, 2, 0.5), 1));
        for (enum edge_rule edge : {EDGE_REFLECT, EDGE_HOLD, EDGE_WRAP})
            stage.time(cuda_rung_fused2, "star edge " + std::to_string(edge),
                       owned_op<float>(OP_TAPS, edge, star_taps(), 1));
        for (int steps : {1, 4, 8, 10, 11})
            stage.time(cuda_rung_fused2, "star", owned_op<float>(OP_TAPS, EDGE_REFLECT, star_taps(), 1), {},
                       steps);
        stage.time(cuda_rung_fused2, "box", square(1));
        stage.time(cuda_rung_fused2, "some",
                   owned_op<float>(OP_TAPS, EDGE_REFLECT, box_taps(0, 1, -1, 0), 1));
        stage.time(cuda_rung_tile, "3", square(1));
        stage.time(cuda_rung_tile, "7", square(3));
        for (int r : {1, 4, 8, 16, 40}) {
            stage.time(cuda_rung_passes, "x " + std::to_string(r),
                       owned_op<float>(OP_TAPS, EDGE_REFLECT, line_taps('x', -r, r), 1));
            stage.time(cuda_rung_passes, "planes " + std::to_string(r),
                       owned_op<float>(OP_TAPS, EDGE_REFLECT, line_taps('z', -r, r), 1));
        }
        for (const auto &reduction : reductions()) {
            const struct shape shape = {static_cast<size_t>(n), 1, static_cast<size_t>(n), 1};
            void *scratch, *sums;
            DEMAND(cudaMalloc(&scratch, cuda_change_scratch(&shape, shape.planes)));
            DEMAND(cudaMalloc(&sums, shape.planes * sizeof(double)));
            const double ms = median_ms([&] {
                DEMAND(cuda_change(&reduction, stage.from.view, stage.to.view, 1, {0, shape.planes}, scratch,
                                   static_cast<double *>(sums), 0));
            });
            timings.push_back({std::string("change by ") + (reduction.by_blocks ? "block" : "thread") +
                                   " factor " + std::to_string(reduction.factor) + " stride " +
                                   std::to_string(reduction.stride),
                               ms, static_cast<double>(n) * n / ms * 1e-6, stage.copy_ms / ms});
            cudaFree(scratch);
            cudaFree(sums);
        }
        owned_op<float> tanh_heat(OP_HEAT, EDGE_REFLECT, star_taps(), 1);
        tanh_heat.op.flux = FLUX_TANH;
        tanh_heat.op.inverse_scale = 2;
        tanh_heat.op.rate = 0.0625;
        stage.time(cuda_rung_tile, "heat tanh", tanh_heat);
        stage.time(cuda_rung_fused2, "heat tanh", tanh_heat);
    }
    {
        stage<double> stage(n, 1, n);
        stage.time(cuda_rung_fused2, "star", owned_op<double>(OP_TAPS, EDGE_REFLECT, star_taps(), 1));
        stage.time(cuda_rung_fused2, "box",
                   owned_op<double>(OP_TAPS, EDGE_REFLECT, box_taps(-1, 1, -1, 1), 1));
        stage.time(cuda_rung_strip, "3", owned_op<double>(OP_TAPS, EDGE_REFLECT, box_taps(-1, 1, -1, 1), 1));
        stage.time(cuda_rung_strip, "9", owned_op<double>(OP_TAPS, EDGE_REFLECT, box_taps(-4, 4, -4, 4), 1));
        stage.time(cuda_rung_passes, "x 4",
                   owned_op<double>(OP_TAPS, EDGE_REFLECT, line_taps('x', -4, 4), 1));
        stage.time(cuda_rung_passes, "planes 4",
                   owned_op<double>(OP_TAPS, EDGE_REFLECT, line_taps('z', -4, 4), 1));
    }
    {
        stage<float> stage(1024, 1024, 256);
        stage.time(cuda_rung_passes, "rows 4",
                   owned_op<float>(OP_TAPS, EDGE_REFLECT, line_taps('y', -4, 4), 1));
        stage.time(cuda_rung_passes, "planes 4 of a volume",
                   owned_op<float>(OP_TAPS, EDGE_REFLECT, line_taps('z', -4, 4), 1));
    }
}

#endif

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    const std::string what = argc > 1 ? argv[1] : "all";
    const bool quick = argc > 2;

    if (what != "time") {
        check_convert<float>();
        check_convert<double>();
        check_change<float>();
        check_change<double>();
        check_survey();
        printf("conversions and sums: %ld comparisons, %ld differ\n", comparisons, failures);
        fflush(stdout);
        if (what == "sums")
            return failures > 0;
        if (what != "fused") {
            check_passes<float>();
            check_passes<double>();
        }
        check_heat<float>();
        check_heat<double>();
        check_taps<float>(quick, what == "fused");
        check_taps<double>(quick, what == "fused");
        printf("%ld comparisons, %ld differ\n", comparisons, failures);
        if (failures > 0)
            return 1;
    }
#ifndef CUDA_EMULATION
    if (what != "check") {
        time_pictures();
        printf("%-60s %9s %12s %8s\n", "rung", "ms", "G/s", "of copy");
        for (const auto &t : timings)
            printf("%-60s %9.3f %12.1f %8.2f\n", t.name.c_str(), t.ms, t.rate, t.share);
    }
#endif
    return 0;
}
