/* A GPU as ways, true or emulated: one for each of its kernels, and its own choice. */
#include "ways_cuda.h"

#include "fixture.h"
#include "ways.h"

#include <stdio.h>

#define MOST_WAYS 24

static struct way opened[MOST_WAYS];
static struct device *device;

const struct way *ways = opened;

static void name_way(struct way *way, const char *rung)
{
    snprintf(way->name, sizeof way->name, "%s", rung != NULL ? rung : "its own choice");
    way->backend = &backend_cuda;
    way->device = device;
    way->rung = rung;
    way->turns = ways_cuda_turns(rung);
}

size_t ways_open(void)
{
    const struct device_request request = {.index = 0};
    struct fault fault;
    size_t count = 0;

    if (backend_cuda.count() == 0)
        return 0;
    if (!backend_cuda.open(&device, &request, &fault))
        fixture_require(false, fault.text);
    name_way(&opened[count++], NULL);
    for (const struct rung *rung = backend_cuda.rungs; rung->name != NULL; rung++) {
        fixture_require(count < MOST_WAYS, "more rungs than ways");
        name_way(&opened[count++], rung->name);
    }
    return count;
}

void ways_close(void)
{
    if (device != NULL)
        backend_cuda.close(device);
}
