/* Tests of threads: pools take every turn once, parallel loops stop at the first fault, and queues and
 * ordered work keep their order, whoever is late. */
#include "base/work_queue.h"
#include "base/clock.h"
#include "base/threads.h"
#include "assertions.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TURNS = 1000, MEMBERS = 5, PLACES = 3, PHASES = 3, ROUNDS = 2000 };

/* ---- pools ---- */

struct turns {
    atomic_uint taken[TURNS];
    atomic_uint at_work[MEMBERS];
    atomic_uint wrong;
};

static void take_turns(void *context, size_t first, size_t count, unsigned member)
{
    struct turns *turns = context;
    turns->wrong += member >= MEMBERS || atomic_fetch_add(&turns->at_work[member], 1) != 0;
    for (size_t i = first; i < first + count; i++)
        turns->taken[i]++;
    turns->at_work[member]--;
}

static struct pool *pool_make(unsigned threads)
{
    struct pool *pool;
    struct fault fault;
    ck_assert(pool_create(&pool, threads, THREAD_SMALL_STACK, &fault));
    return pool;
}

static void check_taken(const struct turns *turns, size_t count, unsigned times)
{
    ck_assert_uint_eq(turns->wrong, 0);
    for (size_t i = 0; i < TURNS; i++)
        ck_assert_uint_eq(turns->taken[i], i < count ? times : 0);
}

START_TEST(every_turn_is_taken_once)
{
    static const size_t counts[] = {0, 1, 2, 7, TURNS}, together[] = {1, 3, TURNS};
    struct pool *pool = pool_make(MEMBERS - 1);
    for (unsigned members = 1; members <= MEMBERS; members++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            for (size_t j = 0; j < sizeof together / sizeof together[0]; j++) {
                struct turns turns = {0};
                pool_share(pool, members, counts[i], together[j], take_turns, &turns);
                check_taken(&turns, counts[i], 1);
            }
    pool_destroy(pool);
}
END_TEST

START_TEST(loops_follow_each_other)
{
    struct pool *pool = pool_make(MEMBERS - 1);
    struct turns turns = {0};
    for (unsigned round = 0; round < ROUNDS; round++)
        pool_share(pool, 2 + round % (MEMBERS - 1), MEMBERS, 1, take_turns, &turns);
    check_taken(&turns, MEMBERS, ROUNDS);
    pool_destroy(pool);
}
END_TEST

/* A pool of fewer threads than a loop asks for. */
START_TEST(missing_threads_are_not_missed)
{
    struct pool *pool = pool_make((unsigned)_i);
    struct turns turns = {0};
    pool_share(pool, MEMBERS, TURNS, 1, take_turns, &turns);
    check_taken(&turns, TURNS, 1);
    pool_destroy(pool);
}
END_TEST

START_TEST(who_is_joined_has_done_its_turn)
{
    struct pool *pool = pool_make(MEMBERS - 1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct turns turns = {0};
        unsigned started = pool_start(pool, MEMBERS + 1, take_turns, &turns);
        ck_assert_uint_eq(started, MEMBERS - 1);
        pool_join(pool);
        check_taken(&turns, started, 1);
    }
    pool_join(pool);
    pool_destroy(pool);
}
END_TEST

static void wait_for_flag(void *context, size_t first, size_t count, unsigned member)
{
    atomic_bool *flag = context;
    (void)first;
    (void)count;
    (void)member;
    while (!atomic_load(flag))
        sched_yield();
}

/* Whoever joins for a while comes back when that is over, or as soon as the last turn is. */
START_TEST(joining_may_take_no_longer_than_so_long)
{
    enum { SHORT_MICROSECONDS = 1100, LONG_MICROSECONDS = 60000000 };
    struct pool *pool = pool_make(MEMBERS - 1);
    atomic_bool flag = false;
    double start = clock_seconds();
    ck_assert_uint_eq(pool_start(pool, 2, wait_for_flag, &flag), 2);
    ck_assert(!pool_join_within(pool, 0));
    ck_assert(!pool_join_within(pool, SHORT_MICROSECONDS));
    ck_assert(clock_seconds() - start > 1e-6 * SHORT_MICROSECONDS);
    atomic_store(&flag, true);
    ck_assert(pool_join_within(pool, LONG_MICROSECONDS));
    ck_assert(clock_seconds() - start < 1e-6 * LONG_MICROSECONDS / 2);
    ck_assert(pool_join_within(pool, 0));
    pool_destroy(pool);
}
END_TEST

/* ---- parallel loops ---- */

struct hands {
    atomic_uint taken[MEMBERS];
    atomic_uint waiting; /* turns that have begun */
    size_t failing, together;
};

/* The failing turn waits for the others to begin, and those for its fault. */
static bool take_hand(void *context, size_t turn, struct parallel_loop *loop, struct fault *fault)
{
    struct hands *hands = context;

    hands->taken[turn]++;
    hands->waiting++;
    if (turn == hands->failing) {
        while (hands->waiting < hands->together)
            sched_yield();
        return fault_raise(fault, STATUS_DEVICE, "turn %zu", turn);
    }
    while (loop != NULL && hands->failing < MEMBERS && !parallel_loop_has_failed(loop, fault))
        sched_yield();
    return hands->failing >= MEMBERS || loop == NULL;
}

START_TEST(parallel_for_takes_every_turn)
{
    for (size_t count = 0; count <= MEMBERS; count++) {
        struct hands side_by_side = {.failing = MEMBERS}, in_turn = {.failing = MEMBERS};
        struct fault fault;
        ck_assert(parallel_for(count, take_hand, &side_by_side, &fault));
        ck_assert(serial_for(count, take_hand, &in_turn, &fault));
        for (size_t i = 0; i < MEMBERS; i++) {
            ck_assert_uint_eq(side_by_side.taken[i], i < count);
            ck_assert_uint_eq(in_turn.taken[i], i < count);
        }
    }
}
END_TEST

/* All of them are told of the one that failed, and so is the caller. */
START_TEST(parallel_for_stops_at_a_fault)
{
    struct hands hands = {.failing = (size_t)_i, .together = MEMBERS};
    struct fault fault;
    char text[16];

    snprintf(text, sizeof text, "turn %d", _i);
    ck_assert(!parallel_for(MEMBERS, take_hand, &hands, &fault));
    ck_assert_int_eq(fault.status, STATUS_DEVICE);
    ck_assert_str_eq(fault.text, text);
    for (size_t i = 0; i < MEMBERS; i++)
        ck_assert_uint_eq(hands.taken[i], 1);
}
END_TEST

START_TEST(queues_end_at_a_fault)
{
    struct hands hands = {.failing = (size_t)_i, .together = 1};
    struct fault fault;

    ck_assert(!serial_for(MEMBERS, take_hand, &hands, &fault));
    ck_assert_int_eq(fault.status, STATUS_DEVICE);
    for (size_t i = 0; i < MEMBERS; i++)
        ck_assert_uint_eq(hands.taken[i], i <= (size_t)_i);
}
END_TEST

START_TEST(threads_are_counted)
{
    size_t processors = thread_processors();
    ck_assert_uint_ge(processors, 1);
    ck_assert_uint_eq(thread_count(7), 7);
    ck_assert_int_eq(unsetenv("OMP_NUM_THREADS"), 0);
    ck_assert_uint_eq(thread_count(0), processors);
    ck_assert_int_eq(setenv("OMP_NUM_THREADS", "3", 1), 0);
    ck_assert_uint_eq(thread_count(0), 3);
    ck_assert_uint_eq(thread_count(5), 5);
    ck_assert_int_eq(setenv("OMP_NUM_THREADS", "4,2", 1), 0);
    ck_assert_uint_eq(thread_count(0), 4);
    static const char *const nonsense[] = {"", "0", "-2", "many", "99999999999999999999", "4097"};
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        ck_assert_int_eq(setenv("OMP_NUM_THREADS", nonsense[i], 1), 0);
        ck_assert_uint_eq(thread_count(0), processors);
    }
}
END_TEST

