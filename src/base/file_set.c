/* Sets of output files, which get their names together: either all do, or none. First every file is
   completed, and with
   --sync every folder is opened, so that whatever can fail has failed while all is as before. Then, with
   fatal signals held off, each file takes its name, and the file that had it keeps another one for the time
   being (naming.c). If one fails, the names before it are given back in reverse order. At the end folders are
   synced and the old files removed. */
#include "file_set.h"

#include "fd_io.h"
#include "temp_cleanup.h"
#include "mem.h"
#include "naming.h"
#include "path.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

bool file_set_add(struct file_set *set, struct file_out *file, struct fault *fault)
{
    struct file_set_member *members =
        mem_grow(set->members, set->count, &set->capacity, sizeof *members, "the outputs", fault);

    if (members == NULL)
        return false;
    set->members = members;
    members[set->count++] = (struct file_set_member){.file = file, .folder = -1};
    return true;
}

static bool complete(const struct file_set *set, struct fault *fault)
{
    for (size_t i = 0; i < set->count; i++) {
        if (!file_out_complete(set->members[i].file, fault))
            return false;
    }
    return true;
}

/* NULL of a file that is written in place. */
static struct naming *naming_of(const struct file_set *set, size_t index)
{
    return file_out_naming(set->members[index].file);
}

/* ---- folders ---- */

/* Files in one folder follow each other mostly: then the folder is opened for the first of them alone. */
static bool needs_folder(const struct file_set *set, size_t index)
{
    const struct naming *naming = naming_of(set, index), *last = index > 0 ? naming_of(set, index - 1) : NULL;

    return naming != NULL && file_out_is_synced(set->members[index].file) &&
           (last == NULL || !path_same_folder(naming->target, last->target));
}

/* Before any name changes, so that a folder that cannot be opened leaves all as it is. */
static bool open_folders(struct file_set *set, struct fault *fault)
{
    for (size_t i = 0; i < set->count; i++) {
        struct file_set_member *member = &set->members[i];
        if (!needs_folder(set, i))
            continue;
        member->folder = path_open_folder(naming_of(set, i)->target);
        if (member->folder < 0)
            return fault_set_for(fault, STATUS_IO, file_out_name(member->file),
                                 "its folder cannot be opened for --sync: %s", strerror(errno));
    }
    return true;
}

static bool sync_folders(const struct file_set *set, struct fault *fault)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct file_set_member *member = &set->members[i];
        if (member->folder >= 0 && !fd_sync(member->folder))
            return fault_set_for(fault, STATUS_IO, file_out_name(member->file),
                                 "written, but its name may not be on the disk: %s", strerror(errno));
    }
    return true;
}

/* ---- names ---- */

/* Tell of one of those that stay new, and where the file is that it replaces. */
static void add_new(struct fault *fault, const char *name, const struct naming *naming, bool first)
{
    bool stranded = naming->old == NAMING_STRANDED;

    diag_append(fault->text, sizeof fault->text, "%s%s%s%s%s", first ? "; but these files are new: " : ", ",
                name, stranded ? " (the old one is " : "", stranded ? naming->temporary : "",
                stranded ? ")" : "");
}

/* Give the names of the first `count` files back, last first, and tell which of them could not be. */
static void give_back(const struct file_set *set, size_t count, struct fault *fault)
{
    bool first = true;

    while (count-- > 0) {
        struct naming *naming = naming_of(set, count);
        if (naming == NULL || naming_give_back(naming))
            continue;
        add_new(fault, file_out_name(set->members[count].file), naming, first);
        first = false;
    }
}

/* The last of them need not keep what it replaces: nothing can fail any more. */
static bool take_names(const struct file_set *set, struct fault *fault)
{
    for (size_t i = 0; i < set->count; i++) {
        struct naming *naming = naming_of(set, i);
        if (naming != NULL && !naming_take(naming, i + 1 < set->count)) {
            fault_set_for(fault, STATUS_IO, file_out_name(set->members[i].file), "%s", strerror(errno));
            give_back(set, i, fault);
            return false;
        }
    }
    return true;
}

/* Take all names; then sync folders, and remove what was replaced even if that fails. */
static bool commit(const struct file_set *set, struct fault *fault)
{
    sigset_t before;
    bool done;

    temp_cleanup_hold_signals(&before);
    done = take_names(set, fault);
    temp_cleanup_release_signals(&before);
    if (!done)
        return false;
    done = sync_folders(set, fault);
    for (size_t i = 0; i < set->count; i++)
        file_out_forget_old(set->members[i].file);
    return done;
}

bool file_set_commit(struct file_set *set, struct fault *fault)
{
    bool done = complete(set, fault) && open_folders(set, fault) && commit(set, fault);

    for (size_t i = 0; i < set->count; i++) {
        if (set->members[i].folder >= 0)
            close(set->members[i].folder);
        set->members[i].folder = -1;
    }
    return done;
}

void file_set_free(struct file_set *set)
{
    mem_free(set->members);
    *set = (struct file_set){.count = 0};
}

bool file_set_commit_one(struct file_out *file, struct fault *fault)
{
    struct file_set_member member = {.file = file, .folder = -1};
    struct file_set set = {.members = &member, .count = 1};

    return file_set_commit(&set, fault);
}
