/* Parts: results that are computed by several runs, each on its own. */
#include "part.h"

#include "base/file_in.h"

bool part_check(const struct job *job, const struct source *source, const struct levels *levels,
                struct fault *fault)
{
    const char *option = region_option(job->region_kind);

    if (!region_is_part(job->region_kind))
        return true;
    if (!source->random)
        return fault_raise_about(fault, STATUS_USAGE, file_in_name(source->file),
                                 "%s needs samples at fixed places in one file: a pipe, compressed samples "
                                 "and lists of files have none",
                                 option);
    if (job_waits_for_change(job))
        return fault_raise_about(fault, STATUS_USAGE, option,
                                 "not allowed with --until: every part would need the whole grid");
    if (job->measures)
        return fault_raise_about(fault, STATUS_USAGE, option,
                                 "not allowed with --out-range=auto: every part would need the whole grid");
    if (levels_mix_ends(levels))
        return fault_raise_about(fault, STATUS_USAGE, option,
                                 "an edge that wraps is followed or preceded by one that does not: every "
                                 "part would need the whole grid");
    return true;
}
