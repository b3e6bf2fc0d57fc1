/* Windows without gaps, one step of them, in the order of the memory: K×K taps of a picture.
 *
 * Known as: direct convolution, register-tiled and fully unrolled; weights in constant memory and uniform
 *   registers.
 *
 * A thread computes a pack of a row and the same columns of some rows below it, and all taps are unrolled.
 * It loads every row that its window reaches once, its own pack and those beside it, which its neighbours
 * load, too: the first-level cache serves them. There is no shared memory and no barrier, and tiles that run
 * together lie together, so that each row comes from memory once.
 *
 * A weight costs an instruction to load, and so does each row; both shall serve many multiply-adds. Small
 * windows take the rows as they come, in groups that share each weight. Larger ones take the window row by
 * row: each weight serves all samples of a thread, whose rows stay in registers until the last of them has
 * passed. Unrolled, that fits into the instruction cache up to 11×11; beyond, it is a loop.
 *
 * The gradient of a picture has the same walk: a sample takes the slopes of the rows around it when the last
 * of them has come.
 *
 * "Down" is the axis along which a thread has several samples: the rows of a picture, or of a volume, or its
 * planes. A line is what the down axis sees of the field: rows of one column. */
#ifndef CUDA_WINDOW_UNROLLED_CUH
#define CUDA_WINDOW_UNROLLED_CUH

#include "cuda_row_ring.cuh"

/* The order in which a thread goes through its multiply-adds: row by row of those that it loads; row by row
 * of the window, unrolled; the same in a loop. */
enum unrolled_order { UNROLLED_BY_ROWS, UNROLLED_BY_TAPS, UNROLLED_BY_TAPS_LOOPING };

/* The shape of a tile: the radii of the window, the samples below each other that a thread computes, the rows
 * that share a weight in UNROLLED_BY_ROWS, the warps of a block, which lie below each other, and how many
 * blocks a multiprocessor should hold. Gradient: samples have lengths instead of sums, and the weights are
 * those of slopes along a row and down. */
template <typename Type, int Across_, int Down_, int Samples_, int Group_, int Warps_, int Blocks_,
          enum unrolled_order Order_ = UNROLLED_BY_ROWS, bool Gradient_ = false>
struct unrolled_form {
    using T = Type;
    static constexpr enum unrolled_order Order = Order_;
    static constexpr bool Gradient = Gradient_;
    static constexpr int Across = Across_, Down = Down_, Samples = Samples_, Group = Group_;
    static constexpr int Warps = Warps_, Blocks = Blocks_;
    static constexpr int Threads = Warps * CUDA_WARP;
    static constexpr int Width = 2 * Across + 1, Height = 2 * Down + 1;
    static constexpr int Stride =
        Order == UNROLLED_BY_ROWS ? Width : Width + 1; /* of weights, loaded in pairs */
    static constexpr int Pack = cuda_pack_of<T>::samples;
    static constexpr int Columns = CUDA_WARP * Pack, Rows = Warps * Samples; /* of a tile */

    /* Packs beside a thread's own, and all columns that it loads. */
    static constexpr int Beside = (Across + Pack - 1) / Pack;
    static constexpr int Before = Beside * Pack;
    static constexpr int Loaded = Before + Pack + Before;

    /* From 10.0 on ptxas wants more registers, and before 9.0 for a loop. */
    static __host__ __device__ constexpr int residents(int code)
    {
        return cuda_residents(code, Threads,
                              code >= 100                                      ? Blocks * 2 / 3
                              : code < 90 && Order == UNROLLED_BY_TAPS_LOOPING ? Blocks - 1
                                                                               : Blocks);
    }

    /* Whether rows may end within a pack, and tiles of bands cover them. Larger windows have no code for
       that: rows of whole packs would be slower with it, and others are faster in strips. */
    static constexpr bool AnyRow = Across <= 2;
    static_assert(!AnyRow || (Order == UNROLLED_BY_ROWS && Beside == 1),
                  "blocks by taps lie inside as a whole, or do not");
    static_assert(!Gradient || (Across == 1 && Down == 1 && Order == UNROLLED_BY_ROWS), "slopes of a cross");
    static bool serves_row(size_t nx)
    {
        return nx >= Loaded && (AnyRow || nx % Pack == 0);
    }
};

