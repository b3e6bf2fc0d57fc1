/* Ranks of large boxes of bytes by counting.
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
    counts one[COUNTED]; /* those of a single key, by its first bits and by its last */
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

/* Counts at a place of an arena, for windows that reach so many columns. */
static struct counting counting_at(void *place, size_t columns)
{
    struct counting counting = {.first = place, .last = (counts *)place + columns, .columns = columns};

    for (size_t bits = 0; bits < COUNTED; bits++) {
        for (size_t i = 0; i < COUNTED; i++)
            counting.one[bits][i] = i >= bits;
    }
    return counting;
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

/* The samples of a rank in windows side by side, of `span` of the counted columns each. */
static void counts_rank_row(const struct counting *counting, int64_t span, size_t wanted, int64_t count,
                            int8_t *out)
{
    const counts none = {0}, rank = (int16_t)wanted - none, *arriving = counting->first + span - 1;
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
        out[x] = (int8_t)((int)(first * COUNTED + counts_true(&compared)) + INT8_MIN);
        window -= counting->first[x];
    }
}
