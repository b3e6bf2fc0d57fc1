/* Tests of outputs that something comes in between: a power cut. */
#include "base/diag.h"
#include "cli/command.h"
#include "fixture.h"
#include "harness.h"
#include "journal.h"
#include "ranks_run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE     120 /* seconds that a test may take */
#define OUTPUTS_MOST 8
#define SIDE         8

/* Commands, and all files that each of them writes. */
static const struct {
    enum program program;
    const char *words, *files[OUTPUTS_MOST + 1];
} sets[] = {
    {PROGRAM_VOXFILT, "-i in -t u8 -n 8 -o out", {"out"}},
    {PROGRAM_VOXFILT, "-i in -t u8 -n 8 -o out.raw.gz", {"out.raw.gz"}},
    {PROGRAM_VOXFILT, "-i in -t u8 -n 8 -o out.nhdr", {"out.nhdr", "out.raw"}},
    {PROGRAM_VOXFILT, "-i in -t u8 -n 8 --level 3 -o out.mhd", {"out.mhd", "out.zraw"}},
    {PROGRAM_VOXFILT, "-i in -t u8 -n 8 -o out.hdr", {"out.hdr", "out.img"}},
    {PROGRAM_VOXFILT, "-i in -t u8 -d 8,16,4 -o s%d.png", {"s0.png", "s1.png", "s2.png", "s3.png"}},
    {PROGRAM_VOXFILT, "-i in -t u8 -n 8 -s 3 --tee 1:one --tee 2:two.nii -o out", {"out", "one", "two.nii"}},
    {PROGRAM_VOXFILT,
     "-i in -t u8 -n 8 --until 100 --preview p.png --plot p.svg --report=json:p.json -o out.nhdr",
     {"out.nhdr", "out.raw", "p.png", "p.svg", "p.json"}},
    {PROGRAM_IMGHEAT,
     "in.png -s 3 --frames f%d.png -o out.png",
     {"f0.png", "f1.png", "f2.png", "f3.png", "out.png"}},
};

static size_t count_files(size_t set)
{
    size_t count = 0;

    while (sets[set].files[count] != NULL)
        count++;
    return count;
}

static _Noreturn void be_command(enum program program, const char *words)
{
    struct command command;
    int status;

    command_parse(&command, program, words);
    if (freopen("stderr", "wb", stderr) == NULL)
        _exit(EXIT_FAILURE);
    status = command_main(command.argc, command.argv);
    command_free(&command);
    exit(status);
}

/* In a process of its own; how that ended, as waitpid has it. */
static int run_command(enum program program, const char *words)
{
    int status;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0)
        be_command(program, words);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static void make_inputs(void)
{
    unsigned char samples[SIDE * SIDE * SIDE];

    fill_samples(FILL_RANDOM, SAMPLE_U8, samples, sizeof samples, 1);
    file_fill("in", samples, sizeof samples);
    ck_assert_int_eq(run_command(PROGRAM_VOXFILT, "-i in -t u8 -n 8 -f identity --slice z=0 -o in.png"), 0);
}

static void remove_files(size_t set)
{
    for (size_t i = 0; i < count_files(set); i++)
        unlink(sets[set].files[i]);
}

/* ---- power cuts ---- */

/* Cuts after which a file is neither as it was, where that is allowed, nor as it is now. */
static size_t count_torn(const struct journal_file *files, size_t count)
{
    size_t torn = 0, calls = journal_count();

    for (size_t cut = 0; cut <= calls; cut++) {
        for (size_t i = 0; i < count; i++)
            torn += !journal_is_whole(&files[i], cut, cut < calls);
    }
    return torn;
}

static size_t tear(size_t set, const char *option)
{
    struct journal_file files[OUTPUTS_MOST];
    int descriptors[OUTPUTS_MOST];
    size_t count = count_files(set), torn;
    char words[400];

    for (size_t i = 0; i < count; i++)
        files[i] = journal_before(sets[set].files[i], &descriptors[i]);
    snprintf(words, sizeof words, "%s -q -D cpu %s", option, sets[set].words);
    journal_begin();
    ck_assert_msg(run_command(sets[set].program, words) == 0, "%s", words);
    for (size_t i = 0; i < count; i++)
        journal_after(&files[i], descriptors[i]);
    torn = count_torn(files, count);
    journal_end();
    return torn;
}

/* Where there is nothing before, and where there are old files. */
START_TEST(synced_outputs_survive_a_power_cut)
{
    size_t set = (size_t)_i;

    make_inputs();
    ck_assert_uint_gt(tear(set, ""), 0); /* else the journal proves nothing */
    remove_files(set);
    ck_assert_uint_eq(tear(set, "--sync"), 0);
    for (size_t i = 0; i < count_files(set); i++)
        file_fill(sets[set].files[i], "old", 3);
    ck_assert_uint_eq(tear(set, "--sync"), 0);
    remove_files(set);
}
END_TEST

/* Links lead to files in other folders. */
START_TEST(folders_of_links_are_synced)
{
    struct journal_file file;
    int descriptor;

    make_inputs();
    ck_assert_int_eq(system("mkdir far && ln -s far/out.raw link"), 0);
    file = journal_before("far/out.raw", &descriptor);
    journal_begin();
    ck_assert_int_eq(run_command(PROGRAM_VOXFILT, "--sync -q -D cpu -i in -t u8 -n 8 -o link"), 0);
    journal_after(&file, descriptor);
    ck_assert_uint_eq(count_torn(&file, 1), 0);
    journal_end();
    ck_assert_int_eq(system("rm -r far link"), 0);
}
END_TEST

/* What a rank has written may be on its node alone. */
START_TEST(all_ranks_sync_what_they_write)
{
    struct ranks_run run;

    ranks_run_fill(SAMPLE_U8, SIDE * SIDE * SIDE);
    ranks_run_begin(&run, "-t u8 -n 8 --sync --tee 5:tee", 3, DIVISION_PARTS);
    journal_begin();
    ranks_run_make(&run);
    for (size_t i = 0; i < run.count; i++)
        ck_assert_msg(run.ranks[i].done, "%s", run.ranks[i].fault.text);
    ck_assert_uint_eq(journal_syncs("out"), run.count);
    ck_assert_uint_eq(journal_syncs("tee"), run.count);
    journal_end();
    ranks_run_remove(&run);
    ranks_run_end(&run);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("outputs");

    tcase_add_loop_test(tests, synced_outputs_survive_a_power_cut, 0, (int)LENGTH(sets));
    tcase_add_test(tests, folders_of_links_are_synced);
    tcase_add_test(tests, all_ranks_sync_what_they_write);
    return harness_run("outputs", &tests, 1, PATIENCE);
}
