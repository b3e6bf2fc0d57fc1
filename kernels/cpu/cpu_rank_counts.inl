/* Ranks of large boxes of bytes by counting: part of cpu_rank_rows.inl, for keys of one byte.
 *
 * Known as: median filtering in constant time (Perreault and Hébert), after Huang's histograms.
 * Idea: each column that windows reach has counts of its keys, which change by the rows that come and that
 * leave. The counts of a window are the sums over its columns, and change by a column that comes and one that
 * leaves.
 * Adds: a count is of all keys up to one, so that comparing a vector of counts with a rank finds the key.
 * There are two levels of 16 counts: by the first 4 bits and, for each value of these, by the last 4. Of the
 * second level, a window needs only the counts for the first bits of its result; they go on from the last
 * window whose result had the same.
 * Costs: 544 bytes a column; a branch that is hard to foresee where neighbours differ in their first bits.
 * Wins when: a box has so many samples that a network takes longer (cpu_tiling.c). */

#define COUNTED 16

/* For each value of 4 bits of the keys, how many keys have that value or a lesser one. */
typedef int16_t counts __attribute__((vector_size(COUNTED * sizeof(int16_t))));

_Static_assert((COUNTED + 1) * sizeof(counts) == COUNTED_BYTES, "a column's counts");

/* The columns that the windows of a row reach, each with the counts of its keys. */
struct counting {
    counts one[COUNTED]; /* those of a single key */
    counts *first;       /* of each column, by the first bits */
    counts *last;        /* by the last: all columns for each value of the first */
    size_t columns;
};

/* How many comparisons of a vector are true. */
ISA_INLINE unsigned counts_true(const counts *compared)
{
#if defined(__AVX2__)
    return (unsigned)__builtin_popcount((unsigned)_mm256_movemask_epi8((__m256i)*compared)) / sizeof(int16_t);
#else
    unsigned count = 0;

    for (size_t i = 0; i < COUNTED; i++)
        count += (*compared)[i] != 0;
    return count;
#endif
}

static void counts_begin(struct counting *counting)
{
    memset(counting->first, 0, counting->columns * COUNTED_BYTES);
    for (size_t bits = 0; bits < COUNTED; bits++) {
        for (size_t i = 0; i < COUNTED; i++)
            counting->one[bits][i] = i >= bits;
    }
}

/* A row comes into the columns, or leaves them. */
ISA_INLINE void counts_move(const struct counting *counting, bool comes, const int8_t *row)
{
    for (size_t i = 0; i < counting->columns; i++) {
        const unsigned bits = (unsigned)(row[i] - INT8_MIN);
        const counts *ones = counting->one;
        counts *first = counting->first + i;
        counts *last = counting->last + bits / COUNTED * counting->columns + i;
        *first = comes ? *first + ones[bits / COUNTED] : *first - ones[bits / COUNTED];
        *last = comes ? *last + ones[bits % COUNTED] : *last - ones[bits % COUNTED];
    }
}

/* The results of a row, whose columns are counted. */
static void counts_rank_row(const struct counting *counting, const struct ranks *ranks)
{
    const int64_t span = (int64_t)span_of(ranks->op->x), count = ranks->x.end - ranks->x.first;
    const counts none = {0}, rank = (int16_t)ranks->op->rank - none, *arriving = counting->first + span - 1;
    counts window = none, lasts[COUNTED];
    int16_t before[COUNTED + 1] = {0}; /* how many keys have lesser first bits */
    int64_t at[COUNTED];               /* the window that each of `lasts` is of */

    for (size_t i = 0; i < COUNTED; i++)
        at[i] = -span;
    for (int64_t x = 0; x + 1 < span; x++)
        window += counting->first[x];
    for (int64_t x = 0; x < count; x++) {
        const counts *columns = counting->last;
        counts compared, *last;
        unsigned first;

        window += arriving[x];
        compared = window <= rank;
        first = counts_true(&compared);
        memcpy(before + 1, &window, sizeof window);
        columns += first * counting->columns;
        last = &lasts[first];
        if (2 * (x - at[first]) < span) {
            for (int64_t i = at[first]; i < x; i++)
                *last += columns[i + span] - columns[i];
        } else {
            *last = columns[x];
            for (int64_t i = x + 1; i < x + span; i++)
                *last += columns[i];
        }
        at[first] = x;
        compared = *last <= rank - before[first];
        ranks->result[x] = (int8_t)((int)(first * COUNTED + counts_true(&compared)) + INT8_MIN);
        window -= counting->first[x];
    }
}

