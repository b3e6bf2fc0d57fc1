/* Ranks: what the processes of a pipeline settle between them before, between and after its steps. */
#include "ranks.h"

#include "base/number.h"
#include "run/gauge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Measuring takes at most this part of the least time of a run. */
#define GAUGE_SHARE 0.05

bool ranks_are_several(const struct ranks *ranks)
{
    return peers_count(ranks->all) > 1;
}

bool ranks_share_run(const struct ranks *ranks)
{
    return ranks->division.members > 1;
}

bool ranks_agree(struct ranks *ranks, bool done, struct fault *fault)
{
    return peers_agree(ranks->all, done, fault);
}

/* ---- the same input ---- */

/* What follows from a header. */
struct look {
    char samples[128], rest[256];
};

static void look_at(const struct header *header, struct look *look)
{
    const struct grid *grid = &header->grid;
    char extents[96];

    memset(look, 0, sizeof *look);
    number_format_product((const size_t[]){grid->nx, grid->ny, grid->nz}, grid->axes, extents,
                          sizeof extents);
    snprintf(look->samples, sizeof look->samples, "%s %s", extents, sample_name(header->type));
    snprintf(look->rest, sizeof look->rest, "%u %zu %d %d %d %a %a %a %a", grid->channels, header->volumes,
             (int)header->endian, header->alpha, header->associated, header->file_gamma, grid->spacing[0],
             grid->spacing[1], grid->spacing[2]);
}

static bool compare_looks(const struct look *own, const struct look *first, const char *name,
                          struct fault *fault)
{
    if (strcmp(own->samples, first->samples) != 0)
        return fault_raise_about(fault, STATUS_INPUT, name, "%s here, but %s on rank 0", own->samples,
                                 first->samples);
    return strcmp(own->rest, first->rest) == 0 ||
           fault_raise_about(fault, STATUS_INPUT, name, "the header differs from that on rank 0");
}

bool ranks_compare_headers(struct ranks *ranks, const struct source *source, struct fault *fault)
{
    struct look own, first;

    if (!ranks_are_several(ranks))
        return true;
    look_at(&source->header, &own);
    first = own;
    return peers_tell(ranks->all, &first, sizeof first, fault) &&
           ranks_agree(ranks, compare_looks(&own, &first, file_in_name(source->file), fault), fault);
}

/* Nothing else can be read by each of them. */
static bool find_size(const struct file_in *file, uint64_t *bytes, struct fault *fault)
{
    return file_in_remaining(file, bytes) ||
           fault_raise_about(fault, STATUS_USAGE, file_in_name(file),
                             "every rank reads the input, so it must be a regular file");
}

static bool compare_sizes(uint64_t own, uint64_t first, const char *name, struct fault *fault)
{
    return own == first || fault_raise_about(fault, STATUS_INPUT, name,
                                             "%" PRIu64 " bytes here, but %" PRIu64 " on rank 0", own, first);
}

bool ranks_compare_files(struct ranks *ranks, const struct file_in *file, struct fault *fault)
{
    uint64_t own = 0, first;

    if (!ranks_are_several(ranks))
        return true;
    if (!ranks_agree(ranks, find_size(file, &own, fault), fault))
        return false;
    first = own;
    return peers_tell(ranks->all, &first, sizeof first, fault) &&
           ranks_agree(ranks, compare_sizes(own, first, file_in_name(file), fault), fault);
}

/* ---- the team ---- */

static bool form_team(struct ranks *ranks, size_t members, struct fault *fault)
{
    ranks->idle = peers_index(ranks->all) >= members;
    return !ranks_are_several(ranks) || peers_team(ranks->all, members, &ranks->team, fault);
}

/* Another launch may be on other nodes. */
static void name_link(const struct ranks *ranks, char *name, size_t size)
{
    const struct peers_place *place = &ranks->all->place;

    snprintf(name, size, "link of %zu ranks, %zu on %s", place->count, place->locals, place->node);
}

static const char assumed[] = "assumed", found[] = "measured before", measured_now[] = "measured";

void ranks_find_link(struct ranks *ranks, const struct wisdom *wisdom)
{
    char name[PEERS_NODE_MOST + 80];

    ranks->link = link_assumed();
    ranks->link_source = assumed;
    if (!ranks_are_several(ranks))
        return;
    name_link(ranks, name, sizeof name);
    if (link_find(wisdom, name, &ranks->link))
        ranks->link_source = found;
}

