/* Rung `naive`.
 *
 * Known as: the loop over taps outside, the loop over samples inside (axpy), vectorised along x.
 * Idea: the reference order, block of a row by block: each tap adds the values that it reads to the open
 *   sums.
 * Adds: nothing; what an edge rule supplies is gathered where a block meets the edge.
 * Costs: a block's sums pass through the first-level cache once a tap, and a field larger than the caches is
 *   fetched again for every step.
 * Traffic per sample: 2 words through memory, a third for the line that is fetched to be written.
 * Wins when: taps reach so far that no tile of them fits a cache, or an operation reads a sample once. */

/* The value of EDGE_CONSTANT in a channel. */
static real outside_of(const struct op *op, unsigned channel)
{
    return op->outside == NULL ? (real)0 : (real)op->outside[channel];
}

/* How samples of a narrow field become values, and values such samples. */
static struct encoding narrow_encoding(const struct field *field)
{
    return (struct encoding){.type = shape_sample(&field->shape, field->work), .channels = 1};
}

/* Copy the values of samples of a row of a field, narrow or not, from an index on. */
static void copy_values(const struct field *field, const void *row, int64_t first, size_t count, real *values)
{
    const struct encoding narrow = narrow_encoding(field);

    if (!field->shape.narrow)
        memcpy(values, (const real *)row + first, count * sizeof *values);
    else
        get_values(&narrow, (const unsigned char *)row + (size_t)first * sample_size(narrow.type), count,
                   values);
}

/* A tap reads a row from an index on: what the edge rule supplies for samples [begin, end) of a block. */
static void gather(const struct op *op, const struct field *from, const void *row, int64_t first,
                   real outside, int64_t begin, int64_t end, real *scratch)
{
    for (int64_t i = begin; i < end; i++) {
        int64_t x = arith_edge_index(op->edge, first + i, (int64_t)from->shape.nx);
        if (x < 0)
            scratch[i] = outside;
        else if (!from->shape.narrow)
            scratch[i] = ((const real *)row)[x];
        else
            copy_values(from, row, x, 1, &scratch[i]);
    }
}

/* The values that a tap reads along a block. Inside the grid they are read in place; values that an edge
   rule supplies are gathered into scratch. */
static const real *tap_values(const struct op *op, const struct field *from, const struct op_tap *tap,
                              const struct site *site, real *scratch)
{
    const struct shape *shape = &from->shape;
    int64_t nx = (int64_t)shape->nx;
    int64_t plane = arith_edge_index(op->edge, (int64_t)site->plane + tap->dplane, (int64_t)shape->planes);
    int64_t row = arith_edge_index(op->edge, (int64_t)site->row + tap->drow, (int64_t)shape->rows);
    int64_t first = (int64_t)site->begin + tap->dx, count = (int64_t)site->count;
    int64_t inside = first < 0 ? -first : 0, end = nx - first < count ? nx - first : count;
    real outside = outside_of(op, site->channel);
    const void *values;

    if (plane < 0 || row < 0) {
        for (size_t i = 0; i < site->count; i++)
            scratch[i] = outside;
        return scratch;
    }
    values = row_bytes_of(from, (size_t)plane, site->channel, (size_t)row);
    if (inside == 0 && end == count && !shape->narrow)
        return (const real *)values + first;
    if (inside >= end)
        inside = end = count;
    /* What lies inside is copied at once: it is nearly all of a row. */
    copy_values(from, values, first + inside, (size_t)(end - inside), scratch + inside);
    gather(op, from, values, first, outside, 0, inside, scratch);
    gather(op, from, values, first, outside, end, count, scratch);
    return scratch;
}

/* The same where neighbours may be missing. */
static const real *present_values(const struct op *op, const struct field *from, const struct op_tap *tap,
                                  const struct site *site, real *scratch)
{
    const real *values = tap_values(op, from, tap, site, scratch);

    if (!op->missing)
        return values;
    present_row(values, in_channel(from, site, site->channel), site->count, scratch);
    return scratch;
}

/* A chain: tap by tap over the block, so that each loop over samples becomes vector code. */
static void advance_taps(const struct op *op, const struct field *from, const struct site *site, real *out)
{
    real scratch[BLOCK];

    if (op->tap_count == 0)
        memset(out, 0, site->count * sizeof *out);
    for (size_t k = 0; k < op->tap_count; k++) {
        const real *values = present_values(op, from, &op->taps[k], site, scratch);
        chain_weight(k == 0, (real)op->taps[k].weight, values, site->count, out);
    }
}

