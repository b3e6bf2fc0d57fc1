/* Sets of output files, which get their names together: all of them do, or none. */
#ifndef FILE_SET_H
#define FILE_SET_H

#include "diag.h"
#include "file_out.h"

#include <stdbool.h>
#include <stddef.h>

struct file_set_member {
    struct file_out *file;
    int folder; /* a descriptor of that which is to be synced after the names of this member and others have
                   changed; else -1 */
};

/* Empty where all is zero. The files stay the caller's, who closes them after they were committed, or not. */
struct file_set {
    struct file_set_member *members;
    size_t count, capacity;
};

bool file_set_add(struct file_set *set, struct file_out *file, struct fault *fault);

/* Complete all files, then give them their names in the order in which they were added, while no signal ends
   the program. If one cannot have its name, those before it give theirs back to the files that had them; the
   fault names any that cannot, and where the file that had the name is now. */
bool file_set_commit(struct file_set *set, struct fault *fault);
void file_set_free(struct file_set *set);

/* The same of a single file. */
bool file_set_commit_one(struct file_out *file, struct fault *fault);

#endif
