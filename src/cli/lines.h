/* Lines: what is to be said on standard error, kept until its turn comes. */
#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct lines {
    FILE *stream; /* while they are written; NULL, for want of memory: they are told at once */
    char *text;
    size_t size;
    bool torn; /* memory did not suffice for all of it */
};

/* What never began has an end, too. */
void lines_begin(struct lines *lines);
void lines_end(struct lines *lines);
void lines_free(struct lines *lines);

/* Say them. */
void lines_tell(struct lines *lines);

/* Say them unless they are those that were told the last time: what many inputs would repeat is told once. */
void lines_tell_new(struct lines *lines, struct lines *told);

#endif
