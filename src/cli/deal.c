/* Deals: the inputs of a command dealt to the ranks; each input goes to one rank, which has it alone.

   Rank 0 deals. First, each rank gets as many files as it runs at a time, one in each round, so that all
   begin at once. Then a rank tells rank 0 how a file has ended, and hears the number of its next file.
   Only the main thread may call MPI, so other threads filter the files; the main thread hands them the
   numbers of files, and gets the numbers back. */
#include "deal.h"

#include "base/belt.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/size.h"
#include "format/format.h"
#include "pipeline/pipeline.h"
#include "entries.h"
#include "lines.h"
#include "means.h"

#include <stdlib.h>
#include <sys/stat.h>

/* A queue of the numbers of files, from thread to thread. */
struct chute {
    struct belt *belt;
    uint64_t *numbers;
};

enum { CHUTE_IN, CHUTE_OUT, CHUTE_STATIONS };

struct deal {
    struct peers *peers;
    struct entries entries;
    struct means means;
    uint64_t *order; /* the numbers of files, as they are dealt */
    struct chute begun, ended;

    /* Of rank 0 only. */
    uint64_t dealt;
};

/* ---- between threads ---- */

static bool chute_open(struct chute *chute, size_t most, struct fault *fault)
{
    chute->numbers = mem_alloc(most, sizeof *chute->numbers, "the files' numbers", fault);
    return chute->numbers != NULL && belt_create(&chute->belt, most, CHUTE_STATIONS, fault);
}

static void chute_close(struct chute *chute)
{
    belt_destroy(chute->belt);
    mem_free(chute->numbers);
}

static void chute_put(struct chute *chute, uint64_t number)
{
    size_t place;

    if (belt_take(chute->belt, CHUTE_IN, &place) != BELT_TAKEN)
        return;
    chute->numbers[place] = number;
    belt_hand_on(chute->belt, place);
}

typedef enum belt_outcome chute_taker(struct belt *belt, unsigned station, size_t *place);

static bool chute_take(struct chute *chute, chute_taker *take, uint64_t *number)
{
    size_t place;

    if (take(chute->belt, CHUTE_OUT, &place) != BELT_TAKEN)
        return false;
    *number = chute->numbers[place];
    belt_hand_on(chute->belt, place);
    return true;
}

/* ---- a thread's part ---- */

static void run_files(void *data, size_t first, size_t count, unsigned member)
{
    struct deal *deal = data;
    uint64_t number;

    (void)first;
    (void)count;
    (void)member;
    while (chute_take(&deal->begun, belt_take, &number)) {
        struct entry *entry = &deal->entries.list[number];
        means_begin(&deal->means, entry);
        entries_run(&deal->entries, entry);
        means_end(&deal->means, entry);
        chute_put(&deal->ended, number);
    }
}

/* ---- what ranks tell rank 0, and hear ---- */

enum { TEXT_ON_OPTIONS, TEXT_MESSAGES, TEXT_REPORT, TEXTS };

/* Texts go in pieces, since rank 0 may lack the memory for a whole one while others wait for it. */
#define PIECE_BYTES ((size_t)4096)

/* How a file has ended, before its texts. */
struct ending {
    uint64_t number, status;
    uint64_t sizes[TEXTS];
    uint64_t report_is_torn;
};

/* The next file (the number of all files if there is none), and how many are left after it. */
struct answer {
    uint64_t number, left;
};

static void list_texts(struct entry *entry, struct lines *texts[TEXTS])
{
    texts[TEXT_ON_OPTIONS] = &entry->on_options;
    texts[TEXT_MESSAGES] = &entry->messages;
    texts[TEXT_REPORT] = &entry->report;
}

static bool send_text(struct peers *peers, const struct lines *text, struct fault *fault)
{
    bool done = true;

    for (size_t at = 0, size; done && at < text->size; at += size) {
        size = size_least(PIECE_BYTES, text->size - at);
        done = peers_send(peers, 0, text->text + at, size, fault);
    }
    return done;
}

static bool send_ending(struct deal *deal, uint64_t number, struct fault *fault)
{
    struct entry *entry = &deal->entries.list[number];
    struct ending ending = {.number = number, .status = (uint64_t)entry->status};
    struct lines *texts[TEXTS];
    bool done;

    list_texts(entry, texts);
    ending.report_is_torn = entry->report.torn;
    for (size_t i = 0; i < TEXTS; i++)
        ending.sizes[i] = texts[i]->size;
    done = peers_send(deal->peers, 0, &ending, sizeof ending, fault);
    for (size_t i = 0; i < TEXTS; i++) {
        done = done && send_text(deal->peers, texts[i], fault);
        lines_free(texts[i]);
    }
    return done;
}

