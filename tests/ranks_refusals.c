/* Each call of a rank, and each of its allocations, is refused in turn: all end, and nothing is left. */
#include "assertions.h"
#include "harness.h"
#include "ranks_cases.h"
#include "ranks_run.h"

#include <string.h>

#define CALLS_MOST 900

static const struct lost_run {
    const char *options;
    enum split_kind split;
} lost_runs[] = {{"-d 5,4,9 -t u8 --stats", SPLIT_PARTS},
                 {"-d 5,4,9 -t u8 --out-format raw.gz", SPLIT_PARTS},
                 {"-d 5,4,9 -t u8 --planes 3:5", SPLIT_PARTS},
                 {"-d 5,4,9 -t u8 -f heat -e wrap -f gauss:1 -e hold", SPLIT_CHEAPEST},
                 {"-d 5,4,9 -t u8 -s 3 --stats --preview p.png", SPLIT_SHARES},
                 {"-d 5,4,9 -t u8 --until 2 --check-every 2 -s 5", SPLIT_SHARES},
                 {"-d 5,4,9 -t u8 -s 2 --out-range auto", SPLIT_SHARES},
                 {"-d 5,4,9 -t u8 --format raw.gz -s 5 --stats", SPLIT_SHARES},
                 {"-d 5,4,9 -t u8 --format raw.gz --until 2 --check-every 2 -s 5 -e wrap", SPLIT_SHARES},
                 {"-d 5,4,9 -t u8 -s 3 --out-range auto --out-format raw.gz", SPLIT_SHARES},
                 {"-d 5,4,9 -t u8 -s 2 --tee 1:t1 --tee 0:t0.raw.gz", SPLIT_PARTS},
                 {"-d 5,4,9 -t u8 -s 2 --tee 1:t1 --tee 0:t0.raw.gz", SPLIT_SHARES},
                 {"-d 5,4,9 -t u8 -s 5 --out-format nii.gz --tee 3:t3.nii.gz", SPLIT_SHARES}};

/* Each call of a rank fails once: all of them end, and nothing is left but perhaps the output, which is
 * complete. */
static bool check_lost_call(const struct lost_run *lost, size_t index, unsigned long call, size_t files)
{
    struct ranks_run run;
    bool failed;

    ranks_run_begin(&run, lost->options, 3, lost->split);
    peers_threads_fail(run.threads, index, call);
    ranks_run_make(&run);
    failed = peers_threads_have_failed(run.threads);
    ck_assert(failed != run.ranks[index].done);
    for (size_t i = 0; i < run.count && failed; i++)
        ck_assert(run.ranks[i].done || run.ranks[i].fault.text[0] != '\0');
    for (size_t i = 0; i < ranks_run_outputs(&run); i++) {
        if (file_exists(ranks_run_output(&run, i)))
            ranks_run_compare_file(ranks_run_output(&run, i), ranks_run_aside(&run, i));
    }
    ranks_run_remove(&run);
    ck_assert_uint_eq(folder_count(), files);
    ranks_run_end(&run);
    return failed;
}

/* Make the outputs by one process, and set them aside. Returns how many files there are then. The run is to
   be ended. */
static size_t make_alone(struct ranks_run *run, const struct lost_run *lost)
{
    ranks_run_fill(SAMPLE_U8, 180);
    if (strstr(lost->options, "--format raw.gz") != NULL)
        ranks_run_pack();
    ranks_run_begin(run, lost->options, 1, SPLIT_CHEAPEST);
    ranks_run_make(run);
    ranks_run_set_aside(run);
    return folder_count();
}

/* Every call and every allocation is a run of its own: of rank 0 each, and of the other two ranks by turns,
   since nothing tells these apart. A thinned run takes every third of a rank, and of each rank others. */
static unsigned turns_of_rank(size_t index)
{
    return harness_thinning() > 1 ? 3 : index == 0 ? 1 : 2;
}

START_TEST(calls_that_fail)
{
    struct ranks_run alone;
    unsigned long call = 1;
    size_t files = make_alone(&alone, &lost_runs[_i]);

    for (size_t index = 0; index < 3; index++) {
        const unsigned turns = turns_of_rank(index);
        call = 1 + (index + (size_t)_i) % turns;
        while (call < CALLS_MOST && check_lost_call(&lost_runs[_i], index, call, files))
            call += turns;
        ck_assert_uint_gt(call, 10);
        ck_assert_uint_lt(call, CALLS_MOST);
    }
    ranks_run_remove_aside(&alone);
    ranks_run_end(&alone);
}
END_TEST

