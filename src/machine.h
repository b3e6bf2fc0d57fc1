/* The machine: how much memory it has for this process. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes that nobody needs now, and all that the process may ever have, by the machine, its control groups and its limit
   on addresses; 0 where nothing tells. */
uint64_t machine_free_memory(void);
uint64_t machine_whole_memory(void);

/* Whether there is a limit on addresses (ulimit -v). */
bool machine_limits_addresses(void);

#endif
