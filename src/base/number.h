/* Numbers as the command line writes them: the whole text or nothing. */
#ifndef NUMBER_H
#define NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A finite decimal or hexadecimal floating-point number. */
bool number_parse_double(const char *text, double *value);

/* Read the digits that *text begins with, and move it behind them. False, and *text stays, if there are none,
   or if they are of too large a number. */
bool number_read_count(const char **text, uint64_t *value);

/* Digits alone: no sign, no space. */
bool number_parse_count(const char *text, uint64_t *value);

/* A count of bytes: digits, then nothing or one of K M G T (powers of 1024), with or without iB or B. Before
   such a letter there may be a fraction ("1.5G"); the count is rounded down. */
bool number_parse_bytes(const char *text, uint64_t *value);

/* Parse `least` to `most` finite numbers with `separator` between them into `values`; *count says how many
   there are. */
bool number_parse_list(const char *text, char separator, size_t least, size_t most, double *values,
                       size_t *count);

/* The order of two doubles, neither of which is NaN, for qsort. */
int number_compare(const void *left, const void *right);

/* A number as text. It is returned as a value: the text of `number_format_bytes(1536.0).text` lives to the
   end of the statement. */
struct number_printed {
    char text[32];
};

/* Format a number for a file, with no more digits than it takes to read the same double again: "0.7". */
struct number_printed number_format_double(double value);

/* Format bytes: "1.5 GiB". */
struct number_printed number_format_bytes(double bytes);

/* Format factors: "640 x 480 x 3". There is room for five of any size. */
struct number_product {
    char text[113];
};

struct number_product number_format_product(const size_t *factors, size_t count);

/* The ending of a noun after a count: "" after 1, else "s". */
const char *number_plural(uint64_t count);

/* Format a share of a whole above 0: "12 %". Only nothing is 0 %, and only everything 100 %. */
struct number_printed number_format_share(uint64_t part, uint64_t whole);

/* Format a time: "0.012 ms", "350 ms", "12.3 s", "5 min 20 s". */
struct number_printed number_format_seconds(double seconds);

#endif
