/* Teams: passes by several members, each of which has a share of the planes in its fields.

   A member owns the planes of its share. Before each level it gets, from the members that own them, the
   planes beside these that the level reads (exchange.c); then it advances its own. The planes at the borders
   of a share come first if they can be on their way while those inside are computed. Sums are added up in the
   order of planes, so they have the same bits for any number of members.

   A process may have several members, its GPUs, or be one member itself, a rank. What fails in one process,
   others learn only when all agree. That costs a message, so levels go by in between: `fine` says whether
   nothing has failed here, and a process in which something has failed goes on exchanging planes until then.
 */
#include "team.h"

#include "base/mem.h"
#include "base/pool.h"
#include "exchange.h"
#include "output.h"

#include <string.h>

/* Levels between two agreements. */
#define LEVELS_BETWEEN 16

/* While another thread computes, each wait between two looks at messages is so much longer than the one
   before, up to a longest one. A look takes the processor from that thread. */
#define LONGER_MICROSECONDS  128
#define LONGEST_MICROSECONDS 1000

/* A walk through the levels. */
struct team {
    struct run *run;
    struct exchange exchange;
    struct levels_walk walk;
    double *each;       /* the changes of this process's planes, where others have some; else NULL */
    double *changes;    /* of each step; or NULL */
    bool fine;          /* nothing has failed in this process */
    unsigned levels;    /* since all agreed */
    struct pool *aside; /* a thread that computes while this one looks after messages; or NULL */
};

static size_t members_here(const struct run *run)
{
    return run->shares.held;
}

static bool has_others(const struct run *run)
{
    return run->shares.held < run->shares.count;
}

/* The planes of a member of this process. */
static struct range own_planes(const struct run *run, size_t member)
{
    return shares_own(&run->shares, run->plan->shares.first + member);
}

/* Let one of the members make what passes are made of. */
static void choose_member(struct run *run, size_t member)
{
    run->lane = &run->lanes[member];
    run->sweep = &run->sweeps[member];
    run->share = run->plan->shares.first + member;
}

/* ---- planes in and out ---- */

/* Planes that all members move, and what each of them adds up meanwhile. */
struct move {
    const struct run *run;
    const struct pass *pass;
    struct pass_seconds seconds[DEVICES_MOST];
    struct outcomes outcomes[DEVICES_MOST];
};

/* What a member does of a pass that moves planes: its own, and no levels. */
static struct pass moving(const struct run *run, const struct pass *pass)
{
    const struct levels_mark mark = pass->from != NULL ? pass->begin : pass->end;

    return (struct pass){.begin = mark,
                         .end = mark,
                         .overlap = shares_overlap(&run->plan->shares),
                         .from = pass->from,
                         .to = pass->to};
}

static bool move_share(void *context, size_t index, struct parallel_loop *loop, struct fault *fault)
{
    struct move *move = context;
    struct pass pass = moving(move->run, move->pass);
    struct run own = *move->run;
    bool done;

    choose_member(&own, index);
    own.loop = loop;
    own.fault = fault;
    own.seconds = (struct pass_seconds){.start = 0.0};
    own.outcomes = (struct outcomes){.strays = 0};
    done = pass_make(&own, &pass);
    move->seconds[index] = own.seconds;
    move->outcomes[index] = own.outcomes;
    return done;
}

/* What can be read or written anywhere, and is not looked at in its order, need not wait for other members.
 */
