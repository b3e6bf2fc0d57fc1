/* Flows: the bytes of a file in turn, decoded on their way where they are coded, once or several times. */
#include "flow.h"

#include "base/inflate.h"
#include "base/mem.h"
#include "unpack.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
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

struct decoder {
    const char *name; /* as messages name it */
    bool (*begin)(struct flow *flow, struct fault *fault);

    /* The next bytes, up to size of them, less only at the end. */
    bool (*fill)(struct flow *flow, unsigned char *bytes, size_t size, size_t *got, struct fault *fault);
    void (*end)(struct flow *flow);

    /* What so many bytes of code can decode to at most. */
    uint64_t (*most)(const struct flow *flow, uint64_t coded);
};

struct flow {
    const struct decoder *decoder;
    struct file_in *file;
    size_t threads;     /* that may decode */
    struct flow *under; /* what is decoded; NULL: the file itself */
    unsigned char ahead[FLOW_PEEK];
    size_t ahead_begin, ahead_end;
    unsigned char *coded; /* CODED_BYTES of room, once it is needed */
    size_t coded_begin, coded_end;
    bool begun; /* the decoder holds something */
    bool ended; /* the decoder has come to its end */
    enum sample_type type;
    union {
        struct unpack *unpack;
#ifdef HAVE_BZIP2
        bz_stream bzip2;
#endif
    };
};

static bool refuse(const struct flow *flow, const char *reason, struct fault *fault)
{
    return fault_raise_about(fault, STATUS_INPUT, file_in_name(flow->file), "%s: %s", flow->decoder->name,
                             reason);
}

/* More of what is to be decoded; at its end *size is 0. */
static bool fetch(struct flow *flow, size_t *size, struct fault *fault)
{
    if (flow->coded == NULL)
        flow->coded = mem_alloc(CODED_BYTES, 1, "decoding", fault);
    if (flow->coded == NULL)
        return false;
    if (flow->coded_begin == flow->coded_end) {
        flow->coded_begin = flow->coded_end = 0;
        if (!flow_read(flow->under, flow->coded, CODED_BYTES, &flow->coded_end, fault))
            return false;
    }
    *size = flow->coded_end - flow->coded_begin;
    return true;
}

static int next_byte(struct flow *flow, struct fault *fault)
{
    size_t size;

    if (!fetch(flow, &size, fault))
        return -2;
    return size == 0 ? -1 : flow->coded[flow->coded_begin++];
}

/* ---- the file itself ---- */

static bool fill_plain(struct flow *flow, unsigned char *bytes, size_t size, size_t *got, struct fault *fault)
{
    return file_in_read(flow->file, bytes, size, got, fault);
}

static uint64_t most_plain(const struct flow *flow, uint64_t coded)
{
    (void)flow;
    return coded;
}

static const struct decoder plain = {.name = "data", .fill = fill_plain, .most = most_plain};

/* ---- deflate ---- */

static bool fetch_code(void *context, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    return flow_read(((struct flow *)context)->under, bytes, size, got, fault);
}

static bool begin_unpacking(struct flow *flow, enum inflate_wrapper wrapper, struct fault *fault)
{
    flow->begun =
        unpack_open(&flow->unpack, wrapper, flow->threads, file_in_name(flow->file), fetch_code, flow, fault);
    return flow->begun;
}

static bool begin_gzip(struct flow *flow, struct fault *fault)
{
    return begin_unpacking(flow, INFLATE_GZIP, fault);
}

static bool begin_zlib(struct flow *flow, struct fault *fault)
{
    return begin_unpacking(flow, INFLATE_ZLIB, fault);
}

static void end_deflate(struct flow *flow)
{
    unpack_close(flow->unpack);
}

static bool fill_deflate(struct flow *flow, unsigned char *bytes, size_t size, size_t *got,
                         struct fault *fault)
{
    return unpack_read(flow->unpack, bytes, size, got, fault);
}

static uint64_t times(uint64_t coded, uint64_t ratio)
{
    return coded < UINT64_MAX / ratio - SHORT_CODE ? (coded + SHORT_CODE) * ratio : UINT64_MAX;
}

static uint64_t most_deflate(const struct flow *flow, uint64_t coded)
{
    return times(coded + unpack_held(flow->unpack), DEFLATE_RATIO_MOST);
}

