/* What a true GPU adds to its ways: nothing is left out. */
#include "ways.h"
#include "ways_cuda.h"

/* Page-locked memory takes a driver longer than a trial takes the kernels. */
static struct {
    const struct way *way;
    struct staging *staging;
    size_t bytes;
} kept;

const unsigned ways_patience = 600;

unsigned ways_cuda_turns(const char *rung)
{
    (void)rung;
    return 1;
}

unsigned ways_cuda_large_turns(const char *rung)
{
    (void)rung;
    return 1;
}

unsigned ways_cuda_own_turns(const char *rung)
{
    (void)rung;
    return 1;
}

bool ways_cuda_become(enum ways_cuda_kind kind)
{
    (void)kind;
    return false;
}

void ways_vary(uint64_t turn)
{
    (void)turn;
}

struct staging *ways_take_staging(const struct way *way, size_t bytes, struct fault *fault)
{
    if (bytes > kept.bytes) {
        ways_cuda_closing();
        kept.way = way;
        kept.staging = way->backend->staging_create(way->device, 2 * bytes, NULL, fault);
        kept.bytes = kept.staging == NULL ? 0 : 2 * bytes;
    }
    return kept.staging;
}

void ways_leave_staging(const struct way *way, struct staging *staging)
{
    (void)way, (void)staging;
}

void ways_cuda_closing(void)
{
    if (kept.staging != NULL)
        kept.way->backend->staging_destroy(kept.way->device, kept.staging);
    kept.staging = NULL;
    kept.bytes = 0;
}
