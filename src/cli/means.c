/* Means: the threads, memory and devices that the tasks of a process share. */
#include "means.h"

#include "base/machine.h"
#include "base/size.h"
#include "base/thread.h"
#include "pipeline/pipeline.h"

/* Each task has a few files open; more tasks might exceed the default limit of open files. */
#define MOST_AT_ONCE 64

/* From this many rounds on, threads that are idle in the last round hardly matter. */
#define ROUNDS_THAT_COUNT 5

/* A rank's limit is its share of the node already. */
static uint64_t memory_for_all(const struct options *options)
{
    uint64_t spare;

    if (options->plan.memory > 0)
        return options->plan.memory;
    spare = options->plan.limits.memory > 0 ? options->plan.limits.memory : machine_spare_memory();
    return spare > 0 ? spare : UINT64_MAX;
}

/* The devices that tasks take, one each: those that are named, or the one that each task chooses. A rank
   has one. */
static bool count_devices(const struct options *options, size_t *count, struct fault *fault)
{
    struct devices devices;

    *count = 1;
    if (selection_is_free(&options->plan))
        return true;
    if (!devices_find(options->plan.device, &devices, fault))
        return false;
    if (peers_count(options->peers) == 1)
        *count = devices.count;
    return true;
}

bool means_open(struct means *means, const struct options *options, struct fault *fault)
{
    size_t devices;

    *means = (struct means){.at_once = 1, .idle_threads = thread_count(options->plan.threads)};
    if (!count_devices(options, &devices, fault) ||
        !pool_create(&means->pool, MOST_AT_ONCE, POOL_FULL_STACKS, fault))
        return false;
    budget_open(&means->budget, memory_for_all(options), devices);
    pthread_mutex_init(&means->mutex, NULL);
    return true;
}

void means_close(struct means *means)
{
    pool_destroy(means->pool);
    pthread_mutex_destroy(&means->mutex);
    budget_close(&means->budget);
}

/* ---- how many at a time ---- */

/* Whether a task like the first fits into its share of the memory, with its share of the threads. */
static bool fits(const struct means *means, const struct entry *first, size_t at_once)
{
    struct pipeline_request request = first->task.request;

    request.share = means->budget.memory / at_once;
    request.plan.threads = (unsigned)(means->idle_threads / at_once);
    return pipeline_would_fit(&request);
}

/* If there are few rounds, the last gets about as many tasks as the others, and each task gets more
   threads. */
static size_t even_out(size_t count, size_t most)
{
    size_t rounds = size_divided_up(count, most);

    return rounds < ROUNDS_THAT_COUNT ? size_divided_up(count, rounds) : most;
}

size_t means_count(const struct means *means, const struct options *options, const struct entry *first,
                   size_t count)
{
    size_t most = size_least(size_least(means->idle_threads, count), MOST_AT_ONCE);

    /* Each task needs address space for the stacks of its threads. */
    if (machine_limits_addresses())
        return 1;
    if (selection_names_device(&options->plan))
        return size_least(most, means->budget.device_count);
    if (task_reads_file(first->task.request.input)) {
        while (most > 1 && !fits(means, first, most))
            most--;
    }
    return even_out(count, most);
}

void means_divide(struct means *means, struct entries *entries, size_t at_once)
{
    means->at_once = at_once;
    for (size_t i = 0; i < entries->count; i++)
        entries->list[i].task.request.share = means->budget.memory / at_once;
}

/* ---- the tasks ---- */

void means_expect(struct means *means, size_t count, size_t coming)
{
    pthread_mutex_lock(&means->mutex);
    means->waiting += count;
    means->coming = coming;
    pthread_mutex_unlock(&means->mutex);
}

/* Threads for a task that starts now: those that are idle, shared with the tasks that may start beside it. */
void means_begin(struct means *means, struct entry *entry)
{
    pthread_mutex_lock(&means->mutex);
    size_t beside = size_least(means->waiting + means->coming, means->at_once - means->running);
    entry->threads = means->idle_threads / beside;
    /* A task that runs alone takes the number that was asked for, which may be as many threads as can be
       had. */
    if (means->at_once > 1)
        entry->task.request.plan.threads = (unsigned)entry->threads;
    means->idle_threads -= entry->threads;
    means->waiting--;
    means->running++;
    pthread_mutex_unlock(&means->mutex);
}

void means_end(struct means *means, const struct entry *entry)
{
    pthread_mutex_lock(&means->mutex);
    means->idle_threads += entry->threads;
    means->running--;
    pthread_mutex_unlock(&means->mutex);
}
