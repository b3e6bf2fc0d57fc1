/* A journal of the calls that put files and names on the disk, for tests, and what a power cut leaves of
 * them. */
#ifndef JOURNAL_H
#define JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From now on the calls of this process, and of those that it forks, are noted; before, none is. */
void journal_begin(void);
void journal_end(void);

/* What comes in between: on the way to a name, the call of that number fails (so do all that follow it, if
   the trouble lasts), or the process gets a signal; 0: nothing does. And what the file system cannot do. */
struct journal_trouble {
    size_t call, sync; /* of those that sync, that of this number fails */
    int signal;
    bool lasting, no_exchange, no_links;
};

/* From the next journal on until it ends. */
void journal_bring(struct journal_trouble trouble);

/* Calls that were to change a name so far, and the files that a signal would have removed at the first. */
size_t journal_names(void);
size_t journal_temp_files(void);

/* Calls so far. */
size_t journal_count(void);

/* How often a file had been synced when it got its name; 0 as well if it never got it. */
size_t journal_syncs(const char *path);

/* A file whose fate is looked at. */
struct journal_file {
    const char *path;
    uint64_t folder, old, old_hash; /* what was there before; 0: nothing */
    uint64_t new_hash;
};

/* Before the calls, and after them. The file that is there before stays open until then, so that no other one
   gets its inode. */
struct journal_file journal_before(const char *path, int *descriptor);
void journal_after(struct journal_file *file, int descriptor);

/* Power cuts after so many calls: data is there if it was synced, and of the names that were changed since
   their folder was synced any may be there. Whether the file is always as it was before, where that is
   allowed, or as it is after. */
bool journal_is_whole(const struct journal_file *file, size_t calls, bool old_allowed);

#endif
