/* Memory of just the size that is asked for, so that whatever goes beyond it is found. */
#include "ways.h"

struct staging *ways_take_staging(const struct way *way, size_t bytes, struct fault *fault)
{
    return way->backend->staging_create(way->device, bytes, NULL, fault);
}

void ways_leave_staging(const struct way *way, struct staging *staging)
{
    way->backend->staging_destroy(way->device, staging);
}
