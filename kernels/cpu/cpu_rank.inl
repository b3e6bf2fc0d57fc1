/* Rung `blocked` where one sample of a window is taken by its rank.
 *
 * Known as: rank-order filter; sorting networks with columns sorted once; van Herk/Gil-Werman.
 * Idea: rows become whole numbers of the same order as their samples, once each, in a ring of the rows that
 * windows reach. Vectors of windows side by side then go through one sorting network, without a branch. Adds:
 * a box's columns are sorted once, for all windows that they are in; their merge leaves out what cannot be of
 * the rank. Extremes along the planes or rows take three comparisons a sample, whatever the radius; along x,
 * one for each time that the window doubles. Costs: more than NETWORK_TAPS samples are bisected: each round
 * counts all of them up to the middle of what is left. Traffic per sample: 2 words through memory. Wins when:
 * the operation is a rank and a thread has room for the rows; else naive serves it. */

/* Vectors that go through a network together, so that one does not wait for another. */
#define NETWORK_VECTORS 2
#define NETWORK_SAMPLES (NETWORK_VECTORS * LANES)

/* Exchanges of a network for the most taps: those of Batcher's sort. */
#define NETWORK_EXCHANGES 1472

/* A sorting network: exchanges put the lesser of two places first. */
struct network {
    size_t inputs, count;
    uint8_t first[NETWORK_EXCHANGES], second[NETWORK_EXCHANGES];
    uint8_t sorted[NETWORK_TAPS]; /* the places in order, when all exchanges are done */
};

/* A part under way. Rows are of orders; their first sample is the first one that a window of the part reads.
 */
struct ranks {
    const struct op *op;
    const struct field *from;
    struct field *to;
    unsigned channel;
    struct span x;
    size_t width;    /* samples of a row that windows read */
    bool along_rows; /* windows move along the rows of a plane; else along the planes */
    int64_t before;  /* of the window, along the axis that it moves on */
    size_t side;     /* rows of the window along that axis */
    int64_t aside;   /* likewise across it */
    size_t across;
    size_t pitch;
    order *ring;        /* side · across rows; as many behind them, of sorted columns or of another ring */
    order *result;      /* a row */
    const order **taps; /* what they read for the first sample */
    order outside;      /* the value of EDGE_CONSTANT */
    const struct network *columns, *windows; /* NULL: bisection */
};

static bool takes_extreme(const struct op *op)
{
    return op->rank == 0 || op->rank + 1 == op->tap_count;
}

/* ---- networks ---- */

static void exchange(struct network *network, uint8_t first, uint8_t second)
{
    network->first[network->count] = first;
    network->second[network->count++] = second;
}

/* Merge two sorted lists of places: their members of even and of odd places, then neighbours (Batcher's
 * odd-even merge). */
static void merge_places(struct network *network, const uint8_t *a, size_t m, const uint8_t *b, size_t n,
                         uint8_t *merged)
{
    uint8_t halves[2][2][NETWORK_TAPS], even[NETWORK_TAPS], odd[NETWORK_TAPS];
    size_t evens = (m + 1) / 2 + (n + 1) / 2, odds = m / 2 + n / 2;

    if (m == 0 || n == 0) {
        memcpy(merged, m == 0 ? b : a, m + n);
        return;
    }
    if (m == 1 && n == 1) {
        exchange(network, *a, *b);
        merged[0] = *a;
        merged[1] = *b;
        return;
    }
    for (size_t i = 0; i < m; i++)
        halves[0][i % 2][i / 2] = a[i];
    for (size_t i = 0; i < n; i++)
        halves[1][i % 2][i / 2] = b[i];
    merge_places(network, halves[0][0], (m + 1) / 2, halves[1][0], (n + 1) / 2, even);
    merge_places(network, halves[0][1], m / 2, halves[1][1], n / 2, odd);
    merged[0] = even[0];
    for (size_t i = 0; i < odds; i++) {
        merged[2 * i + 1] = odd[i];
        if (i + 1 < evens) {
            exchange(network, odd[i], even[i + 1]);
            merged[2 * i + 2] = even[i + 1];
        }
    }
    if (evens > odds + 1)
        merged[m + n - 1] = even[evens - 1];
}

/* Sort places, of which each `sorted` ones beside each other are in order. */
static void sort_places(struct network *network, const uint8_t *places, size_t count, size_t sorted,
                        uint8_t *out)
{
    uint8_t first[NETWORK_TAPS], second[NETWORK_TAPS];
    size_t half = count / sorted / 2 * sorted;

    if (count == sorted) {
        memcpy(out, places, count);
        return;
    }
    sort_places(network, places, half, sorted, first);
    sort_places(network, places + half, count - half, sorted, second);
    merge_places(network, first, half, second, count - half, out);
}

