/* Whole runs: a command line, and the files that it is about. An input is a line of words, then each file: a
   line
   "@NAME SIZE", and so many bytes. */
#include "fuzz.h"

#include "pipeline/pipeline.h"
#include "cli/command_line.h"
#include "cli/batch.h"
#include "cli/run_one.h"
#include "mutation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_MOST = 64, FILES_MOST = 16, OPERATIONS_MOST = 1 << 18, STEPS_MOST = 64, FRAMES_MOST = 4 };

/* A file of an input: the line before it, its name in there, and its bytes. */
struct piece {
    size_t head, at, size;
    char name[HEAD_MOST];
};

/* Names lead nowhere else. */
static bool is_name(const char *name)
{
    return *name != '\0' && *name != '.' && strpbrk(name, "/\t\n") == NULL;
}

static bool find_piece(const uint8_t *bytes, size_t size, size_t head, struct piece *piece)
{
    char line[HEAD_MOST + 1], *number;
    size_t length = fuzz_line_length(bytes + head, size - head);

    if (size - head < 4 || length >= sizeof line || bytes[head] != '@')
        return false;
    memcpy(line, bytes + head + 1, length - 1);
    line[length - 1] = '\0';
    number = strrchr(line, ' ');
    if (number == NULL)
        return false;
    *number++ = '\0';
    *piece = (struct piece){.head = head, .at = head + length + 1, .size = strtoul(number, NULL, 10)};
    if (piece->at > size || !is_name(line))
        return false;
    piece->size = piece->size > size - piece->at ? size - piece->at : piece->size;
    snprintf(piece->name, sizeof piece->name, "%s", line);
    return true;
}

static size_t list_pieces(const uint8_t *bytes, size_t size, struct piece pieces[FILES_MOST])
{
    size_t count = 0, head = fuzz_line_length(bytes, size) + 1;

    while (count < FILES_MOST && head < size && find_piece(bytes, size, head, &pieces[count])) {
        head = pieces[count].at + pieces[count].size;
        count++;
    }
    return count;
}

/* ---- running ---- */

/* Nothing is written or read elsewhere, and nothing waits or measures. */
static bool stays_here(const struct fuzz_line *line)
{
    for (int i = 0; i < line->count; i++) {
        if (strpbrk(line->words[i], "/~") != NULL || strncmp(line->words[i], "--all", 5) == 0)
            return false;
    }
    return true;
}

/* Whether its taps are few, which are made for any grid. */
static bool has_small_filter(const struct filter_call *call)
{
    return call->filter->kind == FILTER_TAPS || call->count == 0 || call->numbers[0] < 100.0;
}

/* As many as a run may have in this target: samples, times taps and steps. */
static bool is_small(const struct job *job)
{
    double samples = (double)header_samples(&job->in) + (double)grid_samples(&job->written.grid),
           operations = 0.0;

    for (size_t i = 0; i < job->stage_count; i++) {
        const struct stage *stage = &job->stages[i];
        size_t taps = 1 + stage->body.taps.count;
        for (size_t pass = 0; pass < FILTER_PASSES; pass++)
            taps += stage->body.along[pass].count;
        if (stage->steps > STEPS_MOST)
            return false;
        operations += samples * (double)stage->steps * (double)taps * (double)(stage->heat.inner + 1);
    }
    return operations + 16.0 * samples < OPERATIONS_MOST;
}

/* Whether the input is taken and makes a job that does not take long. */
static bool makes_small_job(const struct options *options, const char *input)
{
    const struct pipeline_request request = run_one_request(options, input, "-");
    struct pipeline pipeline;
    struct fault fault;
    bool small;

    if (!pipeline_open(&pipeline, &request, &fault)) {
        fuzz_check_fault(&fault);
        return false;
    }
    small = is_small(&pipeline.job);
    pipeline_close(&pipeline);
    return small;
}

static bool may_run(const struct options *options)
{
    bool runs = options->action == ACTION_RUN || options->action == ACTION_EXPLAIN;

    for (size_t i = 0; runs && i < options->job.stage_count; i++)
        runs = has_small_filter(&options->stages[i].call);
    for (size_t i = 0; runs && i < options->input_count; i++)
        runs = makes_small_job(options, options->inputs[i]);
    return runs && options->tee_count <= FRAMES_MOST;
}

static void run_line(struct fuzz_line *line)
{
    struct options options;
    struct fault fault;

    if (!command_line_parse(line->count, line->words, line->program, &options, &fault)) {
        fuzz_check_fault(&fault);
    } else {
        options.plan.threads = 1;
        if (may_run(&options))
            batch_run(&options);
    }
    options_free(&options);
    diag_set_level(DIAG_NORMAL);
}

void fuzz_run(const uint8_t *bytes, size_t size)
{
    struct piece pieces[FILES_MOST];
    size_t count = list_pieces(bytes, size, pieces);
    struct fuzz_line line;

    fuzz_split(&line, bytes, fuzz_line_length(bytes, size));
    if (!stays_here(&line))
        return;
    for (size_t i = 0; i < count; i++)
        fuzz_put_file(pieces[i].name, bytes + pieces[i].at, pieces[i].size);
    run_line(&line);
    fuzz_clear_folder();
}

/* ---- mutations ---- */

static void mutate_piece(struct mutation *mutation, const struct piece *piece)
{
    uint8_t *copy = malloc(mutation->most);
    struct mutation inner = {
        .bytes = copy, .size = piece->size, .most = mutation->most, .chance = mutation->chance};
    char head[2 * HEAD_MOST];

    if (copy == NULL)
        return;
    memcpy(copy, mutation->bytes + piece->at, piece->size);
    mutate_file(&inner);
    if (mutation_replace(mutation, piece->at, piece->size, copy, inner.size))
        mutation_replace(mutation, piece->head, piece->at - piece->head, head,
                         (size_t)snprintf(head, sizeof head, "@%s %zu\n", piece->name, inner.size));
    free(copy);
}

void mutate_run(struct mutation *mutation)
{
    struct piece pieces[FILES_MOST];
    size_t count = list_pieces(mutation->bytes, mutation->size, pieces);

    if (count == 0 || mutation_draw(mutation, 2) == 0)
        mutate_words(mutation, fuzz_line_length(mutation->bytes, mutation->size));
    else
        mutate_piece(mutation, &pieces[mutation_draw(mutation, count)]);
}
