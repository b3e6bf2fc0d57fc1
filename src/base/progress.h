/* A bar with rate and remaining time on a terminal, once a run has taken a second. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum progress_mode { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER };

struct progress {
    bool shown; /* at all: decided when it begins */
    const char *unit;
    double unit_size; /* in what total and done count */
    double first;     /* seconds before the bar is drawn */
    size_t drawn;     /* columns that are to be wiped */
    double total, done;
    double begun, painted;
    pthread_mutex_t mutex; /* of what adding changes */
};

/* `total` is the work ahead in sample updates. Auto shows the bar where standard error is a terminal. */
void progress_begin(struct progress *progress, enum progress_mode mode, double total);

/* Begin a bar that counts files. */
void progress_begin_files(struct progress *progress, enum progress_mode mode, size_t files);

/* Add work that is done. Any thread may. */
void progress_add(struct progress *progress, double work);

/* Remove the bar until it is drawn again, because something else is to be written. */
void progress_wipe(struct progress *progress);
void progress_end(struct progress *progress);

#endif
