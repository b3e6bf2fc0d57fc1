/* Directories of TIFF files as they stand in the file. */
#include "tiff_directory.h"

#include <stddef.h>

enum {
    ENTRIES_MOST = 4096, /* that are looked at */
    BIG = 43,            /* the version of BigTIFF */
    RATIONAL = 5
};

static uint64_t number_at(const struct tiff_directory *directory, uint64_t at, size_t size)
{
    unsigned char bytes[8] = {0};
    struct fault fault;
    uint64_t number = 0;
    size_t got;

    if (!file_in_read_at(directory->file, at, bytes, size, &got, &fault)) {
        if (!*directory->failed)
            *directory->fault = fault;
        *directory->failed = true;
        return 0;
    }
    if (got < size)
        return 0;
    for (size_t i = 0; i < size; i++)
        number = number << 8 | bytes[directory->endian == ENDIAN_BIG ? i : size - 1 - i];
    return number;
}

struct tiff_directory tiff_directory_at(const struct file_in *file, enum endian endian, uint64_t at,
                                        bool *failed, struct fault *fault)
{
    struct tiff_directory directory = {.file = file, .endian = endian, .failed = failed, .fault = fault};
    size_t size;

    directory.big = number_at(&directory, 2, 2) == BIG;
    size = directory.big ? 8 : 2;
    directory.count = number_at(&directory, at, size);
    if (directory.count > ENTRIES_MOST)
        directory.count = ENTRIES_MOST;
    directory.entries = at + size;
    return directory;
}

static uint64_t place_of(const struct tiff_directory *directory, uint64_t entry)
{
    return directory->entries + entry * (directory->big ? 20 : 12);
}

unsigned tiff_directory_tag(const struct tiff_directory *directory, uint64_t entry)
{
    return (unsigned)number_at(directory, place_of(directory, entry), 2);
}

uint64_t tiff_directory_count(const struct tiff_directory *directory, uint64_t entry)
{
    return number_at(directory, place_of(directory, entry) + 4, directory->big ? 8 : 4);
}

/* Of a whole number without a sign; 0: it is no such. */
static size_t bytes_of_type(uint64_t type)
{
    switch (type) {
    case 1:
        return 1;
    case 3:
        return 2;
    case 4:
        return 4;
    case 16:
        return 8;
    default:
        return 0;
    }
}

bool tiff_directory_number(const struct tiff_directory *directory, uint64_t entry, uint64_t index,
                           uint64_t *number)
{
    uint64_t at = place_of(directory, entry), place = at + (directory->big ? 12 : 8);
    size_t bytes = bytes_of_type(number_at(directory, at + 2, 2)), room = directory->big ? 8 : 4;

    if (bytes == 0)
        return false;
    if (tiff_directory_count(directory, entry) > room / bytes)
        place = number_at(directory, place, room);
    *number = number_at(directory, place + index * bytes, bytes);
    return true;
}

double tiff_directory_distance(const struct tiff_directory *directory, unsigned tag)
{
    for (uint64_t i = 0; i < directory->count; i++) {
        uint64_t at = place_of(directory, i), place = at + (directory->big ? 12 : 8);
        if (tiff_directory_tag(directory, i) != tag || number_at(directory, at + 2, 2) != RATIONAL)
            continue;
        if (!directory->big)
            place = number_at(directory, place, 4);
        double numerator = (double)number_at(directory, place, 4);
        return numerator > 0.0 ? (double)number_at(directory, place + 4, 4) / numerator : 0.0;
    }
    return 0.0;
}
