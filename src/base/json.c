/* JSON: a writer that puts the commas, and a reader, which goes through a copy of the text once. Values lie
   in one block, whose size the commas and brackets bound, and texts stay where they are in the copy, without
   their escapes. */
#include "json.h"

#include "mem.h"
#include "number.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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
    begin_value(json, name);
    if (text != NULL)
        quote(json->stream, text);
    else
        fputs("null", json->stream);
}

void json_format(struct json *json, const char *name, const char *format, ...)
{
    va_list arguments;

    begin_value(json, name);
    va_start(arguments, format);
    vfprintf(json->stream, format, arguments);
    va_end(arguments);
}

void json_number(struct json *json, const char *name, double value)
{
    json_format(json, name, "%s", isfinite(value) ? number_format_double(value).text : "null");
}

void json_short_number(struct json *json, const char *name, double value)
{
    json_format(json, name, isfinite(value) ? "%.10g" : "null", value);
}

void json_count(struct json *json, const char *name, uint64_t count)
{
    json_format(json, name, "%llu", (unsigned long long)count);
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
    json_format(json, name, flag ? "true" : "false");
}

void json_null(struct json *json, const char *name)
{
    json_format(json, name, "null");
}

/* ---- reading ---- */

struct reader {
    char *at;                /* what comes next in the copy, which ends with a byte 0 */
    const char *begin, *end; /* of the copy */
    struct json_value *values;
    size_t count; /* of values so far */
    unsigned depth;
    const char *damage; /* what is wrong at `at`; NULL: nothing yet */
};

static bool complain(struct reader *reader, const char *damage)
{
    reader->damage = damage;
    return false;
}

static void skip_space(struct reader *reader)
{
    reader->at += strspn(reader->at, " \t\r\n");
}

static bool take(struct reader *reader, char byte)
{
    skip_space(reader);
    if (*reader->at != byte)
        return false;
    reader->at++;
    return true;
}

/* Four hexadecimal digits; −1 if they are not there. */
static long read_unit(const char *at)
{
    char digits[5] = "";

    if (strspn(at, "0123456789abcdefABCDEF") < sizeof digits - 1)
        return -1;
    memcpy(digits, at, sizeof digits - 1);
    return strtol(digits, NULL, 16);
}

/* Put a character as UTF-8. It takes fewer bytes than its escape did. */
static char *put_character(char *to, unsigned long point)
{
    int more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const unsigned char marks[] = {0, 0xc0, 0xe0, 0xf0};

    *to++ = (char)(marks[more] | point >> (6 * more));
    while (more-- > 0)
        *to++ = (char)(0x80 | (point >> (6 * more) & 0x3f));
    return to;
}

/* Read "uXXXX", or two of them, which are a character beyond 16 bits. */
static bool read_escaped_unit(struct reader *reader, char **to)
{
    long unit = read_unit(reader->at + 1), low;

    if (unit <= 0 || (unit >= 0xdc00 && unit <= 0xdfff))
        return complain(reader, "an escape of no character");
    reader->at += 5;
    if (unit >= 0xd800 && unit <= 0xdbff) {
        low = reader->at[0] == '\\' && reader->at[1] == 'u' ? read_unit(reader->at + 2) : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return complain(reader, "an escape of half a character");
        reader->at += 6;
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    *to = put_character(*to, (unsigned long)unit);
    return true;
}

static bool read_escape(struct reader *reader, char **to)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *letter;

    if (*reader->at == 'u')
        return read_escaped_unit(reader, to);
    letter = *reader->at == '\0' ? NULL : strchr(letters, *reader->at);
    if (letter == NULL)
        return complain(reader, "an unknown escape");
    *(*to)++ = meant[letter - letters];
    reader->at++;
    return true;
}

