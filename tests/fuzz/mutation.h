/* Mutations of inputs that keep their structure: a field of a header becomes another, and what depends on it
   (a length, a checksum) stays right. */
#ifndef MUTATION_H
#define MUTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are to be changed in their place, with room for `most`. */
struct mutation {
    uint8_t *bytes;
    size_t size, most;
    uint64_t chance; /* the state of what is drawn */
};

/* A number below the bound, which is above 0. */
size_t mutation_draw(struct mutation *mutation, size_t bound);

/* Put so many bytes in the place of others; false, and nothing done, where there is no room. */
bool mutation_replace(struct mutation *mutation, size_t at, size_t length, const void *bytes, size_t size);

/* As libFuzzer does it, of a piece that may grow. */
void mutation_scramble(struct mutation *mutation, size_t at, size_t length);

/* One of the whole numbers that tend to be forgotten, or a small one. */
uint64_t mutation_number(struct mutation *mutation);

/* In a piece of text: another number in the place of one, if there is any. */
void mutation_renumber(struct mutation *mutation, size_t at, size_t length);

/* A word of a list with a bar between them: its start and its length. */
const char *mutation_word(struct mutation *mutation, const char *list, size_t *length);

/* Each changes one thing in a file of its format; false where the bytes are not of that format. */
bool mutate_nrrd(struct mutation *mutation);
bool mutate_meta(struct mutation *mutation);
bool mutate_nifti(struct mutation *mutation);
bool mutate_npy(struct mutation *mutation);
bool mutate_tiff(struct mutation *mutation);
bool mutate_png(struct mutation *mutation);

/* What is compressed by gzip, changed as what it is. */
bool mutate_gzip(struct mutation *mutation);

/* A file, as what it begins as; else as libFuzzer does it. */
void mutate_file(struct mutation *mutation);

/* Lines of taps. */
void mutate_taps(struct mutation *mutation);

/* A line of words with tabs between them, which begins at 0 and is so long. */
void mutate_words(struct mutation *mutation, size_t length);

#endif
