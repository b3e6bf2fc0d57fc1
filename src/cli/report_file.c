/* The file of --report: the reports of all runs in their order, whole or not at all. */
#include "report_file.h"

bool report_file_open(struct report_file *report, const char *path, bool sync, struct fault *fault)
{
    *report = (struct report_file){.file = NULL};
    if (path == NULL)
        return true;
    if (!file_out_open_text(&report->file, path, fault))
        return fault_prefix(fault, "--report");
    if (sync)
        file_out_sync(report->file);
    return true;
}

void report_file_begin_part(const struct report_file *report, struct lines *part)
{
    if (report->file != NULL)
        lines_begin(part);
    else
        *part = (struct lines){.stream = NULL};
}

static bool write_part(struct report_file *report, const struct lines *part)
{
    if (part->torn)
        return fault_raise(&report->fault, STATUS_LIMIT, "there is no memory for it");
    return file_out_write(report->file, part->text, part->size, &report->fault);
}

void report_file_add(struct report_file *report, struct lines *part)
{
    lines_end(part);
    if (report->file != NULL && !report->lost && !report->joined)
        report->lost = !write_part(report, part);
    lines_free(part);
}

static void complete(struct report_file *report)
{
    if (!report->lost)
        report->lost = !file_out_complete(report->file, &report->fault);
}

bool report_file_join(struct report_file *report, struct file_set *set, struct fault *fault)
{
    complete(report);
    report->joined = !report->lost;
    return report->lost || file_set_add(set, report->file, fault);
}

void report_file_restart(struct report_file *report, const char *path, bool sync)
{
    struct fault unheard; /* after that of the run */

    file_out_close(report->file);
    if (!report_file_open(report, path, sync, &unheard))
        report->file = NULL;
}

bool report_file_commit(struct report_file *report, struct fault *fault)
{
    bool done;

    if (report->file == NULL)
        return true;
    complete(report);
    if (report->lost)
        *fault = report->fault;
    done = !report->lost && file_set_commit_one(report->file, fault);
    file_out_close(report->file);
    return done || fault_prefix(fault, "--report");
}
