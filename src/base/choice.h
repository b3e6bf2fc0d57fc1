/* Choices: one of a few words, as options take them. */
#ifndef CHOICE_H
#define CHOICE_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A table of choices ends with {NULL, NULL, NULL}. What a choice stands for is its place in the table. */
struct choice {
    const char *word;
    const char *syntax; /* of an argument behind the word, as "[:FILE]"; "" where it takes none */
    const char *others; /* what other programs call it, divided by blanks: not taken, but understood */
};

/* The choice that a text is, and its argument: what stands behind the colon, NULL without one. */
bool choice_find(const struct choice *choices, const char *text, int *place, const char **argument);

/* The same; what is none of the choices is refused as "TEXT: expected …", with what may have been meant. */
bool choice_parse(const struct choice *choices, const char *text, int *place, const char **argument,
                  struct fault *fault);

/* How a list of choices looks: "a (default), b[:V]", say. */
struct choice_listing {
    const char *between, *last; /* words, and before the last of them */
    bool with_default;          /* that the first one is */
    bool with_syntax;
};

/* Returns text. */
const char *choice_list(const struct choice *choices, const struct choice_listing *listing, char *text,
                        size_t size);

/* As a refusal lists what it expects: "a, b[:V] or c". Returns text. */
const char *choice_expected(const struct choice *choices, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
