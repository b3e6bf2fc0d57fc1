/* The machine: how much memory it has for this process, and how large its caches are. */
#ifndef MEMORY_LIMITS_H
#define MEMORY_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What control groups allow a process in bytes, and what they have left; 0 where nothing tells. */
struct memory_limits {
    uint64_t limit, left;
};

/* The strictest of the process's groups and of those that they are in, as the files of /proc and /sys tell
   that stand below `root`: "" for this machine's own. */
struct memory_limits memory_limits_of_groups(const char *root);

/* What a process may take without asking: three quarters of the bytes that nobody needs now; 0 where nothing
 * tells. */
uint64_t memory_limits_spare(void);

/* All that the process may ever have, by the machine, its control groups and its limit on addresses; 0 where
   nothing tells. */
uint64_t memory_limits_whole(void);

/* Whether there is a limit on addresses (ulimit -v). */
bool memory_limits_addresses(void);

/* Bytes of the second-level cache of a core; 0 where nothing tells. */
size_t memory_limits_l2_cache(void);

#endif