/* Read a text behind its first quotation mark, and end it where it ends without escapes. */
static bool read_text(struct reader *reader, const char **text)
{
    char *to = reader->at;

    *text = to;
    while (*reader->at != '"') {
        size_t length = utf8_length(reader->at);
        if ((unsigned char)*reader->at < 0x20)
            return complain(reader, reader->at == reader->end ? "a text without its end"
                                                              : "a control character in a text");
        if (length == 0)
            return complain(reader, "bytes that are not UTF-8");
        if (*reader->at == '\\') {
            reader->at++;
            if (!read_escape(reader, &to))
                return false;
            continue;
        }
        memmove(to, reader->at, length);
        to += length;
        reader->at += length;
    }
    reader->at++;
    *to = '\0';
    return true;
}

static size_t digits_at(const char *at)
{
    return strspn(at, "0123456789");
}

/* Read a number: JSON has no sign but a minus, no 0 before other digits, and no bare point. */
static bool read_number(struct reader *reader, struct json_value *value)
{
    const char *at = reader->at + (*reader->at == '-');
    size_t whole = digits_at(at);
    char *end;

    if (whole == 0 || (whole > 1 && *at == '0'))
        return complain(reader, "a value is missing");
    at += whole;
    if (*at == '.') {
        if (digits_at(at + 1) == 0)
            return complain(reader, "a number without digits behind its point");
        at += 1 + digits_at(at + 1);
    }
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '+' || at[1] == '-');
        if (digits_at(at) == 0)
            return complain(reader, "a number without digits in its exponent");
        at += digits_at(at);
    }
    value->kind = JSON_NUMBER;
    value->text = reader->at;
    value->number = strtod(reader->at, &end);
    reader->at += at - reader->at;
    return end == at || complain(reader, "not a number");
}

static bool read_word(struct reader *reader, struct json_value *value)
{
    static const struct {
        const char *word;
        enum json_kind kind;
    } words[] = {{"null", JSON_NULL},  {"false", JSON_FALSE},     {"true", JSON_TRUE},
                 {"NaN", JSON_NUMBER}, {"Infinity", JSON_NUMBER}, {"-Infinity", JSON_NUMBER}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(reader->at, words[i].word, strlen(words[i].word)) == 0) {
            value->kind = words[i].kind;
            value->text = reader->at;
            value->number = strtod(words[i].word, NULL);
            reader->at += strlen(words[i].word);
            return true;
        }
    }
    return read_number(reader, value);
}

static bool read_value(struct reader *reader, const char *name);

/* Read elements or members, behind the bracket. */
static bool read_inside(struct reader *reader, struct json_value *value, char closing)
{
    struct json_value *before = NULL;
    const char *name = NULL;

    if (++reader->depth > JSON_MOST_DEPTH)
        return complain(reader, "nested too deeply");
    if (!take(reader, closing)) {
        do {
            struct json_value *inner = reader->values + reader->count;
            if (value->kind == JSON_OBJECT &&
                !((take(reader, '"') || complain(reader, "a member without a name")) &&
                  read_text(reader, &name) &&
                  (take(reader, ':') || complain(reader, "no colon after a name"))))
                return false;
            if (!read_value(reader, name))
                return false;
            if (before != NULL)
                before->next = (uint32_t)(inner - before);
            before = inner;
            value->count++;
        } while (take(reader, ','));
        if (!take(reader, closing))
            return complain(reader, "neither a comma nor the end of an array or object");
    }
    reader->depth--;
    return true;
}

static bool read_value(struct reader *reader, const char *name)
{
    struct json_value *value = reader->values + reader->count++;

    value->name = name;
    if (take(reader, '"')) {
        value->kind = JSON_TEXT;
        return read_text(reader, &value->text);
    }
    if (take(reader, '[')) {
        value->kind = JSON_ARRAY;
        return read_inside(reader, value, ']');
    }
    if (take(reader, '{')) {
        value->kind = JSON_OBJECT;
        return read_inside(reader, value, '}');
    }
    return read_word(reader, value);
}

static bool read_all(struct reader *reader)
{
    if (!read_value(reader, NULL))
        return false;
    skip_space(reader);
    return reader->at == reader->end || complain(reader, "more than one value");
}

/* Every value but the first has one of these before it. */
static size_t most_values(const char *text, size_t size)
{
    size_t most = 1;

    for (size_t i = 0; i < size; i++)
        most += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return most;
}

