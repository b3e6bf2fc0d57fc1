/* Taps files: a tap a line, dx dy dz weight; # begins a comment. */
#include "taps_file.h"

#include "number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 4

/* Cut a line into words; how many there are, or WORDS + 1 for more than a tap has. */
static size_t cut_words(char *line, const char *words[WORDS + 1])
{
    char *rest = NULL;
    size_t count = 0;

    line[strcspn(line, "#\r\n")] = '\0';
    for (char *word = strtok_r(line, " \t", &rest); word != NULL && count <= WORDS;
         word = strtok_r(NULL, " \t", &rest))
        words[count++] = word;
    return count;
}

static bool refuse_line(struct fault *fault)
{
    return fault_raise(fault, STATUS_INPUT, "a tap is three whole offsets and a weight: dx dy dz w");
}

static bool add_words(const char *const words[WORDS], struct stencil *stencil, struct fault *fault)
{
    double value[WORDS];

    for (size_t i = 0; i < WORDS; i++) {
        if (!number_parse_double(words[i], &value[i]))
            return refuse_line(fault);
        /* Farther offsets are refused as such by the stencil; these keep the conversion to int defined. */
        if (i < 3 && (value[i] != floor(value[i]) || fabs(value[i]) > 2.0 * STENCIL_REACH))
            return refuse_line(fault);
    }
    if (stencil_add(stencil, (int)value[0], (int)value[1], (int)value[2], value[3], fault))
        return true;
    /* What is wrong in a file is no matter of usage. */
    if (fault->status == STATUS_USAGE)
        fault->status = STATUS_INPUT;
    return false;
}

static bool add_line(char *line, size_t length, struct stencil *stencil, struct fault *fault)
{
    const char *words[WORDS + 1];
    size_t count;

    if (memchr(line, '\0', length) != NULL)
        return refuse_line(fault);
    count = cut_words(line, words);
    if (count == 0)
        return true;
    return count == WORDS ? add_words(words, stencil, fault) : refuse_line(fault);
}

static bool add_lines(FILE *file, const char *path, struct stencil *stencil, struct fault *fault)
{
    char *line = NULL, place[64];
    size_t capacity = 0, number = 1;
    ssize_t length;
    bool added = true;

    for (; added && (length = getline(&line, &capacity, file)) >= 0; number++)
        added = add_line(line, (size_t)length, stencil, fault);
    free(line);
    if (!added) {
        snprintf(place, sizeof place, "line %zu", number - 1);
        fault_prefix(fault, place);
        return fault_prefix(fault, path);
    }
    if (ferror(file))
        return fault_raise(fault, STATUS_IO, "%s: %s", path, strerror(errno));
    return true;
}

bool taps_file_read(const char *path, struct stencil *stencil, struct fault *fault)
{
    FILE *file = fopen(path, "re");
    bool read;

    if (file == NULL)
        return fault_raise(fault, STATUS_IO, "%s: %s", path, strerror(errno));
    read = add_lines(file, path, stencil, fault);
    fclose(file);
    return read;
}
