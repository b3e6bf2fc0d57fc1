/* A GPU as ways, true or emulated: one for each of its kernels, and its own choice; besides, where the GPU
 * can be changed, one for each kernel that has other forms for older ones. */
#include "ways_cuda.h"

#include "fixture.h"
#include "ways.h"

#include <stdio.h>

#define MOST_WAYS 24

static const char *const changing_rungs[] = {"fused", "plane"};

static struct way opened[MOST_WAYS];
static struct device *usual_device, *old_device;

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

static void name_way(struct way *way, struct device *device, const char *rung)
{
    snprintf(way->name, sizeof way->name, "%s%s", rung != NULL ? rung : "its own choice",
             device == usual_device ? "" : " of an older GPU");
    way->backend = &backend_cuda;
    way->device = device;
    way->rung = rung;
    way->turns = ways_cuda_turns(rung);
}

size_t ways_open(void)
{
    size_t count = 0;

    if (backend_cuda.count() == 0)
        return 0;
    usual_device = open_device();
    name_way(&opened[count++], usual_device, NULL);
    for (const struct rung *rung = backend_cuda.rungs; rung->name != NULL; rung++) {
        fixture_require(count < MOST_WAYS, "more rungs than ways");
        name_way(&opened[count++], usual_device, rung->name);
    }
    if (!ways_cuda_be_old(true))
        return count;
    old_device = open_device();
    ways_cuda_be_old(false);
    for (size_t i = 0; i < sizeof changing_rungs / sizeof *changing_rungs; i++) {
        fixture_require(count < MOST_WAYS, "more rungs than ways");
        name_way(&opened[count++], old_device, changing_rungs[i]);
    }
    return count;
}

void ways_close(void)
{
    ways_cuda_closing();
    if (usual_device != NULL)
        backend_cuda.close(usual_device);
    if (old_device != NULL)
        backend_cuda.close(old_device);
}