/* Relax the block's samples against their frozen neighbours, which are found once. */
static void advance_heat(const struct op *op, const struct field *from, const struct site *site, real *out)
{
    real scratch[OP_HEAT_TAPS][BLOCK];
    const real *values[OP_HEAT_TAPS];

    for (size_t k = 0; k < op->tap_count; k++) {
        const struct op_tap *tap = &op->taps[k];
        values[k] = is_centre(tap) ? NULL : tap_values(op, from, tap, site, scratch[k]);
    }
    memcpy(out, in_channel(from, site, site->channel), site->count * sizeof *out);
    relax(op, values, op->inner, site->count, out);
}

/* Where the taps of a group of channels read for a block. */
struct block {
    const struct op *op;
    const struct field *from;
    const struct site *site;
};

/* The reader of a block for joint channels. */
static const real *read_block(const void *source, size_t tap, size_t channel, real *scratch)
{
    const struct block *block = source;
    struct site site = *block->site;

    site.channel += (unsigned)channel;
    return tap_values(block->op, block->from, &block->op->taps[tap], &site, scratch);
}

/* The same for channels under one conductivity. */
static void advance_joint(const struct op *op, const struct field *from, const struct site *site,
                          size_t channels, real *out)
{
    const struct block block = {op, from, site};
    const size_t stride = from->shape.rows * from->shape.nx;
    const struct joint joint = {.op = op,
                                .channels = channels,
                                .count = site->count,
                                .u = out,
                                .stride = stride,
                                .read = read_block,
                                .source = &block};

    for (unsigned channel = 0; channel < channels; channel++)
        memcpy(out + channel * stride, in_channel(from, site, site->channel + channel),
               site->count * sizeof *out);
    for (uint64_t n = 0; n < op->inner; n++)
        relax_joint(&joint);
}

/* The weights of a tap, which all channels of the block share. */
static void bilateral_factors(const struct block *block, size_t tap, size_t channels, real *factors)
{
    const struct op *op = block->op;
    const struct site *site = block->site;
    real scratch[BLOCK];

    for (size_t c = 0; c < channels; c++)
        add_square(c == 0, op->missing, (real)op->inverse_scale, read_block(block, tap, c, scratch),
                   in_channel(block->from, site, site->channel + (unsigned)c), site->count, factors);
    joint_factors(FLUX_PM1, (real)op->taps[tap].weight, site->count, factors);
}

/* The bilateral mean of channels that share their weights. */
static void bilateral_mean(const struct block *block, size_t channels, real *out)
{
    const size_t stride = block->from->shape.rows * block->from->shape.nx, count = block->site->count;
    real factors[BLOCK], totals[BLOCK], scratch[BLOCK];

    for (size_t k = 0; k < block->op->tap_count; k++) {
        bilateral_factors(block, k, channels, factors);
        for (size_t c = 0; c < channels; c++)
            chain_factors(k == 0, factors, read_block(block, k, c, scratch), count, out + c * stride);
        add_factors(k == 0, factors, count, totals);
    }
    for (size_t c = 0; c < channels; c++)
        divide_row(totals, count, out + c * stride);
}

/* Channels whose sums of weights go together, where samples may be missing in some of them. */
#define MISSING_CHANNELS 4

/* The same of what is there, for channels from `first` on: each has a sum of weights of its own. */
static void bilateral_present(const struct block *block, size_t channels, size_t first, real *out)
{
    const size_t stride = block->from->shape.rows * block->from->shape.nx, count = block->site->count;
    const size_t end = size_least(channels, first + MISSING_CHANNELS);
    real factors[BLOCK], own[BLOCK], totals[MISSING_CHANNELS][BLOCK], scratch[BLOCK];

    for (size_t k = 0; k < block->op->tap_count; k++) {
        bilateral_factors(block, k, channels, factors);
        for (size_t c = first; c < end; c++) {
            leave_out_missing(factors, read_block(block, k, c, scratch), count, own, scratch);
            chain_factors(k == 0, own, scratch, count, out + c * stride);
            add_factors(k == 0, own, count, totals[c - first]);
        }
    }
    for (size_t c = first; c < end; c++) {
        divide_row(totals[c - first], count, out + c * stride);
        keep_missing(in_channel(block->from, block->site, block->site->channel + (unsigned)c), count,
                     out + c * stride);
    }
}

