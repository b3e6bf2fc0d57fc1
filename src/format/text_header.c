/* Headers in text: lines, fields, and what formats know of them.

   Each line is kept as it stands in the file, so that an output of the same family can have it unchanged.
   Name and value of a field are cut from a copy. Files are not trusted: a header ends at 1 MiB, has no byte
   0, and gives no field twice. */
#include "text_header.h"

#include "base/mem.h"
#include "base/number.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Letters of a value that a refusal quotes. */
enum { SHOWN_MOST = 64 };

void text_header_begin(struct text_header *fields, const char *file)
{
    *fields = (struct text_header){.file = file};
}

void text_header_free(struct text_header *fields)
{
    for (size_t i = 0; i < fields->count; i++) {
        mem_free(fields->items[i].line);
        mem_free(fields->items[i].parts);
    }
    mem_free(fields->items);
    *fields = (struct text_header){.file = fields->file};
}

/* Read a line, whose end is cut off. At the end of the stream *text stays NULL. */
static bool read_line(struct text_header *fields, struct byte_stream *stream, char **text,
                      struct fault *fault)
{
    char piece[BYTE_STREAM_PEEK];
    size_t size = 1, length = 0, capacity = 0;

    /* Lines come in pieces, as far as the stream looks ahead. The limit is checked before a piece is kept, so
       a file without line ends costs no more than any other. */
    for (bool complete = false; !complete && size > 0; length += size) {
        if (!byte_stream_read_line(stream, piece, &size, &complete, fault))
            return false;
        fields->bytes += size;
        if (fields->bytes > TEXT_HEADER_BYTES_MOST)
            return fault_set_for(fault, STATUS_INPUT, fields->file, "header: longer than 1 MiB");
        if (memchr(piece, '\0', size) != NULL)
            return fault_set_for(fault, STATUS_INPUT, fields->file, "header: line %zu: a byte 0 in it",
                                 fields->count + 1);
        while (size > 0 && length + size >= capacity) {
            char *larger = mem_grow(*text, capacity, &capacity, 1, "a header", fault);
            if (larger == NULL)
                return false;
            *text = larger;
        }
        if (size > 0)
            memcpy(*text + length, piece, size);
    }
    /* Headers may come from other systems: \n or \r\n ends a line. */
    while (length > 0 && ((*text)[length - 1] == '\n' || (*text)[length - 1] == '\r'))
        length--;
    if (*text != NULL)
        (*text)[length] = '\0';
    return true;
}

bool text_header_read_line(struct text_header *fields, struct byte_stream *stream, bool *ended,
                           struct fault *fault)
{
    struct field *items =
        mem_grow(fields->items, fields->count, &fields->capacity, sizeof *items, "a header", fault);
    char *text = NULL;

    if (items == NULL)
        return false;
    fields->items = items;
    if (!read_line(fields, stream, &text, fault)) {
        mem_free(text);
        return false;
    }
    *ended = text == NULL;
    if (!*ended)
        items[fields->count++] = (struct field){.line = text};
    return true;
}

