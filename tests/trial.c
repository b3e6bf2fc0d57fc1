/* Trials: one stage on one grid, in the ways whose turn it is, held against the reference. */
#include "trial.h"

#include "plan/lower.h"
#include "assertions.h"
#include "harness.h"
#include "reference.h"
#include "seam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WAYS 32

static size_t served[MOST_WAYS][WORK_F64 + 1][EDGE_RULES];

/* FNV-1a. */
static void hash(uint64_t *number, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *number = (*number ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
}

uint64_t trial_number(const struct trial *trial)
{
    const size_t numbers[] = {trial->grid.nx,
                              trial->grid.ny,
                              trial->grid.nz,
                              trial->grid.channels,
                              trial->grid.axes,
                              (size_t)trial->work,
                              (size_t)trial->fill,
                              (trial->alpha ? 1U : 0U) + (trial->missing ? 2U : 0U) +
                                  4U * (trial->narrow ? 1 + (size_t)trial->type : 0)};
    uint64_t number = UINT64_C(0xcbf29ce484222325);

    hash(&number, trial->options, strlen(trial->options));
    hash(&number, numbers, sizeof numbers);
    return number >> 16; /* the low bits are the worst */
}

size_t trial_served(const struct way *way, enum work_type work, enum edge_rule edge)
{
    return served[way - ways][work][edge];
}

size_t trial_served_in(const struct way *way, enum work_type work)
{
    size_t trials = 0;

    for (size_t edge = 0; edge < EDGE_RULES; edge++)
        trials += trial_served(way, work, (enum edge_rule)edge);
    return trials;
}

static void compare(const struct trial *trial, const struct seam *seam, const struct form *form,
                    const unsigned char *got, const unsigned char *wanted)
{
    const enum sample_type type = shape_sample(&seam->shape, trial->work);
    size_t size = sample_size(type), samples = grid_samples(&trial->grid), i = 0;

    if (memcmp(got, wanted, samples * size) == 0)
        return;
    while (memcmp(got + i * size, wanted + i * size, size) == 0)
        i++;
    ck_abort_msg(
        "%s, %u axes, %zu × %zu × %zu × %u%s, %s, fill %d, %s, tile %ux%u, coarsen %u, %u steps, cut %d, "
        "number %llu: sample %zu differs",
        trial->options, trial->grid.axes, trial->grid.nx, trial->grid.ny, trial->grid.nz,
        trial->grid.channels, trial->alpha ? " with alpha" : "", sample_name(type), (int)trial->fill,
        seam->way->name, form->tile_x, form->tile_y, form->coarsen, form->steps, (int)seam->cut,
        (unsigned long long)trial_number(trial), i);
}

/* A trial under way: what goes in, and what must come out. */
struct attempt {
    const struct trial *trial;
    uint64_t number;
    struct encoding encoding;
    struct stage stage;
    struct step step;
    unsigned char *in, *wanted, *got, *mask;
};

static void attempt_in(const struct attempt *attempt, const struct way *way)
{
    const struct trial *trial = attempt->trial;
    uint64_t number = attempt->number + (uint64_t)(way - ways);
    struct seam seam = {.way = way,
                        .shape = lower_shape(&trial->grid, encoding_field_channels(&attempt->encoding)),
                        .work = trial->work,
                        .mask = attempt->mask,
                        .cut = (enum cut)(number % CUTS)};
    struct form form;

    seam.shape.narrow = trial->narrow;
    seam.shape.type = trial->type;
    ways_vary(number);
    seam_open(&seam);
    seam_upload(&seam, seam.fields[0], &attempt->encoding, attempt->in);
    if (seam_run(&seam, &attempt->step, attempt->stage.steps, number / CUTS, &form)) {
        seam_download(&seam, &attempt->encoding, attempt->got);
        compare(trial, &seam, &form, attempt->got, attempt->wanted);
        served[way - ways][trial->work][attempt->stage.edge.rule]++;
    }
    seam_close(&seam);
}

/* Some of many, or many of some: neighbours of a sample are all there, in part, or not at all. */
static void leave_out_samples(const struct encoding *encoding, bool seldom, unsigned char *samples,
                              size_t count, uint64_t number)
{
    const double nan = (double)NAN;
    const float narrow = NAN;
    size_t size = sample_size(encoding->type);

    for (size_t i = 0; i < count; i++) {
        bool many = (i / 40 + number) % 3 == 0;
        number = number * UINT64_C(0x5851f42d4c957f2d) + 1;
        if ((number >> 60) < (many ? 13 : 2) && !(seldom && i / 40 % 500 != 99))
            memcpy(samples + i * size, size == sizeof nan ? (const void *)&nan : &narrow, size);
    }
}

static void attempt_begin(struct attempt *attempt, struct trial *trial, const struct command *command)
{
    struct reference_job job = {.work = trial->work, .stages = &attempt->stage, .stage_count = 1};
    const struct shape shape = {.narrow = trial->narrow, .type = trial->type};
    struct fault fault;
    size_t samples, size = sample_size(shape_sample(&shape, trial->work));

    attempt->encoding = plain_encoding(trial->work, trial->grid.channels);
    attempt->encoding.type = shape_sample(&shape, trial->work);
    attempt->encoding.swapped = attempt->number % 2 == 1 && size == sizeof(uint16_t);
    job.in = job.out = attempt->encoding;
    attempt->encoding.alpha = job.in.alpha = job.out.alpha = trial->alpha;
    attempt->encoding.opaque = job.in.opaque = job.out.opaque = 1.0;
    command_stage(command, &trial->grid, &attempt->stage);
    attempt->encoding.missing = job.in.missing = trial->missing;
    /* Originals go through all levels beside what is filtered. */
    attempt->encoding.masked = job.in.masked = job.out.masked = trial->missing && attempt->number % 3 == 0;
    attempt->encoding.original.scale = job.in.original.scale = 1.0;
    attempt->encoding.weighs = trial->missing && stage_averages(&attempt->stage);
    attempt->stage.leaves_alpha = trial->alpha && !stage_keeps_constants(&attempt->stage);
    ck_assert_msg(
        lower_stage(&attempt->stage, &trial->grid, &attempt->encoding, trial->work, &attempt->step, &fault),
        "%s", fault.text);
    job.grid = trial->grid;
    samples = grid_samples(&trial->grid);
    attempt->mask = fixture_mask(samples, attempt->number);
    job.mask = attempt->mask;
    attempt->in = fixture_memory(samples, size);
    attempt->wanted = fixture_memory(samples, size);
    attempt->got = fixture_memory(samples, size);
    fill_samples(trial->fill, attempt->encoding.type, attempt->in, samples, attempt->number);
    if (trial->missing)
        leave_out_samples(&attempt->encoding, trial->seldom, attempt->in, samples, attempt->number);
    reference_run(&job, attempt->in, attempt->wanted);
}

static void attempt_end(struct attempt *attempt)
{
    free(attempt->in);
    free(attempt->wanted);
    free(attempt->got);
    free(attempt->mask);
    lower_free(&attempt->step);
    stage_free(&attempt->stage);
}

/* Each way draws by itself. If all drew the same, they would take the same large grids in a thinned run. */
static bool takes_large(const struct way *way, uint64_t number)
{
    return harness_has_turn(number + (uint64_t)(way - ways), way->of_large);
}

/* Two ways of one kernel take others of its trials. */
static bool takes_own(const struct way *way, uint64_t number)
{
    return harness_has_turn(number + 64 + (uint64_t)(way - ways), way->of_own);
}

static bool has_turn(const struct way *way, const struct attempt *attempt, bool all_ways)
{
    const struct trial *trial = attempt->trial;

    if (trial->rung != NULL && (way->rung == NULL || strcmp(way->rung, trial->rung) != 0))
        return false;
    if (trial->large && !takes_large(way, attempt->number))
        return false;
    if (all_ways && trial->rung != NULL && !trial->few && !takes_own(way, attempt->number))
        return false;
    return all_ways || way_has_turn(way, attempt->number);
}

/* Even in a thinned run, a way that has served nothing in a work type takes all that it would take in a whole
 * run. */
static bool takes(const struct way *way, const struct attempt *attempt)
{
    return harness_takes(attempt->number) || trial_served_in(way, attempt->trial->work) == 0;
}

void trial_check(const struct trial *given, bool all_ways)
{
    struct trial trial = *given;
    struct attempt attempt = {.trial = &trial, .number = trial_number(given)};
    struct command command;
    bool turns[MOST_WAYS], any = false;

    for (size_t i = 0; i < way_count; i++) {
        turns[i] = has_turn(&ways[i], &attempt, all_ways) && takes(&ways[i], &attempt);
        any = any || turns[i];
    }
    if (!any)
        return;
    command_parse(&command, PROGRAM_VOXFILT, trial.options);
    attempt_begin(&attempt, &trial, &command);
    for (size_t i = 0; i < way_count; i++) {
        if (turns[i])
            attempt_in(&attempt, &ways[i]);
    }
    attempt_end(&attempt);
    command_free(&command);
}
