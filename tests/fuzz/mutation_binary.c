/* Mutations of headers that are no lines of text: NIfTI's struct, NPY's dictionary, TIFF's directories. */
#include "mutation.h"

#include <stdio.h>
#include <string.h>

static uint64_t get_whole(const uint8_t *bytes, size_t size, bool big)
{
    uint64_t number = 0;

    for (size_t i = 0; i < size; i++)
        number = number << 8 | bytes[big ? i : size - 1 - i];
    return number;
}

static void put_whole(uint8_t *bytes, size_t size, bool big, uint64_t number)
{
    for (size_t i = 0; i < size; i++, number >>= 8)
        bytes[big ? size - 1 - i : i] = (uint8_t)number;
}

static void put_real(uint8_t *bytes, size_t size, bool big, double number)
{
    float single = (float)number;
    uint32_t word;
    uint64_t words;

    memcpy(&word, &single, sizeof word);
    memcpy(&words, &number, sizeof words);
    put_whole(bytes, size, big, size == 4 ? word : words);
}

/* ---- NIfTI ---- */

/* Numbers of one kind that follow each other, in version 1 and 2: where, and how large each is. */
static const struct {
    struct {
        unsigned at, size;
    } of[2];
    unsigned count;
    bool real;
} nifti_fields[] = {
    {{{40, 2}, {16, 8}}, 8, false},    /* dim */
    {{{70, 2}, {12, 2}}, 1, false},    /* datatype */
    {{{72, 2}, {14, 2}}, 1, false},    /* bitpix */
    {{{76, 4}, {104, 8}}, 8, true},    /* pixdim */
    {{{108, 4}, {168, 8}}, 1, false},  /* vox_offset, of version 1 the bits of a real number */
    {{{108, 4}, {168, 8}}, 1, true},   /* as a number */
    {{{112, 4}, {176, 8}}, 2, true},   /* scl_slope, scl_inter */
    {{{120, 2}, {240, 8}}, 1, false},  /* slice_end, slice_start */
    {{{123, 1}, {500, 4}}, 1, false},  /* xyzt_units */
    {{{124, 4}, {192, 8}}, 4, true},   /* cal_max to toffset */
    {{{252, 2}, {344, 4}}, 2, false},  /* qform_code, sform_code */
    {{{256, 4}, {352, 8}}, 6, true},   /* quatern, qoffset */
    {{{280, 4}, {400, 8}}, 12, true},  /* srow */
    {{{0, 4}, {0, 4}}, 1, false},      /* sizeof_hdr */
    {{{68, 2}, {504, 4}}, 1, false},   /* intent_code */
    {{{344, 1}, {4, 1}}, 4, false},    /* magic */
    {{{348, 1}, {540, 1}}, 4, false},  /* whether extensions follow */
    {{{352, 4}, {544, 4}}, 2, false},  /* size and kind of the first */
    {{{148, 1}, {240, 1}}, 80, false}, /* descrip */
};

static double draw_real(struct mutation *mutation)
{
    static const double numbers[] = {0.0,  1.0,   -1.0,  0.5,   352.0, 356.0, 544.0,
                                     1e30, -1e30, 1e-30, 348.0, 2.5,   1e300};

    switch (mutation_draw(mutation, 8)) {
    case 0:
        return 0.0 / (double)mutation_draw(mutation, 1);
    case 1:
        return (double)mutation_number(mutation);
    default:
        return numbers[mutation_draw(mutation, sizeof numbers / sizeof *numbers)];
    }
}

static uint64_t draw_type(struct mutation *mutation)
{
    static const unsigned types[] = {2,   4,    8,    16,   32,   64,   128,  256, 512,
                                     768, 1024, 1280, 1536, 1792, 2048, 2304, 0,   1};

    return types[mutation_draw(mutation, sizeof types / sizeof *types)];
}

bool mutate_nifti(struct mutation *mutation)
{
    const uint8_t *bytes = mutation->bytes;
    uint64_t little = mutation->size < 348 ? 0 : get_whole(bytes, 4, false);
    bool big = little == 0x5c010000 || little == 0x1c020000, second = little == 540 || little == 0x1c020000;
    size_t field = mutation_draw(mutation, sizeof nifti_fields / sizeof *nifti_fields);
    unsigned size = nifti_fields[field].of[second].size;
    size_t at = nifti_fields[field].of[second].at + size * mutation_draw(mutation, nifti_fields[field].count);

    if (little != 348 && !big && !second)
        return false;
    if (at + size > mutation->size)
        mutation_scramble(mutation, 0, mutation->size);
    else if (nifti_fields[field].real)
        put_real(mutation->bytes + at, size, big, draw_real(mutation));
    else
        put_whole(mutation->bytes + at, size, big,
                  field == 1 || field == 2 ? draw_type(mutation) : mutation_number(mutation));
    return true;
}

/* ---- NPY ---- */

