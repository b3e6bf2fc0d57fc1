/* Kinds of files that are neither raw samples nor pictures of ours: known by how they begin, or by their
 * names. */
#include "kind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The beginning of a file as a string. */
struct text {
    char bytes[KIND_BYTES + 1];
};

static void make_text(struct text *text, const unsigned char *bytes, size_t size)
{
    memcpy(text->bytes, bytes, size);
    text->bytes[size] = '\0';
}

static bool begins(const char *text, const char *with)
{
    return strncasecmp(text, with, strlen(with)) == 0;
}

/* The text as far as the end of `mark`, which ends it; false: it is not there. */
static bool end_behind(struct text *text, const char *mark, uint64_t *end)
{
    char *found = strstr(text->bytes, mark);

    if (found == NULL)
        return false;
    found += strlen(mark);
    *found = '\0';
    *end = (uint64_t)(found - text->bytes);
    return true;
}

/* The value in a line "KEY: VALUE" or "KEY = VALUE", and what follows it; "" where there is no such line. */
static const char *value_of(const struct text *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = strchr(text->bytes, '\n'); line != NULL; line = strchr(line, '\n')) {
        line++;
        if (begins(line, key) && strchr(" \t:=", line[length]) != NULL)
            return line + length + strspn(line + length, " \t:=");
    }
    return "";
}

static bool has_value(const struct text *text, const char *key)
{
    return *value_of(text, key) != '\0';
}

static bool is_true(const struct text *text, const char *key)
{
    const char *value = value_of(text, key);

    return begins(value, "T") || begins(value, "1");
}

/* Whether the value of the key is one of a list of words with | around each. */
static bool is_among(const struct text *text, const char *key, const char *list)
{
    const char *value = value_of(text, key);
    size_t length = strcspn(value, "\r\n");
    char word[64];

    while (length > 0 && strchr(" \t", value[length - 1]) != NULL)
        length--;
    if (length + 3 > sizeof word)
        return false;
    snprintf(word, sizeof word, "|%.*s|", (int)length, value);
    return length > 0 && strstr(list, word) != NULL;
}

static uint64_t number_at(const unsigned char *bytes, size_t count, bool big)
{
    uint64_t value = 0;

    for (size_t i = 0; i < count; i++)
        value = value << 8 | bytes[big ? i : count - 1 - i];
    return value;
}

/* The size of a NIfTI header comes first, in the byte order of the machine that wrote all of the file. */
static bool find_order(const unsigned char *start, uint64_t header, bool *big)
{
    *big = number_at(start, 4, true) == header;
    return *big || number_at(start, 4, false) == header;
}

/* The numbers of NIfTI for u8, i16, i32, f32, f64, i8, u16 and u32. */
static bool is_nifti_type(uint64_t type)
{
    static const uint16_t types[] = {2, 4, 8, 16, 64, 256, 512, 768};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (type == types[i])
            return true;
    }
    return false;
}

/* Offsets below the least that NIfTI files have mean the least. */
static bool find_nifti1(const unsigned char *start, size_t size, struct kind_samples *samples)
{
    uint32_t bits;
    float offset;

    (void)size;
    if (!find_order(start, 348, &samples->big))
        return false;
    bits = (uint32_t)number_at(start + 108, 4, samples->big);
    memcpy(&offset, &bits, sizeof offset);
    samples->at = offset > 352.0F && offset < 0x1p24F ? (uint64_t)offset : 352;
    return offset < 0x1p24F && is_nifti_type(number_at(start + 70, 2, samples->big));
}

static bool find_nifti2(const unsigned char *start, size_t size, struct kind_samples *samples)
{
    uint64_t offset;

    (void)size;
    if (!find_order(start, 540, &samples->big))
        return false;
    offset = number_at(start + 168, 8, samples->big);
    samples->at = offset > 544 ? offset : 544;
    return offset < 1U << 24 && is_nifti_type(number_at(start + 12, 2, samples->big));
}

/* Types that NumPy writes and --type has: bytes of either order, x fastest. */
static bool find_npy(const unsigned char *start, size_t size, struct kind_samples *samples)
{
    static const char *const types[] = {"u1'", "i1'", "u2'", "i2'", "u4'", "i4'", "f4'", "f8'"};
    size_t dictionary = start[6] == 1 ? 10 : 12;
    struct text text;
    const char *type;

    samples->at = dictionary + number_at(start + 8, dictionary - 8, false);
    if (samples->at > size)
        return false;
    make_text(&text, start + dictionary, (size_t)samples->at - dictionary);
    type = strstr(text.bytes, "'descr': '");
    if (type == NULL || strstr(text.bytes, "'fortran_order': False") == NULL)
        return false;
    type += strlen("'descr': '");
    samples->big = *type == '>';
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strchr("<>|", *type) != NULL && begins(type + 1, types[i]))
            return true;
    }
    return false;
}

