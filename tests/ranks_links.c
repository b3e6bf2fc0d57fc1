/* The link between ranks: what is known of it decides, it is measured, messages on it are looked at, and what
   ranks bring to rank 0 comes in order. */
#include "peers/link.h"
#include "assertions.h"
#include "ranks_cases.h"
#include "ranks_run.h"

#include <stdlib.h>

/* What is known of the link between ranks decides for them. */
static void check_link(double bytes_a_second, enum split_kind kind)
{
    struct wisdom_entry entries[] = {
        {"link of 3 ranks, 3 on here", "bytes a second", "link", 0, 0, 0, 0, 0, bytes_a_second},
        {"link of 3 ranks, 3 on here", "messages a second", "link", 0, 0, 0, 0, 0, 1e6}};
    const struct wisdom wisdom = {entries, LENGTH(entries)};
    struct ranks_run run;

    ranks_run_begin(&run, "-n 40 -t u8 -s 300", 3, SPLIT_CHEAPEST);
    run.ranks[0].request.plan.wisdom = &wisdom;
    ranks_run_make(&run);
    ck_assert_msg(run.ranks[0].done, "%s", run.ranks[0].fault.text);
    ck_assert_int_eq(run.ranks[0].split.kind, kind);
    ck_assert_int_eq(run.ranks[2].split.kind, kind);
    ranks_run_end(&run);
}

START_TEST(a_fast_link_lets_ranks_share)
{
    ranks_run_fill(SAMPLE_U8, (size_t)40 * 40 * 40);
    check_link(1e11, SPLIT_SHARES);
    check_link(1e6, SPLIT_ALONE);
}
END_TEST

/* Ranks that measure the link between them, all at once; each has its own thread. */
struct measuring {
    struct peers peers;
    pthread_t thread;
    struct link link;
    struct fault fault;
    bool done;
};

static void *measure_link(void *data)
{
    struct measuring *measuring = data;

    measuring->done = link_measure(&measuring->peers, &measuring->link, &measuring->fault);
    peers_close(&measuring->peers);
    return NULL;
}

static void measure_links(struct measuring *ranks, size_t count, unsigned long failing)
{
    struct peers_threads *threads = peers_threads_open(count);

    if (failing > 0)
        peers_threads_fail(threads, count - 1, failing);
    for (size_t i = 0; i < count; i++) {
        ranks[i] = (struct measuring){.peers = peers_threads_peers(threads, i)};
        fixture_require(pthread_create(&ranks[i].thread, NULL, measure_link, &ranks[i]) == 0, "a thread");
    }
    for (size_t i = 0; i < count; i++)
        pthread_join(ranks[i].thread, NULL);
    peers_threads_close(threads);
}

START_TEST(links_are_measured)
{
    struct measuring ranks[4];

    for (size_t count = 2; count <= LENGTH(ranks); count++) {
        measure_links(ranks, count, 0);
        for (size_t i = 0; i < count; i++) {
            ck_assert_msg(ranks[i].done, "%s", ranks[i].fault.text);
            ck_assert(ranks[i].link.bytes_per_second > 0.0 && ranks[i].link.bytes_per_second < 1e13);
            ck_assert(ranks[i].link.seconds > 0.0 && ranks[i].link.seconds < 1.0);
            ck_assert_mem_eq(&ranks[i].link, &ranks[0].link, sizeof(struct link));
        }
    }
    for (unsigned long call = 1; call <= 9; call++) {
        measure_links(ranks, 3, call);
        ck_assert(!ranks[2].done && ranks[2].fault.text[0] != '\0');
    }
}
END_TEST

/* Ranks that bring rank 0 what they have: nothing, and more and less than it takes at once. */
static const size_t brought[] = {3, 0, 700 << 10, 700 << 10, 3 << 20, 1, 0};

struct bringing {
    struct peers peers;
    pthread_t thread;
    size_t taken, refused; /* how many rank 0 has taken, and which it does not take */
    struct fault fault;
    bool done;
};

static bool take_brought(void *data, const void *bytes, size_t size, struct fault *fault)
{
    struct bringing *bringing = data;
    const unsigned char *each = bytes;
    size_t from = bringing->taken++;

    ck_assert_uint_lt(from, LENGTH(brought));
    ck_assert_uint_eq(size, brought[from]);
    for (size_t i = 0; i < size; i += 997)
        ck_assert_uint_eq(each[i], (unsigned char)(from + i));
    return from != bringing->refused || fault_raise(fault, STATUS_IO, "no room");
}

static void *bring(void *data)
{
    struct bringing *bringing = data;
    size_t own = bringing->peers.place.index;
    unsigned char *bytes = fixture_memory(brought[own] + 1, 1);

    for (size_t i = 0; i < brought[own]; i++)
        bytes[i] = (unsigned char)(own + i);
    bringing->done =
        peers_gather(&bringing->peers, bytes, brought[own], take_brought, bringing, &bringing->fault);
    peers_close(&bringing->peers);
    free(bytes);
    return NULL;
}

static void check_gathering(size_t refused)
{
    struct bringing ranks[LENGTH(brought)];
    struct peers_threads *threads = peers_threads_open(LENGTH(brought));

    for (size_t i = 0; i < LENGTH(brought); i++) {
        ranks[i] = (struct bringing){.peers = peers_threads_peers(threads, i), .refused = refused};
        fixture_require(pthread_create(&ranks[i].thread, NULL, bring, &ranks[i]) == 0, "a thread");
    }
    for (size_t i = 0; i < LENGTH(brought); i++)
        pthread_join(ranks[i].thread, NULL);
    peers_threads_close(threads);
    ck_assert_uint_eq(ranks[0].taken, refused < LENGTH(brought) ? refused + 1 : LENGTH(brought));
    for (size_t i = 0; i < LENGTH(brought); i++) {
        ck_assert_int_eq(ranks[i].done, refused == LENGTH(brought));
        if (!ranks[i].done)
            ck_assert_str_eq(ranks[i].fault.text, "rank 0 (here): no room");
    }
}

START_TEST(what_ranks_bring_comes_in_their_order)
{
    for (size_t refused = 0; refused <= LENGTH(brought); refused++)
        check_gathering(refused);
}
END_TEST

static unsigned long count_looks(const char *options)
{
    struct ranks_run run;
    unsigned long looks;

    ranks_run_begin(&run, options, 3, SPLIT_SHARES);
    ranks_run_make(&run);
    ck_assert_msg(run.ranks[0].done, "%s: %s", options, run.ranks[0].fault.text);
    looks = peers_threads_looks(run.threads);
    ranks_run_end(&run);
    return looks;
}

/* Some transports move no message unless they are called. */
START_TEST(messages_are_looked_at_while_processors_compute)
{
    ranks_run_fill(SAMPLE_U8, 1080);
    ck_assert_uint_ge(count_looks("-d 6,6,30 -t u8 -f laplace -f laplace"), 3);
    ck_assert_uint_eq(count_looks("-d 6,6,30 -t u8 -f laplace"), 0);
    ck_assert_uint_eq(count_looks("-d 36,2,15 -t u8 -f laplace -f laplace"), 0);
}
END_TEST

TCase *ranks_links_case(void)
{
    TCase *tests = tcase_create("links");

    tcase_add_test(tests, a_fast_link_lets_ranks_share);
    tcase_add_test(tests, links_are_measured);
    tcase_add_test(tests, what_ranks_bring_comes_in_their_order);
    tcase_add_test(tests, messages_are_looked_at_while_processors_compute);
    return tests;
}
