/* Suggestions: what somebody may have meant by a word that stands on no list. */
#ifndef SUGGEST_H
#define SUGGEST_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>

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

/* Other programs' words for one of ours, divided by blanks. */
void suggest_others(struct suggestion *suggestion, const char *others, const char *meant);

/* End a fault's text with "; did you mean MEANT?", or as given where nothing is meant (NULL). Returns false.
 */
bool suggest_add(struct fault *fault, const char *meant, const char *otherwise);

/* The text with `to` in the place of whatever people put between numbers, as far as it fits. Returns line. */
const char *suggest_separator(const char *text, char to, char *line, size_t size);

#endif
