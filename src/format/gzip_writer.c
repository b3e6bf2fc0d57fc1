/* Writing of gzip and zlib streams by several threads. The caller fills one strip after another with plain
 * bytes and puts each into ordered work, whose threads deflate strips in any order. When no strip is free,
 * the caller takes the oldest one back and writes its code; so strips are written in their order, and the
 * checksum of the stream is combined from theirs. A full strip is submitted only when it is known not to be
 * the last, which alone ends the stream. */
#include "gzip_writer.h"

#include "base/checksum.h"
#include "base/deflate.h"
#include "base/mem.h"
#include "base/work_queue.h"

#include <string.h>
#include <zlib.h>

/* An empty stored block takes a byte for its head, which is 0 where it is not the last, and four for its
   length and the inverse of that. */
enum { THREADS_MOST = 64, STRIPS_A_THREAD = 2, GZIP_HEADER = 10, EMPTY_BLOCK = 5 };

/* A run of plain bytes and the code that they become. Only the last strip of a stream ends it. */
struct strip {
    unsigned char *bytes;
    size_t size;
    bool last;
    unsigned char *deflated;
    size_t deflated_size;
    uint32_t checksum;
};

/* Strips are filled and written in turn by the caller, and deflated in any order. */
struct gzip_writer {
    struct file_out *file;
    enum gzip_writer_wrapper wrapper;
    int level;
    struct strip strips[STRIPS_A_THREAD * THREADS_MOST];
    size_t strip_count;
    size_t filled;    /* the strip that bytes go into */
    size_t under_way; /* strips that are full and were not written */
    uint32_t checksum;
    uint64_t plain_bytes, packed_bytes;
    struct deflater *deflaters[THREADS_MOST]; /* the first is the caller's */
    size_t worker_count;
    struct ordered_work *ordered;
};

static bool write_packed(struct gzip_writer *writer, const void *bytes, size_t size, struct fault *fault)
{
    writer->packed_bytes += size;
    return file_out_write(writer->file, bytes, size, fault);
}

uint64_t gzip_writer_size(const struct gzip_writer *writer)
{
    return writer->packed_bytes;
}

/* End a strip with the mark, unless deflating has: a stored strip does not end in one. */
static void mark_end(struct strip *strip)
{
    static const unsigned char empty_block[] = "\0" GZIP_MARK;
    unsigned char *end = strip->deflated + strip->deflated_size;

    if (strip->deflated_size >= GZIP_MARK_SIZE &&
        memcmp(end - GZIP_MARK_SIZE, GZIP_MARK, GZIP_MARK_SIZE) == 0)
        return;
    memcpy(end, empty_block, EMPTY_BLOCK);
    strip->deflated_size += EMPTY_BLOCK;
}

/* A worker deflates a strip, and takes its checksum. */
static void deflate_place(void *context, size_t place, unsigned worker)
{
    struct gzip_writer *writer = context;
    struct strip *strip = &writer->strips[place];
    /* No strip sees the bytes before it: a reader may then begin at any mark. */
    const struct deflate_strip plain = {strip->bytes, strip->size, 0, strip->last};

    strip->deflated_size = deflater_run(writer->deflaters[worker], &plain, strip->deflated);
    if (!strip->last)
        mark_end(strip);
    strip->checksum = writer->wrapper == GZIP_WRITER_GZIP
                          ? checksum_crc(CHECKSUM_CRC, plain.bytes, plain.size)
                          : deflate_checksum(&plain);
}

/* Wait for the oldest strip under way, write its code, and free it. */
static bool write_next(struct gzip_writer *writer, struct fault *fault)
{
    const size_t place = ordered_work_take(writer->ordered);
    const struct strip *strip = &writer->strips[place];

    if (!write_packed(writer, strip->deflated, strip->deflated_size, fault))
        return false;
    writer->checksum = writer->wrapper == GZIP_WRITER_GZIP
                           ? (uint32_t)crc32_combine(writer->checksum, strip->checksum, (z_off_t)strip->size)
                           : deflate_join(writer->checksum, strip->checksum, strip->size);
    writer->plain_bytes += strip->size;
    writer->under_way--;
    ordered_work_vacate(writer->ordered, place);
    return true;
}

static void submit(struct gzip_writer *writer, bool last)
{
    writer->strips[writer->filled].last = last;
    writer->under_way++;
    ordered_work_put(writer->ordered, writer->filled);
}

/* Hand the full strip over, and take a free one; while there is none, write what is done. */
static bool begin_strip(struct gzip_writer *writer, struct fault *fault)
{
    submit(writer, false);
    while (!ordered_work_claim(writer->ordered, &writer->filled)) {
        if (!write_next(writer, fault))
            return false;
    }
    writer->strips[writer->filled].size = 0;
    return true;
}

