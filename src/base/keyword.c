/* Keywords: one of a few words, as options take them. */
#include "keyword.h"

#include "suggest.h"

#include <string.h>

static bool takes_argument(const struct keyword *keyword)
{
    return keyword->syntax[0] != '\0';
}

bool keyword_find(const struct keyword *keywords, const char *text, int *place, const char **argument)
{
    size_t length = strcspn(text, ":");

    *argument = text[length] == ':' ? text + length + 1 : NULL;
    for (*place = 0; keywords[*place].word != NULL; (*place)++) {
        const struct keyword *keyword = &keywords[*place];
        if (strlen(keyword->word) == length && strncmp(keyword->word, text, length) == 0)
            return *argument == NULL || takes_argument(keyword);
    }
    return false;
}

static const char *meant_by(const struct keyword *keywords, const char *text)
{
    struct suggestion suggestion = suggest_for(text, strcspn(text, ":"));

    for (size_t i = 0; keywords[i].word != NULL; i++)
        suggest_name(&suggestion, keywords[i].word);
    for (size_t i = 0; keywords[i].word != NULL; i++)
        suggest_others(&suggestion, keywords[i].others, keywords[i].word);
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
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; keywords[i].word != NULL && used < size; i++) {
        const char *divider = i == 0 ? "" : keywords[i + 1].word == NULL ? listing->last : listing->between;
        used += (size_t)snprintf(text + used, size - used, "%s%s%s%s", divider, keywords[i].word,
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
