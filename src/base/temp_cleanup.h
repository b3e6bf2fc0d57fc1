/* Temporary files that are removed however the program ends. */
#ifndef TEMP_CLEANUP_H
#define TEMP_CLEANUP_H

#include <signal.h>
#include <stddef.h>

/* A temporary in the hands of its owner. */
struct temp_file {
    const char *path;
    struct temp_file *next;
};

/* Remove what is listed upon signals and exit; call once, first. */
void temp_cleanup_open(void);

/* Other processes get the signal that ends this one, and are killed once one of them has ended: leave
   them so much time to remove their files. Call before anything is listed. */
void temp_cleanup_linger(unsigned milliseconds);

/* Between the two the program does not end by a signal: a temporary is made and listed, or gets its name and
   is no longer listed, in one. From any thread; short. `before` keeps the signals that were blocked before.
 */
void temp_cleanup_hold_signals(sigset_t *before);
void temp_cleanup_release_signals(const sigset_t *before);

/* Between temp_cleanup_hold_signals and temp_cleanup_release_signals alone. The struct must stay where it is
 * until it is forgotten. */
void temp_cleanup_add(struct temp_file *file);
void temp_cleanup_forget(struct temp_file *file);

/* Between them, too: how many are listed, and their paths, one after the other, each with its end, as far as
   there is room. Returns the bytes that all of these take. */
size_t temp_cleanup_list(char *paths, size_t room, size_t *count);

#endif
