/* Memory traffic in portions, between the rows that are computed, so that neither waits for the other. */

/* Planes that a tile takes in, takes on by a level, and lets go together. */
#define TOGETHER 2

static size_t rounded_to_lines(size_t bytes)
{
    return (bytes + ISA_LINE - 1) / ISA_LINE * ISA_LINE;
}

/* Rows of bytes that stand at the same distance. */
struct strip {
    char *row;
    size_t bytes, stride, rows;
};

/* Planes that take turns. */
struct strips {
    struct strip queue[TOGETHER];
    size_t count, first;
    size_t moved, portion; /* bytes: of the first row done with, and to move between two rows */
};

struct pump {
    struct strips next;              /* will be read: are brought into the cache */
    struct strips done;              /* were computed: leave the cache */
    struct strip leaves[TOGETHER];   /* where they go */
    bool past_caches;
};

static void strips_add(struct strips *strips, struct strip strip)
{
    strips->queue[strips->count++] = strip;
}

/* Choose the portion that empties the strips in so many turns. */
static void strips_pace(struct strips *strips, size_t turns)
{
    size_t bytes = 0;

    for (size_t i = 0; i < strips->count; i++)
        bytes += strips->queue[i].rows * rounded_to_lines(strips->queue[i].bytes);
    strips->portion = rounded_to_lines(bytes / (turns == 0 ? 1 : turns));
}

static struct strip *strips_current(struct strips *strips)
{
    return strips->first < strips->count ? &strips->queue[strips->first] : NULL;
}

/* So many bytes of the current row are done with. */
static void strips_move(struct strips *strips, size_t bytes)
{
    struct strip *strip = &strips->queue[strips->first];

    strips->moved += bytes;
    if (strips->moved < strip->bytes)
        return;
    strips->moved = 0;
    strip->row += strip->stride;
    if (--strip->rows == 0)
        strips->first++;
}

static void pump_fetch(struct pump *pump)
{
    struct strip *strip = strips_current(&pump->next);
    size_t end;

    if (strip == NULL)
        return;
    end = pump->next.moved + pump->next.portion;
    for (size_t at = pump->next.moved; at < end; at += ISA_LINE)
        __builtin_prefetch(strip->row + at, 0, 2);
    strips_move(&pump->next, pump->next.portion);
}

/* Portions end where lines do, so that each line leaves whole. */
static void pump_leave(struct pump *pump)
{
    struct strip *strip = strips_current(&pump->done);
    char *to;
    size_t bytes;

    if (strip == NULL)
        return;
    to = pump->leaves[pump->done.first].row + pump->done.moved;
    bytes = pump->done.portion + (-(uintptr_t)to) % ISA_LINE;
    bytes = least(bytes, strip->bytes - pump->done.moved);
    if (pump->past_caches)
        isa_copy_past_caches(to, strip->row + pump->done.moved, bytes);
    else
        memcpy(to, strip->row + pump->done.moved, bytes);
    if (pump->done.moved + bytes == strip->bytes)
        pump->leaves[pump->done.first].row += pump->leaves[pump->done.first].stride;
    strips_move(&pump->done, bytes);
}

static void pump_once(struct pump *pump)
{
    pump_fetch(pump);
    pump_leave(pump);
}

/* What has not left yet does so now. */
static void pump_drain(struct pump *pump)
{
    while (strips_current(&pump->done) != NULL)
        pump_leave(pump);
}
