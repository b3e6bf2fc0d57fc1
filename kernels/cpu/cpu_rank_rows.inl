/* The loops of cpu_rank.inl over rows of keys, whole numbers of the same order as the samples: included once
   for each kind of them, by KEYS. With KEYS_NARROW these are keys of narrow samples alone. */

#define key   KEYS(key)
#define keys  KEYS(vector)
#define ranks KEYS(ranks)
#define KEYED (VECTOR_BYTES / sizeof(key)) /* keys in a vector */
#define GROUP (NETWORK_VECTORS * KEYED)

/* The first in the order. */
#define KEYS_LEAST ((key)((uint64_t)1 << (8 * sizeof(key) - 1)))

/* A part under way. The first key of a row is the first that a window of the part reads. Where windows reach
   several planes, all rows of the part are in the ring, of so many planes; else as many as windows reach
   along the axis that they move on. */
struct ranks {
    const struct op *op;
    const struct field *from;
    struct field *to;
    unsigned channel;
    enum sample_type type; /* of samples of the fields */
    size_t sample;         /* their bytes */
    key mask;              /* by which narrow samples become keys */
    real bias;
    struct span x;
    size_t width;      /* keys of a row that windows read */
    bool holds_planes; /* windows reach several planes, and move along their rows */
    bool along_rows;   /* else along the planes */
    int64_t before;    /* of the window, along the axis that it moves on */
    size_t side;       /* rows of the window along that axis */
    int64_t aside;     /* likewise across it */
    size_t across;
    int64_t first_row; /* with holds_planes: in the ring */
    size_t rows;
    size_t pitch;
    key *ring, *sorted, *result; /* rows; behind the ring those of sorted columns, if there are any */
    void *row;                   /* of results on their way past the caches; NULL: these go straight */
    const key **taps;            /* what they read for the first sample */
    ptrdiff_t *beside;   /* where a row reads in place of samples outside it, in order; −1: `outside` */
    key outside;         /* the value of EDGE_CONSTANT; with `clips`, one that changes no extreme */
    struct range inside; /* of the keys of a row, with `clips`: those of samples in the grid; else all */
    bool clips; /* windows end with the grid: outside, the edge rule only repeats samples that they have */
    const struct network *columns, *windows; /* without inputs: none */
    void *counts;                            /* of large boxes; NULL: they are not counted */
#ifdef KEYS_NARROW
    struct counting counting; /* at that place */
#endif
};

/* ---- networks ---- */

ISA_INLINE void KEYS(exchange)(keys *a, keys *b)
{
    keys lesser = KEYS(least)(*a, *b);

    *b = KEYS(greatest)(*a, *b);
    *a = lesser;
}

/* Send samples of the inputs through a network; outputs are `count` of the sorted places from `first` on. */
static void KEYS(run_network)(const struct network *network, const key *const *inputs, size_t first,
                              size_t count, size_t samples, key *out, size_t pitch)
{
    keys places[NETWORK_TAPS][NETWORK_VECTORS];

    for (size_t x = 0; x < samples; x += GROUP) {
        for (size_t i = 0; i < network->inputs; i++) {
            for (size_t v = 0; v < NETWORK_VECTORS; v++)
                places[i][v] = KEYS(load)(inputs[i] + x + v * KEYED);
        }
        for (size_t i = 0; i < network->count; i++) {
            keys *a = places[network->first[i]], *b = places[network->second[i]];
            for (size_t v = 0; v < NETWORK_VECTORS; v++)
                KEYS(exchange)(&a[v], &b[v]);
        }
        for (size_t i = 0; i < count; i++) {
            for (size_t v = 0; v < NETWORK_VECTORS; v++)
                KEYS(store)(out + i * pitch + x + v * KEYED, places[network->sorted[first + i]][v]);
        }
    }
}

/* ---- medians of nearest neighbours: all in registers ---- */

/* Sort three. Who wants only the greatest of them, or only the least, leaves the other exchanges to the
   compiler, which drops them: so these come first. */
ISA_INLINE void KEYS(sort_three)(bool greatest, keys *low, keys *middle, keys *high)
{
    if (!greatest)
        KEYS(exchange)(middle, high);
    KEYS(exchange)(low, middle);
    KEYS(exchange)(middle, high);
    if (greatest)
        KEYS(exchange)(low, middle);
}

/* Sort likewise what stands at one place of three sorted columns. */
ISA_INLINE void KEYS(sort_place)(bool greatest, const key *place, size_t apart, keys *low, keys *middle,
                                 keys *high)
{
    *low = KEYS(load)(place);
    *middle = KEYS(load)(place + apart);
    *high = KEYS(load)(place + 2 * apart);
    KEYS(sort_three)(greatest, low, middle, high);
}

/* Of three sorted columns of three: the middle one of the greatest of the least, the middle one of the middle
   ones, and the least of the greatest. */
static void KEYS(median_of_nine)(const key *columns, size_t pitch, size_t apart, size_t count, key *out)
{
    for (size_t x = 0; x < count; x += KEYED) {
        keys low[SIDE_OF_THREE], middle[SIDE_OF_THREE], high[SIDE_OF_THREE];
#pragma GCC unroll 3
        for (size_t i = 0; i < SIDE_OF_THREE; i++)
            KEYS(sort_place)(i < 2, columns + i * pitch + x, apart, &low[i], &middle[i], &high[i]);
        KEYS(sort_three)(true, &high[0], &middle[1], &low[2]);
        KEYS(store)(out + x, middle[1]);
    }
}

