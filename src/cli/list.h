/* What --list prints: filters, rungs, formats, devices. */
#ifndef LIST_H
#define LIST_H

#include <stdio.h>

void list_print(FILE *stream);

#endif
