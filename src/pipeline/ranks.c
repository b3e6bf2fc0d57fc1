/* Ranks: what the processes of a pipeline settle between them before, between and after its steps.

   All ranks make these calls, in the same order. First they find out whether all see the same input: its
   size, its first and last bytes, and its header, as rank 0 sees them. Then the split that rank 0 has chosen
   counts. Its members form a team; the others are idle, and only agree with the team on how its work has
   ended. Each member plans for itself. If members hold the grid together, a hash of the levels shows whether
   all will compute the same ones, because each sends the others what their levels read. */
#include "ranks.h"

#include "base/checksum.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Measuring takes at most this part of the least time of a run. */
#define MEASURING_SHARE 0.05

bool ranks_are_several(const struct ranks *ranks)
{
    return peers_count(ranks->all) > 1;
}

bool ranks_share_run(const struct ranks *ranks)
{
    return ranks->split.members > 1;
}

bool ranks_cannot_divide(const struct ranks *ranks)
{
    const struct split_option *options = ranks->split.options;

    return ranks_are_several(ranks) && options[SPLIT_PARTS].fate != SPLIT_CAN &&
           options[SPLIT_SHARES].fate != SPLIT_CAN;
}

/* ---- the same input ---- */

/* A header as ranks compare it: the texts differ if anything does that matters. */
struct look {
    char samples[128], rest[256];
};

static void look_at(const struct header *header, struct look *look)
{
    const struct grid *grid = &header->grid;

    memset(look, 0, sizeof *look);
    snprintf(look->samples, sizeof look->samples, "%s %s", grid_format_extents(grid).text,
             sample_name(header->type));
    snprintf(look->rest, sizeof look->rest, "%u %zu %d %d %d %a %a %a %a", grid->channels, header->volumes,
             (int)header->endian, header->alpha, header->associated, header->file_gamma, grid->spacing[0],
             grid->spacing[1], grid->spacing[2]);
}

static bool compare_looks(const struct look *own, const struct look *first, const char *name,
                          struct fault *fault)
{
    if (strcmp(own->samples, first->samples) != 0)
        return fault_set_for(fault, STATUS_INPUT, name, "%s here, but %s on rank 0", own->samples,
                             first->samples);
    return strcmp(own->rest, first->rest) == 0 ||
           fault_set_for(fault, STATUS_INPUT, name, "the header differs from that on rank 0");
}

bool ranks_compare_headers(struct ranks *ranks, const struct source *source, struct fault *fault)
{
    struct look own, first;

    if (!ranks_are_several(ranks))
        return true;
    look_at(&source->header, &own);
    first = own;
    return peers_broadcast(ranks->all, &first, sizeof first, fault) &&
           peers_agree(ranks->all, compare_looks(&own, &first, file_in_name(source->file), fault), fault);
}

/* Copies that are not of the same state seldom have the same bytes at both ends. Each rank reads these of the
   first and of the last file of a stack, which may be small. */
#define END_BYTES ((size_t)256 << 10)

/* A file as a rank sees it. */
struct view {
    uint64_t bytes, changed;
    uint64_t first, last; /* checksums of its ends */
};

/* The checksum of some bytes of a file. */
static bool look_into(const struct file_in *file, uint64_t at, void *bytes, size_t size, uint64_t *sum,
                      struct fault *fault)
{
    size_t got;

    if (!file_in_read_at(file, at, bytes, size, &got, fault))
        return false;
    *sum =
        (uint64_t)checksum_crc(CHECKSUM_CRC, bytes, got) << 32 | checksum_adler(CHECKSUM_ADLER, bytes, got);
    return true;
}

/* Size, time and the checksums of both ends of a file. */
static bool look_at_file(const struct file_in *file, struct view *view, struct fault *fault)
{
    size_t size;
    void *bytes;
    bool done;

    if (!file_in_remaining(file, &view->bytes))
        return fault_set_for(fault, STATUS_USAGE, file_in_name(file),
                             "every rank reads the input, so it must be a regular file");
    size = view->bytes < END_BYTES ? (size_t)view->bytes : END_BYTES;
    bytes = mem_alloc(size, 1, "the ends of the input", fault);
    done = bytes != NULL && look_into(file, 0, bytes, size, &view->first, fault) &&
           look_into(file, view->bytes - size, bytes, size, &view->last, fault);
    mem_free(bytes);
    view->changed = file_in_state(file).changed;
    return done;
}

