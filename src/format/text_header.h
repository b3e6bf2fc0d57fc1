/* Headers in text: their lines in order, those included that nobody here understands. What a format knows of
   its fields is a table of names with roles. From that table follows what an output of the same family leaves
   out or writes anew, and what an output of another family does not keep. */
#ifndef TEXT_HEADER_H
#define TEXT_HEADER_H

#include "base/diag.h"
#include "byte_stream.h"
#include "format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Headers are shorter than this. */
#define TEXT_HEADER_BYTES_MOST ((size_t)1 << 20)

struct field {
    char *line;        /* as it is in the file, without its end of line */
    char *parts;       /* a copy that is cut into name and value */
    const char *name;  /* NULL: the line is no field */
    const char *value; /* without space around it */
};

/* The subject of a field. Outputs of the same family pass on fields without a role, and those whose roles
   still hold. */
enum field_role {
    FIELD_OWN = 1,           /* how samples lie in the file: written anew in any case */
    FIELD_GRID = 1 << 1,     /* what any format of volumes tells */
    FIELD_EXTENTS = 1 << 2,  /* written anew for a region */
    FIELD_SPACING = 1 << 3,  /* written anew where --spacing replaces it */
    FIELD_POSITION = 1 << 4, /* where the grid is in space */
    FIELD_ORIGIN = 1 << 5,   /* of its first sample: written anew for a region */
    FIELD_ENDS = 1 << 6,     /* of each axis: does not hold for a region */
    FIELD_UNIT = 1 << 7,
    FIELD_CHANNELS = 1 << 8,
    FIELD_INTENSITY = 1 << 9, /* what samples stand for */
    FIELD_EXTREMES = 1 << 10, /* of the samples */
    FIELD_RANGE = 1 << 11     /* values that the ends of the type stand for */
};

struct known_field {
    const char *names; /* with commas between them */
    unsigned roles;
};

/* What words of a header stand for: a type of samples, say. Outputs write the first word of that meaning. */
struct word {
    int meaning;
    const char *names; /* with commas between them: a header may have any of these */
};

struct text_header {
    const char *file; /* as messages name it */
    struct field *items;
    size_t count, capacity;
    size_t behind; /* lines at the end that are not of the header: an empty one, or names of files */
    size_t bytes;  /* of all lines that have been read */
};

/* Begin an empty header; `file`, the name for messages, stays the caller's. text_header_free releases all
   lines. */
void text_header_begin(struct text_header *fields, const char *file);
void text_header_free(struct text_header *fields);

/* Read and append the next line. At the end of the stream *ended is set and nothing is appended. Lines with a
   NUL byte, and headers over the limit, are refused. */
bool text_header_read_line(struct text_header *fields, struct byte_stream *stream, bool *ended,
                           struct fault *fault);

/* Split the last line into name and value at `separator`. A line without it stays no field. */
bool text_header_split_last(struct text_header *fields, const char *separator, struct fault *fault);

/* The value of the one field of this name, whatever the case of its letters, or NULL. */
const char *text_header_find(const struct text_header *fields, const char *name);
/* The same, but a missing field is refused. */
bool text_header_require(const struct text_header *fields, const char *name, const char **value,
                         struct fault *fault);

/* Find out what the value of a field stands for; a missing field, and a value that the table does not have,
   are refused. */
bool text_header_word(const struct text_header *fields, const char *name, const struct word *words,
                      size_t count, int *meaning, struct fault *fault);

/* Refuse a header that gives a field twice. */
bool text_header_check_once(const struct text_header *fields, struct fault *fault);

/* "FILE: FIELD: VALUE: REASON". Returns false. */
bool text_header_refuse(const struct text_header *fields, const char *name, const char *value,
                        const char *reason, struct fault *fault);

/* Whether the first `length` bytes of a word are one of the names in a list with commas, whatever the case of
   letters. */
bool text_header_is_one_of(const char *names, const char *word, size_t length);

/* The roles of a field in a table that ends without names; 0: it has none. */
unsigned text_header_roles(const struct known_field *known, const struct field *field);

/* Append names to a list of what an output drops (format_drop): of fields that have one of the roles; or,
   with `others`, of all that have none of them, keys of pairs included. */
void text_header_list(const struct text_header *fields, const struct known_field *known, unsigned roles,
                      bool others, struct dropped *dropped);

/* Read the extents of an array: field `dims` says how many there are, from 1 to `most`, and field `sizes` has
   that many whole numbers. */
bool text_header_extents(const struct text_header *fields, const char *dims, const char *sizes, size_t most,
                         uint64_t *extents, size_t *count, struct fault *fault);

/* Parse numbers, NaN included, with space between them, at most `most`. False, without a fault, for anything
   else. */
bool text_header_numbers(const char *value, size_t most, double *numbers, size_t *count);

#endif