/* Windows of one plane, or of rows that are planes. */
static void counts_along(const struct ranks *ranks, struct counting *counting, struct span own,
                         int64_t centre)
{
    const int64_t behind = (int64_t)ranks->side - 1 - ranks->before, first = own.first - ranks->before;

    counts_begin(counting);
    for (int64_t at = first; at < own.end + behind; at++) {
        int8_t *row = bytes_row_in_ring(ranks, at, centre);
        if (at >= first + (int64_t)ranks->side)
            counts_move(counting, false, row);
        bytes_fill_along(ranks, at, centre, row);
        counts_move(counting, true, row);
        if (at - behind < own.first)
            continue;
        counts_rank_row(counting, ranks);
        bytes_put_row(ranks, at - behind, centre, ranks->result);
    }
}

/* Rows of the planes that windows reach come into the columns, or leave them. */
static void counts_move_planes(const struct ranks *ranks, const struct counting *counting, bool comes,
                               int64_t row, int64_t plane)
{
    for (size_t i = 0; i < ranks->across; i++) {
        const int8_t *from = bytes_row_in_ring(ranks, row, plane + ranks->aside + (int64_t)i);
        if (comes)
            counts_move(counting, true, from);
        else
            counts_move(counting, false, from);
    }
}

/* Windows of several planes, all of whose rows are in the ring. */
static void counts_plane(const struct ranks *ranks, struct counting *counting, struct span rows,
                         int64_t plane)
{
    const int64_t behind = (int64_t)ranks->side - 1 - ranks->before;

    counts_begin(counting);
    for (int64_t row = rows.first - ranks->before; row < rows.first + behind; row++)
        counts_move_planes(ranks, counting, true, row, plane);
    for (int64_t row = rows.first; row < rows.end; row++) {
        counts_move_planes(ranks, counting, true, row + behind, plane);
        counts_rank_row(counting, ranks);
        bytes_put_row(ranks, row, plane, ranks->result);
        counts_move_planes(ranks, counting, false, row - ranks->before, plane);
    }
}

static void counts_through(const struct ranks *ranks, struct counting *counting, struct span rows,
                           struct span planes)
{
    const int64_t behind = (int64_t)ranks->across - 1 + ranks->aside;

    for (int64_t plane = planes.first + ranks->aside; plane < planes.end + behind; plane++) {
        for (int64_t i = ranks->first_row; i < ranks->first_row + (int64_t)ranks->rows; i++)
            bytes_fill_row(ranks, plane, i, bytes_row_in_ring(ranks, i, plane));
        if (plane - behind >= planes.first)
            counts_plane(ranks, counting, rows, plane - behind);
    }
}

static void counts_part(const struct ranks *ranks, const struct cpu_tiling *tiling, struct span rows,
                        struct span planes)
{
    const struct span others = ranks->along_rows ? planes : rows;
    struct counting counting = {.columns = ranks->width};

    /* Counts are behind all rows of the arena but the last (`row` of ranks). */
    counting.first = (counts *)(ranks->ring + (tiling->slots - 1 - tiling->counts) * ranks->pitch);
    counting.last = counting.first + ranks->width;
    if (ranks->holds_planes)
        counts_through(ranks, &counting, rows, planes);
    for (int64_t centre = others.first; centre < others.end && !ranks->holds_planes; centre++)
        counts_along(ranks, &counting, ranks->along_rows ? rows : planes, centre);
}
