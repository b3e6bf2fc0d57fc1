/* Memory that ends, for tests: a thread lacks it for one of its allocations. */
#include "scarcity.h"

#include <stddef.h>
#include <stdlib.h>

static _Thread_local unsigned long *left;

/* Stands before that of the library. */
void *aligned_alloc(size_t alignment, size_t size)
{
    void *memory = NULL;

    if (left != NULL && *left > 0 && --*left == 0)
        return NULL;
    return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

void scarcity_begin(unsigned long *allocation)
{
    left = allocation;
}

void scarcity_end(void)
{
    left = NULL;
}