static const char npy_types[] =
    "'<u1'|'|i1'|'<i2'|'>u2'|'<f4'|'>f8'|'|b1'|'<f2'|'=i4'|'<c8'|'|O'|'<u16'|[('a', '<u1')]|'";
static const char npy_flags[] = "True|False|true|0|None|";
static const char npy_shapes[] =
    "(2, 3, 4)|(24,)|(24)|()|(4, 6)|(2, 3, 4, 1)|(0, 3)|(-1, 3)|(2,3,18446744073709551615)|(2L, 3)|"
    "(2, 2, 3, 2)|(1, 1, 24)|(2, 3,|[2, 3]";
static const char npy_entries[] =
    "'descr': '<i2', |'shape': (24,), |'fortran_order': True, |'x': 1, |, |}|{|   |\n";

/* Where the value behind a key begins and ends; an empty place where the key is not there. */
static size_t find_value(const struct mutation *mutation, size_t begin, size_t end, const char *key,
                         size_t *length)
{
    size_t size = strlen(key), depth = 0, at = begin;

    *length = 0;
    while (at + size < end && memcmp(mutation->bytes + at, key, size) != 0)
        at++;
    if (at + size >= end)
        return begin + 1 < end ? begin + 1 : begin;
    for (at += size; at < end && mutation->bytes[at] == ' ';)
        at++;
    for (size_t i = at; i < end && (depth > 0 || (mutation->bytes[i] != ',' && mutation->bytes[i] != '}'));
         i++) {
        depth += mutation->bytes[i] == '(';
        depth -= mutation->bytes[i] == ')' && depth > 0;
        ++*length;
    }
    return at;
}

static void mutate_entry(struct mutation *mutation, size_t begin, size_t end)
{
    static const struct {
        const char *key, *values;
    } entries[] = {{"'descr':", npy_types},
                   {"'fortran_order':", npy_flags},
                   {"'shape':", npy_shapes},
                   {"", npy_entries}};
    size_t entry = mutation_draw(mutation, 4), length, size;
    size_t at = entry == 3 ? begin + mutation_draw(mutation, end - begin)
                           : find_value(mutation, begin, end, entries[entry].key, &length);
    const char *value = mutation_word(mutation, entries[entry].values, &size);

    mutation_replace(mutation, at, entry == 3 ? 0 : length, value, size);
}

bool mutate_npy(struct mutation *mutation)
{
    size_t width, begin, end, before = mutation->size;

    if (mutation->size < 16 || memcmp(mutation->bytes, "\x93NUMPY", 6) != 0)
        return false;
    width = mutation->bytes[6] == 1 ? 2 : 4;
    begin = 8 + width;
    end = begin + (size_t)get_whole(mutation->bytes + 8, width, false);
    if (end > mutation->size || end == begin)
        end = mutation->size;
    switch (mutation_draw(mutation, 8)) {
    case 0:
        mutation->bytes[6] = (uint8_t)mutation_draw(mutation, 5);
        return true;
    case 1:
        put_whole(mutation->bytes + 8, width, false, mutation_number(mutation));
        return true;
    case 2:
        mutation_scramble(mutation, begin, end - begin);
        break;
    case 3:
        mutation_renumber(mutation, begin, end - begin);
        break;
    default:
        mutate_entry(mutation, begin, end);
    }
    put_whole(mutation->bytes + 8, width, false, end - begin + mutation->size - before);
    return true;
}

/* ---- TIFF ---- */

/* How a file has its directories. */
struct tiff {
    bool big_endian, big;
    size_t entry, count, offset; /* bytes of an entry, of its count, and of an offset */
};

static uint64_t tiff_number(const struct mutation *mutation, const struct tiff *tiff, uint64_t at,
                            size_t size)
{
    return at > mutation->size || mutation->size - at < size
               ? 0
               : get_whole(mutation->bytes + at, size, tiff->big_endian);
}

static void tiff_put(struct mutation *mutation, const struct tiff *tiff, uint64_t at, size_t size,
                     uint64_t number)
{
    if (at < mutation->size && mutation->size - at >= size)
        put_whole(mutation->bytes + at, size, tiff->big_endian, number);
}

/* One of the first three directories, and how many entries it has. */
static uint64_t draw_directory(struct mutation *mutation, const struct tiff *tiff, uint64_t *entries)
{
    size_t place = mutation_draw(mutation, 3), head = tiff->big ? 8 : 2;
    uint64_t at = tiff_number(mutation, tiff, tiff->big ? 8 : 4, tiff->offset);

    for (;; place--) {
        uint64_t next;
        *entries = tiff_number(mutation, tiff, at, head);
        next = *entries > 4096
                   ? 0
                   : tiff_number(mutation, tiff, at + head + *entries * tiff->entry, tiff->offset);
        if (place == 0 || next == 0)
            return at;
        at = next;
    }
}

