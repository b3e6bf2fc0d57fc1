/* Choices: one of a few words, as options take them. */
#include "choice.h"

#include "suggest.h"

#include <string.h>

static bool takes_argument(const struct choice *choice)
{
    return choice->syntax[0] != '\0';
}

bool choice_find(const struct choice *choices, const char *text, int *place, const char **argument)
{
    size_t length = strcspn(text, ":");

    *argument = text[length] == ':' ? text + length + 1 : NULL;
    for (*place = 0; choices[*place].word != NULL; (*place)++) {
        const struct choice *choice = &choices[*place];
        if (strlen(choice->word) == length && strncmp(choice->word, text, length) == 0)
            return *argument == NULL || takes_argument(choice);
    }
    return false;
}

static const char *meant_by(const struct choice *choices, const char *text)
{
    struct suggestion suggestion = suggest_for(text, strcspn(text, ":"));

    for (size_t i = 0; choices[i].word != NULL; i++)
        suggest_name(&suggestion, choices[i].word);
    for (size_t i = 0; choices[i].word != NULL; i++)
        suggest_others(&suggestion, choices[i].others, choices[i].word);
    return suggestion.meant;
}

bool choice_parse(const struct choice *choices, const char *text, int *place, const char **argument,
                  struct fault *fault)
{
    char expected[256];

    if (choice_find(choices, text, place, argument))
        return true;
    fault_raise_about(fault, STATUS_USAGE, text, "expected %s",
                      choice_expected(choices, expected, sizeof expected));
    return suggest_add(fault, meant_by(choices, text), "");
}

const char *choice_list(const struct choice *choices, const struct choice_listing *listing, char *text,
                        size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; choices[i].word != NULL && used < size; i++) {
        const char *divider = i == 0 ? "" : choices[i + 1].word == NULL ? listing->last : listing->between;
        used += (size_t)snprintf(text + used, size - used, "%s%s%s%s", divider, choices[i].word,
                                 listing->with_syntax ? choices[i].syntax : "",
                                 listing->with_default && i == 0 ? " (default)" : "");
    }
    return text;
}

const char *choice_expected(const struct choice *choices, char *text, size_t size)
{
    static const struct choice_listing listing = {", ", " or ", .with_syntax = true};

    return choice_list(choices, &listing, text, size);
}
