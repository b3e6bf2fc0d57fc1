/* The builds of the kernels, one for each instruction set, and which of them runs. */
#ifndef CPU_BUILD_H
#define CPU_BUILD_H

#include "cpu_kernels.h"

struct cpu_build {
    const char *name;
    const struct cpu_kernels *kernels[2]; /* by work type */
};

/* The one without an instruction that some machine lacks. */
const struct cpu_build *cpu_build_plain(void);

/* The fastest that runs here, or the one that VOXFILT_ISA names; NULL where that does not run. */
const struct cpu_build *cpu_build_here(void);

/* The same, or what is to be had instead. */
bool cpu_build_choose(const struct cpu_build **build, struct fault *fault);

#endif
