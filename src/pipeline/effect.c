/* Effects: options that were given and change nothing. */
#include "effect.h"

#include "plan/lower.h"

/* What makes an option of no use to a stage. */
struct use {
    enum stage_option option;
    bool (*heeds)(const struct stage *stage);
    enum effect_reason reason;
};

static const struct use uses[] = {
    {STAGE_EDGE, stage_reads_neighbours, EFFECT_NO_NEIGHBOURS},
    {STAGE_FLIP, stage_is_asymmetric, EFFECT_SYMMETRIC},
};

enum { USES = sizeof uses / sizeof uses[0] };

/* Given to a stage alone. */
static bool is_vain_in_stage(const struct use *use, const struct stage *stage)
{
    return (stage->own & use->option) && !use->heeds(stage);
}

/* A default that no stage heeds which takes it. */
static bool is_vain_default(const struct use *use, const struct job *job)
{
    bool inherited = false;

    for (size_t i = 0; i < job->stage_count; i++) {
        const struct stage *stage = &job->stages[i];
        if ((stage->own & use->option) || !(stage->given & use->option))
            continue;
        if (use->heeds(stage))
            return false;
        inherited = true;
    }
    return inherited;
}

/* Of a use there may be an effect a stage, and one of the default. */
static bool find_in_stages(const struct job *job, size_t place, struct effect *effect)
{
    const struct use *use = &uses[place / (job->stage_count + 1)];
    size_t index = place % (job->stage_count + 1);
    const struct stage *stage = index < job->stage_count ? &job->stages[index] : NULL;

    *effect = (struct effect){stage_option_name(use->option), use->reason, stage};
    return stage != NULL ? is_vain_in_stage(use, stage) : is_vain_default(use, job);
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
        if (!job->stages[i].leaves_alpha && !stage_is_identity(&job->stages[i]))
            return true;
    }
    return false;
}

static bool find_in_channels(const struct job *job, struct effect *effect)
{
    *effect = (struct effect){stage_option_name(STAGE_FLUX_CHANNELS), EFFECT_LONE_CHANNEL, NULL};
    return is_for_lone_channel(job);
}

static bool find_in_alpha(const struct job_request *request, const struct job *job, struct effect *effect)
{
    *effect = (struct effect){"alpha-mode", job->in.alpha ? EFFECT_ALPHA_UNFILTERED : EFFECT_NO_ALPHA, NULL};
    return request->has_alpha_mode && (!job->in.alpha || !filters_alpha(job));
}

/* Places where there may be an effect, in order: those of the stages, then those of the input's channels. */
static bool find_at(const struct job_request *request, const struct job *job, size_t place,
                    struct effect *effect)
{
    size_t of_stages = USES * (job->stage_count + 1);

    if (place < of_stages)
        return find_in_stages(job, place, effect);
    return place == of_stages ? find_in_channels(job, effect) : find_in_alpha(request, job, effect);
}

bool effect_next(const struct job_request *request, const struct job *job, size_t *next,
                 struct effect *effect)
{
    size_t places = USES * (job->stage_count + 1) + 2;

    while (*next < places) {
        if (find_at(request, job, (*next)++, effect))
            return true;
    }
    return false;
}
