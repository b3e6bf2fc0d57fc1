/* Allocation that checks its products and reports what it could not have. */
#include "mem.h"

#include "number.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* The bytes of a cache line and of the widest vectors. */
#define MEM_ALIGNMENT  64
/* The bytes of a large page, and how many of the last one may stay empty. */
#define LARGE_PAGE     ((size_t)2 << 20)
#define LARGE_SPARE    (LARGE_PAGE / 16)
#define FIRST_CAPACITY 32 /* of an array that grows */

bool mem_product(size_t *result, size_t a, size_t b)
{
    if (a != 0 && b > SIZE_MAX / a)
        return false;
    *result = a * b;
    return true;
}

static void *allocate(size_t alignment, size_t count, size_t size, size_t spare, const char *purpose,
                      struct fault *fault)
{
    size_t bytes;
    void *pointer = NULL;

    /* PTRDIFF_MAX is the largest object there may be; the rest of the program relies on it. */
    if (mem_product(&bytes, count, size) && bytes <= PTRDIFF_MAX - alignment - spare &&
        posix_memalign(&pointer, alignment, bytes + spare > 0 ? bytes + spare : 1) == 0)
        return pointer;
    fault_raise(fault, STATUS_LIMIT, "not enough memory for %s: %s bytes", purpose,
                number_format_product((const size_t[]){count, size}, 2).text);
    return NULL;
}

/* Not a byte more is taken than is asked for, so that sanitizers see what is read or written behind it. */
void *mem_alloc(size_t count, size_t size, const char *purpose, struct fault *fault)
{
    return allocate(MEM_ALIGNMENT, count, size, 0, purpose, fault);
}

void *mem_large(size_t count, size_t size, const char *purpose, struct fault *fault)
{
#ifdef MADV_HUGEPAGE
    size_t bytes, spare;
    void *pointer;

    if (mem_product(&bytes, count, size) && bytes >= LARGE_PAGE - LARGE_SPARE) {
        spare = LARGE_PAGE - 1 - (bytes - 1) % LARGE_PAGE;
        spare = spare <= LARGE_SPARE ? spare : 0;
        pointer = allocate(LARGE_PAGE, count, size, spare, purpose, fault);
        /* Nothing is lost where the advice is not taken. */
        if (pointer != NULL)
            (void)madvise(pointer, (bytes + spare) / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
        return pointer;
    }
#endif
    return mem_alloc(count, size, purpose, fault);
}

void *mem_zeroed(size_t count, size_t size, const char *purpose, struct fault *fault)
{
    void *pointer = mem_alloc(count, size, purpose, fault);

    if (pointer != NULL)
        memset(pointer, 0, count * size);
    return pointer;
}

void *mem_scratch(size_t bytes, const char *purpose, struct fault *fault)
{
    void *pointer = bytes <= PTRDIFF_MAX ? malloc(bytes > 0 ? bytes : 1) : NULL;

    if (pointer == NULL)
        fault_raise(fault, STATUS_LIMIT, "not enough memory for %s: %zu bytes", purpose, bytes);
    return pointer;
}

void *mem_grow(void *items, size_t count, size_t *capacity, size_t size, const char *purpose,
               struct fault *fault)
{
    size_t grown = *capacity == 0 ? FIRST_CAPACITY : 2 * *capacity;
    void *larger;

    if (count < *capacity)
        return items;
    larger = mem_alloc(grown, size, purpose, fault);
    if (larger == NULL)
        return NULL;
    if (count > 0)
        memcpy(larger, items, count * size);
    mem_free(items);
    *capacity = grown;
    return larger;
}

char *mem_text(const char *text, struct fault *fault)
{
    size_t size = strlen(text) + 1;
    char *copy = mem_alloc(size, 1, "text", fault);

    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

bool mem_is_zero(const void *bytes, size_t size)
{
    const unsigned char *first = bytes;

    return *first == 0 && memcmp(first, first + 1, size - 1) == 0;
}

void mem_free(void *pointer)
{
    free(pointer);
}

void mem_keep_none(void)
{
#ifdef __GLIBC__
    enum { LARGE = 512 << 10 };

    (void)mallopt(M_MMAP_THRESHOLD, LARGE);
    (void)mallopt(M_TRIM_THRESHOLD, LARGE);
#endif
}