static const struct decoder gzip = {"gzip", begin_gzip, fill_deflate, end_deflate, most_deflate};
static const struct decoder zlib = {"zlib", begin_zlib, fill_deflate, end_deflate, most_deflate};

/* ---- bzip2 ---- */

#ifdef HAVE_BZIP2
static bool begin_bzip2(struct flow *flow, struct fault *fault)
{
    flow->bzip2 = (bz_stream){0};
    if (BZ2_bzDecompressInit(&flow->bzip2, 0, 0) != BZ_OK)
        return fault_raise(fault, STATUS_LIMIT, "not enough memory for decompressing");
    flow->begun = true;
    return true;
}

static void end_bzip2(struct flow *flow)
{
    BZ2_bzDecompressEnd(&flow->bzip2);
}

static bool begin_next_stream(struct flow *flow, struct fault *fault)
{
    bz_stream before = flow->bzip2;
    size_t size;

    if (!fetch(flow, &size, fault))
        return false;
    flow->ended = size == 0;
    if (size == 0)
        return true;
    end_bzip2(flow);
    flow->begun = false;
    if (!begin_bzip2(flow, fault))
        return false;
    flow->bzip2.next_out = before.next_out;
    flow->bzip2.avail_out = before.avail_out;
    return true;
}

static bool unpack_some(struct flow *flow, struct fault *fault)
{
    bz_stream *bzip2 = &flow->bzip2;
    size_t size;
    int outcome;

    if (!fetch(flow, &size, fault))
        return false;
    if (size == 0)
        return refuse(flow, "it ends early", fault);
    bzip2->next_in = (char *)flow->coded + flow->coded_begin;
    bzip2->avail_in = (unsigned)size;
    outcome = BZ2_bzDecompress(bzip2);
    flow->coded_begin = flow->coded_end - bzip2->avail_in;
    if (outcome == BZ_STREAM_END)
        return begin_next_stream(flow, fault);
    if (outcome == BZ_MEM_ERROR)
        return fault_raise(fault, STATUS_LIMIT, "not enough memory for decompressing");
    return outcome == BZ_OK || refuse(flow, "damaged", fault);
}

/* bzip2 counts in 32 bits. */
#define FILL_MOST ((size_t)1 << 30)

static bool fill_bzip2(struct flow *flow, unsigned char *bytes, size_t size, size_t *got, struct fault *fault)
{
    *got = 0;
    while (*got < size && !flow->ended) {
        size_t wish = size - *got < FILL_MOST ? size - *got : FILL_MOST;
        flow->bzip2.next_out = (char *)bytes + *got;
        flow->bzip2.avail_out = (unsigned)wish;
        if (!unpack_some(flow, fault))
            return false;
        *got += wish - flow->bzip2.avail_out;
    }
    return true;
}
#else
static bool begin_bzip2(struct flow *flow, struct fault *fault)
{
    return refuse(flow, "this program was built without bzip2", fault);
}

static bool fill_bzip2(struct flow *flow, unsigned char *bytes, size_t size, size_t *got, struct fault *fault)
{
    (void)bytes, (void)size;
    *got = 0;
    return refuse(flow, "this program was built without bzip2", fault);
}

static void end_bzip2(struct flow *flow)
{
    (void)flow;
}
#endif

static uint64_t most_bzip2(const struct flow *flow, uint64_t coded)
{
    (void)flow;
    return times(coded, BZIP2_RATIO_MOST);
}

static const struct decoder bzip2 = {"bzip2", begin_bzip2, fill_bzip2, end_bzip2, most_bzip2};

/* ---- hexadecimal digits ---- */

/* The value of the next digit; −1 at the end, −2 with a fault. */
static int next_digit(struct flow *flow, struct fault *fault)
{
    int byte;

    do {
        byte = next_byte(flow, fault);
    } while (byte >= 0 && isspace(byte));
    if (byte < 0)
        return byte;
    if (isdigit(byte))
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    refuse(flow, "not a hexadecimal digit", fault);
    return -2;
}