static bool goes_side_by_side(const struct run *run, const struct pass *pass)
{
    const struct stop *end = pass->from != NULL ? pass->from : pass->to;

    return end->random && !pass_is_observed(run, end);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Members side by side take as long as the slowest of them; the threads that read and write for them are
   counted each. */
static void add_seconds(struct pass_seconds *all, const struct pass_seconds *members, size_t count)
{
    struct pass_seconds slowest = {.start = 0.0};

    for (size_t i = 0; i < count; i++) {
        all->read += members[i].read;
        all->write += members[i].write;
        slowest.start = larger(slowest.start, members[i].start);
        slowest.upload = larger(slowest.upload, members[i].upload);
        slowest.download = larger(slowest.download, members[i].download);
        slowest.reading = larger(slowest.reading, members[i].reading);
        slowest.writing = larger(slowest.writing, members[i].writing);
    }
    all->start += slowest.start;
    all->upload += slowest.upload;
    all->download += slowest.download;
    all->reading += slowest.reading;
    all->writing += slowest.writing;
}

/* Once nobody reads any more: to look at a file's end moves the place from which others read. */
static bool look_at_end(struct run *run, const struct stop *from)
{
    return from == NULL || from->end.finish == NULL || from->end.finish(from->end.file, run->fault);
}

static bool move_beside(struct run *run, struct move *move)
{
    const size_t count = members_here(run);
    bool done = parallel_for(count, move_share, move, run->fault) && look_at_end(run, move->pass->from);

    add_seconds(&run->seconds, move->seconds, count);
    return done;
}

static bool move_in_turn(struct run *run, struct move *move)
{
    const size_t count = members_here(run);
    bool done = serial_for(count, move_share, move, run->fault);

    for (size_t i = 0; i < count; i++)
        add_seconds(&run->seconds, &move->seconds[i], 1);
    return done;
}

static bool move_planes(struct run *run, const struct pass *pass)
{
    struct move move = {.run = run, .pass = pass};
    struct pass alone = moving(run, pass);
    bool done;

    if (members_here(run) == 1)
        return pass_make(run, &alone);
    done = goes_side_by_side(run, pass) ? move_beside(run, &move) : move_in_turn(run, &move);
    for (size_t i = 0; i < members_here(run); i++)
        output_add_outcomes(&run->outcomes, &move.outcomes[i]);
    return done;
}

/* ---- how planes are counted ---- */

/* Planes are counted from the first of the unrolled grid on, or from that of the grid itself, where edges act
   at its ends. What stands before it then has numbers below 0. Ranks do not share a grid that needs both. */
static void count_planes(struct run *run, bool around)
{
    const struct shares *planned = &run->plan->shares;
    const ptrdiff_t overlap = (ptrdiff_t)shares_overlap(planned);

    if (around == run->shares.around || !planned->around || has_others(run))
        return;
    run->shares.around = around;
    for (size_t i = 0; i < members_here(run); i++) {
        const struct lane *lane = &run->lanes[i];
        for (size_t k = 0; k < run->plan->schedule.field_count; k++)
            lane->backend->field_renumber(lane->fields[k], planned->planes + 2 * shares_overlap(&run->shares),
                                          around ? overlap : -overlap);
    }
}

/* As all passes do. */
static void count_as_planned(struct run *run)
{
    count_planes(run, run->plan->shares.around);
}

static void count_for(struct run *run, const struct level *level)
{
    const struct op *op = &run->plan->steps[level->stage].step.ops[level->op];

    count_planes(run, edge_has(op->edge, EDGE_PERIODIC));
}

/* ---- levels ---- */

/* Parts of a share: all of it, or its borders, which are as deep as the next level reaches, and what is
 * between. */
enum part { WHOLE, LOW, HIGH, INSIDE };

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

static void advance(struct team *team, enum part part, size_t reach)
{
    struct run *run = team->run;
    const struct level *level = &team->walk.level;

    count_for(run, level);
    for (size_t i = 0; team->fine && i < members_here(run); i++)
        team->fine =
            sweep_advance(&run->sweeps[i], level, part_of(own_planes(run, i), part, reach), run->fault);
}

/* The level after that which a walk has come to, and what it reads beside the members' own planes; nothing
   where that was the last. */
static size_t next_reach(struct levels_walk *walk)
{
    return levels_walk_next(walk) ? walk->level.reach : 0;
}

/* Start to bring what the next level reads out of a field. */
static bool begin_exchange(struct team *team, unsigned field)
{
    struct levels_walk next = team->walk;
    size_t reach = next_reach(&next);

    count_for(team->run, &next.level);
    return exchange_begin(&team->exchange, reach, field, &team->fine);
}

/* While nothing is computed. */
static bool exchange_at_once(struct team *team, unsigned field)
{
    struct levels_walk next = team->walk;

    return next_reach(&next) == 0 ||
           (begin_exchange(team, field) && exchange_send(&team->exchange, &team->fine) &&
            exchange_end(&team->exchange, field, &team->fine));
}

/* What another thread computes. */
struct inside {
    struct team *team;
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

static unsigned longer(unsigned wait)
{
    return wait + LONGER_MICROSECONDS < LONGEST_MICROSECONDS ? wait + LONGER_MICROSECONDS
                                                             : LONGEST_MICROSECONDS;
}

/* Another thread computes, while this one looks after messages. */
static void advance_and_look(struct team *team, size_t reach)
{
    struct inside inside = {team, reach};
    bool over = false;

    if (pool_start(team->aside, 1, advance_inside, &inside) == 0) {
        advance(team, INSIDE, reach);
        return;
    }
    for (unsigned wait = 0; !over && !peers_test_messages(team->run->peers); wait = longer(wait))
        over = pool_join_within(team->aside, wait);
    pool_join(team->aside);
}

/* A device that computes by itself computes the inside while the borders leave it. Otherwise, a thread
   computes it while the borders are on their way. */
static bool advance_inside_and_send(struct team *team, size_t reach)
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

/* Planes that go through the host's memory take as long as a level, so they go while the inside is computed,
   unless shares are so small that a level in three pieces computes too much twice. Where GPUs reach each
   other, all at once is faster (on two H200 by 5 % at 512 planes each). */
static bool hides(const struct shares *shares, size_t reach)
{
    return reach > 0 && !shares->direct && shares_pieces(shares->planes / shares->count, reach) > 1;
}

/* A level, and the exchange for the next one. */
static bool advance_and_exchange(struct team *team)
{
    struct levels_walk next = team->walk;
    size_t reach = next_reach(&next);
    unsigned to = team->walk.level.to;

    if (!hides(&team->run->shares, reach)) {
        advance(team, WHOLE, 0);
        return exchange_at_once(team, to);
    }
    advance(team, LOW, reach);
    advance(team, HIGH, reach);
    return begin_exchange(team, to) && advance_inside_and_send(team, reach) &&
           exchange_end(&team->exchange, to, &team->fine);
}

/* ---- changes, and states on the way ---- */

/* What a rank brings of its planes' changes is added to the sums in their order. */
static bool add_up(void *data, const void *bytes, size_t size, struct fault *fault)
{
    const struct team *team = data;
    size_t channels = team->run->job->in.grid.channels;
    const double *each = bytes;

    (void)fault;
    for (size_t i = 0; i < size / sizeof *each; i++)
        team->changes[i % channels] += each[i];
    return true;
}

/* Rank 0 adds them up, and tells. */
static bool add_changes_of_all(struct team *team)
{
    struct run *run = team->run;
    const struct range own = own_planes(run, 0);
    size_t channels = run->job->in.grid.channels, bytes = own.count * channels * sizeof(double);

    memset(team->each, 0, bytes);
    team->fine = team->fine && sweep_list_changes(run->sweep, &team->walk.level, own, team->each, run->fault);
    return peers_gather(run->peers, team->each, bytes, add_up, team, run->fault) &&
           peers_broadcast(run->peers, team->changes, channels * sizeof(double), run->fault);
}

static bool add_changes(struct team *team)
{
    struct run *run = team->run;

    if (has_others(run))
        return add_changes_of_all(team);
    for (size_t i = 0; team->fine && i < members_here(run); i++)
        team->fine = sweep_add_change(&run->sweeps[i], &team->walk.level, own_planes(run, i), team->changes,
                                      run->fault);
    return true;
}

static bool look_at_changes(struct team *team)
{
    const struct level *level = &team->walk.level;
    bool done = true;

    if (team->changes == NULL || !level->ends_step)
        return true;
    if (sweep_looks_at(team->run->sweep, level))
        done = add_changes(team);
    team->changes += team->run->job->in.grid.channels;
    return done;
}

/* If the state at the mark is asked for, its planes are written in their order. Samples on their way between
   members do not count in its outcomes. */
static void write_state(struct team *team, unsigned field)
{
    struct run *run = team->run;

    for (size_t i = 0; team->fine && i < members_here(run); i++)
        team->fine = pass_write_state(run, &run->sweeps[i], team->walk.at, field, own_planes(run, i));
    run->tees.aside = (struct outcomes){.strays = 0};
}

/* ---- a pass ---- */

/* Whether to go on. A process alone knows at once. */
static bool go_on(struct team *team)
{
    struct run *run = team->run;

    if (++team->levels < LEVELS_BETWEEN)
        return team->fine || has_others(run);
    team->levels = 0;
    team->fine = team->fine && !sink_lacks_room(run->sink, run->fault);
    return peers_agree(run->peers, team->fine, run->fault);
}

static bool walk_levels(struct team *team)
{
    struct levels_walk *walk = &team->walk;

    if (!exchange_at_once(team, levels_walk_field(walk)))
        return false;
    while (levels_walk_next(walk)) {
        if (!advance_and_exchange(team))
            return false;
        count_as_planned(team->run);
        if (walk->level.ends_step)
            write_state(team, walk->level.to);
        if (!look_at_changes(team) || !go_on(team))
            return false;
    }
    return true;
}

/* What the samples that have come were, and that the members begin to compute. */
static bool begin_members(struct run *run)
{
    bool done = !sink_lacks_room(run->sink, run->fault);

    for (size_t i = 0; done && i < members_here(run); i++) {
        const struct lane *lane = &run->lanes[i];
        done = lane->backend->tell_outcomes(lane->device, &run->outcomes, run->fault) &&
               sweep_begin_span(&run->sweeps[i], run->fault);
    }
    return done;
}

static bool begin_levels(struct team *team)
{
    struct run *run = team->run;
    size_t values = own_planes(run, 0).count * run->job->in.grid.channels;

    if (team->changes != NULL && has_others(run)) {
        team->each = mem_alloc(values, sizeof *team->each, "the sums", run->fault);
        if (team->each == NULL)
            return false;
    }
    /* Other devices compute by themselves while their caller does other things. */
    if (lane_is_in_own_memory(run->lane) && !pool_create(&team->aside, 1, POOL_FULL_STACKS, run->fault))
        return false;
    return begin_members(run);
}

/* Planes that ranks send each other come from no file and go into none, so what was seen of them does not
   count. */
static bool leave_out_outcomes(const struct run *run)
{
    struct outcomes of_exchange = {.strays = 0};

    return !has_others(run) || run->lane->backend->tell_outcomes(run->lane->device, &of_exchange, run->fault);
}

static bool end_levels(struct team *team)
{
    struct run *run = team->run;
    bool done = true;

    for (size_t i = 0; done && i < members_here(run); i++)
        done = sweep_end_levels(&run->sweeps[i], levels_walk_field(&team->walk), run->fault);
    return done && leave_out_outcomes(run);
}

static bool advance_levels(struct run *run, const struct pass *pass)
{
    struct team team = {.run = run, .exchange = exchange_of(run), .changes = pass->changes, .fine = true};
    const struct sweep *sweep = run->sweep;
    bool done;

    levels_walk_start(&team.walk, &sweep->levels, pass->begin, pass->end, sweep->output);
    done = peers_agree(run->peers, begin_levels(&team), run->fault);
    if (done && pass->from != NULL)
        write_state(&team, sweep->output);
    done = done && walk_levels(&team);
    team.fine = team.fine && done && end_levels(&team);
    done = done && peers_agree(run->peers, team.fine, run->fault);
    exchange_close(&team.exchange);
    pool_destroy(team.aside);
    mem_free(team.each);
    return done;
}

/* What GPUs of this process got from each other, and how long it took. */
static bool tell_handings(struct run *run)
{
    bool done = true;

    for (size_t i = 0; done && !has_others(run) && i < members_here(run); i++) {
        const struct lane *lane = &run->lanes[i];
        done = lane->backend->tell_handings(lane->device, &run->sweeps[i].handing, run->fault);
    }
    return done;
}

bool team_make(struct run *run, struct pass *pass)
{
    const struct pass come = {.begin = pass->begin, .from = pass->from};
    const struct pass leave = {.end = pass->end, .to = pass->to};

    if (run->shares.count == 1)
        return pass_make(run, pass);
    return (pass->from == NULL || peers_agree(run->peers, move_planes(run, &come), run->fault)) &&
           advance_levels(run, pass) &&
           (pass->to == NULL || (move_planes(run, &leave) && tell_handings(run)));
}

bool team_measure(struct run *run)
{
    bool done = true;

    for (size_t i = 0; done && i < members_here(run); i++) {
        choose_member(run, i);
        done = pass_measure(run, own_planes(run, i));
    }
    choose_member(run, 0);
    return done;
}
