/* Sweeps: the levels of a pass advanced over the planes, by one device or by several that share them.

   A level reads planes on both sides of those that it computes, so it lags behind the level before it. Of
   one device, planes come until there is a slab of new ones. Then each level in turn advances over the planes
   that are ready for it, and what the last level has computed may leave. When the fields are full, the window
   slides on. So they hold no more planes than lie between the first level and the last, a slab, and what has
   not left yet.

   Several members, the GPUs of a process or ranks, hold all planes in their fields, each a share of them, and
   go through the levels once a pass. Before each level a member gets, from those that own them, the planes
   beside its share that the level reads (exchange.c); then it advances its own. One device is a team of one
   member, which exchanges nothing: sweep_run() is the only loop over the levels. The planes at the borders of
   a share come first if they can be on their way while those inside are computed. Sums are added up in the
   order of planes, so they have the same bits for any number of members.

   A process may have several members, its GPUs, or be one member itself, a rank. What fails in one process,
   others learn only when all agree. That costs a message, so levels go by in between: `fine` says whether
   nothing has failed here, and a process in which something has failed goes on exchanging planes until then.
 */
#include "sweep.h"

#include "base/mem.h"
#include "base/size.h"

#include <string.h>

/* Levels between two agreements. */
#define LEVELS_BETWEEN 16

/* While another thread computes, each wait between two looks at messages is so much longer than the one
   before, up to a longest one. A look takes the processor from that thread. */
#define LONGER_MICROSECONDS  128
#define LONGEST_MICROSECONDS 1000

/* Bytes that one call of a backend in this process's memory advances, so that progress is seen while a large
   field is computed. Other devices take all at once: they would compute the seams between pieces twice. */
#define PIECE_BYTES ((size_t)256 << 20)

/* Sample updates in one span of work: small, so that progress tells what is done or soon will be. */
#define SPAN_UPDATES 4e9

/* Planes whose changes are asked for at once: many rows of a picture, whose sums still take little memory. */
#define CHANGES_TOGETHER 8192

static bool create_fields(struct sweep *sweep, size_t planes, struct fault *fault)
{
    const struct plan *plan = sweep->plan;
    struct shape shape = plan->shape;

    shape.planes = sweep->field_planes = planes;
    sweep->window = (struct range){0, size_least(plan->schedule.window, planes)};
    return lane_create_fields(sweep->lane, plan->schedule.field_count, &shape, plan->job->work, sweep->window,
                              fault);
}

bool sweep_create(struct sweep *sweep, const struct plan *plan, struct lane *lane, struct progress *progress,
                  struct fault *fault)
{
    *sweep = (struct sweep){.plan = plan, .lane = lane, .progress = progress};
    if (plan->schedule.on_trial) {
        sweep->plane_changes =
            mem_alloc(size_least(plan->shape.planes, CHANGES_TOGETHER),
                      plan->job->in.grid.channels * sizeof *sweep->plane_changes, "the sums", fault);
        if (sweep->plane_changes == NULL)
            return false;
    }
    return create_fields(sweep, plan->shape.planes, fault);
}

void sweep_destroy(struct sweep *sweep)
{
    if (sweep->lane == NULL)
        return;
    lane_destroy_fields(sweep->lane);
    mem_free(sweep->plane_changes);
    sweep->plane_changes = NULL;
}

/* The planes of a field that are still needed, or will be handed over: as far back as levels look, what is to
 * leave, and what has come.
 */
static struct range needed(const struct sweep *sweep, size_t field)
{
    size_t depth = sweep->plan->schedule.depth, end = field == sweep->input ? sweep->fed : sweep->swept;
    size_t begin = sweep->frame.span.begin, before = sweep->frame.before;
    size_t first = sweep->swept > begin + depth ? sweep->swept - depth : begin - before;
    struct range leaving = sweep_leaving(sweep);

    if (field == sweep->output && leaving.count > 0 && leaving.first < first)
        first = leaving.first;
    return (struct range){first, end > begin ? end - first : 0};
}

