/* Fields: the lines of a header in text, in their order, those included that nobody here understands. */
#ifndef FIELDS_H
#define FIELDS_H

#include "base/diag.h"
#include "flow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Headers are shorter than this. */
#define FIELDS_BYTES_MOST ((size_t)1 << 20)

struct field {
    char *line;        /* as it stands in the file, without its end */
    char *parts;       /* a copy of it, which name and value stand in */
    const char *name;  /* NULL: the line is no field */
    const char *value; /* without space around it */
};

struct fields {
    const char *file; /* as messages name it */
    struct field *items;
    size_t count, capacity;
    size_t bytes; /* of all lines that have been read */
};

/* Begin without any; `file` stays the caller's. */
void fields_begin(struct fields *fields, const char *file);
void fields_free(struct fields *fields);

/* Append the next line; *ended, and nothing is appended, where the flow ends. */
bool fields_read_line(struct fields *fields, struct flow *flow, bool *ended, struct fault *fault);

/* Append a line of one's own. */
bool fields_append(struct fields *fields, const char *line, struct fault *fault);

/* Take the last line for a field: its name, without space behind it, ends at `separator`. Lines without one
   stay what they are. */
bool fields_split_last(struct fields *fields, const char *separator, struct fault *fault);

/* The value of the one field of this name, whatever the case of its letters, or NULL. */
const char *fields_find(const struct fields *fields, const char *name);
bool fields_require(const struct fields *fields, const char *name, const char **value, struct fault *fault);

/* A field that stands twice, if there is one, is refused. */
bool fields_check_once(const struct fields *fields, struct fault *fault);

/* "FILE: FIELD: VALUE: REASON". Returns false. */
bool fields_refuse(const struct fields *fields, const char *name, const char *value, const char *reason,
                   struct fault *fault);

/* Whole numbers with space between them, at most so many. False, without a fault, for anything else. */
bool fields_counts(const char *value, size_t most, uint64_t *counts, size_t *count);

/* Numbers, likewise; NaN is one. */
bool fields_numbers(const char *value, size_t most, double *numbers, size_t *count);

#endif
