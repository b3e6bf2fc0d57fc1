/* Reading of TIFF files: their pages, each a plane or, alone, a picture, decoded by libtiff.

   A file is opened in four steps, all of them before memory is allocated for samples. First all directories
   are walked: each page must be like the first one, and its strips or tiles must lie within the file and be
   large enough. libtiff repairs what it takes for damage and goes on with a guess; so each number that
   decides what the samples are is read once more from the directory as it stands in the file, and must be the
   one that libtiff uses. Then the first and the last strip are decoded on trial: if they hold more than the
   page has room for, the page has the wrong extents. Last, pages are put in the order of planes: the
   description of the first page, by ImageJ, OME or tifffile, says which volumes of a series they belong to.
   It may also announce pages without directories, or tell of pages that are not those of the series: these
   are passed over.

   After that any part of any page can be read, and pages, strips and tiles outside it are not decoded. Rows
   come in one of two ways. Where libtiff gives them as they are wanted, they are asked for one by one, from
   the beginning of a strip on, since codes cannot be entered in the middle; so a page that is one strip needs
   no more memory than a row. Otherwise tiles side by side, or strips of all channels, are decoded into a band
   of the columns that are wanted. The band and the place in a strip are kept, so that whoever reads a picture
   downwards in small runs of rows decodes each strip and tile once.

   libtiff tells errors to a callback. The first one of a call becomes the fault of that call and sets
   `failed`; what may have met one without noticing ends with a look at that flag. */
#include "tiff_reader.h"

#include "base/library.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_TIFF
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <tiffio.h>

enum {
    MESSAGE_BYTES = 512,
    SHORT_CODE = 64,       /* bytes for which a ratio says nothing */
    PROBE_MOST = 16 << 20, /* bytes of samples that are decoded for what may follow them */
};

/* An image file directory, and where its samples are. */
struct page {
    uint64_t number; /* among all directories */
    uint64_t directory, samples;
    uint64_t piece_bytes; /* of samples in the first strip or tile */
};

/* Where OME's description puts a page: its place in the order of axes. */
struct placed {
    uint64_t number, place;
};

/* A reader. Callers know it by its first member. */
struct tiff_reader {
    struct tiff_pages all;
    struct file_in *file;
    uint64_t at, size; /* in the file */
    TIFF *tiff;
    struct fault *fault; /* of the call under way */
    bool failed;         /* the fault is told */
    bool probing;        /* libtiff may fail */
    bool in_step;        /* all pages lie one behind the other, and `pages` has the first alone */
    struct page *pages;
    size_t page_count, capacity;
    struct placed *placed; /* the pages that OME places, by their numbers; NULL: they are in order */
    size_t row_bytes;

    /* How samples stand on pages, where that is not how they are given. */
    enum conversion { CONVERT_NOTHING, CONVERT_WHITE, CONVERT_PALETTE } conversion;
    unsigned bits, stored_channels; /* of a sample, and of a pixel */
    size_t stored_row;              /* bytes of a row, of one channel if they are planar */
    unsigned char palette[256][3];  /* of the page that is read */
    uint64_t level; /* the resolution that is read, by its place in SubIFDs; 0: the full one */

    unsigned char near[512]; /* bytes of the file that were read last, for directories */
    uint64_t near_at;
    size_t near_bytes;

    uint64_t page; /* at hand */

    /* Of one part after the other; `turn` is for the threads that ask for them. */
    pthread_mutex_t turn;
    bool banded;                        /* the page at hand is decoded into bands */
    uint32_t piece_columns, piece_rows; /* of its tiles or strips */
    uint64_t row;               /* the next one of a page that is not banded; UINT64_MAX: begin anew */
    struct region band_part;    /* of the page, which the band has; without rows: it is empty */
    unsigned char *tile, *band; /* of banded pages: one, and the rows of those side by side. Of others
                                   the band is a row of which not all is wanted. */
    size_t tile_bytes, band_rows, band_room;
};

/* ---- what libtiff asks for and tells ---- */

/* The number of the page at hand, counted from 1. */
static unsigned long long page_number(const struct tiff_reader *reader)
{
    return 1 + (reader->page < reader->page_count ? reader->pages[reader->page].number : reader->page);
}

/* Decoders that go on with a guess where code is damaged warn of it. */
static bool is_damage(const char *module)
{
    static const char *const modules[] = {"JPEG", "Fax", "PackBits"};

    for (size_t i = 0; module != NULL && i < sizeof modules / sizeof *modules; i++) {
        if (strncmp(module, modules[i], strlen(modules[i])) == 0)
            return true;
    }
    return false;
}

/* A message of libtiff as one printable line, without its final dot. */
static void print_message(const char *format, va_list arguments, char line[MESSAGE_BYTES])
{
    char message[MESSAGE_BYTES];
    size_t length;

    vsnprintf(message, sizeof message, format, arguments);
    length = strlen(message);
    if (length > 0 && message[length - 1] == '.')
        message[length - 1] = '\0';
    diag_printable(message, line, MESSAGE_BYTES);
}

/* libtiff has handlers for all files; which file it is about they are told. */
static void take_error(thandle_t handle, const char *module, const char *format, va_list arguments)
{
    /* libtiff's own words for it differ from release to release. */
    enum status status = errno == ENOMEM ? STATUS_LIMIT : STATUS_INPUT;
    struct tiff_reader *reader = handle;
    char line[MESSAGE_BYTES];

    (void)module;
    if (reader == NULL || reader->failed || reader->probing)
        return;
    reader->failed = true;
    print_message(format, arguments, line);
    fault_set_for(reader->fault, status, file_in_name(reader->file), "page %llu: %s", page_number(reader),
                  line);
}

static void take_warning(thandle_t handle, const char *module, const char *format, va_list arguments)
{
    struct tiff_reader *reader = handle;
    char line[MESSAGE_BYTES];

    if (reader == NULL || reader->probing)
        return;
    if (is_damage(module)) {
        take_error(handle, module, format, arguments);
        return;
    }
    print_message(format, arguments, line);
    diag_detail("%s: %s", file_in_name(reader->file), line);
    /* Private tags are no news: they are told with all others that are left out. */
    if (reader->all.warning[0] == '\0' && strncmp(format, "Unknown field with tag", 22) != 0)
        snprintf(reader->all.warning, sizeof reader->all.warning, "page %llu: %.200s", page_number(reader),
                 line);
}

/* Read bytes of the file and return how many it has there: none after a failure. */
static size_t read_at(struct tiff_reader *reader, uint64_t at, void *bytes, size_t size)
{
    struct fault fault;
    size_t got;

    if (file_in_read_at(reader->file, at, bytes, size, &got, &fault))
        return got;
    if (!reader->failed)
        *reader->fault = fault;
    reader->failed = true;
    return 0;
}

/* libtiff clears its buffer from behind what it has been given. After -1 that would be from before its
   beginning, so that a failure gives no bytes. */
static tmsize_t read_some(thandle_t handle, void *bytes, tmsize_t size)
{
    struct tiff_reader *reader = handle;
    size_t got = read_at(reader, reader->at, bytes, (size_t)size);

    reader->at += got;
    return (tmsize_t)got;
}

static tmsize_t write_none(thandle_t handle, void *bytes, tmsize_t size)
{
    (void)handle, (void)bytes, (void)size;
    return -1;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence)
{
    struct tiff_reader *reader = handle;

    reader->at = offset + (whence == SEEK_CUR ? reader->at : whence == SEEK_END ? reader->size : 0);
    return reader->at;
}

static toff_t tell_size(thandle_t handle)
{
    return ((struct tiff_reader *)handle)->size;
}

static int close_nothing(thandle_t handle)
{
    (void)handle;
    return 0;
}

/* ---- libtiff, loaded when the first TIFF file is read ---- */

/* The functions that are called, by the names that libtiff's manual gives them. */
#define LIBTIFF_FUNCTIONS                                                                                    \
    FUNCTION(TIFFClientOpen)                                                                                 \
    FUNCTION(TIFFClose)                                                                                      \
    FUNCTION(TIFFComputeTile)                                                                                \
    FUNCTION(TIFFCurrentDirOffset)                                                                           \
    FUNCTION(TIFFFieldName)                                                                                  \
    FUNCTION(TIFFFieldWithTag)                                                                               \
    FUNCTION(TIFFGetField)                                                                                   \
    FUNCTION(TIFFGetFieldDefaulted)                                                                          \
    FUNCTION(TIFFGetStrileByteCount)                                                                         \
    FUNCTION(TIFFGetStrileOffset)                                                                            \
    FUNCTION(TIFFIsBigEndian)                                                                                \
    FUNCTION(TIFFIsCODECConfigured)                                                                          \
    FUNCTION(TIFFIsTiled)                                                                                    \
    FUNCTION(TIFFLastDirectory)                                                                              \
    FUNCTION(TIFFNumberOfStrips)                                                                             \
    FUNCTION(TIFFNumberOfTiles)                                                                              \
    FUNCTION(TIFFReadDirectory)                                                                              \
    FUNCTION(TIFFReadEncodedStrip)                                                                           \
    FUNCTION(TIFFReadEncodedTile)                                                                            \
    FUNCTION(TIFFReadFromUserBuffer)                                                                         \
    FUNCTION(TIFFReadScanline)                                                                               \
    FUNCTION(TIFFScanlineSize64)                                                                             \
    FUNCTION(TIFFSetErrorHandler)                                                                            \
    FUNCTION(TIFFSetErrorHandlerExt)                                                                         \
    FUNCTION(TIFFSetField)                                                                                   \
    FUNCTION(TIFFSetSubDirectory)                                                                            \
    FUNCTION(TIFFSetWarningHandler)                                                                          \
    FUNCTION(TIFFSetWarningHandlerExt)                                                                       \
    FUNCTION(TIFFTileSize)                                                                                   \
    FUNCTION(TIFFTileSize64)

