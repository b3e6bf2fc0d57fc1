/* What --list prints: filters, rungs, formats, devices. */
#ifndef LIST_H
#define LIST_H

#include <stdio.h>

void list_print(FILE *stream);

/* Print the same lists as one line of JSON. */
void list_print_json(FILE *stream);

#endif
