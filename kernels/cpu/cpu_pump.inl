/* Planes that are computed leave the cache in portions, and what will be read soon comes in likewise, between
   the rows of others that are being computed, so that neither waits for the other. */

/* Planes that a tile takes in, takes on by a level, and lets go together. */
#define TOGETHER 2

/* Rows of bytes, and where they go. */
struct strip {
    const char *from;
    char *to;
    size_t bytes, from_stride, to_stride, rows;
};

struct pump {
    struct strip strips[TOGETHER * MOST_LAYERS];
    size_t count, first; /* strips, and the first that is not empty */
    size_t moved;        /* bytes of its first row */
    size_t portion;
    bool past_caches;

    struct strip expected[TOGETHER * MOST_LAYERS + 1]; /* come in: they have no `to` */
    size_t expected_count, expected_first, fetched, fetch_portion;
};

static size_t rounded_to_lines(size_t bytes)
{
    return (bytes + ISA_LINE - 1) / ISA_LINE * ISA_LINE;
}

static void pump_empty(struct pump *pump)
{
    pump->count = pump->first = pump->moved = 0;
    pump->expected_count = pump->expected_first = pump->fetched = 0;
}

static void pump_add(struct pump *pump, struct strip strip)
{
    pump->strips[pump->count++] = strip;
}

static void pump_expect(struct pump *pump, struct strip strip)
{
    pump->expected[pump->expected_count++] = strip;
}

/* The portion that empties strips in so many turns. */
static size_t portion_of(const struct strip *strips, size_t count, size_t turns)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += strips[i].rows * rounded_to_lines(strips[i].bytes);
    return rounded_to_lines(bytes / turns + 1);
}

static void pump_pace(struct pump *pump, size_t turns)
{
    pump->portion = portion_of(pump->strips, pump->count, turns);
    pump->fetch_portion = portion_of(pump->expected, pump->expected_count, turns);
}

static void pump_fetch(struct pump *pump)
{
    struct strip *strip = &pump->expected[pump->expected_first];
    size_t end;

    if (pump->expected_first == pump->expected_count)
        return;
    end = size_least(pump->fetched + pump->fetch_portion, strip->bytes);
    for (; pump->fetched < end; pump->fetched += ISA_LINE)
        isa_fetch(strip->from + pump->fetched);
    if (end < strip->bytes)
        return;
    pump->fetched = 0;
    strip->from += strip->from_stride;
    if (--strip->rows == 0)
        pump->expected_first++;
}

/* Portions end where lines do, so that each line leaves whole. */
static void pump_leave(struct pump *pump)
{
    struct strip *strip = &pump->strips[pump->first];
    size_t bytes;

    if (pump->first == pump->count)
        return;
    bytes = pump->portion + -((uintptr_t)strip->to + pump->moved) % ISA_LINE;
    bytes = size_least(bytes, strip->bytes - pump->moved);
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

static void pump_once(struct pump *pump)
{
    pump_fetch(pump);
    pump_leave(pump);
}

/* What has not left yet does so now. */
static void pump_drain(struct pump *pump)
{
    while (pump->first < pump->count)
        pump_leave(pump);
}