static bool receive_text(struct peers *peers, size_t from, size_t size, struct lines *text,
                         struct fault *fault)
{
    char piece[PIECE_BYTES];
    bool done = true;

    if (size == 0)
        return true;
    lines_begin(text);
    for (size_t got; done && size > 0; size -= got) {
        got = size_least(sizeof piece, size);
        done = peers_receive(peers, from, piece, got, fault);
        if (done && text->stream != NULL)
            fwrite(piece, 1, got, text->stream);
    }
    lines_end(text);
    return done;
}

static bool receive_ending(struct deal *deal, size_t from, struct fault *fault)
{
    struct lines *texts[TEXTS];
    struct ending ending;
    struct entry *entry;
    bool done = peers_receive(deal->peers, from, &ending, sizeof ending, fault);

    if (!done)
        return false;
    entry = &deal->entries.list[ending.number];
    entry->status = (enum status)ending.status;
    list_texts(entry, texts);
    for (size_t i = 0; done && i < TEXTS; i++)
        done = receive_text(deal->peers, from, (size_t)ending.sizes[i], texts[i], fault);
    entry->report.torn = entry->report.torn || ending.report_is_torn != 0;
    if (done)
        entries_end(&deal->entries, entry);
    return done;
}

static struct answer next_file(struct deal *deal)
{
    uint64_t count = deal->entries.count;
    uint64_t number = deal->dealt < count ? deal->order[deal->dealt++] : count;

    return (struct answer){.number = number, .left = count - deal->dealt};
}

/* ---- a rank's part ---- */

static void begin_file(struct deal *deal, uint64_t number, uint64_t left)
{
    means_expect(&deal->means, 1, (size_t)left);
    chute_put(&deal->begun, number);
}

/* The first files: one for each rank, and so again until each has as many as run at a time. Returns how many
   this rank has. */
static uint64_t begin_first(struct deal *deal)
{
    size_t ranks = peers_count(deal->peers), index = peers_index(deal->peers), count = deal->entries.count;
    size_t together = size_least(count, ranks * deal->means.at_once);
    size_t own = size_divided_up(together - index, ranks);

    deal->dealt = together;
    for (size_t i = 0; i < own; i++)
        begin_file(deal, deal->order[index + i * ranks], count - together + own - 1 - i);
    return own;
}

static bool serve(struct deal *deal, size_t from, struct fault *fault)
{
    struct answer answer;

    if (!receive_ending(deal, from, fault))
        return false;
    answer = next_file(deal);
    return peers_send(deal->peers, from, &answer, sizeof answer, fault);
}

static void end_own(struct deal *deal, uint64_t number)
{
    struct answer answer = next_file(deal);

    if (answer.number < deal->entries.count)
        begin_file(deal, answer.number, answer.left);
    entries_end(&deal->entries, &deal->entries.list[number]);
}

/* Rank 0 waits for its own threads and for the others. */
static bool lead(struct deal *deal, struct fault *fault)
{
    uint64_t over = 0, number;
    unsigned looks = 0;
    size_t from;

    begin_first(deal);
    while (over < deal->entries.count) {
        if (chute_take(&deal->ended, belt_try, &number)) {
            end_own(deal, number);
        } else if (!peers_has_message(deal->peers, &from)) {
            clock_nap(looks++);
            continue;
        } else if (!serve(deal, from, fault)) {
            return false;
        }
        looks = 0;
        over++;
    }
    return true;
}

static bool follow(struct deal *deal, struct fault *fault)
{
    uint64_t number;
    struct answer answer;

    for (uint64_t held = begin_first(deal); held > 0; held--) {
        if (!chute_take(&deal->ended, belt_take, &number) || !send_ending(deal, number, fault) ||
            !peers_receive(deal->peers, 0, &answer, sizeof answer, fault))
            return false;
        if (answer.number < deal->entries.count) {
            begin_file(deal, answer.number, answer.left);
            held++;
        }
    }
    return true;
}

static bool run_dealt(struct deal *deal, struct fault *fault)
{
    bool done = peers_lead(deal->peers) ? lead(deal, fault) : follow(deal, fault);

    if (!done) {
        belt_stop(deal->begun.belt);
        belt_stop(deal->ended.belt);
    }
    belt_finish(deal->begun.belt);
    pool_join(deal->means.pool);
    return done;
}

/* ---- before and after ---- */

struct sized {
    uint64_t number, bytes;
};