/* How the lanes of blocks cover the places of a line, of an AnyRow. The warps of a block lie below each
 * other. Together they are as high as a band of places, of which each lane has a pack of columns. Lanes of a
 * band follow each other from warp to warp, and behind the last one follows the first one of the next band:
 * warps do not end where rows end, so that hardly any lane is idle, however long rows are.
 *
 * The first lane of the first band is in the middle of a warp. So if rows are as long as some warps, both
 * ends of them are in one warp, and the others need nothing of what ends need. */
struct unrolled_bands {
    unsigned across;  /* lanes of a band: even, and so at least 2, for which the factor fits */
    unsigned skipped; /* bands before the first one, whose lanes have nothing to do */
    unsigned tiles;   /* blocks that cover all bands */
    unsigned factor;  /* 2³² / across, rounded up */
};

static inline struct unrolled_bands unrolled_bands_of(long long nx, int pack, long long bands)
{
    struct unrolled_bands all = {};

    all.across = static_cast<unsigned>(cuda_ceil_divide(nx, 2 * pack)) * 2;
    all.skipped = (CUDA_WARP / 2 + all.across - 1) / all.across;
    all.tiles = static_cast<unsigned>(cuda_ceil_divide(CUDA_WARP / 2 + all.across * bands, CUDA_WARP));
    all.factor = static_cast<unsigned>(((1ULL << 32) + all.across - 1) / all.across);
    return all;
}

/* The place of a lane of the block that is number `tile`. Outside the first and the last band there is
   nothing to do, and so behind the last column. */
struct unrolled_place {
    int band, pack;

    CUDA_INLINE unrolled_place(const struct unrolled_bands &bands, unsigned tile, unsigned lane)
    {
        const unsigned number = tile * CUDA_WARP + lane + bands.skipped * bands.across - CUDA_WARP / 2;
        /* At most 1 too large. */
        unsigned quotient =
            static_cast<unsigned>(static_cast<unsigned long long>(number) * bands.factor >> 32);

        quotient -= quotient * bands.across > number ? 1 : 0;
        band = static_cast<int>(quotient) - static_cast<int>(bands.skipped);
        pack = static_cast<int>(number - quotient * bands.across);
    }
};

/* Tiles that cover a line: of an AnyRow, those of bands; of others, some side by side and some below each
 * other. */
struct unrolled_tiles {
    struct unrolled_bands bands;
    unsigned across, down;
};

template <typename Form> static inline struct unrolled_tiles unrolled_tile_up(long long nx, long long places)
{
    const long long down = cuda_ceil_divide(places, static_cast<long long>(Form::Rows));
    struct unrolled_tiles tiles = {};

    tiles.bands = unrolled_bands_of(nx, Form::Pack, down);
    tiles.across = Form::AnyRow
                       ? tiles.bands.tiles
                       : static_cast<unsigned>(cuda_ceil_divide(nx, static_cast<long long>(Form::Columns)));
    tiles.down = Form::AnyRow ? 1 : static_cast<unsigned>(down);
    return tiles;
}

/* A launch has a block for each tile side by side, tile below another, and line: nothing is divided but by
 * powers of 2, and by the packs of a row. */
template <typename Form> struct unrolled_job {
    using T = typename Form::T;

    const T *from;     /* place 0 of the first line */
    T *to;             /* the same */
    long long down;    /* samples from a place to the next */
    long long across;  /* from a line to the next */
    int nx, places;    /* of the grid */
    int first, end;    /* places to compute */
    int channel_lines; /* of one channel, one after the other */
    int channels;
    struct unrolled_bands bands;
    cuda_edge<T> edge;
    T weights[Form::Height * Form::Stride]; /* in raster order */
};

