/* Queues: all inputs of a command, several at the same time, each told in its turn. */
#include "queue.h"

#include "base/machine.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/pool.h"
#include "base/size.h"
#include "base/thread.h"
#include "pipeline/pipeline.h"
#include "outputs.h"
#include "report.h"
#include "report_file.h"
#include "task.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each has a few files open; more than this many is more than processes may have by default. */
#define MOST_AT_ONCE 64

/* From so many rounds on it is of no account that the last one may leave threads idle. */
#define ROUNDS_THAT_COUNT 5

/* Lines for standard error that are kept until their turn comes. */
struct lines {
    FILE *stream; /* NULL, for want of memory: they are told at once */
    char *text;
    size_t size;
};

struct entry {
    struct task task;
    size_t threads; /* of those that the tasks share */
    bool over;
    enum status status;
    struct lines on_options, messages;
    struct report_part report; /* of the file of --report */
};

struct queue {
    struct entry *entries;
    size_t count;
    struct report_file *report;
    struct budget budget;
    size_t at_once; /* the most tasks that run at the same time */
    struct pool *pool;

    /* Guarded by the mutex. */
    pthread_mutex_t mutex;
    size_t next, told;
    struct lines told_on_options;
    size_t running, idle_threads;
    struct progress progress;
};

static void lines_begin(struct lines *lines)
{
    lines->stream = open_memstream(&lines->text, &lines->size);
}

static void lines_end(struct lines *lines)
{
    if (lines->stream != NULL)
        fclose(lines->stream);
    lines->stream = NULL;
}

static void lines_free(struct lines *lines)
{
    free(lines->text);
    *lines = (struct lines){.stream = NULL};
}

static void lines_tell(struct lines *lines)
{
    if (lines->size > 0)
        fwrite(lines->text, 1, lines->size, stderr);
    lines_free(lines);
}

/* What many inputs would repeat is told once. */
static void lines_tell_new(struct lines *lines, struct lines *told)
{
    if (lines->size > 0 && (told->size != lines->size || memcmp(told->text, lines->text, lines->size) != 0)) {
        fwrite(lines->text, 1, lines->size, diag_stream());
        lines_free(told);
        *told = *lines;
    } else {
        lines_free(lines);
    }
}

/* ---- one after the other ---- */

static enum status run_in_turn(const struct options *options, const struct outputs *outputs,
                               struct report_file *report)
{
    enum status all = STATUS_DONE;
    struct lines told = {.stream = NULL};

    for (size_t i = 0; i < options->input_count; i++) {
        struct task task = task_alone(options, options->inputs[i], outputs->paths[i]);
        struct report_part part;
        struct lines on_options = {.stream = NULL};
        if (peers_count(options->peers) == 1) {
            task.request.plan.alone = options->input_count > 1;
            task.request.plan.member = i;
        }
        report_part_begin(report, &part);
        if (options->input_count > 1)
            lines_begin(&on_options);
        task.report = part.stream;
        task.on_options = on_options.stream;
        all = status_of_both(all, task_run(&task));
        lines_end(&on_options);
        lines_tell_new(&on_options, &told);
        report_file_add(report, &part);
    }
    lines_free(&told);
    return all;
}

/* ---- one among others ---- */

static void run_entry(struct entry *entry, const struct report_file *report)
{
    lines_begin(&entry->on_options);
    lines_begin(&entry->messages);
    report_part_begin(report, &entry->report);
    entry->task.report = entry->report.stream;
    entry->task.on_options = entry->on_options.stream;
    diag_divert(entry->messages.stream);
    entry->status = task_run(&entry->task);
    diag_divert(NULL);
    lines_end(&entry->messages);
    lines_end(&entry->on_options);
}

/* Threads for a task that starts now: those that are idle, shared with the tasks that may start beside it. */
static size_t share_of_threads(const struct queue *queue)
{
    size_t waiting = queue->count - queue->next, places = queue->at_once - queue->running;

    return queue->idle_threads / size_least(waiting, places);
}

static struct entry *begin_next(struct queue *queue)
{
    struct entry *entry;

    pthread_mutex_lock(&queue->mutex);
    size_t share = share_of_threads(queue);
    entry = &queue->entries[queue->next++];
    entry->threads = share;
    /* Whoever is alone takes what was asked for, which may be as many threads as can be had. */
    if (queue->at_once > 1)
        entry->task.request.plan.threads = (unsigned)share;
    queue->idle_threads -= share;
    queue->running++;
    pthread_mutex_unlock(&queue->mutex);
    return entry;
}

static void tell_entry(struct queue *queue, struct entry *entry)
{
    if (entry->on_options.size + entry->messages.size > 0)
        progress_wipe(&queue->progress);
    lines_tell_new(&entry->on_options, &queue->told_on_options);
    lines_tell(&entry->messages);
    report_file_add(queue->report, &entry->report);
}

