/* Effects: options that were given and change nothing, in words. */
#include "effect.h"

#include "base/diag.h"
#include "lower.h"

/* What makes an option of no use to a stage. */
struct use {
    enum stage_option option;
    bool (*heeds)(const struct stage *stage);
    const char *one;  /* why a stage does not heed it, after the stage's name */
    const char *none; /* why none does */
};

static const struct use uses[] = {
    {STAGE_EDGE, stage_reads_neighbours, "reads no neighbours", "no stage reads neighbours"},
    {STAGE_FLIP, stage_heeds_flip, "is the same when flipped", "every stage is the same when flipped"},
};

static void note_stages(const struct job *job, const struct use *use)
{
    const char *name = stage_option_name(use->option);
    bool inherited = false, heeded = false;

    for (size_t i = 0; i < job->stage_count; i++) {
        const struct stage *stage = &job->stages[i];
        bool heeds = use->heeds(stage);
        if (stage->own & use->option) {
            if (!heeds)
                diag_note("--%s has no effect: %s %s", name, stage->spec, use->one);
        } else if (stage->given & use->option) {
            inherited = true;
            heeded |= heeds;
        }
    }
    if (inherited && !heeded)
        diag_note("--%s has no effect: %s", name, use->none);
}

void effect_note_stages(const struct job *job)
{
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++)
        note_stages(job, &uses[i]);
}

static bool is_for_lone_channel(const struct job *job)
{
    for (size_t i = 0; i < job->stage_count; i++) {
        if ((job->stages[i].given & STAGE_FLUX_CHANNELS) &&
            lower_joint_channels(&job->stages[i], &job->field) < 2)
            return true;
    }
    return false;
}

/* Colour is weighted by alpha only where alpha is filtered with it. */
static bool filters_alpha(const struct job *job)
{
    for (size_t i = 0; i < job->stage_count; i++) {
        if (!job->stages[i].leaves_alpha)
            return !job->copies;
    }
    return false;
}

void effect_note_input(const char *input, const struct job_request *request, const struct job *job)
{
    if (is_for_lone_channel(job))
        diag_note("%s: --flux-channels has no effect: there is only one channel", input);
    if (request->has_alpha_mode && !job->in.alpha)
        diag_note("%s: --alpha-mode has no effect: there is no alpha", input);
    else if (request->has_alpha_mode && !filters_alpha(job))
        diag_note("%s: --alpha-mode has no effect: no stage filters alpha", input);
}
