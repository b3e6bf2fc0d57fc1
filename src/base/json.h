/* JSON: a writer that puts the commas. */
#ifndef JSON_H
#define JSON_H

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

#endif
