/* Tees as a command line asks for them: states of the last stage, each into a file. */
#include "tee_list.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/number.h"
#include "format/pattern.h"
#include "outputs.h"

const char *tee_list_option(const struct options *options)
{
    return options->tee_count > 0 ? "--tee" : options->frames.pattern != NULL ? "--frames" : NULL;
}

/* Whether there are states on the way that are what a run with fewer steps puts out. */
static bool check_job(const struct job *job, struct fault *fault)
{
    const struct stage *last = &job->stages[job->stage_count - 1];

    if (last->until > 0.0)
        return fault_raise(fault, STATUS_USAGE,
                           "not allowed with --until, which finds its last step by itself");
    if (job->measures)
        return fault_raise(fault, STATUS_USAGE,
                           "not allowed with --out-range=auto: each state has its own range");
    if (job->copies)
        return fault_raise(fault, STATUS_USAGE, "every state is the input: no stage changes a sample");
    if (last->converted)
        return fault_raise(fault, STATUS_USAGE, "%s as the last stage has no states of its own", last->spec);
    return true;
}

/* How many frames there are: the first one is the state before the stage. */
static bool count_frames(const struct options *options, uint64_t steps, size_t *count, struct fault *fault)
{
    uint64_t every = options->frames.every, frames = steps / every + 1;

    *count = (size_t)frames;
    return frames <= MOST_FRAMES ||
           fault_raise(fault, STATUS_LIMIT,
                       "%llu frames, but at most " TEXT(MOST_FRAMES) "; --every %llu is enough",
                       (unsigned long long)frames, (unsigned long long)(steps / (MOST_FRAMES - 1) + 1));
}

static bool list_frames(struct tee_list *list, const struct options *options, uint64_t steps,
                        struct fault *fault)
{
    size_t count;

    if (!count_frames(options, steps, &count, fault))
        return false;
    list->pattern = options->frames.pattern;
    list->tees = mem_zeroed(count, sizeof *list->tees, "the frames", fault);
    list->names = list->tees == NULL ? NULL : mem_zeroed(count, sizeof *list->names, "the frames", fault);
    if (list->names == NULL)
        return false;
    for (; list->count < count; list->count++) {
        char name[PATTERN_NAME_MOST];
        pattern_expand(options->frames.pattern, list->count, name);
        list->names[list->count] = mem_text(name, fault);
        if (list->names[list->count] == NULL)
            return false;
        list->tees[list->count] =
            (struct pipeline_tee){options->frames.every * list->count, list->names[list->count]};
    }
    return true;
}

static bool list_tees(struct tee_list *list, const struct options *options, uint64_t steps,
                      struct fault *fault)
{
    list->tees = mem_alloc(options->tee_count, sizeof *list->tees, "the tees", fault);
    if (list->tees == NULL)
        return false;
    for (; list->count < options->tee_count; list->count++) {
        const struct pipeline_tee *tee = &options->tees[list->count];
        if (tee->step > steps)
            return fault_raise(fault, STATUS_USAGE, "%llu:%s: the last stage takes %llu step%s",
                               (unsigned long long)tee->step, tee->path, (unsigned long long)steps,
                               number_plural(steps));
        list->tees[list->count] = *tee;
    }
    return true;
}

/* A frame's number keeps it apart from the others. */
static bool check_files(const struct tee_list *list, const struct options *options,
                        const struct pipeline *pipeline, struct fault *fault)
{
    char *path = (char *)pipeline->request->output;
    const struct outputs outputs = {.paths = &path, .count = 1};

    for (size_t i = 0; i < list->count; i++) {
        if (!outputs_admit(&outputs, options, list->tees[i].path, fault))
            return false;
        for (size_t k = 0; k < i && list->pattern == NULL; k++) {
            if (!outputs_differ(options, list->tees[i].path, list->tees[k].path, fault))
                return false;
        }
    }
    return true;
}

static bool make(struct tee_list *list, const struct options *options, const struct pipeline *pipeline,
                 struct fault *fault)
{
    const struct job *job = &pipeline->job;
    uint64_t steps = job->stages[job->stage_count - 1].steps;

    return check_job(job, fault) &&
           (options->tee_count > 0 ? list_tees(list, options, steps, fault)
                                   : list_frames(list, options, steps, fault)) &&
           check_files(list, options, pipeline, fault);
}

bool tee_list_make(struct tee_list *list, const struct options *options, const struct pipeline *pipeline,
                   struct fault *fault)
{
    const char *option = tee_list_option(options);

    *list = (struct tee_list){.count = 0};
    return option == NULL || make(list, options, pipeline, fault) || fault_prefix(fault, option);
}

void tee_list_free(struct tee_list *list)
{
    for (size_t i = 0; list->names != NULL && i < list->count; i++)
        mem_free(list->names[i]);
    mem_free(list->names);
    mem_free(list->tees);
    *list = (struct tee_list){.count = 0};
}