/* Of three sorted columns of nine: sorting each place among the three leaves 13 samples that may be the
   median, seven being before all of them and seven behind. Four are the last of the least, four the first of
   the greatest, and five the inner ones of the middle, each in order. The seventh of all, of two lists in
   order, is the least of what is greatest when the first list gives i and the second 7 − i. */
static void KEYS(median_of_cube)(const key *columns, size_t pitch, size_t apart, size_t count, key *out)
{
    for (size_t x = 0; x < count; x += KEYED) {
        keys low[FACE_OF_THREE], middle[FACE_OF_THREE], high[FACE_OF_THREE], outer[8], median;
#pragma GCC unroll 9
        for (size_t i = 0; i < FACE_OF_THREE; i++)
            KEYS(sort_place)(i < 5, columns + i * pitch + x, apart, &low[i], &middle[i], &high[i]);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++) {
            outer[i] = low[5 + i];
            outer[4 + i] = high[i];
        }
#pragma GCC unroll 9
        for (size_t i = 0; i < sizeof merge_of_fours / sizeof *merge_of_fours; i++)
            KEYS(exchange)(&outer[merge_of_fours[i][0]], &outer[merge_of_fours[i][1]]);
        median = outer[6];
#pragma GCC unroll 5
        for (size_t i = 0; i < 5; i++)
            median = KEYS(least)(median, KEYS(greatest)(outer[5 - i], middle[2 + i]));
        KEYS(store)(out + x, median);
    }
}

/* Columns of three or nine. */
static void KEYS(sort_columns)(const key *const *inputs, size_t list, size_t count, key *out, size_t pitch)
{
    for (size_t x = 0; x < count && list == SIDE_OF_THREE; x += KEYED) {
        keys low = KEYS(load)(inputs[0] + x), middle = KEYS(load)(inputs[1] + x),
             high = KEYS(load)(inputs[2] + x);
        KEYS(sort_three)(true, &low, &middle, &high);
        KEYS(store)(out + x, low);
        KEYS(store)(out + pitch + x, middle);
        KEYS(store)(out + 2 * pitch + x, high);
    }
    for (size_t x = 0; x < count && list == FACE_OF_THREE; x += KEYED) {
        keys column[FACE_OF_THREE];
#pragma GCC unroll 9
        for (size_t i = 0; i < FACE_OF_THREE; i++)
            column[i] = KEYS(load)(inputs[i] + x);
#pragma GCC unroll 25
        for (size_t i = 0; i < sizeof sort_of_nine / sizeof *sort_of_nine; i++)
            KEYS(exchange)(&column[sort_of_nine[i][0]], &column[sort_of_nine[i][1]]);
#pragma GCC unroll 9
        for (size_t i = 0; i < FACE_OF_THREE; i++)
            KEYS(store)(out + i * pitch + x, column[i]);
    }
}

/* ---- other ways ---- */

static void KEYS(extreme_row)(bool greatest, const key *a, const key *b, size_t count, key *out)
{
    for (size_t i = 0; i < count; i += KEYED) {
        keys x = KEYS(load)(a + i), y = KEYS(load)(b + i);
        KEYS(store)(out + i, greatest ? KEYS(greatest)(x, y) : KEYS(least)(x, y));
    }
}

/* Join runs that begin at two or four places to a longer one, and so at each of the next samples: its extreme
   is that of theirs. */
ISA_INLINE void KEYS(join_runs)(bool greatest, size_t runs, const key *const *places, size_t count, key *out)
{
    const key *const first = places[0], *const second = places[1], *const third = places[2],
                     *const fourth = places[3];

    for (size_t i = 0; i < count; i += KEYED) {
        keys a = KEYS(load)(first + i), b = KEYS(load)(second + i);
        a = greatest ? KEYS(greatest)(a, b) : KEYS(least)(a, b);
        if (runs == RUNS) {
            keys c = KEYS(load)(third + i), d = KEYS(load)(fourth + i);
            c = greatest ? KEYS(greatest)(c, d) : KEYS(least)(c, d);
            a = greatest ? KEYS(greatest)(a, c) : KEYS(least)(a, c);
        }
        KEYS(store)(out + i, a);
    }
}

/* The keys of a row at which a run of this length begins that has a sample of the grid. The first of them is
   rounded down to a whole vector. */
static struct range KEYS(runs_inside)(const struct ranks *ranks, size_t length)
{
    const struct range inside = ranks->inside;
    const size_t first = (inside.first - size_least(inside.first, length - 1)) / KEYED * KEYED;

    return (struct range){first, size_least(ranks->width - length + 1, inside.first + inside.count) - first};
}

#ifdef ISA_BEHIND
#define SWEPT (32 / sizeof(key))
#define LENGTHEN(bytes)                                                                                      \
    if (sizeof(key) <= (bytes)) {                                                                            \
        keys later = (keys)ISA_BEHIND(run, next[times], bytes);                                              \
        next[times++] = run;                                                                                 \
        run = greatest ? KEYS(greatest)(run, later) : KEYS(least)(run, later);                               \
    }

