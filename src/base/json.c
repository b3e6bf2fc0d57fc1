/* JSON: a writer that puts the commas. */
#include "json.h"

#include "number.h"

#include <math.h>

/* Whether so may begin a character of several bytes: no longer form than is needed, no surrogate, none past
 * U+10FFFF. */
static bool begins_character(unsigned char first, unsigned char second)
{
    unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

    return first >= 0xc2 && first <= 0xf4 && second >= least && second <= most;
}

/* Bytes of the UTF-8 character that text begins with; 0 where it begins with none. */
static size_t utf8_length(const char *text)
{
    unsigned char first = (unsigned char)*text;
    size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (first < 0x80)
        return 1;
    if (!begins_character(first, (unsigned char)text[1]))
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

/* Write a text in quotation marks, with what JSON does not allow in one escaped. */
static void quote(FILE *stream, const char *text)
{
    fputc('"', stream);
    while (*text != '\0') {
        size_t length = utf8_length(text);
        if (length == 0)
            fprintf(stream, "\\ufffd");
        else if (*text == '"' || *text == '\\')
            fprintf(stream, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(stream, "\\u%04x", (unsigned)*text);
        else
            fwrite(text, 1, length, stream);
        text += length > 0 ? length : 1;
    }
    fputc('"', stream);
}

/* Every value begins here, so that commas and names have one place. */
static void begin_value(struct json *json, const char *name)
{
    if (json->follows)
        fputs(", ", json->stream);
    if (name != NULL)
        fprintf(json->stream, "\"%s\": ", name);
    json->follows = true;
}

void json_begin_object(struct json *json, const char *name)
{
    begin_value(json, name);
    fputc('{', json->stream);
    json->follows = false;
}

void json_end_object(struct json *json)
{
    fputc('}', json->stream);
    json->follows = true;
}

void json_begin_array(struct json *json, const char *name)
{
    begin_value(json, name);
    fputc('[', json->stream);
    json->follows = false;
}

void json_end_array(struct json *json)
{
    fputc(']', json->stream);
    json->follows = true;
}

void json_text(struct json *json, const char *name, const char *text)
{
    if (text == NULL) {
        json_null(json, name);
        return;
    }
    begin_value(json, name);
    quote(json->stream, text);
}

void json_number(struct json *json, const char *name, double value)
{
    char text[NUMBER_BYTES];

    begin_value(json, name);
    fputs(isfinite(value) ? number_format_double(value, text) : "null", json->stream);
}

void json_short_number(struct json *json, const char *name, double value)
{
    begin_value(json, name);
    if (isfinite(value))
        fprintf(json->stream, "%.10g", value);
    else
        fputs("null", json->stream);
}

void json_count(struct json *json, const char *name, uint64_t count)
{
    begin_value(json, name);
    fprintf(json->stream, "%llu", (unsigned long long)count);
}

void json_counts(struct json *json, const char *name, const uint64_t *counts, size_t count)
{
    json_begin_array(json, name);
    for (size_t i = 0; i < count; i++)
        json_count(json, NULL, counts[i]);
    json_end_array(json);
}

void json_flag(struct json *json, const char *name, bool flag)
{
    begin_value(json, name);
    fputs(flag ? "true" : "false", json->stream);
}

void json_null(struct json *json, const char *name)
{
    begin_value(json, name);
    fputs("null", json->stream);
}
