/* One axis of a tile: its own samples, and what a step reads around them. */

struct span {
    int64_t first, end;
};

struct axis {
    struct span own;
    int64_t extent; /* of the grid */
    struct cpu_margin margin;
    bool wraps;
};

/* Taps read as far as they reach. Beside an end of the grid a rule that mirrors turns them round, and so the
   other side may be asked for as much: the axis has room for that, which a field that holds a part of the
   grid has nothing for elsewhere. */
static struct cpu_margin margin_read(const struct axis *axis, struct reach reach, unsigned steps)
{
    struct cpu_margin margin = {(size_t) - (int64_t)reach.low, (size_t)reach.high};
    bool before = axis->own.first < (int64_t)(margin.before * steps);
    bool behind = axis->own.end + (int64_t)(margin.after * steps) > axis->extent;

    if (behind)
        margin.before = axis->margin.before;
    if (before)
        margin.after = axis->margin.after;
    return margin;
}

/* What a level must have while `left` more follow; indices outside the grid stand for themselves when an axis
   wraps, and are left to the edge rule when it does not. */
static struct span unclipped_span(const struct axis *axis, unsigned left)
{
    struct span span = {axis->own.first - (int64_t)(axis->margin.before * left),
                        axis->own.end + (int64_t)(axis->margin.after * left)};

    return span;
}

static struct span clipped(struct span span, int64_t extent)
{
    span.first = span.first < 0 ? 0 : span.first;
    span.end = span.end > extent ? extent : span.end;
    return span;
}

/* What two spans share; where that is nothing, an end that is the first. */
static struct span common_span(struct span a, struct span b)
{
    struct span span = {a.first > b.first ? a.first : b.first, a.end < b.end ? a.end : b.end};

    if (span.end < span.first)
        span.end = span.first;
    return span;
}

static struct span level_span(const struct axis *axis, unsigned left)
{
    struct span span = unclipped_span(axis, left);

    return axis->wraps ? span : clipped(span, axis->extent);
}

/* The indices before and behind the grid that the next level reads. */
static struct span margin_before(const struct axis *axis, unsigned left)
{
    struct span span = {unclipped_span(axis, left).first, 0};
    int64_t farthest = -(int64_t)axis->margin.before;

    if (span.first < farthest)
        span.first = farthest;
    return span;
}

static struct span margin_behind(const struct axis *axis, unsigned left)
{
    struct span span = {axis->extent, unclipped_span(axis, left).end};
    int64_t farthest = axis->extent + (int64_t)axis->margin.after;

    if (span.end > farthest)
        span.end = farthest;
    return span;
}

/* The index in [0, n) at the same place of a period. */
static int64_t wrapped(int64_t index, int64_t n)
{
    return arith_edge_index(EDGE_WRAP, index, n);
}
