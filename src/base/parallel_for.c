/* Parallel loops: independent turns side by side, each by a thread of its own where one can be had. */
#include "parallel_for.h"

#include "pool.h"

#include <pthread.h>

struct parallel_loop {
    parallel_for_body *work;
    void *context;
    FILE *messages;        /* where those of the thread that called go */
    pthread_mutex_t mutex; /* of what follows */
    bool failed;
    struct fault fault;
};

static void fail(struct parallel_loop *loop, const struct fault *fault)
{
    pthread_mutex_lock(&loop->mutex);
    if (!loop->failed)
        loop->fault = *fault;
    loop->failed = true;
    pthread_mutex_unlock(&loop->mutex);
}

static void take_turns(void *context, size_t first, size_t count, unsigned member)
{
    struct parallel_loop *loop = context;
    struct fault fault;

    if (member > 0)
        diag_redirect(loop->messages);
    for (size_t turn = first; turn < first + count; turn++) {
        if (!loop->work(loop->context, turn, loop, &fault))
            fail(loop, &fault);
    }
}

bool parallel_loop_has_failed(struct parallel_loop *loop, struct fault *fault)
{
    bool failed;

    if (loop == NULL)
        return false;
    pthread_mutex_lock(&loop->mutex);
    failed = loop->failed;
    if (failed)
        *fault = loop->fault;
    pthread_mutex_unlock(&loop->mutex);
    return failed;
}

bool parallel_for(size_t count, parallel_for_body *work, void *context, struct fault *fault)
{
    struct parallel_loop loop = {.work = work, .context = context, .messages = diag_stream()};
    struct pool *pool;

    if (count <= 1)
        return serial_for(count, work, context, fault);
    if (!pool_create(&pool, (unsigned)count - 1, POOL_FULL_STACKS, fault))
        return false;
    pthread_mutex_init(&loop.mutex, NULL);
    pool_share(pool, (unsigned)count, count, 1, take_turns, &loop);
    pool_destroy(pool);
    if (loop.failed)
        *fault = loop.fault;
    pthread_mutex_destroy(&loop.mutex);
    return !loop.failed;
}

bool serial_for(size_t count, parallel_for_body *work, void *context, struct fault *fault)
{
    bool done = true;

    for (size_t turn = 0; done && turn < count; turn++)
        done = work(context, turn, NULL, fault);
    return done;
}
