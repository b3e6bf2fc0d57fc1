/* Tests of files that are dealt to ranks, which are threads here: every file is done, by whoever has it, and
   where a call to the others fails, or memory ends, all of them end, and no file is half done. */
#include "base/diag.h"
#include "cli/queue.h"
#include "fixture.h"
#include "harness.h"
#include "peers_threads.h"
#include "scarcity.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE   120 /* seconds that a test may take */
#define RANKS_MOST 4
#define CALLS_MOST 200
#define FILES      7
#define SIDE       8

struct rank {
    struct command command;
    struct peers peers;
    pthread_t thread;
    enum status status;
    unsigned long lacks; /* which of its allocations; threads that it has for its files lack none */
};

static void *run_rank(void *data)
{
    struct rank *rank = data;
    FILE *nowhere = fopen("/dev/null", "w");

    diag_divert(nowhere);
    scarcity_begin(&rank->lacks);
    rank->status = queue_run(&rank->command.options);
    scarcity_end();
    peers_close(&rank->peers);
    fclose(nowhere);
    return NULL;
}

/* All of them and one that is not there, from the largest to the smallest or not. Whether a call has failed.
 */
static bool deal(size_t count, unsigned threads, size_t fails, unsigned long call, struct rank *ranks)
{
    struct peers_threads *team = peers_threads_open(count);
    char text[160];
    bool failed;

    peers_threads_fail(team, fails, call);
    snprintf(text, sizeof text, "-j %u -D cpu -n %d -t u8 -s 3 -q -o made/ 0 1 2 none 3 4 5 6", threads,
             SIDE);
    for (size_t i = 0; i < count; i++) {
        struct options *options = &ranks[i].command.options;
        command_parse(&ranks[i].command, PROGRAM_VOXFILT, text);
        ck_assert_msg(ranks[i].command.parsed, "%s", ranks[i].command.fault.text);
        ranks[i].peers = peers_threads_peers(team, i);
        options->peers = &ranks[i].peers;
        options->run.progress = PROGRESS_NEVER;
        options->plan.alone = options->plan.spread = true;
        options->plan.member = i;
    }
    for (size_t i = 0; i < count; i++)
        fixture_require(pthread_create(&ranks[i].thread, NULL, run_rank, &ranks[i]) == 0, "a thread");
    for (size_t i = 0; i < count; i++)
        pthread_join(ranks[i].thread, NULL);
    failed = peers_threads_have_failed(team);
    for (size_t i = 0; i < count; i++)
        command_free(&ranks[i].command);
    peers_threads_close(team);
    return failed;
}

static void make_inputs(void)
{
    unsigned char samples[SIDE * SIDE * SIDE];
    char name[2] = "0";

    for (int i = 0; i < FILES; i++, name[0]++) {
        fill_samples(FILL_RANDOM, SAMPLE_U8, samples, sizeof samples, (uint64_t)i);
        file_fill(name, samples, sizeof samples);
    }
    mkdir("made", 0777);
}

/* Those that are there are whole, and nothing else is; they are removed. Returns how many there were. */
static int take_outputs(void)
{
    char name[] = "made/0";
    int count = 0;

    for (int i = 0; i < FILES; i++, name[5]++) {
        struct stat info;
        if (stat(name, &info) != 0)
            continue;
        ck_assert_int_eq(info.st_size, SIDE * SIDE * SIDE);
        unlink(name);
        count++;
    }
    ck_assert_int_eq(rmdir("made"), 0);
    mkdir("made", 0777);
    return count;
}

START_TEST(every_file_is_done)
{
    struct rank ranks[RANKS_MOST] = {0};

    make_inputs();
    for (size_t count = 2; count <= RANKS_MOST; count++) {
        for (unsigned threads = 1; threads <= 3; threads++) {
            deal(count, threads, count, 0, ranks);
            for (size_t i = 0; i < count; i++)
                ck_assert_int_eq(ranks[i].status, STATUS_IO);
            ck_assert_int_eq(take_outputs(), FILES);
        }
    }
}
END_TEST

/* Rank 0 serves others as they come, so how many calls it makes varies. */
START_TEST(calls_that_fail)
{
    struct rank ranks[RANKS_MOST] = {0};
    unsigned long call = 1;

    make_inputs();
    while (call < CALLS_MOST && deal(3, 2, (size_t)_i, call, ranks)) {
        ck_assert_int_ne(ranks[_i].status, STATUS_DONE);
        take_outputs();
        call++;
    }
    ck_assert_int_eq(take_outputs(), FILES);
    ck_assert_uint_gt(call, 10);
    ck_assert_uint_lt(call, CALLS_MOST);
}
END_TEST

/* Whoever has none for what it does by itself says so, and whoever has none for a file goes on. */
START_TEST(memory_that_is_lacking)
{
    struct rank ranks[RANKS_MOST] = {0};
    unsigned long call = 0;
    bool lacked;

    make_inputs();
    do {
        ranks[_i].lacks = ++call;
        deal(3, 2, 3, 0, ranks);
        lacked = ranks[_i].lacks == 0;
        ck_assert_int_ne(ranks[_i].status, STATUS_DONE);
        if (take_outputs() < FILES)
            ck_assert(lacked);
    } while (lacked);
    ck_assert_uint_gt(call, 5);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all"), *cases[] = {all};

    tcase_add_test(all, every_file_is_done);
    tcase_add_loop_test(all, calls_that_fail, 0, 3);
    tcase_add_loop_test(all, memory_that_is_lacking, 0, 3);
    return harness_run("files dealt to ranks", cases, LENGTH(cases), PATIENCE);
}
