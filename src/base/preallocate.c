/* Allocating room on the disk for files while others read and compute. It takes seconds for large files on
   some systems, so a thread does it beside the caller, in pieces: between two of them other processes can
   write into the file, and the thread sees whether the room is still wanted. The first failure ends it;
   callers look for that from time to time. */
#include "preallocate.h"

#include "mem.h"
#include "threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define PIECE_BYTES ((uint64_t)64 << 20)

struct preallocation {
    pthread_t thread;
    bool runs;            /* the thread was started and has not been joined */
    atomic_bool unwanted; /* the caller needs no more room */
    atomic_bool failed;   /* `fault` is filled in, and stays as it is */
    struct fault fault;
    size_t count;
    struct preallocate_file files[];
};

/* The thread: piece by piece, until all is allocated, one piece fails, or nobody wants more. */
static void *allocate_all(void *data)
{
    struct preallocation *preallocation = data;
    bool done = true;

    for (size_t i = 0; done && i < preallocation->count; i++) {
        const struct preallocate_file *file = &preallocation->files[i];
        for (uint64_t bytes = 0; done && bytes < file->bytes && !preallocation->unwanted;) {
            bytes = file->bytes - bytes < PIECE_BYTES ? file->bytes : bytes + PIECE_BYTES;
            done = file_out_reserve(file->file, bytes, &preallocation->fault);
        }
    }
    preallocation->failed = !done;
    return NULL;
}

struct preallocation *preallocate_begin(const struct preallocate_file *files, size_t count,
                                        struct fault *fault)
{
    struct preallocation *preallocation =
        mem_zeroed(1, sizeof *preallocation + count * sizeof *files, "the preallocation", fault);

    if (preallocation == NULL)
        return NULL;
    preallocation->count = count;
    memcpy(preallocation->files, files, count * sizeof *files);
    preallocation->runs =
        thread_start(&preallocation->thread, THREAD_SMALL_STACK, allocate_all, preallocation);
    /* Without a thread the caller allocates all of it before it goes on, which is slower and no less
       right. */
    if (!preallocation->runs)
        allocate_all(preallocation);
    return preallocation;
}

bool preallocate_has_failed(struct preallocation *preallocation, struct fault *fault)
{
    if (preallocation == NULL || !preallocation->failed)
        return false;
    *fault = preallocation->fault;
    return true;
}

static void join(struct preallocation *preallocation)
{
    if (preallocation->runs)
        pthread_join(preallocation->thread, NULL);
    preallocation->runs = false;
}

bool preallocate_wait(struct preallocation *preallocation, struct fault *fault)
{
    if (preallocation != NULL)
        join(preallocation);
    return !preallocate_has_failed(preallocation, fault);
}

void preallocate_end(struct preallocation *preallocation)
{
    if (preallocation == NULL)
        return;
    preallocation->unwanted = true;
    join(preallocation);
    mem_free(preallocation);
}
