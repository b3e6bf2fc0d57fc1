/* The machine: how much memory it has for this process, and how large its caches are. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What control groups allow a process in bytes, and what they have left; 0 where nothing tells. */
struct machine_allowance {
    uint64_t limit, left;
};

/* The strictest of the process's groups and of those that they are in, as the files of /proc and /sys tell
   that stand below `root`: "" for this machine's own. */
struct machine_allowance machine_groups(const char *root);

/* What a process may take without asking: three quarters of the bytes that nobody needs now; 0 where nothing
 * tells. */
uint64_t machine_spare_memory(void);

/* All that the process may ever have, by the machine, its control groups and its limit on addresses; 0 where
   nothing tells. */
uint64_t machine_whole_memory(void);

/* Whether there is a limit on addresses (ulimit -v). */
bool machine_limits_addresses(void);

/* Bytes of the second-level cache of a core; 0 where nothing tells. */
size_t machine_near_cache(void);

#endif
