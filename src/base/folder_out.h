/* Files in a folder that gets its name when all of them are complete. */
#ifndef FOLDER_OUT_H
#define FOLDER_OUT_H

#include "diag.h"
#include "file_out.h"

#include <stdbool.h>
#include <stddef.h>

struct folder_out;

/* Write into a folder that file_out_open_folder has made, and that outlives this. */
bool folder_out_open(struct folder_out **folder, struct file_out *file, struct fault *fault);

/* Put bytes at the end of a file of the folder, such as "0/c/1/0/2"; `begins`: the file is not there yet, and
   is made, with the folders that it is in. One thread at a time. */
bool folder_out_append(struct folder_out *folder, const char *key, bool begins, const void *bytes,
                       size_t size, struct fault *fault);

/* Have all files on the disk if the folder is to be synced. */
bool folder_out_complete(struct folder_out *folder, struct fault *fault);

/* Remove what is in the folder, unless that has got its name; NULL is fine. */
void folder_out_close(struct folder_out *folder);

#endif
