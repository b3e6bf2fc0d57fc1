/* What the emulated GPU adds to its ways: fewer turns, for it is slow, and another order of threads in each.
 */
#include "emulation.h"
#include "ways.h"
#include "ways_cuda.h"

#include <string.h>

/* Blocks of many threads with many meetings are what takes time. */
static const struct {
    const char *rung;
    unsigned turns;
} slow[] = {{"fused", 40}, {"plane", 25}};

const unsigned ways_patience = 900;

unsigned ways_cuda_turns(const char *rung)
{
    unsigned turns = 12;

    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        if (rung == NULL || strcmp(rung, slow[i].rung) == 0)
            turns = slow[i].turns;
    }
    return turns;
}

bool ways_cuda_be_old(bool old)
{
    static struct emulation_device usual;
    struct emulation_device device = emulation_get_device();

    if (old) {
        usual = device;
        device.major = 7;
        device.minor = 0;
        device.shared_per_block_opt_in = device.shared_per_multiprocessor = (size_t)96 << 10;
    } else {
        device = usual;
    }
    emulation_set_device(&device);
    return true;
}

void ways_vary(uint64_t turn)
{
    emulation_set_order((enum emulation_order)(turn % 3), turn + 1);
    emulation_set_lazy_streams(turn / 3 % 2 == 1);
}

void ways_cuda_closing(void)
{
}
