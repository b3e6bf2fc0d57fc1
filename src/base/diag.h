/* Faults, which functions pass up to main, and messages: one line each on standard error, never on standard
 * output. */
#ifndef DIAG_H
#define DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The exit statuses of both commands. */
enum status {
#define STATUS(name, number, words) STATUS_##name = number,
#include "statuses.def"
};

/* The status of two pieces of work, one after the other: that of the first one that failed. --until that was
   not reached counts as a failure only if nothing else failed, for its output is complete. */
enum status status_of_both(enum status first, enum status second);

/* Room for the longest path and a reason. */
#define DIAG_TEXT 5120

/* One failure on its way up to main. Text has no program name, no newline and no final dot. If it begins with
   what it is about (a file, an option), `subject` is the length of that, and ": " and the reason follow. */
struct fault {
    enum status status;
    size_t subject; /* 0: it names none */
    char text[DIAG_TEXT];
};

#if defined(__GNUC__)
#define DIAG_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#else
#define DIAG_PRINTF(format_index, first_index)
#endif

/* Fill fault and return false, so that a failing function ends with `return fault_raise(…)`. */
bool fault_raise(struct fault *fault, enum status status, const char *format, ...) DIAG_PRINTF(3, 4);

/* Fill a fault whose text is "subject: " and the reason that the format gives; return false. */
bool fault_set_for(struct fault *fault, enum status status, const char *subject, const char *format, ...)
    DIAG_PRINTF(4, 5);

/* Put "subject: " before the text of a fault that a deeper function raised; return false. */
bool fault_prefix(struct fault *fault, const char *subject);

/* Whether the subject of the fault is this text. */
bool fault_is_about(const struct fault *fault, const char *subject);

/* The text without its subject. */
const char *fault_reason(const struct fault *fault);

/* Append what printf would print to a text that has room for `size` bytes; what does not fit is cut off. */
void diag_append(char *text, size_t size, const char *format, ...) DIAG_PRINTF(3, 4);

/* What goes before the next item of a list: nothing if the list is empty, else a comma. */
const char *diag_comma(const char *list);

/* Text as one printable line: control bytes in octal. Returns line. */
const char *diag_printable(const char *text, char *line, size_t size);

enum diag_level { DIAG_QUIET, DIAG_NORMAL, DIAG_VERBOSE };

/* Name the program for every later line; call once, first. */
void diag_open(const char *program);
void diag_set_level(enum diag_level level);
enum diag_level diag_level(void);

/* The stream for this thread's messages: standard error, or what it was redirected to; NULL ends that. */
FILE *diag_stream(void);
void diag_redirect(FILE *stream);

/* One line each: an error always, which gives its status; a note unless quiet; a detail only when verbose. */
enum status diag_error(const struct fault *fault);
void diag_note(const char *format, ...) DIAG_PRINTF(1, 2);
void diag_detail(const char *format, ...) DIAG_PRINTF(1, 2);

#ifdef __cplusplus
}
#endif

#endif
