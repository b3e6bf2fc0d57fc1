/* The command line of both commands: from argv to plain requests. */
#include "command_line.h"

#include "model/stages.h"
#include "options_check.h"
#include "parsing.h"
#include "option_values.h"
#include "option_table.h"

#include <getopt.h>

static bool (*const setters[])(struct parsing *parsing, const char *value) = {
#define OPTION(letter, name, argument, choices, programs, set, help) set,
#include "options.def"
};

static bool settle_inputs(struct parsing *parsing, const char *const *operands, size_t count)
{
    struct options *options = parsing->options;

    if (options->input != NULL && count > 0)
        return fault_raise_about(parsing->fault, STATUS_USAGE, operands[0],
                                 "--input already gives the input");
    if (options->input == NULL)
        options->input = "-";
    options->inputs = count > 0 ? operands : &options->input;
    options->input_count = count > 0 ? count : 1;
    return true;
}

static bool take_all(struct parsing *parsing, int argc, char **argv)
{
    struct words words;
    const char *value;
    size_t option;

    words_begin(&words, parsing->options->program, argc, argv);
    for (;;) {
        if (!words_next(&words, &option, &value, parsing->fault))
            return false;
        if (option == WORDS)
            return settle_inputs(parsing, (const char *const *)argv + optind, (size_t)(argc - optind));
        parsing->choices = words_choices(option);
        if (!setters[option](parsing, value))
            return words_refuse(&words, option, parsing->fault);
    }
}

static bool settle_stages(struct parsing *parsing)
{
    struct job_request *job = &parsing->options->job;

    if (job->stage_count == 0 && !option_filter(parsing, "heat"))
        return false;
    job->stages = parsing->options->stages;
    return stages_settle(parsing->options->stages, job->stage_count, &parsing->defaults, job->force,
                         parsing->fault);
}

bool command_line_parse(int argc, char **argv, enum program program, struct options *options,
                        struct fault *fault)
{
    struct parsing parsing = {.options = options, .fault = fault};

    if (!options_make(options, program, argc, argv, fault))
        return false;
    parsing.stage = &parsing.defaults;
    parsing.defaults.joint_flux = program == PROGRAM_IMGHEAT;
    parsing.wish = &options->plan.wish;
    if (!take_all(&parsing, argc, argv))
        return false;
    if (options->action == ACTION_HELP || options->action == ACTION_VERSION || options->action == ACTION_LIST)
        return true;
    return settle_stages(&parsing) && options_check(options, fault);
}
