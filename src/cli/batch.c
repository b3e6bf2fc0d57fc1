/* All inputs of a command: several run at the same time, and their messages come in the order of the inputs.

   Each input is an entry: a run, and the text that it leaves. The threads of a pool take entries in order.
   An entry that begins gets its share of the processor's threads: those that are idle, divided among the
   entries that may run beside it. Memory and devices are a budget, for which the pipelines queue
   (pipeline/budget.h). Messages and reports are kept until those of all earlier entries are printed. One
   input, a plan that is only explained, and inputs of several ranks, which filter each of them together, go
   one after the other instead. */
#include "batch.h"

#include "base/memory_limits.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/threads.h"
#include "base/progress.h"
#include "base/size.h"
#include "pipeline/budget.h"
#include "pipeline/pipeline.h"
#include "outputs.h"
#include "report.h"
#include "run_one.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- one after the other ---- */

/* Run one input after the other. Notes on options that every input would repeat are printed once. */
static enum status run_in_turn(const struct options *options, const struct outputs *outputs,
                               struct report_file *report)
{
    enum status all = STATUS_DONE;
    struct lines told = {.stream = NULL};

    for (size_t i = 0; i < options->input_count; i++) {
        struct run_one one = {.options = options,
                              .request = run_one_request(options, options->inputs[i], outputs->paths[i])};
        struct lines part;
        struct lines on_options = {.stream = NULL};
        /* Plans are explained as they will run: each input on a device of its own. */
        if (peers_count(options->peers) == 1) {
            one.request.plan.alone = options->input_count > 1;
            one.request.plan.member = i;
        }
        report_file_begin_part(report, &part);
        if (options->input_count > 1)
            lines_begin(&on_options);
        one.report = part.stream;
        if (options->input_count == 1 && report->file != NULL)
            one.report_file = report;
        one.on_options = on_options.stream;
        all = status_of_both(all, run_one(&one));
        lines_end(&on_options);
        lines_tell_new(&on_options, &told);
        report_file_add(report, &part);
    }
    lines_free(&told);
    return all;
}

/* ---- several at the same time ---- */

/* Each entry has a few files open; more of them might exceed the default limit of open files. */
#define MOST_AT_ONCE 64

/* From this many rounds on, threads that are idle in the last round hardly matter. */
#define ROUNDS_THAT_COUNT 5

/* An input and what becomes of it. */
struct entry {
    struct run_one run;
    size_t threads; /* its share of the threads, while it runs */
    bool over;
    enum status status;
    struct lines on_options, messages;
    struct lines report; /* for the file of --report */
};

/* All entries, and what they share. */
struct batch {
    struct entry *entries;
    size_t count;
    struct report_file *report;
    struct lines told_on_options; /* notes on options that were printed last */
    struct budget budget;
    struct pool *pool;
    size_t at_once; /* the most that run at the same time */

    pthread_mutex_t mutex; /* guards what follows */
    size_t waiting, running, idle_threads;
    size_t told; /* entries whose text is printed */
    struct progress progress;
};

/* The devices that entries take, one each: those that are named, or the one that each run chooses. */
static bool count_devices(const struct options *options, size_t *count, struct fault *fault)
{
    struct devices devices;

    *count = 1;
    if (selection_is_free(&options->plan))
        return true;
    if (!devices_find(options->plan.device, &devices, fault))
        return false;
    *count = devices.count;
    return true;
}

/* Make an entry for each input, and what they share. */
static bool batch_open(struct batch *batch, const struct options *options, const struct outputs *outputs,
                       struct report_file *report, struct fault *fault)
{
    uint64_t memory = options->plan.memory > 0 ? options->plan.memory : memory_limits_spare();
    size_t devices;

    *batch = (struct batch){.count = options->input_count,
                            .report = report,
                            .waiting = options->input_count,
                            .idle_threads = thread_count(options->plan.threads)};
    if (!count_devices(options, &devices, fault))
        return false;
    batch->entries = mem_zeroed(batch->count, sizeof *batch->entries, "the files' tasks", fault);
    if (batch->entries == NULL || !pool_create(&batch->pool, MOST_AT_ONCE, THREAD_FULL_STACK, fault)) {
        mem_free(batch->entries);
        return false;
    }
    /* All entries share one budget, and none shows a bar of its own: the batch has one that counts files. */
    budget_open(&batch->budget, memory > 0 ? memory : UINT64_MAX, devices);
    pthread_mutex_init(&batch->mutex, NULL);
    for (size_t i = 0; i < batch->count; i++) {
        struct run_one *run = &batch->entries[i].run;
        *run = (struct run_one){.options = options,
                                .request = run_one_request(options, options->inputs[i], outputs->paths[i])};
        run->request.run.progress = PROGRESS_NEVER;
        run->request.budget = &batch->budget;
    }
    progress_begin(&batch->progress, options->run.progress, (double)batch->count, "files", 1.0);
    return true;
}

