/* Lines: messages for standard error, kept until their turn comes. */
#include "lines.h"

#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

void lines_begin(struct lines *lines)
{
    *lines = (struct lines){.text = NULL};
    lines->stream = open_memstream(&lines->text, &lines->size);
    lines->torn = lines->stream == NULL;
}

void lines_end(struct lines *lines)
{
    if (lines->stream != NULL)
        lines->torn = fclose(lines->stream) != 0;
    lines->stream = NULL;
}

void lines_free(struct lines *lines)
{
    free(lines->text);
    *lines = (struct lines){.stream = NULL};
}

void lines_tell(struct lines *lines)
{
    if (lines->size > 0)
        fwrite(lines->text, 1, lines->size, diag_stream());
    lines_free(lines);
}

void lines_tell_new(struct lines *lines, struct lines *told)
{
    if (lines->size > 0 && (told->size != lines->size || memcmp(told->text, lines->text, lines->size) != 0)) {
        fwrite(lines->text, 1, lines->size, diag_stream());
        lines_free(told);
        *told = *lines;
        *lines = (struct lines){.stream = NULL};
    } else {
        lines_free(lines);
    }
}