bool json_read(struct json_tree *tree, const char *text, size_t size, struct fault *fault)
{
    struct reader reader = {.damage = NULL};
    const size_t most = size > JSON_MOST_BYTES ? 0 : most_values(text, size);

    *tree = (struct json_tree){.bytes = size + 1 + most * sizeof *tree->values};
    if (most == 0)
        return fault_raise(fault, STATUS_INPUT, "JSON of more than %zu MiB", JSON_MOST_BYTES >> 20);
    if (most > JSON_MOST_VALUES)
        return fault_raise(fault, STATUS_INPUT, "JSON of more than %zu values", JSON_MOST_VALUES);
    tree->text = mem_alloc(size + 1, 1, "JSON", fault);
    tree->values = tree->text == NULL ? NULL : mem_zeroed(most, sizeof *tree->values, "JSON", fault);
    if (tree->values == NULL) {
        json_free(tree);
        return false;
    }
    memcpy(tree->text, text, size);
    tree->text[size] = '\0';
    reader.begin = reader.at = tree->text;
    reader.end = tree->text + size;
    reader.values = tree->values;
    if (read_all(&reader))
        return true;
    fault_raise(fault, STATUS_INPUT, "JSON: %s, at byte %zu", reader.damage,
                (size_t)(reader.at - reader.begin));
    json_free(tree);
    return false;
}

void json_free(struct json_tree *tree)
{
    mem_free(tree->values);
    mem_free(tree->text);
    *tree = (struct json_tree){.values = NULL};
}

const struct json_value *json_first(const struct json_value *value)
{
    return value != NULL && value->count > 0 ? value + 1 : NULL;
}

const struct json_value *json_next(const struct json_value *value)
{
    return value->next > 0 ? value + value->next : NULL;
}

const struct json_value *json_member(const struct json_value *object, const char *name)
{
    const struct json_value *found = NULL;

    if (object == NULL || object->kind != JSON_OBJECT)
        return NULL;
    for (const struct json_value *member = json_first(object); member != NULL; member = json_next(member)) {
        if (strcmp(member->name, name) == 0)
            found = member;
    }
    return found;
}

const char *json_text_of(const struct json_value *value)
{
    return value != NULL && value->kind == JSON_TEXT ? value->text : NULL;
}

bool json_is_text(const struct json_value *value, const char *text)
{
    return json_text_of(value) != NULL && strcmp(value->text, text) == 0;
}

bool json_count_of(const struct json_value *value, uint64_t *count)
{
    const char *digits;

    if (value == NULL || value->kind != JSON_NUMBER)
        return false;
    digits = value->text;
    return number_read_count(&digits, count) && strchr(".eE", *digits) == NULL;
}

bool json_counts_of(const struct json_value *value, uint64_t *counts, size_t most, size_t *count)
{
    *count = 0;
    if (value == NULL || value->kind != JSON_ARRAY || value->count > most)
        return false;
    for (const struct json_value *item = json_first(value); item != NULL; item = json_next(item)) {
        if (!json_count_of(item, &counts[(*count)++]))
            return false;
    }
    return true;
}

/* ---- writing what was read ---- */

void json_copy(struct json *json, const char *name, const struct json_value *value)
{
    static const char of_numbers[] = "+-.0123456789eE";

    switch (value->kind) {
    case JSON_NULL:
        json_null(json, name);
        return;
    case JSON_FALSE:
    case JSON_TRUE:
        json_flag(json, name, value->kind == JSON_TRUE);
        return;
    case JSON_NUMBER: /* as it stands, since a double may not hold it */
        if (isfinite(value->number))
            json_format(json, name, "%.*s", (int)strspn(value->text, of_numbers), value->text);
        else
            json_null(json, name);
        return;
    case JSON_TEXT:
        json_text(json, name, value->text);
        return;
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    (value->kind == JSON_ARRAY ? json_begin_array : json_begin_object)(json, name);
    for (const struct json_value *inner = json_first(value); inner != NULL; inner = json_next(inner))
        json_copy(json, inner->name, inner);
    (value->kind == JSON_ARRAY ? json_end_array : json_end_object)(json);
}