/* ---- queues ---- */

struct works {
    struct work_queue *queue;
    unsigned values[PLACES];
};

static struct work_queue *queue_make(size_t places, unsigned phases)
{
    struct work_queue *queue;
    struct fault fault;
    ck_assert(work_queue_create(&queue, places, phases, &fault));
    return queue;
}

/* At the phase in the middle, late by chance. */
static void square(void *context, size_t first, size_t count, unsigned member)
{
    struct works *works = context;
    size_t place;
    (void)first;
    (void)count;
    while (work_queue_take(works->queue, 1, &place) == WORK_QUEUE_TAKEN) {
        if ((works->values[place] + member) % 7 == 0)
            usleep(50);
        works->values[place] *= works->values[place];
        work_queue_pass_on(works->queue, place);
    }
}

static void fill(struct works *works, unsigned value)
{
    size_t place;
    ck_assert_int_eq(work_queue_take(works->queue, 0, &place), WORK_QUEUE_TAKEN);
    works->values[place] = value;
    work_queue_pass_on(works->queue, place);
}

static void empty(struct works *works, unsigned value)
{
    size_t place;
    ck_assert_int_eq(work_queue_take(works->queue, PHASES - 1, &place), WORK_QUEUE_TAKEN);
    ck_assert_uint_eq(works->values[place], value * value);
    work_queue_pass_on(works->queue, place);
}

