/* The one place that writes to standard error. */
#include "diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *diag_program = "voxfilt";
static enum diag_level diag_current = DIAG_NORMAL;

bool fault_raise(struct fault *fault, enum status status, const char *format, ...)
{
    va_list arguments;

    fault->status = status;
    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    return false;
}

bool fault_prefix(struct fault *fault, const char *prefix)
{
    char text[sizeof fault->text];

    memcpy(text, fault->text, sizeof text);
    return fault_raise(fault, fault->status, "%s: %s", prefix, text);
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

/* A file name may hold anything; a message is one line of printable text whatever it quotes. */
static void write_line(const char *text)
{
    char line[2048];
    size_t used = 0;

    for (; *text != '\0' && used + 5 < sizeof line; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte == 0x7f)
            used += (size_t)snprintf(line + used, 5, "\\%03o", byte);
        else
            line[used++] = *text;
    }
    line[used] = '\0';
    fprintf(stderr, "%s: %s\n", diag_program, line);
}

static void write_format(const char *format, va_list arguments) DIAG_PRINTF(1, 0);

static void write_format(const char *format, va_list arguments)
{
    char text[1024];

    vsnprintf(text, sizeof text, format, arguments);
    write_line(text);
}

void diag_error(const struct fault *fault)
{
    write_line(fault->text);
}

void diag_note(const char *format, ...)
{
    va_list arguments;

    if (diag_current < DIAG_NORMAL)
        return;
    va_start(arguments, format);
    write_format(format, arguments);
    va_end(arguments);
}

void diag_detail(const char *format, ...)
{
    va_list arguments;

    if (diag_current < DIAG_VERBOSE)
        return;
    va_start(arguments, format);
    write_format(format, arguments);
    va_end(arguments);
}