/* Move the windows of all fields as far as nothing before them is needed any more. */
static bool slide(struct sweep *sweep, struct fault *fault)
{
    const struct plan *plan = sweep->plan;
    size_t first = needed(sweep, sweep->output).first;

    for (size_t i = 0; i < plan->schedule.field_count; i++) {
        if (!sweep->lane->backend->field_slide(sweep->lane->device, sweep->lane->fields[i], first,
                                               needed(sweep, i), fault))
            return false;
    }
    sweep->window.first = first;
    return true;
}

bool sweep_begin(struct sweep *sweep, struct levels_mark begin, struct levels_mark end,
                 const struct sweep_frame *frame, double *changes, struct fault *fault)
{
    sweep->levels = sweep->plan->levels;
    sweep->levels.unrolled = frame->overlap > 0;
    sweep->levels.planes += 2 * frame->overlap;
    sweep->frame = *frame;
    sweep->fed = sweep->swept = frame->span.begin;
    sweep->done = 0;
    sweep->gone = frame->leaving.first;
    sweep->output = 0;
    sweep_begin_levels(sweep, begin, end, changes);
    /* Fields of the pass before serve this one if their grid is the same. */
    if (sweep->levels.planes == sweep->field_planes)
        return slide(sweep, fault);
    lane_destroy_fields(sweep->lane);
    return create_fields(sweep, sweep->levels.planes, fault) && slide(sweep, fault);
}

void sweep_begin_levels(struct sweep *sweep, struct levels_mark begin, struct levels_mark end,
                        double *changes)
{
    sweep->begin = begin;
    sweep->end = end;
    sweep->input = sweep->output;
    sweep->changes = changes;
}

void sweep_begin_again(struct sweep *sweep, struct levels_mark begin, struct levels_mark end,
                       struct range leaving, double *changes)
{
    sweep_begin_levels(sweep, begin, end, changes);
    sweep->swept = sweep->done = 0;
    sweep->frame.leaving = leaving;
    sweep->gone = leaving.first;
    sweep->frame.of_source = false;
}

/* Whether the fields have places for more planes without moving their windows. */
static bool stand_free(const struct sweep *sweep, size_t planes)
{
    return sweep->fed + planes <= sweep->window.first + sweep->window.count;
}

/* A device in this process's own memory slides without moving anything. Another moves what is needed, which
   is worth it once a slab: it has to make room for all that is still to come before the levels advance. */
bool sweep_has_room(const struct sweep *sweep)
{
    const struct plan *plan = sweep->plan;
    size_t to_come = sweep->frame.span.end - sweep->fed;
    size_t batch = size_least(plan->schedule.batch, to_come);
    size_t slab = size_least(sweep->swept + plan->schedule.slab - sweep->fed, to_come);
    size_t asked = lane_is_in_own_memory(sweep->lane) ? batch : slab;

    return stand_free(sweep, batch) ||
           sweep->fed + asked <= needed(sweep, sweep->output).first + sweep->window.count;
}

bool sweep_make_room(struct sweep *sweep, size_t planes, struct fault *fault)
{
    return stand_free(sweep, planes) || slide(sweep, fault);
}

void sweep_feed(struct sweep *sweep, size_t planes)
{
    sweep->fed += planes;
}

bool sweep_is_due(const struct sweep *sweep)
{
    return sweep->fed - sweep->swept >= sweep->plan->schedule.slab || sweep->fed == sweep->frame.span.end;
}

bool sweep_goes_on(const struct sweep *sweep)
{
    return sweep->swept < sweep->frame.span.end;
}

static bool begin_span(struct sweep *sweep, struct fault *fault)
{
    sweep->span = 0.0;
    return sweep->lane->backend->begin_span(sweep->lane->device, fault);
}

static bool end_span(struct sweep *sweep, struct fault *fault)
{
    return sweep->lane->backend->end_span(sweep->lane->device, &sweep->seconds, fault);
}