/* What comes out stands in the order in which it went in, however many work on it. */
START_TEST(work_queues_keep_the_order)
{
    struct works works = {.queue = queue_make(PLACES, PHASES)};
    struct pool *pool = pool_make(MEMBERS - 1);
    size_t place;
    unsigned in = 0, out = 0;
    ck_assert_uint_eq(pool_start(pool, (unsigned)_i, square, &works), (unsigned)_i);
    while (in < PLACES)
        fill(&works, in++);
    for (; in < ROUNDS; in++, out++) {
        empty(&works, out);
        fill(&works, in);
    }
    work_queue_finish(works.queue);
    while (out < in)
        empty(&works, out++);
    ck_assert(work_queue_drain(works.queue));
    ck_assert_int_eq(work_queue_take(works.queue, PHASES - 1, &place), WORK_QUEUE_FINISHED);
    pool_join(pool);
    pool_destroy(pool);
    work_queue_destroy(works.queue);
}
END_TEST

START_TEST(taking_without_waiting)
{
    struct work_queue *queue = queue_make(2, 2);
    size_t first, second, place;
    ck_assert(work_queue_has(queue, 0) && !work_queue_has(queue, 1));
    ck_assert_int_eq(work_queue_try(queue, 1, &place), WORK_QUEUE_EMPTY);
    ck_assert_int_eq(work_queue_try(queue, 0, &first), WORK_QUEUE_TAKEN);
    ck_assert_int_eq(work_queue_try(queue, 0, &second), WORK_QUEUE_TAKEN);
    ck_assert_uint_eq(first, 0);
    ck_assert_uint_eq(second, 1);
    ck_assert_int_eq(work_queue_try(queue, 0, &place), WORK_QUEUE_EMPTY);
    work_queue_pass_on(queue, second);
    ck_assert_int_eq(work_queue_try(queue, 1, &place), WORK_QUEUE_EMPTY); /* the first comes first */
    work_queue_pass_on(queue, first);
    ck_assert_int_eq(work_queue_try(queue, 1, &place), WORK_QUEUE_TAKEN);
    ck_assert_uint_eq(place, first);
    work_queue_destroy(queue);
}
END_TEST

/* A place that was taken at the first phase and not passed on does not keep a queue from finishing. */
START_TEST(work_queues_finish)
{
    struct work_queue *queue = queue_make(3, 2);
    size_t place, idle;
    ck_assert_int_eq(work_queue_take(queue, 0, &place), WORK_QUEUE_TAKEN);
    work_queue_pass_on(queue, place);
    ck_assert_int_eq(work_queue_take(queue, 0, &idle), WORK_QUEUE_TAKEN);
    work_queue_finish(queue);
    ck_assert_int_eq(work_queue_take(queue, 1, &place), WORK_QUEUE_TAKEN);
    ck_assert_int_eq(work_queue_take(queue, 1, &place), WORK_QUEUE_FINISHED);
    work_queue_destroy(queue);
}
END_TEST

START_TEST(the_later_station_comes_first)
{
    struct work_queue *queue = queue_make(2, 3);
    size_t first, second;
    unsigned phase;
    ck_assert_int_eq(work_queue_take(queue, 0, &first), WORK_QUEUE_TAKEN);
    work_queue_pass_on(queue, first);
    ck_assert_int_eq(work_queue_take(queue, 0, &second), WORK_QUEUE_TAKEN);
    work_queue_pass_on(queue, second);
    ck_assert_int_eq(work_queue_take_any(queue, 1, 2, &phase, &first), WORK_QUEUE_TAKEN);
    ck_assert_uint_eq(phase, 1);
    work_queue_pass_on(queue, first);
    ck_assert_int_eq(work_queue_take_any(queue, 1, 2, &phase, &first), WORK_QUEUE_TAKEN);
    ck_assert_uint_eq(phase, 2);
    ck_assert_int_eq(work_queue_take_any(queue, 1, 2, &phase, &second), WORK_QUEUE_TAKEN);
    ck_assert_uint_eq(phase, 1);
    work_queue_destroy(queue);
}
END_TEST

static void stop(void *context, size_t first, size_t count, unsigned member)
{
    (void)first;
    (void)count;
    (void)member;
    usleep(1000);
    work_queue_stop(context);
}

START_TEST(nobody_waits_for_a_queue_that_stopped)
{
    struct work_queue *queue = queue_make(1, 2);
    struct pool *pool = pool_make(1);
    size_t place;
    ck_assert_int_eq(work_queue_take(queue, 0, &place), WORK_QUEUE_TAKEN);
    if (_i != 0)
        work_queue_pass_on(queue, place);
    ck_assert_uint_eq(pool_start(pool, 1, stop, queue), 1);
    if (_i != 0)
        ck_assert(!work_queue_drain(queue));
    else
        ck_assert_int_eq(work_queue_take(queue, 1, &place), WORK_QUEUE_STOPPED);
    ck_assert_int_eq(work_queue_try(queue, 0, &place), WORK_QUEUE_STOPPED);
    pool_join(pool);
    pool_destroy(pool);
    work_queue_destroy(queue);
}
END_TEST

