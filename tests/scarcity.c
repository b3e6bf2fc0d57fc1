/* Memory that ends, for tests: a thread lacks it for one of its allocations. */
#include "scarcity.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

static _Thread_local unsigned long *left;

/* Stands before that of the library. */
int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *taken = left != NULL && *left > 0 && --*left == 0 ? NULL : memalign(alignment, size);

    if (taken == NULL)
        return ENOMEM;
    *memory = taken;
    return 0;
}

void scarcity_begin(unsigned long *allocation)
{
    left = allocation;
}

void scarcity_end(void)
{
    left = NULL;
}
