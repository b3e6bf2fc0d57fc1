/* The device of programs that test runs: an emulated GPU. */
#include "running_device.h"

#include "emulation.h"
#include "harness.h"

const char *running_device = "cuda";

unsigned running_turns(void)
{
    return 6 * harness_thinning();
}

/* Streams that do at once what they are asked, and such that do nothing before somebody waits for it, in an
   order that no pattern of runs meets. */
void running_vary(unsigned long run)
{
    emulation_set_lazy_streams(((run ^ run >> 1 ^ run >> 3) & 1) == 1);
}

void running_limit_memory(size_t bytes)
{
    static size_t usual;
    struct emulation_device device = emulation_get_device();

    if (usual == 0)
        usual = device.memory_bytes;
    device.memory_bytes = bytes > 0 ? bytes : usual;
    emulation_set_device(&device);
}

void running_refuse_locks(bool refuse)
{
    struct emulation_device device = emulation_get_device();

    device.unlockable = refuse;
    emulation_set_device(&device);
}
