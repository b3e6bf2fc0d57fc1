/* A journal of the calls that put files and names on the disk, for tests, and what a power cut leaves of
 * them. */
#include "journal.h"

#include "base/temp_cleanup.h"
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES_MOST  1000
#define UNSYNCED_MOST 16

enum kind { KIND_SYNC, KIND_NAME };

struct entry {
    enum kind kind;
    uint64_t folder, inode;
    char name[64];
    uint64_t hash; /* of what is in a file that is synced */
};

struct journal {
    atomic_size_t count, names, syncs;
    size_t listed;
    struct entry entries[ENTRIES_MOST];
};

/* Calls have no other way to reach it. */
static struct journal *journal;

static struct entry *next_entry(void)
{
    size_t place = atomic_fetch_add(&journal->count, 1);

    fixture_require(place < ENTRIES_MOST, "the journal");
    return &journal->entries[place];
}

static uint64_t hash_file(int descriptor)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    unsigned char bytes[4096];
    ssize_t got;

    for (off_t at = 0; (got = pread(descriptor, bytes, sizeof bytes, at)) > 0; at += got) {
        for (ssize_t i = 0; i < got; i++)
            hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    }
    fixture_require(got == 0, "a file");
    return hash;
}

static uint64_t inode_of(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 ? info.st_ino : 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static uint64_t folder_of(const char *path)
{
    char folder[256];

    snprintf(folder, sizeof folder, "./%.*s", (int)(base_name(path) - path), path);
    return inode_of(folder);
}

static void note_name(const char *path)
{
    struct entry *entry = next_entry();

    *entry = (struct entry){.kind = KIND_NAME, .folder = folder_of(path), .inode = inode_of(path)};
    snprintf(entry->name, sizeof entry->name, "%s", base_name(path));
}

static void note_sync(int descriptor)
{
    struct entry *entry = next_entry();
    struct stat info;

    fixture_require(fstat(descriptor, &info) == 0, "a descriptor");
    *entry = (struct entry){.kind = KIND_SYNC, .inode = info.st_ino};
    if (!S_ISDIR(info.st_mode))
        entry->hash = hash_file(descriptor);
}

/* ---- calls ---- */

static struct journal_trouble trouble;

/* Whether the call is to fail. */
static bool come_in_between(void)
{
    size_t call = ++journal->names;

    if (call == 1)
        temp_cleanup_list(NULL, 0, &journal->listed);
    if (call == trouble.call && trouble.signal != 0)
        kill(getpid(), trouble.signal);
    return trouble.signal == 0 &&
           (call == trouble.call || (trouble.lasting && call > trouble.call && trouble.call > 0));
}

static int fail(int reason)
{
    errno = reason;
    return -1;
}

/* These stand before those of the library. */
int fsync(int descriptor)
{
    int result;

    if (journal != NULL && ++journal->syncs == trouble.sync)
        return fail(EIO);
    result = (int)syscall(SYS_fsync, descriptor);
    if (journal != NULL && result == 0)
        note_sync(descriptor);
    return result;
}

int rename(const char *from, const char *to)
{
    int result;

    if (journal != NULL && come_in_between())
        return fail(EIO);
    result = renameat(AT_FDCWD, from, AT_FDCWD, to);
    if (journal != NULL && result == 0)
        note_name(to);
    return result;
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    int result;

    if (journal != NULL && trouble.no_exchange)
        return fail(EINVAL);
    if (journal != NULL && come_in_between())
        return fail(EIO);
    result = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    if (journal != NULL && result == 0)
        note_name(to);
    return result;
}

int link(const char *from, const char *to)
{
    if (journal != NULL && trouble.no_links)
        return fail(EPERM);
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

void journal_bring(struct journal_trouble coming)
{
    trouble = coming;
}

size_t journal_temp_files(void)
{
    return journal->listed;
}

size_t journal_names(void)
{
    return journal->names;
}

void journal_begin(void)
{
    journal = mmap(NULL, sizeof *journal, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fixture_require(journal != MAP_FAILED, "the journal");
}

void journal_end(void)
{
    munmap(journal, sizeof *journal);
    journal = NULL;
    trouble = (struct journal_trouble){.call = 0};
}

size_t journal_count(void)
{
    return atomic_load(&journal->count);
}

/* ---- power cuts ---- */

struct journal_file journal_before(const char *path, int *descriptor)
{
    struct journal_file file = {.path = path, .folder = folder_of(path), .old = inode_of(path)};

    *descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (*descriptor >= 0)
        file.old_hash = hash_file(*descriptor);
    return file;
}

void journal_after(struct journal_file *file, int descriptor)
{
    int now = open(file->path, O_RDONLY | O_CLOEXEC);

    fixture_require(now >= 0, file->path);
    file->new_hash = hash_file(now);
    close(now);
    if (descriptor >= 0)
        close(descriptor);
}

static bool is_synced(uint64_t inode, size_t from, size_t to)
{
    while (from < to && (journal->entries[from].kind != KIND_SYNC || journal->entries[from].inode != inode))
        from++;
    return from < to;
}

/* Of the changes that are not synced, those whose bits are set are there. */
static uint64_t find_inode(const struct journal_file *file, size_t calls, unsigned long there,
                           size_t *unsynced)
{
    uint64_t inode = file->old;

    *unsynced = 0;
    for (size_t i = 0; i < calls; i++) {
        const struct entry *entry = &journal->entries[i];
        if (entry->kind != KIND_NAME || entry->folder != file->folder)
            continue;
        if (!is_synced(entry->folder, i, calls) && (there >> (*unsynced)++ & 1) == 0)
            continue;
        if (strcmp(entry->name, base_name(file->path)) == 0)
            inode = entry->inode;
    }
    fixture_require(*unsynced <= UNSYNCED_MOST, "changes of names");
    return inode;
}

static bool holds(uint64_t inode, size_t calls, uint64_t hash)
{
    while (calls-- > 0) {
        const struct entry *entry = &journal->entries[calls];
        if (entry->kind == KIND_SYNC && entry->inode == inode)
            return entry->hash == hash;
    }
    return false;
}

bool journal_is_whole(const struct journal_file *file, size_t calls, bool old_allowed)
{
    size_t unsynced = 0;

    for (unsigned long there = 0; there >> unsynced == 0; there++) {
        uint64_t inode = find_inode(file, calls, there, &unsynced);
        bool old = inode == file->old;
        if (old ? !old_allowed : !holds(inode, calls, file->new_hash))
            return false;
    }
    return true;
}

size_t journal_syncs(const char *path)
{
    uint64_t inode = inode_of(path);
    size_t syncs = 0;

    for (size_t i = 0; i < journal_count(); i++) {
        const struct entry *entry = &journal->entries[i];
        if (entry->kind == KIND_NAME && entry->inode == inode)
            return syncs;
        syncs += entry->kind == KIND_SYNC && entry->inode == inode;
    }
    return 0;
}
