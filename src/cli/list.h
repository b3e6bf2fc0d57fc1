/* What --list prints: filters, rungs, formats, devices. */
#ifndef LIST_H
#define LIST_H

#include <stdio.h>

void list_print(FILE *stream);

/* The same as JSON, on a line. */
void list_print_json(FILE *stream);

#endif
