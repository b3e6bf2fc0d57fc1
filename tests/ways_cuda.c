/* A GPU as ways, true or emulated: one for each of its kernels, and its own choice; besides, where the GPU
 * can be changed, one for each kernel that has other forms on other GPUs. */
#include "ways_cuda.h"

#include "fixture.h"
#include "ways.h"

#include <stdio.h>

#define MOST_WAYS 24

static const struct {
    const char *rung;
    enum ways_cuda_kind kind;
} changing[] = {{"fused", WAYS_CUDA_OLD},
                {"plane", WAYS_CUDA_OLD},
                {"passes", WAYS_CUDA_OLD},
                {"resident", WAYS_CUDA_LARGE}};

static const char *const suffixes[WAYS_CUDA_KINDS] = {"", " of an older GPU", " of a larger GPU"};

static struct way opened[MOST_WAYS];
static struct device *devices[WAYS_CUDA_KINDS];

const struct way *ways = opened;

static struct device *open_device(void)
{
    const struct device_request request = {.index = 0};
    struct device *device;
    struct fault fault;

    if (!backend_cuda.open(&device, &request, &fault))
        fixture_require(false, fault.text);
    return device;
}

static void name_way(struct way *way, enum ways_cuda_kind kind, const char *rung)
{
    snprintf(way->name, sizeof way->name, "%s%s", rung != NULL ? rung : "its own choice", suffixes[kind]);
    way->backend = &backend_cuda;
    way->device = devices[kind];
    way->rung = rung;
    way->turns = ways_cuda_turns(rung);
    way->of_large = ways_cuda_large_turns(rung);
    way->of_own = ways_cuda_own_turns(rung);
}

size_t ways_open(void)
{
    size_t count = 0;

    if (backend_cuda.count() == 0)
        return 0;
    devices[WAYS_CUDA_USUAL] = open_device();
    name_way(&opened[count++], WAYS_CUDA_USUAL, NULL);
    for (const struct rung *rung = backend_cuda.rungs; rung->name != NULL; rung++) {
        fixture_require(count < MOST_WAYS, "more rungs than ways");
        name_way(&opened[count++], WAYS_CUDA_USUAL, rung->name);
    }
    for (int kind = WAYS_CUDA_USUAL + 1; kind < WAYS_CUDA_KINDS; kind++) {
        if (ways_cuda_become((enum ways_cuda_kind)kind))
            devices[kind] = open_device();
    }
    ways_cuda_become(WAYS_CUDA_USUAL);
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++) {
        fixture_require(count < MOST_WAYS, "more rungs than ways");
        if (devices[changing[i].kind] != NULL)
            name_way(&opened[count++], changing[i].kind, changing[i].rung);
    }
    return count;
}

void ways_close(void)
{
    ways_cuda_closing();
    for (int kind = 0; kind < WAYS_CUDA_KINDS; kind++) {
        if (devices[kind] != NULL)
            backend_cuda.close(devices[kind]);
    }
}
