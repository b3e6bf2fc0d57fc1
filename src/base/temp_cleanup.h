/* Removing temporary files however the program ends. */
#ifndef TEMP_CLEANUP_H
#define TEMP_CLEANUP_H

#include <signal.h>
#include <stddef.h>

/* A temporary file or folder; the struct belongs to whoever made it. */
struct temp_file {
    const char *path;
    struct temp_file *next;
};

/* From now on, remove the listed files upon signals and exit; call once, first. */
void temp_cleanup_open(void);

/* After a signal, wait that long between removing the files and ending. MPI kills the other ranks once one
   has ended; this leaves them time to remove their files. Call before anything is listed. */
void temp_cleanup_linger(unsigned milliseconds);

/* Hold off fatal signals while a temporary file is created, renamed or removed, so that the list is true
   whenever a signal comes. From any thread; briefly. `before` keeps the signals that were blocked before. */
void temp_cleanup_hold_signals(sigset_t *before);
void temp_cleanup_release_signals(const sigset_t *before);

/* Put a file on the list, or take it off, while signals are held off. The struct must stay where it is
   meanwhile. What was put there last is removed first, so that a folder goes after what is in it. */
void temp_cleanup_add(struct temp_file *file);
void temp_cleanup_forget(struct temp_file *file);

/* Remove a file or an empty folder, if it is there. */
void temp_cleanup_remove(const char *path);

/* While signals are held off: count the listed files and copy their paths, each with its terminator, as far
   as there is room. Returns the bytes that all paths take. */
size_t temp_cleanup_list(char *paths, size_t room, size_t *count);

#endif
