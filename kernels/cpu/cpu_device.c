/* The CPU as a device: the kernels for its instruction set, and threads.
 *
 * cpu_kernels.c is compiled once for each level of x86-64 that the compiler knows (baseline, v3, v4) and each
 * work type; the fastest level that this processor runs is chosen when a device is opened. */
#include "cpu_device.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/threads.h"

#if defined HAVE_CPU_V3 || defined HAVE_CPU_V4
#include <cpuid.h>
#endif
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define ASSUMED_STACK_BYTES ((size_t)8 << 20) /* of a thread, if no limit says */

/* What takes a thread's time: taps, faces under pm1 and pm2, roots and tanh, ranks, and moving samples. */
enum effort { OF_TAPS, OF_FACES, OF_ROOTS, OF_RANKS, OF_MOVING, EFFORTS };

enum processor { ZEN5, ZEN4, XEON };

/* How many times as long as a core of a Zen 5 a thread takes, by effort and work type: medians over the
   filters. A Zen 4 computes vectors of 512 bits by halves. On the Xeon with AVX-512, all 16 threads computed,
   two on a core. Ranks stay in registers, where both are less slow. */
static const double times_of[][EFFORTS][2] = {
    [ZEN5] = {{1.0, 1.0}, {1.0, 1.0}, {1.0, 1.0}, {1.0, 1.0}, {1.0, 1.0}},
    [ZEN4] = {{1.9, 2.0}, {1.9, 2.25}, {1.65, 1.65}, {1.3, 1.3}, {1.0, 1.0}},
    [XEON] = {{4.6, 5.7}, {7.0, 8.0}, {4.6, 5.7}, {1.8, 2.2}, {4.6, 5.7}},
};

/* Fewer samples than this are not worth waking another thread for. */
#define SAMPLES_A_THREAD ((size_t)1 << 14)

/* How long multiply-adds are measured: waking the threads takes no visible share of it. */
#define MULTIPLYING_SECONDS 0.02

/* ---- the builds of the kernels ---- */

static bool always(void)
{
    return true;
}

/* The features of each level of x86-64 that the kernels use; not every compiler knows the levels' own names
 * here. */
#if defined HAVE_CPU_V3 || defined HAVE_CPU_V4
static bool has_v3(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}
#endif