static bool fill_hex(struct flow *flow, unsigned char *bytes, size_t size, size_t *got, struct fault *fault)
{
    for (*got = 0; *got < size; ++*got) {
        int high = next_digit(flow, fault), low;
        if (high == -1)
            return true;
        low = high < 0 ? high : next_digit(flow, fault);
        if (low == -1)
            return refuse(flow, "half a byte at its end", fault);
        if (low < 0)
            return false;
        bytes[*got] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static uint64_t most_hex(const struct flow *flow, uint64_t coded)
{
    (void)flow;
    return coded / 2;
}

static const struct decoder hex = {.name = "hex", .fill = fill_hex, .most = most_hex};

/* ---- numbers as text ---- */

/* The next word; *length is 0 at the end. */
static bool next_word(struct flow *flow, char word[WORD_MOST], size_t *length, struct fault *fault)
{
    int byte;

    *length = 0;
    do {
        byte = next_byte(flow, fault);
    } while (byte >= 0 && (isspace(byte) || byte == ','));
    while (byte >= 0 && !isspace(byte) && byte != ',') {
        if (*length == WORD_MOST - 1)
            return refuse(flow, "a word too long for a number", fault);
        word[(*length)++] = (char)byte;
        byte = next_byte(flow, fault);
    }
    word[*length] = '\0';
    return byte != -2;
}

static bool refuse_word(const struct flow *flow, const char *word, struct fault *fault)
{
    char line[WORD_MOST * 4];

    return fault_raise_about(fault, STATUS_INPUT, file_in_name(flow->file),
                             "%s: %.80s: not a number of type %s", flow->decoder->name,
                             diag_printable(word, line, sizeof line), sample_name(flow->type));
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

/* The low bytes of a value, as many as a sample has. */
static void store_integer(enum sample_type type, uint64_t value, unsigned char *sample)
{
    const uint8_t byte = (uint8_t)value;
    const uint16_t half = (uint16_t)value;
    const uint32_t word = (uint32_t)value;
    const void *const parts[] = {[1] = &byte, [2] = &half, [4] = &word, [8] = &value};
    size_t size = sample_size(type);

    memcpy(sample, parts[size], size);
}

static bool store_word(const struct flow *flow, const char *word, unsigned char *sample, struct fault *fault)
{
    char *end;

    errno = 0;
    if (sample_is_integer(flow->type)) {
        bool negative = *word == '-';
        const char *digits = word + (negative || *word == '+');
        unsigned long long magnitude = strtoull(digits, &end, 10);
        if (!isdigit((unsigned char)*digits) || *end != '\0' || errno == ERANGE ||
            magnitude > most_magnitude(flow->type, negative))
            return refuse_word(flow, word, fault);
        store_integer(flow->type, negative ? 0 - (uint64_t)magnitude : magnitude, sample);
        return true;
    }
    if (flow->type == SAMPLE_F32) {
        float value = strtof(word, &end);
        memcpy(sample, &value, sizeof value);
    } else {
        double value = strtod(word, &end);
        memcpy(sample, &value, sizeof value);
    }
    return *end == '\0' || refuse_word(flow, word, fault);
}

/* Callers ask for whole samples, but for a look ahead. */
static bool fill_text(struct flow *flow, unsigned char *bytes, size_t size, size_t *got, struct fault *fault)
{
    size_t sample = sample_size(flow->type);
    char word[WORD_MOST];

    for (*got = 0; size - *got >= sample; *got += sample) {
        size_t length;
        if (!next_word(flow, word, &length, fault))
            return false;
        if (length == 0)
            return true;
        if (!store_word(flow, word, bytes + *got, fault))
            return false;
    }
    return true;
}

static uint64_t most_text(const struct flow *flow, uint64_t coded)
{
    return times(coded / 2 + 1, sample_size(flow->type));
}

static const struct decoder text = {.name = "text", .fill = fill_text, .most = most_text};

/* ---- all of them ---- */

static const struct decoder *const decoders[] = {
    [CODING_NONE] = &plain,  [CODING_GZIP] = &gzip, [CODING_ZLIB] = &zlib,
    [CODING_BZIP2] = &bzip2, [CODING_HEX] = &hex,   [CODING_TEXT] = &text,
};

bool flow_open(struct flow **flow, struct file_in *file, size_t threads, struct fault *fault)
{
    struct flow *made = mem_zeroed(1, sizeof *made, "reading", fault);

    if (made == NULL)
        return false;
    made->decoder = &plain;
    made->file = file;
    made->threads = threads;
    *flow = made;
    return true;
}

bool flow_decode(struct flow **flow, enum coding coding, enum sample_type type, struct fault *fault)
{
    struct flow *made;

    if (coding == CODING_NONE)
        return true;
    made = mem_zeroed(1, sizeof *made, "decoding", fault);
    if (made == NULL)
        return false;
    made->decoder = decoders[coding];
    made->file = (*flow)->file;
    made->threads = (*flow)->threads;
    made->type = type;
    if (made->decoder->begin != NULL && !made->decoder->begin(made, fault)) {
        flow_close(made);
        return false;
    }
    made->under = *flow;
    *flow = made;
    return true;
}

void flow_close(struct flow *flow)
{
    while (flow != NULL) {
        struct flow *under = flow->under;
        if (flow->begun)
            flow->decoder->end(flow);
        mem_free(flow->coded);
        mem_free(flow);
        flow = under;
    }
}

bool flow_peek(struct flow *flow, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    size_t held = flow->ahead_end - flow->ahead_begin, more;

    if (flow->under == NULL)
        return file_in_peek(flow->file, bytes, size, got, fault);
    if (held < size) {
        memmove(flow->ahead, flow->ahead + flow->ahead_begin, held);
        flow->ahead_begin = 0;
        flow->ahead_end = held;
        if (!flow->decoder->fill(flow, flow->ahead + held, size - held, &more, fault))
            return false;
        flow->ahead_end += more;
        held += more;
    }
    *got = held < size ? held : size;
    memcpy(bytes, flow->ahead + flow->ahead_begin, *got);
    return true;
}

bool flow_read(struct flow *flow, void *bytes, size_t size, size_t *got, struct fault *fault)
{
    size_t held = flow->ahead_end - flow->ahead_begin, taken = held < size ? held : size;

    memcpy(bytes, flow->ahead + flow->ahead_begin, taken);
    flow->ahead_begin += taken;
    if (!flow->decoder->fill(flow, (unsigned char *)bytes + taken, size - taken, got, fault))
        return false;
    *got += taken;
    return true;
}

bool flow_skip(struct flow *flow, uint64_t bytes, uint64_t *skipped, struct fault *fault)
{
    unsigned char unread[FLOW_PEEK];
    size_t got;

    if (flow_is_plain(flow) && flow_most(flow, skipped)) {
        *skipped = bytes < *skipped ? bytes : *skipped;
        return file_in_skip(flow->file, *skipped, fault);
    }
    for (*skipped = 0; *skipped < bytes; *skipped += got) {
        uint64_t left = bytes - *skipped;
        if (!flow_read(flow, unread, left < sizeof unread ? (size_t)left : sizeof unread, &got, fault))
            return false;
        if (got == 0)
            break;
    }
    return true;
}

bool flow_ends(struct flow *flow, bool *ends, struct fault *fault)
{
    unsigned char next[sizeof(double)];
    size_t got;

    if (!flow_peek(flow, next, sizeof next, &got, fault))
        return false;
    *ends = got == 0;
    return true;
}

bool flow_most(const struct flow *flow, uint64_t *bytes)
{
    if (flow->under == NULL)
        return file_in_remaining(flow->file, bytes);
    if (!flow_most(flow->under, bytes))
        return false;
    *bytes = flow->decoder->most(flow, *bytes + (flow->coded_end - flow->coded_begin));
    return true;
}

bool flow_is_plain(const struct flow *flow)
{
    return flow->under == NULL && file_in_is_regular(flow->file);
}

bool flow_is_gzip(const unsigned char *start, size_t size)
{
    return size >= 3 && memcmp(start, "\x1f\x8b\b", 3) == 0;
}

size_t flow_glimpse(const unsigned char *start, size_t size, unsigned char *plain_bytes, size_t plain_size)
{
    struct inflate_portion portion = {.from = start, .size = size, .to = plain_bytes, .room = plain_size};
    struct inflater *inflater;
    struct fault fault;

    if (!flow_is_gzip(start, size) || !inflater_create(&inflater, INFLATE_GZIP, &fault))
        return 0;
    inflater_run(inflater, &portion);
    inflater_free(inflater);
    return portion.made;
}