/* Make runs of SWEPT samples, in place and in registers. A run is joined to the run that begins where it
   ends, which makes it twice as long; bytes need this five times. The other run begins in the same vector or
   in the next one, so vectors are taken from the last to the first. The vector behind the last one is read
   for its first samples alone, and is not written. */
ISA_INLINE void KEYS(sweep_runs)(bool greatest, size_t count, key *row)
{
    keys next[5] = {{0}};

    for (size_t i = size_rounded_up(count, KEYED) + KEYED; i > 0;) {
        size_t times = 0;
        keys run = KEYS(load)(row + (i -= KEYED));
        LENGTHEN(1)
        LENGTHEN(2)
        LENGTHEN(4)
        LENGTHEN(8)
        LENGTHEN(16)
        if (i < count)
            KEYS(store)(row + i, run);
    }
}
#undef LENGTHEN
#endif

/* Extremes along x of several rows, in place. Each round makes runs four times as long; in the last round,
   the runs that are joined overlap. Longer runs reach farther, so each round makes fewer of them. Runs
   without a sample of the grid are left as they are. */
static void KEYS(extreme_along_x)(const struct ranks *ranks, key *first, size_t rows, size_t apart)
{
    const size_t window = ranks->op->tap_count;
    const bool greatest = ranks->op->rank > 0;
    const key *const end = first + rows * apart;
    size_t run = 1;

#ifdef ISA_BEHIND
    if (window >= SWEPT) {
        const struct range swept = KEYS(runs_inside)(ranks, SWEPT);
        run = SWEPT;
        for (key *row = first + swept.first; row < end; row += apart) {
            if (greatest)
                KEYS(sweep_runs)(true, swept.count, row);
            else
                KEYS(sweep_runs)(false, swept.count, row);
        }
    }
#undef SWEPT
#endif
    for (size_t longer; run < window; run = longer) {
        longer = size_least(RUNS * run, window);
        const struct range runs = KEYS(runs_inside)(ranks, longer);
        for (key *row = first + runs.first; row < end; row += apart) {
            const bool two = window <= 2 * run;
            const key *places[RUNS];
            for (size_t k = 0; k < RUNS; k++)
                places[k] = row + size_least(k * run, window - run);
            if (two && greatest)
                KEYS(join_runs)(true, 2, places, runs.count, row);
            else if (two)
                KEYS(join_runs)(false, 2, places, runs.count, row);
            else if (greatest)
                KEYS(join_runs)(true, RUNS, places, runs.count, row);
            else
                KEYS(join_runs)(false, RUNS, places, runs.count, row);
        }
    }
}

/* Of all taps, one after another. */
static void KEYS(extreme_of_taps)(const struct ranks *ranks, size_t count)
{
    const struct op *op = ranks->op;

    memcpy(ranks->result, ranks->taps[0], count * sizeof(key));
    for (size_t k = 1; k < op->tap_count; k++)
        KEYS(extreme_row)(op->rank > 0, ranks->result, ranks->taps[k], count, ranks->result);
}

/* The samples of a vector of windows, each of a rank of its own. */
static keys KEYS(bisect)(const struct op *op, const key *const *taps, size_t x, keys rank)
{
    keys low = KEYS(load)(taps[0] + x), high = low;

    for (size_t k = 1; k < op->tap_count; k++) {
        keys sample = KEYS(load)(taps[k] + x);
        low = KEYS(least)(low, sample);
        high = KEYS(greatest)(high, sample);
    }
    while (KEYS(differ)(low, high)) {
        keys middle = (low & high) + ((low ^ high) >> 1); /* without overflow */
        keys below = low, above = high, count = KEYS(splat)(0), before;
        for (size_t k = 0; k < op->tap_count; k++) {
            keys sample = KEYS(load)(taps[k] + x);
            before = sample <= middle;
            count -= before;
            below = KEYS(greatest)(below, KEYS(choose)(before, sample, below));
            above = KEYS(least)(above, KEYS(choose)(before, above, sample));
        }
        before = count > rank;
        high = KEYS(choose)(before, below, high);
        low = KEYS(choose)(before, low, above);
    }
    return low;
}

/* ---- rows ---- */

/* Each type of narrow samples. */
#define FOR_NARROW(take) take(U8, uint8_t) take(I8, int8_t) take(U16, uint16_t) take(I16, int16_t)

/* The bits to flip in narrow samples, extended to keys, so that they have the order of keys, and to flip
   back: the sign, if samples have none but are as wide as keys; and all bits, if the greatest comes first. */
static key KEYS(narrow_mask)(const struct op *op, enum sample_type type)
{
    const bool full = type == (sizeof(key) == 1 ? SAMPLE_U8 : SAMPLE_U16) && sizeof(key) <= 2;

    return (key)((op->descends ? -1 : 0) ^ (full ? KEYS_LEAST : 0));
}

/* Keys of the samples of a row, from the first one on. False: a sample has none. */
static bool KEYS(read_row)(const struct ranks *ranks, const void *row, int64_t first, size_t count, key *out)
{
    const key mask = ranks->mask;

    switch (ranks->type) {
#define READ(constant, stored)                                                                               \
    case SAMPLE_##constant:                                                                                  \
        for (size_t i = 0; i < count; i++)                                                                   \
            out[i] = (key)((key)((const stored *)row)[(size_t)first + i] ^ mask);                            \
        return true;
        FOR_NARROW(READ)
#undef READ
    default: /* not narrow */
        break;
    }
#ifdef KEYS_NARROW
    return false;
#else
    return KEYS(from_row)(ranks->op, ranks->bias, (const real *)row + first, count, out);
#endif
}

