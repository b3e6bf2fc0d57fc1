/* Pools: threads that share a loop with their caller, or work beside it. In between they sleep, so that
   whoever reads and writes files meanwhile has the processors. */
#ifndef POOL_H
#define POOL_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

struct pool;

/* Stacks as large as that of the program, for work that any other thread may do, too; or small ones, which
   take less from what ulimit -v leaves for data. */
enum pool_stacks { POOL_FULL_STACKS, POOL_SMALL_STACKS };

/* For up to so many threads beside the caller, of which no more start than are called for. */
bool pool_create(struct pool **pool, unsigned threads, enum pool_stacks stacks, struct fault *fault);

/* With nothing under way; NULL is fine. */
void pool_destroy(struct pool *pool);

/* Turns first to first + count − 1, by one member: 0 is the caller, 1 and up are threads. */
typedef void pool_work(void *context, size_t first, size_t count, unsigned member);

/* All turns of a loop, `together` of them at a time, by the caller and members − 1 threads: who is free takes
   the next ones. Threads that cannot be had are not missed. */
void pool_share(struct pool *pool, unsigned members, size_t turns, size_t together, pool_work *work,
                void *context);

/* One turn for each of so many threads, beside the caller, until it joins them. Returns how many of them can
   be had. */
unsigned pool_start(struct pool *pool, unsigned threads, pool_work *work, void *context);

/* Wait until every turn is over; without one under way it returns at once. */
void pool_join(struct pool *pool);

/* The same, but wait for so long at most; whether every turn is over. */
bool pool_join_within(struct pool *pool, unsigned microseconds);

#endif
