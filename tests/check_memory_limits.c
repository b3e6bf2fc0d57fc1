/* Tests of the machine: what control groups leave, as the files of /proc and /sys tell in many ways. */
#include "base/memory_limits.h"
#include "assertions.h"
#include "fixture.h"
#include "harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES    8
#define PATIENCE 30 /* seconds */

/* What a process in the lines of `cgroup` finds below the root of all files, and what it makes of that. */
static const struct surroundings {
    const char *name, *cgroup;
    struct {
        const char *path, *text;
    } files[FILES];
    struct memory_limits wanted;
} surroundings[] = {
    {"nothing", NULL, {{NULL, NULL}}, {0, 0}},
    {"no limit", "0::/a\n", {{"sys/fs/cgroup/a/memory.max", "max\n"}}, {0, 0}},
    {"one hierarchy",
     "0::/a\n",
     {{"sys/fs/cgroup/a/memory.max", "1000\n"}, {"sys/fs/cgroup/a/memory.current", "300\n"}},
     {1000, 700}},
    {"idle files give way",
     "0::/a\n",
     {{"sys/fs/cgroup/a/memory.max", "1000\n"},
      {"sys/fs/cgroup/a/memory.current", "900\n"},
      {"sys/fs/cgroup/a/memory.stat", "anon 100\nactive_file 500\ninactive_file 400\nslab 7\n"}},
     {1000, 500}},
    {"more idle than taken",
     "0::/a\n",
     {{"sys/fs/cgroup/a/memory.max", "1000\n"},
      {"sys/fs/cgroup/a/memory.current", "300\n"},
      {"sys/fs/cgroup/a/memory.stat", "inactive_file 400\n"}},
     {1000, 1000}},
    {"all taken",
     "0::/a\n",
     {{"sys/fs/cgroup/a/memory.max", "1000\n"}, {"sys/fs/cgroup/a/memory.current", "1001\n"}},
     {1000, 1}},
    {"a stricter group around",
     "0::/a/b/c\n",
     {{"sys/fs/cgroup/a/memory.max", "800\n"},
      {"sys/fs/cgroup/a/memory.current", "100\n"},
      {"sys/fs/cgroup/a/b/c/memory.max", "1000\n"},
      {"sys/fs/cgroup/a/b/c/memory.current", "50\n"}},
     {800, 700}},
    {"a fuller group around",
     "0::/a/b\n",
     {{"sys/fs/cgroup/a/memory.max", "5000\n"},
      {"sys/fs/cgroup/a/memory.current", "4900\n"},
      {"sys/fs/cgroup/a/b/memory.max", "1000\n"},
      {"sys/fs/cgroup/a/b/memory.current", "50\n"}},
     {1000, 100}},
    {"the group of all",
     "0::/\n",
     {{"sys/fs/cgroup/memory.max", "1000\n"}, {"sys/fs/cgroup/memory.current", "1\n"}},
     {1000, 999}},
    {"a group beside",
     "0::/a\n",
     {{"sys/fs/cgroup/b/memory.max", "1000\n"}, {"sys/fs/cgroup/ab/memory.max", "1000\n"}},
     {0, 0}},
    {"a hierarchy of its own",
     "3:cpu,cpuacct:/x\n4:memory:/a\n0::/x\n",
     {{"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000\n"},
      {"sys/fs/cgroup/memory/a/memory.usage_in_bytes", "600\n"},
      {"sys/fs/cgroup/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 200\n"}},
     {1000, 600}},
    {"controllers that share a hierarchy",
     "2:cpu,memory,pids:/a\n",
     {{"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000\n"}},
     {1000, 1000}},
    {"names that only look alike",
     "2:memory2,hugememory:/a\n1:name=x,0:/a\n10:pids:/:memory:/a\n",
     {{"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000\n"}, {"sys/fs/cgroup/a/memory.max", "1000\n"}},
     {0, 0}},
    {"both kinds, the stricter of each",
     "4:memory:/a\n0::/b\n",
     {{"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000\n"},
      {"sys/fs/cgroup/b/memory.max", "900\n"},
      {"sys/fs/cgroup/memory/a/memory.usage_in_bytes", "800\n"}},
     {900, 200}},
    {"lines without an end", "0:\n0\n\n4:memory", {{"sys/fs/cgroup/memory.max", "1000\n"}}, {0, 0}},
};

/* Make, or remove, the folders on the way to a file below the root. */
static void plant_folders(const char *path)
{
    char folder[256];

    for (const char *end = strchr(path, '/'); end != NULL; end = strchr(end + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(end - path), path);
        mkdir(folder, 0700);
    }
}

static void clear_folders(const char *path)
{
    char folder[256];

    snprintf(folder, sizeof folder, "%s", path);
    for (char *end = strrchr(folder, '/'); end != NULL; end = strrchr(folder, '/')) {
        *end = '\0';
        rmdir(folder);
    }
}

static void plant(const char *path, const char *text)
{
    plant_folders(path);
    file_fill(path, text, strlen(text));
}

static void clear(const char *path)
{
    unlink(path);
    clear_folders(path);
}

START_TEST(control_groups_are_heeded)
{
    const struct surroundings *around = &surroundings[_i];
    struct memory_limits allowance;

    if (around->cgroup != NULL)
        plant("proc/self/cgroup", around->cgroup);
    for (size_t i = 0; i < FILES && around->files[i].path != NULL; i++)
        plant(around->files[i].path, around->files[i].text);
    allowance = memory_limits_of_groups(".");
    for (size_t i = 0; i < FILES && around->files[i].path != NULL; i++)
        clear(around->files[i].path);
    clear("proc/self/cgroup");
    ck_assert_msg(allowance.limit == around->wanted.limit && allowance.left == around->wanted.left,
                  "%s: %llu, %llu left", around->name, (unsigned long long)allowance.limit,
                  (unsigned long long)allowance.left);
}
END_TEST

/* Addresses that this process has. */
static uint64_t addresses_taken(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long long pages = 0;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%llu", &pages), 1);
    fclose(file);
    return pages * (unsigned long long)sysconf(_SC_PAGESIZE);
}

START_TEST(a_limit_on_addresses_is_heeded)
{
    const uint64_t room = (uint64_t)64 << 20;
    uint64_t without = memory_limits_whole(), whole, spare;
    struct rlimit kept, limit;

    ck_assert(!memory_limits_addresses());
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &kept), 0);
    limit = (struct rlimit){.rlim_cur = (rlim_t)(addresses_taken() + room), .rlim_max = kept.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    whole = memory_limits_whole();
    spare = memory_limits_spare();
    ck_assert(memory_limits_addresses());
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &kept), 0);
    ck_assert_uint_gt(without, room);
    ck_assert_uint_le(whole, room);
    ck_assert_uint_ge(whole, room / 2);
    ck_assert_uint_le(spare, room / 4 * 3);
    ck_assert_uint_ge(spare, room / 4);
}
END_TEST

int main(void)
{
    TCase *machine = tcase_create("machine");

    tcase_add_loop_test(machine, control_groups_are_heeded, 0, LENGTH(surroundings));
    tcase_add_test(machine, a_limit_on_addresses_is_heeded);
    return harness_run("machine", &machine, 1, PATIENCE);
}
