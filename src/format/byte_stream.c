/* Byte streams: the bytes of a file in turn, decoded on their way where they are coded, once or several
   times.

   A stream with a decoder owns the stream under it, from which it reads; the last one reads the file. That a
   header is compressed by gzip, and the samples behind it by a code of their own, makes two decoders on top
   of each other. Each stream can be looked into ahead (`ahead`), by which formats are recognised and lines of
   headers are cut. gzip and zlib are inflated by several threads (gzip_reader.h); all else happens in the
   caller's.

   byte_stream_most says what may come at most, by the best ratio of each code on the way: a header that
   claims more is refused before any memory is taken for it. */
#include "byte_stream.h"

#include "base/inflate.h"
#include "base/mem.h"
#include "gzip_reader.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_BZIP2
#include <bzlib.h>
#endif

enum {
    CODED_BYTES = 64 << 10,
    WORD_MOST = 400,            /* a number is written in fewer characters */
    DEFLATE_RATIO_MOST = 1032,  /* two bits stand for 258 bytes at the best */
    BZIP2_RATIO_MOST = 4 << 20, /* some forty bytes stand for 900,000 runs of 255 */
    SHORT_CODE = 64             /* bytes for which a ratio says nothing */
};

/* How one coding is decoded. Members that a coding does not need are NULL. */
struct decoder {
    const char *name;             /* as messages name it */
    enum inflate_wrapper wrapper; /* of deflate */
    bool (*begin)(struct byte_stream *stream, struct fault *fault);

    /* The next bytes, up to size of them, less only at the end. */
    bool (*fill)(struct byte_stream *stream, unsigned char *bytes, size_t size, size_t *got,
                 struct fault *fault);
    void (*end)(struct byte_stream *stream);

    /* The most bytes that `coded` bytes of code can decode to. */
    uint64_t (*most)(const struct byte_stream *stream, uint64_t coded);
};

struct byte_stream {
    const struct decoder *decoder;
    struct file_in *file;
    size_t threads;            /* that may decode */
    struct byte_stream *under; /* what is decoded; NULL: the file itself */
    unsigned char ahead[BYTE_STREAM_PEEK];
    size_t ahead_begin, ahead_end;
    unsigned char *coded; /* CODED_BYTES of room, once it is needed */
    size_t coded_begin, coded_end;
    bool begun; /* the decoder holds something */
    bool ended; /* the decoder has come to its end */
    enum sample_type type;
    union {
        struct gzip_reader *gzip;
#ifdef HAVE_BZIP2
        bz_stream bzip2;
#endif
    };
};

static bool refuse(const struct byte_stream *stream, const char *reason, struct fault *fault)
{
    return fault_set_for(fault, STATUS_INPUT, file_in_name(stream->file), "%s: %s", stream->decoder->name,
                         reason);
}

/* Make sure that coded bytes are at hand: *size of them from coded_begin on, none at the end of the stream
   under it. */
static bool fetch(struct byte_stream *stream, size_t *size, struct fault *fault)
{
    if (stream->coded == NULL)
        stream->coded = mem_alloc(CODED_BYTES, 1, "decoding", fault);
    if (stream->coded == NULL)
        return false;
    if (stream->coded_begin == stream->coded_end) {
        stream->coded_begin = stream->coded_end = 0;
        if (!byte_stream_read(stream->under, stream->coded, CODED_BYTES, &stream->coded_end, fault))
            return false;
    }
    *size = stream->coded_end - stream->coded_begin;
    return true;
}

/* The next coded byte; −1 at the end, −2 with a fault. */
static int next_byte(struct byte_stream *stream, struct fault *fault)
{
    size_t size;

    if (!fetch(stream, &size, fault))
        return -2;
    return size == 0 ? -1 : stream->coded[stream->coded_begin++];
}

/* ---- the file itself ---- */

static bool fill_plain(struct byte_stream *stream, unsigned char *bytes, size_t size, size_t *got,
                       struct fault *fault)
{
    return file_in_read(stream->file, bytes, size, got, fault);
}

static const struct decoder plain = {.name = "data", .fill = fill_plain};

/* ---- deflate ---- */

static bool fetch_code(void *context, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    return byte_stream_read(((struct byte_stream *)context)->under, bytes, size, got, fault);
}

static bool begin_deflate(struct byte_stream *stream, struct fault *fault)
{
    stream->begun = gzip_reader_open(&stream->gzip, stream->decoder->wrapper, stream->threads,
                                     file_in_name(stream->file), fetch_code, stream, fault);
    return stream->begun;
}

static void end_deflate(struct byte_stream *stream)
{
    gzip_reader_close(stream->gzip);
}

static bool fill_deflate(struct byte_stream *stream, unsigned char *bytes, size_t size, size_t *got,
                         struct fault *fault)
{
    return gzip_reader_read(stream->gzip, bytes, size, got, fault);
}

