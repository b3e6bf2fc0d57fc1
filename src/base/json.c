/* JSON: the texts and numbers of reports. */
#include "json.h"

#include <math.h>
#include <stdbool.h>

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

void json_text(FILE *stream, const char *text)
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

void json_number(FILE *stream, const char *name, double value)
{
    if (isfinite(value))
        fprintf(stream, "\"%s\": %.17g", name, value);
    else
        fprintf(stream, "\"%s\": null", name);
}
