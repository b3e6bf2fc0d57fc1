/* What one rank meets ends all of them, with one line. */
#include "assertions.h"
#include "ranks_cases.h"
#include "ranks_run.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A raw volume that one rank cannot read. The others wait for that, and their planes are counted. */
static atomic_bool torn;
static atomic_size_t read_by_others;

static bool tear(struct source *source, void *samples, size_t volume, const struct region *box,
                 struct fault *fault)
{
    (void)source, (void)samples, (void)volume, (void)box;
    torn = true;
    return fault_raise(fault, STATUS_IO, "in: torn");
}

static bool read_slowly(struct source *source, void *samples, size_t volume, const struct region *box,
                        struct fault *fault)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    do
        nanosleep(&moment, NULL);
    while (!torn);
    read_by_others += region_planes(box, &source->header.grid);
    return format_raw.read_box(source, samples, volume, box, fault);
}

static void ck_all_failed(const struct ranks_run *run, enum status status, const char *line)
{
    for (size_t i = 0; i < run->count; i++) {
        ck_assert(!run->ranks[i].done);
        ck_assert_str_eq(run->ranks[i].fault.text, line);
        ck_assert_int_eq(run->ranks[i].fault.status, status);
    }
    ck_assert(!file_exists("out"));
}

START_TEST(what_one_meets_ends_all_soon)
{
    struct format broken = format_raw, slow = format_raw;
    struct ranks_run run;
    size_t files;

    broken.read_box = tear;
    slow.read_box = read_slowly;
    torn = false;
    read_by_others = 0;
    ranks_run_fill(SAMPLE_U8, 4 * 4 * 300);
    unlink("out");
    files = folder_count();
    ranks_run_begin(&run, "-d 4,4,300 -t u8 --stats", 3, (enum split_kind)_i);
    for (size_t i = 0; i < run.count; i++) {
        run.ranks[i].request.format = i == 1 ? &broken : &slow;
        run.ranks[i].request.plan.limits = (struct schedule_limits){.slab = 1, .batch = 1};
    }
    ranks_run_make(&run);
    ck_all_failed(&run, STATUS_IO, "rank 1 (here): in: torn");
    ck_assert_uint_lt(read_by_others, 100);
    ck_assert_uint_eq(folder_count(), files);
    ranks_run_end(&run);
}
END_TEST

static bool touch_and_read(struct source *source, void *samples, size_t volume, const struct region *box,
                           struct fault *fault)
{
    fixture_require(
        utimensat(AT_FDCWD, "copy", (const struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 1}}, 0) == 0,
        "a time");
    return format_raw.read_box(source, samples, volume, box, fault);
}

/* Rank 0 tells of it, and does not see it. */
START_TEST(a_change_that_one_sees)
{
    struct format touching = format_raw;
    struct ranks_run run;

    touching.read_box = touch_and_read;
    for (int touched = 0; touched < 2; touched++) {
        ranks_run_fill(SAMPLE_U8, 64);
        fixture_require(system("cp -p in copy") == 0, "a copy");
        ranks_run_begin(&run, "-n 4 -t u8", 3, SPLIT_PARTS);
        run.ranks[2].request.input = "copy";
        if (touched)
            run.ranks[2].request.format = &touching;
        ranks_run_make(&run);
        for (size_t i = 0; i < run.count; i++)
            ck_assert_msg(run.ranks[i].done, "%s", run.ranks[i].fault.text);
        ck_assert_str_eq(run.ranks[0].changed, touched ? "in" : "");
        ranks_run_remove(&run);
        ranks_run_end(&run);
    }
    unlink("copy");
}
END_TEST

/* One rank sees another file than the others do. */
static void check_input_of_one(size_t size, const char *name, enum status status, const char *line)
{
    struct ranks_run run;

    ranks_run_fill(SAMPLE_U8, 64);
    if (size > 0)
        file_fill(name, "0123456789012345678901234567890123456789012345678901234567890123", size);
    ranks_run_begin(&run, "-n 4 -t u8", 3, SPLIT_PARTS);
    run.ranks[2].request.input = name;
    ranks_run_make(&run);
    ck_all_failed(&run, status, line);
    ranks_run_end(&run);
    unlink(name);
}

START_TEST(inputs_that_differ)
{
    check_input_of_one(63, "short", STATUS_INPUT, "rank 2 (here): short: 63 bytes here, but 64 on rank 0");
    check_input_of_one(0, "none", STATUS_IO, "rank 2 (here): none: No such file or directory");
}
END_TEST

START_TEST(grids_that_differ)
{
    struct ranks_run run;

    ranks_run_fill(SAMPLE_U8, 8);
    ranks_run_begin(&run, "-n 2 -t u8", 2, SPLIT_PARTS);
    run.ranks[1].request.source.grid = grid_make(3, 4, 2, 1);
    ranks_run_make(&run);
    ck_assert(!run.ranks[0].done);
    ck_assert_ptr_nonnull(strstr(run.ranks[0].fault.text, "rank 1 (here): in: 4 "));
    ck_assert_ptr_nonnull(strstr(run.ranks[0].fault.text, " u8 here, but 2 "));
    ranks_run_end(&run);
}
END_TEST

/* What all of them meet is no rank's own. */
START_TEST(everybodys_faults)
{
    struct ranks_run run;

    ranks_run_fill(SAMPLE_U8, 64);
    ranks_run_begin(&run, "-n 4 -t u16", 3, SPLIT_PARTS);
    ranks_run_make(&run);
    ck_assert(!run.ranks[0].done);
    ck_assert_ptr_null(strstr(run.ranks[0].fault.text, "rank"));
    ranks_run_end(&run);
}
END_TEST

/* Nobody waits for a rank that has no memory for its team. */
START_TEST(a_team_without_memory)
{
    struct ranks_run run;

    ranks_run_fill(SAMPLE_U8, 64);
    ranks_run_begin(&run, "-n 4 -t u8", 3, SPLIT_PARTS);
    peers_threads_lack(run.threads, 1);
    ranks_run_make(&run);
    ck_all_failed(&run, STATUS_LIMIT, "rank 1 (here): no memory for a team");
    ranks_run_end(&run);
}
END_TEST

TCase *ranks_faults_case(void)
{
    TCase *tests = tcase_create("faults");

    tcase_add_loop_test(tests, what_one_meets_ends_all_soon, SPLIT_PARTS, SPLIT_KINDS);
    if (!ranks_run_on_gpus()) {
        tcase_add_test(tests, a_change_that_one_sees);
        tcase_add_test(tests, inputs_that_differ);
        tcase_add_test(tests, grids_that_differ);
        tcase_add_test(tests, everybodys_faults);
        tcase_add_test(tests, a_team_without_memory);
    }
    return tests;
}
