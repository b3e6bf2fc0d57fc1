/* Reports: what a command tells of a run once it is over. */
#include "report.h"

#include "report_json.h"
#include "report_text.h"

static void tell_stats(FILE *stream, bool among_others, const struct record *record)
{
    if (among_others)
        report_text_heading(stream, &record->ends);
    report_text_stats(stream, record->plan->job, record->summary);
}

void report_run(FILE *stream, bool among_others, const struct record *record)
{
    const struct options *options = record->options;

    if (stream == NULL)
        stream = diag_stream();
    if (options->run.stats && options->report != REPORT_JSON)
        tell_stats(diag_stream(), among_others, record);
    if (options->report == REPORT_TEXT)
        report_text_run(stream, record);
    else if (options->report == REPORT_JSON)
        report_json_run(stream, record);
}

void report_failure(FILE *stream, const struct options *options, const struct record_ends *ends,
                    const struct fault *fault)
{
    if (stream == NULL)
        return;
    if (options->report == REPORT_JSON)
        report_json_failure(stream, options, ends, fault);
    else
        report_text_failure(stream, ends, fault);
}
