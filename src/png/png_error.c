/* How libpng's errors and its failed allocations become faults. The first one fills the fault of the call
   under way; the callers' own callbacks fill it themselves and leave by the same jump. */
#include "png_error.h"

#include <setjmp.h>
#include <stdlib.h>

void png_error_begin(struct png_error_trap *trap, struct fault *fault)
{
    trap->fault = fault;
    trap->raised = false;
    trap->starved = false;
}

static void raise_once(struct png_error_trap *trap, const char *message)
{
    if (trap->raised)
        return;
    trap->raised = true;
    fault_set_for(trap->fault, trap->starved ? STATUS_LIMIT : trap->status, trap->name, "%s", message);
}

void png_error_raise(png_structp png, png_const_charp message)
{
    raise_once(png_get_error_ptr(png), message);
    png_longjmp(png, 1);
}

/* For callbacks, whose own fault says more than libpng's message would. */
void png_error_leave(png_structp png)
{
    struct png_error_trap *trap = png_get_error_ptr(png);
    trap->raised = true;
    png_longjmp(png, 1);
}

/* libpng turns a failed allocation into a message like any other; here the two are told apart, since one is a
   limit and the other a damaged file. */
png_voidp png_error_malloc(png_structp png, png_alloc_size_t size)
{
    struct png_error_trap *trap = png_get_mem_ptr(png);
    void *pointer = malloc(size);
    if (pointer == NULL)
        trap->starved = true;
    return pointer;
}

void png_error_free(png_structp png, png_voidp pointer)
{
    (void)png;
    free(pointer);
}

bool png_error_at_start(struct png_error_trap *trap)
{
    raise_once(trap, trap->starved ? "out of memory" : "libpng does not start");
    return false;
}
