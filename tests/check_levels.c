/* Tests of levels, routes and shares: what is left out of a walk because it only repeats changes nothing of
   what is found, any number of steps is surveyed at once, and each plane is one device's. */
#include "plan/devices.h"
#include "plan/levels.h"
#include "plan/route.h"
#include "plan/shares.h"
#include "assertions.h"
#include "harness.h"

#include <string.h>

#define PATIENCE    20
#define TRIALS      4000
#define MOST_STAGES 3
#define MOST_STEPS  300
#define MOST_PLANES 400
#define MOST_LEGS   2000
#define MOST_STOPS  4

/* ---- levels of chance, whose forms only say what they take ---- */

struct trial {
    struct stage stages[MOST_STAGES];
    struct levels_step steps[MOST_STAGES];
    struct levels levels;
    uint64_t stops[MOST_STOPS];
};

static uint64_t chance(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

static void fill_stage(struct trial *trial, size_t index, enum edge_rule edge, uint64_t *state)
{
    struct levels_step *step = &trial->steps[index];

    trial->stages[index].steps = chance(state, MOST_STEPS);
    step->step.count = 1 + chance(state, LOWER_OPS);
    step->keeps = chance(state, 2) == 0;
    for (size_t i = 0; i < step->step.count; i++) {
        step->forms[i].steps = 1 + (unsigned)chance(state, 6);
        step->forms[i].most_first = chance(state, 2) == 0;
        step->step.ops[i] = (struct op){
            .edge = edge, .plane = {-(int)(chance(state, 3) * chance(state, 2)), (int)chance(state, 4) / 2}};
        step->step.ops[i].begins = i == 0 || chance(state, 4) == 0;
        step->step.ops[i].kind = i > 0 && chance(state, 4) == 0 ? OP_COMBINE : OP_TAPS;
        if (step->step.ops[i].begins || step->step.ops[i].kind == OP_COMBINE)
            step->step.last_reader = i;
    }
}

static void make_trial(struct trial *trial, enum edge_rule edge, uint64_t number)
{
    uint64_t state = number;

    memset(trial, 0, sizeof *trial);
    trial->levels = (struct levels){.stages = trial->stages,
                                    .steps = trial->steps,
                                    .stage_count = 1 + chance(&state, MOST_STAGES),
                                    .planes = 1 + chance(&state, MOST_PLANES),
                                    .together = (unsigned)chance(&state, 5)};
    for (size_t i = 0; i < trial->levels.stage_count; i++)
        fill_stage(trial, i, edge, &state);
    trial->levels.stops = trial->stops;
    trial->levels.stop_count = chance(&state, 2) * chance(&state, MOST_STOPS + 1);
    for (size_t i = 0; i < trial->levels.stop_count; i++)
        trial->stops[i] = chance(&state, trial->stages[trial->levels.stage_count - 1].steps + 1);
}

/* ---- the same, level by level ---- */

static struct levels_walk walk_all(const struct levels *levels)
{
    struct levels_walk walk;

    levels_walk_start(&walk, levels, levels_begin(), levels_end(levels), 0);
    while (walk.depth < levels->planes && levels_walk_next(&walk))
        ;
    return walk;
}

static struct levels_cut cut_by_level(const struct levels *levels, struct levels_mark begin, size_t depth)
{
    struct levels_cut cut = {begin, 0};
    struct levels_walk walk;

    levels_walk_start(&walk, levels, begin, levels_end(levels), 0);
    while (levels_walk_next(&walk) && (walk.depth <= depth || levels_is_same_mark(cut.end, begin))) {
        if (walk.level.ends_step)
            cut = (struct levels_cut){walk.at, levels_wraps(levels) ? walk.level.lag : 0};
    }
    return cut;
}

static struct route_cost route_by_leg(const struct levels *levels, size_t depth, bool random)
{
    struct route route = route_start(levels, depth, random);
    struct route_cost cost = {0};

    do {
        struct route_pass next = route_next(&route, levels_end(levels), true);
        route_take(&route, &next);
        cost.passes++;
        cost.again += 2.0 * (double)next.overlap;
    } while (!route_is_at(&route, levels_end(levels)) && cost.passes < MOST_LEGS);
    return cost;
}

/* ---- levels end where they are to stop ---- */

/* How many of the stops a walk from the beginning to the end comes to, by their numbers. */
static size_t count_stops(const struct levels *levels)
{
    bool met[MOST_STOPS] = {false};
    struct levels_walk walk;
    size_t count = 0;
    bool goes_on = true;

    levels_walk_start(&walk, levels, levels_begin(), levels_end(levels), 0);
    while (goes_on) {
        uint64_t step;
        bool stops = walk.next_op == 0 && levels_stops_at(levels, walk.at, &step);
        for (size_t i = 0; stops && i < levels->stop_count; i++)
            met[i] |= levels->stops[i] == step;
        goes_on = levels_walk_next(&walk);
    }
    for (size_t i = 0; i < levels->stop_count; i++)
        count += met[i];
    return count;
}

START_TEST(walks_stop_where_they_are_to)
{
    struct trial trial;

    make_trial(&trial, EDGE_REFLECT, (uint64_t)_i);
    ck_assert_uint_eq(count_stops(&trial.levels), trial.levels.stop_count);
}
END_TEST

/* ---- levels are few ---- */

/* Nine steps by passes of at most four: alike, or the most first. */
START_TEST(levels_are_alike_or_the_most)
{
    static const unsigned expected[2][3] = {{3, 3, 3}, {4, 4, 1}};
    uint64_t digests[2];

    for (size_t i = 0; i < 2; i++) {
        struct levels_walk walk;
        struct trial trial;
        memset(&trial, 0, sizeof trial);
        trial.levels =
            (struct levels){.stages = trial.stages, .steps = trial.steps, .stage_count = 1, .planes = 1000};
        trial.stages[0].steps = 9;
        trial.steps[0].step.count = 1;
        trial.steps[0].forms[0] = (struct form){.steps = 4, .most_first = i == 1};
        digests[i] = levels_digest(&trial.levels);
        levels_walk_start(&walk, &trial.levels, levels_begin(), levels_end(&trial.levels), 0);
        for (size_t k = 0; k < 3; k++) {
            ck_assert(levels_walk_next(&walk));
            ck_assert_uint_eq(walk.level.steps, expected[i][k]);
        }
        ck_assert(!levels_walk_next(&walk));
    }
    ck_assert(digests[0] != digests[1]); /* ranks that differ in it must not go on */
}
END_TEST

/* ---- they agree ---- */

START_TEST(surveys_are_walks)
{
    struct levels_walk wanted, survey;
    struct trial trial;

    make_trial(&trial, EDGE_REFLECT, (uint64_t)_i);
    wanted = walk_all(&trial.levels);
    survey = levels_survey(&trial.levels, levels_begin(), levels_end(&trial.levels));
    ck_assert_uint_eq(survey.depth, wanted.depth);
    ck_assert_uint_eq(survey.seam, wanted.seam);
    ck_assert_uint_eq(survey.count, wanted.count);
    ck_assert_uint_eq(survey.level.lag, wanted.level.lag);
    ck_assert(levels_is_same_mark(survey.at, wanted.at));
}
END_TEST

START_TEST(cuts_are_the_farthest)
{
    uint64_t state = (uint64_t)_i;
    struct levels_cut wanted, cut;
    struct levels_mark begin;
    struct trial trial;
    size_t depth;

    make_trial(&trial, _i % 2 == 0 ? EDGE_REFLECT : EDGE_WRAP, (uint64_t)_i);
    trial.levels.unrolled = _i % 2 == 1;
    depth = chance(&state, MOST_PLANES);
    begin = levels_settle(&trial.levels, (struct levels_mark){0, chance(&state, MOST_STEPS)});
    wanted = cut_by_level(&trial.levels, begin, depth);
    cut = levels_cut(&trial.levels, begin, levels_end(&trial.levels), depth);
    ck_assert_uint_eq(cut.end.stage, wanted.end.stage);
    ck_assert_uint_eq(cut.end.step, wanted.end.step);
    if (trial.levels.unrolled && levels_wraps(&trial.levels))
        ck_assert_uint_eq(cut.overlap, wanted.overlap);
}
END_TEST

START_TEST(routes_are_all_their_passes)
{
    struct route_cost wanted, cost;
    struct trial trial;
    size_t depth;

    make_trial(&trial, _i % 2 == 0 ? EDGE_REFLECT : EDGE_WRAP, (uint64_t)_i);
    trial.levels.unrolled = true;
    depth = levels_survey_stages(&trial.levels).depth + (unsigned)_i % 7;
    wanted = route_by_leg(&trial.levels, depth, _i % 3 == 0);
    cost = route_survey(&trial.levels, depth, _i % 3 == 0, (struct route_way){.on_trial = false});
    ck_assert_uint_eq(cost.passes, wanted.passes);
    ck_assert_double_eq(cost.again, wanted.again);
}
END_TEST

/* The shallowest passes hold what their levels read, before a stop and behind it. */
START_TEST(passes_are_as_deep_as_their_levels)
{
    struct trial trial;
    struct route route;
    struct route_pass next;
    size_t depth;

    make_trial(&trial, EDGE_REFLECT, (uint64_t)_i);
    depth = levels_survey_stages(&trial.levels).depth;
    route = route_start(&trial.levels, depth, true);
    do {
        next = route_next(&route, levels_end(&trial.levels), true);
        ck_assert_uint_le(levels_survey(&trial.levels, next.begin, next.end).depth, depth);
        route_take(&route, &next);
    } while (!route_is_at(&route, levels_end(&trial.levels)));
}
END_TEST

/* ---- edges matter where taps are ---- */

/* Two stages of one step: one whose form reads more planes than its taps are in, and one that ends at edges,
   or wraps. */
static void make_two_stages(struct trial *trial, enum edge_rule edge, int reach, enum edge_rule other)
{
    memset(trial, 0, sizeof *trial);
    trial->levels = (struct levels){
        .stages = trial->stages, .steps = trial->steps, .stage_count = 2, .planes = MOST_PLANES};
    for (size_t i = 0; i < 2; i++) {
        trial->stages[i].steps = trial->steps[i].step.count = trial->steps[i].forms[0].steps = 1;
        trial->steps[i].step.ops[0] = (struct op){.edge = other, .plane = {-1, 1}};
    }
    trial->steps[0].step.ops[0] = (struct op){.edge = edge, .plane = {-reach, reach}};
    trial->steps[0].forms[0].reach = 1;
}

START_TEST(stages_without_taps_in_other_planes_have_no_end)
{
    struct trial trial;

    make_two_stages(&trial, EDGE_REFLECT, 0, EDGE_WRAP);
    ck_assert(levels_wraps(&trial.levels) && !levels_mix_ends(&trial.levels));
    make_two_stages(&trial, EDGE_REFLECT, 1, EDGE_WRAP);
    ck_assert(levels_mix_ends(&trial.levels));
    make_two_stages(&trial, EDGE_WRAP, 0, EDGE_WRAP);
    ck_assert(!levels_mix_ends(&trial.levels));
    /* The planes at the other end have to be there, although they do not count. */
    make_two_stages(&trial, EDGE_WRAP, 0, EDGE_REFLECT);
    ck_assert(levels_mix_ends(&trial.levels));
}
END_TEST

/* ---- and steps without number take no time ---- */

START_TEST(steps_without_number)
{
    struct trial trial;
    struct route_cost cost;

    make_trial(&trial, _i % 2 == 0 ? EDGE_REFLECT : EDGE_WRAP, (uint64_t)_i);
    for (size_t i = 0; i < trial.levels.stage_count; i++)
        trial.stages[i].steps = UINT64_MAX / MOST_STAGES - trial.stages[i].steps;
    trial.levels.planes = _i % 3 == 0 ? (size_t)1 << 60 : trial.levels.planes;
    ck_assert_uint_gt(levels_survey(&trial.levels, levels_begin(), levels_end(&trial.levels)).count, 0);
    trial.levels.unrolled = true;
    cost = route_survey(&trial.levels, levels_survey_stages(&trial.levels).depth, true,
                        (struct route_way){.on_trial = false});
    ck_assert_uint_gt(cost.passes, 0);
}
END_TEST

/* ---- shares of planes ---- */

static bool owns(const struct shares *shares, size_t device, struct range planes)
{
    const struct range own = shares_own(shares, device);

    return planes.first >= own.first && planes.first + planes.count <= own.first + own.count;
}

static void ck_owner(const struct shares *shares, size_t plane, size_t count)
{
    size_t owner;
    const struct range owned = shares_owned(shares, (struct range){plane, count}, &owner);

    ck_assert_uint_lt(owner, shares->count);
    ck_assert(owned.count >= 1 && owned.count <= count && owns(shares, owner, owned));
    ck_assert_uint_eq(owned.first % shares->planes, plane % shares->planes);
}

/* Each plane once, in order; and whatever stands beside the grid is somebody's. */
START_TEST(every_plane_has_an_owner)
{
    uint64_t state = (uint64_t)_i;
    struct shares shares = {.planes = 1 + chance(&state, MOST_PLANES), .around = _i % 2 == 0};
    size_t next;

    shares.count = 1 + chance(&state, shares.planes < DEVICES_MOST ? shares.planes : DEVICES_MOST);
    shares.halo = chance(&state, 2 * shares.planes);
    next = shares_overlap(&shares);
    for (size_t i = 0; i < shares.count; i++) {
        const struct range own = shares_own(&shares, i), reached = shares_reached(&shares, i, shares.halo);
        ck_assert(own.first == next && own.count >= 1 && own.count <= shares_most(&shares));
        ck_assert(reached.first <= own.first && reached.first + reached.count >= own.first + own.count);
        next += own.count;
    }
    ck_assert_uint_eq(next, shares_overlap(&shares) + shares.planes);
    for (size_t plane = 0; plane < shares.planes + 2 * shares_overlap(&shares); plane++)
        ck_owner(&shares, plane, 1 + plane % 7);
}
END_TEST

/* What a parcel takes at a rank that sends or gets it, with so many ranks on each node. */
static struct shares_transit weigh(const struct shares_parcel *parcel, size_t rank, size_t together,
                                   size_t plane_bytes)
{
    size_t bytes = parcel->planes.count * plane_bytes;
    bool seen = parcel->from != parcel->to && parcel->from / together == parcel->to / together;
    bool sends = parcel->from == rank;

    if (!sends && parcel->to != rank)
        return (struct shares_transit){0, 0};
    if (!seen)
        return (struct shares_transit){bytes, bytes};
    bytes = shares_parcel_bytes(plane_bytes, parcel->planes.count);
    return (struct shares_transit){sends ? SHARES_TURNS * bytes : 0, SHARES_TURNS * bytes};
}

static void ck_transit(const struct shares *shares, size_t together, size_t plane_bytes,
                       const struct shares_transit *most)
{
    for (size_t rank = 0; rank < shares->count; rank++) {
        struct shares_transit sum = {0, 0};
        for (size_t to = 0; to < shares->count; to++) {
            struct shares_walk walk = shares_walk_start(shares, to, 0, shares->halo);
            while (shares_walk_next(&walk)) {
                const struct shares_transit one = weigh(&walk.parcel, rank, together, plane_bytes);
                sum.host_bytes += one.host_bytes;
                sum.device_bytes += one.device_bytes;
            }
        }
        ck_assert_uint_le(sum.host_bytes, most->host_bytes);
        ck_assert_uint_le(sum.device_bytes, most->device_bytes);
    }
}

/* No rank needs more memory for planes in transit than is counted, whichever ranks are on a node. */
START_TEST(planes_in_transit_are_bounded)
{
    uint64_t state = (uint64_t)_i;
    struct shares shares = {.planes = 1 + chance(&state, 40), .around = _i % 2 == 0};
    size_t plane_bytes = 1 + chance(&state, 10000);
    struct shares_transit most;

    shares.count = 1 + chance(&state, shares.planes < DEVICES_MOST ? shares.planes : DEVICES_MOST);
    shares.halo = chance(&state, shares.around ? 2 * shares.planes : shares.planes);
    ck_assert(shares_count_transit(&shares, shares.halo, plane_bytes, &most));
    for (size_t together = 1; together <= shares.count; together++)
        ck_transit(&shares, together, plane_bytes, &most);
    ck_assert(!shares_count_transit(&shares, shares.halo + 1, SIZE_MAX / 16, &most));
}
END_TEST

/* All planes beside a share's own, each once and in order, from whoever owns them. */
START_TEST(walks_bring_all_planes_beside_a_share)
{
    uint64_t state = (uint64_t)_i;
    struct shares shares = {.planes = 1 + chance(&state, MOST_PLANES), .around = _i % 2 == 0};
    size_t near, far, to;

    shares.count = 1 + chance(&state, shares.planes < DEVICES_MOST ? shares.planes : DEVICES_MOST);
    shares.halo = far = chance(&state, shares.planes);
    near = chance(&state, far + 1);
    to = chance(&state, shares.count);
    const struct range inner = shares_reached(&shares, to, near), outer = shares_reached(&shares, to, far);
    struct shares_walk walk = shares_walk_start(&shares, to, near, far);
    for (size_t plane = outer.first; plane < outer.first + outer.count;) {
        if (plane == inner.first)
            plane = inner.first + inner.count;
        if (plane == outer.first + outer.count)
            break;
        ck_assert(shares_walk_next(&walk));
        ck_assert_uint_eq(walk.parcel.to, to);
        ck_assert_uint_eq(walk.parcel.first, plane);
        ck_assert(owns(&shares, walk.parcel.from, walk.parcel.planes));
        ck_assert_uint_eq(walk.parcel.planes.first % shares.planes, plane % shares.planes);
        plane += walk.parcel.planes.count;
    }
    ck_assert(!shares_walk_next(&walk));
}
END_TEST

int main(void)
{
    TCase *levels = tcase_create("levels");

    tcase_add_test(levels, levels_are_alike_or_the_most);
    tcase_add_loop_test(levels, surveys_are_walks, 0, TRIALS);
    tcase_add_loop_test(levels, walks_stop_where_they_are_to, 0, TRIALS);
    tcase_add_loop_test(levels, cuts_are_the_farthest, 0, TRIALS);
    tcase_add_loop_test(levels, routes_are_all_their_passes, 0, TRIALS);
    tcase_add_loop_test(levels, passes_are_as_deep_as_their_levels, 0, TRIALS);
    tcase_add_test(levels, stages_without_taps_in_other_planes_have_no_end);
    tcase_add_loop_test(levels, steps_without_number, 0, TRIALS);
    tcase_add_loop_test(levels, every_plane_has_an_owner, 0, TRIALS);
    tcase_add_loop_test(levels, walks_bring_all_planes_beside_a_share, 0, TRIALS);
    tcase_add_loop_test(levels, planes_in_transit_are_bounded, 0, TRIALS);
    return harness_run("levels", &levels, 1, PATIENCE);
}