/* Leave out the exchanges that the sample of a rank does not depend on. */
static void prune(struct network *network, size_t rank)
{
    bool matters[NETWORK_TAPS] = {false}, kept[NETWORK_EXCHANGES];
    size_t count = 0;

    matters[network->sorted[rank]] = true;
    for (size_t i = network->count; i-- > 0;) {
        kept[i] = matters[network->first[i]] || matters[network->second[i]];
        if (kept[i])
            matters[network->first[i]] = matters[network->second[i]] = true;
    }
    for (size_t i = 0; i < network->count; i++) {
        network->first[count] = network->first[i];
        network->second[count] = network->second[i];
        count += kept[i];
    }
    network->count = count;
}

static void make_network(struct network *network, size_t inputs, size_t sorted)
{
    uint8_t places[NETWORK_TAPS];

    *network = (struct network){.inputs = inputs};
    for (size_t i = 0; i < inputs; i++)
        places[i] = (uint8_t)i;
    sort_places(network, places, inputs, sorted, network->sorted);
}

/* Send samples of the inputs through a network; outputs are `count` of the sorted places from `first` on. */
static void run_network(const struct network *network, const order *const *inputs, size_t first, size_t count,
                        size_t samples, order *out, size_t pitch)
{
    order_vector places[NETWORK_TAPS][NETWORK_VECTORS];

    for (size_t x = 0; x < samples; x += NETWORK_SAMPLES) {
        for (size_t i = 0; i < network->inputs; i++) {
            for (size_t v = 0; v < NETWORK_VECTORS; v++)
                places[i][v] = orders_load(inputs[i] + x + v * LANES);
        }
        for (size_t i = 0; i < network->count; i++) {
            order_vector *a = places[network->first[i]], *b = places[network->second[i]];
            for (size_t v = 0; v < NETWORK_VECTORS; v++) {
                order_vector lesser = orders_least(a[v], b[v]);
                b[v] = orders_greatest(a[v], b[v]);
                a[v] = lesser;
            }
        }
        for (size_t i = 0; i < count; i++) {
            for (size_t v = 0; v < NETWORK_VECTORS; v++)
                orders_store(out + i * pitch + x + v * LANES, places[network->sorted[first + i]][v]);
        }
    }
}

/* ---- other ways ---- */

static void extreme_row(bool greatest, const order *a, const order *b, size_t count, order *out)
{
    for (size_t i = 0; i < count; i += LANES) {
        order_vector x = orders_load(a + i), y = orders_load(b + i);
        orders_store(out + i, greatest ? orders_greatest(x, y) : orders_least(x, y));
    }
}

/* Along x: extremes of twice as many samples each time, then of two runs that overlap. */
static void extreme_along_x(const struct ranks *ranks, size_t count)
{
    size_t window = ranks->op->tap_count, run = 1;
    bool greatest = ranks->op->rank > 0;

    for (; 2 * run <= window; run *= 2)
        extreme_row(greatest, ranks->ring, ranks->ring + run, ranks->width - 2 * run + 1, ranks->ring);
    extreme_row(greatest, ranks->ring, ranks->ring + window - run, count, ranks->result);
}

/* Of all taps, one after another. */
static void extreme_of_taps(const struct ranks *ranks, size_t count)
{
    const struct op *op = ranks->op;

    memcpy(ranks->result, ranks->taps[0], count * sizeof(order));
    for (size_t k = 1; k < op->tap_count; k++)
        extreme_row(op->rank > 0, ranks->result, ranks->taps[k], count, ranks->result);
}

/* The samples of a rank of a vector of windows. */
static order_vector bisect(const struct ranks *ranks, size_t x)
{
    const struct op *op = ranks->op;
    const order_vector rank = orders_splat((order)op->rank);
    order_vector low = orders_load(ranks->taps[0] + x), high = low;

    for (size_t k = 1; k < op->tap_count; k++) {
        order_vector sample = orders_load(ranks->taps[k] + x);
        low = orders_least(low, sample);
        high = orders_greatest(high, sample);
    }
    while (orders_differ(low, high)) {
        order_vector middle = (low & high) + ((low ^ high) >> 1); /* without overflow */
        order_vector below = low, above = high, count = orders_splat(0), before;
        for (size_t k = 0; k < op->tap_count; k++) {
            order_vector sample = orders_load(ranks->taps[k] + x);
            before = sample <= middle;
            count -= before;
            below = orders_greatest(below, orders_choose(before, sample, below));
            above = orders_least(above, orders_choose(before, above, sample));
        }
        before = count > rank;
        high = orders_choose(before, below, high);
        low = orders_choose(before, low, above);
    }
    return low;
}

/* ---- rows ---- */

/* The samples of a row from the first that windows read on, as the edge rule has them; NULL: outside the
 * grid. */