static void batch_close(struct batch *batch)
{
    progress_end(&batch->progress);
    pool_destroy(batch->pool);
    budget_close(&batch->budget);
    pthread_mutex_destroy(&batch->mutex);
    lines_free(&batch->told_on_options);
    mem_free(batch->entries);
}

/* Whether an entry like the first fits into its share of the memory, with its share of the threads. */
static bool fits(const struct batch *batch, size_t at_once)
{
    struct pipeline_request request = batch->entries[0].run.request;

    request.share = batch->budget.memory / at_once;
    request.plan.threads = (unsigned)(batch->idle_threads / at_once);
    return pipeline_would_fit(&request);
}

/* How many run at a time: as many as threads and memory allow if all are like the first, or one on each
   device that is named. In a few rounds, the last one gets about as many as the others, and each gets more
   threads. */
static size_t count_at_once(const struct batch *batch, const struct options *options)
{
    size_t most = size_least(size_least(batch->idle_threads, batch->count), MOST_AT_ONCE), rounds;

    /* Each entry needs address space for the stacks of its threads. */
    if (memory_limits_addresses())
        return 1;
    if (selection_names_device(&options->plan))
        return size_least(most, batch->budget.device_count);
    if (run_one_reads_file(batch->entries[0].run.request.input)) {
        while (most > 1 && !fits(batch, most))
            most--;
    }
    rounds = size_divided_up(batch->count, most);
    return rounds < ROUNDS_THAT_COUNT ? size_divided_up(batch->count, rounds) : most;
}

/* Give an entry its share of the idle threads, divided among those that may still begin beside it. */
static void begin_entry(struct batch *batch, struct entry *entry)
{
    pthread_mutex_lock(&batch->mutex);
    size_t beside = size_least(batch->waiting, batch->at_once - batch->running);
    entry->threads = batch->idle_threads / beside;
    /* One that runs alone takes the number that was asked for, which may be as many threads as can be had. */
    if (batch->at_once > 1)
        entry->run.request.plan.threads = (unsigned)entry->threads;
    batch->idle_threads -= entry->threads;
    batch->waiting--;
    batch->running++;
    pthread_mutex_unlock(&batch->mutex);
}

/* Run an entry, and keep all that it says. */
static void run_entry(struct batch *batch, struct entry *entry)
{
    lines_begin(&entry->on_options);
    lines_begin(&entry->messages);
    report_file_begin_part(batch->report, &entry->report);
    entry->run.report = entry->report.stream;
    entry->run.on_options = entry->on_options.stream;
    diag_redirect(entry->messages.stream);
    entry->status = run_one(&entry->run);
    diag_redirect(NULL);
    lines_end(&entry->messages);
    lines_end(&entry->on_options);
}

/* Print what is next in order and over, this entry's text or none. */
static void end_entry(struct batch *batch, struct entry *entry)
{
    pthread_mutex_lock(&batch->mutex);
    batch->idle_threads += entry->threads;
    batch->running--;
    entry->over = true;
    for (; batch->told < batch->count && batch->entries[batch->told].over; batch->told++) {
        struct entry *next = &batch->entries[batch->told];
        if (next->on_options.size + next->messages.size > 0)
            progress_wipe(&batch->progress);
        lines_tell_new(&next->on_options, &batch->told_on_options);
        lines_tell(&next->messages);
        report_file_add(batch->report, &next->report);
    }
    progress_add(&batch->progress, 1.0);
    pthread_mutex_unlock(&batch->mutex);
}

/* The work of each thread of the batch, with the entries that it takes. */
static void run_entries(void *data, size_t first, size_t count, unsigned member)
{
    struct batch *batch = data;

    (void)member;
    for (size_t i = first; i < first + count; i++) {
        begin_entry(batch, &batch->entries[i]);
        run_entry(batch, &batch->entries[i]);
        end_entry(batch, &batch->entries[i]);
    }
}

/* No input runs: report the same fault for each. */
static enum status refuse_all(const struct options *options, const struct outputs *outputs,
                              struct report_file *report, const struct fault *fault)
{
    for (size_t i = 0; i < options->input_count; i++) {
        const struct pipeline_request request =
            run_one_request(options, options->inputs[i], outputs->paths[i]);
        struct lines part;
        report_file_begin_part(report, &part);
        report_failure(part.stream, options, &request, fault);
        report_file_add(report, &part);
    }
    return diag_error(fault);
}

/* Run all entries side by side, each with its share of the memory. */
static enum status run_together(const struct options *options, const struct outputs *outputs,
                                struct report_file *report)
{
    struct batch batch;
    struct fault fault;
    enum status all = STATUS_DONE;

