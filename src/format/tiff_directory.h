/* Directories of TIFF files as they stand in the file: the entries of a page, which libtiff gives one by one
 * and partly rounded. */
#ifndef TIFF_DIRECTORY_H
#define TIFF_DIRECTORY_H

#include "base/file_in.h"
#include "format.h"

#include <stdbool.h>
#include <stdint.h>

struct tiff_directory {
    const struct file_in *file;
    bool big;
    enum endian endian;
    uint64_t count; /* of entries; no more than any page has use for */
    uint64_t entries;
    bool *failed; /* the fault tells of a read that failed */
    struct fault *fault;
};

/* The directory at a place that libtiff has found it at. What is not in the file is 0, and so is what cannot
   be read; then *failed is set, and the fault, unless it was set before. */
struct tiff_directory tiff_directory_at(const struct file_in *file, enum endian endian, uint64_t at,
                                        bool *failed, struct fault *fault);

/* The tag of an entry, by its number. */
unsigned tiff_directory_tag(const struct tiff_directory *directory, uint64_t entry);

/* How many values an entry has; and one of them, from 0, which is there. False: its type is not that of whole
 * numbers without a sign. */
uint64_t tiff_directory_count(const struct tiff_directory *directory, uint64_t entry);
bool tiff_directory_number(const struct tiff_directory *directory, uint64_t entry, uint64_t index,
                           uint64_t *number);

/* The distance whose inverse the rational number of a tag is, which is a float in libtiff; 0: there is none.
 */
double tiff_directory_distance(const struct tiff_directory *directory, unsigned tag);

#endif