/* The key of a constant outside the grid. */
static bool KEYS(read_outside)(struct ranks *ranks, real outside)
{
    if (!ranks->from->shape.narrow)
        return KEYS(read_row)(ranks, &outside, 0, 1, &ranks->outside);
    ranks->outside = (key)((key)(int32_t)outside ^ ranks->mask);
    return true;
}

static void KEYS(write_row)(const struct ranks *ranks, const key *result, size_t count, void *out)
{
    const key mask = ranks->mask;

    switch (ranks->type) {
#define WRITE(constant, stored)                                                                              \
    case SAMPLE_##constant:                                                                                  \
        for (size_t i = 0; i < count; i++)                                                                   \
            ((stored *)out)[i] = (stored)(result[i] ^ mask);                                                 \
        return;
        FOR_NARROW(WRITE)
#undef WRITE
    default: /* not narrow */
        break;
    }
#ifndef KEYS_NARROW
    KEYS(to_row)(ranks->op, ranks->bias, result, count, out);
#endif
}

/* A sample of a row in the memory of a field. */
static char *KEYS(sample_at)(const struct ranks *ranks, const struct field *field, size_t plane, size_t row,
                             int64_t x)
{
    return (char *)field->samples +
           (row_place(field, plane, ranks->channel, row) + (size_t)x) * ranks->sample;
}

static void KEYS(fill)(key *out, size_t count, key value)
{
    for (size_t i = 0; i < count; i++)
        out[i] = value;
}

/* The row at a plane and a row from the first sample that windows read on, as the edge rule has them. False:
   a sample has no key. */
static bool KEYS(fill_row)(const struct ranks *ranks, int64_t plane, int64_t row, key *out)
{
    const struct op *op = ranks->op;
    const struct shape *shape = &ranks->from->shape;
    const int64_t nx = (int64_t)shape->nx, first = ranks->x.first + op->x.low,
                  end = first + (int64_t)ranks->width;
    struct span inside = common_span((struct span){first, end}, (struct span){0, nx});
    const void *values = NULL;
    const ptrdiff_t *beside = ranks->beside;
    bool have_keys = true;

    row = arith_edge_index(op->edge, row, (int64_t)shape->rows);
    plane = arith_edge_index(op->edge, plane, (int64_t)shape->planes);
    if (row < 0 || plane < 0) {
        inside.end = inside.first = end;
    } else {
        values = KEYS(sample_at)(ranks, ranks->from, (size_t)plane, (size_t)row, 0);
        have_keys = KEYS(read_row)(ranks, values, inside.first, (size_t)(inside.end - inside.first),
                                   out + (inside.first - first));
    }
    if (values == NULL || ranks->clips) {
        KEYS(fill)(out, (size_t)(inside.first - first), ranks->outside);
        KEYS(fill)(out + (inside.end - first), (size_t)(end - inside.end), ranks->outside);
        return have_keys;
    }
    for (int64_t x = first; x < end; x++) {
        int64_t at;
        if (x == inside.first)
            x = inside.end;
        if (x == end)
            break;
        at = *beside++;
        if (at >= inside.first && at < inside.end)
            out[x - first] = out[at - first]; /* it has its key by now */
        else if (at < 0)
            out[x - first] = ranks->outside;
        else
            have_keys = KEYS(read_row)(ranks, values, at, 1, &out[x - first]) && have_keys;
    }
    return have_keys;
}

/* The row that is at a place on the axis along which windows move. One farther on is fetched meanwhile: the
   next may be a plane away, and each row waits for its samples before the next can begin. */
static bool KEYS(fill_along)(const struct ranks *ranks, int64_t at, int64_t centre, key *out)
{
    const struct field *from = ranks->from;
    const int64_t plane = ranks->along_rows ? centre : at, row = ranks->along_rows ? at : centre;
    const size_t coming = (size_t)(at + ROWS_AHEAD);
    const size_t bytes = (size_t)(ranks->x.end - ranks->x.first) * ranks->sample;
    const char *next = NULL;

    if (ranks->along_rows && (size_t)plane < from->shape.planes && coming < from->shape.rows)
        next = KEYS(sample_at)(ranks, from, (size_t)plane, coming, ranks->x.first);
    else if (!ranks->along_rows && coming - from->planes.first < from->planes.count)
        next = KEYS(sample_at)(ranks, from, coming, (size_t)row, ranks->x.first);
    for (size_t i = 0; i < bytes && next != NULL; i += ISA_LINE)
        isa_fetch(next + i);
    return KEYS(fill_row)(ranks, plane, row, out);
}

/* A row in the ring. */
static key *KEYS(row_in_ring)(const struct ranks *ranks, int64_t along, int64_t across)
{
    size_t row = ranks->holds_planes ? (size_t)wrapped(across, (int64_t)ranks->across) * ranks->rows +
                                           (size_t)(along - ranks->first_row)
                                     : (size_t)wrapped(along, (int64_t)ranks->side);

    return ranks->ring + row * ranks->pitch;
}