/* ---- ordered work ---- */

struct pieces {
    atomic_uint number[PLACES];
    atomic_uint at_work[MEMBERS];
    atomic_uint wrong, done;
};

static void square_piece(void *context, size_t place, unsigned worker)
{
    struct pieces *pieces = context;
    pieces->wrong +=
        worker >= MEMBERS || place >= PLACES || atomic_fetch_add(&pieces->at_work[worker], 1) != 0;
    pieces->number[place] *= pieces->number[place];
    pieces->done++;
    pieces->at_work[worker]--;
}

static struct ordered_work *ordered_work_make(struct pieces *pieces, unsigned workers)
{
    struct ordered_work *ordered;
    struct fault fault;
    ck_assert(ordered_work_open(&ordered, PLACES, workers, square_piece, pieces, &fault));
    ck_assert_uint_eq(ordered_work_threads(ordered), workers - 1);
    return ordered;
}

static void take_piece(struct ordered_work *ordered, struct pieces *pieces, unsigned number)
{
    size_t place = ordered_work_take(ordered);
    ck_assert_uint_eq(pieces->number[place], number * number);
    ordered_work_vacate(ordered, place);
}

static void put_piece(struct ordered_work *ordered, struct pieces *pieces, size_t place, unsigned number)
{
    pieces->number[place] = number;
    ordered_work_put(ordered, place);
}

START_TEST(ordered_work_keeps_the_order)
{
    struct pieces pieces = {.wrong = 0};
    struct ordered_work *ordered = ordered_work_make(&pieces, (unsigned)_i);
    unsigned in = 0, out = 0;
    size_t place;
    while (in < ROUNDS) {
        while (in < ROUNDS && ordered_work_claim(ordered, &place))
            put_piece(ordered, &pieces, place, in++);
        take_piece(ordered, &pieces, out++);
    }
    while (out < in)
        take_piece(ordered, &pieces, out++);
    ordered_work_close(ordered);
    ck_assert_uint_eq(pieces.wrong, 0);
    ck_assert_uint_eq(pieces.done, ROUNDS);
}
END_TEST

/* Whoever put the pieces in may give them up at any time. */
START_TEST(ordered_work_closes_with_work_left)
{
    for (unsigned round = 0; round < ROUNDS / 10; round++) {
        struct pieces pieces = {.wrong = 0};
        struct ordered_work *ordered = ordered_work_make(&pieces, (unsigned)_i);
        size_t place;
        for (unsigned in = 0; in <= round % PLACES && ordered_work_claim(ordered, &place); in++)
            put_piece(ordered, &pieces, place, in);
        if (round % 2 == 0)
            take_piece(ordered, &pieces, 0);
        ordered_work_close(ordered);
        ck_assert_uint_eq(pieces.wrong, 0);
    }
}
END_TEST

static Suite *threads_suite(void)
{
    Suite *suite = suite_create("threads");
    TCase *pools_case = tcase_create("pools"), *queues_case = tcase_create("queues"),
          *ordered_work_case = tcase_create("ordered work");
    tcase_set_timeout(pools_case, 60);
    tcase_set_timeout(queues_case, 60);
    tcase_set_timeout(ordered_work_case, 60);
    tcase_add_test(pools_case, every_turn_is_taken_once);
    tcase_add_test(pools_case, loops_follow_each_other);
    tcase_add_loop_test(pools_case, missing_threads_are_not_missed, 0, MEMBERS);
    tcase_add_test(pools_case, who_is_joined_has_done_its_turn);
    tcase_add_test(pools_case, joining_may_take_no_longer_than_so_long);
    tcase_add_test(pools_case, parallel_for_takes_every_turn);
    tcase_add_loop_test(pools_case, parallel_for_stops_at_a_fault, 0, MEMBERS);
    tcase_add_loop_test(pools_case, queues_end_at_a_fault, 0, MEMBERS);
    tcase_add_test(pools_case, threads_are_counted);
    tcase_add_loop_test(queues_case, work_queues_keep_the_order, 1, MEMBERS);
    tcase_add_test(queues_case, taking_without_waiting);
    tcase_add_test(queues_case, work_queues_finish);
    tcase_add_test(queues_case, the_later_station_comes_first);
    tcase_add_loop_test(queues_case, nobody_waits_for_a_queue_that_stopped, 0, 2);
    suite_add_tcase(suite, pools_case);
    tcase_add_loop_test(ordered_work_case, ordered_work_keeps_the_order, 1, MEMBERS);
    tcase_add_loop_test(ordered_work_case, ordered_work_closes_with_work_left, 1, MEMBERS);
    suite_add_tcase(suite, queues_case);
    suite_add_tcase(suite, ordered_work_case);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(threads_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
