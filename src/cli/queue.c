/* Queues: all inputs of a command, several at the same time, each told in its turn. */
#include "queue.h"

#include "base/path.h"
#include "base/pool.h"
#include "pipeline/pipeline.h"
#include "deal.h"
#include "entries.h"
#include "lines.h"
#include "means.h"
#include "outputs.h"
#include "report.h"
#include "report_file.h"
#include "task.h"

#include <unistd.h>

/* ---- one after the other ---- */

static enum status run_in_turn(const struct options *options, const struct outputs *outputs,
                               struct report_file *report)
{
    enum status all = STATUS_DONE;
    struct lines told = {.stream = NULL};

    for (size_t i = 0; i < options->input_count; i++) {
        struct task task = task_alone(options, options->inputs[i], outputs->paths[i]);
        struct lines part;
        struct lines on_options = {.stream = NULL};
        if (peers_count(options->peers) == 1) {
            task.request.plan.alone = options->input_count > 1;
            task.request.plan.member = i;
        }
        report_file_begin_part(report, &part);
        if (options->input_count > 1)
            lines_begin(&on_options);
        task.report = part.stream;
        if (options->input_count == 1 && report->file != NULL)
            task.report_file = report;
        task.on_options = on_options.stream;
        all = status_of_both(all, task_run(&task));
        lines_end(&on_options);
        lines_tell_new(&on_options, &told);
        report_file_add(report, &part);
    }
    lines_free(&told);
    return all;
}

/* ---- several at the same time ---- */

struct queue {
    struct entries entries;
    struct means means;
};

static void work(void *data, size_t first, size_t count, unsigned member)
{
    struct queue *queue = data;

    (void)member;
    for (size_t i = first; i < first + count; i++) {
        struct entry *entry = &queue->entries.list[i];
        means_begin(&queue->means, entry);
        entries_run(&queue->entries, entry);
        means_end(&queue->means, entry);
        entries_end(&queue->entries, entry);
    }
}

static enum status run_entries(struct queue *queue, const struct options *options)
{
    struct entries *entries = &queue->entries;
    struct means *means = &queue->means;

    means_divide(means, entries, means_count(means, options, &entries->list[0], entries->count));
    means_expect(means, entries->count, 0);
    pool_share(means->pool, (unsigned)means->at_once, entries->count, 1, work, queue);
    return entries_status(entries);
}

/* Nothing runs, for one reason. */
static enum status refuse_all(const struct options *options, const struct outputs *outputs,
                              struct report_file *report, const struct fault *fault)
{
    for (size_t i = 0; i < options->input_count; i++) {
        const struct task task = task_alone(options, options->inputs[i], outputs->paths[i]);
        struct lines part;
        report_file_begin_part(report, &part);
        report_failure(part.stream, options, &task.request, fault);
        report_file_add(report, &part);
    }
    return diag_error(fault);
}

static enum status run_together(const struct options *options, const struct outputs *outputs,
                                struct report_file *report)
{
    struct queue queue;
    struct fault fault;
    enum status status;

    if (!means_open(&queue.means, options, &fault))
        return refuse_all(options, outputs, report, &fault);
    if (entries_open(&queue.entries, options, outputs, &queue.means.budget, report, &fault)) {
        status = run_entries(&queue, options);
        entries_close(&queue.entries);
    } else {
        status = refuse_all(options, outputs, report, &fault);
    }
    means_close(&queue.means);
    return status;
}

/* ---- by ranks ---- */

static enum status run_dealt(const struct options *options, const struct outputs *outputs,
                             struct report_file *report)
{
    enum status status;
    struct fault fault;

    return deal_run(options, outputs, report, &status, &fault) ? status
                                                               : refuse_all(options, outputs, report, &fault);
}

/* Every rank would make the plan of a single process. */
static enum status explain_by_one(const struct options *options, const struct outputs *outputs,
                                  struct report_file *report)
{
    enum status status = peers_lead(options->peers) ? run_in_turn(options, outputs, report) : STATUS_DONE;
    struct fault fault;

    return peers_broadcast(options->peers, &status, sizeof status, &fault) ? status : diag_error(&fault);
}

/* ---- all of them ---- */

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
    if (options_deal(options))
        return options->action == ACTION_EXPLAIN ? explain_by_one(options, outputs, report)
                                                 : run_dealt(options, outputs, report);
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
    if (report == NULL || !task_reads_file(report))
        return true;
    for (size_t i = 0; i < options->input_count; i++) {
        if (task_reads_file(options->inputs[i]) && !spare_samples_of(options, options->inputs[i], fault))
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

    return checked && spare_samples(options, path, fault) &&
           report_file_open(report, path, options->sync, fault);
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

    status = peers_agree(options->peers, outputs_name(&outputs, options, &fault), &fault)
                 ? run_and_report(options, &outputs)
                 : diag_error(&fault);
    outputs_free(&outputs);
    return status;
}
