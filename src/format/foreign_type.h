/* Types of files that are of none of our formats: known by how they begin, or by their names. */
#ifndef FOREIGN_TYPE_H
#define FOREIGN_TYPE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

struct foreign_type {
    const char *name;    /* with its article: "a DICOM file" */
    const char *endings; /* of names, as ".dcm .dicom" */
    const char *hint;    /* what makes something of it that is read */
    size_t at;           /* the offset of its mark in the file */
    const char *mark;    /* NULL: names alone tell */
    size_t mark_size;
    bool compressed; /* it may hold anything, so that its name alone says nothing */
};

/* The type of a file that begins so, or has such a name; NULL: none of these. */
const struct foreign_type *foreign_type_of_start(const unsigned char *start, size_t size);
const struct foreign_type *foreign_type_of_name(const char *path);

/* Refuse an input that is empty, or of a foreign type by its first bytes or its name. A name of a compressed
 * type counts only if the first bytes agree. */
bool foreign_type_check(const char *path, const unsigned char *start, size_t size, struct fault *fault);

/* Refuse a folder. */
bool foreign_type_check_folder(const char *path, struct fault *fault);

#endif
