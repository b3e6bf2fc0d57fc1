/* The devices of programs that test runs: emulated GPUs that share the planes of a run. */
#include "running_device.h"

#include "emulation.h"
#include "harness.h"

const char *running_device = "cuda:0,1";

unsigned running_turns(void)
{
    return 6 * harness_thinning();
}

/* So many GPUs, which reach each other's memory or do not, with streams that are eager or lazy. */
void running_vary(unsigned long run)
{
    static const char *const fleets[] = {"cuda:0,1", "cuda:2,0,1", "cuda:0,1,2,3,4"};
    struct emulation_device device = emulation_get_device();

    running_device = fleets[run % (sizeof fleets / sizeof *fleets)];
    device.count = 5;
    device.apart = (run ^ run >> 2) % 2 == 1;
    emulation_set_device(&device);
    emulation_set_lazy_streams(((run ^ run >> 1 ^ run >> 3) & 1) == 1);
}
