/* Reports: what a command tells of a run once it is over. */
#include "report.h"

#include "report_json.h"
#include "report_text.h"

void report_figures(const struct options *options, const struct pipeline *pipeline)
{
    if (!options->run.stats || options->report == REPORT_JSON)
        return;
    if (options->input_count > 1)
        report_text_heading(diag_stream(), pipeline->request);
    report_text_stats(diag_stream(), pipeline);
}

void report_run(FILE *stream, const struct options *options, const struct pipeline *pipeline)
{
    if (stream == NULL)
        stream = diag_stream();
    if (options->report == REPORT_TEXT)
        report_text_run(stream, pipeline);
    else if (options->report == REPORT_JSON)
        report_json_run(stream, options, pipeline);
}

void report_failure(FILE *stream, const struct options *options, const struct pipeline_request *request,
                    const struct fault *fault)
{
    if (stream == NULL)
        return;
    if (options->report == REPORT_JSON)
        report_json_failure(stream, options, request, fault);
    else
        report_text_failure(stream, request, fault);
}