/* Refuse a file that is not that of rank 0, and say how it differs. */
static bool compare_views(const struct view *own, const struct view *first, const char *name,
                          struct fault *fault)
{
    if (own->bytes != first->bytes)
        return fault_set_for(fault, STATUS_INPUT, name, "%" PRIu64 " bytes here, but %" PRIu64 " on rank 0",
                             own->bytes, first->bytes);
    if (own->first == first->first && own->last == first->last)
        return true;
    return own->bytes <= END_BYTES
               ? fault_set_for(fault, STATUS_INPUT, name, "its bytes differ from those on rank 0")
               : fault_set_for(fault, STATUS_INPUT, name, "its %s 256 KiB differ from those on rank 0",
                               own->first != first->first ? "first" : "last");
}

/* Remember whether ranks see different times of change: they may have copies, which hold the same bytes so
   far. */
static bool compare_times(struct ranks *ranks, uint64_t changed, struct fault *fault)
{
    uint64_t earliest = changed, latest = UINT64_MAX - changed;

    if (!peers_min(ranks->all, &earliest, fault) || !peers_min(ranks->all, &latest, fault))
        return false;
    ranks->changed_apart |= earliest != UINT64_MAX - latest;
    return true;
}

/* A rank that has no such file, where others have one, sees something else than they do. */
static bool compare_files(struct ranks *ranks, const struct file_in *file, const char *name,
                          struct fault *fault)
{
    struct view own = {.bytes = 0}, first;

    if (!peers_agree(ranks->all, file == NULL || look_at_file(file, &own, fault), fault))
        return false;
    first = own;
    return peers_broadcast(ranks->all, &first, sizeof first, fault) &&
           peers_agree(ranks->all, compare_views(&own, &first, name, fault), fault) &&
           compare_times(ranks, own.changed, fault);
}

bool ranks_compare_files(struct ranks *ranks, const struct file_in *file, struct fault *fault)
{
    return !ranks_are_several(ranks) || compare_files(ranks, file, file_in_name(file), fault);
}

/* Compare the first or the last of the files of samples. */
static bool compare_beside(struct ranks *ranks, const struct source *source, bool last, struct fault *fault)
{
    struct file_in *file = NULL;
    bool none = source->data_files <= last;
    char *path = none ? NULL : source->format->name_file(source, last ? source->data_files - 1 : 0, fault);
    bool open = none || (path != NULL && file_in_open(&file, path, fault));
    bool done = peers_agree(ranks->all, open, fault) &&
                compare_files(ranks, file, path != NULL ? path : file_in_name(source->file), fault);

    file_in_close(file);
    mem_free(path);
    return done;
}

bool ranks_compare_samples(struct ranks *ranks, const struct source *source, struct fault *fault)
{
    /* The first file of a stack is the one that has been compared. */
    return !ranks_are_several(ranks) || source->format->name_file == NULL ||
           ((source->slice != NULL || compare_beside(ranks, source, false, fault)) &&
            compare_beside(ranks, source, true, fault));
}

/* ---- the team ---- */

static bool form_team(struct ranks *ranks, size_t members, struct fault *fault)
{
    ranks->idle = peers_index(ranks->all) >= members;
    return peers_team(ranks->all, members, &ranks->team, fault);
}

/* Rank 0 decides whether the time that is at stake is worth it. */
static bool measure_link(struct ranks *ranks, const char *name, double stakes, bool *measured,
                         struct fault *fault)
{
    struct fault unheard; /* if the rate cannot be kept, the next run measures again */

    *measured = stakes > LINK_SECONDS / MEASURING_SHARE;
    if (!peers_broadcast(ranks->all, measured, sizeof *measured, fault))
        return false;
    if (!*measured)
        return true;
    ranks->link_source = "measured";
    if (!link_measure(ranks->all, &ranks->link, fault))
        return false;
    if (peers_lead(ranks->all))
        (void)wisdom_keep_link(name, &ranks->link, &unheard);
    return true;
}