static void end(struct queue *queue, struct entry *entry)
{
    pthread_mutex_lock(&queue->mutex);
    queue->idle_threads += entry->threads;
    queue->running--;
    entry->over = true;
    for (; queue->told < queue->count && queue->entries[queue->told].over; queue->told++)
        tell_entry(queue, &queue->entries[queue->told]);
    progress_add(&queue->progress, 1.0);
    pthread_mutex_unlock(&queue->mutex);
}

static void work(void *data, size_t first, size_t count, unsigned member)
{
    struct queue *queue = data;

    (void)first;
    (void)member;
    for (; count > 0; count--) {
        struct entry *entry = begin_next(queue);
        run_entry(entry, queue->report);
        end(queue, entry);
    }
}

/* ---- all of them ---- */

/* Whether a task like the first can do with such a share of memory, on its share of the threads. */
static bool fits(const struct queue *queue, size_t at_once)
{
    struct pipeline_request first = queue->entries[0].task.request;

    first.share = queue->budget.memory / at_once;
    first.plan.threads = (unsigned)(queue->idle_threads / at_once);
    return pipeline_would_fit(&first);
}

/* Anything but a file gives its bytes once, and is not looked at beforehand. */
static bool is_file(const char *path)
{
    struct stat info;
    int result = path_is_standard(path) ? fstat(STDIN_FILENO, &info) : stat(path, &info);

    return result == 0 && S_ISREG(info.st_mode);
}

/* In few rounds the last one counts: it gets about as many tasks as the others, and each more threads. */
static size_t even_out(size_t count, size_t most)
{
    size_t rounds = size_divided_up(count, most);

    return rounds < ROUNDS_THAT_COUNT ? size_divided_up(count, rounds) : most;
}

/* As many at a time as there are threads, and as memory has room for, or else devices: each serves one. */
static size_t count_at_once(const struct queue *queue, const struct options *options, size_t threads)
{
    size_t most = size_least(size_least(threads, queue->count), MOST_AT_ONCE);

    /* Each wants addresses for the stacks of its threads. */
    if (machine_limits_addresses())
        return 1;
    if (plan_names_device(&options->plan))
        return size_least(most, queue->budget.device_count);
    if (is_file(queue->entries[0].task.request.input)) {
        while (most > 1 && !fits(queue, most))
            most--;
    }
    return even_out(queue->count, most);
}

static void fill(struct queue *queue, const struct options *options, const struct outputs *outputs)
{
    for (size_t i = 0; i < queue->count; i++) {
        struct task *task = &queue->entries[i].task;
        *task = task_alone(options, options->inputs[i], outputs->paths[i]);
        task->request.run.progress = PROGRESS_NEVER;
        task->request.budget = &queue->budget;
    }
}

static void run_all(struct queue *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        queue->entries[i].task.request.share = queue->budget.memory / queue->at_once;
    pool_share(queue->pool, (unsigned)queue->at_once, queue->count, 1, work, queue);
}

static enum status status_of_all(const struct queue *queue)
{
    enum status all = STATUS_DONE;

    for (size_t i = 0; i < queue->count; i++)
        all = status_of_both(all, queue->entries[i].status);
    return all;
}

static uint64_t memory_for_all(const struct options *options)
{
    uint64_t spare = machine_spare_memory();

    if (options->plan.memory > 0)
        return options->plan.memory;
    return spare > 0 ? spare : UINT64_MAX;
}

/* Nothing runs, for one reason. */
static enum status refuse_all(const struct options *options, const struct outputs *outputs,
                              struct report_file *report, const struct fault *fault)
{
    for (size_t i = 0; i < options->input_count; i++) {
        const struct task task = task_alone(options, options->inputs[i], outputs->paths[i]);
        struct report_part part;
        report_part_begin(report, &part);
        report_failure(part.stream, options, &task.request, fault);
        report_file_add(report, &part);
    }
    return diag_error(fault);
}

/* Those that tasks take, one each: what is named, or the one that each may choose. */
static bool count_devices(const struct options *options, size_t *count, struct fault *fault)
{
    struct devices devices;

    *count = 1;
    if (plan_chooses_device(&options->plan))
        return true;
    if (!devices_find(options->plan.device, &devices, fault))
        return false;
    *count = devices.count;
    return true;
}

static bool make_room(struct queue *queue, struct fault *fault)
{
    queue->entries = mem_zeroed(queue->count, sizeof *queue->entries, "the files' tasks", fault);
    return queue->entries != NULL && pool_create(&queue->pool, MOST_AT_ONCE - 1, POOL_FULL_STACKS, fault);
}