    if (!batch_open(&batch, options, outputs, report, &fault))
        return refuse_all(options, outputs, report, &fault);
    batch.at_once = count_at_once(&batch, options);
    for (size_t i = 0; i < batch.count; i++)
        batch.entries[i].run.request.share = batch.budget.memory / batch.at_once;
    pool_share(batch.pool, (unsigned)batch.at_once, batch.count, 1, run_entries, &batch);
    for (size_t i = 0; i < batch.count; i++)
        all = status_of_both(all, batch.entries[i].status);
    batch_close(&batch);
    return all;
}

/* ---- all of them ---- */

/* Only rank 0 looks at the files of inputs and outputs. */
static bool check(const struct options *options, const struct outputs *outputs, struct fault *fault)
{
    if (!peers_lead(options->peers))
        return true;
    for (size_t i = 0; i < options->input_count; i++) {
        if (path_is_standard(options->inputs[i]) && isatty(STDIN_FILENO))
            return fault_raise(fault, STATUS_USAGE,
                               "standard input is a terminal: name a file, or pipe one in");
    }
    return outputs_check(outputs, options, fault);
}

/* Whether an input is a folder; if `all` count, whether it can be opened twice, as files of a pattern can. */
static bool may_look(const char *input, bool all)
{
    struct stat info;

    if (path_is_standard(input) || stat(input, &info) != 0)
        return all && (!path_is_standard(input) || run_one_reads_file(input));
    return S_ISDIR(info.st_mode) || (all && S_ISREG(info.st_mode));
}

/* Why it cannot be read is told by its run, and standard input is left where it was. Of several ranks, only
   the first looks. */
static bool spare_samples_of(const struct options *options, const char *input, struct fault *fault)
{
    struct pipeline_request request = run_one_request(options, input, "-");
    off_t begin = lseek(STDIN_FILENO, 0, SEEK_CUR);
    struct pipeline pipeline;
    struct fault unread;
    bool spared = true;

    request.plan.device = backend_cpu.name;
    request.peers = NULL;
    /* A pipe is left to the run. */
    if (options->mask != NULL && !may_look(options->mask, true))
        request.mask = NULL;
    if (pipeline_open(&pipeline, &request, &unread))
        spared = outputs_spare_samples(&pipeline.input.source, "--report", options->report_path, fault) &&
                 (pipeline.mask.file == NULL ||
                  outputs_spare_samples(&pipeline.mask.source, "--report", options->report_path, fault));
    pipeline_close(&pipeline);
    if (path_is_standard(input))
        lseek(STDIN_FILENO, begin, SEEK_SET);
    return spared;
}

/* A report is not begun before it is known that no input has its samples there. A new file can only be
   within a folder. */
static bool spare_samples(const struct options *options, const char *report, struct fault *fault)
{
    const bool all = report != NULL && (run_one_reads_file(report) ||
                                        (options->mask != NULL && may_look(options->mask, false)));

    if (report == NULL || path_is_standard(report))
        return true;
    for (size_t i = 0; i < options->input_count; i++) {
        if (may_look(options->inputs[i], all) && !spare_samples_of(options, options->inputs[i], fault))
            return false;
    }
    return true;
}

/* Only rank 0 writes a report. */
static bool open_report(const struct options *options, const struct outputs *outputs,
                        struct report_file *report, struct fault *fault)
{
    const char *path = options->action == ACTION_RUN ? options->report_path : NULL;
    bool checked = !peers_lead(options->peers) || options->action != ACTION_RUN ||
                   outputs_check_extras(options, outputs->paths, fault);

    return checked && spare_samples(options, path, fault) &&
           report_file_open(report, path, options->sync, fault);
}

enum status batch_run(const struct options *options)
{
    struct peers *peers = options->peers;
    struct outputs outputs;
    struct report_file report;
    struct fault fault;
    enum status status;

    /* Paths are named and checked before anything runs, since an output must not replace another input. */
    if (!peers_agree(peers, outputs_name(&outputs, options, &fault), &fault) ||
        !peers_follow(peers, open_report(options, &outputs, &report, &fault), &fault)) {
        outputs_free(&outputs);
        return diag_error(&fault);
    }
    if (!peers_follow(peers, check(options, &outputs, &fault), &fault))
        status = refuse_all(options, &outputs, &report, &fault);
    else if (options->input_count == 1 || options->action == ACTION_EXPLAIN || peers_count(peers) > 1)
        status = run_in_turn(options, &outputs, &report);
    else
        status = run_together(options, &outputs, &report);
    if (!peers_follow(peers, report_file_commit(&report, &fault), &fault))
        status = status_of_both(status, diag_error(&fault));
    outputs_free(&outputs);
    return status;
}
