/* Packing: bytes go in, a stream of gzip or zlib goes into a file. Strips of a fixed size are deflated by
   several threads; what comes out depends on the bytes, the level and the library alone. */
#include "pack.h"

#include "base/deflate.h"
#include "base/mem.h"
#include "base/thread.h"

#include <pthread.h>
#include <string.h>
#include <zlib.h>

enum { STRIP_BYTES = 512 << 10, THREADS_MOST = 64, GZIP_HEADER = 10 };

enum strip_state { STRIP_FREE, STRIP_FULL, STRIP_TAKEN, STRIP_DONE };

struct strip {
    enum strip_state state;
    unsigned char *bytes; /* what deflate can look back on, then the strip */
    size_t before, size;
    bool last;
    unsigned char *deflated;
    size_t deflated_size;
    uint32_t checksum;
};

struct worker {
    struct pack *pack;
    struct deflater *deflater;
    pthread_t thread;
    bool started;
};

/* A ring: strips are filled and written in turn by the caller, and deflated in any order. */
struct pack {
    struct file_out *file;
    enum pack_wrapper wrapper;
    int level;
    struct strip strips[2 * THREADS_MOST];
    size_t strip_count;
    size_t filling; /* the strip that bytes go into */
    size_t writing; /* the next one to be written */
    uint32_t checksum;
    uint64_t plain_bytes, packed_bytes;
    struct worker workers[THREADS_MOST]; /* the first is the caller */
    size_t worker_count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool has_lock, stops;
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

static void deflate_taken(struct pack *pack, struct worker *worker, struct strip *strip)
{
    struct deflate_strip plain = {strip->bytes + DEFLATE_WINDOW, strip->size, strip->before, strip->last};

    strip->deflated_size = deflater_run(worker->deflater, &plain, strip->deflated);
    strip->checksum =
        pack->wrapper == PACK_GZIP ? (uint32_t)crc32_z(0, plain.bytes, plain.size) : deflate_checksum(&plain);
}

/* The oldest strip that nobody deflates yet; with the lock held. */
static struct strip *full_strip(struct pack *pack)
{
    for (size_t i = 0; i < pack->strip_count; i++) {
        struct strip *strip = &pack->strips[(pack->writing + i) % pack->strip_count];
        if (strip->state == STRIP_FULL)
            return strip;
    }
    return NULL;
}

/* With the lock held, which is let go meanwhile. */
static void deflate_strip_of(struct pack *pack, struct worker *worker, struct strip *strip)
{
    strip->state = STRIP_TAKEN;
    pthread_mutex_unlock(&pack->lock);
    deflate_taken(pack, worker, strip);
    pthread_mutex_lock(&pack->lock);
    strip->state = STRIP_DONE;
    pthread_cond_broadcast(&pack->changed);
}

static void *work(void *data)
{
    struct worker *worker = data;
    struct pack *pack = worker->pack;
    struct strip *strip;

    pthread_mutex_lock(&pack->lock);
    while (!pack->stops) {
        strip = full_strip(pack);
        if (strip != NULL)
            deflate_strip_of(pack, worker, strip);
        else
            pthread_cond_wait(&pack->changed, &pack->lock);
    }
    pthread_mutex_unlock(&pack->lock);
    return NULL;
}

/* Until the strip has been deflated the caller takes part in the work. */
static void await(struct pack *pack, const struct strip *strip)
{
    pthread_mutex_lock(&pack->lock);
    while (strip->state != STRIP_DONE) {
        struct strip *full = full_strip(pack);
        if (full != NULL)
            deflate_strip_of(pack, &pack->workers[0], full);
        else
            pthread_cond_wait(&pack->changed, &pack->lock);
    }
    pthread_mutex_unlock(&pack->lock);
}

static void set_state(struct pack *pack, struct strip *strip, enum strip_state state)
{
    pthread_mutex_lock(&pack->lock);
    strip->state = state;
    pthread_cond_broadcast(&pack->changed);
    pthread_mutex_unlock(&pack->lock);
}

static bool write_next(struct pack *pack, struct fault *fault)
{
    struct strip *strip = &pack->strips[pack->writing];

    await(pack, strip);
    if (!write_packed(pack, strip->deflated, strip->deflated_size, fault))
        return false;
    pack->checksum = pack->wrapper == PACK_GZIP
                         ? (uint32_t)crc32_combine(pack->checksum, strip->checksum, (z_off_t)strip->size)
                         : deflate_join(pack->checksum, strip->checksum, strip->size);
    pack->plain_bytes += strip->size;
    set_state(pack, strip, STRIP_FREE);
    pack->writing = (pack->writing + 1) % pack->strip_count;
    return true;
}

static void submit(struct pack *pack, bool last)
{
    struct strip *strip = &pack->strips[pack->filling];

    strip->last = last;
    set_state(pack, strip, STRIP_FULL);
}

/* The next strip begins with what deflate can look back on. */
static bool begin_strip(struct pack *pack, struct fault *fault)
{
    const struct strip *before = &pack->strips[pack->filling];
    size_t next = (pack->filling + 1) % pack->strip_count;
    struct strip *strip = &pack->strips[next];

    submit(pack, false);
    if (next == pack->writing && !write_next(pack, fault))
        return false;
    memcpy(strip->bytes, before->bytes + before->size, DEFLATE_WINDOW);
    strip->before = DEFLATE_WINDOW;
    strip->size = 0;
    pack->filling = next;
    return true;
}

/* A full strip is submitted when it is known not to be the last. */
bool pack_write(struct pack *pack, const void *bytes, size_t size, struct fault *fault)
{
    const unsigned char *from = bytes;

    while (size > 0) {
        struct strip *strip = &pack->strips[pack->filling];
        size_t room = STRIP_BYTES - strip->size, taken = size < room ? size : room;
        if (room == 0) {
            if (!begin_strip(pack, fault))
                return false;
            continue;
        }
        memcpy(strip->bytes + DEFLATE_WINDOW + strip->size, from, taken);
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

bool pack_finish(struct pack *pack, struct fault *fault)
{
    size_t end = (pack->filling + 1) % pack->strip_count;

    submit(pack, true);
    do {
        if (!write_next(pack, fault))
            return false;
    } while (pack->writing != end);
    return write_trailer(pack, fault);
}

static bool make_strips(struct pack *pack, struct fault *fault)
{
    for (size_t i = 0; i < pack->strip_count; i++) {
        struct strip *strip = &pack->strips[i];
        strip->bytes = mem_alloc(DEFLATE_WINDOW + STRIP_BYTES, 1, "compressing", fault);
        strip->deflated = mem_alloc(deflate_bound(STRIP_BYTES), 1, "compressing", fault);
        if (strip->bytes == NULL || strip->deflated == NULL)
            return false;
    }
    return true;
}

static bool make_workers(struct pack *pack, size_t threads, struct fault *fault)
{
    for (size_t i = 0; i < threads; i++) {
        struct worker *worker = &pack->workers[i];
        worker->pack = pack;
        if (!deflater_create(&worker->deflater, pack->level, STRIP_BYTES, fault))
            return false;
        pack->worker_count++;
        worker->started = i > 0 && thread_start(&worker->thread, work, worker);
    }
    return true;
}

static bool start(struct pack *pack, size_t threads, struct fault *fault)
{
    if (pthread_mutex_init(&pack->lock, NULL) != 0)
        return fault_raise(fault, STATUS_LIMIT, "no lock for compressing");
    if (pthread_cond_init(&pack->changed, NULL) != 0) {
        pthread_mutex_destroy(&pack->lock);
        return fault_raise(fault, STATUS_LIMIT, "no lock for compressing");
    }
    pack->has_lock = true;
    return make_strips(pack, fault) && make_workers(pack, threads, fault) && write_header(pack, fault);
}

bool pack_open(struct pack **pack, struct file_out *file, enum pack_wrapper wrapper, int level,
               size_t threads, struct fault *fault)
{
    struct pack *made = mem_zeroed(1, sizeof *made, "compressing", fault);
    size_t workers = threads < THREADS_MOST ? threads : THREADS_MOST;

    if (made == NULL)
        return false;
    made->file = file;
    made->wrapper = wrapper;
    made->level = level;
    made->strip_count = 2 * workers;
    made->checksum = wrapper == PACK_GZIP ? 0 : 1;
    if (!start(made, workers, fault)) {
        pack_close(made);
        return false;
    }
    *pack = made;
    return true;
}

static void stop_workers(struct pack *pack)
{
    pthread_mutex_lock(&pack->lock);
    pack->stops = true;
    pthread_cond_broadcast(&pack->changed);
    pthread_mutex_unlock(&pack->lock);
    for (size_t i = 0; i < pack->worker_count; i++) {
        if (pack->workers[i].started)
            pthread_join(pack->workers[i].thread, NULL);
        deflater_free(pack->workers[i].deflater);
    }
    pthread_cond_destroy(&pack->changed);
    pthread_mutex_destroy(&pack->lock);
}

void pack_close(struct pack *pack)
{
    if (pack == NULL)
        return;
    if (pack->has_lock)
        stop_workers(pack);
    for (size_t i = 0; i < pack->strip_count; i++) {
        mem_free(pack->strips[i].bytes);
        mem_free(pack->strips[i].deflated);
    }
    mem_free(pack);
}
