/* Rung `blocked` where one sample of a window is taken by its rank.
 *
 * Known as: rank-order filter; sorting networks with columns sorted once; van Herk/Gil-Werman.
 * Idea: rows become whole numbers of the same order as their samples, once each, in a ring of the rows that
 *   windows reach. Vectors of windows side by side then go through one sorting network, without a branch. A
 *   part whose samples are all whole numbers of 16 bits, whatever their type, has vectors of these, which
 *   hold two or four times as many.
 * Adds: a box's columns are sorted once, for all windows that they are in; their merge leaves out what cannot
 *   be of the rank. The medians of 3 x 3 and 3 x 3 x 3 stay in registers. Extremes along the planes or rows
 *   take three comparisons a sample, whatever the radius; along x, three for each time that runs of samples
 *   become four times as long, in four rows at once.
 * Costs: more than NETWORK_TAPS samples are bisected: each round counts all of them up to the middle of what
 *   is left. In wide boxes of narrow samples of two bytes, a histogram counts each once as it comes and once
 *   as it leaves. A part is begun anew when it turns out to have a sample that is not a whole number. Windows
 *   of which samples are missing have ranks of their own, which takes a network once more.
 * Traffic per sample: 2 words through memory.
 * Wins when: the operation is a rank and a thread has room for the rows; else naive serves it. */

/* Vectors that go through a network together, so that one does not wait for another. */
#define NETWORK_VECTORS 2

/* How many runs of samples are joined at a time to a longer one. */
#define RUNS 4

/* While a row is read, the one that is so many rows ahead is fetched. */
#define ROWS_AHEAD 8

/* Exchanges of a network for the most taps: those of Batcher's sort. */
#define NETWORK_EXCHANGES 1472

/* A sorting network: exchanges put the lesser of two places first. */
struct network {
    size_t inputs, count;
    uint8_t first[NETWORK_EXCHANGES], second[NETWORK_EXCHANGES];
    uint8_t sorted[NETWORK_TAPS]; /* the places in order, when all exchanges are done */
};

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
    uint8_t places[NETWORK_TAPS] = {0};

    *network = (struct network){.inputs = inputs};
    for (size_t i = 0; i < inputs; i++)
        places[i] = (uint8_t)i;
    sort_places(network, places, inputs, sorted, network->sorted);
}

/* ---- medians of 3 x 3 and 3 x 3 x 3 ---- */

#define SIDE_OF_THREE 3
#define FACE_OF_THREE 9

/* A network that sorts nine. */
static const uint8_t sort_of_nine[][2] = {
    {0, 3}, {1, 7}, {2, 5}, {4, 8}, {0, 7}, {2, 4}, {3, 8}, {5, 6}, {0, 2}, {1, 3}, {4, 5}, {7, 8}, {1, 4},
    {3, 6}, {5, 7}, {0, 1}, {2, 4}, {3, 5}, {6, 8}, {2, 3}, {4, 5}, {6, 7}, {1, 2}, {3, 4}, {5, 6}};

/* One that merges four and four. */
static const uint8_t merge_of_fours[][2] = {{0, 4}, {1, 5}, {2, 6}, {3, 7}, {2, 4},
                                            {3, 5}, {1, 2}, {3, 4}, {5, 6}};

/* ---- large boxes of narrow samples of two bytes ---- */

/* How many samples of a window have each key, and how many have one of 16 or of 256 neighbouring keys
   (Huang's histogram). From one window to the next, one column comes and one leaves. */
struct histogram {
    uint16_t keys[1 << 16], sixteens[1 << 12], pages[1 << 8];
};

_Static_assert(sizeof(struct histogram) == HISTOGRAM_BYTES, "a histogram's place in an arena");

/* Where a key is counted. */
ISA_INLINE unsigned histogram_place(int16_t key)
{
    return (unsigned)(key - INT16_MIN);
}

ISA_INLINE void histogram_move(struct histogram *histogram, unsigned place, bool comes)
{
    const uint16_t by = comes ? 1 : UINT16_MAX;

    histogram->keys[place] = (uint16_t)(histogram->keys[place] + by);
    histogram->sixteens[place >> 4] = (uint16_t)(histogram->sixteens[place >> 4] + by);
    histogram->pages[place >> 8] = (uint16_t)(histogram->pages[place >> 8] + by);
}