static struct {
#define FUNCTION(name) __typeof__(name) *name;
    LIBTIFF_FUNCTIONS
#undef FUNCTION
} libtiff;

static const struct library_function functions[] = {
#define FUNCTION(name) {#name, &libtiff.name},
    LIBTIFF_FUNCTIONS
#undef FUNCTION
};

/* The old handlers print on standard error; those that know the file take their place. */
static void take_messages(void)
{
    libtiff.TIFFSetErrorHandler(NULL);
    libtiff.TIFFSetWarningHandler(NULL);
    libtiff.TIFFSetErrorHandlerExt(take_error);
    libtiff.TIFFSetWarningHandlerExt(take_warning);
}

static bool load(const char *file, struct fault *fault)
{
    static struct library library = {TIFF_LIBRARY, functions, sizeof functions / sizeof *functions,
                                     take_messages, false};
    const char *failure = library_load(&library);

    return failure == NULL ||
           fault_set_for(fault, STATUS_INPUT, file, "a TIFF file, but libtiff cannot be loaded: %s", failure);
}

/* ---- refusals ---- */

/* The field with the description, which is the first page's, whichever page is at hand. */
static const char description_field[] = "ImageDescription";

/* Refuse a field of the page at hand, or the description. */
static bool refuse(struct tiff_reader *reader, const char *field, const char *format, ...) DIAG_PRINTF(3, 4);

