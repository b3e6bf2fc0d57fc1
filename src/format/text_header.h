/* Fields: the lines of a header in text, in their order, those included that nobody here understands. */
#ifndef TEXT_HEADER_H
#define TEXT_HEADER_H

#include "base/diag.h"
#include "byte_stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Headers are shorter than this. */
#define TEXT_HEADER_BYTES_MOST ((size_t)1 << 20)

struct field {
    char *line;        /* as it stands in the file, without its end */
    char *parts;       /* a copy of it, which name and value stand in */
    const char *name;  /* NULL: the line is no field */
    const char *value; /* without space around it */
};

struct text_header {
    const char *file; /* as messages name it */
    struct field *items;
    size_t count, capacity;
    size_t bytes; /* of all lines that have been read */
};

/* Begin without any; `file` stays the caller's. */
void text_header_begin(struct text_header *fields, const char *file);
void text_header_free(struct text_header *fields);

/* Append the next line; *ended, and nothing is appended, where the stream ends. */
bool text_header_read_line(struct text_header *fields, struct byte_stream *stream, bool *ended,
                           struct fault *fault);

/* Append a line of one's own. */
bool text_header_append(struct text_header *fields, const char *line, struct fault *fault);

/* Take the last line for a field: its name, without space behind it, ends at `separator`. Lines without one
   stay what they are. */
bool text_header_split_last(struct text_header *fields, const char *separator, struct fault *fault);

/* The value of the one field of this name, whatever the case of its letters, or NULL. */
const char *text_header_find(const struct text_header *fields, const char *name);
bool text_header_require(const struct text_header *fields, const char *name, const char **value,
                         struct fault *fault);

/* A field that stands twice, if there is one, is refused. */
bool text_header_check_once(const struct text_header *fields, struct fault *fault);

/* "FILE: FIELD: VALUE: REASON". Returns false. */
bool text_header_refuse(const struct text_header *fields, const char *name, const char *value,
                        const char *reason, struct fault *fault);

/* Whole numbers with space between them, at most so many. False, without a fault, for anything else. */
bool text_header_counts(const char *value, size_t most, uint64_t *counts, size_t *count);

/* Numbers, likewise; NaN is one. */
bool text_header_numbers(const char *value, size_t most, double *numbers, size_t *count);

#endif