/* Show progress, and begin another span of work when the device has enough in this one. */
static bool tell_updates(struct sweep *sweep, double updates, struct fault *fault)
{
    progress_add(sweep->progress, updates);
    sweep->span += updates;
    return sweep->span < SPAN_UPDATES || (end_span(sweep, fault) && begin_span(sweep, fault));
}

/* How many planes one call of the backend advances. */
static size_t piece_planes(const struct sweep *sweep)
{
    const struct plan *plan = sweep->plan;
    size_t plane = sweep->lane->backend->field_bytes(&plan->shape, plan->job->work, 1);

    if (!lane_is_in_own_memory(sweep->lane))
        return plan->shape.planes;
    return plane >= PIECE_BYTES ? 1 : PIECE_BYTES / plane;
}

/* Let one level compute some planes of a member, piece by piece. */
static bool advance_member(struct sweep *sweep, const struct level *level, struct range planes,
                           struct fault *fault)
{
    const struct plan *plan = sweep->plan;
    const struct levels_step *step = &plan->steps[level->stage];
    const struct field *kept =
        op_reads_kept(&step->step.ops[level->op]) ? sweep->lane->fields[level->kept] : NULL;
    size_t most = piece_planes(sweep);
    struct range piece = {planes.first, 0};

    for (size_t left = planes.count; left > 0; left -= piece.count) {
        piece.first += piece.count;
        piece.count = left < most ? left : most;
        if (!sweep->lane->backend->advance(
                sweep->lane->device, sweep->lane->routines[level->stage][level->op], level->steps,
                sweep->lane->fields[level->from], kept, sweep->lane->fields[level->to], piece, fault) ||
            !tell_updates(sweep, level->steps * (double)piece.count * plan->plane_samples, fault))
            return false;
    }
    return true;
}

/* ---- changes ---- */

/* The change that a level has made to each of some planes, channel by channel. */
static bool list_changes(const struct sweep *sweep, const struct level *level, struct range planes,
                         double *changes, struct fault *fault)
{
    const struct job *job = sweep->plan->job;

    return sweep->lane->backend->change(sweep->lane->device, sweep->lane->fields[level->input],
                                        sweep->lane->fields[level->to], job->in.grid.channels,
                                        job->field.missing, planes, changes, fault);
}

/* Add the changes of some planes to the sums of each channel, plane by plane. */
static bool add_change(struct sweep *sweep, const struct level *level, struct range planes, double *sums,
                       struct fault *fault)
{
    struct range own = shares_common(planes, sweep->frame.own), part = {own.first, 0};
    size_t channels = sweep->plan->job->in.grid.channels;

    for (size_t left = own.count; left > 0; left -= part.count) {
        part.first += part.count;
        part.count = size_least(left, CHANGES_TOGETHER);
        if (!list_changes(sweep, level, part, sweep->plane_changes, fault))
            return false;
        for (size_t i = 0; i < part.count * channels; i++)
            sums[i % channels] += sweep->plane_changes[i];
    }
    return true;
}

/* ---- teams ---- */

static bool has_others(const struct sweep_team *team)
{
    return team->shares.held < team->shares.count;
}

static bool agree(const struct sweep_team *team, bool done)
{
    return has_others(team) ? peers_agree(team->peers, done, team->fault) : done;
}

/* The planes that a member computes at the level that the walk has come to: its share, or those that are
 * ready. */
static struct range own_planes(const struct sweep_team *team, size_t member)
{
    const struct sweep *sweep = &team->members[member];

    return team->shares.count > 1
               ? shares_own(&team->shares, team->shares.first + member)
               : levels_ready(&sweep->frame.span, team->walk.level.lag, sweep->swept, sweep->fed);
}

/* ---- how planes are counted ---- */

/* Planes are counted from the first of the unrolled grid on, or from that of the grid itself, where edges act
   at its ends. What stands before it then has numbers below 0. Ranks do not share a grid that needs both. */
