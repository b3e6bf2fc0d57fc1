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
