/* Mutations of a command line: an option and what it takes, from the program's own tables, comes, goes or
 * changes. */
#include "mutation.h"

#include "model/filter.h"
#include "cli/option.h"

#include <stdio.h>
#include <string.h>

enum { WORD_MOST = 256 };

/* Of options whose values are no choices. */
static const char values[] =
    "0|1|2|3|16|-1|0.5|1e9|nan|inf|1,1|2,3,4|4,3,2|0.5,0.5,2|1e-100,1,1|1:3|1:|:2|0:2,1:3|"
    "0:1,0:1,0:1|1/2|2/2|1/3|z=1|x=0|y=2|-5,5|auto|0,0|8K|1G|1x2|32x4|2:t.nrrd|1:t.tif|"
    "3:t%d.png|t%02d.png|o.nrrd|o.nii.gz|o.tif|o.png|o%d.png|o.raw|o.raw.gz|o.mha|o.mhd|"
    "o.nhdr|o.npy|o.hdr|in.nrrd|in%d.png|p.png|json:r.json|text:r.txt|naive|fused|tiles";

/* What may stand behind the name of a filter. */
static const char arguments[] =
    "1|2|0.7|1u|1.5u|3|8|x|y|z|1,2|2,-1|0.8,1.5|-1,2,-1,2,-1,2,-1|1,2,3,4|taps.txt|"
    "1 2 1; 2 4 2; 1 2 1/16|0 1; 1 0|1 -2 1|-1|nan|1e9|"
    "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1";

static void print_filter(struct mutation *mutation, char text[WORD_MOST])
{
    size_t count = 0, length = 0;
    const char *word = "", *name;

    while (filter_list[count].name != NULL)
        count++;
    name = filter_list[mutation_draw(mutation, count)].name;
    if (mutation_draw(mutation, 3) > 0)
        word = mutation_word(mutation, arguments, &length);
    snprintf(text, WORD_MOST, "%s%s%.*s", name, length > 0 ? ":" : "", (int)length, word);
}

static void print_value(struct mutation *mutation, const struct option_row *row, char text[WORD_MOST])
{
    size_t length = 0;
    const char *word;

    if (strcmp(row->argument, "SPEC") == 0) {
        print_filter(mutation, text);
    } else if (row->keywords != NULL && mutation_draw(mutation, 8) > 0) {
        while (row->keywords[length].word != NULL)
            length++;
        snprintf(text, WORD_MOST, "%s", row->keywords[mutation_draw(mutation, length)].word);
    } else {
        word = mutation_word(mutation, values, &length);
        snprintf(text, WORD_MOST, "%.*s", (int)length, word);
    }
}

/* A tab, an option, and mostly what it takes. Returns the length. */
static size_t print_option(struct mutation *mutation, char text[2 * WORD_MOST])
{
    const struct option_row *row = &option_table[mutation_draw(mutation, OPTIONS)];
    char value[WORD_MOST] = "";
    bool takes = row->argument != NULL && mutation_draw(mutation, 16) > 0;

    if (takes)
        print_value(mutation, row, value);
    if (row->name == NULL || (row->letter != 0 && mutation_draw(mutation, 2) == 0))
        return (size_t)snprintf(text, 2 * WORD_MOST, "\t-%c%s", row->letter, value);
    return (size_t)snprintf(text, 2 * WORD_MOST, "\t--%s%s%s", row->name, takes ? "=" : "", value);
}

/* Where a word and the tab before it begin, and how long they are; the first one is the program's name. */
static size_t draw_word(struct mutation *mutation, size_t size, size_t *length)
{
    size_t at = mutation_draw(mutation, size + 1), end;

    while (at > 0 && (at == size || mutation->bytes[at] != '\t'))
        at--;
    for (end = at; end < size && (end == at || mutation->bytes[end] != '\t');)
        end++;
    *length = end - at;
    return at;
}

static void repeat_word(struct mutation *mutation, size_t at, size_t length)
{
    char copy[WORD_MOST];

    if (length > sizeof copy)
        return;
    memcpy(copy, mutation->bytes + at, length);
    mutation_replace(mutation, at, 0, copy, length);
}

static void change_value(struct mutation *mutation, size_t at, size_t length)
{
    char text[WORD_MOST] = "\t";
    size_t size;
    const char *value = mutation_word(mutation, values, &size);

    memcpy(text + 1, value, size);
    mutation_replace(mutation, at, length, text, size + 1);
}

void mutate_words(struct mutation *mutation, size_t size)
{
    size_t length, at = draw_word(mutation, size, &length);
    char text[2 * WORD_MOST];

    switch (mutation_draw(mutation, 9)) {
    case 0:
    case 1:
        mutation_replace(mutation, at + length, 0, text, print_option(mutation, text));
        break;
    case 2:
    case 3:
        mutation_replace(mutation, at, length, text, print_option(mutation, text));
        break;
    case 4:
        mutation_replace(mutation, at, length, NULL, 0);
        break;
    case 5:
        repeat_word(mutation, at, length);
        break;
    case 6:
        change_value(mutation, at, length);
        break;
    case 7:
        mutation_scramble(mutation, at, length);
        break;
    default:
        mutation_renumber(mutation, at, length);
    }
}