static void count_planes(struct sweep_team *team, bool around)
{
    const struct shares *planned = &team->plan->shares;
    const ptrdiff_t overlap = (ptrdiff_t)shares_overlap(planned);

    if (around == team->shares.around || !planned->around || has_others(team))
        return;
    team->shares.around = around;
    for (size_t i = 0; i < team->shares.held; i++) {
        const struct lane *lane = team->members[i].lane;
        for (size_t k = 0; k < team->plan->schedule.field_count; k++)
            lane->backend->field_renumber(lane->fields[k],
                                          planned->planes + 2 * shares_overlap(&team->shares),
                                          around ? overlap : -overlap);
    }
}

/* Count planes as the level needs them: its edge rule wraps, or acts at the ends of the grid. */
static void count_for(struct sweep_team *team, const struct level *level)
{
    const struct op *op = &team->plan->steps[level->stage].step.ops[level->op];

    count_planes(team, edge_has(op->edge, EDGE_PERIODIC));
}

/* ---- levels ---- */

/* Parts of a share: all of it, or its borders, which are as deep as the next level reaches, and what is
 * between. */
enum part { WHOLE, LOW, HIGH, INSIDE };

/* The planes of a part of a share. */
static struct range part_of(struct range own, enum part part, size_t reach)
{
    switch (part) {
    case LOW:
        return (struct range){own.first, reach};
    case HIGH:
        return (struct range){own.first + own.count - reach, reach};
    case INSIDE:
        return (struct range){own.first + reach, own.count - 2 * reach};
    default:
        return own;
    }
}

/* All members of this process compute a part of their shares at the level that the walk has come to. */
static void advance(struct sweep_team *team, enum part part, size_t reach)
{
    const struct level *level = &team->walk.level;

    count_for(team, level);
    for (size_t i = 0; team->fine && i < team->shares.held; i++)
        team->fine =
            advance_member(&team->members[i], level, part_of(own_planes(team, i), part, reach), team->fault);
}

/* The level after that which the walk has come to, and what it reads beside the members' own planes; nothing
   where there is one member, or that was the last. */
static size_t next_reach(const struct sweep_team *team, struct levels_walk *next)
{
    *next = team->walk;
    return team->shares.count > 1 && levels_walk_next(next) ? next->level.reach : 0;
}

/* Start to bring what the next level reads. */
static bool begin_exchange(struct sweep_team *team, const struct level *next)
{
    count_for(team, next);
    return exchange_begin(&team->exchange, next->reach, next->from, &team->fine);
}

/* Exchange what the next level reads, while nothing is computed. */
static bool exchange_at_once(struct sweep_team *team)
{
    struct levels_walk next;

    return next_reach(team, &next) == 0 ||
           (begin_exchange(team, &next.level) && exchange_send(&team->exchange, &team->fine) &&
            exchange_end(&team->exchange, next.level.from, &team->fine));
}

/* The planes that another thread computes. */
struct inside {
    struct sweep_team *team;
    size_t reach;
};

static void advance_inside(void *data, size_t first, size_t count, unsigned member)
{
    const struct inside *inside = data;

    (void)first;
    (void)count;
    (void)member;
    advance(inside->team, INSIDE, inside->reach);
}

/* Another thread computes, while this one looks after messages. */
static void advance_and_look(struct sweep_team *team, size_t reach)
{
    struct inside inside = {team, reach};
    bool over = false;

    if (pool_start(team->aside, 1, advance_inside, &inside) == 0) {
        advance(team, INSIDE, reach);
        return;
    }
    for (unsigned wait = 0; !over && !peers_test_messages(team->peers);
         wait = (unsigned)size_least(wait + LONGER_MICROSECONDS, LONGEST_MICROSECONDS))
        over = pool_join_within(team->aside, wait);
    pool_join(team->aside);
}

/* The inside is computed while the borders are on their way: by the device, if it computes by itself, else
   by a thread. */
