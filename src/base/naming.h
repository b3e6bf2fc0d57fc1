/* How a temporary file takes its name, and gives it back to the file that had it before. */
#ifndef NAMING_H
#define NAMING_H

#include "temp_cleanup.h"

#include <stdbool.h>

/* The fate of the file that had the name before: there was none; it has the temporary's name; it has another
   name, by a link; it is gone; or it has the temporary's name and must stay there, since it could not be
   given back. */
enum naming_old { NAMING_NONE, NAMING_EXCHANGED, NAMING_LINKED, NAMING_LOST, NAMING_STRANDED };

struct naming {
    char *target;             /* the name that it will have; from path_target */
    char *temporary;          /* the name that is removed in the end; NULL: there is none any more */
    struct temp_file cleanup; /* the temporary */
    bool foreign;             /* the temporary is another process's, which removes it */
    bool folder;              /* it is a folder, and takes the place of nothing */
    enum naming_old old;
};

/* Between temp_cleanup_hold_signals and temp_cleanup_release_signals. Take the name; if `keep`, the file that
   has it stays under another one where the file system can do that, until naming_end. False with errno. */
bool naming_take(struct naming *naming, bool keep);

/* Then, still between the two: all is as it was before. False if that could not be done; the file that had
   the name, where it was kept, is then stranded: it stays under the temporary's name, whatever follows. */
bool naming_give_back(struct naming *naming);

/* Remove the temporary or, once the name has been taken, the file that had it, unless that is stranded. */
void naming_end(struct naming *naming);

#endif
