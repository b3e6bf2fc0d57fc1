/* Planes that are computed leave the cache in portions, between the rows of others that are being computed,
   so that neither waits for the other. */

/* Planes that a tile takes in, takes on by a level, and lets go together. */
#define TOGETHER 2

/* Rows of bytes, and where they go. */
struct strip {
    const char *from;
    char *to;
    size_t bytes, from_stride, to_stride, rows;
};

struct pump {
    struct strip strips[TOGETHER];
    size_t count, first; /* strips, and the first that is not empty */
    size_t moved;        /* bytes of its first row */
    size_t portion;
    bool past_caches;
};

static size_t rounded_to_lines(size_t bytes)
{
    return (bytes + ISA_LINE - 1) / ISA_LINE * ISA_LINE;
}

static void pump_empty(struct pump *pump)
{
    pump->count = pump->first = pump->moved = 0;
}

static void pump_add(struct pump *pump, struct strip strip)
{
    pump->strips[pump->count++] = strip;
}

/* Choose the portion that empties the strips in so many turns. */
static void pump_pace(struct pump *pump, size_t turns)
{
    size_t bytes = 0;

    for (size_t i = 0; i < pump->count; i++)
        bytes += pump->strips[i].rows * rounded_to_lines(pump->strips[i].bytes);
    pump->portion = rounded_to_lines(bytes / turns + 1);
}

/* Portions end where lines do, so that each line leaves whole. */
static void pump_once(struct pump *pump)
{
    struct strip *strip = &pump->strips[pump->first];
    size_t bytes;

    if (pump->first == pump->count)
        return;
    bytes = pump->portion + -((uintptr_t)strip->to + pump->moved) % ISA_LINE;
    bytes = least(bytes, strip->bytes - pump->moved);
    if (pump->past_caches)
        isa_copy_past_caches(strip->to + pump->moved, strip->from + pump->moved, bytes);
    else
        memcpy(strip->to + pump->moved, strip->from + pump->moved, bytes);
    pump->moved += bytes;
    if (pump->moved < strip->bytes)
        return;
    pump->moved = 0;
    strip->from += strip->from_stride;
    strip->to += strip->to_stride;
    if (--strip->rows == 0)
        pump->first++;
}

/* What has not left yet does so now. */
static void pump_drain(struct pump *pump)
{
    while (pump->first < pump->count)
        pump_once(pump);
}