/* An allocation of a rank is refused: all of them end, and in the same way. Whether it came to that. */
static bool check_lacking(const struct lost_run *lost, size_t index, unsigned long allocation, size_t files)
{
    struct ranks_run run;
    bool lacked;

    ranks_run_begin(&run, lost->options, 3, lost->split);
    run.ranks[index].lacks = allocation;
    ranks_run_make(&run);
    lacked = run.ranks[index].lacks == 0;
    if (run.ranks[0].done) {
        for (size_t i = 0; i < run.count; i++)
            ck_assert(run.ranks[i].done);
        ranks_run_compare(&run);
        ranks_run_remove(&run);
    } else {
        ck_assert(lacked);
        for (size_t i = 0; i < run.count; i++) {
            ck_assert(!run.ranks[i].done);
            ck_assert_int_eq(run.ranks[i].fault.status, STATUS_LIMIT);
            ck_assert_ptr_nonnull(strstr(run.ranks[i].fault.text, "memory"));
        }
    }
    ck_assert_uint_eq(folder_count(), files);
    ranks_run_end(&run);
    return lacked;
}

/* Where there is too little for one split of the planes, another one may do. */
START_TEST(memory_that_is_lacking)
{
    struct ranks_run alone;
    size_t files = make_alone(&alone, &lost_runs[_i]);

    for (size_t index = 0; index < 3; index++) {
        const unsigned turns = turns_of_rank(index);
        unsigned long allocation = 1 + (index + (size_t)_i) % turns;
        while (check_lacking(&lost_runs[_i], index, allocation, files))
            allocation += turns;
        ck_assert_uint_gt(allocation, 5);
    }
    ranks_run_remove_aside(&alone);
    ranks_run_end(&alone);
}
END_TEST

struct builder {
    struct peers peers;
    pthread_t thread;
    const char *version;
    uint64_t layout;
    bool same;
    struct fault fault;
};

static void *compare_builds(void *data)
{
    struct builder *builder = data;

    builder->same = peers_compare_builds(&builder->peers, builder->version, builder->layout, &builder->fault);
    peers_close(&builder->peers);
    return NULL;
}

static const struct build_case {
    const char *versions[3];
    uint64_t layouts[3];
    const char *fault; /* NULL: they are alike */
} build_cases[] = {{{"version 2", "version 2", "version 2"}, {7, 7, 7}, NULL},
                   {{"version 2", "version 2", "version 3"},
                    {7, 7, 7},
                    "rank 2 (here): version 3 here, but version 2 on rank 0"},
                   {{"version 2", "version 1", "version 3"},
                    {7, 7, 7},
                    "rank 1 (here): version 1 here, but version 2 on rank 0"},
                   {{"version 2", "version 2", "version 2"},
                    {7, 8, 7},
                    "rank 1 (here): version 2 was built in another way than on rank 0"}};

/* All of them hear the same of it. */
START_TEST(builds_that_differ)
{
    const struct build_case *builds = &build_cases[_i];
    struct peers_threads *team = peers_threads_open(3);
    struct builder builders[3];

    for (size_t i = 0; i < 3; i++)
        builders[i] = (struct builder){.peers = peers_threads_peers(team, i),
                                       .version = builds->versions[i],
                                       .layout = builds->layouts[i]};
    for (size_t i = 0; i < 3; i++)
        fixture_require(pthread_create(&builders[i].thread, NULL, compare_builds, &builders[i]) == 0,
                        "a thread");
    for (size_t i = 0; i < 3; i++)
        pthread_join(builders[i].thread, NULL);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(builders[i].same, builds->fault == NULL);
        if (builds->fault != NULL)
            ck_assert_str_eq(builders[i].fault.text, builds->fault);
    }
    peers_threads_close(team);
}
END_TEST

TCase *ranks_refusals_case(void)
{
    TCase *tests = tcase_create("refusals");

    tcase_add_loop_test(tests, builds_that_differ, 0, (int)LENGTH(build_cases));
    tcase_add_loop_test(tests, memory_that_is_lacking, 0, (int)LENGTH(lost_runs));
    tcase_add_loop_test(tests, calls_that_fail, 0, (int)LENGTH(lost_runs));
    return tests;
}
