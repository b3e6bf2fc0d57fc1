/* Entries: the inputs of a command, each with its task and with its messages, which are printed in its
   turn. */
#include "entries.h"

#include "base/mem.h"

bool entries_open(struct entries *entries, const struct options *options, const struct outputs *outputs,
                  struct budget *budget, struct report_file *report, struct fault *fault)
{
    *entries = (struct entries){.count = options->input_count, .report = report};
    entries->list = mem_zeroed(entries->count, sizeof *entries->list, "the files' tasks", fault);
    if (entries->list == NULL)
        return false;
    for (size_t i = 0; i < entries->count; i++) {
        struct task *task = &entries->list[i].task;
        *task = task_alone(options, options->inputs[i], outputs->paths[i]);
        task->request.run.progress = PROGRESS_NEVER;
        task->request.budget = budget;
    }
    pthread_mutex_init(&entries->mutex, NULL);
    progress_begin_files(&entries->progress, options->run.progress, entries->count);
    return true;
}

void entries_close(struct entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        lines_free(&entries->list[i].on_options);
        lines_free(&entries->list[i].messages);
        lines_free(&entries->list[i].report);
    }
    progress_end(&entries->progress);
    pthread_mutex_destroy(&entries->mutex);
    lines_free(&entries->told_on_options);
    mem_free(entries->list);
}

void entries_run(const struct entries *entries, struct entry *entry)
{
    lines_begin(&entry->on_options);
    lines_begin(&entry->messages);
    report_file_begin_part(entries->report, &entry->report);
    entry->task.report = entry->report.stream;
    entry->task.on_options = entry->on_options.stream;
    diag_divert(entry->messages.stream);
    entry->status = task_run(&entry->task);
    diag_divert(NULL);
    lines_end(&entry->report);
    lines_end(&entry->messages);
    lines_end(&entry->on_options);
}

static void tell(struct entries *entries, struct entry *entry)
{
    if (entry->on_options.size + entry->messages.size > 0)
        progress_wipe(&entries->progress);
    lines_tell_new(&entry->on_options, &entries->told_on_options);
    lines_tell(&entry->messages);
    report_file_add(entries->report, &entry->report);
}

void entries_end(struct entries *entries, struct entry *entry)
{
    pthread_mutex_lock(&entries->mutex);
    entry->over = true;
    for (; entries->told < entries->count && entries->list[entries->told].over; entries->told++)
        tell(entries, &entries->list[entries->told]);
    progress_add(&entries->progress, 1.0);
    pthread_mutex_unlock(&entries->mutex);
}

enum status entries_status(const struct entries *entries)
{
    enum status all = STATUS_DONE;

    for (size_t i = 0; i < entries->count; i++)
        all = status_of_both(all, entries->list[i].status);
    return all;
}