/* A full strip is submitted when it is known not to be the last. */
bool gzip_writer_write(struct gzip_writer *writer, const void *bytes, size_t size, struct fault *fault)
{
    const unsigned char *from = bytes;

    while (size > 0) {
        struct strip *strip = &writer->strips[writer->filled];
        size_t room = GZIP_STRIP_BYTES - strip->size, taken = size < room ? size : room;
        if (room == 0) {
            if (!begin_strip(writer, fault))
                return false;
            continue;
        }
        memcpy(strip->bytes + strip->size, from, taken);
        strip->size += taken;
        from += taken;
        size -= taken;
    }
    return true;
}

static bool write_header(struct gzip_writer *writer, struct fault *fault)
{
    /* No name and no time, so that equal bytes give equal files; the system is unknown. */
    static const unsigned char gzip[GZIP_HEADER] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    unsigned char zlib[DEFLATE_HEADER];

    if (writer->wrapper == GZIP_WRITER_GZIP)
        return write_packed(writer, gzip, sizeof gzip, fault);
    deflate_header(writer->level, zlib);
    return write_packed(writer, zlib, sizeof zlib, fault);
}

static uint32_t first_checksum(enum gzip_writer_wrapper wrapper)
{
    return wrapper == GZIP_WRITER_GZIP ? CHECKSUM_CRC : CHECKSUM_ADLER;
}

bool gzip_writer_finish(struct gzip_writer *writer, struct fault *fault)
{
    const bool gzip = writer->wrapper == GZIP_WRITER_GZIP;
    unsigned char trailer[8];

    submit(writer, true);
    while (writer->under_way > 0) {
        if (!write_next(writer, fault))
            return false;
    }
    /* At the end is the checksum. gzip has its bytes in the other order, and adds the count of plain bytes
       modulo 2^32. */
    for (int i = 0; i < 4; i++) {
        trailer[i] = (unsigned char)(writer->checksum >> (gzip ? 8 * i : 24 - 8 * i));
        trailer[4 + i] = (unsigned char)(writer->plain_bytes >> (8 * i));
    }
    return write_packed(writer, trailer, gzip ? 8 : 4, fault);
}

bool gzip_writer_begin_again(struct gzip_writer *writer, struct fault *fault)
{
    (void)ordered_work_claim(writer->ordered, &writer->filled); /* all strips have come back */
    writer->strips[writer->filled].size = 0;
    writer->plain_bytes = 0;
    writer->checksum = first_checksum(writer->wrapper);
    return write_header(writer, fault);
}

static bool make_strips(struct gzip_writer *writer, struct fault *fault)
{
    for (size_t i = 0; i < writer->strip_count; i++) {
        struct strip *strip = &writer->strips[i];
        strip->bytes = mem_alloc(GZIP_STRIP_BYTES, 1, "compressing", fault);
        strip->deflated = mem_alloc(deflate_bound(GZIP_STRIP_BYTES) + EMPTY_BLOCK, 1, "compressing", fault);
        if (strip->bytes == NULL || strip->deflated == NULL)
            return false;
    }
    return true;
}

static bool make_workers(struct gzip_writer *writer, struct fault *fault)
{
    for (size_t i = 0; i < writer->worker_count; i++) {
        if (!deflater_create(&writer->deflaters[i], writer->level, GZIP_STRIP_BYTES, fault))
            return false;
    }
    return ordered_work_open(&writer->ordered, writer->strip_count, (unsigned)writer->worker_count,
                             deflate_place, writer, fault) &&
           ordered_work_claim(writer->ordered, &writer->filled);
}

bool gzip_writer_open(struct gzip_writer **writer, struct file_out *file, enum gzip_writer_wrapper wrapper,
                      int level, size_t threads, struct fault *fault)
{
    struct gzip_writer *made = mem_zeroed(1, sizeof *made, "compressing", fault);

    if (made == NULL)
        return false;
    made->file = file;
    made->wrapper = wrapper;
    made->level = level;
    made->worker_count = threads < THREADS_MOST ? threads : THREADS_MOST;
    made->strip_count = STRIPS_A_THREAD * made->worker_count;
    made->checksum = first_checksum(wrapper);
    if (!make_strips(made, fault) || !make_workers(made, fault) || !write_header(made, fault)) {
        gzip_writer_close(made);
        return false;
    }
    *writer = made;
    return true;
}

void gzip_writer_close(struct gzip_writer *writer)
{
    if (writer == NULL)
        return;
    ordered_work_close(writer->ordered);
    for (size_t i = 0; i < writer->worker_count; i++)
        deflater_free(writer->deflaters[i]);
    for (size_t i = 0; i < writer->strip_count; i++) {
        mem_free(writer->strips[i].bytes);
        mem_free(writer->strips[i].deflated);
    }
    mem_free(writer);
}
