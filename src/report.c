/* Reports: what a command tells of a run once it is over. */
#include "report.h"

#include "report_json.h"
#include "report_text.h"

static void tell_stats(FILE *stream, bool among_others, const struct plan *plan,
                       const struct record_ends *ends, const struct run_summary *summary)
{
    if (among_others)
        report_text_heading(stream, ends);
    report_text_stats(stream, plan->job, summary);
}

void report_run(FILE *stream, const struct options *options, bool among_others, const struct plan *plan,
                const struct record_ends *ends, const struct run_summary *summary)
{
    if (options->run.stats && options->report != REPORT_JSON)
        tell_stats(stream, among_others, plan, ends, summary);
    if (options->report == REPORT_TEXT)
        report_text_summary(stream, plan, ends, summary);
    else if (options->report == REPORT_JSON)
        report_json_summary(stream, plan, ends, summary);
}
