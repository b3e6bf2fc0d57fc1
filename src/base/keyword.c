/* Keywords: one of a few words, as options take them; and what somebody may have meant by another word. */
#include "keyword.h"

#include "size.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- suggestions ---- */

#define MOST_LETTERS 40 /* of a word that is looked at */

/* A word is near another one if at most every fourth letter has to change, or if it is its beginning. */
#define LETTERS_A_CHANGE 4
#define LEAST_BEGINNING  3

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Letters to change, put in, take out, or swap with the next one (Damerau and Levenshtein). */
static size_t count_changes(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t changes[MOST_LETTERS + 1][MOST_LETTERS + 1];

    for (size_t i = 0; i <= a_length; i++) {
        for (size_t k = 0; k <= b_length; k++) {
            size_t *here = &changes[i][k];
            if (i == 0 || k == 0) {
                *here = i + k;
                continue;
            }
            *here = size_least(changes[i - 1][k] + 1, changes[i][k - 1] + 1);
            *here = size_least(*here, changes[i - 1][k - 1] + !same_letter(a[i - 1], b[k - 1]));
            if (i > 1 && k > 1 && same_letter(a[i - 1], b[k - 2]) && same_letter(a[i - 2], b[k - 1]))
                *here = size_least(*here, changes[i - 2][k - 2] + 1);
        }
    }
    return changes[a_length][b_length];
}

/* Compare a word with what was typed, and keep what it means if it is the nearest so far. */
static void offer(struct suggestion *suggestion, const char *name, size_t length, const char *meant,
                  bool beginnings)
{
    size_t longer = length > suggestion->length ? length : suggestion->length;
    size_t distance;

    /* The table of count_changes has room for this many letters; longer words are nobody's typing errors. */
    if (longer > MOST_LETTERS || suggestion->length == 0)
        return;
    distance = count_changes(suggestion->word, suggestion->length, name, length);
    if (beginnings && suggestion->length >= LEAST_BEGINNING && suggestion->length < length &&
        strncasecmp(name, suggestion->word, suggestion->length) == 0)
        distance = 1;
    else if (distance * LETTERS_A_CHANGE > longer)
        return;
    if (suggestion->meant == NULL || distance < suggestion->distance) {
        suggestion->meant = meant;
        suggestion->distance = distance;
    }
}

struct suggestion suggest_for(const char *word, size_t length)
{
    return (struct suggestion){.word = word, .length = length};
}

void suggest_name(struct suggestion *suggestion, const char *name)
{
    offer(suggestion, name, strlen(name), name, true);
}

void suggest_aliases(struct suggestion *suggestion, const struct alias *aliases)
{
    for (; aliases->word != NULL; aliases++)
        offer(suggestion, aliases->word, strlen(aliases->word), aliases->meant, false);
}

bool suggest_add(struct fault *fault, const char *meant, const char *otherwise)
{
    diag_append(fault->text, sizeof fault->text, meant != NULL ? "; did you mean %s?" : "%s",
                meant != NULL ? meant : otherwise);
    return false;
}

const char *suggest_separator(const char *text, char to, char *line, size_t size)
{
    static const char separators[] = "xX*,;:/ ";
    size_t length = size_least(strlen(text), size - 1);

    for (size_t i = 0; i < length; i++)
        line[i] = strchr(separators, text[i]) != NULL ? to : text[i];
    line[length] = '\0';
    return line;
}

/* ---- keywords ---- */

bool keyword_find(const struct keyword *keywords, const char *text, int *place, const char **argument)
{
    size_t length = strcspn(text, ":");

    *argument = text[length] == ':' ? text + length + 1 : NULL;
    for (*place = 0; keywords[*place].word != NULL; (*place)++) {
        const struct keyword *keyword = &keywords[*place];
        if (strlen(keyword->word) == length && strncmp(keyword->word, text, length) == 0)
            return *argument == NULL || keyword->syntax[0] != '\0';
    }
    return false;
}

/* Offer other programs' words for one of ours, divided by blanks. */
static void offer_others(struct suggestion *suggestion, const char *others, const char *meant)
{
    while (*others != '\0') {
        size_t length = strcspn(others, " ");
        offer(suggestion, others, length, meant, false);
        others += length;
        others += strspn(others, " ");
    }
}

static const char *meant_by(const struct keyword *keywords, const char *text)
{
    struct suggestion suggestion = suggest_for(text, strcspn(text, ":"));

    for (size_t i = 0; keywords[i].word != NULL; i++)
        suggest_name(&suggestion, keywords[i].word);
    for (size_t i = 0; keywords[i].word != NULL; i++)
        offer_others(&suggestion, keywords[i].others, keywords[i].word);
    return suggestion.meant;
}

bool keyword_parse(const struct keyword *keywords, const char *text, int *place, const char **argument,
                   struct fault *fault)
{
    char expected[256];

    if (keyword_find(keywords, text, place, argument))
        return true;
    fault_set_for(fault, STATUS_USAGE, text, "expected %s",
                  keyword_expected(keywords, expected, sizeof expected));
    return suggest_add(fault, meant_by(keywords, text), "");
}

const char *keyword_list(const struct keyword *keywords, const struct keyword_listing *listing, char *text,
                         size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; keywords[i].word != NULL; i++) {
        const char *divider = i == 0 ? "" : keywords[i + 1].word == NULL ? listing->last : listing->between;
        diag_append(text, size, "%s%s%s%s", divider, keywords[i].word,
                    listing->with_syntax ? keywords[i].syntax : "",
                    listing->with_default && i == 0 ? " (default)" : "");
    }
    return text;
}

const char *keyword_expected(const struct keyword *keywords, char *text, size_t size)
{
    static const struct keyword_listing listing = {", ", " or ", .with_syntax = true};

    return keyword_list(keywords, &listing, text, size);
}