static void fill_row(const struct ranks *ranks, const real *row, order *out)
{
    const struct op *op = ranks->op;
    int64_t nx = (int64_t)ranks->from->shape.nx, first = ranks->x.first + op->x.low,
            end = first + (int64_t)ranks->width;
    struct span inside = common_span((struct span){first, end}, (struct span){0, nx});

    if (row == NULL)
        inside.end = inside.first = end;
    else
        order_row(op->descends, row + inside.first, (size_t)(inside.end - inside.first),
                  out + (inside.first - first));
    for (int64_t x = first; x < end; x++) {
        int64_t at;
        if (x == inside.first)
            x = inside.end;
        if (x == end)
            break;
        at = row == NULL ? -1 : arith_edge_index(op->edge, x, nx);
        out[x - first] = at < 0 ? ranks->outside : real_order(op->descends ? -row[at] : row[at]);
    }
}

/* The rows of all places across, at a place on the axis that windows move along. */
static void fill_slice(const struct ranks *ranks, int64_t at, int64_t centre, order *to)
{
    const struct shape *shape = &ranks->from->shape;
    const enum edge_rule edge = ranks->op->edge;

    for (size_t i = 0; i < ranks->across; i++) {
        int64_t other = centre + ranks->aside + (int64_t)i;
        int64_t row = arith_edge_index(edge, ranks->along_rows ? at : other, (int64_t)shape->rows);
        int64_t plane = arith_edge_index(edge, ranks->along_rows ? other : at, (int64_t)shape->planes);
        bool outside = row < 0 || plane < 0;
        fill_row(ranks, outside ? NULL : row_of(ranks->from, (size_t)plane, ranks->channel, (size_t)row),
                 to + i * ranks->pitch);
    }
}

/* A row of results, to which those that the edge rule holds come back. */
static void put_row(const struct ranks *ranks, int64_t at, int64_t centre, const order *result)
{
    const struct op *op = ranks->op;
    const struct span x = ranks->x;
    struct site site = {.plane = (size_t)(ranks->along_rows ? centre : at),
                        .row = (size_t)(ranks->along_rows ? at : centre),
                        .channel = ranks->channel,
                        .begin = (size_t)x.first,
                        .count = (size_t)(x.end - x.first)};
    real *out = row_of(ranks->to, site.plane, site.channel, site.row) + x.first;

    ordered_row(op->descends, result, site.count, out);
    if (edge_has(op->edge, EDGE_KEEPS_SAMPLE))
        hold(op, ranks->from, &site, out);
}

/* Where the taps read for the first sample of a row: slices lie in the ring by their places. */
static void find_taps(const struct ranks *ranks, int64_t at)
{
    const struct op *op = ranks->op;

    for (size_t k = 0; k < op->tap_count; k++) {
        const struct op_tap *tap = &op->taps[k];
        int64_t along = ranks->along_rows ? tap->drow : tap->dplane;
        int64_t across = ranks->along_rows ? tap->dplane : tap->drow;
        size_t slice = (size_t)wrapped(at + along, (int64_t)ranks->side);
        ranks->taps[k] = ranks->ring +
                         (slice * ranks->across + (size_t)(across - ranks->aside)) * ranks->pitch +
                         (tap->dx - op->x.low);
    }
}

/* A box: its columns sorted, for all windows of the row; then windows, merged from columns. */
static void rank_box(const struct ranks *ranks, size_t count)
{
    const order *inputs[NETWORK_TAPS];
    size_t list = ranks->side * ranks->across;
    order *sorted = ranks->ring + list * ranks->pitch;

    for (size_t i = 0; i < list; i++)
        inputs[i] = ranks->ring + i * ranks->pitch;
    run_network(ranks->columns, inputs, 0, list, ranks->width, sorted, ranks->pitch);
    for (size_t i = 0; i < ranks->op->tap_count; i++)
        inputs[i] = sorted + i % list * ranks->pitch + i / list;
    run_network(ranks->windows, inputs, ranks->op->rank, 1, count, ranks->result, 0);
}

/* A row of results, once all slices that it reads are in the ring. */
static void rank_row(const struct ranks *ranks, int64_t at)
{
    const struct op *op = ranks->op;
    size_t count = (size_t)(ranks->x.end - ranks->x.first);

    if (ranks->columns != NULL) {
        rank_box(ranks, count);
        return;
    }
    find_taps(ranks, at);
    if (takes_extreme(op) && op->tap_count == ranks->width - count + 1)
        extreme_along_x(ranks, count);
    else if (takes_extreme(op))
        extreme_of_taps(ranks, count);
    else if (ranks->windows != NULL)
        run_network(ranks->windows, ranks->taps, op->rank, 1, count, ranks->result, 0);
    else
        for (size_t x = 0; x < count; x += LANES)
            orders_store(ranks->result + x, bisect(ranks, x));
}