static bool refuse(struct tiff_reader *reader, const char *field, const char *format, ...)
{
    char reason[MESSAGE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    if (!reader->failed)
        fault_set_for(reader->fault, STATUS_INPUT, file_in_name(reader->file), "page %llu: %s: %s",
                      field == description_field ? 1 : page_number(reader), field, reason);
    reader->failed = true;
    return false;
}

/* libtiff has failed, and most often told why. */
static bool refuse_damage(struct tiff_reader *reader)
{
    return refuse(reader, "directory", "damaged");
}

/* ---- one page ---- */

/* The description that a page gives of its samples. */
struct shape {
    uint32_t width, height, depth;
    uint16_t bits, channels, alpha, format, planes, photometric, compression;
};

static uint16_t short_field(struct tiff_reader *reader, uint32_t tag, uint16_t otherwise)
{
    uint16_t value = otherwise;

    return libtiff.TIFFGetFieldDefaulted(reader->tiff, tag, &value) == 1 ? value : otherwise;
}

/* Channels beyond the colours. */
static uint16_t extra_channels(const struct shape *shape)
{
    bool is_colour = shape->photometric == PHOTOMETRIC_RGB || shape->photometric == PHOTOMETRIC_YCBCR;
    uint16_t colours = is_colour ? 3 : 1;

    return shape->channels > colours ? (uint16_t)(shape->channels - colours) : 0;
}

/* Their meanings. */
static uint16_t read_extras(struct tiff_reader *reader, uint16_t **meanings)
{
    uint16_t count = 0;

    return libtiff.TIFFGetField(reader->tiff, TIFFTAG_EXTRASAMPLES, &count, meanings) == 1 ? count : 0;
}

/* Alpha is the last of them, and no other. */
static uint16_t read_alpha(struct tiff_reader *reader, const struct shape *shape)
{
    uint16_t *meanings = NULL, count = read_extras(reader, &meanings);

    if (count == 0 || count != extra_channels(shape))
        return EXTRASAMPLE_UNSPECIFIED;
    for (uint16_t i = 0; i + 1 < count; i++) {
        if (meanings[i] != EXTRASAMPLE_UNSPECIFIED)
            return EXTRASAMPLE_UNSPECIFIED;
    }
    return meanings[count - 1];
}

/* libtiff makes RGB of the JPEG of a page, if it is told so each time that it goes there. */
static void prepare_code(struct tiff_reader *reader)
{
    if (short_field(reader, TIFFTAG_COMPRESSION, COMPRESSION_NONE) == COMPRESSION_JPEG &&
        short_field(reader, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK) == PHOTOMETRIC_YCBCR)
        libtiff.TIFFSetField(reader->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
}

/* Read the description of the page's samples; libtiff supplies defaults. */
static struct shape read_shape(struct tiff_reader *reader)
{
    struct shape shape = {.depth = 1};

    libtiff.TIFFGetField(reader->tiff, TIFFTAG_IMAGEWIDTH, &shape.width);
    libtiff.TIFFGetField(reader->tiff, TIFFTAG_IMAGELENGTH, &shape.height);
    if (libtiff.TIFFGetField(reader->tiff, TIFFTAG_IMAGEDEPTH, &shape.depth) != 1)
        shape.depth = 1;
    shape.bits = short_field(reader, TIFFTAG_BITSPERSAMPLE, 1);
    shape.channels = short_field(reader, TIFFTAG_SAMPLESPERPIXEL, 1);
    shape.format = short_field(reader, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    shape.planes = short_field(reader, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    shape.photometric = short_field(reader, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    shape.compression = short_field(reader, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    shape.alpha = read_alpha(reader, &shape);
    return shape;
}

static const struct stored {
    uint16_t bits, format;
    enum sample_type type;
} stored_types[] = {
    {1, SAMPLEFORMAT_UINT, SAMPLE_U8},     {2, SAMPLEFORMAT_UINT, SAMPLE_U8},
    {4, SAMPLEFORMAT_UINT, SAMPLE_U8},     {8, SAMPLEFORMAT_UINT, SAMPLE_U8},
    {8, SAMPLEFORMAT_INT, SAMPLE_I8},      {16, SAMPLEFORMAT_UINT, SAMPLE_U16},
    {16, SAMPLEFORMAT_INT, SAMPLE_I16},    {32, SAMPLEFORMAT_UINT, SAMPLE_U32},
    {32, SAMPLEFORMAT_INT, SAMPLE_I32},    {64, SAMPLEFORMAT_UINT, SAMPLE_U64},
    {64, SAMPLEFORMAT_INT, SAMPLE_I64},    {16, SAMPLEFORMAT_IEEEFP, SAMPLE_F16},
    {32, SAMPLEFORMAT_IEEEFP, SAMPLE_F32}, {64, SAMPLEFORMAT_IEEEFP, SAMPLE_F64},
};

/* The sample type of bits and kind of number. */
static bool read_type(struct tiff_reader *reader, const struct shape *shape, enum sample_type *type)
{
    /* "Void" says nothing of the numbers; the standard's default is whole numbers without a sign. */
    uint16_t format = shape->format == SAMPLEFORMAT_VOID ? SAMPLEFORMAT_UINT : shape->format;

    for (size_t i = 0; i < sizeof stored_types / sizeof *stored_types; i++) {
        if (stored_types[i].bits == shape->bits && stored_types[i].format == format) {
            *type = stored_types[i].type;
            return true;
        }
    }
    if (format < SAMPLEFORMAT_UINT || format > SAMPLEFORMAT_IEEEFP)
        return refuse(reader, "SampleFormat", "%u, which is not supported", format);
    return refuse(reader, "BitsPerSample",
                  format == SAMPLEFORMAT_IEEEFP ? "%u in floating point, which is not supported"
                                                : "%u, which is not supported",
                  shape->bits);
}

/* Codes that are read if libtiff has them, and the most bytes that one byte of code stands for: PackBits has
   two bytes for up to 128, deflate two bits for up to 258, and an entry of LZW's table has no more than 4096.
   Of those that are limited by a page alone it says little. Codes of bytes are decoded on trial, for what may
   follow the samples; others say themselves how many they are. */
static const struct scheme {
    uint16_t compression;
    bool of_bytes;
    unsigned most;
} schemes[] = {
    {COMPRESSION_NONE, true, 1},
    {COMPRESSION_LZW, true, 4096},
    {COMPRESSION_ADOBE_DEFLATE, true, 1032},
    {COMPRESSION_DEFLATE, true, 1032},
    {COMPRESSION_PACKBITS, true, 64},
    {COMPRESSION_ZSTD, true, 1 << 16},
    {COMPRESSION_LZMA, true, 1 << 16},
    {COMPRESSION_JPEG, false, 1 << 16},
    {COMPRESSION_WEBP, false, 1 << 16},
    {COMPRESSION_LERC, false, 1 << 26},
    {COMPRESSION_CCITTRLE, false, 1 << 26},
    {COMPRESSION_CCITTFAX3, false, 1 << 26},
    {COMPRESSION_CCITTFAX4, false, 1 << 26},
};

/* NULL: it is not supported. */
static const struct scheme *scheme_of(uint16_t compression)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (schemes[i].compression == compression && libtiff.TIFFIsCODECConfigured(compression))
            return &schemes[i];
    }
    return NULL;
}

static enum conversion conversion_of(const struct shape *shape)
{
    return shape->photometric == PHOTOMETRIC_MINISWHITE ? CONVERT_WHITE
           : shape->photometric == PHOTOMETRIC_PALETTE  ? CONVERT_PALETTE
                                                        : CONVERT_NOTHING;
}

static bool check_colours(struct tiff_reader *reader, const struct shape *shape)
{
    static const char field[] = "PhotometricInterpretation";
    bool is_whole = shape->format == SAMPLEFORMAT_UINT || shape->format == SAMPLEFORMAT_VOID;

    switch (shape->photometric) {
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_RGB:
        return true;
    case PHOTOMETRIC_MINISWHITE:
        return (is_whole && shape->channels == 1) ||
               refuse(reader, field, "0: white is zero, which only whole numbers without a sign can have");
    case PHOTOMETRIC_PALETTE:
        return (is_whole && shape->channels == 1 && shape->bits <= 8) ||
               refuse(reader, field, "3: a palette that is not of one sample of at most 8 bits");
    case PHOTOMETRIC_YCBCR:
        return shape->compression == COMPRESSION_JPEG ||
               refuse(reader, field, "6: YCbCr, which is supported in JPEG alone");
    case PHOTOMETRIC_SEPARATED:
        return refuse(reader, field, "5: CMYK, which is not supported");
    default:
        return refuse(reader, field, "%u: neither gray nor RGB", shape->photometric);
    }
}

/* Refuse what is not read here; each refusal names the field. */
static bool check_shape(struct tiff_reader *reader, const struct shape *shape)
{
    if (shape->width == 0 || shape->height == 0)
        return refuse(reader, shape->width == 0 ? "ImageWidth" : "ImageLength", "missing, or 0");
    if (shape->depth != 1)
        return refuse(reader, "ImageDepth", "%u, which is not supported", shape->depth);
    if (shape->channels == 0)
        return refuse(reader, "SamplesPerPixel", "0");
    if (shape->bits < 8 && shape->channels > 1)
        return refuse(reader, "BitsPerSample", "%u in several channels, which is not supported", shape->bits);
    if (shape->compression == COMPRESSION_OJPEG)
        return refuse(reader, "Compression", "6: old-style JPEG, which is not supported");
    if (scheme_of(shape->compression) == NULL)
        return refuse(reader, "Compression", "%u, which is not supported", shape->compression);
    return check_colours(reader, shape);
}

static bool check_same(struct tiff_reader *reader, const char *field, unsigned long long here,
                       unsigned long long first)
{
    return here == first || refuse(reader, field, "%llu, but %llu on the first page", here, first);
}

static bool is_planar(const struct shape *shape)
{
    return shape->planes != PLANARCONFIG_CONTIG && shape->channels > 1;
}

/* Refuse a page that is unlike the first one. */
static bool check_like_first(struct tiff_reader *reader, const struct shape *shape, enum sample_type type)
{
    const struct tiff_pages *all = &reader->all;

    return check_same(reader, "ImageWidth", shape->width, all->width) &&
           check_same(reader, "ImageLength", shape->height, all->height) &&
           check_same(reader, "SamplesPerPixel", shape->channels, reader->stored_channels) &&
           check_same(reader, "ExtraSamples", shape->alpha, all->alpha) &&
           check_same(reader, "BitsPerSample", shape->bits, reader->bits) &&
           (conversion_of(shape) == reader->conversion ||
            refuse(reader, "PhotometricInterpretation", "%u, but not on the first page",
                   shape->photometric)) &&
           (is_planar(shape) == reader->all.planar ||
            refuse(reader, "PlanarConfiguration", "%u, but not on the first page", shape->planes)) &&
           (type == all->type ||
            refuse(reader, "SampleFormat", "%u, but not on the first page", shape->format));
}

/* ---- a directory as it stands in the file ---- */

/* libtiff gives its entries one by one, and partly rounded. */
struct directory {
    bool big;       /* of a BigTIFF */
    uint64_t count; /* of entries; no more than any page has use for */
    uint64_t entries;
};

/* A few bytes of the file; 0 for what it does not have, or what cannot be read. Entries, and values, are
   asked for one after the other, so those that follow are read with them. */
static void read_bytes(struct tiff_reader *reader, uint64_t at, unsigned char *bytes, size_t size)
{
    uint64_t skipped = at - reader->near_at;
    size_t got;

    if (at < reader->near_at || skipped > reader->near_bytes || size > reader->near_bytes - skipped) {
        reader->near_bytes = read_at(reader, at, reader->near, sizeof reader->near);
        reader->near_at = at;
        skipped = 0;
    }
    got = size_least(size, reader->near_bytes - (size_t)skipped);
    memcpy(bytes, reader->near + skipped, got);
    memset(bytes + got, 0, size - got);
}

static uint64_t number_at(struct tiff_reader *reader, uint64_t at, size_t size)
{
    unsigned char bytes[8];

    read_bytes(reader, at, bytes, size);
    return endian_get(reader->all.endian, bytes, size);
}

/* The directory of the current page, with a limit on its entries: a damaged count would make the walk
   endless. */
static struct directory find_directory(struct tiff_reader *reader)
{
    enum { VERSION_BIG = 43, ENTRIES_MOST = 4096 };
    struct directory directory = {.big = number_at(reader, 2, 2) == VERSION_BIG};
    uint64_t at = libtiff.TIFFCurrentDirOffset(reader->tiff);
    size_t size = directory.big ? 8 : 2;

    directory.count = number_at(reader, at, size);
    if (directory.count > ENTRIES_MOST)
        directory.count = ENTRIES_MOST;
    directory.entries = at + size;
    return directory;
}

struct entry {
    uint64_t value_at; /* of the value, or of where values stand */
    uint64_t count;    /* of values */
    unsigned tag, type;
};

/* Read an entry of a directory. */
static struct entry entry_of(struct tiff_reader *reader, const struct directory *directory, uint64_t index)
{
    /* An entry is a tag, a type, a count and a value, or where the values stand if they do not fit: 2, 2, 4
       and 4 bytes, in a BigTIFF 2, 2, 8 and 8. */
    size_t size = directory->big ? 20 : 12, room = directory->big ? 8 : 4;
    uint64_t at = directory->entries + index * size;
    unsigned char bytes[20];

    read_bytes(reader, at, bytes, size);
    return (struct entry){.value_at = at + size - room,
                          .count = endian_get(reader->all.endian, bytes + 4, room),
                          .tag = (unsigned)endian_get(reader->all.endian, bytes, 2),
                          .type = (unsigned)endian_get(reader->all.endian, bytes + 2, 2)};
}

/* Where its values stand, and the bytes of each; 0: they are not whole numbers without a sign. */
static uint64_t find_values(struct tiff_reader *reader, const struct directory *directory,
                            const struct entry *entry, size_t *bytes)
{
    static const size_t sizes[] = {[TIFF_BYTE] = 1, [TIFF_SHORT] = 2, [TIFF_LONG] = 4, [TIFF_LONG8] = 8};
    size_t room = directory->big ? 8 : 4;

    *bytes = entry->type < sizeof sizes / sizeof *sizes ? sizes[entry->type] : 0;
    return *bytes > 0 && entry->count > room / *bytes ? number_at(reader, entry->value_at, room)
                                                      : entry->value_at;
}

/* The distance whose inverse the rational number of a tag is, which is a float in libtiff; 0: there
   is none. */
static double read_distance(struct tiff_reader *reader, const struct directory *directory, unsigned tag)
{
    for (uint64_t i = 0; i < directory->count; i++) {
        const struct entry entry = entry_of(reader, directory, i);
        uint64_t place = entry.value_at;
        double numerator;
        if (entry.tag != tag || entry.type != TIFF_RATIONAL)
            continue;
        /* A rational number has eight bytes, which fit only into an entry of a BigTIFF. */
        if (!directory->big)
            place = number_at(reader, place, 4);
        numerator = (double)number_at(reader, place, 4);
        return numerator > 0.0 ? (double)number_at(reader, place + 4, 4) / numerator : 0.0;
    }
    return 0.0;
}

/* ---- what a page tells besides the samples ---- */

/* How the samples lie, what they are and how far apart: what any output has, in its own words. Software is
   the program that wrote the input. */
static const uint16_t carried[] = {
    TIFFTAG_SUBFILETYPE,         TIFFTAG_OSUBFILETYPE,     TIFFTAG_IMAGEWIDTH,
    TIFFTAG_IMAGELENGTH,         TIFFTAG_IMAGEDEPTH,       TIFFTAG_BITSPERSAMPLE,
    TIFFTAG_COMPRESSION,         TIFFTAG_PHOTOMETRIC,      TIFFTAG_FILLORDER,
    TIFFTAG_STRIPOFFSETS,        TIFFTAG_SAMPLESPERPIXEL,  TIFFTAG_ROWSPERSTRIP,
    TIFFTAG_STRIPBYTECOUNTS,     TIFFTAG_MINSAMPLEVALUE,   TIFFTAG_MAXSAMPLEVALUE,
    TIFFTAG_XRESOLUTION,         TIFFTAG_YRESOLUTION,      TIFFTAG_PLANARCONFIG,
    TIFFTAG_RESOLUTIONUNIT,      TIFFTAG_PAGENUMBER,       TIFFTAG_PREDICTOR,
    TIFFTAG_TILEWIDTH,           TIFFTAG_TILELENGTH,       TIFFTAG_TILEOFFSETS,
    TIFFTAG_TILEBYTECOUNTS,      TIFFTAG_SAMPLEFORMAT,     TIFFTAG_SMINSAMPLEVALUE,
    TIFFTAG_SMAXSAMPLEVALUE,     TIFFTAG_COLORMAP,         TIFFTAG_JPEGTABLES,
    TIFFTAG_YCBCRSUBSAMPLING,    TIFFTAG_YCBCRPOSITIONING, TIFFTAG_YCBCRCOEFFICIENTS,
    TIFFTAG_REFERENCEBLACKWHITE, TIFFTAG_T4OPTIONS,        TIFFTAG_T6OPTIONS,
    TIFFTAG_LERC_PARAMETERS,     TIFFTAG_SUBIFD,           TIFF_IMAGEJ_COUNTS,
    TIFF_IMAGEJ_BYTES,           TIFFTAG_SOFTWARE};

/* Channels beyond the colours are written as channels of which nothing is known, but for alpha. */
static bool has_other_extras(struct tiff_reader *reader)
{
    uint16_t *meanings = NULL, count = read_extras(reader, &meanings);

    for (uint16_t i = 0; i < count; i++) {
        if (meanings[i] != EXTRASAMPLE_UNSPECIFIED)
            return reader->all.alpha == 0;
    }
    return false;
}

/* Whether an output tells what this tag tells. */
static bool is_carried(struct tiff_reader *reader, unsigned tag)
{
    uint16_t orientation = ORIENTATION_TOPLEFT;

    if (tag == TIFFTAG_IMAGEDESCRIPTION)
        return reader->all.text.is_stack || reader->all.text.kind == TIFF_TEXT_OME;
    if (tag == TIFFTAG_ORIENTATION)
        return libtiff.TIFFGetField(reader->tiff, TIFFTAG_ORIENTATION, &orientation) != 1 ||
               orientation == ORIENTATION_TOPLEFT;
    if (tag == TIFFTAG_EXTRASAMPLES)
        return !has_other_extras(reader);
    for (size_t i = 0; i < sizeof carried / sizeof *carried; i++) {
        if (carried[i] == tag)
            return true;
    }
    return false;
}

/* Keep values as they stand, if they are not too many to stand in the entry. */
static bool keep_bytes(struct tiff_reader *reader, const struct directory *directory,
                       const struct entry *entry, size_t size, struct tiff_bytes *kept)
{
    size_t room = directory->big ? 8 : 4, bytes = (size_t)entry->count * size;
    uint64_t place = number_at(reader, entry->value_at, room);

    if (kept->bytes != NULL || entry->count > PROBE_MOST || bytes <= room)
        return true;
    kept->bytes = mem_alloc(bytes, 1, "metadata of ImageJ", reader->fault);
    if (kept->bytes == NULL)
        return false;
    kept->size = read_at(reader, place, kept->bytes, bytes) == bytes ? bytes : 0;
    return !reader->failed;
}

/* ImageJ has lookup tables, ranges, labels and regions in tags of its own: sizes in four bytes each, and
 * bytes. */
static bool keep_metadata(struct tiff_reader *reader, const struct directory *directory)
{
    bool done = true;

    for (uint64_t i = 0; done && i < directory->count; i++) {
        const struct entry entry = entry_of(reader, directory, i);
        if (entry.tag == TIFF_IMAGEJ_COUNTS && entry.type == TIFF_LONG)
            done = keep_bytes(reader, directory, &entry, 4, &reader->all.metadata_counts);
        else if (entry.tag == TIFF_IMAGEJ_BYTES && entry.type == TIFF_BYTE)
            done = keep_bytes(reader, directory, &entry, 1, &reader->all.metadata);
    }
    return done;
}

/* The tags of the page that no output has. One that libtiff does not know either has its number for
   a name. */
static void list_tags(struct tiff_reader *reader, const struct directory *directory)
{
    struct tiff_pages *all = &reader->all;

    for (uint64_t i = 0; i < directory->count; i++) {
        unsigned tag = entry_of(reader, directory, i).tag;
        const TIFFField *field;
        if (is_carried(reader, tag))
            continue;
        field = libtiff.TIFFFieldWithTag(reader->tiff, tag);
        if (field == NULL)
            format_drop(&all->dropped, "tag %u", tag);
        else
            format_drop(&all->dropped, "%.47s", libtiff.TIFFFieldName(field));
    }
}

/* MetaMorph writes one directory for all planes of a stack, and tells their number in a tag of its own. */
static bool check_planes(struct tiff_reader *reader, const struct directory *directory)
{
    enum { METAMORPH_PLANES = 33629 };

    for (uint64_t i = 0; i < directory->count; i++) {
        const struct entry entry = entry_of(reader, directory, i);
        if (entry.tag == METAMORPH_PLANES && entry.count > 1)
            return refuse(reader, "tag 33629",
                          "%llu planes of MetaMorph in one directory, which is not supported",
                          (unsigned long long)entry.count);
    }
    return true;
}

/* Read what the first page says besides its samples: distances, and tags that no output has. */
static bool read_other_tags(struct tiff_reader *reader)
{
    struct tiff_pages *all = &reader->all;
    const struct directory directory = find_directory(reader);

    all->distance[0] = read_distance(reader, &directory, TIFFTAG_XRESOLUTION);
    all->distance[1] = read_distance(reader, &directory, TIFFTAG_YRESOLUTION);
    all->has_resolution = all->distance[0] > 0.0 && all->distance[1] > 0.0;
    all->unit = short_field(reader, TIFFTAG_RESOLUTIONUNIT, RESUNIT_INCH);
    list_tags(reader, &directory);
    return check_planes(reader, &directory) && keep_metadata(reader, &directory) && !reader->failed;
}

/* Bytes of some columns of a strip or tile. */
static size_t stored_row(const struct tiff_reader *reader, uint32_t columns)
{
    uint64_t bits = (uint64_t)columns * reader->bits * (reader->all.planar ? 1 : reader->stored_channels);

    return (size_t)((bits + 7) / 8);
}

/* The first page says what all pages must be. */
static bool read_first(struct tiff_reader *reader, const struct shape *shape, enum sample_type type)
{
    struct tiff_pages *all = &reader->all;
    unsigned channels = conversion_of(shape) == CONVERT_PALETTE ? 3 : shape->channels;
    size_t samples;

    if (!mem_product(&samples, shape->width, channels) ||
        !mem_product(&reader->row_bytes, samples, sample_size(type)) ||
        !mem_product(&samples, reader->row_bytes, shape->height))
        return refuse(reader, "ImageWidth", "%u: more than can be addressed", shape->width);
    all->width = shape->width;
    all->height = shape->height;
    all->channels = channels;
    all->alpha = shape->alpha;
    all->type = type;
    all->bits = shape->bits;
    all->photometric = shape->photometric;
    all->coloured = conversion_of(shape) == CONVERT_PALETTE;
    all->inverted = conversion_of(shape) == CONVERT_WHITE;
    reader->conversion = conversion_of(shape);
    reader->all.planar = is_planar(shape);
    reader->bits = shape->bits;
    reader->stored_channels = shape->channels;
    reader->stored_row = stored_row(reader, shape->width);
    all->plain = reader->conversion == CONVERT_NOTHING && reader->bits >= 8 && !reader->all.planar;
    return true;
}

/* ---- where its samples are ---- */

/* Tags that decide what the samples are. Where libtiff takes one for damaged, it warns and guesses. */
static const struct deciding {
    uint32_t tag;
    const char *name;
    enum { SHORT_NUMBER, LONG_NUMBER, SHORT_BY_CHANNEL, SHORT_BY_EXTRA, PLACE_BY_PIECE, BYTES_BY_PIECE } kind;
} deciding[] = {
    {TIFFTAG_IMAGEWIDTH, "ImageWidth", LONG_NUMBER},
    {TIFFTAG_IMAGELENGTH, "ImageLength", LONG_NUMBER},
    {TIFFTAG_BITSPERSAMPLE, "BitsPerSample", SHORT_BY_CHANNEL},
    {TIFFTAG_COMPRESSION, "Compression", SHORT_NUMBER},
    {TIFFTAG_PHOTOMETRIC, "PhotometricInterpretation", SHORT_NUMBER},
    {TIFFTAG_FILLORDER, "FillOrder", SHORT_NUMBER},
    {TIFFTAG_SAMPLESPERPIXEL, "SamplesPerPixel", SHORT_NUMBER},
    {TIFFTAG_ROWSPERSTRIP, "RowsPerStrip", LONG_NUMBER},
    {TIFFTAG_PREDICTOR, "Predictor", SHORT_NUMBER},
    {TIFFTAG_TILEWIDTH, "TileWidth", LONG_NUMBER},
    {TIFFTAG_TILELENGTH, "TileLength", LONG_NUMBER},
    {TIFFTAG_SAMPLEFORMAT, "SampleFormat", SHORT_BY_CHANNEL},
    {TIFFTAG_EXTRASAMPLES, "ExtraSamples", SHORT_BY_EXTRA},
    {TIFFTAG_STRIPOFFSETS, "StripOffsets", PLACE_BY_PIECE},
    {TIFFTAG_TILEOFFSETS, "TileOffsets", PLACE_BY_PIECE},
    {TIFFTAG_STRIPBYTECOUNTS, "StripByteCounts", BYTES_BY_PIECE},
    {TIFFTAG_TILEBYTECOUNTS, "TileByteCounts", BYTES_BY_PIECE},
};

static uint32_t pieces(struct tiff_reader *reader)
{
    return libtiff.TIFFIsTiled(reader->tiff) ? libtiff.TIFFNumberOfTiles(reader->tiff)
                                             : libtiff.TIFFNumberOfStrips(reader->tiff);
}

/* One of the numbers that libtiff uses for a tag. */
static bool number_in_use(struct tiff_reader *reader, const struct deciding *tag, uint32_t index,
                          uint64_t *number)
{
    uint32_t wide = 0;
    uint16_t narrow = 0;
    int known = 1;

    if (tag->kind == PLACE_BY_PIECE) {
        *number = libtiff.TIFFGetStrileOffset(reader->tiff, index);
    } else if (tag->kind == BYTES_BY_PIECE) {
        *number = libtiff.TIFFGetStrileByteCount(reader->tiff, index);
    } else if (tag->kind == SHORT_BY_EXTRA) {
        uint16_t *meanings = NULL;
        known = index < read_extras(reader, &meanings);
        *number = known ? meanings[index] : 0;
    } else if (tag->kind == LONG_NUMBER) {
        known = libtiff.TIFFGetField(reader->tiff, tag->tag, &wide);
        *number = wide;
    } else {
        known = libtiff.TIFFGetField(reader->tiff, tag->tag, &narrow);
        *number = narrow;
    }
    return known == 1;
}

/* Each number of the entry, as it is in the file, must be the one that libtiff uses. */
static bool check_entry(struct tiff_reader *reader, const struct directory *directory,
                        const struct entry *entry, const struct deciding *tag, const struct shape *shape)
{
    size_t bytes;
    uint64_t used, stands, place = find_values(reader, directory, entry, &bytes),
                           most = tag->kind == SHORT_BY_CHANNEL ? shape->channels
                                  : tag->kind == SHORT_BY_EXTRA ? extra_channels(shape)
                                  : tag->kind < PLACE_BY_PIECE  ? 1
                                                                : pieces(reader);

    if (entry->count != most && !(entry->count == 1 && tag->kind == SHORT_BY_CHANNEL))
        return refuse(reader, tag->name, "%llu values, which are not as many as there should be",
                      (unsigned long long)entry->count);
    for (uint32_t i = 0; i < entry->count; i++) {
        if (bytes == 0)
            return refuse(reader, tag->name, "not of a type for whole numbers");
        stands = number_at(reader, place + i * bytes, bytes);
        if (!number_in_use(reader, tag, i, &used) || used != stands)
            return refuse(reader, tag->name, "%llu, which cannot be", (unsigned long long)stands);
    }
    return true;
}

/* Codes without predictors leave that tag out, as it should be. */
static bool is_ignored(const struct deciding *tag, const struct shape *shape)
{
    return tag->tag == TIFFTAG_PREDICTOR &&
           (shape->compression == COMPRESSION_NONE || shape->compression == COMPRESSION_PACKBITS);
}

/* Check that libtiff uses the numbers that the directory itself has. */
static bool check_directory(struct tiff_reader *reader, const struct shape *shape)
{
    const struct directory directory = find_directory(reader);

    for (uint64_t index = 0; index < directory.count; index++) {
        const struct entry entry = entry_of(reader, &directory, index);
        for (size_t i = 0; i < sizeof deciding / sizeof *deciding; i++) {
            if (deciding[i].tag == entry.tag && !is_ignored(&deciding[i], shape) &&
                !check_entry(reader, &directory, &entry, &deciding[i], shape))
                return false;
        }
    }
    return !reader->failed;
}

/* Of one channel, if they are planar. */
static uint32_t pieces_of_plane(struct tiff_reader *reader)
{
    return reader->all.planar ? pieces(reader) / reader->stored_channels : pieces(reader);
}

static uint64_t rows_per_strip(struct tiff_reader *reader)
{
    uint32_t rows = 0;

    libtiff.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_ROWSPERSTRIP, &rows);
    return rows;
}

/* Rows of a strip, if it is not the last one. */
static uint64_t strip_rows(struct tiff_reader *reader)
{
    uint64_t rows = rows_per_strip(reader);

    return rows == 0 || rows > reader->all.height ? reader->all.height : rows;
}

/* Bytes of samples in a strip or tile once it is decoded. The last strip has the rows that are left. */
static uint64_t piece_bytes(struct tiff_reader *reader, uint32_t piece)
{
    uint64_t rows = reader->all.height, each = strip_rows(reader);

    if (libtiff.TIFFIsTiled(reader->tiff))
        return (uint64_t)libtiff.TIFFTileSize(reader->tiff);
    rows -= each * (piece % size_divided_up(rows, each));
    return (rows < each ? rows : each) * reader->stored_row;
}

/* Bytes of a strip with all the rows that it may have: some programs fill up the last one. 0 for tiles. */
static uint64_t piece_bytes_most(struct tiff_reader *reader)
{
    return libtiff.TIFFIsTiled(reader->tiff) ? 0 : rows_per_strip(reader) * reader->stored_row;
}

/* Check that a strip or tile lies within the file, and that its bytes can hold its samples. Pages stay plain
   only while their pieces follow each other without gaps. */
static bool check_piece(struct tiff_reader *reader, uint32_t piece, unsigned most, uint64_t *samples)
{
    bool tiled = libtiff.TIFFIsTiled(reader->tiff);
    uint64_t needed = piece_bytes(reader, piece), offset = libtiff.TIFFGetStrileOffset(reader->tiff, piece),
             bytes = libtiff.TIFFGetStrileByteCount(reader->tiff, piece);

    /* Some programs leave out what is all background; which value that is, the file does not say. */
    if (offset == 0 && bytes == 0)
        return refuse(reader, tiled ? "TileOffsets" : "StripOffsets",
                      tiled ? "0: a tile is missing (sparse), which is not supported"
                            : "0: a strip is missing (sparse), which is not supported");
    if (offset == 0 || offset > reader->size || bytes > reader->size - offset)
        return refuse(reader, tiled ? "TileOffsets" : "StripOffsets", "outside the file");
    if ((most == 1 && bytes < needed) || (most > 1 && needed / most > bytes + SHORT_CODE))
        return refuse(reader, tiled ? "TileByteCounts" : "StripByteCounts", "%llu: too few for the samples",
                      (unsigned long long)bytes);
    if (most == 1 && bytes > needed &&
        ((piece + 1) % pieces_of_plane(reader) != 0 || bytes != piece_bytes_most(reader)))
        return refuse(reader, tiled ? "TileByteCounts" : "StripByteCounts",
                      "%llu: more than the samples take", (unsigned long long)bytes);
    if (piece == 0)
        *samples = offset;
    else if (offset != *samples + (uint64_t)piece * piece_bytes(reader, 0))
        reader->all.plain = false;
    return true;
}

/* Parts of a page that hold a channel each, or all of them. */
static uint64_t channel_planes(const struct tiff_reader *reader)
{
    return reader->all.planar ? reader->stored_channels : 1;
}

/* Keep in mind the most that decoding takes: a strip or tile, and as many rows of the page. */
static void keep_room(struct tiff_reader *reader, size_t bytes, uint32_t rows)
{
    reader->tile_bytes = size_most(reader->tile_bytes, bytes);
    reader->band_rows = size_most(reader->band_rows, size_least(rows, (size_t)reader->all.height));
}

/* Whether rows of the current page are not given as they are decoded, but come from whole tiles or strips:
   also those of PackBits, whose runs may go on from row to row. */
static bool is_banded(struct tiff_reader *reader)
{
    return reader->all.planar || reader->bits < 8 || reader->conversion != CONVERT_NOTHING ||
           libtiff.TIFFIsTiled(reader->tiff) ||
           short_field(reader, TIFFTAG_COMPRESSION, COMPRESSION_NONE) == COMPRESSION_PACKBITS;
}

/* Check the extents of tiles, and that there are as many as the page takes. */
static bool check_tiles(struct tiff_reader *reader, uint32_t count)
{
    uint32_t width = 0, height = 0;
    size_t bytes;

    if (libtiff.TIFFGetField(reader->tiff, TIFFTAG_TILEWIDTH, &width) != 1 || width == 0)
        return refuse(reader, "TileWidth", "missing, or 0");
    if (libtiff.TIFFGetField(reader->tiff, TIFFTAG_TILELENGTH, &height) != 1 || height == 0)
        return refuse(reader, "TileLength", "missing, or 0");
    if (!mem_product(&bytes, stored_row(reader, width), height) ||
        libtiff.TIFFTileSize64(reader->tiff) != bytes)
        return refuse(reader, "TileWidth", "%u: tiles of an impossible size", width);
    if (size_divided_up(reader->all.width, width) * size_divided_up(reader->all.height, height) *
            channel_planes(reader) !=
        count)
        return refuse(reader, "TileOffsets", "%u tiles, which does not fit the page", count);
    keep_room(reader, bytes, height);
    reader->all.plain = false;
    return true;
}

static bool check_strips(struct tiff_reader *reader, uint32_t count)
{
    uint64_t first = piece_bytes(reader, 0) / reader->stored_row;

    if (size_divided_up(reader->all.height, first) * channel_planes(reader) != count)
        return refuse(reader, "StripOffsets", "%u strips, which does not fit the page", count);
    if (libtiff.TIFFScanlineSize64(reader->tiff) != reader->stored_row)
        return refuse(reader, "ImageWidth", "rows of an impossible size");
    if (is_banded(reader))
        keep_room(reader, (size_t)piece_bytes(reader, 0), (uint32_t)first);
    return true;
}

/* Check all strips or tiles of a page, and find out whether they can be read without libtiff. */
static bool locate(struct tiff_reader *reader, const struct shape *shape, uint64_t *samples)
{
    bool tiled = libtiff.TIFFIsTiled(reader->tiff);
    uint32_t count = pieces(reader);

    if (!(tiled ? check_tiles(reader, count) : check_strips(reader, count)))
        return false;
    if (shape->compression != COMPRESSION_NONE ||
        short_field(reader, TIFFTAG_FILLORDER, FILLORDER_MSB2LSB) != FILLORDER_MSB2LSB)
        reader->all.plain = false;
    for (uint32_t piece = 0; piece < count; piece++) {
        if (!check_piece(reader, piece, scheme_of(shape->compression)->most, samples))
            return false;
    }
    return !reader->failed;
}

/* ---- what the description says of pages ---- */

static int by_number(const void *one, const void *other)
{
    const struct placed *a = one, *b = other;

    return a->number < b->number ? -1 : a->number > b->number;
}

/* The place of an axis in lists of z, c and t. */
static int axis_number(char axis)
{
    return axis == 'Z' ? 0 : axis == 'C' ? 1 : 2;
}

/* Where a run of pages begins in the order of axes, and how many planes follow there; 0: it begins outside.
 */
static uint64_t room_of(const struct tiff_text *text, const struct ome_run *run, uint64_t *place)
{
    uint64_t stride = 1;

    *place = 0;
    for (const char *axis = text->order; *axis != '\0'; axis++) {
        const uint64_t extents[3] = {text->slices, text->channels, text->frames};
        int i = axis_number(*axis);
        if (run->first[i] >= extents[i])
            return 0;
        *place += stride * run->first[i];
        stride *= extents[i];
    }
    return text->pages - *place;
}

/* Refuse axes that have no page at a place of theirs. */
static bool refuse_place(struct tiff_reader *reader, uint64_t place)
{
    const struct tiff_text *text = &reader->all.text;
    const uint64_t extents[3] = {text->slices, text->channels, text->frames};
    unsigned long long index[3] = {0};

    for (const char *axis = text->order; *axis != '\0'; axis++) {
        int i = axis_number(*axis);
        index[i] = place % extents[i];
        place /= extents[i];
    }
    return refuse(reader, description_field, "TiffData: no page for Z=%llu C=%llu T=%llu", index[0], index[1],
                  index[2]);
}

/* Put the pages of a run where their planes are. Planes that have no page yet are marked. */
static bool place_run(struct tiff_reader *reader, const struct ome_run *run, struct placed *placed)
{
    uint64_t place, room = room_of(&reader->all.text, run, &place), count = run->count;

    if (count == UINT64_MAX && run->page < UINT32_MAX)
        count = room;
    if (count > room || run->page >= UINT32_MAX)
        return refuse(reader, description_field, "TiffData: IFD %llu: outside the volume",
                      (unsigned long long)run->page);
    for (uint64_t i = 0; i < count; i++) {
        if (placed[place + i].number != UINT64_MAX)
            return refuse(reader, description_field, "TiffData: IFD %llu: another page has its place",
                          (unsigned long long)(run->page + i));
        placed[place + i] = (struct placed){run->page + i, place + i};
    }
    return true;
}

static bool place_runs(struct tiff_reader *reader, struct placed *placed)
{
    struct tiff_text *text = &reader->all.text;
    const char *at = text->image, *within = NULL;
    struct ome_image image;
    struct ome_run run;
    bool any = false;

    for (uint64_t i = 0; i < text->pages; i++)
        placed[i] = (struct placed){UINT64_MAX, i};
    ome_next_image(&at, &image);
    for (; ome_next_run(&image, &within, &run); any = true) {
        if (!place_run(reader, &run, placed))
            return false;
    }
    /* Where it does not tell, pages are in order, those of the first Image. */
    if (!any && text->number > 0)
        return refuse(reader, description_field, "no TiffData for this Image");
    for (uint64_t i = 0; !any && i < text->pages; i++)
        placed[i] = (struct placed){i, i};
    qsort(placed, (size_t)text->pages, sizeof *placed, by_number);
    for (uint64_t i = 0; i < text->pages; i++) {
        if (placed[i].number == UINT64_MAX)
            return refuse_place(reader, placed[i].place);
        if (i > 0 && placed[i].number == placed[i - 1].number)
            return refuse(reader, description_field, "TiffData: IFD %llu: at two places",
                          (unsigned long long)placed[i].number);
    }
    return true;
}

/* OME tells which page is which plane. Each page has a directory, which takes some bytes of the file. */
static bool place_pages(struct tiff_reader *reader)
{
    enum { DIRECTORY_LEAST = 32 };
    struct tiff_text *text = &reader->all.text;

    if (text->kind != TIFF_TEXT_OME || text->image == NULL)
        return true;
    if (text->pages > reader->size / DIRECTORY_LEAST)
        return refuse(reader, description_field, "%llu pages, more than the file holds",
                      (unsigned long long)text->pages);
    reader->placed =
        mem_alloc((size_t)text->pages, sizeof *reader->placed, "the pages of a TIFF file", reader->fault);
    return reader->placed != NULL && place_runs(reader, reader->placed);
}

/* Read the description, which the first directory has, whatever page that is of. */
static bool read_description(struct tiff_reader *reader, uint64_t volume)
{
    struct tiff_pages *all = &reader->all;
    const char *description = NULL;

    all->endian = libtiff.TIFFIsBigEndian(reader->tiff) ? ENDIAN_BIG : ENDIAN_LITTLE;
    if (libtiff.TIFFGetField(reader->tiff, TIFFTAG_IMAGEDESCRIPTION, &description) != 1)
        return !reader->failed;
    all->description = mem_text(description, reader->fault);
    if (all->description == NULL)
        return false;
    all->text = tiff_text_read(all->description, short_field(reader, TIFFTAG_SAMPLESPERPIXEL, 1), volume);
    if (all->text.refusal[0] != '\0')
        return refuse(reader, description_field, "%s", all->text.refusal);
    return place_pages(reader);
}

/* ---- all pages ---- */

static bool add_page(struct tiff_reader *reader, uint64_t samples)
{
    struct page *pages = mem_grow(reader->pages, reader->page_count, &reader->capacity, sizeof *pages,
                                  "the pages of a TIFF file", reader->fault);

    if (pages == NULL)
        return false;
    reader->pages = pages;
    pages[reader->page_count++] = (struct page){
        .number = reader->page,
        .directory = libtiff.TIFFCurrentDirOffset(reader->tiff),
        .samples = samples,
        .piece_bytes = piece_bytes(reader, 0),
    };
    reader->all.count++;
    return true;
}

/* Whether the current page belongs to the series. OME says which pages do. Another description that tells how
   many there are is of the first ones; ImageJ's is of all. */
static bool is_wanted(const struct tiff_reader *reader)
{
    const struct tiff_text *text = &reader->all.text;
    const struct placed key = {.number = reader->page};

    if (reader->placed != NULL)
        return bsearch(&key, reader->placed, (size_t)text->pages, sizeof key, by_number) != NULL;
    return text->kind == TIFF_TEXT_IMAGEJ || text->pages == 0 || reader->all.count < text->pages;
}

/* Go to a smaller resolution of the current page, which SubIFDs lists from the greatest on. */
static bool go_to_level(struct tiff_reader *reader)
{
    uint16_t levels = 0;
    uint64_t *places = NULL;

    if (libtiff.TIFFGetField(reader->tiff, TIFFTAG_SUBIFD, &levels, &places) != 1)
        levels = 0;
    reader->all.levels = size_most(reader->all.levels, levels);
    if (reader->level == 0)
        return true;
    if (levels == 0)
        return fault_set_for(reader->fault, STATUS_USAGE, file_in_name(reader->file),
                             "--resolution: the file has the full one alone (SubIFDs)");
    if (reader->level > levels)
        return fault_set_for(reader->fault, STATUS_USAGE, file_in_name(reader->file),
                             "--resolution: %llu: the last one is %u", (unsigned long long)reader->level,
                             (unsigned)levels);
    if (!libtiff.TIFFSetSubDirectory(reader->tiff, places[reader->level - 1]))
        return refuse_damage(reader);
    prepare_code(reader);
    return true;
}

/* Check the current page, at the resolution that is read, and add it to those that are planes. */
static bool add_plane(struct tiff_reader *reader)
{
    struct shape shape = read_shape(reader);
    enum sample_type type = SAMPLE_U8;
    uint64_t samples = 0;

    return check_shape(reader, &shape) && read_type(reader, &shape, &type) &&
           (reader->all.count == 0 ? read_first(reader, &shape, type)
                                   : check_like_first(reader, &shape, type)) &&
           check_directory(reader, &shape) && locate(reader, &shape, &samples) && add_page(reader, samples);
}

/* Take the current page, if it is a plane of the series. */
static bool take_page(struct tiff_reader *reader)
{
    uint64_t directory = libtiff.TIFFCurrentDirOffset(reader->tiff);
    uint32_t kind = 0;

    prepare_code(reader);
    /* Smaller copies and masks are no planes. */
    libtiff.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_SUBFILETYPE, &kind);
    if ((kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) != 0) {
        reader->all.left_out++;
        return true;
    }
    if (!is_wanted(reader)) {
        reader->all.others++;
        return true;
    }
    if (reader->all.count == 0) {
        const struct shape shape = read_shape(reader);
        reader->all.full[0] = shape.width;
        reader->all.full[1] = shape.height;
        reader->all.alpha = shape.alpha;
        if (!read_other_tags(reader))
            return false;
    }
    return go_to_level(reader) && add_plane(reader) &&
           (reader->level == 0 || libtiff.TIFFSetSubDirectory(reader->tiff, directory) ||
            refuse_damage(reader));
}

/* Whether the directory of the current page is there to its end, the place of the next one. libtiff takes the
   page for the last one if the file ends within that place. */
static bool check_end(struct tiff_reader *reader)
{
    const struct directory directory = find_directory(reader);
    uint64_t bytes = directory.big ? directory.count * 20 + 8 : directory.count * 12 + 4;

    return directory.entries + bytes <= reader->size ||
           refuse(reader, "directory", "the file ends within it");
}

/* Walk all directories of the file. */
static bool scan(struct tiff_reader *reader)
{
    for (;; reader->page++) {
        if (!take_page(reader) || !check_end(reader))
            return false;
        if (libtiff.TIFFLastDirectory(reader->tiff))
            return reader->all.count > 0 ||
                   (reader->placed != NULL
                        ? refuse(reader, description_field, "TiffData: no page that the file has")
                        : refuse(reader, "NewSubfileType", "only reduced copies or masks, no page"));
        if (!libtiff.TIFFReadDirectory(reader->tiff))
            return refuse_damage(reader);
    }
}

/* ---- what its code holds ---- */

/* Whether a strip or tile decodes to more than `bytes` bytes, by a sample at least. */
static bool decodes_beyond(struct tiff_reader *reader, uint32_t piece, uint64_t bytes, unsigned char *code,
                           unsigned char *samples)
{
    uint64_t size = libtiff.TIFFGetStrileByteCount(reader->tiff, piece);
    size_t got = read_at(reader, libtiff.TIFFGetStrileOffset(reader->tiff, piece), code, (size_t)size);
    bool beyond;

    if (reader->failed)
        return false;
    reader->probing = true;
    beyond = libtiff.TIFFReadFromUserBuffer(reader->tiff, piece, code, (tmsize_t)got, samples,
                                            (tmsize_t)(bytes + sample_size(reader->all.type))) == 1;
    reader->probing = false;
    return beyond;
}

/* A last strip may have all the rows of others, but no more than that. */
static bool check_code(struct tiff_reader *reader, uint32_t piece)
{
    bool tiled = libtiff.TIFFIsTiled(reader->tiff);
    uint64_t bytes = piece_bytes(reader, piece), most = tiled ? bytes : piece_bytes_most(reader),
             code_bytes = libtiff.TIFFGetStrileByteCount(reader->tiff, piece);
    unsigned char *code, *samples;
    bool more = false;

    if (bytes > PROBE_MOST || code_bytes > PROBE_MOST)
        return true;
    if (most > PROBE_MOST)
        most = bytes;
    /* The piece may hold its samples and no more; of a last strip, as many rows as others have. */
    code = mem_alloc((size_t)code_bytes, 1, "the code of a TIFF page", reader->fault);
    samples = mem_alloc((size_t)most + sample_size(reader->all.type), 1, "a TIFF page", reader->fault);
    if (code != NULL && samples != NULL)
        more = decodes_beyond(reader, piece, bytes, code, samples) &&
               (most == bytes || piece + 1 < pieces(reader) ||
                !decodes_beyond(reader, piece, most - sample_size(reader->all.type), code, samples) ||
                decodes_beyond(reader, piece, most, code, samples));
    else
        reader->failed = true;
    mem_free(code);
    mem_free(samples);
    return !reader->failed && (!more || refuse(reader, tiled ? "TileOffsets" : "StripOffsets",
                                               tiled ? "a tile holds more than its samples"
                                                     : "a strip holds more than its rows"));
}

/* Decode the first strip or tile, and the last strip, on trial: they show it if the page has other extents
   than it was written with. Predictors want whole rows, so they are set aside meanwhile. */
static bool check_codes(struct tiff_reader *reader)
{
    uint64_t directory = reader->pages[reader->page].directory;
    uint16_t predictor = 0;
    uint16_t compression;
    uint32_t last;

    if (!libtiff.TIFFSetSubDirectory(reader->tiff, directory))
        return refuse_damage(reader);
    compression = short_field(reader, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    if (compression == COMPRESSION_NONE || !scheme_of(compression)->of_bytes)
        return true;
    if (libtiff.TIFFGetField(reader->tiff, TIFFTAG_PREDICTOR, &predictor) == 1)
        libtiff.TIFFSetField(reader->tiff, TIFFTAG_PREDICTOR, PREDICTOR_NONE);
    last = libtiff.TIFFIsTiled(reader->tiff) ? 0 : pieces(reader) - 1;
    return check_code(reader, 0) && (last == 0 || check_code(reader, last)) &&
           (libtiff.TIFFSetSubDirectory(reader->tiff, directory) || refuse_damage(reader));
}

/* Pages whose pieces are alike have the extents of the first one, whose pieces have been looked at. */
static bool check_pages(struct tiff_reader *reader)
{
    for (reader->page = 0; reader->page < reader->page_count; reader->page++) {
        const struct page *page = &reader->pages[reader->page];
        if ((reader->page == 0 || page->piece_bytes != page[-1].piece_bytes) && !check_codes(reader))
            return false;
    }
    return true;
}

/* ImageJ writes one directory for a stack that leaves no room for more: all samples follow those of the first
   page. tifffile does so on demand. */
static bool expand_stack(struct tiff_reader *reader)
{
    struct tiff_pages *all = &reader->all;
    uint64_t bytes = all->height * reader->row_bytes, room;

    reader->page = 0;
    if (!all->text.follow || all->text.pages <= 1 || all->text.pages == all->count)
        return true;
    if (all->count > 1 || !all->plain)
        return refuse(reader, description_field, "images: %llu, but the file has %llu page%s",
                      (unsigned long long)all->text.pages, (unsigned long long)all->count,
                      number_plural(all->count));
    room = (reader->size - reader->pages[0].samples) / bytes;
    if (all->text.pages > room)
        return refuse(reader, description_field, "images: %llu, but the file has room for %llu",
                      (unsigned long long)all->text.pages, (unsigned long long)room);
    all->count = all->text.pages;
    reader->in_step = true;
    return true;
}

/* The axes that are told must have as many pages as there are. Without any, pages are slices. */
static bool settle_axes(struct tiff_reader *reader)
{
    struct tiff_pages *all = &reader->all;
    struct tiff_text *text = &all->text;
    uint64_t i = 0;

    if (text->channels == 0) {
        text->channels = text->frames = 1;
        text->slices = all->count;
        memcpy(text->order, "ZCT", sizeof "ZCT");
        text->is_volume = text->is_volume || all->count > 1;
    }
    all->slices = text->slices;
    all->volumes = text->channels * text->frames;
    if (all->volumes * all->slices == all->count)
        return true;
    /* Both are in the order of the file. */
    while (reader->placed != NULL && i < all->count && reader->pages[i].number == reader->placed[i].number)
        i++;
    if (reader->placed != NULL)
        return refuse(reader, description_field, "TiffData: IFD %llu: no page of the file",
                      (unsigned long long)reader->placed[i].number);
    return refuse(reader, description_field, "%llu channels, %llu slices, %llu frames, but %llu page%s",
                  (unsigned long long)text->channels, (unsigned long long)text->slices,
                  (unsigned long long)text->frames, (unsigned long long)all->count,
                  number_plural(all->count));
}

/* Put pages in the order of planes: those of a volume are apart where volumes stand in turn, and OME may
   place them anywhere. Pages and their places are in the order of numbers before. */
static bool order_pages(struct tiff_reader *reader)
{
    size_t count = (size_t)reader->all.count;
    struct page *places, *planes;

    if (reader->in_step || (reader->placed == NULL && tiff_text_in_turn(&reader->all.text) == 1))
        return true;
    places = mem_alloc(count, sizeof *places, "the pages of a TIFF file", reader->fault);
    planes = mem_alloc(count, sizeof *planes, "the pages of a TIFF file", reader->fault);
    if (places != NULL && planes != NULL) {
        for (size_t i = 0; i < count; i++)
            places[reader->placed != NULL ? reader->placed[i].place : i] = reader->pages[i];
        for (size_t i = 0; i < count; i++)
            planes[i] = places[tiff_text_page(&reader->all.text, i)];
        mem_free(reader->pages);
        reader->pages = planes;
        mem_free(reader->placed);
        reader->placed = NULL;
    } else {
        mem_free(planes);
        reader->failed = true;
    }
    mem_free(places);
    return !reader->failed;
}

/* Load libtiff and open the file with it. TIFF has links that lead back, so a pipe is refused. */
static bool start(struct tiff_reader *reader)
{
    if (!file_in_remaining(reader->file, &reader->size))
        return fault_set_for(reader->fault, STATUS_USAGE, file_in_name(reader->file),
                             "a TIFF file is not read in order, so it must be a regular file");
    if (!load(file_in_name(reader->file), reader->fault))
        return false;
    /* No memory map, and strips as they are. */
    reader->tiff = libtiff.TIFFClientOpen(file_in_name(reader->file), "rmc", reader, read_some, write_none,
                                          seek, close_nothing, tell_size, NULL, NULL);
    return reader->tiff != NULL || refuse_damage(reader);
}

/* The extents of the tiles or strips of the page at hand. */
static void find_piece(struct tiff_reader *reader)
{
    reader->piece_columns = (uint32_t)reader->all.width;
    reader->piece_rows = (uint32_t)strip_rows(reader);
    if (libtiff.TIFFIsTiled(reader->tiff)) {
        libtiff.TIFFGetField(reader->tiff, TIFFTAG_TILEWIDTH, &reader->piece_columns);
        libtiff.TIFFGetField(reader->tiff, TIFFTAG_TILELENGTH, &reader->piece_rows);
    }
}

bool tiff_reader_open(struct tiff_pages **pages, struct file_in *file, const struct source_request *request,
                      struct fault *fault)
{
    struct tiff_reader *reader = mem_zeroed(1, sizeof *reader, "a TIFF reader", fault);

    if (reader == NULL)
        return false;
    pthread_mutex_init(&reader->turn, NULL);
    reader->file = file;
    reader->fault = fault;
    reader->level = request->resolution;
    errno = 0;
    if (start(reader) && read_description(reader, request->has_volume ? request->volume : 0) &&
        scan(reader) && check_pages(reader) && expand_stack(reader) && settle_axes(reader) &&
        order_pages(reader) && !reader->failed) {
        find_piece(reader);
        reader->page = reader->page_count;
        *pages = &reader->all;
        return true;
    }
    tiff_reader_close(&reader->all);
    return false;
}

void tiff_reader_close(struct tiff_pages *pages)
{
    struct tiff_reader *reader = (struct tiff_reader *)pages;
    struct fault ignored;

    reader->fault = &ignored;
    if (reader->tiff != NULL)
        libtiff.TIFFClose(reader->tiff);
    mem_free(reader->pages);
    mem_free(reader->placed);
    mem_free(reader->all.description);
    mem_free(reader->all.metadata_counts.bytes);
    mem_free(reader->all.metadata.bytes);
    mem_free(reader->tile);
    mem_free(reader->band);
    pthread_mutex_destroy(&reader->turn);
    mem_free(reader);
}

uint64_t tiff_reader_place(const struct tiff_pages *pages, uint64_t plane)
{
    const struct tiff_reader *reader = (const struct tiff_reader *)pages;

    return reader->in_step ? reader->pages[0].samples +
                                 tiff_text_page(&pages->text, plane) * pages->height * reader->row_bytes
                           : reader->pages[plane].samples;
}

/* ---- rows ---- */

/* A sample of up to 8 bits, which are packed from the highest one on. */
static unsigned packed_sample(const struct tiff_reader *reader, const unsigned char *row, size_t i)
{
    unsigned place = (unsigned)(i * reader->bits % 8);

    return (unsigned)row[i * reader->bits / 8] >> (8 - reader->bits - place) & ((1U << reader->bits) - 1);
}

/* Stored pixels of one channel as they are given, from one of a row on: unpacked, with white as the greatest
   number, or in colour. */
static void convert(const struct tiff_reader *reader, const unsigned char *row, size_t first, size_t count,
                    unsigned char *to)
{
    unsigned invert = reader->conversion == CONVERT_WHITE ? (1U << reader->bits % 32) - 1 : 0;

    if (reader->bits > 8) { /* white is zero */
        const unsigned char *from = row + first * (reader->bits / 8);
        for (size_t i = 0; i < count * (reader->bits / 8); i++)
            to[i] = (unsigned char)~from[i];
        return;
    }
    for (size_t i = 0; i < count; i++) {
        unsigned sample = packed_sample(reader, row, first + i);
        if (reader->conversion == CONVERT_PALETTE)
            memcpy(to + 3 * i, reader->palette[sample], 3);
        else
            to[i] = (unsigned char)(sample ^ invert);
    }
}

/* One channel of planar ones among the others. */
static void interleave(const unsigned char *from, size_t count, unsigned channels, size_t size,
                       unsigned char *to)
{
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * channels * size, from + i * size, size);
}

static size_t pixel_bytes(const struct tiff_reader *reader)
{
    return reader->all.channels * sample_size(reader->all.type);
}

/* Columns of a row, as they are stored, to where they are given. `plane` is the channel of planar ones. */
static void put_columns(const struct tiff_reader *reader, const unsigned char *row, size_t first,
                        size_t count, unsigned plane, unsigned char *to)
{
    size_t size = sample_size(reader->all.type);

    if (reader->all.planar)
        interleave(row + first * size, count, reader->all.channels, size, to + plane * size);
    else if (reader->bits < 8 || reader->conversion != CONVERT_NOTHING)
        convert(reader, row, first, count, to);
    else
        memcpy(to, row + first * pixel_bytes(reader), count * pixel_bytes(reader));
}

/* Decode the tile, or the strip, that begins in a column, and put what the band's part has of it there. */
static bool place_piece(struct tiff_reader *reader, const struct region *part, size_t x, unsigned plane)
{
    bool tiled = libtiff.TIFFIsTiled(reader->tiff);
    uint32_t y = (uint32_t)part->first[1],
             piece = tiled ? libtiff.TIFFComputeTile(reader->tiff, (uint32_t)x, y, 0, (uint16_t)plane)
                           : y / reader->piece_rows + plane * pieces_of_plane(reader);
    size_t row_bytes = stored_row(reader, reader->piece_columns), pixel = pixel_bytes(reader),
           size = (tiled ? reader->piece_rows : part->count[1]) * row_bytes,
           begin = size_most(x, part->first[0]),
           end = size_least(x + reader->piece_columns, part->first[0] + part->count[0]);

    if ((tiled ? libtiff.TIFFReadEncodedTile(reader->tiff, piece, reader->tile, (tmsize_t)size)
               : libtiff.TIFFReadEncodedStrip(reader->tiff, piece, reader->tile, (tmsize_t)size)) !=
        (tmsize_t)size)
        return refuse(reader, tiled ? "TileOffsets" : "StripOffsets",
                      tiled ? "a tile is damaged" : "a strip is damaged");
    for (size_t row = 0; row < part->count[1]; row++)
        put_columns(reader, reader->tile + row * row_bytes, begin - x, end - begin, plane,
                    reader->band + (row * part->count[0] + begin - part->first[0]) * pixel);
    return !reader->failed;
}

/* Decode the row of tiles, or the strips of all channels, that a row of the page is in, as far as a part has
   their columns; unless the band has them. */
static bool fill_band(struct tiff_reader *reader, const struct region *part, size_t row)
{
    struct region band = *part;
    size_t columns = reader->piece_columns, end = part->first[0] + part->count[0];

    band.first[1] = row - row % reader->piece_rows;
    band.count[1] = size_least(reader->piece_rows, (size_t)reader->all.height - band.first[1]);
    if (memcmp(band.first, reader->band_part.first, 2 * sizeof *band.first) == 0 &&
        memcmp(band.count, reader->band_part.count, 2 * sizeof *band.count) == 0)
        return true;
    reader->band_part.count[1] = 0;
    for (unsigned plane = 0; plane < channel_planes(reader); plane++) {
        for (size_t x = part->first[0] - part->first[0] % columns; x < end; x += columns) {
            if (!place_piece(reader, &band, x, plane))
                return false;
        }
    }
    reader->band_part = band;
    return true;
}

static bool read_bands(struct tiff_reader *reader, const struct region *part, unsigned char *samples)
{
    const size_t bytes = part->count[0] * pixel_bytes(reader), end = part->first[1] + part->count[1];

    for (size_t row = part->first[1], rows; row < end; row += rows, samples += rows * bytes) {
        size_t within = row % reader->piece_rows;
        rows = size_least(reader->piece_rows - within, end - row);
        if (!fill_band(reader, part, row))
            return false;
        memcpy(samples, reader->band + within * bytes, rows * bytes);
    }
    return true;
}

/* Rows as libtiff gives them: those of a strip before the first one that is wanted are decoded, too. */
static bool read_scanlines(struct tiff_reader *reader, const struct region *part, unsigned char *samples)
{
    const size_t pixel = pixel_bytes(reader), bytes = part->count[0] * pixel;
    const uint64_t first = part->first[1], begin = first - first % reader->piece_rows;

    if (reader->row < begin || reader->row > first)
        reader->row = begin;
    for (; reader->row < first + part->count[1]; reader->row++) {
        bool wanted = reader->row >= first, whole = bytes == reader->row_bytes;
        unsigned char *row = wanted && whole ? samples : reader->band;
        if (libtiff.TIFFReadScanline(reader->tiff, row, (uint32_t)reader->row, 0) != 1)
            return refuse(reader, "StripOffsets", "a strip is damaged");
        if (reader->failed)
            return false;
        if (wanted && !whole)
            memcpy(samples, row + part->first[0] * pixel, bytes);
        samples += wanted ? bytes : 0;
    }
    return true;
}

/* Colours of 16 bits become those of 8, unless none of them is above 255: then they are such already. */
static bool read_palette(struct tiff_reader *reader)
{
    uint16_t *colours[3];
    unsigned shift = 0;

    if (libtiff.TIFFGetField(reader->tiff, TIFFTAG_COLORMAP, &colours[0], &colours[1], &colours[2]) != 1)
        return refuse(reader, "ColorMap", "missing");
    for (unsigned i = 0; i < 3U << reader->bits; i++)
        shift = colours[i % 3][i / 3] > 255 ? 8 : shift;
    for (unsigned i = 0; i < 3U << reader->bits; i++)
        reader->palette[i / 3][i % 3] = (unsigned char)(colours[i % 3][i / 3] >> shift);
    return true;
}

/* Go to the directory of a page. */
static bool begin_page(struct tiff_reader *reader, uint64_t page)
{
    uint64_t directory = reader->pages[page].directory;

    reader->page = page;
    reader->row = UINT64_MAX;
    reader->band_part.count[1] = 0;
    if (libtiff.TIFFCurrentDirOffset(reader->tiff) != directory &&
        !libtiff.TIFFSetSubDirectory(reader->tiff, directory))
        return refuse_damage(reader);
    prepare_code(reader);
    reader->banded = is_banded(reader);
    find_piece(reader);
    return reader->conversion != CONVERT_PALETTE || read_palette(reader);
}

/* Bytes of a band of so many columns, or of a row. */
static size_t band_bytes(const struct tiff_reader *reader, size_t columns)
{
    return size_most(reader->band_rows * columns * pixel_bytes(reader), reader->row_bytes);
}

/* Memory for decoding parts of so many columns. */
static bool make_room(struct tiff_reader *reader, size_t columns)
{
    const size_t room = band_bytes(reader, columns);

    if (reader->tile == NULL && reader->tile_bytes > 0)
        reader->tile = mem_alloc(reader->tile_bytes, 1, "a tile", reader->fault);
    if (reader->tile == NULL && reader->tile_bytes > 0)
        return false;
    if (room > reader->band_room) {
        mem_free(reader->band);
        reader->band_part.count[1] = 0;
        reader->band_room = 0;
        reader->band = mem_alloc(room, 1, "a row of tiles", reader->fault);
        reader->band_room = reader->band != NULL ? room : 0;
    }
    return reader->band != NULL;
}

size_t tiff_reader_bytes(const struct tiff_pages *pages, size_t columns)
{
    const struct tiff_reader *reader = (const struct tiff_reader *)pages;

    return reader->page_count * sizeof *reader->pages + reader->tile_bytes +
           (pages->plain ? 0 : band_bytes(reader, columns));
}

void tiff_reader_piece(const struct tiff_pages *pages, size_t extents[2])
{
    const struct tiff_reader *reader = (const struct tiff_reader *)pages;

    extents[0] = reader->piece_columns;
    extents[1] = reader->piece_rows;
}

bool tiff_reader_read(struct tiff_pages *pages, uint64_t plane, const struct region *part, void *samples,
                      struct fault *fault)
{
    struct tiff_reader *reader = (struct tiff_reader *)pages;
    bool done;

    pthread_mutex_lock(&reader->turn);
    reader->fault = fault;
    reader->failed = false;
    errno = 0;
    done = make_room(reader, part->count[0]) && (reader->page == plane || begin_page(reader, plane)) &&
           (reader->banded ? read_bands : read_scanlines)(reader, part, samples);
    /* What libtiff holds after a failure is not gone on with. */
    if (!done)
        reader->page = reader->page_count;
    pthread_mutex_unlock(&reader->turn);
    return done;
}

#else

bool tiff_reader_open(struct tiff_pages **pages, struct file_in *file, const struct source_request *request,
                      struct fault *fault)
{
    (void)pages, (void)request;
    return fault_set_for(fault, STATUS_INPUT, file_in_name(file),
                         "a TIFF file: this program was built without libtiff");
}

void tiff_reader_close(struct tiff_pages *pages)
{
    (void)pages;
}

uint64_t tiff_reader_place(const struct tiff_pages *pages, uint64_t plane)
{
    (void)pages;
    return plane;
}

size_t tiff_reader_bytes(const struct tiff_pages *pages, size_t columns)
{
    (void)pages, (void)columns;
    return 0;
}

void tiff_reader_piece(const struct tiff_pages *pages, size_t extents[2])
{
    (void)pages;
    extents[0] = extents[1] = 0;
}

bool tiff_reader_read(struct tiff_pages *pages, uint64_t plane, const struct region *part, void *samples,
                      struct fault *fault)
{
    (void)pages, (void)plane, (void)part, (void)samples;
    return fault_raise(fault, STATUS_INPUT, "this program was built without libtiff");
}
#endif