/* The text without space around it, which is cut off behind. */
static char *trimmed(char *text)
{
    size_t length;

    text += strspn(text, " \t");
    length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

bool text_header_split_last(struct text_header *fields, const char *separator, struct fault *fault)
{
    struct field *field = &fields->items[fields->count - 1];
    char *found;

    if (strstr(field->line, separator) == NULL)
        return true;
    /* The line itself stays whole, since an output may print it unchanged. */
    field->parts = mem_text(field->line, fault);
    if (field->parts == NULL)
        return false;
    found = strstr(field->parts, separator);
    *found = '\0';
    field->value = trimmed(found + strlen(separator));
    field->name = trimmed(field->parts);
    return true;
}

const char *text_header_find(const struct text_header *fields, const char *name)
{
    for (size_t i = 0; i < fields->count; i++) {
        if (fields->items[i].name != NULL && strcasecmp(fields->items[i].name, name) == 0)
            return fields->items[i].value;
    }
    return NULL;
}

bool text_header_require(const struct text_header *fields, const char *name, const char **value,
                         struct fault *fault)
{
    *value = text_header_find(fields, name);
    return *value != NULL || fault_set_for(fault, STATUS_INPUT, fields->file, "%s: missing", name);
}

bool text_header_check_once(const struct text_header *fields, struct fault *fault)
{
    for (size_t i = 0; i < fields->count; i++) {
        const char *name = fields->items[i].name;
        if (name != NULL && text_header_find(fields, name) != fields->items[i].value)
            return fault_set_for(fault, STATUS_INPUT, fields->file, "%.64s: given twice", name);
    }
    return true;
}

bool text_header_refuse(const struct text_header *fields, const char *name, const char *value,
                        const char *reason, struct fault *fault)
{
    return fault_set_for(fault, STATUS_INPUT, fields->file, "%s: %.*s%s: %s", name, SHOWN_MOST, value,
                         strlen(value) > SHOWN_MOST ? "..." : "", reason);
}

/* ---- what fields tell of ---- */

bool text_header_is_one_of(const char *names, const char *word, size_t length)
{
    for (size_t own; *names != '\0'; names += own + (names[own] == ',')) {
        own = strcspn(names, ",");
        if (own == length && strncasecmp(names, word, length) == 0)
            return true;
    }
    return false;
}

bool text_header_word(const struct text_header *fields, const char *name, const struct word *words,
                      size_t count, int *meaning, struct fault *fault)
{
    const char *value;

    if (!text_header_require(fields, name, &value, fault))
        return false;
    for (size_t i = 0; i < count; i++) {
        *meaning = words[i].meaning;
        if (text_header_is_one_of(words[i].names, value, strlen(value)))
            return true;
    }
    return text_header_refuse(fields, name, value, "not supported", fault);
}

/* A line that is no field may be a pair "key:=value", or a comment. */
static const char *key_of(const struct field *field, size_t *length)
{
    const char *key = field->name != NULL ? field->name : field->line;

    *length = field->name != NULL ? strlen(key) : key[0] == '#' ? 0 : strcspn(key, ":");
    return key;
}

unsigned text_header_roles(const struct known_field *known, const struct field *field)
{
    size_t length;
    const char *key = key_of(field, &length);

    for (; known->names != NULL; known++) {
        if (text_header_is_one_of(known->names, key, length))
            return known->roles;
    }
    return 0;
}

void text_header_list(const struct text_header *fields, const struct known_field *known, unsigned roles,
                      bool others, struct dropped *dropped)
{
    for (size_t i = 0; i < fields->count - fields->behind; i++) {
        const struct field *field = &fields->items[i];
        size_t length;
        const char *key = key_of(field, &length);
        bool has_role = (text_header_roles(known, field) & roles) != 0;
        if (length == 0 || has_role == others || (!others && field->name == NULL))
            continue;
        format_drop(dropped, "%.*s", (int)length, key);
    }
}

/* ---- numbers ---- */

/* The next word of a value; false at its end, and for a word that is too long. */
static bool next_word(const char **value, char *word, size_t size)
{
    size_t length;

    *value += strspn(*value, " \t,");
    length = strcspn(*value, " \t,");
    if (length == 0 || length >= size)
        return false;
    memcpy(word, *value, length);
    word[length] = '\0';
    *value += length;
    return true;
}

static bool is_at_end(const char *value)
{
    return value[strspn(value, " \t,")] == '\0';
}

static bool parse_counts(const char *value, size_t most, uint64_t *counts, size_t *count)
{
    char word[64];

    for (*count = 0; *count < most && next_word(&value, word, sizeof word); ++*count) {
        if (!number_parse_count(word, &counts[*count]))
            return false;
    }
    return is_at_end(value);
}

bool text_header_extents(const struct text_header *fields, const char *dims, const char *sizes, size_t most,
                         uint64_t *extents, size_t *count, struct fault *fault)
{
    const char *dims_told, *sizes_told;
    uint64_t axes;
    char expected[64];

    if (!text_header_require(fields, dims, &dims_told, fault) ||
        !text_header_require(fields, sizes, &sizes_told, fault))
        return false;
    snprintf(expected, sizeof expected, "not a number from 1 to %zu", most);
    if (!number_parse_count(dims_told, &axes) || axes < 1 || axes > most)
        return text_header_refuse(fields, dims, dims_told, expected, fault);
    if (!parse_counts(sizes_told, most, extents, count))
        return text_header_refuse(fields, sizes, sizes_told, "not whole numbers, or too large ones", fault);
    return *count == axes ||
           fault_set_for(fault, STATUS_INPUT, fields->file, "%s: %zu value%s for %s %llu", sizes, *count,
                         number_plural(*count), dims, (unsigned long long)axes);
}

bool text_header_numbers(const char *value, size_t most, double *numbers, size_t *count)
{
    char word[400], *end;

    for (*count = 0; *count < most && next_word(&value, word, sizeof word); ++*count) {
        numbers[*count] = strtod(word, &end);
        if (*end != '\0')
            return false;
    }
    return is_at_end(value);
}
