/* The machine: how much memory it has for this process. */
#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CONTROL_GROUPS "/sys/fs/cgroup"
#define PATH_BYTES     4096

/* The lesser of two numbers of which 0 says nothing. */
static uint64_t lesser(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

/* The number that stands behind `label` at the start of a line of a file; 0 where there is none. */
static uint64_t number_in(const char *path, const char *label)
{
    FILE *file = fopen(path, "re");
    unsigned long long number = 0;
    char line[256];

    if (file == NULL)
        return 0;
    while (number == 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, label, strlen(label)) == 0 && sscanf(line + strlen(label), "%llu", &number) != 1)
            number = 0;
    }
    fclose(file);
    return number;
}

/* The control group that the process is in, as a folder; false where it is in none of the unified kind. */
static bool find_group(char *folder, size_t size)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[PATH_BYTES];
    bool found = false;

    if (file == NULL)
        return false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        found = strncmp(line, "0::", 3) == 0 &&
                (size_t)snprintf(folder, size, CONTROL_GROUPS "%s", line + 3) < size;
    }
    fclose(file);
    return found;
}

/* The strictest limit of the group and of those that it is in. */
static uint64_t group_limit(void)
{
    char folder[PATH_BYTES], path[PATH_BYTES + 16];
    uint64_t limit = 0;

    if (!find_group(folder, sizeof folder))
        return 0;
    while (strlen(folder) >= strlen(CONTROL_GROUPS)) {
        snprintf(path, sizeof path, "%s/memory.max", folder);
        limit = lesser(limit, number_in(path, ""));
        *strrchr(folder, '/') = '\0';
    }
    return limit;
}

bool machine_limits_addresses(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* What the limit on addresses leaves. */
static uint64_t addresses_left(void)
{
    uint64_t taken = number_in("/proc/self/statm", "") * (uint64_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;

    if (!machine_limits_addresses() || getrlimit(RLIMIT_AS, &limit) != 0)
        return 0;
    return limit.rlim_cur > taken ? limit.rlim_cur - taken : 1;
}

uint64_t machine_whole_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;

    return lesser(lesser(bytes, group_limit()), addresses_left());
}

uint64_t machine_spare_memory(void)
{
    uint64_t free = lesser(number_in("/proc/meminfo", "MemAvailable:") * 1024, machine_whole_memory());

    return free / 4 * 3;
}