static void advance_bilateral(const struct op *op, const struct field *from, const struct site *site,
                              size_t channels, real *out)
{
    const struct block block = {op, from, site};

    if (!op->missing)
        bilateral_mean(&block, channels, out);
    for (size_t first = 0; op->missing && first < channels; first += MISSING_CHANNELS)
        bilateral_present(&block, channels, first, out);
}

/* The squares of the slopes along all axes, then the root. */
static void advance_gradient(const struct op *op, const struct field *from, const struct site *site,
                             real *out)
{
    real ahead_scratch[BLOCK], behind_scratch[BLOCK];

    for (size_t k = 0; k < op->tap_count; k++) {
        struct op_tap ahead = op->taps[k];
        struct op_tap behind = {-ahead.dx, -ahead.drow, -ahead.dplane, ahead.weight};
        slope_row(k == 0, (real)ahead.weight, present_values(op, from, &ahead, site, ahead_scratch),
                  present_values(op, from, &behind, site, behind_scratch), site->count, out);
    }
    root_row(out, site->count);
}

/* What is known of the sample of a rank, for each of a block: two samples of its window, between which it is,
   itself included. */
struct ranking {
    order low[BLOCK], high[BLOCK];
    order middle[BLOCK], below[BLOCK], above[BLOCK]; /* of a round: the next samples on either side */
    counter count[BLOCK];                            /* samples up to the middle */
    counter rank[BLOCK];                             /* before them: how many there are in all */
};

static void widen_ranking(struct ranking *ranking, bool first, const order *orders, size_t count)
{
    const order missing = real_order((real)NAN);

    for (size_t i = 0; i < count; i++) {
        ranking->low[i] = first || orders[i] < ranking->low[i] ? orders[i] : ranking->low[i];
        ranking->high[i] = first || orders[i] > ranking->high[i] ? orders[i] : ranking->high[i];
        ranking->rank[i] = (first ? 0 : ranking->rank[i]) + (orders[i] < missing);
    }
}

/* The rank of each: that of the window, or of what is there, which NaN comes behind. */
static void settle_ranking(struct ranking *ranking, const struct op *op, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t there = op->missing ? (uint32_t)ranking->rank[i] : (uint32_t)op->tap_count;
        ranking->rank[i] = op->missing && there > 0 ? arith_rank_among(there, op->percent, (uint32_t)op->rank)
                                                    : (counter)op->rank;
    }
}

static void begin_round(struct ranking *ranking, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        order low = ranking->low[i], high = ranking->high[i];
        ranking->middle[i] = (low & high) + ((low ^ high) >> 1); /* without overflow */
        ranking->below[i] = low;
        ranking->above[i] = high;
        ranking->count[i] = 0;
    }
}

static void rank_tap(struct ranking *ranking, const order *orders, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool before = orders[i] <= ranking->middle[i];
        order below = ranking->below[i], above = ranking->above[i];
        ranking->count[i] += before;
        ranking->below[i] = before && orders[i] > below ? orders[i] : below;
        ranking->above[i] = !before && orders[i] < above ? orders[i] : above;
    }
}

/* Whether any is not found yet. */
static bool end_round(struct ranking *ranking, size_t count)
{
    counter open = 0;

    for (size_t i = 0; i < count; i++) {
        bool before = ranking->count[i] > ranking->rank[i];
        ranking->low[i] = before ? ranking->low[i] : ranking->above[i];
        ranking->high[i] = before ? ranking->below[i] : ranking->high[i];
        open |= ranking->low[i] != ranking->high[i];
    }
    return open != 0;
}

/* Bisection: all samples of the windows are counted up to the middle of what is left. Both ends then move to
   samples, so that few rounds are left where few samples are. */
static void advance_rank(const struct op *op, const struct field *from, const struct site *site, real *out)
{
    struct ranking ranking;
    real scratch[BLOCK];
    order orders[BLOCK];

    for (size_t k = 0; k < op->tap_count; k++) {
        orders_from_row(op, 0, tap_values(op, from, &op->taps[k], site, scratch), site->count, orders);
        widen_ranking(&ranking, k == 0, orders, site->count);
    }
    settle_ranking(&ranking, op, site->count);
    for (bool open = op->rank > 0 && op->rank + 1 < op->tap_count; open;) {
        begin_round(&ranking, site->count);
        for (size_t k = 0; k < op->tap_count; k++) {
            orders_from_row(op, 0, tap_values(op, from, &op->taps[k], site, scratch), site->count, orders);
            rank_tap(&ranking, orders, site->count);
        }
        open = end_round(&ranking, site->count);
    }
    orders_to_row(op, 0, op->rank == 0 ? ranking.low : ranking.high, site->count, out);
}