template <typename Form> struct unrolled_tile {
    using T = typename Form::T;
    static constexpr int Across = Form::Across, Down = Form::Down, Samples = Form::Samples;
    static constexpr int Pack = Form::Pack, Before = Form::Before, Loaded = Form::Loaded;
    static constexpr int All = Samples + 2 * Down; /* rows that a thread loads */
    static constexpr int Slots = Samples + 1;      /* of them that it has at a time, by taps */
    /* Turns of the slots that are unrolled: all of them, or none. */
    static constexpr int Turns = Form::Order == UNROLLED_BY_TAPS ? Form::Height : 1;
    /* Packs that a loop over rows keeps: what is done, and what is left of the rows before. */
    static constexpr int Moving = 2 * Down + 1 + Form::Gradient;

    const unrolled_job<Form> &job;
    int x;        /* this thread's first column */
    int begin;    /* its first place */
    bool exists;  /* it has samples */
    bool inside;  /* no thread of the warp, by taps of the block, reads outside the grid or stores less */
    bool between; /* the thread's places are inside, whatever its columns are */
    const T *top; /* what is read first */
    T *target;    /* what is stored first */

    CUDA_INLINE unrolled_tile(const unrolled_job<Form> &job_) : job(job_)
    {
        const int lane = static_cast<int>(threadIdx.x) % CUDA_WARP;
        const int warp = static_cast<int>(threadIdx.x) / CUDA_WARP;
        const int origin = static_cast<int>(blockIdx.x) * Form::Columns;

        if constexpr (Form::AnyRow) {
            const unrolled_place place(job.bands, blockIdx.x, threadIdx.x % CUDA_WARP);
            x = place.pack * Pack;
            begin = job.first + (place.band * Form::Warps + warp) * Samples;
            exists = place.band >= 0 && x < job.nx && begin < job.end;
            between = has_places(begin, Samples);
            inside = !__any_sync(CUDA_ALL_LANES, exists && (!between || is_at_side()));
        } else {
            x = origin + lane * Pack;
            begin = job.first + static_cast<int>(blockIdx.y) * Form::Rows + warp * Samples;
            exists = x < job.nx && begin < job.end;
            inside = Form::Order == UNROLLED_BY_ROWS
                         ? is_inside(origin, Form::Columns, begin, Samples)
                         : is_inside(origin, Form::Columns, begin - warp * Samples, Form::Rows);
            between = inside;
        }
        point();
    }

    CUDA_INLINE void point()
    {
        top = job.from + (blockIdx.z * job.across + (begin - Down) * job.down + x);
        target = job.to + (blockIdx.z * job.across + begin * job.down + x);
    }

    /* The test of a block depends on nothing that its threads differ in: what follows may use the registers
       that threads share. */
    CUDA_INLINE bool is_inside(int column, int columns, int place, int count) const
    {
        return column >= Before && column + columns + Before <= job.nx && has_places(place, count);
    }
    CUDA_INLINE bool has_places(int place, int count) const
    {
        return place >= Down && place + count + Down <= job.places && place + count <= job.end;
    }

    CUDA_INLINE int end() const
    {
        return min(begin + Samples, job.end);
    }

    /* ---- loading ---- */

    CUDA_INLINE T outside() const
    {
        const int channel = static_cast<int>(blockIdx.z) / job.channel_lines % job.channels;

        return job.edge.rule == EDGE_CONSTANT ? job.edge.outside[channel] : T(0);
    }

    /* The place that is read for a place; -1 for none. What only samples behind the last place read is not of
       the field. */
    CUDA_INLINE int source(int place) const
    {
        if (place >= end() + Down)
            return -1;
        return cuda_near_index(job.edge.rule, place, job.places);
    }

    CUDA_INLINE bool is_at_side() const
    {
        return x < Before || x + Pack + Before > job.nx;
    }

    /* The column that is loaded in the place of one that may lie outside. */
    CUDA_INLINE int loaded_column(int column) const
    {
        const int last = (job.nx - 1) / Pack * Pack;

        if (job.edge.rule == EDGE_WRAP && (!Form::AnyRow || job.nx % Pack == 0))
            return column < 0 ? column + job.nx : column > last ? column - job.nx : column;
        return min(max(column, 0), last);
    }

    static CUDA_INLINE void load_pack(const T *from, T *pack)
    {
        cuda_unpack(__ldg(reinterpret_cast<const typename cuda_pack_of<T>::vector *>(from)), pack);
    }

    /* A row, counted from the first one. */
    template <bool Edges> CUDA_INLINE void load(int number, T (&row)[Loaded]) const
    {
        if (Edges) {
            const int from = source(begin - Down + number);
            if (from < 0) {
#pragma unroll
                for (int i = 0; i < Loaded; i++)
                    row[i] = outside();
                return;
            }
            number = from - begin + Down;
        }
        const T *const own = top + number * job.down;
#pragma unroll
        for (int i = 0; i < Loaded; i += Pack) {
            const int column = Edges ? loaded_column(x + i - Before) - x : i - Before;
            load_pack(own + column, row + i);
        }
    }

    /* ---- what lies outside in x ---- */

    /* The grid begins before sample `Edge` of the rows; or, `Ends`, it ends there. */
    template <int Edge, bool Ends, int Count> CUDA_INLINE void fold_side(T (&rows)[Count][Loaded]) const
    {
        constexpr int Begin = Ends ? Edge : 0, End = Ends ? Loaded : Edge;
        constexpr int Nearest = Ends ? Edge - 1 : Edge;

        switch (job.edge.rule) {
        case EDGE_WRAP:
            break;
        case EDGE_REFLECT:
#pragma unroll
            for (int r = 0; r < Count; r++) {
#pragma unroll
                for (int i = Begin; i < End; i++)
                    rows[r][i] = rows[r][2 * Edge - 1 - i];
            }
            break;
        case EDGE_MIRROR:
#pragma unroll
            for (int r = 0; r < Count; r++) {
#pragma unroll
                for (int i = Begin; i < End; i++)
                    rows[r][i] = rows[r][2 * Nearest - i];
            }
            break;
        default:
            const bool repeats = job.edge.rule != EDGE_CONSTANT;
            const T constant = outside();
#pragma unroll
            for (int r = 0; r < Count; r++) {
#pragma unroll
                for (int i = Begin; i < End; i++)
                    rows[r][i] = repeats ? rows[r][Nearest] : constant;
            }
        }
    }

    /* The same for packs that have `Near` columns and more between them and an edge. */
    template <int Near, int Count> CUDA_INLINE void fold(T (&rows)[Count][Loaded]) const
    {
        if constexpr (Near < Before) {
            if (x == Near)
                fold_side<Before - Near, false>(rows);
            if (x == job.nx - Pack - Near)
                fold_side<Before + Pack + Near, true>(rows);
            fold<Near + Pack>(rows);
        }
    }

    template <int Count> CUDA_INLINE void complete(T (&rows)[Count][Loaded]) const
    {
        if (is_at_side())
            fold<0>(rows);
    }

    /* ---- storing ---- */

    CUDA_INLINE bool is_held(int place, int column) const
    {
        return place < Down || place + Down >= job.places || column < Across || column + Across >= job.nx;
    }

    /* A place's samples, counted from the first one. */
    template <bool Edges> CUDA_INLINE void store(int number, T (&sums)[Pack]) const
    {
        T *const row = target + number * job.down;

        if (!Edges) {
            cuda_store_past(true, row, sums);
            return;
        }
        if (job.edge.rule == EDGE_HOLD) {
            T kept[Pack];
            load_pack(top + (number + Down) * job.down, kept);
#pragma unroll
            for (int i = 0; i < Pack; i++)
                sums[i] = is_held(begin + number, x + i) ? kept[i] : sums[i];
        }
        cuda_store_columns<Pack>(row - x, x, x, job.nx, sums);
    }

    /* ---- the taps ---- */

    /* Chain row `number` of those that are loaded to the sums that it takes part in, by row `down` of the
       window, and the rows of its group after it. */
    template <int Group>
    CUDA_INLINE void chain(int number, int down, const T (&rows)[All][Loaded], T (&sums)[Samples][Pack]) const
    {
#pragma unroll
        for (int tap = 0; tap < Form::Width; tap++) {
            const T weight = job.weights[down * Form::Width + tap];
#pragma unroll
            for (int g = 0; g < Group; g++) {
                const int o = number + g - down;
                if (number + g >= All || o < 0 || o >= Samples)
                    continue;
#pragma unroll
                for (int i = 0; i < Pack; i++) {
                    const T value = rows[number + g][Before - Across + tap + i];
                    sums[o][i] = down + tap == 0 ? weight * value : cuda_fma(weight, value, sums[o][i]);
                }
            }
        }
    }

    /* The square of the slope along a row; and the length of the gradient, by that and the rows around. */
    CUDA_INLINE T squared_along(const T (&row)[Loaded], int i) const
    {
        const T slope = (row[Before + i + 1] - row[Before + i - 1]) * job.weights[0];

        return slope * slope;
    }
    CUDA_INLINE T length(T above, T squared, T below) const
    {
        const T slope = (below - above) * job.weights[1];

        return cuda_sqrt(cuda_fma(slope, slope, squared));
    }

    /* Give a group of rows to the samples that they take part in. */
    template <int Group>
    CUDA_INLINE void meet(int number, const T (&rows)[All][Loaded], T (&sums)[Samples][Pack]) const
    {
        if constexpr (Form::Gradient) {
#pragma unroll
            for (int own = number - 1; own < number + Group - 1; own++) {
                if (own < 1 || own + 1 >= All)
                    continue;
#pragma unroll
                for (int i = 0; i < Pack; i++)
                    sums[own - 1][i] = length(rows[own - 1][Before + i], squared_along(rows[own], i),
                                              rows[own + 1][Before + i]);
            }
        } else {
#pragma unroll
            for (int down = 0; down <= 2 * Down; down++)
                chain<Group>(number, down, rows, sums);
        }
    }

    template <int Rows> CUDA_INLINE void load_group(int number, T (&rows)[Rows][Loaded]) const
    {
        constexpr int Group = Form::Order == UNROLLED_BY_ROWS ? Form::Group : Samples;

#pragma unroll
        for (int i = number; i < number + Group && i < Rows; i++)
            load<false>(i, rows[i]);
    }

    /* Unrolled whole. A group is loaded while the one before it is chained. */
    CUDA_INLINE void run_unrolled() const
    {
        constexpr int Group = Form::Group;
        T rows[All][Loaded], sums[Samples][Pack];

        load_group(0, rows);
#pragma unroll
        for (int number = 0; number < All; number += Group) {
            load_group(number + Group, rows);
            meet<Group>(number, rows, sums);
#pragma unroll
            for (int i = number; i < number + Group && i < All; i++) {
                if (i >= 2 * Down)
                    store<false>(i - 2 * Down, sums[i >= 2 * Down ? i - 2 * Down : 0]);
            }
        }
    }

    /* Chain row `down` of the window to sums that lie below each other: what the first of them meets of it is
       in slot `turn`, the others' rows follow. A chain starts at −0: fma(w, v, −0) is the product w·v, its
       sign included. */
    template <int Rows, int Count>
    CUDA_INLINE void chain_taps(int down, int turn, const T (&rows)[Rows][Loaded],
                                T (&sums)[Count][Pack]) const
    {
        const T *const weights = job.weights + down * Form::Stride;

#pragma unroll
        for (int tap = 0; tap < Form::Width; tap++) {
            const T weight = weights[tap];
#pragma unroll
            for (int o = 0; o < Count; o++) {
#pragma unroll
                for (int i = 0; i < Pack; i++)
                    sums[o][i] =
                        cuda_fma(weight, rows[(turn + o) % Rows][Before - Across + tap + i], sums[o][i]);
            }
        }
    }

    /* As many rows of the window as there are slots. Rows stay in their slots, which take turns: the one that
       is no longer needed takes the next row. */
    CUDA_INLINE void take_turn(int first, T (&rows)[Slots][Loaded], T (&sums)[Samples][Pack]) const
    {
#pragma unroll
        for (int turn = 0; turn < Slots; turn++) {
            const int down = first + turn;
            if (down > 2 * Down)
                break;
            if (down < 2 * Down)
                load<false>(down + Samples, rows[(turn + Samples) % Slots]);
            chain_taps(down, turn, rows, sums);
        }
    }

    CUDA_INLINE void run_by_taps() const
    {
        T rows[Slots][Loaded], sums[Samples][Pack];

        load_group(0, rows);
#pragma unroll
        for (int o = 0; o < Samples; o++)
            cuda_fill(sums[o], -T(0));
#pragma unroll Turns
        for (int first = 0; first <= 2 * Down; first += Slots)
            take_turn(first, rows, sums);
#pragma unroll
        for (int o = 0; o < Samples; o++)
            store<false>(o, sums[o]);
    }

    /* The same at edges, sample by sample. */
    CUDA_INLINE void run_at_edges() const
    {
#pragma unroll 1
        for (int o = 0; o < end() - begin; o++) {
            T row[1][Loaded], sums[1][Pack];
            cuda_fill(sums[0], -T(0));
#pragma unroll 1
            for (int down = 0; down <= 2 * Down; down++) {
                load<true>(o + down, row[0]);
                complete(row);
                chain_taps(down, 0, row, sums);
            }
            store<true>(o, sums[0]);
        }
    }

    /* Chain a row to the sums of all rows that it takes part in: those of row j move to place j from the one
       after it. */
    CUDA_INLINE void chain_moving(const T (&row)[Loaded], T (&sums)[Moving][Pack]) const
    {
#pragma unroll
        for (int j = 0; j <= 2 * Down; j++) {
            const int down = 2 * Down - j;
#pragma unroll
            for (int tap = 0; tap < Form::Width; tap++) {
                const T weight = job.weights[down * Form::Width + tap];
#pragma unroll
                for (int i = 0; i < Pack; i++) {
                    const T value = row[Before - Across + tap + i];
                    const T sum = tap > 0 ? sums[j][i] : sums[j < 2 * Down ? j + 1 : j][i];
                    sums[j][i] = down + tap == 0 ? weight * value : cuda_fma(weight, value, sum);
                }
            }
        }
    }

    /* The same for a gradient. Behind what is done stand the two rows before, and the squares of the last
     * one. */
    CUDA_INLINE void slope_moving(const T (&row)[Loaded], T (&kept)[Moving][Pack]) const
    {
#pragma unroll
        for (int i = 0; i < Pack; i++) {
            kept[0][i] = length(kept[1][i], kept[3][i], row[Before + i]);
            kept[1][i] = kept[2][i];
            kept[2][i] = row[Before + i];
            kept[3][i] = squared_along(row, i);
        }
    }

    /* What the edge rule puts into the columns beside the grid. Of an AnyRow, threads at the sides load it by
       itself, and put it where it belongs: rows may end within a pack. */
    struct outer_columns {
        int sources[Across]; /* from the edge on; below 0 they are nowhere in the grid */
        T constant;
    };
    CUDA_INLINE outer_columns find_beside() const
    {
        outer_columns columns = {{}, outside()};

#pragma unroll
        for (int k = 0; k < Across; k++)
            columns.sources[k] = cuda_near_index(job.edge.rule, x < Before ? -1 - k : job.nx + k, job.nx);
        return columns;
    }
    CUDA_INLINE void load_beside(const outer_columns &columns, int number, T (&beside)[Across]) const
    {
        const int from = source(begin - Down + number);
        const T *const own = top + (from - begin + Down) * job.down - x;

#pragma unroll
        for (int k = 0; k < Across; k++)
            beside[k] = from < 0 || columns.sources[k] < 0 ? columns.constant : own[columns.sources[k]];
    }
    CUDA_INLINE void put_beside(const T (&beside)[Across], T (&row)[Loaded]) const
    {
        const int behind = job.nx - x + Before; /* of the row, the first column behind the grid */

        if (x < Before) {
#pragma unroll
            for (int k = 0; k < Across; k++)
                row[Before - 1 - k] = beside[k];
            return;
        }
#pragma unroll
        for (int i = Before + 1; i < Before + Pack + Across; i++) {
#pragma unroll
            for (int k = 0; k < Across; k++)
                row[i] = i == behind + k ? beside[k] : row[i];
        }
    }

    /* Unrolled like run_unrolled, for warps with threads at the sides, whose places are inside. Registers do
       not suffice to load a row ahead: rows come into L2 ahead, and other warps compute meanwhile. */
    CUDA_INLINE void run_between() const
    {
        const outer_columns columns = find_beside();
        const T *own = top;
        T rows[All][Loaded], sums[Samples][Pack];

#pragma unroll
        for (int number = 0; number < All; number++) {
            load_between(columns, own, rows[number]);
            own += job.down;
            cuda_launder(&own); /* addresses of all rows together would take too many registers */
            if (number + 1 < All)
                cuda_prefetch(own);
            meet<1>(number, rows, sums);
            if (number >= 2 * Down)
                store<true>(number - 2 * Down, sums[number >= 2 * Down ? number - 2 * Down : 0]);
        }
    }
    CUDA_INLINE void load_between(const outer_columns &columns, const T *own, T (&row)[Loaded]) const
    {
        load_pack(own - (x >= Pack ? Pack : 0), row);
        load_pack(own, row + Before);
        load_pack(own + (x + Pack < job.nx ? Pack : 0), row + Before + Pack);
        if (is_at_side()) {
            T beside[Across];
#pragma unroll
            for (int k = 0; k < Across; k++)
                beside[k] = columns.sources[k] < 0 ? columns.constant : own[columns.sources[k] - x];
            put_beside(beside, row);
        }
    }

    /* Row by row, in a loop. Instructions that hardly any warp runs come from memory, too: unrolled, tiles at
       the edges of large windows take ten times as long as those inside. */
    CUDA_INLINE void run_rolled() const
    {
        const int rows = end() - begin + 2 * Down;
        const bool aside = Form::AnyRow && is_at_side();
        T row[1][Loaded], next[Loaded], beside[Across] = {}, sums[Moving][Pack] = {};
        outer_columns columns = {};

        load<true>(0, next);
        if (aside) {
            columns = find_beside();
            load_beside(columns, 0, beside);
        }
#pragma unroll 1
        for (int number = 0; number < rows; number++) {
            cuda_copy(row[0], next);
            if (aside)
                put_beside(beside, row[0]);
            load<true>(number + 1, next);
            if (aside)
                load_beside(columns, number + 1, beside);
            if (!Form::AnyRow)
                complete(row);
            if constexpr (Form::Gradient)
                slope_moving(row[0], sums);
            else
                chain_moving(row[0], sums);
            if (number >= 2 * Down)
                store<true>(number - 2 * Down, sums[0]);
        }
    }
};

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, Form::residents(cuda_code()))
    unrolled_kernel(const __grid_constant__ unrolled_job<Form> job)
{
    const unrolled_tile<Form> tile(job);

    if constexpr (Form::Order != UNROLLED_BY_ROWS) {
        if (tile.inside)
            tile.run_by_taps();
        else if (tile.x < job.nx)
            tile.run_at_edges();
        return;
    }
    if (!tile.exists)
        return;
    if (tile.inside)
        tile.run_unrolled();
    else if (Form::AnyRow && tile.between)
        tile.run_between();
    else
        tile.run_rolled();
}