static bool advance_inside_and_send(struct sweep_team *team, size_t reach)
{
    if (team->aside == NULL) {
        advance(team, INSIDE, reach);
        return exchange_send(&team->exchange, &team->fine);
    }
    if (!exchange_send(&team->exchange, &team->fine))
        return false;
    advance_and_look(team, reach);
    return true;
}

/* A level, and the exchange for the next one. */
static bool advance_and_exchange(struct sweep_team *team)
{
    const struct shares *shares = &team->shares;
    struct levels_walk next;
    size_t reach = next_reach(team, &next);

    /* Planes that go through the host's memory take as long as a level, so they go while the inside is
       computed, unless shares are so small that a level in three pieces computes too much twice. Where GPUs
       reach each other, all at once is faster (on two H200 by 5 % at 512 planes each). */
    if (reach == 0 || shares->direct || shares_pieces(shares->planes / shares->count, reach) == 1) {
        advance(team, WHOLE, 0);
        return exchange_at_once(team);
    }
    advance(team, LOW, reach);
    advance(team, HIGH, reach);
    return begin_exchange(team, &next.level) && advance_inside_and_send(team, reach) &&
           exchange_end(&team->exchange, next.level.from, &team->fine);
}

/* Add the changes that a rank brings to the sums, in the order of its planes. */
static bool add_up(void *data, const void *bytes, size_t size, struct fault *fault)
{
    const struct sweep_team *team = data;
    size_t channels = team->plan->job->in.grid.channels;
    const double *each = bytes;

    (void)fault;
    for (size_t i = 0; i < size / sizeof *each; i++)
        team->changes[i % channels] += each[i];
    return true;
}

/* Rank 0 adds them up, and tells. */
static bool add_changes_of_all(struct sweep_team *team)
{
    const struct range own = own_planes(team, 0);
    size_t channels = team->plan->job->in.grid.channels, bytes = own.count * channels * sizeof(double);

    memset(team->each, 0, bytes);
    team->fine = team->fine && list_changes(team->members, &team->walk.level, own, team->each, team->fault);
    return peers_gather(team->peers, team->each, bytes, add_up, team, team->fault) &&
           peers_broadcast(team->peers, team->changes, channels * sizeof(double), team->fault);
}

/* Add up the change of the level's step over all members, in the order of planes. */
static bool add_changes(struct sweep_team *team)
{
    if (has_others(team))
        return add_changes_of_all(team);
    for (size_t i = 0; team->fine && i < team->shares.held; i++)
        team->fine =
            add_change(&team->members[i], &team->walk.level, own_planes(team, i), team->changes, team->fault);
    return true;
}

/* Steps that are not checked have their place among the sums, too. */
static bool look_at_changes(struct sweep_team *team)
{
    const struct level *level = &team->walk.level;
    bool done = true;

    if (team->changes == NULL || !level->ends_step)
        return true;
    if (checks_is_due(&team->members->levels.stages[level->stage].checks, level->behind))
        done = add_changes(team);
    team->changes += team->plan->job->in.grid.channels;
    return done;
}

/* If the state at the walk's mark is asked for, its planes are shown in their order. */
static void show(struct sweep_team *team, unsigned field)
{
    const struct sweep_tap *tap = &team->tap;
    uint64_t step;

    if (tap->take == NULL || !levels_stops_at(&team->members->levels, team->walk.at, &step))
        return;
    for (size_t i = 0; team->fine && i < team->shares.held; i++)
        team->fine = tap->take(tap->taker, &team->members[i], step, field, own_planes(team, i), team->fault);
}

/* Whether to go on. A process alone knows at once. */
static bool go_on(struct sweep_team *team)
{
    if (++team->levels < LEVELS_BETWEEN)
        return team->fine || has_others(team);
    team->levels = 0;
    team->fine = team->fine && !sink_lacks_room(team->sink, team->fault);
    return agree(team, team->fine);
}

/* ---- a run ---- */

/* The levels of all steps up to the first one of which no plane is ready; `done` are the planes of the last
   of them. Within a step, a chain may have planes ready while the one before it has none yet. */
