/* Fuzz targets: each runs a part of the program on any bytes, and comes back; what it shares with others. */
#ifndef FUZZ_H
#define FUZZ_H

#include "base/diag.h"
#include "cli/options.h"

#include <stddef.h>
#include <stdint.h>

void fuzz_options(const uint8_t *bytes, size_t size);
void fuzz_taps(const uint8_t *bytes, size_t size);
void fuzz_header(const uint8_t *bytes, size_t size);
void fuzz_run(const uint8_t *bytes, size_t size);
void fuzz_zarr(const uint8_t *bytes, size_t size);

/* For the bytes that fuzz_run and fuzz_zarr take. */
struct mutation;
void mutate_run(struct mutation *mutation);
void mutate_zarr(struct mutation *mutation);

/* Read a file, of the format that it begins as if that is NULL, and write a result; what is done with it
   follows from `draw`. */
struct format;
void fuzz_read(const char *path, const struct format *format, size_t draw);

/* The longest line of words, and the most words in it. */
enum { FUZZ_LINE_MOST = 1024, FUZZ_WORDS_MOST = 64 };

/* A command line: the program's name and words, with tabs between them. */
struct fuzz_line {
    char text[FUZZ_LINE_MOST];
    char *words[FUZZ_WORDS_MOST + 1];
    int count;
    enum program program;
};

/* Of the first line of so many bytes, how long it is; and its words, from 1 on: a name stands before them. */
size_t fuzz_line_length(const uint8_t *bytes, size_t size);
void fuzz_split(struct fuzz_line *line, const uint8_t *bytes, size_t length);

/* A file of the current folder, which is in memory and the process's own; and all of them away,
   none of which is a temporary. */
void fuzz_put_file(const char *name, const void *bytes, size_t size);
void fuzz_clear_folder(void);

/* What is told of a failure is one line, has its subject where it says so, and a status that failures have.
 */
void fuzz_check_fault(const struct fault *fault);

/* End as one that was found. */
void fuzz_fail(const char *text);

#endif
