/* Packing: bytes go in, a stream of gzip or zlib goes into a file, in strips that stand alone. */
#include "pack.h"

#include "base/checksum.h"
#include "base/deflate.h"
#include "base/mem.h"
#include "base/workshop.h"

#include <string.h>
#include <zlib.h>

enum { THREADS_MOST = 64, STRIPS_A_THREAD = 2, GZIP_HEADER = 10, EMPTY_BLOCK = 5 };

struct strip {
    unsigned char *bytes;
    size_t size;
    bool last;
    unsigned char *deflated;
    size_t deflated_size;
    uint32_t checksum;
};

/* Strips are filled and written in turn by the caller, and deflated in any order. */
struct pack {
    struct file_out *file;
    enum pack_wrapper wrapper;
    int level;
    struct strip strips[STRIPS_A_THREAD * THREADS_MOST];
    size_t strip_count;
    size_t filled;    /* the strip that bytes go into */
    size_t under_way; /* strips that are full and were not written */
    uint32_t checksum;
    uint64_t plain_bytes, packed_bytes;
    struct deflater *deflaters[THREADS_MOST]; /* the first is the caller's */
    size_t worker_count;
    struct workshop *workshop;
};

static bool write_packed(struct pack *pack, const void *bytes, size_t size, struct fault *fault)
{
    pack->packed_bytes += size;
    return file_out_write(pack->file, bytes, size, fault);
}

uint64_t pack_size(const struct pack *pack)
{
    return pack->packed_bytes;
}

/* What could not be made smaller is stored, and then nothing ends it yet. */
static void mark_end(struct strip *strip)
{
    static const unsigned char empty_block[] = "\0" PACK_MARK;
    unsigned char *end = strip->deflated + strip->deflated_size;

    if (strip->deflated_size >= PACK_MARK_SIZE &&
        memcmp(end - PACK_MARK_SIZE, PACK_MARK, PACK_MARK_SIZE) == 0)
        return;
    memcpy(end, empty_block, EMPTY_BLOCK);
    strip->deflated_size += EMPTY_BLOCK;
}

static void deflate_place(void *context, size_t place, unsigned worker)
{
    struct pack *pack = context;
    struct strip *strip = &pack->strips[place];
    const struct deflate_strip plain = {strip->bytes, strip->size, 0, strip->last};

    strip->deflated_size = deflater_run(pack->deflaters[worker], &plain, strip->deflated);
    if (!strip->last)
        mark_end(strip);
    strip->checksum = pack->wrapper == PACK_GZIP ? checksum_crc(CHECKSUM_CRC, plain.bytes, plain.size)
                                                 : deflate_checksum(&plain);
}

static bool write_next(struct pack *pack, struct fault *fault)
{
    const size_t place = workshop_take(pack->workshop);
    const struct strip *strip = &pack->strips[place];

    if (!write_packed(pack, strip->deflated, strip->deflated_size, fault))
        return false;
    pack->checksum = pack->wrapper == PACK_GZIP
                         ? (uint32_t)crc32_combine(pack->checksum, strip->checksum, (z_off_t)strip->size)
                         : deflate_join(pack->checksum, strip->checksum, strip->size);
    pack->plain_bytes += strip->size;
    pack->under_way--;
    workshop_vacate(pack->workshop, place);
    return true;
}

static void submit(struct pack *pack, bool last)
{
    pack->strips[pack->filled].last = last;
    pack->under_way++;
    workshop_put(pack->workshop, pack->filled);
}

static bool begin_strip(struct pack *pack, struct fault *fault)
{
    submit(pack, false);
    while (!workshop_claim(pack->workshop, &pack->filled)) {
        if (!write_next(pack, fault))
            return false;
    }
    pack->strips[pack->filled].size = 0;
    return true;
}