/* The product, or the largest number if that is less. Short code may decode to more than its ratio says, so
   some bytes are added to it. */
static uint64_t times(uint64_t coded, uint64_t ratio)
{
    return coded < UINT64_MAX / ratio - SHORT_CODE ? (coded + SHORT_CODE) * ratio : UINT64_MAX;
}

static uint64_t most_deflate(const struct byte_stream *stream, uint64_t coded)
{
    return times(coded + gzip_reader_held(stream->gzip), DEFLATE_RATIO_MOST);
}

static const struct decoder gzip = {"gzip",       INFLATE_GZIP, begin_deflate,
                                    fill_deflate, end_deflate,  most_deflate};
static const struct decoder zlib = {"zlib",       INFLATE_ZLIB, begin_deflate,
                                    fill_deflate, end_deflate,  most_deflate};

/* ---- bzip2 ---- */

#ifdef HAVE_BZIP2
static bool begin_bzip2(struct byte_stream *stream, struct fault *fault)
{
    stream->bzip2 = (bz_stream){0};
    if (BZ2_bzDecompressInit(&stream->bzip2, 0, 0) != BZ_OK)
        return fault_raise(fault, STATUS_LIMIT, "not enough memory for decompressing");
    stream->begun = true;
    return true;
}

static void end_bzip2(struct byte_stream *stream)
{
    BZ2_bzDecompressEnd(&stream->bzip2);
}

/* At the end of a bzip2 stream: another may follow, and is decoded into the same place. */
static bool begin_next_stream(struct byte_stream *stream, struct fault *fault)
{
    /* Like gzip, bzip2 allows several streams one after the other, which some compressors write on
       purpose. */
    bz_stream before = stream->bzip2;
    size_t size;

    if (!fetch(stream, &size, fault))
        return false;
    stream->ended = size == 0;
    if (size == 0)
        return true;
    end_bzip2(stream);
    stream->begun = false;
    if (!begin_bzip2(stream, fault))
        return false;
    stream->bzip2.next_out = before.next_out;
    stream->bzip2.avail_out = before.avail_out;
    return true;
}

/* Decompress what is at hand into the room that is set. */
static bool decompress_some(struct byte_stream *stream, struct fault *fault)
{
    bz_stream *bzip2 = &stream->bzip2;
    size_t size;
    int outcome;

    if (!fetch(stream, &size, fault))
        return false;
    if (size == 0)
        return refuse(stream, "it ends early", fault);
    bzip2->next_in = (char *)stream->coded + stream->coded_begin;
    bzip2->avail_in = (unsigned)size;
    outcome = BZ2_bzDecompress(bzip2);
    stream->coded_begin = stream->coded_end - bzip2->avail_in;
    if (outcome == BZ_STREAM_END)
        return begin_next_stream(stream, fault);
    if (outcome == BZ_MEM_ERROR)
        return fault_raise(fault, STATUS_LIMIT, "not enough memory for decompressing");
    return outcome == BZ_OK || refuse(stream, "damaged", fault);
}

/* bzip2 counts in 32 bits. */
#define FILL_MOST ((size_t)1 << 30)

static bool fill_bzip2(struct byte_stream *stream, unsigned char *bytes, size_t size, size_t *got,
                       struct fault *fault)
{
    *got = 0;
    while (*got < size && !stream->ended) {
        size_t wish = size - *got < FILL_MOST ? size - *got : FILL_MOST;
        stream->bzip2.next_out = (char *)bytes + *got;
        stream->bzip2.avail_out = (unsigned)wish;
        if (!decompress_some(stream, fault))
            return false;
        *got += wish - stream->bzip2.avail_out;
    }
    return true;
}

static uint64_t most_bzip2(const struct byte_stream *stream, uint64_t coded)
{
    (void)stream;
    return times(coded, BZIP2_RATIO_MOST);
}

static const struct decoder bzip2 = {
    .name = "bzip2", .begin = begin_bzip2, .fill = fill_bzip2, .end = end_bzip2, .most = most_bzip2};
#else
static bool begin_bzip2(struct byte_stream *stream, struct fault *fault)
{
    return refuse(stream, "this program was built without bzip2", fault);
}

static const struct decoder bzip2 = {.name = "bzip2", .begin = begin_bzip2};
#endif

/* ---- hexadecimal digits ---- */

/* The value of the next digit; −1 at the end, −2 with a fault. */
static int next_digit(struct byte_stream *stream, struct fault *fault)
{
    int byte;

    do {
        byte = next_byte(stream, fault);
    } while (byte >= 0 && isspace(byte));
    if (byte < 0)
        return byte;
    if (isdigit(byte))
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    refuse(stream, "not a hexadecimal digit", fault);
    return -2;
}