/* If it cannot be kept, the next run measures again. */
static void keep_link(const struct ranks *ranks)
{
    char name[PEERS_NODE_MOST + 80];
    struct fault unheard;

    name_link(ranks, name, sizeof name);
    if (peers_lead(ranks->all))
        (void)link_keep(name, &ranks->link, &unheard);
}

bool ranks_measure_link(struct ranks *ranks, double stakes, bool *measured, struct fault *fault)
{
    *measured = ranks->link_source == assumed && stakes > GAUGE_SECONDS / GAUGE_SHARE;
    if (!peers_tell(ranks->all, measured, sizeof *measured, fault))
        return false;
    if (!*measured)
        return true;
    ranks->link_source = measured_now;
    if (!gauge_link(ranks->all, &ranks->link, fault))
        return false;
    keep_link(ranks);
    return true;
}

bool ranks_choose_team(struct ranks *ranks, const struct division *division, struct fault *fault)
{
    struct division first = *division;

    if (!peers_tell(ranks->all, &first.kind, sizeof first.kind, fault) ||
        !peers_tell(ranks->all, &first.members, sizeof first.members, fault) ||
        !peers_tell(ranks->all, first.options, sizeof first.options, fault) ||
        !form_team(ranks, first.members, fault))
        return false;
    ranks->division = first;
    return true;
}

void ranks_divide(const struct ranks *ranks, struct job *job)
{
    if (ranks_share_run(ranks) && !ranks->idle)
        division_apply(&ranks->division, peers_index(&ranks->team), job);
}

static bool compare_levels(struct ranks *ranks, const struct plan *plan, struct fault *fault)
{
    const uint64_t own[] = {levels_digest(&plan->levels), plan->shares.halo, plan->schedule.depth};
    uint64_t first[] = {own[0], own[1], own[2]};

    return peers_tell(&ranks->team, first, sizeof first, fault) &&
           (memcmp(own, first, sizeof own) == 0 ||
            fault_raise(fault, STATUS_LIMIT, "the levels differ from those on rank 0"));
}

bool ranks_agree_on_depth(struct ranks *ranks, struct plan *plan, size_t *depth, bool *alike,
                          struct fault *fault)
{
    uint64_t least = plan->schedule.depth, most = UINT64_MAX - least, loan = plan->schedule.loan;

    if (!peers_least(&ranks->team, &least, fault) || !peers_least(&ranks->team, &most, fault) ||
        !peers_least(&ranks->team, &loan, fault))
        return false;
    *depth = (size_t)least;
    *alike = least == UINT64_MAX - most;
    plan->schedule.loan = (size_t)loan;
    return true;
}

bool ranks_agree_on_levels(struct ranks *ranks, const struct plan *plan, struct fault *fault)
{
    enum division_kind kind = ranks->division.kind;

    if (kind != DIVISION_SHARES && kind != DIVISION_PASSES)
        return true;
    ranks->unlike = !ranks_conclude(ranks, ranks->idle || compare_levels(ranks, plan, fault), fault);
    return !ranks->unlike;
}

bool ranks_step_down(struct ranks *ranks, struct fault *fault)
{
    size_t members = ranks->division.members;
    enum division_fate fate = ranks->unlike ? DIVISION_UNLIKE : DIVISION_TOO_LARGE;

    ranks->unlike = false;
    if (!division_step_down(&ranks->division, fate))
        return false;
    if (ranks->division.members == members)
        return true;
    peers_close(&ranks->team);
    return form_team(ranks, ranks->division.members, fault);
}

bool ranks_conclude(struct ranks *ranks, bool done, struct fault *fault)
{
    if (ranks_share_run(ranks) && !ranks->idle)
        done = peers_agree(&ranks->team, done, fault);
    return ranks->division.members == peers_count(ranks->all) ? done : peers_follow(ranks->all, done, fault);
}

bool ranks_tell(struct ranks *ranks, void *bytes, size_t size, struct fault *fault)
{
    return peers_tell(ranks->all, bytes, size, fault);
}

void ranks_close(struct ranks *ranks)
{
    peers_close(&ranks->team);
    *ranks = (struct ranks){.all = ranks->all};
}
