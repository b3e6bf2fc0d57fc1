/* What launchers of parallel programs tell a task through its environment. */
#ifndef LAUNCHER_H
#define LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

/* Tasks that were started, and the number of this one; 1 where nothing tells. */
uint64_t launcher_count(uint64_t *index);

/* Whether a launcher of MPI has started one task, and no other launcher in the environment says more: a
   launcher may itself be a task of another one. */
bool launcher_started_one(void);

#endif
