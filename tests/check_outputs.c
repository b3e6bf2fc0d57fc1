/* Tests of outputs that something comes in between: a power cut, a fault on the way to a name, a signal. */
#include "base/diag.h"
#include "cli/command.h"
#include "assertions.h"
#include "fixture.h"
#include "harness.h"
#include "journal.h"
#include "ranks_run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE     120 /* seconds that a test may take */
#define OUTPUTS_MOST 8
#define SIDE         8
#define REPORT       "p.json"

/* Commands, and all files that each of them writes. */
static const struct {
    enum program program;
    size_t company; /* so many of the files, the last ones, are no outputs; the very last is a report */
    const char *words, *files[OUTPUTS_MOST + 1];
} sets[] = {
    {PROGRAM_VOXFILT, 0, "-i in -t u8 -n 8 -o out", {"out"}},
    {PROGRAM_VOXFILT, 0, "-i in -t u8 -n 8 -o out.raw.gz", {"out.raw.gz"}},
    {PROGRAM_VOXFILT, 0, "-i in -t u8 -n 8 -o out.nhdr", {"out.nhdr", "out.raw"}},
    {PROGRAM_VOXFILT, 0, "-i in -t u8 -n 8 --level 3 -o out.mhd", {"out.mhd", "out.zraw"}},
    {PROGRAM_VOXFILT, 0, "-i in -t u8 -n 8 -o out.hdr", {"out.hdr", "out.img"}},
    {PROGRAM_VOXFILT, 0, "-i in -t u8 -d 8,16,4 -o s%d.png", {"s0.png", "s1.png", "s2.png", "s3.png"}},
    {PROGRAM_VOXFILT, 0, "-i series.nhdr -o out.mhd", {"out.mhd", "out.raw"}},
    {PROGRAM_VOXFILT, 0, "series.nhdr --out-format hdr -o ./", {"./series.hdr", "./series.img"}},
    {PROGRAM_VOXFILT,
     0,
     "-i in -t u8 -n 8 -s 3 --tee 1:one --tee 2:two.nii -o out",
     {"out", "one", "two.nii"}},
    {PROGRAM_VOXFILT,
     3,
     "-i in -t u8 -n 8 --until 100 --preview p.png --plot p.svg --report=json:" REPORT " -o out.nhdr",
     {"out.nhdr", "out.raw", "p.png", "p.svg", REPORT}},
    {PROGRAM_IMGHEAT,
     0,
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
    static const char series[] =
        "NRRD0004\ntype: uint8\ndimension: 4\nsizes: 8 8 4 2\nencoding: raw\ndata file: in\n";
    unsigned char samples[SIDE * SIDE * SIDE];

    fill_samples(FILL_RANDOM, SAMPLE_U8, samples, sizeof samples, 1);
    file_fill("in", samples, sizeof samples);
    file_fill("series.nhdr", series, strlen(series));
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

/* Which has no name to come. */
START_TEST(standard_output_is_synced)
{
    static const char *const options[] = {"", "--sync "};
    char words[100];

    make_inputs();
    for (size_t i = 0; i < LENGTH(options); i++) {
        int before = dup(STDOUT_FILENO), out = open("out", O_RDWR | O_CREAT | O_TRUNC, 0644), status;
        dup2(out, STDOUT_FILENO);
        snprintf(words, sizeof words, "%s-q -D cpu -i in -t u8 -n 8", options[i]);
        journal_begin();
        status = run_command(PROGRAM_VOXFILT, words);
        dup2(before, STDOUT_FILENO);
        close(out);
        close(before);
        ck_assert_int_eq(status, 0);
        ck_assert_uint_eq(journal_count(), i);
        journal_end();
    }
    unlink("out");
}
END_TEST

/* What a rank has written may be on its node alone. Once all of it is written, the files are rank 0's alone.
 */
START_TEST(all_ranks_sync_what_they_write)
{
    struct ranks_run run;

    ranks_run_fill(SAMPLE_U8, SIDE * SIDE * SIDE);
    ranks_run_begin(&run, "-t u8 -n 8 --sync --tee 5:tee", 3, SPLIT_PARTS);
    journal_begin();
    ranks_run_make(&run);
    for (size_t i = 0; i < run.count; i++)
        ck_assert_msg(run.ranks[i].done, "%s", run.ranks[i].fault.text);
    ck_assert_uint_eq(journal_syncs("out"), run.count);
    ck_assert_uint_eq(journal_syncs("tee"), run.count);
    ck_assert_uint_eq(journal_temp_files(), 2);
    journal_end();
    ranks_run_remove(&run);
    ranks_run_end(&run);
}
END_TEST

/* ---- faults and signals ---- */

/* What file systems can do to keep a file that loses its name. */
static const struct journal_trouble abilities[] = {
    {.no_exchange = false}, {.no_exchange = true}, {.no_exchange = true, .no_links = true}};

static void put_old_files(size_t set, bool there)
{
    remove_files(set);
    for (size_t i = 0; there && i < count_files(set); i++)
        file_fill(sets[set].files[i], "old", 3);
}

static bool is_old(const char *path, bool was_there)
{
    char text[4] = "";
    FILE *file = fopen(path, "rb");
    size_t size = file == NULL ? 0 : fread(text, 1, sizeof text, file);

    if (file != NULL)
        fclose(file);
    return was_there ? size == 3 && memcmp(text, "old", 3) == 0 : file == NULL;
}

/* Of the first ones. */
static size_t count_old(size_t set, size_t count, bool were_there)
{
    size_t old = 0;

    for (size_t i = 0; i < count; i++)
        old += is_old(sets[set].files[i], were_there);
    return old;
}

static bool has_report(size_t set)
{
    return sets[set].company > 0;
}

/* Whether the old file is where the message has it, which is then removed. */
static bool is_kept(const char *text, const char *path)
{
    char phrase[100], kept[100];
    const char *place;
    bool old;

    snprintf(phrase, sizeof phrase, " %s (the old one is ", path);
    place = strstr(text, phrase);
    if (place == NULL || sscanf(place + strlen(phrase), "%99[^)])", kept) != 1)
        return false;
    old = is_old(kept, true);
    unlink(kept);
    return old;
}

/* Whether a line says what went wrong, and names the files that are new, and the old ones where these can be
   kept. A report is begun again, and tells of the failure under its name; if it cannot have that, another
   line says so. */
static void ck_message(size_t set, bool were_there, bool lasting, bool keeps)
{
    size_t size;
    unsigned char *bytes = file_content("stderr", &size);
    char text[1000];
    size_t lines = 0;

    snprintf(text, sizeof text, "%.*s", (int)size, (char *)bytes);
    for (const char *end = text; (end = strchr(end, '\n')) != NULL; end++)
        lines++;
    ck_assert_msg(lines == 1 + (size_t)(lasting && has_report(set)), "%s", text);
    *strchr(text, '\n') = '\0';
    for (size_t i = 0; i < count_files(set); i++) {
        const char *path = sets[set].files[i], *list = strstr(text, "these files are new: ");
        bool named = list != NULL && strstr(list, path) != NULL;
        ck_assert_msg(strcmp(path, REPORT) == 0 || is_old(path, were_there) != named, "%s: %s", path, text);
        ck_assert_msg(is_kept(text, path) == (named && were_there && keeps), "%s: %s", path, text);
    }
    free(bytes);
}

/* Calls that change names; with old files, or without. */
static size_t run_into(size_t set, const char *option, bool there, struct journal_trouble trouble,
                       int *status)
{
    char words[400];
    size_t names;

    put_old_files(set, there);
    snprintf(words, sizeof words, "%s -q -D cpu %s", option, sets[set].words);
    journal_bring(trouble);
    journal_begin();
    *status = run_command(sets[set].program, words);
    names = journal_names();
    journal_end();
    return names;
}

/* Either it did not matter, or all is as it was but for a report of the failure. */
static void ck_fault(size_t set, bool there, struct journal_trouble trouble, size_t files)
{
    size_t count = count_files(set);
    int status;

    run_into(set, "", there, trouble, &status);
    ck_assert_msg(WIFEXITED(status), "%s: call %zu", sets[set].words, trouble.call);
    if (WEXITSTATUS(status) == 0) {
        ck_assert_uint_eq(count_old(set, count, there), 0);
    } else {
        ck_assert_int_eq(WEXITSTATUS(status), STATUS_IO);
        ck_message(set, there, trouble.lasting, !trouble.no_links);
        if (!trouble.lasting && (!trouble.no_links || !there))
            ck_assert_uint_eq(count_old(set, count, there), count - has_report(set));
    }
    remove_files(set);
    ck_assert_uint_eq(folder_count(), files);
}

/* Rank 0 gives the names, and what fails there fails for all. */
START_TEST(no_set_of_ranks_is_torn)
{
    static const char options[] = "-t u8 -n 8 --tee 5:tee.nii.gz --tee 6:tee";
    static const char *const files[] = {"tee.nii.gz", "tee", "out"};

    ranks_run_fill(SAMPLE_U8, SIDE * SIDE * SIDE);
    for (size_t call = 1; call <= LENGTH(files); call++) {
        struct ranks_run run;
        ranks_run_begin(&run, options, 3, SPLIT_PARTS);
        for (size_t i = 0; i < LENGTH(files); i++)
            file_fill(files[i], "old", 3);
        journal_bring((struct journal_trouble){.call = call, .no_exchange = true});
        journal_begin();
        ranks_run_make(&run);
        journal_end();
        for (size_t i = 0; i < LENGTH(files); i++)
            ck_assert_msg(!run.ranks[i].done && is_old(files[i], true), "rank %zu, call %zu", i, call);
        ranks_run_remove(&run);
        ranks_run_end(&run);
    }
}
END_TEST

/* All files are new or none is. */
static void ck_signal(size_t set, bool there, struct journal_trouble trouble, size_t files)
{
    size_t old, count = count_files(set);
    int status;

    run_into(set, "", there, trouble, &status);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == trouble.signal, "%s: call %zu", sets[set].words,
                  trouble.call);
    old = count_old(set, count, there);
    ck_assert_msg(old == 0 || old == count, "%s: call %zu: %zu of %zu are old", sets[set].words, trouble.call,
                  old, count);
    remove_files(set);
    ck_assert_uint_eq(folder_count(), files);
}

/* A change of a name fails once, or it and all later ones do, or a signal comes as well. A thinned run takes
   one of the three for each change. */
START_TEST(no_set_is_torn)
{
    const unsigned turns = harness_thinning() > 1 ? 3 : 1;
    size_t set = (size_t)_i, files;

    make_inputs();
    remove_files(set);
    files = folder_count();
    for (size_t i = 0; i < 2 * LENGTH(abilities); i++) {
        struct journal_trouble trouble = abilities[i / 2];
        bool there = i % 2 == 1;
        int status;
        size_t names = run_into(set, "", there, trouble, &status);
        ck_assert_uint_ge(names, count_files(set));
        for (size_t j = 0; j < 3 * names; j++) {
            trouble.call = 1 + j / 3;
            trouble.lasting = j % 3 != 0;
            trouble.signal = j % 3 == 2 ? SIGTERM : 0;
            if ((trouble.call + i + j) % turns != 0)
                continue;
            if (trouble.signal != 0)
                ck_signal(set, there, trouble, files);
            else
                ck_fault(set, there, trouble, files);
        }
    }
}
END_TEST

/* A run without a fault is the last. Where a preview, a plot or a report cannot be synced, the outputs are
   complete all the same. */
START_TEST(what_cannot_be_synced_is_an_error)
{
    size_t set = (size_t)_i, outputs = count_files(set) - sets[set].company, files;
    struct journal_trouble trouble = {.sync = 0};
    int status = -1;

    make_inputs();
    remove_files(set);
    files = folder_count();
    while (status != 0) {
        size_t old;
        trouble.sync++;
        run_into(set, "--sync", true, trouble, &status);
        old = count_old(set, outputs, true);
        ck_assert_msg(status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_IO), "%s: sync %zu",
                      sets[set].words, trouble.sync);
        ck_assert_msg(old == 0 || (old == outputs && status != 0), "%s: sync %zu: %zu of %zu are old",
                      sets[set].words, trouble.sync, old, outputs);
        remove_files(set);
        ck_assert_uint_eq(folder_count(), files);
    }
    ck_assert_uint_eq(trouble.sync, count_files(set) + 2); /* each file, and their folder */
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("outputs");

    tcase_add_loop_test(tests, synced_outputs_survive_a_power_cut, 0, (int)LENGTH(sets));
    tcase_add_loop_test(tests, no_set_is_torn, 0, (int)LENGTH(sets));
    tcase_add_loop_test(tests, what_cannot_be_synced_is_an_error, 0, (int)LENGTH(sets));
    tcase_add_test(tests, no_set_of_ranks_is_torn);
    tcase_add_test(tests, folders_of_links_are_synced);
    tcase_add_test(tests, standard_output_is_synced);
    tcase_add_test(tests, all_ranks_sync_what_they_write);
    return harness_run("outputs", &tests, 1, PATIENCE);
}
