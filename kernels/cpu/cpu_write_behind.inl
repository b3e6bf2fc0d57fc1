/* Planes that are computed leave the cache in portions, and what will be read soon comes in likewise, between
   the rows of others that are being computed, so that neither waits for the other.

   Known as: write-behind with non-temporal (streaming) stores, and software prefetch. */

/* Planes that a tile takes in, takes on by a level, and lets go together. */
#define TOGETHER 2

/* Rows of bytes, and where they go. */
struct byte_block {
    const char *from;
    char *to;
    size_t bytes, from_stride, to_stride, rows;
};

struct write_behind {
    struct byte_block leaving[TOGETHER * MOST_LAYERS];
    size_t count, first; /* blocks, and the first that is not empty */
    size_t moved;        /* bytes of its first row */
    size_t portion;
    bool past_caches;

    struct byte_block expected[TOGETHER * MOST_LAYERS + 1]; /* come in: they have no `to` */
    size_t expected_count, expected_first, fetched, fetch_portion;
};

static size_t rounded_to_lines(size_t bytes)
{
    return (bytes + ISA_LINE - 1) / ISA_LINE * ISA_LINE;
}

static void write_behind_clear(struct write_behind *behind)
{
    behind->count = behind->first = behind->moved = 0;
    behind->expected_count = behind->expected_first = behind->fetched = 0;
}

static void write_behind_add(struct write_behind *behind, struct byte_block block)
{
    behind->leaving[behind->count++] = block;
}

static void write_behind_expect(struct write_behind *behind, struct byte_block block)
{
    behind->expected[behind->expected_count++] = block;
}

/* The portion that empties blocks in so many turns. */
static size_t portion_of(const struct byte_block *blocks, size_t count, size_t turns)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += blocks[i].rows * rounded_to_lines(blocks[i].bytes);
    return rounded_to_lines(bytes / turns + 1);
}

static void write_behind_pace(struct write_behind *behind, size_t turns)
{
    behind->portion = portion_of(behind->leaving, behind->count, turns);
    behind->fetch_portion = portion_of(behind->expected, behind->expected_count, turns);
}

static void prefetch_portion(struct write_behind *behind)
{
    struct byte_block *block = &behind->expected[behind->expected_first];
    size_t end;

    if (behind->expected_first == behind->expected_count)
        return;
    end = size_least(behind->fetched + behind->fetch_portion, block->bytes);
    for (; behind->fetched < end; behind->fetched += ISA_LINE)
        isa_fetch(block->from + behind->fetched);
    if (end < block->bytes)
        return;
    behind->fetched = 0;
    block->from += block->from_stride;
    if (--block->rows == 0)
        behind->expected_first++;
}

/* Portions end where lines do, so that each line leaves whole. */
static void write_portion(struct write_behind *behind)
{
    struct byte_block *block = &behind->leaving[behind->first];
    size_t bytes;

    if (behind->first == behind->count)
        return;
    bytes = behind->portion + -((uintptr_t)block->to + behind->moved) % ISA_LINE;
    bytes = size_least(bytes, block->bytes - behind->moved);
    if (behind->past_caches)
        isa_copy_past_caches(block->to + behind->moved, block->from + behind->moved, bytes);
    else
        memcpy(block->to + behind->moved, block->from + behind->moved, bytes);
    behind->moved += bytes;
    if (behind->moved < block->bytes)
        return;
    behind->moved = 0;
    block->from += block->from_stride;
    block->to += block->to_stride;
    if (--block->rows == 0)
        behind->first++;
}

static void write_behind_once(struct write_behind *behind)
{
    prefetch_portion(behind);
    write_portion(behind);
}

/* What has not left yet does so now. */
static void write_behind_drain(struct write_behind *behind)
{
    while (behind->first < behind->count)
        write_portion(behind);
}