/* A full strip is submitted when it is known not to be the last. */
bool pack_write(struct pack *pack, const void *bytes, size_t size, struct fault *fault)
{
    const unsigned char *from = bytes;

    while (size > 0) {
        struct strip *strip = &pack->strips[pack->filled];
        size_t room = PACK_STRIP_BYTES - strip->size, taken = size < room ? size : room;
        if (room == 0) {
            if (!begin_strip(pack, fault))
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

static bool write_header(struct pack *pack, struct fault *fault)
{
    /* No name and no time, so that equal bytes give equal files; the system is unknown. */
    static const unsigned char gzip[GZIP_HEADER] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    unsigned char zlib[DEFLATE_HEADER];

    if (pack->wrapper == PACK_GZIP)
        return write_packed(pack, gzip, sizeof gzip, fault);
    deflate_header(pack->level, zlib);
    return write_packed(pack, zlib, sizeof zlib, fault);
}

static bool write_trailer(struct pack *pack, struct fault *fault)
{
    unsigned char trailer[8];
    bool gzip = pack->wrapper == PACK_GZIP;

    for (int i = 0; i < 4; i++) {
        trailer[i] = (unsigned char)(pack->checksum >> (gzip ? 8 * i : 24 - 8 * i));
        trailer[4 + i] = (unsigned char)(pack->plain_bytes >> (8 * i));
    }
    return write_packed(pack, trailer, gzip ? 8 : 4, fault);
}

static uint32_t first_checksum(enum pack_wrapper wrapper)
{
    return wrapper == PACK_GZIP ? CHECKSUM_CRC : CHECKSUM_ADLER;
}

bool pack_finish(struct pack *pack, struct fault *fault)
{
    submit(pack, true);
    while (pack->under_way > 0) {
        if (!write_next(pack, fault))
            return false;
    }
    return write_trailer(pack, fault);
}

bool pack_begin_again(struct pack *pack, struct fault *fault)
{
    (void)workshop_claim(pack->workshop, &pack->filled); /* all strips have come back */
    pack->strips[pack->filled].size = 0;
    pack->plain_bytes = 0;
    pack->checksum = first_checksum(pack->wrapper);
    return write_header(pack, fault);
}

static bool make_strips(struct pack *pack, struct fault *fault)
{
    for (size_t i = 0; i < pack->strip_count; i++) {
        struct strip *strip = &pack->strips[i];
        strip->bytes = mem_alloc(PACK_STRIP_BYTES, 1, "compressing", fault);
        strip->deflated = mem_alloc(deflate_bound(PACK_STRIP_BYTES) + EMPTY_BLOCK, 1, "compressing", fault);
        if (strip->bytes == NULL || strip->deflated == NULL)
            return false;
    }
    return true;
}

static bool make_workers(struct pack *pack, struct fault *fault)
{
    for (size_t i = 0; i < pack->worker_count; i++) {
        if (!deflater_create(&pack->deflaters[i], pack->level, PACK_STRIP_BYTES, fault))
            return false;
    }
    return workshop_open(&pack->workshop, pack->strip_count, (unsigned)pack->worker_count, deflate_place,
                         pack, fault) &&
           workshop_claim(pack->workshop, &pack->filled);
}

bool pack_open(struct pack **pack, struct file_out *file, enum pack_wrapper wrapper, int level,
               size_t threads, struct fault *fault)
{
    struct pack *made = mem_zeroed(1, sizeof *made, "compressing", fault);

    if (made == NULL)
        return false;
    made->file = file;
    made->wrapper = wrapper;
    made->level = level;
    made->worker_count = threads < THREADS_MOST ? threads : THREADS_MOST;
    made->strip_count = STRIPS_A_THREAD * made->worker_count;
    made->checksum = first_checksum(wrapper);
    if (!make_strips(made, fault) || !make_workers(made, fault) || !write_header(made, fault)) {
        pack_close(made);
        return false;
    }
    *pack = made;
    return true;
}

void pack_close(struct pack *pack)
{
    if (pack == NULL)
        return;
    workshop_close(pack->workshop);
    for (size_t i = 0; i < pack->worker_count; i++)
        deflater_free(pack->deflaters[i]);
    for (size_t i = 0; i < pack->strip_count; i++) {
        mem_free(pack->strips[i].bytes);
        mem_free(pack->strips[i].deflated);
    }
    mem_free(pack);
}