static uint64_t draw_tag(struct mutation *mutation)
{
    static const unsigned tags[] = {254, 256, 257,   258,   259,   262,   266,   269,   270,   273, 274, 277,
                                    278, 279, 280,   281,   282,   283,   284,   286,   296,   305, 317, 320,
                                    322, 323, 324,   325,   330,   338,   339,   340,   341,   347, 529, 530,
                                    532, 700, 33432, 34377, 34665, 34675, 50838, 50839, 65000, 0};

    return tags[mutation_draw(mutation, sizeof tags / sizeof *tags)];
}

/* Of what a value stands for, where that is a number of a list: compressions, photometrics and so on. */
static uint64_t draw_value(struct mutation *mutation)
{
    static const unsigned numbers[] = {1,  2,  3,  4,  5,  6,     7,     8,     9,     10,
                                       12, 16, 24, 32, 64, 32773, 32946, 34712, 34925, 50000};

    return mutation_draw(mutation, 2) == 0
               ? numbers[mutation_draw(mutation, sizeof numbers / sizeof *numbers)]
               : mutation_number(mutation);
}

static void swap_entries(struct mutation *mutation, uint64_t one, uint64_t other, size_t size)
{
    uint8_t held[20];

    if (one > mutation->size || mutation->size - one < size || other > mutation->size ||
        mutation->size - other < size)
        return;
    memcpy(held, mutation->bytes + one, size);
    memmove(mutation->bytes + one, mutation->bytes + other, size);
    memcpy(mutation->bytes + other, held, size);
}

/* The last entry in the place of another; what follows stays where it is, since offsets lead there. */
static void drop_entry(struct mutation *mutation, const struct tiff *tiff, uint64_t directory, uint64_t at,
                       uint64_t entries)
{
    size_t head = tiff->big ? 8 : 2;
    uint64_t end = directory + head + entries * tiff->entry;
    uint64_t next = tiff_number(mutation, tiff, end, tiff->offset);

    if (end > mutation->size)
        return;
    memmove(mutation->bytes + at, mutation->bytes + at + tiff->entry, (size_t)(end - at) - tiff->entry);
    tiff_put(mutation, tiff, directory, head, entries - 1);
    tiff_put(mutation, tiff, end - tiff->entry, tiff->offset, next);
}

static void mutate_directory(struct mutation *mutation, const struct tiff *tiff)
{
    uint64_t entries, directory = draw_directory(mutation, tiff, &entries);
    size_t head = tiff->big ? 8 : 2, count = entries > 64 ? 64 : (size_t)entries,
           place = mutation_draw(mutation, count + 1);
    uint64_t at = directory + head + place * tiff->entry;
    uint64_t value = at + 4 + tiff->count, held = tiff_number(mutation, tiff, value, tiff->offset);

    if (directory > mutation->size || mutation->size - directory < head)
        return;
    if (place == count) {
        tiff_put(mutation, tiff, mutation_draw(mutation, 2) == 0 ? directory : at,
                 mutation_draw(mutation, 2) == 0 ? head : tiff->offset,
                 mutation_draw(mutation, mutation->size + 8));
        return;
    }
    switch (mutation_draw(mutation, 9)) {
    case 0:
        tiff_put(mutation, tiff, at, 2, draw_tag(mutation));
        break;
    case 1:
        tiff_put(mutation, tiff, at + 2, 2, mutation_draw(mutation, 19));
        break;
    case 2:
        tiff_put(mutation, tiff, at + 4, tiff->count, mutation_number(mutation));
        break;
    case 3:
        swap_entries(mutation, at, directory + head + mutation_draw(mutation, count) * tiff->entry,
                     tiff->entry);
        break;
    case 4:
        drop_entry(mutation, tiff, directory, at, entries);
        break;
    case 5:
        tiff_put(mutation, tiff, held, mutation_draw(mutation, 2) == 0 ? 2 : 4, draw_value(mutation));
        break;
    case 6:
        if (held < mutation->size)
            mutation_renumber(mutation, (size_t)held, mutation->size - (size_t)held);
        break;
    case 7:
        tiff_put(mutation, tiff, value, mutation_draw(mutation, 2) == 0 ? 2 : 4,
                 held + mutation_draw(mutation, 5) - 2);
        break;
    default:
        tiff_put(mutation, tiff, value, tiff->big_endian || mutation_draw(mutation, 2) == 0 ? 2 : 4,
                 draw_value(mutation));
    }
}

bool mutate_tiff(struct mutation *mutation)
{
    struct tiff tiff = {.entry = 12, .count = 4, .offset = 4};

    if (mutation->size < 16 ||
        (memcmp(mutation->bytes, "II", 2) != 0 && memcmp(mutation->bytes, "MM", 2) != 0))
        return false;
    tiff.big_endian = mutation->bytes[0] == 'M';
    if (get_whole(mutation->bytes + 2, 2, tiff.big_endian) == 43)
        tiff =
            (struct tiff){.big_endian = tiff.big_endian, .big = true, .entry = 20, .count = 8, .offset = 8};
    mutate_directory(mutation, &tiff);
    return true;
}