/* Samples follow an empty line, unless they are coded, in a file of their own, or behind more to skip. */
static bool find_nrrd(const unsigned char *start, size_t size, struct kind_samples *samples)
{
    static const char *const elsewhere[] = {"data file", "datafile",  "line skip",
                                            "lineskip",  "byte skip", "byteskip"};
    static const char types[] = "|signed char|int8|int8_t|uchar|unsigned char|uint8|uint8_t"
                                "|short|short int|signed short|signed short int|int16|int16_t"
                                "|ushort|unsigned short|unsigned short int|uint16|uint16_t"
                                "|int|signed int|int32|int32_t|uint|unsigned int|uint32|uint32_t"
                                "|float|double|";
    struct text text;

    make_text(&text, start, size);
    if (!end_behind(&text, "\n\n", &samples->at) || !begins(value_of(&text, "encoding"), "raw\n") ||
        !is_among(&text, "type", types))
        return false;
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        if (has_value(&text, elsewhere[i]))
            return false;
    }
    samples->big = begins(value_of(&text, "endian"), "big");
    return true;
}

static bool find_meta(const unsigned char *start, size_t size, struct kind_samples *samples)
{
    static const char types[] =
        "|MET_CHAR|MET_UCHAR|MET_SHORT|MET_USHORT|MET_INT|MET_UINT|MET_FLOAT|MET_DOUBLE|";
    struct text text;

    make_text(&text, start, size);
    if (!end_behind(&text, "\nElementDataFile = LOCAL\n", &samples->at) ||
        !is_among(&text, "ElementType", types))
        return false;
    samples->big = is_true(&text, "BinaryDataByteOrderMSB") || is_true(&text, "ElementByteOrderMSB");
    return !is_true(&text, "CompressedData") &&
           (!has_value(&text, "BinaryData") || is_true(&text, "BinaryData"));
}

#define CONVERT "convert it to raw samples"

#define MARK(at, mark) at, mark, sizeof(mark) - 1
#define NO_MARK        0, NULL, 0

static const struct kind kinds[] = {
    {"a NIfTI-1 file", CONVERT, ".nii", MARK(344, "n+1"), false, find_nifti1},
    {"the header of a NIfTI-1 file", "the samples are in the file .img", ".hdr", MARK(344, "ni1"), false,
     NULL},
    {"a NIfTI-2 file", CONVERT, ".nii", MARK(4, "n+2\0\r\n\032\n"), false, find_nifti2},
    {"a NumPy file", CONVERT, ".npy", MARK(0, "\x93NUMPY"), false, find_npy},
    {"an NRRD file", CONVERT, ".nrrd .nhdr", MARK(0, "NRRD000"), false, find_nrrd},
    {"a MetaImage file", CONVERT, ".mha .mhd", MARK(0, "ObjectType = Image"), false, find_meta},
    {"a MetaImage file", CONVERT, ".mha .mhd", MARK(0, "NDims = "), false, find_meta},
    {"a file compressed by gzip", "unpack it: gunzip -c FILE | voxfilt ...", ".gz", MARK(0, "\x1f\x8b\b"),
     false, NULL},
    {"a TIFF file", CONVERT, ".tif .tiff", MARK(0, "II*\0"), false, NULL},
    {"a TIFF file", CONVERT, ".tif .tiff", MARK(0, "MM\0*"), false, NULL},
    {"a BigTIFF file", CONVERT, ".tif .tiff", MARK(0, "II+\0\b\0"), false, NULL},
    {"a BigTIFF file", CONVERT, ".tif .tiff", MARK(0, "MM\0+\0\b"), false, NULL},
    {"a DICOM file", CONVERT, ".dcm .dicom", MARK(128, "DICM"), false, NULL},
    {"an HDF5 file", CONVERT, ".h5 .hdf5", MARK(0, "\x89HDF\r\n\032\n"), false, NULL},
    {"a PNG picture", CONVERT, ".png", NO_MARK, true, NULL},
    {"a JPEG picture", CONVERT, ".jpg .jpeg", NO_MARK, false, NULL},
    {"a GIF picture", CONVERT, ".gif", NO_MARK, false, NULL},
    {"a BMP picture", CONVERT, ".bmp", NO_MARK, false, NULL},
    {"a WebP picture", CONVERT, ".webp", NO_MARK, false, NULL},
    {"a Netpbm picture", CONVERT, ".pgm .ppm .pnm .pam", NO_MARK, false, NULL},
};
#define KINDS (sizeof kinds / sizeof *kinds)

const struct kind *kind_of_start(const unsigned char *start, size_t size)
{
    for (size_t i = 0; i < KINDS; i++) {
        const struct kind *kind = &kinds[i];
        /* All that are recognised have more bytes than any of the fields that are read. */
        if (kind->mark != NULL && size >= 16 && size >= kind->at + kind->mark_size &&
            memcmp(start + kind->at, kind->mark, kind->mark_size) == 0)
            return size >= 176 || kind->find == NULL || kind->at == 0 ? kind : NULL;
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

const char *kind_advise(const struct kind *kind, const unsigned char *start, size_t size, char *text,
                        size_t text_size)
{
    struct kind_samples samples = {0};
    bool ends = size < KIND_BYTES;

    if (kind->find != NULL && kind->find(start, size, &samples) && (samples.at <= size || !ends))
        snprintf(text, text_size, "it is %s: --skip %llu passes over its header%s", kind->name,
                 (unsigned long long)samples.at, samples.big ? ", and --endian big reads what follows" : "");
    else
        snprintf(text, text_size, "it is %s: %s", kind->name, kind->advice);
    return text;
}