/* A row of results, to which those that the edge rule holds come back. */
static void KEYS(put_row)(const struct ranks *ranks, int64_t at, int64_t centre, const key *result)
{
    const struct op *op = ranks->op;
    const struct span x = ranks->x;
    struct site site = {.plane = (size_t)(ranks->along_rows ? centre : at),
                        .row = (size_t)(ranks->along_rows ? at : centre),
                        .channel = ranks->channel,
                        .begin = (size_t)x.first,
                        .count = (size_t)(x.end - x.first)};
    void *to = KEYS(sample_at)(ranks, ranks->to, site.plane, site.row, x.first);
    void *out = ranks->row == NULL ? to : ranks->row;

    KEYS(write_row)(ranks, result, site.count, out);
    if (op->missing)
        keep_missing(in_channel(ranks->from, &site, site.channel), site.count, out);
    if (edge_has(op->edge, EDGE_KEEPS_SAMPLE))
        hold(op, ranks->from, &site, out);
    if (out != to)
        isa_copy_past_caches(to, out, site.count * ranks->sample);
}

/* Where the taps read for the first sample of a row. */
static void KEYS(find_taps)(const struct ranks *ranks, int64_t at, int64_t centre)
{
    const struct op *op = ranks->op;

    for (size_t k = 0; k < op->tap_count; k++) {
        const struct op_tap *tap = &op->taps[k];
        int64_t along = ranks->along_rows ? tap->drow : tap->dplane;
        int64_t across = ranks->along_rows ? tap->dplane : tap->drow;
        ranks->taps[k] = KEYS(row_in_ring)(ranks, at + along, centre + across) + (tap->dx - op->x.low);
    }
}

/* ---- windows ---- */

/* Whether the window is a box of nearest neighbours, whose median is wanted. */
static bool KEYS(is_nearest)(const struct ranks *ranks)
{
    const struct op *op = ranks->op;
    size_t list = ranks->columns->inputs;

    return op->rank == op->tap_count / 2 && span_of(op->x) == SIDE_OF_THREE &&
           (list == SIDE_OF_THREE || list == FACE_OF_THREE);
}

/* The ranks of windows side by side. The samples of a window are sorted lists, one behind the other, as long
   as a box's columns; each place of a list is `pitch` keys behind the one before. */
static void KEYS(rank_lists)(const struct ranks *ranks, const key *const *inputs, size_t pitch, size_t count,
                             key *out)
{
    const size_t list = ranks->columns->inputs;

    if (!KEYS(is_nearest)(ranks))
        KEYS(run_network)(ranks->windows, inputs, ranks->op->rank, 1, count, out, 0);
    else if (list == SIDE_OF_THREE)
        KEYS(median_of_nine)(inputs[0], pitch, (size_t)(inputs[list] - inputs[0]), count, out);
    else
        KEYS(median_of_cube)(inputs[0], pitch, (size_t)(inputs[list] - inputs[0]), count, out);
}

/* ---- windows of which samples are missing ---- */

/* How much lower the rank is in each window of a vector, among the samples that are there. The lists of a
   window are sorted, with what is missing last. */
static keys KEYS(lowered)(const struct ranks *ranks, size_t list, size_t x)
{
    const struct op *op = ranks->op;
    const keys missing = KEYS(splat)((key)KEYS_MISSING), none = KEYS(splat)(0);
    keys absent = none, lower = none;
    uint32_t rank = (uint32_t)op->rank, fewer;

    for (size_t place = list; place-- > 0;) {
        keys more = none;
        for (size_t k = place; k < op->tap_count; k += list)
            more -= KEYS(load)(ranks->taps[k] + x) == missing;
        if (!KEYS(differ)(more, none))
            break;
        absent += more;
    }
    for (uint32_t left = (uint32_t)op->tap_count - 1; left > 0 && KEYS(differ)(absent, none); left--) {
        keys lacks = absent > none;
        fewer = arith_rank_among(left, op->percent, (uint32_t)op->rank);
        lower += lacks & KEYS(splat)((key)(rank - fewer));
        rank = fewer;
        absent += lacks; /* a mask is −1 */
    }
    return lower;
}

/* Copy a sorted list. Where the rank is lower, some of its missing samples become the first. */
static void KEYS(turn_list)(const key *const *list, size_t count, size_t x, keys *lower, key *out)
{
    const keys missing = KEYS(splat)((key)KEYS_MISSING), none = KEYS(splat)(0);

    for (size_t i = 0; i < count; i++)
        KEYS(store)(out + i * GROUP, KEYS(load)(list[i] + x));
    for (size_t turn = 0; turn < count; turn++) {
        keys turns = (*lower > none) & (KEYS(load)(out + (count - 1) * GROUP) == missing);
        if (count > 1 && !KEYS(differ)(turns, none))
            break;
        *lower += turns;
        for (size_t i = count - 1; i > 0; i--)
            KEYS(store)
        (out + i * GROUP,
         KEYS(choose)(turns, KEYS(load)(out + (i - 1) * GROUP), KEYS(load)(out + i * GROUP)));
        KEYS(store)(out, KEYS(choose)(turns, KEYS(splat)(KEYS_LEAST), KEYS(load)(out)));
    }
}

