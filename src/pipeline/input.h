/* Inputs: files of samples that a run reads, the one that it filters and its mask. An input is opened by its
   format, and watched: a file that changes while it is read may give samples from before and after. */
#ifndef INPUT_H
#define INPUT_H

#include "base/diag.h"
#include "base/file_in.h"
#include "format/format.h"
#include "ranks.h"

#include <stdbool.h>
#include <stddef.h>

/* A request for an input; what it points to stays with the caller. */
struct input_request {
    const char *path;            /* as file_in_open takes it, or a pattern of the files of a stack */
    const struct format *format; /* NULL: by what it begins with */
    bool pictures;               /* it has to be a picture; else it must not be one */
    struct source_request source;
    const struct header *like; /* raw samples without a description have these extents; NULL: they need one */
};

/* A file beside an input's own that its samples are in, and its state when the input was opened. */
struct input_watched {
    char *path;
    struct file_in_state state;
};

/* An input. Members that are zero are not open. */
struct input {
    struct file_in *file;
    struct source source; /* without format: not open */
    char *first;    /* the first file of a stack, or the metadata of a store, whose file that is; else NULL */
    bool is_folder; /* it is such a store, a folder */
    struct file_in_state state;
    struct input_watched *watched;
    size_t watched_count;
};

/* Open the file, then its header; all ranks together, and what they see is compared. In between, the caller
   may begin what takes time. On failure input_close releases what there is. */
bool input_open_file(struct input *input, const struct input_request *request, struct ranks *ranks,
                     struct fault *fault);
bool input_open_source(struct input *input, const struct input_request *request, struct fault *fault);

/* After both: compare the header and the files of samples, and remember the state of all files. */
bool input_watch(struct input *input, struct ranks *ranks, struct fault *fault);

/* The name of a file that has changed since, or has gone; NULL: none has. */
const char *input_find_change(const struct input *input);

/* Go back to before the first sample, to read all of them again; false where it is a pipe or the like. */
bool input_rewind(struct input *input);

void input_close_source(struct input *input);
void input_close(struct input *input);

#endif