static void free_room(struct queue *queue)
{
    pool_destroy(queue->pool);
    mem_free(queue->entries);
}

static enum status run_together(const struct options *options, const struct outputs *outputs,
                                struct report_file *report)
{
    struct queue queue = {.count = options->input_count, .report = report};
    size_t devices;
    struct fault fault;
    enum status status;

    if (!count_devices(options, &devices, &fault) || !make_room(&queue, &fault)) {
        free_room(&queue);
        return refuse_all(options, outputs, report, &fault);
    }
    budget_open(&queue.budget, memory_for_all(options), devices);
    pthread_mutex_init(&queue.mutex, NULL);
    fill(&queue, options, outputs);
    queue.idle_threads = thread_count(options->plan.threads);
    queue.at_once = count_at_once(&queue, options, queue.idle_threads);
    progress_begin_files(&queue.progress, options->run.progress, queue.count);
    run_all(&queue);
    progress_end(&queue.progress);
    status = status_of_all(&queue);
    lines_free(&queue.told_on_options);
    pthread_mutex_destroy(&queue.mutex);
    budget_close(&queue.budget);
    free_room(&queue);
    return status;
}

static bool check_inputs(const struct options *options, struct fault *fault)
{
    for (size_t i = 0; i < options->input_count; i++) {
        if (path_is_standard(options->inputs[i]) && isatty(STDIN_FILENO))
            return fault_raise(fault, STATUS_USAGE,
                               "standard input is a terminal: name a file, or pipe one in");
    }
    return true;
}

/* Of several ranks, the first looks at files that do not belong to the others. */
static bool check(const struct options *options, const struct outputs *outputs, struct fault *fault)
{
    return !peers_lead(options->peers) ||
           (check_inputs(options, fault) && outputs_check(outputs, options, fault));
}

static enum status run_all_inputs(const struct options *options, const struct outputs *outputs,
                                  struct report_file *report)
{
    struct fault fault;

    if (!peers_follow(options->peers, check(options, outputs, &fault), &fault))
        return refuse_all(options, outputs, report, &fault);
    if (options->input_count == 1 || options->action == ACTION_EXPLAIN || peers_count(options->peers) > 1)
        return run_in_turn(options, outputs, report);
    return run_together(options, outputs, report);
}

/* Why it cannot be read is told by its run, and standard input is left where it was. Of several ranks, only
   the first looks. */
static bool spare_samples_of(const struct options *options, const char *input, struct fault *fault)
{
    struct task task = task_alone(options, input, "-");
    off_t begin = lseek(STDIN_FILENO, 0, SEEK_CUR);
    struct pipeline pipeline;
    struct fault unread;
    bool spared = true;

    task.request.plan.device = backend_cpu.name;
    task.request.peers = NULL;
    if (pipeline_open(&pipeline, &task.request, &unread))
        spared = outputs_spare_from_report(options, &pipeline, fault);
    pipeline_close(&pipeline);
    if (path_is_standard(input))
        lseek(STDIN_FILENO, begin, SEEK_SET);
    return spared;
}

/* A report that replaces a file is not begun before it is known that no input has its samples there. */
static bool spare_samples(const struct options *options, const char *report, struct fault *fault)
{
    if (report == NULL || !is_file(report))
        return true;
    for (size_t i = 0; i < options->input_count; i++) {
        if (is_file(options->inputs[i]) && !spare_samples_of(options, options->inputs[i], fault))
            return false;
    }
    return true;
}

/* That of rank 0; others have none. */
static bool open_report(const struct options *options, const struct outputs *outputs, const char *path,
                        struct report_file *report, struct fault *fault)
{
    bool checked = !peers_lead(options->peers) || options->action != ACTION_RUN ||
                   outputs_leave_room(outputs, options, fault);

    return checked && spare_samples(options, path, fault) && report_file_open(report, path, fault);
}

static enum status run_and_report(const struct options *options, const struct outputs *outputs)
{
    const char *path = options->action == ACTION_RUN ? options->report_path : NULL;
    struct report_file report;
    struct fault fault;
    enum status status;

    if (!peers_follow(options->peers, open_report(options, outputs, path, &report, &fault), &fault))
        return diag_error(&fault);
    status = run_all_inputs(options, outputs, &report);
    return peers_follow(options->peers, report_file_commit(&report, &fault), &fault)
               ? status
               : status_of_both(status, diag_error(&fault));
}

enum status queue_run(const struct options *options)
{
    struct outputs outputs;
    struct fault fault;
    enum status status;

    if (!outputs_name(&outputs, options, &fault))
        return diag_error(&fault);
    status = run_and_report(options, &outputs);
    outputs_free(&outputs);
    return status;
}
