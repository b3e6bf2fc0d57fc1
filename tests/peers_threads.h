/* Peers that are threads of one process, for tests: what each call does, and what becomes of a run if one
 * fails. */
#ifndef PEERS_THREADS_H
#define PEERS_THREADS_H

#include "peers/peers.h"

#include <stdbool.h>
#include <stddef.h>

struct peers_threads;

struct peers_threads *peers_threads_open(size_t count);

/* The ranks' ends of it, one each. */
struct peers peers_threads_peers(struct peers_threads *threads, size_t index);

/* Let a call of a rank fail, counted from 1 on, teams' calls included: from then on nobody reaches anybody.
 */
void peers_threads_fail(struct peers_threads *threads, size_t index, unsigned long call);

/* Put so many of them on each node. If this is not called, all are on one. */
void peers_threads_part(struct peers_threads *threads, size_t together);

/* Let a rank have no memory for a team. */
void peers_threads_lack(struct peers_threads *threads, size_t index);

/* Whether that call came. */
bool peers_threads_have_failed(const struct peers_threads *threads);

/* How often ranks looked at a trade while they computed. */
unsigned long peers_threads_looks(const struct peers_threads *threads);

/* The most bytes in which a rank had planes on their way to others: memory that others see, and messages. */
size_t peers_threads_most_bytes(const struct peers_threads *threads);

/* Once all ranks have closed theirs; teams have to be closed by then, and no message may be left. */
void peers_threads_close(struct peers_threads *threads);

#endif
