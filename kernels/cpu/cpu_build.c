/* The builds of the kernels. */
#include "cpu_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool always(void)
{
    return true;
}

/* What the levels of x86-64 add and the kernels use; no compiler names the levels themselves in this call
   everywhere. */
#ifdef HAVE_CPU_V3
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
#define BUILD(isa, runs_here)                                                                                \
    {{#isa, {[WORK_F32] = &cpu_kernels_##isa##_f32, [WORK_F64] = &cpu_kernels_##isa##_f64}}, runs_here},
    BUILD(baseline, always)
#ifdef HAVE_CPU_V3
        BUILD(v3, has_v3)
#endif
#ifdef HAVE_CPU_V4
            BUILD(v4, has_v4)
#endif
#undef BUILD
};

#define BUILDS (sizeof builds / sizeof *builds)

static const struct cpu_build *fastest_build(void)
{
    size_t i = BUILDS - 1;

    while (!builds[i].runs_here())
        i--;
    return &builds[i].build;
}

/* "baseline, v3 and v4": the builds that run here. */
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

const struct cpu_build *cpu_build_here(void)
{
    const char *wanted = wanted_build();

    if (wanted == NULL)
        return fastest_build();
    for (size_t i = 0; i < BUILDS; i++) {
        if (strcmp(wanted, builds[i].build.name) == 0 && builds[i].runs_here())
            return &builds[i].build;
    }
    return NULL;
}

const struct cpu_build *cpu_build_plain(void)
{
    return &builds[0].build;
}

bool cpu_build_choose(const struct cpu_build **build, struct fault *fault)
{
    char names[64] = "";

    *build = cpu_build_here();
    if (*build != NULL)
        return true;
    name_builds(names, sizeof names);
    return fault_raise(fault, STATUS_DEVICE, "VOXFILT_ISA: %s: this build on this machine has %s",
                       wanted_build(), names);
}
