/* JSON: a writer that puts the commas, and a reader. */
#ifndef JSON_H
#define JSON_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A JSON text that is being written to a stream, all of it on one line. It begins as {.stream = stream}. */
struct json {
    FILE *stream;
    bool follows; /* what comes next is not the first in its object or array */
};

/* Each function writes a value: a member if it has a name, an element of an array if that is NULL. */
void json_begin_object(struct json *json, const char *name);
void json_end_object(struct json *json);
void json_begin_array(struct json *json, const char *name);
void json_end_array(struct json *json);

/* Text may hold any bytes; those that are not UTF-8 become U+FFFD. NULL becomes null. */
void json_text(struct json *json, const char *name, const char *text);

/* All digits that matter; a number that is not finite becomes null. */
void json_number(struct json *json, const char *name, double value);

/* The number with ten digits, as messages have it. */
void json_short_number(struct json *json, const char *name, double value);
void json_count(struct json *json, const char *name, uint64_t count);
void json_counts(struct json *json, const char *name, const uint64_t *counts, size_t count);
void json_flag(struct json *json, const char *name, bool flag);
void json_null(struct json *json, const char *name);

/* A value that is JSON already, formatted as by printf. */
void json_format(struct json *json, const char *name, const char *format, ...) DIAG_PRINTF(3, 4);

/* Write a value that has been read, with all that is in it. */
struct json_value;
void json_copy(struct json *json, const char *name, const struct json_value *value);

/* ---- reading ---- */

#define JSON_MOST_BYTES  ((size_t)8 << 20) /* of a text */
#define JSON_MOST_VALUES ((size_t)1 << 20) /* as commas and brackets count them: of 40 bytes each */
#define JSON_MOST_DEPTH  64                /* of arrays and objects within each other */

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_TEXT, JSON_ARRAY, JSON_OBJECT };

/* A value. Those within it follow it in memory, each before those within itself. */
struct json_value {
    enum json_kind kind;
    uint32_t count;   /* of elements or members */
    uint32_t next;    /* values from this one to the next of the same array or object; 0: it is the last */
    const char *name; /* of a member; else NULL */
    const char *text; /* of a text, in UTF-8; of a number, where its digits begin */
    double number;
};

/* A text that has been read: its values, of which the first is the whole, and a copy that they point into. */
struct json_tree {
    struct json_value *values;
    char *text;
    size_t bytes; /* of memory for both */
};

/* Read a text of `size` bytes. It must be one value of JSON as the standard has it, in UTF-8, but that
   numbers may be NaN, Infinity or -Infinity, as Python writes them; no text within has a byte 0. The fault
   says where it is not, and the tree is empty. */
bool json_read(struct json_tree *tree, const char *text, size_t size, struct fault *fault);
void json_free(struct json_tree *tree);

/* The member of an object by its name: the last, if there are several. NULL if there is none, or if the value
   is NULL or no object. */
const struct json_value *json_member(const struct json_value *object, const char *name);

/* The first value in an array or object, NULL if that is empty, no such thing, or NULL; and the one after. */
const struct json_value *json_first(const struct json_value *value);
const struct json_value *json_next(const struct json_value *value);

/* Whether a value, which may be NULL, is this text. */
bool json_is_text(const struct json_value *value, const char *text);

/* The text of a value; NULL if it is none, or NULL. */
const char *json_text_of(const struct json_value *value);

/* Whether it is a whole number from 0 to the greatest, without a fraction or an exponent. */
bool json_count_of(const struct json_value *value, uint64_t *count);

/* The counts of an array, at most `most`; *count says how many. False if it is no such array. */
bool json_counts_of(const struct json_value *value, uint64_t *counts, size_t most, size_t *count);

#endif