/* Like rank_lists, where samples may be missing. These are last in the order. So that a network finds
   the sample of a lower rank, too, some of them are first instead: as many as the rank is lower. */
static void KEYS(rank_present)(const struct ranks *ranks, size_t count)
{
    const struct op *op = ranks->op;
    const size_t list = size_most(ranks->columns->inputs, 1), taps = ranks->windows->inputs;
    const key *inputs[NETWORK_TAPS];
    key turned[NETWORK_TAPS * GROUP];

    for (size_t x = 0; x < count; x += GROUP) {
        keys lower[NETWORK_VECTORS], any = KEYS(splat)(0);
        for (size_t v = 0; v < NETWORK_VECTORS; v++) {
            const size_t at = x + v * KEYED;
            any |= lower[v] = KEYS(lowered)(ranks, list, at);
            if (taps == 0)
                KEYS(store)
            (ranks->result + at, KEYS(bisect)(op, ranks->taps, at, KEYS(splat)((key)op->rank) - lower[v]));
        }
        bool turns = KEYS(differ)(any, KEYS(splat)(0));
        for (size_t k = 0; k < taps; k++) {
            for (size_t v = 0; v < NETWORK_VECTORS && turns && k % list == 0; v++)
                KEYS(turn_list)
            (ranks->taps + k, list, x + v * KEYED, &lower[v], turned + k * GROUP + v * KEYED);
            inputs[k] = turns ? turned + k * GROUP : ranks->taps[k] + x;
        }
        if (taps > 0)
            KEYS(rank_lists)(ranks, inputs, turns ? GROUP : ranks->pitch, GROUP, ranks->result + x);
    }
}

/* Find the rows of a box, from the first sample that windows read on. Returns how many there are. */
static size_t KEYS(find_rows)(const struct ranks *ranks, int64_t at, int64_t centre)
{
    size_t list = 0;

    for (size_t i = 0; i < ranks->across; i++) {
        for (size_t k = 0; k < ranks->side; k++)
            ranks->taps[list++] =
                KEYS(row_in_ring)(ranks, at - ranks->before + (int64_t)k, centre + ranks->aside + (int64_t)i);
    }
    return list;
}

/* A box: its columns sorted, for all windows of the row, which find their samples in them. */
static void KEYS(sort_box)(const struct ranks *ranks, int64_t at, int64_t centre)
{
    const key **inputs = ranks->taps;
    size_t list = KEYS(find_rows)(ranks, at, centre), pitch = ranks->pitch;

    if (KEYS(is_nearest)(ranks))
        KEYS(sort_columns)(inputs, list, ranks->width, ranks->sorted, pitch);
    else
        KEYS(run_network)(ranks->columns, inputs, 0, list, ranks->width, ranks->sorted, pitch);
    for (size_t x = span_of(ranks->op->x); x-- > 0;) {
        for (size_t i = 0; i < list; i++)
            inputs[x * list + i] = ranks->sorted + i * pitch + x;
    }
}

/* The ranks of a row, once all rows that it reads are in the ring. Not inlined, since compilers then have too
   few registers for the loops. */
__attribute__((noinline)) static void KEYS(rank_row)(const struct ranks *ranks, int64_t at, int64_t centre)
{
    const struct op *op = ranks->op;
    size_t count = (size_t)(ranks->x.end - ranks->x.first);

#ifdef KEYS_COUNTED
    if (ranks->counts != NULL) {
        histogram_rank_row(ranks->counts, ranks->taps, KEYS(find_rows)(ranks, at, centre),
                           (int64_t)span_of(op->x), op->rank, (int64_t)count, ranks->result);
        return;
    }
#endif
#ifdef KEYS_NARROW
    if (ranks->counts != NULL) {
        counts_rank_row(&ranks->counting, (int64_t)span_of(op->x), op->rank, (int64_t)count, ranks->result);
        return;
    }
#endif
    if (ranks->columns->inputs > 0)
        KEYS(sort_box)(ranks, at, centre);
    else
        KEYS(find_taps)(ranks, at, centre);
    if (op_takes_extreme(op))
        KEYS(extreme_of_taps)(ranks, count);
    else if (op->missing)
        KEYS(rank_present)(ranks, count);
    else if (ranks->windows->inputs > 0)
        KEYS(rank_lists)(ranks, ranks->taps, ranks->pitch, count, ranks->result);
    else
        for (size_t x = 0; x < count; x += KEYED)
            KEYS(store)(ranks->result + x, KEYS(bisect)(op, ranks->taps, x, KEYS(splat)((key)op->rank)));
}

/* Extremes along the axis that windows move on. Rows are cut into blocks as long as a window. So each window
 * consists of the last rows of one block, an end, and the first rows of the next one, a start. When all rows
 * of a block are there, the extremes of its ends are computed backwards, from its last row on. Those of the
 * starts of the next block are computed forwards, as its rows come.
 *
 * If there are fewer windows than a window has rows, some rows are in all windows. They are joined to the
 * shortest end. Only `counted` rows are read: an end that begins before the first of them is the same as the
 * end that begins with it. Of the next block, only the rows at which a window begins are kept apart. Each of
 * them takes the place of an end that no later window reads, while the end behind it is still needed. Each
 * row behind these is joined to the last of them. */
