/* The file of --report: the reports of all runs in their order, whole or not at all. */
#include "report_file.h"

#include <stdlib.h>

bool report_file_open(struct report_file *report, const char *path, struct fault *fault)
{
    *report = (struct report_file){.file = NULL};
    return path == NULL || file_out_open_text(&report->file, path, fault) || fault_prefix(fault, "--report");
}

void report_part_begin(const struct report_file *report, struct report_part *part)
{
    *part = (struct report_part){.stream = NULL};
    if (report->file != NULL)
        part->stream = open_memstream(&part->text, &part->size);
}

static bool write_part(struct report_file *report, struct report_part *part)
{
    if (part->stream == NULL || fclose(part->stream) != 0)
        return fault_raise(&report->fault, STATUS_LIMIT, "there is no memory for it");
    return file_out_write(report->file, part->text, part->size, &report->fault);
}

void report_file_add(struct report_file *report, struct report_part *part)
{
    if (report->file == NULL)
        return;
    if (!report->lost)
        report->lost = !write_part(report, part);
    else if (part->stream != NULL)
        fclose(part->stream);
    free(part->text);
}

bool report_file_commit(struct report_file *report, struct fault *fault)
{
    bool done = true;

    if (report->file == NULL)
        return true;
    if (report->lost) {
        *fault = report->fault;
        done = false;
    } else {
        done = file_out_commit(report->file, fault);
    }
    file_out_close(report->file);
    return done || fault_prefix(fault, "--report");
}