static bool walk_levels(struct sweep_team *team, size_t *done)
{
    struct levels_walk *walk = &team->walk;

    /* The input is a state, too: after no step. And the first level needs planes of others. */
    if (team->members->frame.of_source)
        show(team, walk->level.to);
    if (!exchange_at_once(team))
        return false;
    while ((*done > 0 || walk->next_op > 0) && levels_walk_next(walk)) {
        const struct range planes = own_planes(team, 0);
        *done = planes.first + planes.count;
        if (!advance_and_exchange(team))
            return false;
        count_planes(team, team->plan->shares.around);
        /* A step has ended: show its state, add up its change, and from time to time agree. */
        if (walk->level.ends_step)
            show(team, walk->level.to);
        if (!look_at_changes(team) || !go_on(team))
            return false;
    }
    return team->fine || has_others(team);
}

/* Before the first level: memory for changes, a thread to compute beside messages, and a span of work on each
   device. */
static bool begin_levels(struct sweep_team *team)
{
    const bool shared = team->shares.count > 1;
    bool done = !sink_lacks_room(team->sink, team->fault);

    if (team->changes != NULL && has_others(team)) {
        team->each = mem_alloc(own_planes(team, 0).count, team->plan->job->in.grid.channels * sizeof(double),
                               "the sums", team->fault);
        done = done && team->each != NULL;
    }
    /* Other devices compute by themselves while their caller does other things. */
    if (done && shared && lane_is_in_own_memory(team->members->lane))
        done = pool_create(&team->aside, 1, THREAD_FULL_STACK, team->fault);
    for (size_t i = 0; done && i < team->shares.held; i++)
        done = begin_span(&team->members[i], team->fault);
    return done;
}

/* After the last level: what each member has done, and where its result is. */
static bool end_levels(struct sweep_team *team, size_t planes)
{
    const struct lane *lane = team->members->lane;
    struct outcomes of_exchange = {.strays = 0};
    bool done = true;

    for (size_t i = 0; done && i < team->shares.held; i++) {
        struct sweep *sweep = &team->members[i];
        sweep->handed += team->exchange.handed[i];
        sweep->done = planes;
        sweep->output = team->walk.level.to;
        sweep->swept = sweep->fed;
        done = end_span(sweep, team->fault);
    }
    /* Planes that ranks send each other come from no file and go into none, so what was seen of them does not
       count. */
    return done &&
           (!has_others(team) || lane->backend->tell_outcomes(lane->device, &of_exchange, team->fault));
}

/* Every process gets to the end of this function, whatever fails, since others wait for what it sends. */
bool sweep_run(struct sweep_team *team)
{
    const struct sweep *first = team->members;
    size_t planes = first->fed;
    bool done;

    levels_walk_start(&team->walk, &first->levels, first->begin, first->end, first->input);
    team->exchange = exchange_of(team->plan, first->lane, &team->shares, team->peers, team->fault);
    team->changes = first->changes;
    team->fine = true;
    team->levels = 0;
    done = agree(team, begin_levels(team)) && walk_levels(team, &planes);
    team->fine = team->fine && done && end_levels(team, planes);
    done = done && agree(team, team->fine);
    exchange_close(&team->exchange);
    pool_destroy(team->aside);
    mem_free(team->each);
    team->aside = NULL;
    team->each = NULL;
    return done;
}

struct range sweep_leaving(const struct sweep *sweep)
{
    const struct range *leaving = &sweep->frame.leaving;
    size_t end = size_least(sweep->done, leaving->first + leaving->count);

    return (struct range){sweep->gone, end > sweep->gone ? end - sweep->gone : 0};
}

void sweep_leave(struct sweep *sweep, size_t planes)
{
    sweep->gone += planes;
}

bool sweep_finish(struct sweep *sweep, struct fault *fault)
{
    return sweep->lane->backend->sync(sweep->lane->device, &sweep->seconds, fault);
}
