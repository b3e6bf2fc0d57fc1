/* What the emulated GPU adds to its ways: fewer turns, for it is slow, and another order of threads in each.
 */
#include "emulation.h"
#include "harness.h"
#include "ways.h"
#include "ways_cuda.h"

#include <string.h>

/* Blocks of many threads with many meetings are what takes time. */
static const struct {
    const char *rung;
    unsigned turns;
} slow[] = {{"fused", 40}, {"plane", 25}, {"resident", 25}};

/* Tiles of theirs lie side by side in small grids as well. */
static const char *const small[] = {"naive", "tile", "march", "register"};

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

unsigned ways_cuda_large_turns(const char *rung)
{
    for (size_t i = 0; i < sizeof small / sizeof *small && rung != NULL; i++) {
        if (strcmp(rung, small[i]) == 0)
            return 8;
    }
    return 1;
}

/* A third of those launches every kernel that all of them do. Other rungs have kernels that few trials are
   for, and a thinned run leaves most trials out as it is. */
unsigned ways_cuda_own_turns(const char *rung)
{
    bool many = rung != NULL && (strcmp(rung, "plane") == 0 || strcmp(rung, "strip") == 0);

    return harness_thinning() == 1 && many ? 3 : 1;
}

/* As it was before it became anything else. */
static const struct emulation_device *usual_device(void)
{
    static struct emulation_device usual;
    static bool known;

    if (!known)
        usual = emulation_get_device();
    known = true;
    return &usual;
}

bool ways_cuda_become(enum ways_cuda_kind kind)
{
    struct emulation_device device = *usual_device();

    /* A GPU that is an older one already has limits of its own (CUDA_EMULATION_CAPABILITY). */
    if (kind == WAYS_CUDA_OLD && device.major < 9)
        return false;
    if (kind == WAYS_CUDA_OLD) {
        device.major = 7;
        device.minor = 0;
        device.shared_per_block_opt_in = device.shared_per_multiprocessor = (size_t)96 << 10;
    }
    if (kind == WAYS_CUDA_LARGE)
        device.multiprocessors = 20;
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
