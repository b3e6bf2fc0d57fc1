/* Peers: the processes, or ranks, that make a run together.

   All of them call the same functions in the same order. A rank in which something fails keeps to that order
   up to the point where all agree next (peers_agree); from there, all fail with the fault of the first.
   Meanwhile it warns the others, who look for warnings while they work (peers_go_on), and come to that point
   sooner. If the transport itself fails, there is nothing to agree on: the call returns false, and the
   launcher ends the ranks.

   `struct peers_kind` is the transport: MPI (peers_mpi.c), or threads of a test (tests/peers_threads.c).
   Nothing here knows of samples or planes. */
#ifndef PEERS_H
#define PEERS_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEERS_NODE_MOST 64

/* Where a rank is among all of them. */
struct peers_place {
    size_t index, count;        /* counted from 0 */
    size_t local, locals;       /* its index among those on its node, and how many these are */
    size_t sharers;             /* ranks, itself among them, that may run on the same processors */
    size_t processors;          /* processors that all of its sharers may run on */
    size_t available;           /* processors of the node that whoever started them may run on */
    char node[PEERS_NODE_MOST]; /* the name of the node */
};

/* A message that goes to another one, or comes from it. One of no bytes is a sign. */
struct peers_message {
    size_t peer;
    bool incoming;
    void *bytes;
    size_t size;
};

/* How they reach each other. What returns false has filled the fault: the others are out of reach from then
 * on. */
struct peers_kind {
    /* All together: the least of their values. */
    bool (*min)(void *state, uint64_t *value, struct fault *fault);

    /* All together: the bytes of one of them, at all. */
    bool (*broadcast)(void *state, size_t from, void *bytes, size_t size, struct fault *fault);

    /* All together: the values of all of them, at all. And what each has, sizes[i] bytes of rank i, at rank 0
       in `into`, one after another. */
    bool (*list)(void *state, uint64_t own, uint64_t *values, struct fault *fault);
    bool (*gather)(void *state, const void *bytes, const uint64_t *sizes, void *into, struct fault *fault);

    /* Let this process run on the processors of all ranks of its node, or on its own again. NULL: it has no
       processors of its own. */
    void (*take_processors)(void *state, bool of_all);

    /* Messages between two of them, both ways and all at once, in an order that both have. start_messages
       starts them, and the bytes stay where they are. wait_for_messages waits until those that come are there
       and those that go are read. Some transports move a message only while they are called, so whoever
       computes meanwhile calls test_messages, which says whether all is done. A failure shows at the end. */
    bool (*start_messages)(void *state, const struct peers_message *messages, size_t count,
                           struct fault *fault);
    bool (*test_messages)(void *state);
    bool (*wait_for_messages)(void *state, struct fault *fault);

    /* All together: get memory for this rank that the others on its node see as well: bytes[i], in whole
       pages, for each rank i of these. seen[i] is the memory of rank i, or NULL if the rank is on another
       node. If a node has no such memory, it is NULL for all of its ranks. All together again: give it
       back. */
    bool (*share)(void *state, const size_t *bytes, unsigned char **seen, void **memory, struct fault *fault);
    void (*unshare)(void *state, void *memory);

    /* Let all others know that it is over, which may not reach them at once; and whether somebody did so.
       Those who ask, or wait for others, pass it on. All together: forget it. */
    void (*warn)(void *state);
    bool (*is_warned)(void *state);
    bool (*clear_warnings)(void *state, struct fault *fault);

    /* All together: make a team of the first of them, which is to be closed. NULL for the others, and for
       one that lacks the memory; that one fills the fault, and is not done. */
    bool (*team)(void *state, size_t count, void **team, bool *done, struct fault *fault);
    void (*close)(void *state);
};

/* NULL in its place: the process is alone, as it is where there is one rank. */
struct peers {
    const struct peers_kind *kind;
    void *state;
    struct peers_place place;
    bool heard; /* another rank has given up */
};

/* Bring the processes of a program together, before anything else. Where that fails, `silent` says whether
   another process tells why. */
typedef bool peers_opener(struct peers *peers, bool *silent, struct fault *fault);

/* How many ranks there are, and which of them this is; without peers (NULL) one, and the first. */
size_t peers_count(const struct peers *peers);
size_t peers_index(const struct peers *peers);

/* Whether it is the one that speaks for all: rank 0. */
bool peers_lead(const struct peers *peers);

/* All together: true if all have done what they had to. Else false on every rank, with the fault of the first
   that failed, which names the rank unless all failed. A rank that fails may come early: the others are
   warned. */
bool peers_agree(struct peers *peers, bool done, struct fault *fault);

/* Before anything else is exchanged, all together: false on every rank if one has another version than rank
   0, or structs of another layout, for which a number stands. */
bool peers_compare_builds(struct peers *peers, const char *version, uint64_t layout, struct fault *fault);

/* Let this one run on the processors of all ranks of its node while the others are idle, or on its own again.
 */
void peers_take_processors(const struct peers *peers, bool of_all);

/* While there is work between two agreements: false once another rank has given up. */
bool peers_go_on(struct peers *peers, struct fault *fault);

/* All together: whether rank 0 is done; if not, all fail with its fault. */
bool peers_follow(struct peers *peers, bool done, struct fault *fault);

/* All together: the least of their values. */
bool peers_min(struct peers *peers, uint64_t *value, struct fault *fault);

/* All together: every rank gets the bytes of rank 0. */
bool peers_broadcast(struct peers *peers, void *bytes, size_t size, struct fault *fault);

/* Start messages to and from other ranks, look after them, and wait for them (peers_kind). */
bool peers_start_messages(struct peers *peers, const struct peers_message *messages, size_t count,
                          struct fault *fault);
bool peers_test_messages(struct peers *peers);
bool peers_wait_for_messages(struct peers *peers, struct fault *fault);

/* Get memory that ranks of a node see, and give it back (peers_kind). */
bool peers_share(struct peers *peers, const size_t *bytes, unsigned char **seen, void **memory,
                 struct fault *fault);
void peers_unshare(struct peers *peers, void *memory);

/* All together: rank 0 takes what each of them brings, rank by rank. It has at most 1 MiB of it in memory, or
   the bytes of one rank if these are more, one behind the other and so without alignment. All agree on
   whether all of it was taken. */
typedef bool peers_taker(void *data, const void *bytes, size_t size, struct fault *fault);
bool peers_gather(struct peers *peers, const void *bytes, size_t size, peers_taker *take, void *data,
                  struct fault *fault);

/* All together: form a team of the first `count` ranks, to be closed with peers_close. On the other ranks its
   kind is NULL. */
bool peers_team(struct peers *peers, size_t count, struct peers *team, struct fault *fault);
void peers_close(struct peers *peers);

/* Tasks that a launcher of parallel programs has started, as it tells in the environment, and the number of
   this one; 1 where nothing tells. */
uint64_t peers_launched(uint64_t *index);

/* Whether a launcher of MPI has started one task, and no other launcher in the environment says more: a
   launcher may itself be a task of another one. */
bool peers_launched_alone(void);

/* In peers_mpi.c, which is linked to voxfilt-mpi alone: start MPI, which may take words out of the command
   line, unless the only task of a launcher asks. Tasks that a launcher has started and MPI does not bring
   together are refused; of these, all but the first are silent. */
peers_opener peers_mpi_open;

#endif
