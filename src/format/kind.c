/* Kinds of files that are of none of our formats: known by how they begin, or by their names. */
#include "kind.h"

#include <string.h>
#include <strings.h>

#define MARK(at, mark) at, mark, sizeof(mark) - 1
#define NO_MARK        0, NULL, 0

static const struct kind kinds[] = {
    {"a DICOM file", ".dcm .dicom", MARK(128, "DICM"), false},
    {"an HDF5 file", ".h5 .hdf5", MARK(0, "\x89HDF\r\n\032\n"), false},
    {"a JPEG picture", ".jpg .jpeg", NO_MARK, false},
    {"a GIF picture", ".gif", NO_MARK, false},
    {"a BMP picture", ".bmp", NO_MARK, false},
    {"a WebP picture", ".webp", NO_MARK, false},
    {"a Netpbm picture", ".pgm .ppm .pnm .pam", NO_MARK, false},
    {"a VTK file", ".vtk .vti", NO_MARK, false},
    {"a MINC file", ".mnc", NO_MARK, false},
    {"a FreeSurfer volume", ".mgh .mgz", NO_MARK, false},
    {"a compressed file", ".gz .bz2 .xz .zst .zip", NO_MARK, true},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* A file of fewer bytes than any header has is none of them. */
#define LEAST_BYTES 16

const struct kind *kind_of_start(const unsigned char *start, size_t size)
{
    for (size_t i = 0; i < KINDS; i++) {
        const struct kind *kind = &kinds[i];
        if (kind->mark != NULL && size >= LEAST_BYTES && size >= kind->at + kind->mark_size &&
            memcmp(start + kind->at, kind->mark, kind->mark_size) == 0)
            return kind;
    }
    return NULL;
}

static bool ends_with(const char *path, const char *ending, size_t length)
{
    size_t path_length = strlen(path);

    return path_length > length && strncasecmp(path + path_length - length, ending, length) == 0;
}

const struct kind *kind_of_name(const char *path)
{
    for (size_t i = 0; i < KINDS; i++) {
        const char *ending = kinds[i].endings;
        for (size_t length; *ending != '\0'; ending += length + (ending[length] == ' ')) {
            length = strcspn(ending, " ");
            if (ends_with(path, ending, length))
                return &kinds[i];
        }
    }
    return NULL;
}
