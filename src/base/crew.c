/* Crews: independent turns side by side, each by a thread of its own where one can be had. */
#include "crew.h"

#include "pool.h"

#include <pthread.h>

struct crew {
    crew_work *work;
    void *context;
    FILE *messages;        /* where those of the thread that called go */
    pthread_mutex_t mutex; /* of what follows */
    bool failed;
    struct fault fault;
};

static void fail(struct crew *crew, const struct fault *fault)
{
    pthread_mutex_lock(&crew->mutex);
    if (!crew->failed)
        crew->fault = *fault;
    crew->failed = true;
    pthread_mutex_unlock(&crew->mutex);
}

static void take_turns(void *context, size_t first, size_t count, unsigned member)
{
    struct crew *crew = context;
    struct fault fault;

    if (member > 0)
        diag_divert(crew->messages);
    for (size_t turn = first; turn < first + count; turn++) {
        if (!crew->work(crew->context, turn, crew, &fault))
            fail(crew, &fault);
    }
}

bool crew_has_failed(struct crew *crew, struct fault *fault)
{
    bool failed;

    if (crew == NULL)
        return false;
    pthread_mutex_lock(&crew->mutex);
    failed = crew->failed;
    if (failed)
        *fault = crew->fault;
    pthread_mutex_unlock(&crew->mutex);
    return failed;
}

bool crew_share(size_t count, crew_work *work, void *context, struct fault *fault)
{
    struct crew crew = {.work = work, .context = context, .messages = diag_stream()};
    struct pool *pool;

    if (count <= 1)
        return crew_queue(count, work, context, fault);
    if (!pool_create(&pool, (unsigned)count - 1, POOL_FULL_STACKS, fault))
        return false;
    pthread_mutex_init(&crew.mutex, NULL);
    pool_share(pool, (unsigned)count, count, 1, take_turns, &crew);
    pool_destroy(pool);
    if (crew.failed)
        *fault = crew.fault;
    pthread_mutex_destroy(&crew.mutex);
    return !crew.failed;
}

bool crew_queue(size_t count, crew_work *work, void *context, struct fault *fault)
{
    bool done = true;

    for (size_t turn = 0; done && turn < count; turn++)
        done = work(context, turn, NULL, fault);
    return done;
}