/* Channels are first colours times alpha, then alpha, then colours as they are. */
static void advance_cover(const struct op *op, const struct field *from, const struct site *site, real *out)
{
    unsigned channel = site->channel, colours = op->colours;
    const real *colour = in_channel(from, site, channel > colours ? channel - colours - 1 : channel);

    if (channel < colours)
        cover_row(colour, in_channel(from, site, colours), (real)op->max, site->count, out);
    else
        memcpy(out, colour, site->count * sizeof *out);
}

/* Whether a tap of the sample leaves the grid along an axis. */
static bool reaches_outside(struct reach reach, size_t index, size_t extent)
{
    return (int64_t)index + reach.low < 0 || (int64_t)index + reach.high >= (int64_t)extent;
}

/* Channels that were not weighed are those of the stage's input; freed ones are not written. EDGE_HOLD has
   kept samples near each end of an axis. */
static void advance_average(const struct op *op, const struct field *from, const struct field *kept,
                            const struct site *site, real *out)
{
    const real *old = in_channel(kept, site, site->channel), *sums = in_channel(from, site, site->channel);
    const real *weights;
    bool holds = edge_has(op->edge, EDGE_KEEPS_SAMPLE);
    int held = 0;

    if (site->channel >= op->weighed) {
        if (site->channel >= op->weighed + op->freed)
            memcpy(out, old, site->count * sizeof *out);
        return;
    }
    weights = in_channel(from, site, site->channel + op->weighed);
    if (holds && reaches_outside(op->held[1], site->row, from->shape.rows))
        held += OP_HELD_ROW;
    if (holds && reaches_outside(op->held[2], site->plane, from->shape.planes))
        held += OP_HELD_PLANE;
    average_row(sums, weights, (real)op->whole[held], old, site->count, out);
    for (size_t i = 0; holds && i < site->count; i++) {
        if (reaches_outside(op->held[0], site->begin + i, from->shape.nx))
            average_row(sums + i, weights + i, (real)op->whole[held + OP_HELD_X], old + i, 1, out + i);
    }
}

/* The block's samples in memory, of whatever type. */
static char *block_bytes_of(const struct field *field, const struct site *site)
{
    return (char *)row_bytes_of(field, site->plane, site->channel, site->row) +
           site->begin * sample_bytes(&field->shape, field->work);
}

/* EDGE_HOLD: give samples that have a tap outside the grid their old values back. */
static void hold(const struct op *op, const struct field *from, const struct site *site, void *out)
{
    const size_t size = sample_bytes(&from->shape, from->work);
    const char *old = block_bytes_of(from, site);
    char *kept = out;
    bool whole = reaches_outside(op->plane, site->plane, from->shape.planes) ||
                 reaches_outside(op->row, site->row, from->shape.rows);

    for (size_t i = 0; i < site->count; i++) {
        if (whole || reaches_outside(op->x, site->begin + i, from->shape.nx))
            memcpy(kept + i * size, old + i * size, size);
    }
}

/* A rank in a narrow field. */
static void advance_narrow(const struct op *op, const struct field *from, struct field *to,
                           const struct site *site)
{
    const struct encoding narrow = narrow_encoding(to);
    real values[BLOCK];

    advance_rank(op, from, site, values);
    put_values(&narrow, values, site->count, (unsigned char *)block_bytes_of(to, site));
}

/* A block of one channel; or of all channels of a group, where they are joint. */
static void advance_block(const struct op *op, const struct field *from, const struct field *kept,
                          struct field *to, const struct site *site, size_t channels)
{
    const real *own = in_channel(from, site, site->channel);
    real *out = row_of(to, site->plane, site->channel, site->row) + site->begin;

