/* Ways to compute: the devices of one kind that a program of tests is linked with, and the kernels on them.
 */
#ifndef WAYS_H
#define WAYS_H

#include "kernels/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct way {
    char name[48]; /* for messages */
    const struct backend *backend;
    struct device *device;
    const char *rung;  /* the kernel; NULL: what the backend takes by itself */
    unsigned turns;    /* of so many things to try, it takes one */
    unsigned of_large; /* and of those it takes large grids, one of so many */
    unsigned of_own;   /* of trials for its kernel alone, it takes one of so many */
    bool timed;        /* tests look at the time that it takes, too */
};

/* Open the devices. 0: this machine has none of the kind. */
size_t ways_open(void);
void ways_close(void);

/* The ways, as many as were opened. */
extern const struct way *ways;

/* Memory of a way's device to move so many bytes through: of just that size, unless it takes long to come by.
 */
struct staging *ways_take_staging(const struct way *way, size_t bytes, struct fault *fault);
void ways_leave_staging(const struct way *way, struct staging *staging);

/* Whatever else may change from turn to turn, and may change no byte. */
void ways_vary(uint64_t turn);

/* Seconds that one test may take. */
extern const unsigned ways_patience;

#endif
