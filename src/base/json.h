/* JSON: the texts and numbers of reports. */
#ifndef JSON_H
#define JSON_H

#include <stdio.h>

/* A string, quoted. Text may hold any bytes; JSON is UTF-8, so what is none becomes U+FFFD. */
void json_text(FILE *stream, const char *text);

/* "name": value. JSON has no word for what is not finite: it becomes null. */
void json_number(FILE *stream, const char *name, double value);

#endif
