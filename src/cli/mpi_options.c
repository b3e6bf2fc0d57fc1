/* Options of a command that several MPI ranks run together.

   Ranks may be started with different builds, words or working directories; each is compared with rank 0
   before anything is read, because ranks that do not do the same wait for each other for ever. From then on
   rank 0 alone prints. Each rank takes its share of the processors and of the memory of its node. */
#include "mpi_options.h"

#include "base/checksum.h"
#include "base/memory_limits.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/threads.h"
#include "plan/split.h"
#include "pipeline/targets.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool mpi_options_silence_others(const struct peers *peers, struct fault *fault)
{
    FILE *nowhere;

    if (peers_lead(peers))
        return true;
    nowhere = fopen("/dev/null", "w");
    if (nowhere == NULL || freopen("/dev/null", "w", stdout) == NULL)
        return fault_raise(fault, STATUS_IO, "/dev/null: %s", strerror(errno));
    diag_redirect(nowhere);
    return true;
}

/* ---- the build ---- */

static const char version[] = "version " PACKAGE_VERSION;

/* Sizes of the types that ranks send each other as they are in memory. */
static const uint64_t sizes[] = {
    sizeof(struct fault),
    sizeof(struct split_option),
    sizeof(struct joint_file),
    sizeof(struct outcomes),
    sizeof(struct extremes),
    sizeof(struct tally),
    sizeof(enum status),
    sizeof(enum split_kind),
    sizeof(bool),
    _Alignof(uint64_t),
    _Alignof(double),
};

bool mpi_options_check_build(struct peers *peers, struct fault *fault)
{
    return peers_compare_builds(peers, version, checksum_crc(CHECKSUM_CRC, sizes, sizeof sizes), fault);
}

/* ---- the command line ---- */

/* The words of a command line one after the other, each with its terminator. */
struct text {
    char *bytes;
    uint64_t size;
};

static bool join_words(int argc, char **argv, struct text *text, struct fault *fault)
{
    text->size = 0;
    for (int i = 1; i < argc; i++)
        text->size += strlen(argv[i]) + 1;
    text->bytes = mem_alloc((size_t)text->size, 1, "the command line", fault);
    text->size = 0;
    for (int i = 1; text->bytes != NULL && i < argc; i++) {
        memcpy(text->bytes + text->size, argv[i], strlen(argv[i]) + 1);
        text->size += strlen(argv[i]) + 1;
    }
    return text->bytes != NULL;
}

/* The word that begins there, quoted; or that there is none. */
static const char *quote(const struct text *text, uint64_t at, char *quoted, size_t size)
{
    if (at >= text->size)
        return "missing";
    snprintf(quoted, size, "\"%.400s\"", text->bytes + at);
    return quoted;
}

/* Compare word by word, so that the refusal names the first one that differs. */
static bool compare_words(const struct text *own, const struct text *first, struct fault *fault)
{
    char here[512], there[512];
    uint64_t at = 0;
    int word = 1;

    for (; at < own->size && at < first->size; word++) {
        if (strcmp(own->bytes + at, first->bytes + at) != 0)
            break;
        at += strlen(own->bytes + at) + 1;
    }
    return (at == own->size && at == first->size) ||
           fault_raise(fault, STATUS_USAGE, "argument %d is %s here, but %s on rank 0", word,
                       quote(own, at, here, sizeof here), quote(first, at, there, sizeof there));
}

/* Every rank gets the words of rank 0. */
static bool hear(struct peers *peers, const struct text *own, struct text *first, struct fault *fault)
{
    first->size = own->size;
    if (!peers_broadcast(peers, &first->size, sizeof first->size, fault))
        return false;
    first->bytes = mem_alloc((size_t)first->size, 1, "the command line", fault);
    if (first->bytes != NULL && peers_lead(peers))
        memcpy(first->bytes, own->bytes, (size_t)own->size);
    return peers_agree(peers, first->bytes != NULL, fault) &&
           peers_broadcast(peers, first->bytes, (size_t)first->size, fault);
}

bool mpi_options_check_words(struct peers *peers, int argc, char **argv, struct fault *fault)
{
    struct text own = {.bytes = NULL}, first = {.bytes = NULL};
    bool done = peers_count(peers) == 1 || (peers_agree(peers, join_words(argc, argv, &own, fault), fault) &&
                                            hear(peers, &own, &first, fault) &&
                                            peers_agree(peers, compare_words(&own, &first, fault), fault));

    mem_free(own.bytes);
    mem_free(first.bytes);
    return done;
}