/* ---- the host ---- */

/* Along which axis of a field threads have several samples. */
enum unrolled_axis { UNROLLED_ROWS, UNROLLED_PLANES };

/* Places and lines of so many planes of a shape. */
static inline long long unrolled_places(const struct shape *shape, long long planes, enum unrolled_axis axis)
{
    return axis == UNROLLED_ROWS ? static_cast<long long>(shape->rows) : planes;
}
static inline long long unrolled_lines(const struct shape *shape, long long planes, enum unrolled_axis axis)
{
    return shape->channels * (axis == UNROLLED_ROWS ? planes : static_cast<long long>(shape->rows));
}

/* Whether a form serves a shape: its rows, and that a launch may have so many blocks. */
template <typename Form>
static inline bool unrolled_serves(const struct shape *shape, enum unrolled_axis axis)
{
    const long long most = 65535, planes = static_cast<long long>(shape->planes);
    const long long packs = cuda_ceil_divide(static_cast<long long>(shape->nx), Form::Pack);

    return Form::serves_row(shape->nx) &&
           packs * cuda_ceil_divide(unrolled_places(shape, planes, axis), Form::Rows) <= INT32_MAX / 2 &&
           unrolled_tile_up<Form>(static_cast<long long>(shape->nx), unrolled_places(shape, planes, axis))
                   .down <= most &&
           unrolled_lines(shape, planes, axis) <= most;
}

