/* What launchers of parallel programs tell a task through its environment. */
#include "launcher.h"

#include "base/number.h"

#include <stdlib.h>

/* The first that is set says how many tasks there are. */
static const struct launcher {
    const char *count, *index;
    bool of_mpi;
} launchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", true},
                 {"PMI_SIZE", "PMI_RANK", true},
                 {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", false}};

#define LAUNCHER_COUNT (sizeof launchers / sizeof *launchers)

static bool read_number(const char *name, uint64_t *number)
{
    const char *text = getenv(name);

    return text != NULL && number_parse_count(text, number);
}

uint64_t launcher_count(uint64_t *index)
{
    uint64_t count;

    *index = 0;
    for (size_t i = 0; i < LAUNCHER_COUNT; i++) {
        if (!read_number(launchers[i].count, &count))
            continue;
        if (!read_number(launchers[i].index, index))
            *index = 0;
        return count;
    }
    return 1;
}

bool launcher_started_one(void)
{
    bool told = false;
    uint64_t count;

    for (size_t i = 0; i < LAUNCHER_COUNT; i++) {
        if (!read_number(launchers[i].count, &count))
            continue;
        if (count != 1)
            return false;
        told = told || launchers[i].of_mpi;
    }
    return told;
}
