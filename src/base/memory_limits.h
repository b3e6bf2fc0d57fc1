/* How much memory this process may take, and how large a core's cache is. */
#ifndef MEMORY_LIMITS_H
#define MEMORY_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that control groups allow a process, and bytes that they have left; 0 if unknown. */
struct memory_limits {
    uint64_t limit, left;
};

/* The strictest limits of the process's control groups and of their parents, read from /proc and /sys below
   `root`: "" for this machine's own. */
struct memory_limits memory_limits_of_groups(const char *root);

/* Bytes that the process may take without asking: three quarters of what is free; 0 if unknown. */
uint64_t memory_limits_spare(void);

/* The most bytes that the process may ever have, by the machine, its control groups and its limit on
   addresses; 0 if unknown. */
uint64_t memory_limits_whole(void);

/* Whether there is a limit on addresses (ulimit -v). */
bool memory_limits_addresses(void);

/* Bytes of the second-level cache of a core; 0 if unknown. */
size_t memory_limits_l2_cache(void);

#endif
