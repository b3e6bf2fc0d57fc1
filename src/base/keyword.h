/* Keywords: one of a few words, as options take them. */
#ifndef KEYWORD_H
#define KEYWORD_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A table of keywords ends with {NULL, NULL, NULL}. What a keyword stands for is its place in the table. */
struct keyword {
    const char *word;
    const char *syntax; /* of an argument behind the word, as "[:FILE]"; "" where it takes none */
    const char *others; /* what other programs call it, divided by blanks: not taken, but understood */
};

/* The keyword that a text is, and its argument: what stands behind the colon, NULL without one. */
bool keyword_find(const struct keyword *keywords, const char *text, int *place, const char **argument);

/* The same; what is none of the keywords is refused as "TEXT: expected …", with what may have been meant. */
bool keyword_parse(const struct keyword *keywords, const char *text, int *place, const char **argument,
                   struct fault *fault);

/* How a list of keywords looks: "a (default), b[:V]", say. */
struct keyword_listing {
    const char *between, *last; /* words, and before the last of them */
    bool with_default;          /* that the first one is */
    bool with_syntax;
};

/* Returns text. */
const char *keyword_list(const struct keyword *keywords, const struct keyword_listing *listing, char *text,
                         size_t size);

/* As a refusal lists what it expects: "a, b[:V] or c". Returns text. */
const char *keyword_expected(const struct keyword *keywords, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