/* Extremes along the axis that windows move on. Slices go in blocks as long as the window, so that a window
 * is the end of one block and the start of the next: the extremes of all ends are made backwards, those of
 * starts as slices come. */
static void extremes_along(const struct ranks *ranks, struct span own, int64_t centre)
{
    const bool greatest = ranks->op->rank > 0;
    const size_t side = ranks->side, count = ranks->width;
    order *ends = ranks->ring, *coming = ends + side * ranks->pitch, *start = ranks->result;

    for (size_t i = 0; i < side && own.first < own.end; i++)
        fill_slice(ranks, own.first - ranks->before + (int64_t)i, centre, ends + i * ranks->pitch);
    for (int64_t block = own.first; block < own.end; block += (int64_t)side) {
        order *done = ends;
        for (size_t i = side - 1; i-- > 0;)
            extreme_row(greatest, ends + i * ranks->pitch, ends + (i + 1) * ranks->pitch, count,
                        ends + i * ranks->pitch);
        put_row(ranks, block, centre, ends);
        for (size_t i = 1; i <= side && block + (int64_t)i < own.end; i++) {
            order *row = coming + (i - 1) * ranks->pitch, *end = ends + i * ranks->pitch;
            fill_slice(ranks, block - ranks->before + (int64_t)(side + i - 1), centre, row);
            extreme_row(greatest, i == 1 ? row : start, row, count, start);
            if (i == side)
                break;
            extreme_row(greatest, end, start, count, end);
            put_row(ranks, block + (int64_t)i, centre, end);
        }
        ends = coming;
        coming = done;
    }
}

static void ranks_along(const struct ranks *ranks, struct span own, int64_t centre)
{
    const int64_t behind = (int64_t)ranks->side - 1 - ranks->before;

    for (int64_t at = own.first - ranks->before; at < own.end + behind; at++) {
        size_t slice = (size_t)wrapped(at, (int64_t)ranks->side);
        fill_slice(ranks, at, centre, ranks->ring + slice * ranks->across * ranks->pitch);
        if (at - behind < own.first)
            continue;
        rank_row(ranks, at - behind);
        put_row(ranks, at - behind, centre, ranks->result);
    }
}

static size_t span_of(struct reach reach)
{
    return (size_t)(reach.high - reach.low) + 1;
}

/* Windows move along rows, which reads each row once for a plane of windows, unless only planes are in reach.
 */
static struct ranks ranks_of(const struct cpu_sweep *sweep, unsigned channel, struct span x, char *arena)
{
    const struct op *op = sweep->op;
    struct ranks ranks = {.op = op,
                          .from = sweep->from,
                          .to = sweep->to,
                          .channel = channel,
                          .x = x,
                          .width = (size_t)(x.end - x.first) + span_of(op->x) - 1,
                          .along_rows = op->row.high > 0 || op->plane.high == 0,
                          .pitch = sweep->tiling->slot_samples};
    struct reach along = ranks.along_rows ? op->row : op->plane;
    struct reach across = ranks.along_rows ? op->plane : op->row;
    real outside = op->outside == NULL ? (real)0 : (real)op->outside[channel];

    ranks.before = -along.low;
    ranks.side = span_of(along);
    ranks.aside = across.low;
    ranks.across = span_of(across);
    ranks.ring = (order *)(arena + sweep->tiling->layout.slots);
    ranks.result = ranks.ring + 2 * ranks.side * ranks.across * ranks.pitch;
    ranks.taps = (const order **)(arena + sweep->tiling->layout.bases);
    ranks.outside = real_order(op->descends ? -outside : outside);
    return ranks;
}

static void rank_part(const struct cpu_sweep *sweep, struct range channels, const struct axis *axes,
                      char *arena)
{
    const struct op *op = sweep->op;
    struct ranks ranks = ranks_of(sweep, (unsigned)channels.first, axes[0].own, arena);
    struct span along = axes[ranks.along_rows ? 1 : 2].own, across = axes[ranks.along_rows ? 2 : 1].own;
    bool is_line = op->tap_count == ranks.side && ranks.side > 2;
    size_t list = ranks.side * ranks.across;
    struct network columns, windows;

    if (!takes_extreme(op) && op->tap_count <= NETWORK_TAPS) {
        bool is_box = op->tap_count == list * span_of(op->x);
        make_network(&windows, op->tap_count, is_box ? list : 1);
        prune(&windows, op->rank);
        ranks.windows = &windows;
        if (is_box) {
            make_network(&columns, list, 1);
            ranks.columns = &columns;
        }
    }
    for (int64_t centre = across.first; centre < across.end; centre++) {
        if (is_line && takes_extreme(op))
            extremes_along(&ranks, along, centre);
        else
            ranks_along(&ranks, along, centre);
    }
}
