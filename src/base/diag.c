/* Faults and messages: what went wrong, in one line on standard error. */
#include "diag.h"

#include <stdarg.h>
#include <string.h>

/* Between a fault's subject and its reason. */
static const char separator[] = ": ";

static const char *diag_program = "voxfilt";
static enum diag_level diag_current = DIAG_NORMAL;
/* Each of several runs at once has a thread that keeps its messages until their turn comes. */
static _Thread_local FILE *diag_diverted;

enum status status_of_both(enum status first, enum status second)
{
    /* The second piece of work counts only where the first left its output complete. */
    bool complete = first == STATUS_DONE || first == STATUS_UNREACHED;

    if (!complete || second == STATUS_DONE)
        return first;
    return second;
}

bool fault_raise(struct fault *fault, enum status status, const char *format, ...)
{
    va_list arguments;

    fault->status = status;
    fault->subject = 0;
    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    return false;
}

bool fault_set_for(struct fault *fault, enum status status, const char *subject, const char *format, ...)
{
    va_list arguments;

    fault->status = status;
    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    return fault_prefix(fault, subject);
}

/* A subject that leaves no room for a reason is cut off. */
bool fault_prefix(struct fault *fault, const char *subject)
{
    char reason[sizeof fault->text];
    size_t length = strlen(subject), most = sizeof reason - sizeof separator;

    memcpy(reason, fault->text, sizeof reason);
    length = length < most ? length : most;
    fault_raise(fault, fault->status, "%.*s%s%s", (int)length, subject, separator, reason);
    fault->subject = length;
    return false;
}

bool fault_is_about(const struct fault *fault, const char *subject)
{
    return fault->subject == strlen(subject) && memcmp(fault->text, subject, fault->subject) == 0;
}

const char *fault_reason(const struct fault *fault)
{
    return fault->subject == 0 ? fault->text : fault->text + fault->subject + strlen(separator);
}

void diag_open(const char *program)
{
    diag_program = program;
}

void diag_set_level(enum diag_level level)
{
    diag_current = level;
}

enum diag_level diag_level(void)
{
    return diag_current;
}

void diag_append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

const char *diag_comma(const char *list)
{
    return *list != '\0' ? ", " : "";
}

const char *diag_printable(const char *text, char *line, size_t size)
{
    size_t used = 0;

    /* An escape takes four bytes, and the zero that snprintf puts behind it a fifth. */
    for (; *text != '\0' && used + 5 < size; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte == 0x7f)
            used += (size_t)snprintf(line + used, 5, "\\%03o", byte);
        else
            line[used++] = *text;
    }
    line[used] = '\0';
    return line;
}

FILE *diag_stream(void)
{
    return diag_diverted != NULL ? diag_diverted : stderr;
}

void diag_redirect(FILE *stream)
{
    diag_diverted = stream;
}

/* A file name may hold anything; a message is one line whatever it quotes. */
static void write_line(const char *text)
{
    char line[DIAG_TEXT];

    diag_printable(text, line, sizeof line);
    /* Where memory ends, a line out of its place is better than none. */
    if (fprintf(diag_stream(), "%s: %s\n", diag_program, line) < 0 && diag_diverted != NULL)
        fprintf(stderr, "%s: %s\n", diag_program, line);
}

static void write_at(enum diag_level level, const char *format, va_list arguments) DIAG_PRINTF(2, 0);

static void write_at(enum diag_level level, const char *format, va_list arguments)
{
    char text[DIAG_TEXT];

    if (diag_current < level)
        return;
    vsnprintf(text, sizeof text, format, arguments);
    write_line(text);
}

enum status diag_error(const struct fault *fault)
{
    write_line(fault->text);
    return fault->status;
}

void diag_note(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_at(DIAG_NORMAL, format, arguments);
    va_end(arguments);
}

void diag_detail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_at(DIAG_VERBOSE, format, arguments);
    va_end(arguments);
}
