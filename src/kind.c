/* Kinds of files that are neither raw samples nor pictures of ours: known by how they begin, or by their
 * names. */
#include "kind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Where the bytes of `mark` are in the start of a file, from its beginning to behind them; 0: nowhere. */
static uint64_t behind(const unsigned char *start, size_t size, const char *mark)
{
    size_t length = strlen(mark);

    for (size_t at = 0; at + length <= size; at++) {
        if (memcmp(start + at, mark, length) == 0)
            return at + length;
    }
    return 0;
}

static bool says(const unsigned char *start, size_t size, const char *mark)
{
    return behind(start, size, mark) > 0;
}

static uint64_t little(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;

    while (count-- > 0)
        value = value << 8 | bytes[count];
    return value;
}

/* NIfTI says where samples begin in the byte order of the machine that wrote it; the size of the header,
   which comes first, tells which. The least that files have is taken for others. */
static uint64_t nifti1_header(const unsigned char *start, size_t size)
{
    uint32_t bits = (uint32_t)little(start + 108, 4);
    float offset;

    (void)size;
    memcpy(&offset, &bits, sizeof offset);
    return little(start, 4) == 348 && offset > 352.0F && offset < 0x1p24F ? (uint64_t)offset : 352;
}

static uint64_t nifti2_header(const unsigned char *start, size_t size)
{
    uint64_t offset = little(start + 168, 8);

    (void)size;
    return little(start, 4) == 540 && offset > 544 && offset < (1U << 24) ? offset : 544;
}

static uint64_t npy_header(const unsigned char *start, size_t size)
{
    (void)size;
    return start[6] == 1 ? 10 + little(start + 8, 2) : 12 + little(start + 8, 4);
}

/* Samples follow an empty line, unless they are coded or in a file of their own. */
static uint64_t nrrd_header(const unsigned char *start, size_t size)
{
    uint64_t end = behind(start, size, "\n\n");

    return says(start, (size_t)end, "\nencoding: raw\n") && !says(start, (size_t)end, "\ndata file:") ? end
                                                                                                      : 0;
}

static uint64_t meta_header(const unsigned char *start, size_t size)
{
    uint64_t end = behind(start, size, "\nElementDataFile = LOCAL\n");

    return says(start, (size_t)end, "\nCompressedData = True") ? 0 : end;
}

#define CONVERT "convert it to raw samples"

#define MARK(at, mark) at, mark, sizeof(mark) - 1
#define NO_MARK        0, NULL, 0

static const struct kind kinds[] = {
    {"a NIfTI-1 file", CONVERT, ".nii", MARK(344, "n+1"), false, nifti1_header},
    {"the header of a NIfTI-1 file", "the samples are in the file .img", ".hdr", MARK(344, "ni1"), false,
     NULL},
    {"a NIfTI-2 file", CONVERT, ".nii", MARK(4, "n+2\0\r\n\032\n"), false, nifti2_header},
    {"a NumPy file", CONVERT, ".npy", MARK(0, "\x93NUMPY"), false, npy_header},
    {"an NRRD file", CONVERT, ".nrrd .nhdr", MARK(0, "NRRD000"), false, nrrd_header},
    {"a MetaImage file", CONVERT, ".mha .mhd", MARK(0, "ObjectType = Image"), false, meta_header},
    {"a MetaImage file", CONVERT, ".mha .mhd", MARK(0, "NDims = "), false, meta_header},
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
            return size >= 176 || kind->header == NULL || kind->at == 0 ? kind : NULL;
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
    uint64_t header = kind->header == NULL ? 0 : kind->header(start, size);

    if (header > 0)
        snprintf(text, text_size, "it is %s: --skip %llu passes over its header", kind->name,
                 (unsigned long long)header);
    else
        snprintf(text, text_size, "it is %s: %s", kind->name, kind->advice);
    return text;
}
