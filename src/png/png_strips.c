/* Image data of a PNG in the making: rows go in, strips filtered and deflated on several threads come out. */
#include "png_strips.h"

#include "base/deflate.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/ordered_work.h"
#include "model/sample.h"
#include "png_filter.h"

#include <string.h>

/* Large enough that joins cost nothing to speak of, small enough that a picture of a megapixel has several.
 */
#define STRIP_BYTES ((size_t)256 << 10)

/* Strips under way for each thread: one in its hands, one that waits. */
enum { STRIPS_A_THREAD = 2 };

/* A strip may see the end of the one before it, unless that costs more than it can be worth. */
enum { CONTEXT_SHARE = 8 };

/* At a place of the ordered. Rows before those of the strip are its context, and one more stands above. */
struct slot {
    unsigned char *rows;
    unsigned char *deflated;
    size_t context, count; /* rows */
    struct png_strip strip;
};

struct worker {
    struct deflater *deflater;
    unsigned char *filtered;
};

struct png_strips {
    struct png_strips_picture picture;
    size_t stride, strip_rows, context_rows;
    struct slot *slots;
    size_t slot_count;
    struct worker *workers; /* the first is the calling thread */
    size_t worker_count;
    struct ordered_work *ordered;
    size_t rows_in;
    bool filling, handed_out;
    size_t filled;    /* the slot that the caller fills, or the last that it filled */
    size_t row;       /* rows in it */
    size_t taken;     /* the slot of the strip that was handed out */
    size_t under_way; /* strips that are full and were not given back */
};

/* The slot's row with this number, counted from the one above its context. */
static unsigned char *slot_row(const struct png_strips *strips, const struct slot *slot, size_t row)
{
    return slot->rows + row * strips->stride + PNG_FILTER_REACH;
}

/* ---- one strip ---- */

static void filter_and_deflate(void *context, size_t place, unsigned number)
{
    const struct png_strips *strips = context;
    struct worker *worker = &strips->workers[number];
    struct slot *slot = &strips->slots[place];
    const struct png_strips_picture *picture = &strips->picture;
    const struct png_filter_rows rows = {
        .first = slot_row(strips, slot, 1),
        .stride = strips->stride,
        .bytes = picture->row_bytes,
        .count = slot->context + slot->count,
        .pixel = picture->pixel_bytes,
    };
    size_t before = slot->context * (picture->row_bytes + 1);
    const struct deflate_strip plain = {
        .bytes = worker->filtered + before,
        .size = slot->count * (picture->row_bytes + 1),
        .before = before,
        .last = slot->strip.last,
    };
    png_filter_apply(&rows, picture->level > 0 ? PNG_FILTER_LEAST_SUM : PNG_FILTER_NONE_ROW,
                     worker->filtered);
    slot->strip.size = deflater_run(worker->deflater, &plain, slot->deflated);
    slot->strip.bytes = slot->deflated;
    slot->strip.plain_size = plain.size;
    slot->strip.checksum = deflate_checksum(&plain);
}

/* ---- rows in ---- */

/* The rows above a new strip: the last ones of the strip before, or black beyond the picture's edge. */
static void begin_strip(const struct png_strips *strips, struct slot *slot, const struct slot *before)
{
    if (strips->rows_in == 0) {
        slot->context = 0;
        memset(slot_row(strips, slot, 0), 0, strips->picture.row_bytes);
        return;
    }
    slot->context = strips->context_rows;
    memcpy(slot->rows, before->rows + (before->context + before->count - slot->context) * strips->stride,
           (slot->context + 1) * strips->stride);
}

/* False where no slot is free. */
static bool has_strip(struct png_strips *strips)
{
    const struct slot *before = &strips->slots[strips->filled];
    if (strips->filling)
        return true;
    strips->filling = ordered_work_claim(strips->ordered, &strips->filled);
    if (strips->filling)
        begin_strip(strips, &strips->slots[strips->filled], before);
    return strips->filling;
}

static void end_strip(struct png_strips *strips)
{
    struct slot *slot = &strips->slots[strips->filled];
    slot->count = strips->row;
    slot->strip.last = strips->rows_in == strips->picture.rows;
    strips->row = 0;
    strips->filling = false;
    strips->under_way++;
    ordered_work_put(strips->ordered, strips->filled);
}

static void put_row(struct png_strips *strips, const unsigned char *row)
{
    const struct png_strips_picture *picture = &strips->picture;
    const struct slot *slot = &strips->slots[strips->filled];
    unsigned char *to = slot_row(strips, slot, slot->context + 1 + strips->row);
    memcpy(to, row, picture->row_bytes);
    if (picture->swapped)
        sample_swap(SAMPLE_U16, to, picture->row_bytes / sizeof(uint16_t));
    strips->row++;
    strips->rows_in++;
    if (strips->row == strips->strip_rows || strips->rows_in == picture->rows)
        end_strip(strips);
}

