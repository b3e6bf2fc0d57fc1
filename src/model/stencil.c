/* Stencils: taps in raster order of their offsets, made one by one or read from a file.

   The order fixes the bytes of a result: every kernel adds the products in raster order, whatever the order
   in which taps were given. */
#include "stencil.h"

#include "base/mem.h"
#include "base/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS      4 /* of a line of a taps file */
#define LINE_BYTES 254
#define MOST_LINES 1000000

/* Raster order: by z, then y, then x. */
static bool comes_before(const struct tap *a, const struct tap *b)
{
    if (a->dz != b->dz)
        return a->dz < b->dz;
    if (a->dy != b->dy)
        return a->dy < b->dy;
    return a->dx < b->dx;
}

/* The place for a tap in raster order. */
static size_t place_of(const struct stencil *stencil, const struct tap *tap)
{
    size_t low = 0, high = stencil->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (comes_before(&stencil->taps[middle], tap))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool stencil_add(struct stencil *stencil, int dx, int dy, int dz, double weight, struct fault *fault)
{
    struct tap tap = {dx, dy, dz, weight}, *taps;
    size_t place = place_of(stencil, &tap);

    if (abs(dx) > STENCIL_REACH || abs(dy) > STENCIL_REACH || abs(dz) > STENCIL_REACH)
        return fault_raise(fault, STATUS_USAGE, "the tap at %d %d %d reaches farther than %d samples", dx, dy,
                           dz, STENCIL_REACH);
    /* The place has a tap that does not come after this one: it is the same offset. */
    if (place < stencil->count && !comes_before(&tap, &stencil->taps[place]))
        return fault_raise(fault, STATUS_USAGE, "the tap at %d %d %d is given twice", dx, dy, dz);
    /* A weight of 0 makes no tap, but only after its offset was checked like that of any other. */
    if (weight == 0.0)
        return true;
    taps = mem_grow(stencil->taps, stencil->count, &stencil->capacity, sizeof tap, "the taps", fault);
    if (taps == NULL)
        return false;
    stencil->taps = taps;
    memmove(stencil->taps + place + 1, stencil->taps + place, (stencil->count - place) * sizeof tap);
    stencil->taps[place] = tap;
    stencil->count++;
    return true;
}

bool stencil_add_faces(struct stencil *stencil, unsigned axes, int distance, const double weight[3],
                       struct fault *fault)
{
    for (unsigned axis = 0; axis < axes; axis++) {
        int dx = axis == 0 ? distance : 0, dy = axis == 1 ? distance : 0, dz = axis == 2 ? distance : 0;
        if (!stencil_add(stencil, dx, dy, dz, weight[axis], fault) ||
            !stencil_add(stencil, -dx, -dy, -dz, weight[axis], fault))
            return false;
    }
    return true;
}

void stencil_flip(struct stencil *stencil)
{
    for (size_t i = 0; i < stencil->count; i++) {
        struct tap *tap = &stencil->taps[i];
        tap->dx = -tap->dx;
        tap->dy = -tap->dy;
        tap->dz = -tap->dz;
    }
    /* Negation reverses raster order exactly. */
    for (size_t i = 0; i < stencil->count / 2; i++) {
        struct tap swapped = stencil->taps[i];
        stencil->taps[i] = stencil->taps[stencil->count - 1 - i];
        stencil->taps[stencil->count - 1 - i] = swapped;
    }
}

/* Raster order puts a tap as far from the start as its mirror image lies from the end. */
bool stencil_is_symmetric(const struct stencil *stencil)
{
    for (size_t i = 0; i < stencil->count; i++) {
        const struct tap *tap = &stencil->taps[i], *image = &stencil->taps[stencil->count - 1 - i];
        if (tap->dx != -image->dx || tap->dy != -image->dy || tap->dz != -image->dz ||
            tap->weight != image->weight)
            return false;
    }
    return true;
}

double stencil_sum(const struct stencil *stencil)
{
    double sum = 0.0;

    for (size_t i = 0; i < stencil->count; i++)
        sum += stencil->taps[i].weight;
    return sum;
}

/* No two taps have the same offset. */
bool stencil_stays_at_centre(const struct stencil *stencil)
{
    const struct tap *tap = stencil->taps;

    return stencil->count == 0 || (stencil->count == 1 && tap->dx == 0 && tap->dy == 0 && tap->dz == 0);
}

unsigned stencil_axes(const struct stencil *stencil)
{
    unsigned axes = 1;

    for (size_t i = 0; i < stencil->count && axes < 3; i++) {
        if (stencil->taps[i].dz != 0)
            axes = 3;
        else if (stencil->taps[i].dy != 0)
            axes = 2;
    }
    return axes;
}

void stencil_free(struct stencil *stencil)
{
    mem_free(stencil->taps);
    *stencil = (struct stencil){0};
}

/* ---- taps files: a tap a line, dx dy dz weight; # begins a comment ---- */

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

/* A tap of the file, with its line for refusals. */
struct given_tap {
    struct tap tap;
    size_t line;
};

/* A file under way. Its taps are put into the stencil when all are there, in the stencil's order: a tap that
   goes between others would move all behind it. */
struct reading {
    FILE *file;
    size_t line;
    struct given_tap *taps;
    size_t count, capacity;
};

static bool keep_words(struct reading *reading, const char *const words[WORDS], struct fault *fault)
{
    struct given_tap *taps;
    double value[WORDS];

    for (size_t i = 0; i < WORDS; i++) {
        if (!number_parse_double(words[i], &value[i]))
            return refuse_line(fault);
        /* Farther offsets are refused as such by the stencil; these keep the conversion to int defined. */
        if (i < 3 && (value[i] != floor(value[i]) || fabs(value[i]) > 2.0 * STENCIL_REACH))
            return refuse_line(fault);
    }
    taps = mem_grow(reading->taps, reading->count, &reading->capacity, sizeof *taps, "the taps", fault);
    if (taps == NULL)
        return false;
    reading->taps = taps;
    taps[reading->count++] =
        (struct given_tap){{(int)value[0], (int)value[1], (int)value[2], value[3]}, reading->line};
    return true;
}

static bool keep_line(struct reading *reading, char *line, size_t length, struct fault *fault)
{
    const char *words[WORDS + 1];
    size_t count;

    if (reading->line > MOST_LINES)
        return fault_raise(fault, STATUS_INPUT, "more than %d lines", MOST_LINES);
    if (memchr(line, '\0', length) != NULL)
        return refuse_line(fault);
    count = cut_words(line, words);
    if (count == 0)
        return true;
    return count == WORDS ? keep_words(reading, words, fault) : refuse_line(fault);
}

/* The next line without its end, or nothing where there is none; what is too long is refused before it is
 * there. */
static bool read_line(struct reading *reading, char line[LINE_BYTES + 1], size_t *length, bool *found,
                      struct fault *fault)
{
    int byte;

    *length = 0;
    while ((byte = getc(reading->file)) != EOF && byte != '\n') {
        if (*length == LINE_BYTES)
            return fault_raise(fault, STATUS_INPUT, "longer than %d bytes", LINE_BYTES);
        line[(*length)++] = (char)byte;
    }
    line[*length] = '\0';
    *found = byte != EOF || *length > 0;
    return true;
}

static bool prefix_line(size_t line, struct fault *fault)
{
    char place[64];

    snprintf(place, sizeof place, "line %zu", line);
    return fault_prefix(fault, place);
}

/* Read all lines; a refusal names the line. */
static bool read_lines(struct reading *reading, struct fault *fault)
{
    char line[LINE_BYTES + 1];
    bool found = true, kept = true;
    size_t length;

    while (kept && found) {
        reading->line++;
        kept = read_line(reading, line, &length, &found, fault);
        kept = kept && (!found || keep_line(reading, line, length, fault));
    }
    if (!kept)
        return prefix_line(reading->line, fault);
    if (ferror(reading->file))
        return fault_raise(fault, STATUS_IO, "%s", strerror(errno));
    return reading->count > 0 || fault_raise(fault, STATUS_INPUT, "no tap");
}

static int compare_taps(const void *left, const void *right)
{
    const struct given_tap *a = left, *b = right;

    if (comes_before(&a->tap, &b->tap))
        return -1;
    if (comes_before(&b->tap, &a->tap))
        return 1;
    return a->line < b->line ? -1 : 1;
}

static bool add_taps(struct reading *reading, struct stencil *stencil, struct fault *fault)
{
    qsort(reading->taps, reading->count, sizeof *reading->taps, compare_taps);
    for (size_t i = 0; i < reading->count; i++) {
        const struct tap *tap = &reading->taps[i].tap;
        if (stencil_add(stencil, tap->dx, tap->dy, tap->dz, tap->weight, fault))
            continue;
        /* A fault in a file is no fault of the command line. */
        if (fault->status == STATUS_USAGE)
            fault->status = STATUS_INPUT;
        return prefix_line(reading->taps[i].line, fault);
    }
    return true;
}

bool stencil_read(const char *path, struct stencil *stencil, struct fault *fault)
{
    struct reading reading = {.file = fopen(path, "re")};
    bool read;

    if (reading.file == NULL)
        return fault_set_for(fault, STATUS_IO, path, "%s", strerror(errno));
    read = read_lines(&reading, fault) && add_taps(&reading, stencil, fault);
    mem_free(reading.taps);
    fclose(reading.file);
    return read || fault_prefix(fault, path);
}
