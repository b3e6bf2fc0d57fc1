/* Allocation that checks its products and reports what it could not have. */
#ifndef MEM_H
#define MEM_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* result = a · b; false on overflow. */
bool mem_product(size_t *result, size_t a, size_t b);

/* Allocate count · size bytes, uninitialised, aligned for every vector unit; NULL with STATUS_LIMIT if there
   is not so much. A request of 0 bytes still returns a pointer. Release with mem_free. */
void *mem_alloc(size_t count, size_t size, const char *purpose, struct fault *fault);

/* The same, for samples: in large pages where the system has them, unless much of the last one would stay
   empty. A page of the usual size holds a row or two, and to be given thousands of them takes longer than to
   compute what is in them. */
void *mem_large(size_t count, size_t size, const char *purpose, struct fault *fault);

/* Allocate bytes that are all zero. */
void *mem_zeroed(size_t count, size_t size, const char *purpose, struct fault *fault);

/* Allocate bytes for a moment, uninitialised and aligned for scalars only. If they are allocated again and
   again, they take the same place each time: those of mem_alloc may not, as the C library can leave gaps
   between them. Release with mem_free. */
void *mem_scratch(size_t bytes, const char *purpose, struct fault *fault);

/* Ensure room for count + 1 items; doubles *capacity when full. Returns the array, which may have moved; NULL
   as from mem_alloc, and then the old array stays. */
void *mem_grow(void *items, size_t count, size_t *capacity, size_t size, const char *purpose,
               struct fault *fault);

/* A copy of a text; NULL with a fault. Release with mem_free. */
char *mem_text(const char *text, struct fault *fault);

/* Whether all bytes are 0; there is at least one. */
bool mem_is_zero(const void *bytes, size_t size);

/* Release what any of these returned; NULL is fine. */
void mem_free(void *pointer);

/* Where memory is short: from now on, large pieces that are released go back to the system at once, and none
   are kept for later ones. */
void mem_keep_none(void);

#ifdef __cplusplus
}
#endif

#endif
