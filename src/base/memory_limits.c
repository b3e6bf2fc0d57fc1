/* How much memory this process may take: the least of what the machine has, what its control groups allow,
   and what its limit on addresses leaves. Control groups come in two versions, with different files; a group
   is limited by all of its parents, too, so each folder up to the root is asked. */
#include "memory_limits.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PATH_BYTES 4096

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

/* A kind of control groups: the controller that its line in /proc/self/cgroup names, none where the kernel
   has one hierarchy for all; the folder of them all; and where a group's folder tells of its memory. */
static const struct accounting {
    const char *controller, *folder, *limit, *usage, *idle;
} accountings[] = {
    {"", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file "},
};

#define ACCOUNTINGS (sizeof accountings / sizeof *accountings)

/* Whether a name stands between the commas of a list. */
static bool lists(const char *list, const char *name)
{
    size_t length = strlen(name);

    while (strncmp(list, name, length) != 0 || (list[length] != ',' && list[length] != '\0')) {
        list = strchr(list, ',');
        if (list == NULL)
            return false;
        list++;
    }
    return true;
}

/* The path in a line "number:controllers:path", if it is about the controller; the line is overwritten. */
static const char *path_in(char *line, const char *controller)
{
    char *controllers = strchr(line, ':'), *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');

    if (path == NULL)
        return NULL;
    *path = '\0';
    path[1 + strcspn(path + 1, "\n")] = '\0';
    return lists(controllers + 1, controller) ? path + 1 : NULL;
}

/* The folder of the control group that the process is in; false where it is in none of this kind. */
static bool find_group(const struct accounting *accounting, const char *root, char *folder, size_t size)
{
    char line[PATH_BYTES], file_name[PATH_BYTES];
    bool found = false;
    FILE *file;

    snprintf(file_name, sizeof file_name, "%s/proc/self/cgroup", root);
    file = fopen(file_name, "re");
    if (file == NULL)
        return false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        const char *path = path_in(line, accounting->controller);
        found =
            path != NULL && (size_t)snprintf(folder, size, "%s%s%s", root, accounting->folder, path) < size;
    }
    fclose(file);
    return found;
}

static uint64_t number_of_group(const char *folder, const char *name, const char *label)
{
    char path[PATH_BYTES + 40];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return number_in(path, label);
}

/* Narrow the limits by those of a group. Cached files that it does not use would give way, so they do not
   count as taken. */
static void heed_group(const struct accounting *accounting, const char *folder,
                       struct memory_limits *allowance)
{
    uint64_t limit = number_of_group(folder, accounting->limit, "");
    uint64_t usage = number_of_group(folder, accounting->usage, "");
    uint64_t idle = number_of_group(folder, "memory.stat", accounting->idle);
    uint64_t taken = usage > idle ? usage - idle : 0;

    /* A group without a limit says "max", which is no number. */
    if (limit == 0)
        return;
    allowance->limit = lesser(allowance->limit, limit);
    /* At least 1, since 0 stands for no limit. */
    allowance->left = lesser(allowance->left, limit > taken ? limit - taken : 1);
}

struct memory_limits memory_limits_of_groups(const char *root)
{
    struct memory_limits allowance = {0, 0};
    char folder[PATH_BYTES];

    for (size_t i = 0; i < ACCOUNTINGS; i++) {
        if (!find_group(&accountings[i], root, folder, sizeof folder))
            continue;
        /* The limit of a group holds for all groups below it, so those above the process's own are asked as
           well. */
        while (strlen(folder) >= strlen(root) + strlen(accountings[i].folder)) {
            heed_group(&accountings[i], folder, &allowance);
            *strrchr(folder, '/') = '\0';
        }
    }
    return allowance;
}

bool memory_limits_addresses(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* Bytes that the limit on addresses leaves. */
static uint64_t addresses_left(void)
{
    uint64_t taken = number_in("/proc/self/statm", "") * (uint64_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;

    if (!memory_limits_addresses() || getrlimit(RLIMIT_AS, &limit) != 0)
        return 0;
    return limit.rlim_cur > taken ? limit.rlim_cur - taken : 1;
}

uint64_t memory_limits_whole(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;

    return lesser(lesser(bytes, memory_limits_of_groups("").limit), addresses_left());
}

uint64_t memory_limits_spare(void)
{
    uint64_t free = lesser(number_in("/proc/meminfo", "MemAvailable:") * 1024, memory_limits_whole());

    free = lesser(free, memory_limits_of_groups("").left);
    return free > 0 && free < 4 ? 1 : free / 4 * 3;
}

size_t memory_limits_l2_cache(void)
{
#ifdef _SC_LEVEL2_CACHE_SIZE
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);

    return bytes > 0 ? (size_t)bytes : 0;
#else
    return 0;
#endif
}