static bool fill_hex(struct byte_stream *stream, unsigned char *bytes, size_t size, size_t *got,
                     struct fault *fault)
{
    for (*got = 0; *got < size; ++*got) {
        int high = next_digit(stream, fault), low;
        if (high == -1)
            return true;
        low = high < 0 ? high : next_digit(stream, fault);
        if (low == -1)
            return refuse(stream, "half a byte at its end", fault);
        if (low < 0)
            return false;
        bytes[*got] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* Two digits make a byte; space between them only makes it less. */
static uint64_t most_hex(const struct byte_stream *stream, uint64_t coded)
{
    (void)stream;
    return coded / 2;
}

static const struct decoder hex = {.name = "hex", .fill = fill_hex, .most = most_hex};

/* ---- numbers as text ---- */

/* The next word; *length is 0 at the end. */
static bool next_word(struct byte_stream *stream, char word[WORD_MOST], size_t *length, struct fault *fault)
{
    int byte;

    *length = 0;
    do {
        byte = next_byte(stream, fault);
    } while (byte >= 0 && (isspace(byte) || byte == ','));
    while (byte >= 0 && !isspace(byte) && byte != ',') {
        if (*length == WORD_MOST - 1)
            return refuse(stream, "a word too long for a number", fault);
        word[(*length)++] = (char)byte;
        byte = next_byte(stream, fault);
    }
    word[*length] = '\0';
    return byte != -2;
}

static bool refuse_word(const struct byte_stream *stream, const char *word, struct fault *fault)
{
    char line[WORD_MOST * 4];

    return fault_set_for(fault, STATUS_INPUT, file_in_name(stream->file),
                         "%s: %.80s: not a number of type %s", stream->decoder->name,
                         diag_printable(word, line, sizeof line), sample_name(stream->type));
}

/* The greatest magnitude that an integer type has on that side of zero. */
static uint64_t most_magnitude(enum sample_type type, bool negative)
{
    unsigned bits = (unsigned)sample_size(type) * 8;
    uint64_t all = UINT64_MAX >> (64 - bits);

    if (sample_min(type) == 0.0)
        return negative ? 0 : all;
    return all / 2 + negative;
}

static bool store_word(const struct byte_stream *stream, const char *word, unsigned char *sample,
                       struct fault *fault)
{
    char *end;

    errno = 0;
    /* Whole numbers keep all their digits, which a double would not. */
    if (sample_is_integer(stream->type)) {
        bool negative = *word == '-';
        const char *digits = word + (negative || *word == '+');
        unsigned long long magnitude = strtoull(digits, &end, 10);
        if (!isdigit((unsigned char)*digits) || *end != '\0' || errno == ERANGE ||
            magnitude > most_magnitude(stream->type, negative))
            return refuse_word(stream, word, fault);
        endian_put(endian_native(), sample, sample_size(stream->type),
                   negative ? 0 - (uint64_t)magnitude : magnitude);
        return true;
    }
    if (stream->type == SAMPLE_F32) {
        float value = strtof(word, &end);
        memcpy(sample, &value, sizeof value);
    } else {
        double value = strtod(word, &end);
        memcpy(sample, &value, sizeof value);
    }
    return *end == '\0' || refuse_word(stream, word, fault);
}

/* Callers ask for whole samples, but for a look ahead. */
static bool fill_text(struct byte_stream *stream, unsigned char *bytes, size_t size, size_t *got,
                      struct fault *fault)
{
    size_t sample = sample_size(stream->type);
    char word[WORD_MOST];

    for (*got = 0; size - *got >= sample; *got += sample) {
        size_t length;
        if (!next_word(stream, word, &length, fault))
            return false;
        if (length == 0)
            return true;
        if (!store_word(stream, word, bytes + *got, fault))
            return false;
    }
    return true;
}

/* A number takes a digit and a divider at the least, but for the last one. */
static uint64_t most_text(const struct byte_stream *stream, uint64_t coded)
{
    return times(coded / 2 + 1, sample_size(stream->type));
}

static const struct decoder text = {.name = "text", .fill = fill_text, .most = most_text};

/* ---- all of them ---- */

/* By the place of the coding. */
static const struct decoder *const decoders[] = {
    [CODING_NONE] = &plain,  [CODING_GZIP] = &gzip, [CODING_ZLIB] = &zlib,
    [CODING_BZIP2] = &bzip2, [CODING_HEX] = &hex,   [CODING_TEXT] = &text,
};

bool byte_stream_open(struct byte_stream **stream, struct file_in *file, size_t threads, struct fault *fault)
{
    struct byte_stream *made = mem_zeroed(1, sizeof *made, "reading", fault);

    if (made == NULL)
        return false;
    made->decoder = &plain;
    made->file = file;
    made->threads = threads;
    *stream = made;
    return true;
}

/* The new stream takes over the old one only when nothing can fail any more. */
bool byte_stream_decode(struct byte_stream **stream, enum coding coding, enum sample_type type,
                        struct fault *fault)
{
    struct byte_stream *made;

    if (coding == CODING_NONE)
        return true;
    made = mem_zeroed(1, sizeof *made, "decoding", fault);
    if (made == NULL)
        return false;
    made->decoder = decoders[coding];
    made->file = (*stream)->file;
    made->threads = (*stream)->threads;
    made->type = type;
    if (made->decoder->begin != NULL && !made->decoder->begin(made, fault)) {
        byte_stream_close(made);
        return false;
    }
    made->under = *stream;
    *stream = made;
    return true;
}

void byte_stream_close(struct byte_stream *stream)
{
    /* From the last decoder down to the file, since each reads from the one under it. */
    while (stream != NULL) {
        struct byte_stream *under = stream->under;
        if (stream->begun)
            stream->decoder->end(stream);
        mem_free(stream->coded);
        mem_free(stream);
        stream = under;
    }
}

/* The last stream leaves looking ahead to the file; a decoder keeps what was looked at in `ahead`. */
bool byte_stream_peek(struct byte_stream *stream, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    size_t held = stream->ahead_end - stream->ahead_begin, more;

    if (stream->under == NULL)
        return file_in_peek(stream->file, bytes, size, got, fault);
    if (held < size) {
        memmove(stream->ahead, stream->ahead + stream->ahead_begin, held);
        stream->ahead_begin = 0;
        stream->ahead_end = held;
        if (!stream->decoder->fill(stream, stream->ahead + held, size - held, &more, fault))
            return false;
        stream->ahead_end += more;
        held += more;
    }
    *got = held < size ? held : size;
    memcpy(bytes, stream->ahead + stream->ahead_begin, *got);
    return true;
}

bool byte_stream_read(struct byte_stream *stream, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    size_t held = stream->ahead_end - stream->ahead_begin, taken = held < size ? held : size;

    memcpy(bytes, stream->ahead + stream->ahead_begin, taken);
    stream->ahead_begin += taken;
    if (!stream->decoder->fill(stream, (unsigned char *)bytes + taken, size - taken, got, fault))
        return false;
    *got += taken;
    return true;
}

bool byte_stream_read_line(struct byte_stream *stream, char piece[BYTE_STREAM_PEEK], size_t *size,
                           bool *complete, struct fault *fault)
{
    const char *end;
    size_t got;

    if (!byte_stream_peek(stream, piece, BYTE_STREAM_PEEK, &got, fault))
        return false;
    end = memchr(piece, '\n', got);
    *complete = end != NULL;
    *size = *complete ? (size_t)(end - piece) + 1 : got;
    return byte_stream_read(stream, piece, *size, &got, fault);
}

bool byte_stream_skip(struct byte_stream *stream, uint64_t bytes, uint64_t *skipped, struct fault *fault)
{
    unsigned char unread[BYTE_STREAM_PEEK];
    size_t got;

    if (byte_stream_is_plain(stream) && byte_stream_most(stream, skipped)) {
        *skipped = bytes < *skipped ? bytes : *skipped;
        return file_in_skip(stream->file, *skipped, fault);
    }
    for (*skipped = 0; *skipped < bytes; *skipped += got) {
        uint64_t left = bytes - *skipped;
        if (!byte_stream_read(stream, unread, left < sizeof unread ? (size_t)left : sizeof unread, &got,
                              fault))
            return false;
        if (got == 0)
            break;
    }
    return true;
}

bool byte_stream_most(const struct byte_stream *stream, uint64_t *bytes)
{
    if (stream->under == NULL)
        return file_in_remaining(stream->file, bytes);
    if (!byte_stream_most(stream->under, bytes))
        return false;
    *bytes = stream->decoder->most(stream, *bytes + (stream->coded_end - stream->coded_begin));
    return true;
}

bool byte_stream_is_plain(const struct byte_stream *stream)
{
    return stream->under == NULL && file_in_is_regular(stream->file);
}

bool byte_stream_is_gzip(const unsigned char *start, size_t size)
{
    return size >= 3 && memcmp(start, "\x1f\x8b\b", 3) == 0;
}

size_t byte_stream_glimpse(const unsigned char *start, size_t size, unsigned char *plain_bytes,
                           size_t plain_size)
{
    struct inflate_portion portion = {.from = start, .size = size, .to = plain_bytes, .room = plain_size};
    struct inflater *inflater;
    struct fault fault;

    if (!byte_stream_is_gzip(start, size) || !inflater_create(&inflater, INFLATE_GZIP, &fault))
        return 0;
    inflater_run(inflater, &portion);
    inflater_free(inflater);
    return portion.made;
}