static bool KEYS(extremes_along)(const struct ranks *ranks, struct span own, struct span counted,
                                 int64_t centre)
{
    const bool greatest = ranks->op->rank > 0;
    const int64_t side = (int64_t)ranks->side, begin = own.first - ranks->before;
    const size_t count = ranks->width, pitch = size_rounded_up(count, KEYED);
    const struct span whole = common_span((struct span){begin, begin + side}, counted);
    key *const ends = ranks->ring, *const start = ranks->result, *const joined = start + ranks->pitch;
    size_t length = size_least(ranks->side, (size_t)(own.end - own.first));
    size_t first = size_least(length - 1, (size_t)(whole.first - begin));

    for (int64_t at = whole.first; at < whole.end; at++) {
        const bool shared = at > whole.first && at - begin >= (int64_t)length;
        key *end = ends + size_least((size_t)(at - begin), length - 1) * pitch;
        if (!KEYS(fill_along)(ranks, at, centre, shared ? start : end))
            return false;
        if (shared)
            KEYS(extreme_row)(greatest, end, start, count, end);
    }
    for (int64_t block = own.first; block < own.end; block += side) {
        const int64_t next = block - ranks->before + side;
        const size_t left = (size_t)(own.end - block);
        const size_t next_length = size_least(ranks->side, left - size_least(ranks->side, left));
        for (key *end = ends + (length - 1) * pitch; end > ends + first * pitch; end -= pitch)
            KEYS(extreme_row)(greatest, end - pitch, end, count, end - pitch);
        KEYS(put_row)(ranks, block, centre, ends + first * pitch);
        for (int64_t i = 1; i <= side && block + i < own.end; i++) {
            const bool has_place = (size_t)i <= next_length;
            key *row = has_place ? ends + (size_t)(i - 1) * pitch : joined;
            const key *end = ends + size_most((size_t)i, first) * pitch;
            if (next + i - 1 < counted.end) {
                if (!KEYS(fill_along)(ranks, next + i - 1, centre, row))
                    return false;
                KEYS(extreme_row)(greatest, i == 1 ? row : start, row, count, start);
                if (!has_place && next_length > 0) {
                    key *last = ends + (next_length - 1) * pitch;
                    KEYS(extreme_row)(greatest, last, row, count, last);
                }
            }
            if (i == side)
                break;
            if (next < counted.end)
                KEYS(extreme_row)(greatest, end, start, count, joined);
            KEYS(put_row)(ranks, block + i, centre, next < counted.end ? joined : end);
        }
        length = next_length;
        first = 0;
    }
    return true;
}

/* Extremes along x. Several rows are computed as one: what is written to the first has reached the cache when
   it is read again, at another place. */
static bool KEYS(extremes_in_rows)(const struct ranks *ranks, struct span own, int64_t centre)
{
    const size_t apart = size_rounded_up(ranks->width, KEYED);
    size_t rows;

    for (int64_t at = own.first; at < own.end; at += (int64_t)rows) {
        rows = size_least(RANK_ROWS, (size_t)(own.end - at));
        for (size_t i = 0; i < rows; i++) {
            if (!KEYS(fill_along)(ranks, at + (int64_t)i, centre, ranks->ring + i * apart))
                return false;
        }
        KEYS(extreme_along_x)(ranks, ranks->ring, rows, apart);
        for (size_t i = 0; i < rows; i++)
            KEYS(put_row)(ranks, at + (int64_t)i, centre, ranks->ring + i * apart);
    }
    return true;
}

/* Where bytes are counted, the row at a place of all planes that windows reach comes into the columns, or
   leaves them. */
static void KEYS(count_row)(const struct ranks *ranks, bool comes, int64_t at, int64_t centre)
{
#ifdef KEYS_NARROW
    for (size_t i = 0; i < ranks->across && ranks->counts != NULL; i++) {
        const key *row = KEYS(row_in_ring)(ranks, at, centre + ranks->aside + (int64_t)i);
        counts_move(&ranks->counting, comes, row);
    }
#else
    (void)ranks, (void)comes, (void)at, (void)centre;
#endif
}

/* Windows that move along an axis. Each row comes when the first window reads it, unless all are in the ring:
   then none fails. */
static bool KEYS(ranks_along)(const struct ranks *ranks, struct span own, int64_t centre)
{
    const int64_t behind = (int64_t)ranks->side - 1 - ranks->before;

#ifdef KEYS_NARROW
    if (ranks->counts != NULL)
        memset(ranks->counts, 0, ranks->counting.columns * COUNTED_BYTES);
#endif
    for (int64_t at = own.first - ranks->before; at < own.end + behind; at++) {
        if (!ranks->holds_planes &&
            !KEYS(fill_along)(ranks, at, centre, KEYS(row_in_ring)(ranks, at, centre)))
            return false;
        KEYS(count_row)(ranks, true, at, centre);
        if (at - behind < own.first)
            continue;
        KEYS(rank_row)(ranks, at - behind, centre);
        KEYS(put_row)(ranks, at - behind, centre, ranks->result);
        KEYS(count_row)(ranks, false, at - behind - ranks->before, centre);
    }
    return true;
}