/* By what each rank knows of the link; then, if it was worth while to measure that, by what all know. */
static bool choose_split(struct ranks *ranks, const struct plan_request *request, const struct job *job,
                         struct split *split, struct fault *fault)
{
    const struct peers_place *place = &ranks->all->place;
    size_t count = peers_count(ranks->all);
    char name[PEERS_NODE_MOST + 80];
    bool known, measured;

    ranks->link = link_assumed();
    /* Another launch may be on other nodes. */
    snprintf(name, sizeof name, "link of %zu ranks, %zu on %s", place->count, place->locals, place->node);
    known = wisdom_find_link(request->wisdom, name, &ranks->link);
    ranks->link_source = known ? "measured before" : "assumed";
    return peers_agree(ranks->all, plan_split(request, job, &ranks->link, count, split, fault), fault) &&
           measure_link(ranks, name, known ? 0.0 : split_stakes(split, count), &measured, fault) &&
           (!measured ||
            peers_agree(ranks->all, plan_split(request, job, &ranks->link, count, split, fault), fault));
}

bool ranks_choose_team(struct ranks *ranks, const struct plan_request *request, const struct job *job,
                       struct fault *fault)
{
    struct split split = {
        .kind = SPLIT_ALONE, .members = 1, .options[SPLIT_ALONE] = {.fate = SPLIT_CAN, .members = 1}};

    if (ranks->split.members > 0)
        return true;
    if (ranks_are_several(ranks) &&
        (!choose_split(ranks, request, job, &split, fault) ||
         !peers_broadcast(ranks->all, &split.kind, sizeof split.kind, fault) ||
         !peers_broadcast(ranks->all, &split.members, sizeof split.members, fault) ||
         !peers_broadcast(ranks->all, split.options, sizeof split.options, fault) ||
         !form_team(ranks, split.members, fault)))
        return false;
    ranks->split = split;
    return true;
}

void ranks_divide(const struct ranks *ranks, struct job *job)
{
    if (ranks_share_run(ranks) && !ranks->idle)
        split_apply(&ranks->split, peers_index(&ranks->team), job);
}

static bool compare_levels(struct ranks *ranks, const struct plan *plan, struct fault *fault)
{
    const uint64_t own[] = {levels_digest(&plan->levels), plan->shares.halo};
    uint64_t first[] = {own[0], own[1]};

    return peers_broadcast(&ranks->team, first, sizeof first, fault) &&
           (memcmp(own, first, sizeof own) == 0 ||
            fault_raise(fault, STATUS_LIMIT, "the levels differ from those on rank 0"));
}

bool ranks_agree_on_levels(struct ranks *ranks, const struct plan *plan, struct fault *fault)
{
    if (ranks->split.kind != SPLIT_SHARES)
        return true;
    ranks->unlike = !ranks_conclude(ranks, ranks->idle || compare_levels(ranks, plan, fault), fault);
    return !ranks->unlike;
}

bool ranks_step_down(struct ranks *ranks, struct fault *fault)
{
    size_t members = ranks->split.members;
    enum split_fate fate = ranks->unlike ? SPLIT_UNLIKE : SPLIT_TOO_LARGE;

    ranks->unlike = false;
    if (!split_step_down(&ranks->split, fate))
        return false;
    if (ranks->split.members == members)
        return true;
    peers_close(&ranks->team);
    return form_team(ranks, ranks->split.members, fault);
}

bool ranks_conclude(struct ranks *ranks, bool done, struct fault *fault)
{
    if (ranks_share_run(ranks) && !ranks->idle)
        done = peers_agree(&ranks->team, done, fault);
    return ranks->split.members == peers_count(ranks->all) ? done : peers_follow(ranks->all, done, fault);
}

void ranks_close(struct ranks *ranks)
{
    peers_close(&ranks->team);
    *ranks = (struct ranks){.all = ranks->all};
}
