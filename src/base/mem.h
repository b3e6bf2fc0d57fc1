/* Allocation that checks its products and reports what it could not have. */
#ifndef MEM_H
#define MEM_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* result = a · b; false on overflow. */
bool mem_product(size_t *result, size_t a, size_t b);

/* count · size bytes, uninitialised, aligned for every vector unit; NULL with STATUS_LIMIT when they are not
   to be had. A request of nothing still returns a pointer. Release with mem_free. */
void *mem_alloc(size_t count, size_t size, const char *purpose, struct fault *fault);

/* The same, every byte zero. */
void *mem_zeroed(size_t count, size_t size, const char *purpose, struct fault *fault);

/* Zero as well, but not yet there: the system gives a page when it is first touched. Aligned for nothing but
   scalars. */
void *mem_lazy_zero(size_t bytes, const char *purpose, struct fault *fault);

/* Room for one item more than count: the array as it is, or twice as long in its place, which sets *capacity.
   NULL as from mem_alloc; the array then stays what it was. */
void *mem_grow(void *items, size_t count, size_t *capacity, size_t size, const char *purpose,
               struct fault *fault);

/* A copy of text. */
char *mem_text(const char *text, struct fault *fault);

void mem_free(void *pointer);

#ifdef __cplusplus
}
#endif

#endif