/* Windows of several planes: each plane comes, with all rows, when the first window reads it. */
static bool KEYS(ranks_through)(const struct ranks *ranks, struct span rows, struct span planes)
{
    const int64_t behind = (int64_t)ranks->across - 1 + ranks->aside;

    for (int64_t plane = planes.first + ranks->aside; plane < planes.end + behind; plane++) {
        for (int64_t i = ranks->first_row; i < ranks->first_row + (int64_t)ranks->rows; i++) {
            if (!KEYS(fill_row)(ranks, plane, i, KEYS(row_in_ring)(ranks, i, plane)))
                return false;
        }
        if (plane - behind >= planes.first)
            KEYS(ranks_along)(ranks, rows, plane - behind);
    }
    return true;
}

/* All of a part; false if a sample has no key. Windows move along rows, unless only planes are in reach. */
static bool KEYS(rank)(const struct cpu_sweep *sweep, struct range channels, const struct axis *axes,
                       real bias, const struct network *columns, const struct network *windows, char *arena)
{
    const struct op *op = sweep->op;
    const struct span x = axes[0].own, rows = axes[1].own, planes = axes[2].own;
    const int64_t nx = (int64_t)sweep->from->shape.nx;
    ptrdiff_t *beside;
    const bool along_rows = op->row.high > 0 || op->plane.high == 0;
    const struct reach along = along_rows ? op->row : op->plane, across = along_rows ? op->plane : op->row;
    const enum sample_type type = shape_sample(&sweep->from->shape, sweep->from->work);
    struct ranks ranks = {.op = op,
                          .from = sweep->from,
                          .to = sweep->to,
                          .channel = (unsigned)channels.first,
                          .type = type,
                          .sample = sample_size(type),
                          .mask = KEYS(narrow_mask)(op, type),
                          .bias = bias,
                          .x = x,
                          .width = (size_t)(x.end - x.first) + span_of(op->x) - 1,
                          .holds_planes = span_of(across) > 1,
                          .along_rows = along_rows,
                          .before = -along.low,
                          .side = span_of(along),
                          .aside = across.low,
                          .across = span_of(across),
                          .first_row = rows.first + op->row.low,
                          .rows = (size_t)(rows.end - rows.first) + span_of(op->row) - 1,
                          .pitch = sweep->tiling->slot_samples,
                          .ring = (key *)(arena + sweep->tiling->layout.slots),
                          .taps = (const key **)(arena + sweep->tiling->layout.bases),
                          .columns = columns,
                          .windows = windows};
    const struct span moved = along_rows ? rows : planes, others = along_rows ? planes : rows;
    bool done = KEYS(read_outside)(&ranks, outside_of(op, ranks.channel));
    struct span counted = {moved.first - ranks.before, moved.end - ranks.before + (int64_t)ranks.side - 1};

    ranks.clips = sweep->tiling->line_of_extremes && op_reads_itself_outside(op);
    ranks.inside = (struct range){0, ranks.width};
    if (ranks.clips) {
        const int64_t reads = x.first + op->x.low;
        const struct span inside =
            common_span((struct span){reads, x.end + op->x.high}, (struct span){0, nx});
        ranks.inside = (struct range){(size_t)(inside.first - reads), (size_t)(inside.end - inside.first)};
        ranks.outside = op->rank == 0 ? ~KEYS_LEAST : KEYS_LEAST;
        counted = (struct span){0, axes[along_rows ? 1 : 2].extent};
    }
    ranks.sorted = ranks.ring + (ranks.holds_planes ? ranks.across * ranks.rows : ranks.side) * ranks.pitch;
    ranks.result =
        ranks.sorted + (sweep->tiling->line_of_extremes ? 0 : ranks.side * ranks.across) * ranks.pitch;
    ranks.row = sweep->past_caches ? ranks.ring + (sweep->tiling->slots - 1) * ranks.pitch : NULL;
    beside = ranks.beside = (ptrdiff_t *)(ranks.taps + op->tap_count);
    for (int64_t at = x.first + op->x.low; at < x.end + op->x.high; at++) {
        if (at < 0 || at >= nx)
            *beside++ = (ptrdiff_t)arith_edge_index(op->edge, at, nx);
    }
    /* Counts are behind all rows of the arena but the last. */
    if (sweep->tiling->counts > 0)
        ranks.counts = ranks.ring + (sweep->tiling->slots - 1 - sweep->tiling->counts) * ranks.pitch;
#ifdef KEYS_COUNTED
    if (ranks.counts != NULL)
        memset(ranks.counts, 0, sizeof(struct histogram));
#endif
#ifdef KEYS_NARROW
    if (ranks.counts != NULL)
        ranks.counting = counting_at(ranks.counts, ranks.width);
#endif
    if (ranks.holds_planes)
        return done && KEYS(ranks_through)(&ranks, rows, planes);
    for (int64_t centre = others.first; centre < others.end && done; centre++) {
        done = !sweep->tiling->line_of_extremes ? KEYS(ranks_along)(&ranks, moved, centre)
               : ranks.side > 1                 ? KEYS(extremes_along)(&ranks, moved, counted, centre)
                                                : KEYS(extremes_in_rows)(&ranks, moved, centre);
    }
    return done;
}

#undef key
#undef keys
#undef ranks
#undef KEYED
#undef GROUP
#undef KEYS_LEAST
#undef KEYS
#undef KEYS_MISSING
#undef KEYS_COUNTED
#undef KEYS_NARROW