size_t png_strips_put(struct png_strips *strips, const unsigned char *rows, size_t count)
{
    size_t put = 0;
    for (; put < count && has_strip(strips); put++)
        put_row(strips, rows + put * strips->picture.row_bytes);
    return put;
}

/* ---- strips out ---- */

static bool must_take(const struct png_strips *strips)
{
    bool all_in = strips->rows_in == strips->picture.rows;
    return strips->under_way == strips->slot_count || (all_in && strips->under_way > 0);
}

static void give_back(struct png_strips *strips)
{
    if (!strips->handed_out)
        return;
    ordered_work_vacate(strips->ordered, strips->taken);
    strips->under_way--;
}

const struct png_strip *png_strips_take(struct png_strips *strips)
{
    give_back(strips);
    strips->handed_out = must_take(strips);
    if (!strips->handed_out)
        return NULL;
    strips->taken = ordered_work_take(strips->ordered);
    return &strips->slots[strips->taken].strip;
}

/* ---- beginning and end ---- */

static void shape(struct png_strips *strips, size_t threads)
{
    const struct png_strips_picture *picture = &strips->picture;
    size_t filtered = picture->row_bytes + 1;
    strips->stride = picture->row_bytes + PNG_FILTER_REACH;
    strips->strip_rows = size_least(picture->rows, filtered > STRIP_BYTES ? 1 : STRIP_BYTES / filtered);
    strips->context_rows =
        size_least(size_divided_up(DEFLATE_WINDOW, filtered), strips->strip_rows / CONTEXT_SHARE);
    size_t count = size_divided_up(picture->rows, strips->strip_rows);
    strips->worker_count = size_least(threads, count);
    strips->slot_count = size_least(strips->worker_count * STRIPS_A_THREAD, count);
}

static bool make_slot(const struct png_strips *strips, struct slot *slot, struct fault *fault)
{
    size_t rows = strips->context_rows + 1 + strips->strip_rows;
    slot->rows = mem_alloc(rows, strips->stride, "a strip of rows", fault);
    slot->deflated = mem_alloc(deflate_bound(strips->strip_rows * (strips->picture.row_bytes + 1)), 1,
                               "a deflated strip", fault);
    if (slot->rows == NULL || slot->deflated == NULL)
        return false;
    for (size_t row = 0; row < rows; row++)
        memset(slot->rows + row * strips->stride, 0, PNG_FILTER_REACH);
    return true;
}

static bool make_worker(struct png_strips *strips, struct worker *worker, struct fault *fault)
{
    size_t filtered = strips->picture.row_bytes + 1;
    worker->filtered = mem_alloc(strips->context_rows + strips->strip_rows, filtered, "filtered rows", fault);
    return worker->filtered != NULL &&
           deflater_create(&worker->deflater, strips->picture.level, strips->strip_rows * filtered, fault);
}

static bool make_room(struct png_strips *strips, struct fault *fault)
{
    strips->slots = mem_zeroed(strips->slot_count, sizeof *strips->slots, "strips", fault);
    strips->workers = mem_zeroed(strips->worker_count, sizeof *strips->workers, "threads", fault);
    if (strips->slots == NULL || strips->workers == NULL)
        return false;
    for (size_t i = 0; i < strips->slot_count; i++)
        if (!make_slot(strips, &strips->slots[i], fault))
            return false;
    for (size_t i = 0; i < strips->worker_count; i++)
        if (!make_worker(strips, &strips->workers[i], fault))
            return false;
    return ordered_work_open(&strips->ordered, strips->slot_count, (unsigned)strips->worker_count,
                             filter_and_deflate, strips, fault);
}

bool png_strips_open(struct png_strips **strips, const struct png_strips_picture *picture, size_t threads,
                     struct fault *fault)
{
    struct png_strips *made = mem_zeroed(1, sizeof *made, "strips", fault);
    if (made == NULL)
        return false;
    made->picture = *picture;
    shape(made, threads);
    if (!make_room(made, fault)) {
        png_strips_close(made);
        return false;
    }
    *strips = made;
    return true;
}

void png_strips_close(struct png_strips *strips)
{
    if (strips == NULL)
        return;
    ordered_work_close(strips->ordered);
    for (size_t i = 0; strips->slots != NULL && i < strips->slot_count; i++) {
        mem_free(strips->slots[i].rows);
        mem_free(strips->slots[i].deflated);
    }
    for (size_t i = 0; strips->workers != NULL && i < strips->worker_count; i++) {
        mem_free(strips->workers[i].filtered);
        deflater_free(strips->workers[i].deflater);
    }
    mem_free(strips->slots);
    mem_free(strips->workers);
    mem_free(strips);
}