static void histogram_move_columns(struct histogram *histogram, const int16_t *const *rows, size_t list,
                                   struct span columns, bool comes)
{
    for (size_t i = 0; i < list; i++) {
        for (int64_t x = columns.first; x < columns.end; x++)
            histogram_move(histogram, histogram_place(rows[i][x]), comes);
    }
}

/* Find the sample of a rank in each window of a row; `rows` are the rows that windows read. The histogram is
   empty before and after. The search begins in the page of the sample before, where the next one often is. A
   few samples that leave are compared with those that come; if all are equal, as on an even background, none
   is counted. */
static void histogram_rank_row(struct histogram *histogram, const int16_t *const *rows, size_t list,
                               int64_t span, size_t rank, int64_t count, int16_t *out)
{
    size_t before = 0; /* samples of lesser pages */
    unsigned page = 0;

    histogram_move_columns(histogram, rows, list, (struct span){0, span}, true);
    for (int64_t x = 0; x < count; x++) {
        size_t lesser, end;
        unsigned place;
        for (size_t i = 0; i < list && x > 0; i = end) {
            bool changes = false;
            end = size_least(i + RUNS, list);
            for (size_t k = i; k < end; k++)
                changes |= rows[k][x - 1] != rows[k][x - 1 + span];
            for (size_t k = i; k < end && changes; k++) {
                const unsigned leaves = histogram_place(rows[k][x - 1]),
                               comes = histogram_place(rows[k][x - 1 + span]);
                histogram_move(histogram, leaves, false);
                histogram_move(histogram, comes, true);
                before += (size_t)(comes >> 8 < page) - (size_t)(leaves >> 8 < page);
            }
        }
        while (before > rank)
            before -= histogram->pages[--page];
        while (before + histogram->pages[page] <= rank)
            before += histogram->pages[page++];
        lesser = before;
        place = page << 4;
        while (lesser + histogram->sixteens[place] <= rank)
            lesser += histogram->sixteens[place++];
        place <<= 4;
        while (lesser + histogram->keys[place] <= rank)
            lesser += histogram->keys[place++];
        out[x] = (int16_t)((int)place + INT16_MIN);
    }
    histogram_move_columns(histogram, rows, list, (struct span){count - 1, count - 1 + span}, false);
}

/* ---- rows, as orders, as shorts and as bytes ---- */

#define KEYS(name)   CPU_JOIN(orders, name)
#define KEYS_MISSING ORDERS_MISSING
#include "cpu_rank_rows.inl"
#define KEYS(name)   CPU_JOIN(shorts, name)
#define KEYS_MISSING SHORTS_MISSING
#define KEYS_COUNTED
#include "cpu_rank_rows.inl"
#if OF_WORK(CPU_NARROW)
#include "cpu_rank_counts.inl"
#define KEYS(name)   CPU_JOIN(bytes, name)
#define KEYS_MISSING INT8_MAX
#define KEYS_NARROW
#include "cpu_rank_rows.inl"
#endif

/* The bias of shorts that have no sign. */
#define SHORTS_BIAS ((real)0x8000)

static void rank_part(const struct cpu_sweep *sweep, struct range channels, const struct axis *axes,
                      char *arena)
{
    const struct op *op = sweep->op;
    size_t list = span_of(op->row) * span_of(op->plane);
    struct network columns = {.inputs = 0}, windows = {.inputs = 0};
    bool done = false;

    if (!op_takes_extreme(op) && op->tap_count <= NETWORK_TAPS && sweep->tiling->counts == 0) {
        bool is_box = op->tap_count == list * span_of(op->x);
        make_network(&windows, op->tap_count, is_box ? list : 1);
        prune(&windows, op->rank);
        if (is_box)
            make_network(&columns, list, 1);
    }
#if OF_WORK(CPU_NARROW)
    if (sweep->tiling->sample == sizeof(bytes_key)) {
        bytes_rank(sweep, channels, axes, (real)0, &columns, &windows, arena);
        return;
    }
#endif
    /* Numbers without a sign are more frequent. Bisection counts samples in shorts, too. */
    for (int sign = 0; sign < 2 && !done && op->tap_count <= INT16_MAX; sign++)
        done =
            shorts_rank(sweep, channels, axes, sign == 0 ? SHORTS_BIAS : (real)0, &columns, &windows, arena);
    if (!done)
        orders_rank(sweep, channels, axes, (real)0, &columns, &windows, arena);
}