#ifdef HAVE_CPU_V4
static bool has_v4(void)
{
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

/* The kernels of each work type, built for an instruction set; the fastest last. */
static const struct candidate {
    struct cpu_build build;
    bool (*runs_here)(void);
} builds[] = {
#define BUILD(isa, runs_here, times)                                                                         \
    {{#isa, {[WORK_F32] = &cpu_kernels_##isa##_f32, [WORK_F64] = &cpu_kernels_##isa##_f64}, times},          \
     runs_here},
    BUILD(baseline, always, 30.0)
#ifdef HAVE_CPU_V3
        BUILD(v3, has_v3, 1.45)
#endif
#ifdef HAVE_CPU_V4
            BUILD(v4, has_v4, 1.0)
#endif
#undef BUILD
};

#define BUILDS (sizeof builds / sizeof *builds)

/* Name the builds that run here, as in "baseline, v3 and v4". */
static void name_builds(char *text, size_t size)
{
    const char *names[BUILDS];
    size_t count = 0, length = 0;

    for (size_t i = 0; i < BUILDS; i++) {
        if (builds[i].runs_here())
            names[count++] = builds[i].build.name;
    }
    for (size_t i = 0; i < count && length < size; i++) {
        const char *before = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        length += (size_t)snprintf(text + length, size - length, "%s%s", before, names[i]);
    }
}

/* VOXFILT_ISA lets tests compare the builds on one machine. */
static const char *wanted_build(void)
{
    return getenv("VOXFILT_ISA");
}

const struct cpu_build *cpu_device_build(void)
{
    const char *wanted = wanted_build();

    for (size_t i = BUILDS; i-- > 0;) {
        if (builds[i].runs_here() && (wanted == NULL || strcmp(wanted, builds[i].build.name) == 0))
            return &builds[i].build;
    }
    return NULL;
}

/* Family 0x19 (0xf + 0xa) of AMD with AVX-512 is a Zen 4; a Zen 3 has the same family, but no AVX-512. Other
   processors of AMD are taken for a Zen 5, and all others for the Xeon. */
static enum processor processor_here(void)
{
#if defined HAVE_CPU_V3 || defined HAVE_CPU_V4
    unsigned version = 0, b, c, d;

    (void)__get_cpuid(1, &version, &b, &c, &d);
    if (__builtin_cpu_is("amd"))
        return (version >> 20 & 0xff) == 0xa && __builtin_cpu_supports("avx512f") ? ZEN4 : ZEN5;
#endif
    return XEON;
}

static enum effort effort_of(const struct op *op)
{
    if (op->kind == OP_RANK)
        return OF_RANKS;
    if (op->kind == OP_GRADIENT || op->flux == FLUX_TANH)
        return OF_ROOTS;
    return flux_conducts(op->flux) ? OF_FACES : OF_TAPS;
}

struct cpu_times cpu_device_times(const struct cpu_build *build, const struct op *op)
{
    const double(*times)[2] = times_of[processor_here()];

    return (struct cpu_times){.computing = build->times * times[effort_of(op)][op->work],
                              .moving = build->times * times[OF_MOVING][op->work]};
}

static bool choose_build(const struct cpu_build **build, struct fault *fault)
{
    char names[64] = "";

    *build = cpu_device_build();
    if (*build != NULL)
        return true;
    name_builds(names, sizeof names);
    return fault_raise(fault, STATUS_DEVICE, "VOXFILT_ISA: %s: this build on this machine has %s",
                       wanted_build(), names);
}

/* ---- the device ---- */

void cpu_device_close(struct device *device)
{
    pool_destroy(device->pool);
    mem_free(device);
}

/* Threads whose stacks fit into an address-space limit (ulimit -v), with most of it left for the data. */
static size_t affordable_threads(void)
{
    struct rlimit addresses, stack;
    size_t stack_bytes = ASSUMED_STACK_BYTES;

    if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY)
        stack_bytes = (size_t)stack.rlim_cur;
    return (size_t)addresses.rlim_cur / 4 / stack_bytes + 1;
}

/* The number of threads of a device. Their stacks take addresses that the data needs, too: a wish for too
   many is refused, and a default is lowered. */
static bool count_threads(const struct device_request *request, int *threads, struct fault *fault)
{
    size_t affordable = affordable_threads(), wanted = request->threads;

    if (wanted > affordable)
        return fault_raise(fault, STATUS_LIMIT,
                           "--threads: the stacks of %zu threads do not fit into the limited address space",
                           wanted);
    if (wanted == 0)
        wanted = thread_count(0);
    *threads = wanted < affordable ? (int)wanted : (int)affordable;
    return true;
}

bool cpu_device_open(struct device **result, const struct device_request *request, struct fault *fault)
{
    struct device *device = mem_zeroed(1, sizeof *device, "the device", fault);

    if (device == NULL)
        return false;
    *result = device;
    /* No pool: all loops run in the caller's thread. */
    if (request->plain) {
        device->build = &builds[0].build;
        device->threads = 1;
        return true;
    }
    device->asked = request->threads > 0;
    if (!count_threads(request, &device->threads, fault) || !choose_build(&device->build, fault) ||
        !pool_create(&device->pool, (unsigned)device->threads - 1, THREAD_FULL_STACK, fault)) {
        cpu_device_close(device);
        *result = NULL;
        return false;
    }
    return true;
}

bool cpu_device_describe(int index, char *text, size_t size)
{
    const struct cpu_build *build = cpu_device_build();
    size_t count = thread_processors();

    (void)index;
    snprintf(text, size, "%zu processor%s, %s instructions", count, number_plural(count),
             build == NULL ? "no such" : build->name);
    return true;
}

struct cpu_threads cpu_device_threads(const struct device *device, size_t samples)
{
    size_t worth = samples / SAMPLES_A_THREAD + 1;
    bool fewer = !device->asked && worth < (size_t)device->threads;

    return (struct cpu_threads){device->pool, fewer ? (unsigned)worth : (unsigned)device->threads};
}

/* Threads that measure how fast they multiply and add. */
struct multiplying {
    const struct cpu_kernels *kernels;
    double end;                 /* of the measurement, in seconds of the clock */
    atomic_uint_fast64_t count; /* of multiply-adds, by all threads */
};

static void multiply_until_end(void *context, size_t first, size_t count, unsigned member)
{
    struct multiplying *multiplying = context;
    uint64_t done = 0;

    (void)first, (void)count, (void)member;
    while (clock_seconds() < multiplying->end)
        (void)multiplying->kernels->multiply_add(0.5, &done);
    atomic_fetch_add(&multiplying->count, done);
}

/* All threads repeat bursts until the time is over, and count them. */
double cpu_device_multiply_adds(struct device *device, enum work_type work)
{
    const struct cpu_threads threads = {device->pool, (unsigned)device->threads};
    double start = clock_seconds();
    struct multiplying multiplying = {device->build->kernels[work], start + MULTIPLYING_SECONDS, 0};

    cpu_threads_share(&threads, threads.members, 1, multiply_until_end, &multiplying);
    return (double)atomic_load(&multiplying.count) / (clock_seconds() - start);
}
