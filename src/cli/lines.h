/* Lines: messages for standard error, kept until their turn comes. */
#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct lines {
    FILE *stream; /* while they are written; NULL if memory is short: they are printed at once */
    char *text;
    size_t size;
    bool torn; /* memory did not suffice for all of it */
};

/* Lines that never began may be ended and freed, too. */
void lines_begin(struct lines *lines);
void lines_end(struct lines *lines);
void lines_free(struct lines *lines);

/* Print them. */
void lines_tell(struct lines *lines);

/* Print them unless they equal those printed last: what many inputs would repeat is printed once. */
void lines_tell_new(struct lines *lines, struct lines *told);

#endif
