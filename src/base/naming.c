/* Names that temporary files take over, and give back to the files that had them before. */
#include "naming.h"

#include "diag.h"
#include "mem.h"
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool rename_plainly(struct naming *naming, enum naming_old old)
{
    if (rename(naming->temporary, naming->target) != 0)
        return false;
    naming->old = old;
    return true;
}

/* A second name for the file that will lose its own; NULL where there can be none. */
static char *link_aside(const struct naming *naming)
{
    struct fault unheard;
    char *aside = path_temporary(naming->target, &unheard);

    if (aside == NULL || link(naming->target, aside) == 0)
        return aside;
    mem_free(aside);
    return NULL;
}

/* Take the name from a file that has been linked to another one, which then is what the temporary's clean-up
   removes. */
static bool take_linked(struct naming *naming, char *aside)
{
    if (!rename_plainly(naming, NAMING_LINKED)) {
        int reason = errno;
        unlink(aside);
        mem_free(aside);
        errno = reason;
        return false;
    }
    mem_free(naming->temporary);
    naming->temporary = aside;
    naming->cleanup.path = aside;
    return true;
}

/* A folder that has been made meanwhile would be replaced if it were empty. */
static bool take_free_name(struct naming *naming)
{
    struct stat info;
    bool done = renameat2(AT_FDCWD, naming->temporary, AT_FDCWD, naming->target, RENAME_NOREPLACE) == 0;

    /* Not all file systems know how to do that in one step. */
    if (!done && errno == EINVAL && lstat(naming->target, &info) == 0)
        errno = EEXIST;
    else if (!done && errno == EINVAL)
        done = rename(naming->temporary, naming->target) == 0;
    naming->old = NAMING_NONE;
    return done;
}

bool naming_take(struct naming *naming, bool keep)
{
    struct stat info;
    char *aside;

    if (naming->folder)
        return take_free_name(naming);
    /* Only a file may be replaced, but names can be exchanged with a folder, too. */
    if (lstat(naming->target, &info) == 0 && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return false;
    }
    /* An exchange keeps both files; where the file system has none, a link keeps the old one; else it is
       lost. */
    if (!keep || access(naming->target, F_OK) != 0)
        return rename_plainly(naming, keep ? NAMING_NONE : NAMING_LOST);
    if (renameat2(AT_FDCWD, naming->temporary, AT_FDCWD, naming->target, RENAME_EXCHANGE) == 0) {
        naming->old = NAMING_EXCHANGED;
        return true;
    }
    aside = link_aside(naming);
    return aside != NULL ? take_linked(naming, aside) : rename_plainly(naming, NAMING_LOST);
}

/* Undo what naming_take did, as far as the old file is still there. */
static bool give_back(const struct naming *naming)
{
    switch (naming->old) {
    case NAMING_NONE:
        return rename(naming->target, naming->temporary) == 0;
    case NAMING_EXCHANGED:
        return renameat2(AT_FDCWD, naming->temporary, AT_FDCWD, naming->target, RENAME_EXCHANGE) == 0;
    case NAMING_LINKED:
        return rename(naming->temporary, naming->target) == 0;
    case NAMING_LOST:
    case NAMING_STRANDED:
        break;
    }
    return false;
}

bool naming_give_back(struct naming *naming)
{
    if (give_back(naming))
        return true;
    if (naming->old == NAMING_EXCHANGED || naming->old == NAMING_LINKED) {
        naming->old = NAMING_STRANDED;
        temp_cleanup_forget(&naming->cleanup);
    }
    return false;
}

void naming_end(struct naming *naming)
{
    sigset_t before;

    temp_cleanup_hold_signals(&before);
    if (!naming->foreign && naming->old != NAMING_STRANDED)
        temp_cleanup_remove(naming->temporary);
    if (naming->old != NAMING_STRANDED)
        temp_cleanup_forget(&naming->cleanup);
    temp_cleanup_release_signals(&before);
    mem_free(naming->temporary);
    naming->temporary = NULL;
}