/* What the launch of a form over a whole grid looks like. */
template <typename Form>
static inline void unrolled_describe(const struct cuda_question *asked, enum unrolled_axis axis,
                                     struct cuda_form *form)
{
    const struct shape *shape = asked->shape;
    const long long planes = static_cast<long long>(shape->planes);
    const struct unrolled_tiles tiles =
        unrolled_tile_up<Form>(static_cast<long long>(shape->nx), unrolled_places(shape, planes, axis));

    form->tile_x = Form::Columns;
    form->tile_y = Form::Rows;
    form->coarsen = Form::Samples;
    form->block = dim3(Form::Threads);
    form->grid = dim3(tiles.across, tiles.down, static_cast<unsigned>(unrolled_lines(shape, planes, axis)));
    form->kernel = reinterpret_cast<const void *>(&unrolled_kernel<Form>);
    form->bytes_per_update = 2.0 * sizeof(typename Form::T);
    form->operations_per_update = cuda_operations(asked->op);
}

template <typename Form>
static inline cudaError_t unrolled_launch(const struct cuda_job *from, enum unrolled_axis axis)
{
    using T = typename Form::T;
    const struct op *op = from->op->op;
    const cuda_view<T> &source = *static_cast<const cuda_view<T> *>(from->from);
    const cuda_view<T> &target = *static_cast<const cuda_view<T> *>(from->to);
    const int first = static_cast<int>(from->planes.first), count = static_cast<int>(from->planes.count);
    const bool by_rows = axis == UNROLLED_ROWS;
    const auto kernel = unrolled_kernel<Form>;
    unrolled_job<Form> job = unrolled_job<Form>();

    if (count == 0)
        return cudaSuccess;
    job.from = source.row(by_rows ? first : 0, 0, 0);
    job.to = target.row(by_rows ? first : 0, 0, 0);
    job.down = by_rows ? source.pitch : source.plane_stride();
    job.across = by_rows ? source.pitch * source.rows : source.pitch;
    job.nx = source.nx;
    job.places = by_rows ? source.rows : static_cast<int>(source.planes);
    job.first = by_rows ? 0 : first;
    job.end = by_rows ? source.rows : first + count;
    job.channel_lines = by_rows ? 1 : source.rows;
    job.channels = source.channels;
    const struct unrolled_tiles tiles = unrolled_tile_up<Form>(job.nx, job.end - job.first);
    job.bands = tiles.bands;
    job.edge = cuda_edge_of<T>(from->op);
    for (size_t k = 0; k < op->tap_count; k++)
        job.weights[k / Form::Width * Form::Stride + k % Form::Width] = static_cast<T>(op->taps[k].weight);
    const long long lines = source.channels * static_cast<long long>(by_rows ? count : source.rows);
    return CUDA_LAUNCH(from->stream, dim3(tiles.across, tiles.down, static_cast<unsigned>(lines)),
                       dim3(Form::Threads), 0, kernel, job);
}

#endif
