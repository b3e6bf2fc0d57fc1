/* Options: what a command line asks for, as plain requests. */
#include "options.h"

#include "base/mem.h"

/* getopt puts operands last. */
static bool keep_words(struct options *options, int argc, char **argv, struct fault *fault)
{
    options->words = mem_alloc((size_t)argc, sizeof *options->words, "the command line", fault);
    if (options->words == NULL)
        return false;
    for (int i = 0; i < argc; i++)
        options->words[options->word_count++] = argv[i];
    return true;
}

bool options_make(struct options *options, enum program program, int argc, char **argv, struct fault *fault)
{
    *options = (struct options){.program = program, .level = -1};
    options->source.grid = grid_make(3, 0, 0, 0);
    options->stages = mem_zeroed((size_t)argc + 1, sizeof *options->stages, "the stages", fault);
    options->tees = mem_zeroed((size_t)argc, sizeof *options->tees, "the tees", fault);
    return options->stages != NULL && options->tees != NULL && keep_words(options, argc, argv, fault);
}

void options_free(struct options *options)
{
    for (size_t i = 0; i < options->job.stage_count; i++)
        filter_call_free(&options->stages[i].call);
    mem_free(options->stages);
    mem_free(options->words);
    mem_free(options->tees);
    options->stages = NULL;
    options->words = NULL;
}