static int compare_sizes(const void *left, const void *right)
{
    const struct sized *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

/* The bytes of samples that are in a file beside their header, if the path names the header. */
static uint64_t count_described(const struct entry *entry)
{
    struct pipeline pipeline;
    struct fault unread;
    uint64_t bytes;

    if (!pipeline_open(&pipeline, &entry->task.request, &unread))
        return 0;
    bytes = header_samples(&pipeline.job.in) * sample_size(pipeline.job.in.type);
    pipeline_close(&pipeline);
    return bytes;
}

/* A file that cannot be read comes last, and its run reports the reason; so does a pipe, which can be read
   only once. */
static uint64_t size_of_file(const struct entry *entry)
{
    const char *path = entry->task.request.input;
    const struct format *format = format_of_name(path);
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return 0;
    return format != NULL && format->data_suffix != NULL ? count_described(entry) : (uint64_t)info.st_size;
}

static bool find_order(struct deal *deal, struct fault *fault)
{
    size_t count = deal->entries.count;
    struct sized *files = mem_alloc(count, sizeof *files, "the files' sizes", fault);

    if (files == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        files[i] = (struct sized){.number = i, .bytes = size_of_file(&deal->entries.list[i])};
    qsort(files, count, sizeof *files, compare_sizes);
    for (size_t i = 0; i < count; i++)
        deal->order[i] = files[i].number;
    mem_free(files);
    return true;
}

static bool make_order(struct deal *deal, struct fault *fault)
{
    deal->order = mem_alloc(deal->entries.count, sizeof *deal->order, "the files' order", fault);
    return deal->order != NULL && (!peers_lead(deal->peers) || find_order(deal, fault));
}

static bool tell_order(struct deal *deal, struct report_file *report, struct fault *fault)
{
    bool wanted = report->file != NULL;
    bool done = peers_broadcast(deal->peers, deal->order, deal->entries.count * sizeof *deal->order, fault) &&
                peers_broadcast(deal->peers, &wanted, sizeof wanted, fault);

    report->afar = wanted && !peers_lead(deal->peers);
    return done;
}

/* All ranks run the same number of files at a time: as many as the weakest rank can. */
static bool settle_places(struct deal *deal, const struct options *options, struct fault *fault)
{
    struct entries *entries = &deal->entries;
    size_t each = size_divided_up(entries->count, peers_count(deal->peers));
    uint64_t places = means_count(&deal->means, options, &entries->list[deal->order[0]], each);

    if (!peers_min(deal->peers, &places, fault))
        return false;
    means_divide(&deal->means, entries, (size_t)places);
    return true;
}

static bool start_threads(struct deal *deal, struct fault *fault)
{
    size_t places = deal->means.at_once;

    return chute_open(&deal->begun, places, fault) && chute_open(&deal->ended, places, fault) &&
           (pool_start(deal->means.pool, (unsigned)places, run_files, deal) > 0 ||
            fault_raise(fault, STATUS_LIMIT, "no thread for the files can be started"));
}

static void stop_threads(struct deal *deal)
{
    if (deal->begun.belt != NULL)
        belt_finish(deal->begun.belt);
    pool_join(deal->means.pool);
}

/* What has run cannot be undone. */
static enum status conclude(struct deal *deal, bool done, struct fault *fault)
{
    enum status status = done ? entries_status(&deal->entries) : fault->status;

    if (done && peers_broadcast(deal->peers, &status, sizeof status, fault))
        return status;
    deal->entries.report->lost = true;
    deal->entries.report->fault = *fault;
    return diag_error(fault);
}

static bool begin(struct deal *deal, const struct options *options, struct report_file *report,
                  struct fault *fault)
{
    if (!peers_agree(deal->peers, make_order(deal, fault), fault) || !tell_order(deal, report, fault) ||
        !settle_places(deal, options, fault))
        return false;
    if (peers_agree(deal->peers, start_threads(deal, fault), fault))
        return true;
    stop_threads(deal);
    return false;
}

static bool deal_entries(struct deal *deal, const struct options *options, struct report_file *report,
                         enum status *status, struct fault *fault)
{
    bool begun = begin(deal, options, report, fault);

    if (begun)
        *status = conclude(deal, run_dealt(deal, fault), fault);
    chute_close(&deal->ended);
    chute_close(&deal->begun);
    mem_free(deal->order);
    return begun;
}

static bool deal_with_means(struct deal *deal, const struct options *options, const struct outputs *outputs,
                            struct report_file *report, enum status *status, struct fault *fault)
{
    bool open = entries_open(&deal->entries, options, outputs, &deal->means.budget, report, fault);
    bool begun = peers_agree(deal->peers, open, fault) && deal_entries(deal, options, report, status, fault);

    if (open)
        entries_close(&deal->entries);
    return begun;
}

bool deal_run(const struct options *options, const struct outputs *outputs, struct report_file *report,
              enum status *status, struct fault *fault)
{
    struct deal deal = {.peers = options->peers};
    bool open = means_open(&deal.means, options, fault);
    bool begun = peers_agree(deal.peers, open, fault) &&
                 deal_with_means(&deal, options, outputs, report, status, fault);

    if (open)
        means_close(&deal.means);
    return begun;
}
