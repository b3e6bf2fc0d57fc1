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
    size_t at;           /* where its mark stands */
    const char *mark;    /* NULL: names alone tell */
    size_t mark_size;
    bool compressed; /* whatever it holds */
};

/* NULL: none of them. */
const struct foreign_type *foreign_type_of_start(const unsigned char *start, size_t size);
const struct foreign_type *foreign_type_of_name(const char *path);

/* Whether an input of this name that begins so may be of a format of ours, as far as kinds tell; an empty one
   is not. One that is compressed says so by how it begins. */
bool foreign_type_check(const char *path, const unsigned char *start, size_t size, struct fault *fault);

/* Whether there is no folder of this name. */
bool foreign_type_check_folder(const char *path, struct fault *fault);

#endif
