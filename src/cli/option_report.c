/* Options of what is shown of a run: reports, pictures, states on the way, progress, notes. */
#include "option_values.h"

#include "base/choice.h"
#include "base/number.h"
#include "format/pattern.h"
#include "parsing.h"
#include "option_table.h"

#include <string.h>

/* Without a file, or to -, a report goes to standard error. */
bool option_report(struct parsing *parsing, const char *value)
{
    struct options *options = parsing->options;
    const char *path = NULL;
    char expected[64];
    int notation = NOTATION_TEXT;

    if (value != NULL && !choice_parse(parsing->choices, value, &notation, &path, parsing->fault))
        return false;
    if (path != NULL && *path == '\0')
        return parsing_refuse(parsing, value, choice_expected(parsing->choices, expected, sizeof expected));
    options->report = notation == NOTATION_JSON ? REPORT_JSON : REPORT_TEXT;
    options->report_path = path != NULL && strcmp(path, "-") == 0 ? NULL : path;
    return true;
}

bool option_tee(struct parsing *parsing, const char *value)
{
    struct options *options = parsing->options;
    struct pipeline_tee *tee = &options->tees[options->tee_count];
    const char *colon = strchr(value, ':');
    char number[32];

    if (colon == NULL || colon[1] == '\0' || (size_t)(colon - value) >= sizeof number)
        return parsing_refuse(parsing, value, "N:FILE, where N is a number of steps");
    memcpy(number, value, (size_t)(colon - value));
    number[colon - value] = '\0';
    if (!number_parse_count(number, &tee->step))
        return parsing_refuse(parsing, value, "N:FILE, where N is a number of steps");
    tee->path = colon + 1;
    options->tee_count++;
    return true;
}

bool option_frames(struct parsing *parsing, const char *value)
{
    return parsing_keep_file(parsing, &parsing->options->frames.pattern, value) &&
           (pattern_is(value) || parsing_refuse(parsing, value, "a name with %d or %04d in it, once"));
}

bool option_every(struct parsing *parsing, const char *value)
{
    uint64_t *every = &parsing->options->frames.every;

    return (number_parse_count(value, every) && *every > 0) ||
           parsing_refuse(parsing, value, "a whole number above 0");
}

bool option_preview(struct parsing *parsing, const char *value)
{
    return parsing_keep_file(parsing, &parsing->options->preview, value);
}

bool option_plot(struct parsing *parsing, const char *value)
{
    return parsing_keep_file(parsing, &parsing->options->plot, value);
}

bool option_stats(struct parsing *parsing, const char *value)
{
    (void)value;
    parsing->options->run.stats = parsing->options->plan.stats = true;
    return true;
}

bool option_progress(struct parsing *parsing, const char *value)
{
    int mode;

    if (!parsing_read_choice(parsing, value, &mode))
        return false;
    parsing->options->run.progress = (enum progress_mode)mode;
    return true;
}

bool option_quiet(struct parsing *parsing, const char *value)
{
    (void)parsing, (void)value;
    diag_set_level(DIAG_QUIET);
    return true;
}

bool option_verbose(struct parsing *parsing, const char *value)
{
    (void)parsing, (void)value;
    diag_set_level(DIAG_VERBOSE);
    return true;
}
