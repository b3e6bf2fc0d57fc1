/* Stacks: files whose names differ in a number, each a plane. */
#ifndef STACK_H
#define STACK_H

#include "format.h"
#include "pattern.h"

/* The format of the stack that a path stands for: its name is a pattern, and its ending that of files which
   may be a plane each. NULL: it names a single file, as NULL does. Sources and sinks of such a format are
   given the stack's first file, and in the request the pattern. */
const struct format *stack_of_name(const char *path);

/* Find the first file, which has the number 0 or 1, and its name. */
bool stack_find(const char *pattern, uint64_t *first, char name[PATTERN_NAME_MOST], struct fault *fault);

/* The name of the first file to write. Numbers begin as those of the origin if it is a stack, else with 0;
   and further on by the planes before. */
void stack_name_first(const struct sink_request *request, char name[PATTERN_NAME_MOST]);

/* For several ranks, each of which writes files of one stack. Rank 0 makes all files of its sink, and gets
   their temporary names, one after the other, each with its end. They are the sink's `temporaries` from then
   on, and those of the sinks that other ranks open for the same stack; the memory is the caller's, to be
   released with mem_free once all of these are closed. */
bool stack_share(struct sink *sink, char **temporaries, size_t *bytes, struct fault *fault);

#endif
