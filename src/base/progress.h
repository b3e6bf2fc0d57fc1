/* A bar with rate and remaining time on a terminal, once a run has taken a second. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum progress_mode { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER };

struct progress {
    bool shown; /* whether there is a bar at all, decided when it begins */
    const char *unit;
    double unit_size; /* pieces of work in a unit */
    double first;     /* seconds before the bar is drawn */
    size_t drawn;     /* columns of the line on the terminal */
    double total, done;
    double begun, painted; /* when the work began and the bar was last drawn, by clock_seconds */
    pthread_mutex_t mutex; /* guards what progress_add changes */
};

/* Begin a bar for `total` pieces of work; its rate counts units of `unit_size` pieces: "Msamples" of 1e6
   sample updates, say. Auto shows the bar where standard error is a terminal. */
void progress_begin(struct progress *progress, enum progress_mode mode, double total, const char *unit,
                    double unit_size);

/* Add work that is done. Any thread may. */
void progress_add(struct progress *progress, double work);

/* Remove the bar until it is drawn again, because something else is to be written. */
void progress_wipe(struct progress *progress);
/* Remove the bar for good, and release what it holds. */
void progress_end(struct progress *progress);

#endif
