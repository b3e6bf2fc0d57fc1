/* Kinds of files that are of none of our formats: known by how they begin, or by their names. */
#ifndef KIND_H
#define KIND_H

#include <stdbool.h>
#include <stddef.h>

struct kind {
    const char *name;    /* with its article: "a DICOM file" */
    const char *endings; /* of names, as ".dcm .dicom" */
    size_t at;           /* where its mark stands */
    const char *mark;    /* NULL: names alone tell */
    size_t mark_size;
    bool compressed; /* whatever it holds */
};

/* NULL: none of them. */
const struct kind *kind_of_start(const unsigned char *start, size_t size);
const struct kind *kind_of_name(const char *path);

#endif
