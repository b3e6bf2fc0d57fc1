/* Keywords: one of a few words, as options take them; and what somebody may have meant by a word that is
 * none. */
#ifndef KEYWORD_H
#define KEYWORD_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A table of keywords ends with {NULL, NULL, NULL}. The value of a keyword is its index in the table. */
struct keyword {
    const char *word;
    const char *syntax; /* of an argument after the word, as "[:FILE]"; "" if it takes none */
    const char *others; /* words of other programs for it, divided by blanks: refused with a suggestion */
};

/* Find the keyword that a text is. *argument is what follows its colon, NULL without one. False if it is
   none, or has an argument that it does not take. */
bool keyword_find(const struct keyword *keywords, const char *text, int *place, const char **argument);

/* Find it or fail with "TEXT: expected ...", and with what may have been meant. */
bool keyword_parse(const struct keyword *keywords, const char *text, int *place, const char **argument,
                   struct fault *fault);

/* How a list of keywords looks: "a (default), b[:V]", say. */
struct keyword_listing {
    const char *between, *last; /* between words, and before the last */
    bool with_default;          /* mark the first word as the default */
    bool with_syntax;
};

/* Write the list; return text. */
const char *keyword_list(const struct keyword *keywords, const struct keyword_listing *listing, char *text,
                         size_t size);

/* Write the list as a refusal has it: "a, b[:V] or c". Return text. */
const char *keyword_expected(const struct keyword *keywords, char *text, size_t size);

/* ---- suggestions ---- */

/* Another program's word for one of ours. A table of them ends with {NULL, NULL}. */
struct alias {
    const char *word, *meant;
};

/* The search for the nearest word. */
struct suggestion {
    const char *word;
    size_t length;
    const char *meant; /* NULL: nothing is near enough */
    size_t distance;
};

/* Begin with the first `length` bytes of a word, then offer what it may mean. Of equally near words the first
   that was offered stays. */
struct suggestion suggest_for(const char *word, size_t length);
void suggest_name(struct suggestion *suggestion, const char *name);
void suggest_aliases(struct suggestion *suggestion, const struct alias *aliases);

/* End a fault's text with "; did you mean MEANT?", or with `otherwise` if meant is NULL. Return false. */
bool suggest_add(struct fault *fault, const char *meant, const char *otherwise);

/* Copy the text with `to` in place of whatever people put between numbers, as far as it fits. Return line. */
const char *suggest_separator(const char *text, char to, char *line, size_t size);

#ifdef __cplusplus
}
#endif

#endif