    switch (op->kind) {
    case OP_TAPS:
    case OP_UNSHARP: /* its blur: sharpen_rows() does the rest */
        advance_taps(op, from, site, out);
        break;
    case OP_PASSES: /* has no form here */
        break;
    case OP_HEAT:
        if (op->joint > 0)
            advance_joint(op, from, site, channels, out);
        else
            advance_heat(op, from, site, out);
        break;
    case OP_BILATERAL:
        advance_bilateral(op, from, site, channels, out);
        break;
    case OP_GRADIENT:
        advance_gradient(op, from, site, out);
        break;
    case OP_RANK:
        advance_rank(op, from, site, out);
        break;
    case OP_COMBINE:
        combine_row(op->combine, (real)op->amount, own, in_channel(kept, site, site->channel), site->count,
                    out);
        break;
    case OP_POINT:
        point_row(&op->point, own, site->count, out);
        break;
    case OP_COVER:
        advance_cover(op, from, site, out);
        break;
    case OP_UNCOVER:
        uncover_row(own, in_channel(from, site, op->colours + 1 + site->channel),
                    in_channel(from, site, op->colours), (real)op->max, site->count, out);
        break;
    case OP_WEIGH: /* samples, then the weight of each */
        weigh_row(site->channel < op->weighed, in_channel(from, site, site->channel % op->weighed),
                  site->count, out);
        break;
    case OP_AVERAGE:
        advance_average(op, from, kept, site, out);
        break;
    }
    if (op->missing && op->joint == 0) /* joint channels have kept theirs */
        keep_missing(own, site->count, out);
}

/* A block of each channel of a group. */
static void advance_group(const struct op *op, const struct field *from, const struct field *kept,
                          struct field *to, struct site site, size_t channels)
{
    if (to->shape.narrow)
        advance_narrow(op, from, to, &site);
    else
        advance_block(op, from, kept, to, &site, channels);
    for (; channels > 0 && edge_has(op->edge, EDGE_KEEPS_SAMPLE); channels--, site.channel++)
        hold(op, from, &site, block_bytes_of(to, &site));
}

/* Rows of all channels, block by block. */
static void advance_rows(void *context, size_t first, size_t count, unsigned member)
{
    const struct cpu_sweep *sweep = context;
    const struct op *op = sweep->op;
    const struct shape *shape = &sweep->to->shape;

    (void)member;
    for (size_t i = first; i < first + count; i++) {
        struct place place = place_of(i, op_group_count(op), shape->rows);
        struct range group = op_group(op, place.channel);
        size_t plane = sweep->planes.first + place.plane;
        for (size_t begin = 0; begin < shape->nx; begin += BLOCK) {
            struct site site = {plane, place.row, (unsigned)group.first, begin,
                                size_least(BLOCK, shape->nx - begin)};
            advance_group(op, sweep->from, sweep->kept, sweep->to, site, group.count);
        }
    }
}

/* OP_UNSHARP, after an engine has run its taps. */
static void sharpen_rows(void *context, size_t first, size_t count, unsigned member)
{
    const struct cpu_sweep *sweep = context;
    const struct shape *shape = &sweep->to->shape;

    (void)member;
    for (size_t i = first; i < first + count; i++) {
        struct place place = place_of(i, sweep->op->channels, shape->rows);
        size_t plane = sweep->planes.first + place.plane;
        unsharp_row((real)sweep->op->amount, row_of(sweep->kept, plane, place.channel, place.row), shape->nx,
                    row_of(sweep->to, plane, place.channel, place.row));
    }
}

/* Channels that the op leaves as they are. */
static void keep_rows(void *context, size_t first, size_t count, unsigned member)
{
    const struct cpu_sweep *sweep = context;
    const struct shape *shape = &sweep->to->shape;
    unsigned first_kept = sweep->op->channels;

    (void)member;
    for (size_t i = first; i < first + count; i++) {
        struct place place = place_of(i, shape->channels - first_kept, shape->rows);
        size_t plane = sweep->planes.first + place.plane;
        unsigned channel = first_kept + place.channel;
        memcpy(row_bytes_of(sweep->to, plane, channel, place.row),
               row_bytes_of(sweep->from, plane, channel, place.row),
               shape->nx * sample_bytes(shape, sweep->to->work));
    }
}

/* Share the rows of so many channels, or groups of channels, among the threads. */
static void share_rows(struct cpu_sweep *sweep, size_t channels, pool_work *rows)
{
    cpu_threads_share_evenly(&sweep->threads, sweep->planes.count * channels * sweep->to->shape.rows, rows,
                             sweep);
}