/* ---- the options ---- */

static bool names_relative_files(const struct options *options)
{
    for (size_t i = 0; i < options->input_count; i++) {
        if (options->inputs[i][0] != '/')
            return true;
    }
    return (options->output != NULL && options->output[0] != '/') ||
           (options->mask != NULL && options->mask[0] != '/');
}

/* Relative names mean other files in another folder. */
static bool compare_folders(struct peers *peers, const struct options *options, struct fault *fault)
{
    char own[PATH_MAX] = "", first[PATH_MAX];
    bool same;

    if (!names_relative_files(options))
        return true;
    if (getcwd(own, sizeof own) == NULL)
        own[0] = '\0';
    /* Rank 0 sends the whole buffer, so that no rank has to learn a length first. */
    memcpy(first, own, sizeof first);
    if (!peers_broadcast(peers, first, sizeof first, fault))
        return false;
    same = strcmp(own, first) == 0 ||
           fault_raise(fault, STATUS_USAGE, "the working directory is %.2000s here, but %.2000s on rank 0",
                       own, first);
    return peers_agree(peers, same, fault);
}

/* Several inputs need a directory. Without one, they are refused with the words of a single process. */
static bool check_files(const struct options *options, struct fault *fault)
{
    bool single = options->input_count == 1;

    for (size_t i = 0; i < options->input_count; i++) {
        if (path_is_standard(options->inputs[i]))
            return fault_raise(fault, STATUS_USAGE,
                               "standard input: every rank reads the input; name a file (--input FILE)");
    }
    return options->action == ACTION_EXPLAIN || !single || !path_is_standard(options->output) ||
           fault_raise(fault, STATUS_USAGE,
                       "standard output: all ranks write the output; name a file (--output FILE)");
}

/* Launchers may bind ranks to fewer processors than there are. */
static void note_idle_processors(const struct peers *peers, const struct options *options)
{
    const struct peers_place *place = &peers->place;

    if (options->plan.threads == 0 && place->processors < place->available)
        diag_note("%s: ranks are bound to %zu of %zu processors: mpirun --bind-to none, or srun "
                  "--cpus-per-task, gives them more",
                  place->node, place->processors, place->available);
}

/* Memory that nobody needs now is for all ranks of the node, unless the command line says how much one may
 * have. */
static void take_share(const struct peers *peers, struct options *options)
{
    struct plan_request *plan = &options->plan;

    plan->alone = plan->spread = true;
    plan->member = peers->place.local;
    if (plan->threads == 0) {
        plan->threads = (unsigned)thread_share(thread_processors(), peers->place.sharers);
        plan->threads_of_all = (unsigned)thread_share(peers->place.processors, 1);
    }
    if (plan->memory == 0)
        plan->limits.memory = memory_limits_spare() / peers->place.locals;
    if (!peers_lead(peers)) {
        options->run.progress = PROGRESS_NEVER;
        options->report_path = NULL;
    }
}

/* Tasks with parts or files of their own are fine. Only the first task prints the note. */
static void note_tasks(const struct options *options)
{
    uint64_t index, count = peers_launched(&index);
    const char *advice = options->program == PROGRAM_VOXFILT ? "voxfilt-mpi, or --part, divides it"
                                                             : "give each of them files of its own";

    if (count > 1 && index == 0 && options->action == ACTION_RUN && !region_is_part(options->job.region.kind))
        diag_note("%llu tasks were started, and each does all of the work: %s", (unsigned long long)count,
                  advice);
}

bool mpi_options_take(struct peers *peers, struct options *options, struct fault *fault)
{
    options->peers = peers;
    if (peers == NULL) {
        note_tasks(options);
        return true;
    }
    if (options->action == ACTION_BENCH)
        return fault_raise(fault, STATUS_USAGE, "--bench and --tune measure one process; run %s",
                           program_name(options->program));
    if (options->action != ACTION_RUN && options->action != ACTION_EXPLAIN)
        return true;
    if (!check_files(options, fault) || !compare_folders(peers, options, fault))
        return false;
    note_idle_processors(peers, options);
    take_share(peers, options);
    return true;
}
