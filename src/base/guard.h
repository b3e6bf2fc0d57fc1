/* Temporary files that are removed however the program ends. */
#ifndef GUARD_H
#define GUARD_H

#include <signal.h>
#include <stddef.h>

/* A temporary in the hands of its owner. */
struct guarded {
    const char *path;
    struct guarded *next;
};

/* Remove what is guarded upon signals and exit; call once, first. */
void guard_open(void);

/* Other processes get the signal that ends this one, and are killed once one of them has ended: leave
   them so much time to remove their files. Call before anything is guarded. */
void guard_linger(unsigned milliseconds);

/* Between the two the program does not end by a signal: a temporary is made and guarded, or gets its name and
   is no longer guarded, in one. From any thread; short. `before` keeps the signals that were blocked before.
 */
void guard_enter(sigset_t *before);
void guard_leave(const sigset_t *before);

/* Between guard_enter and guard_leave alone. The guarded must stay where it is until it is dropped. */
void guard_add(struct guarded *guarded);
void guard_drop(struct guarded *guarded);

/* Between them, too: how many are guarded, and their paths, one after the other, each with its end, as far as
   there is room. Returns the bytes that all of these take. */
size_t guard_list(char *paths, size_t room, size_t *count);

#endif
