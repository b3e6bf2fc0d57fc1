/* The walk of rung `fused` for the full star of radius 2: a block streams along the planes of a volume and
 * takes every sample of its tile through several levels on the way. cuda_tma_walk.cuh has what it shares
 * with other walks: tiles, boxes, and the three loops over the planes. cuda_fused.cu calls it.
 *
 * Known as: temporal blocking of a high-order stencil; TMA multistage pipeline with mbarriers.
 *
 * It is the walk of cuda_fused_star1.cu with two planes more in reach. When plane a arrives at a level, row
 * by row
 *
 * - the fold gives the taps of plane a − 1 itself to its sums, which have the two planes before;
 * - the cascade ends the chain of plane a − 2, whose sample arrives at the next level, gives plane a its tap
 *   in the sums of plane a − 1, and begins those of plane a with the two planes before it.
 *
 * So a level keeps four registers a sample: its last two planes, the sums that wait for one plane more, and
 * those that wait for three. Level 0 has its planes in the stages, too, from which it begins its sums when
 * they are needed, and not before: that leaves enough registers for a loop without spills.
 *
 * A warp first computes its two first and its two last rows and puts them where its neighbours read them;
 * then it arrives at the barrier, and computes its inner rows before it waits there at the next plane. So
 * nobody waits as long as inner rows take longer than the slowest warp's outer rows. The exchange has two
 * halves, used in turn.
 *
 * In rows, edges of the grid are edges of a tile: the rows outside are put into shared memory before a step
 * (`rim`). In x they are selected as a row is widened, and at the ends of the planes other planes take the
 * missing ones' places. */
#include "cuda_tma_walk.cuh"

#define STAR2_TAPS 13

template <typename Form> struct star2_walk;

/* Stages that inner rows of a slow warp still read while others are a step ahead: from the plane three before
   to their own. With four rows there are no inner ones. */
static constexpr int star2_readers_behind(int rows)
{
    return rows > 4 ? 4 : 3;
}

template <typename Type, int Rows_, int Warps_, int FusedSteps_>
struct star2_form : tma_form<Type, STAR2_TAPS, 2, Rows_, Warps_, FusedSteps_, 2 * FusedSteps_,
                             star2_readers_behind(Rows_)> {
    using base = tma_form<Type, STAR2_TAPS, 2, Rows_, Warps_, FusedSteps_, 2 * FusedSteps_,
                          star2_readers_behind(Rows_)>;
    using typename base::T;

    /* The exchange: the two last rows of a warp and the two first of the next one, for each pair of warps and
       each level but 0. */
    static constexpr int BorderSamples = 4 * base::Width;
    static constexpr int ExchangeSamples = BorderSamples * (Warps_ - 1) * (FusedSteps_ - 1);
    /* Two rows outside the grid above it and two below, for each level but 0, which has them in the stage. */
    static constexpr int RimSamples = 4 * (FusedSteps_ - 1) * base::Width;
    static constexpr size_t SharedBytes = base::WalkBytes + (2 * ExchangeSamples + RimSamples) * sizeof(T);

    static constexpr bool PlacementInShared = sizeof(T) == sizeof(float);

    static_assert(Rows_ >= 4, "the two first rows are not the two last");

    using walk = star2_walk<star2_form>;
};

template <typename Form> struct star2_walk : tma_walk<Form> {
    using base = tma_walk<Form>;
    using base::clear, base::stage_after;
    using base::job, base::lane, base::warp, base::now, base::stage;
    using base::placement;
    using typename base::pack;
    using typename base::T;
    static constexpr int Pack = Form::Pack, Rows = Form::Rows, FusedSteps = Form::FusedSteps;
    using planes = pack[FusedSteps][Rows]; /* of each level */
    using wide_row = T[Pack + 4];          /* a row with two neighbours on either side */

    T *const exchange, *const rim;
    planes one, other; /* the two last planes of each level; turns swap them */
    planes waiting;    /* sums that lack one plane */
    planes begun_sums; /* sums that lack three; level 0 has none */

    CUDA_INLINE star2_walk(const typename Form::job &job_, T *shared)
        : base(job_, shared), exchange(base::rest(shared)), rim(exchange + 2 * Form::ExchangeSamples)
    {
        clear(one);
        clear(other);
        clear(waiting);
        clear(begun_sums);
    }

    CUDA_INLINE bool reflects() const
    {
        return job.rule == TMA_REFLECT;
    }

    /* Samples two outside the grid: those next to the outermost ones, or the outermost ones. Sample by
       sample, since a choice between arrays would put both into memory. */
    CUDA_INLINE void reflect(pack &to, const pack &next, const pack &outermost) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            to[j] = reflects() ? next[j] : outermost[j];
    }

    /* ---- rows of other warps ---- */

    /* This lane's packs in the exchange of the pair of warps that this one makes with the warp before it, or
       with the next: the upper warp's two last rows and the lower warp's two first ones, a Width apart. A
       warp without such a neighbour reads another pair's: its rows are at the tile's border, and come out
       wrong in any case. */
    CUDA_INLINE T *border_before(int turn, int level) const
    {
        return border(turn, level, max(warp - 1, 0));
    }
    CUDA_INLINE T *border_behind(int turn, int level) const
    {
        return border(turn, level, min(warp, Form::Warps - 2));
    }
    CUDA_INLINE T *border(int turn, int level, int pair) const
    {
        return exchange + turn * Form::ExchangeSamples +
               ((level - 1) * (Form::Warps - 1) + pair) * Form::BorderSamples + lane * Pack;
    }

    /* In the planes that the last step brought: the row one or two (`distance`) above the thread's first, or
       below its last one. `before`: this thread's first pack of the stage of that step. */
    CUDA_INLINE const T *row_above(int l, int distance, const T *before, int turn) const
    {
        return l == 0 ? before - (warp > 0 ? distance : 0) * Form::Pitch
                      : border_before(1 - turn, l) + (2 - distance) * Form::Width;
    }
    CUDA_INLINE const T *row_below(int l, int distance, const T *before, int turn) const
    {
        return l == 0 ? before + (Rows - 1 + (warp < Form::Warps - 1 ? distance : 0)) * Form::Pitch
                      : border_behind(1 - turn, l) + (1 + distance) * Form::Width;
    }

    /* Put row r, one of the two first or the two last of the warp, into the exchange. */
    CUDA_INLINE void publish(int r, const planes &fresh, int turn) const
    {
#pragma unroll
        for (int l = 1; l < FusedSteps; l++) {
            if (r < 2 && warp > 0)
                cuda_put(border_before(turn, l) + (2 + r) * Form::Width, fresh[l][r]);
            if (r >= Rows - 2 && warp < Form::Warps - 1)
                cuda_put(border_behind(turn, l) + (r - (Rows - 2)) * Form::Width, fresh[l][r]);
        }
    }

    /* ---- edges ---- */

    /* This lane's packs of the rows outside the grid, one or two away: no other thread reads them. */
    CUDA_INLINE T *rim_row(int l, int distance, bool below) const
    {
        return rim + (4 * (l - 1) + (below ? 2 : 0) + distance - 1) * Form::Width + lane * Pack;
    }

    /* The distance inside the grid of the row that the edge rule puts at a distance outside. */
    CUDA_INLINE int inwards(int distance) const
    {
        return reflects() ? distance - 1 : 0;
    }

    /* As row_above and row_below, but at the grid's edges the rows outside. */
    CUDA_INLINE const T *side_above(int l, int distance, const T *before, int turn) const
    {
        return !base::at_edge(TMA_TOP) ? row_above(l, distance, before, turn)
               : l > 0                 ? rim_row(l, distance, false)
                                       : before + inwards(distance) * Form::Pitch;
    }
    CUDA_INLINE const T *side_below(int l, int distance, const T *before, int turn) const
    {
        return !base::at_edge(TMA_BOTTOM) ? row_below(l, distance, before, turn)
               : l > 0                    ? rim_row(l, distance, true)
                                          : before + (Rows - 1 - inwards(distance)) * Form::Pitch;
    }

    /* Put the rows just outside the grid, in the planes that the last step brought. */
    CUDA_INLINE void dress(const planes &newer) const
    {
#pragma unroll
        for (int l = 1; l < FusedSteps; l++) {
            if (base::at_edge(TMA_TOP))
                dress_side(l, false, newer[l][0], newer[l][1]);
            if (base::at_edge(TMA_BOTTOM))
                dress_side(l, true, newer[l][Rows - 1], newer[l][Rows - 2]);
        }
    }
    CUDA_INLINE void dress_side(int l, bool below, const pack &outermost, const pack &next) const
    {
        pack farther;

        reflect(farther, next, outermost);
        cuda_put(rim_row(l, 1, below), outermost);
        cuda_put(rim_row(l, 2, below), farther);
    }

    /* ---- the chain ---- */

    template <enum tma_edges Edges>
    CUDA_INLINE void widen(wide_row &wide, const pack &row, unsigned seen) const
    {
        cuda_copy(reinterpret_cast<pack &>(wide[2]), row);
#pragma unroll
        for (int k = 0; k < 2; k++) {
            wide[k] = __shfl_up_sync(CUDA_ALL_LANES, row[Pack - 2 + k], 1);
            wide[Pack + 2 + k] = __shfl_down_sync(CUDA_ALL_LANES, row[k], 1);
        }
        if (Edges == TMA_INSIDE)
            return;
        const bool first = (seen & TMA_FIRST) != 0, last = (seen & TMA_LAST << (Pack - 1)) != 0;
        wide[1] = first ? row[0] : wide[1];
        wide[0] = first ? (reflects() ? row[1] : row[0]) : wide[0];
        wide[Pack + 2] = last ? row[Pack - 1] : wide[Pack + 2];
        wide[Pack + 3] = last ? (reflects() ? row[Pack - 2] : row[Pack - 1]) : wide[Pack + 3];
    }

    /* The chain's two first taps, two planes before and one plane before. */
    CUDA_INLINE void begin(pack &sum, const pack &farther, const pack &nearer) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            sum[j] = cuda_fma(job.weights[1], nearer[j], job.weights[0] * farther[j]);
    }
    CUDA_INLINE void add(pack &sum, int tap, const pack &row) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            sum[j] = cuda_fma(job.weights[tap], row[j], sum[j]);
    }

    /* The taps of the sums' own plane; `rows` are two above, the row, and two below. */
    template <enum tma_edges Edges>
    CUDA_INLINE void fold(pack &sum, const pack (&rows)[5], unsigned seen) const
    {
        wide_row wide;

        widen<Edges>(wide, rows[2], seen);
        add(sum, 2, rows[0]);
        add(sum, 3, rows[1]);
#pragma unroll
        for (int k = 0; k < 5; k++) {
#pragma unroll
            for (int j = 0; j < Pack; j++)
                sum[j] = cuda_fma(job.weights[4 + k], wide[j + k], sum[j]);
        }
        add(sum, 9, rows[3]);
        add(sum, 10, rows[4]);
    }

    /* Row `at` of a level's newer plane, counted from the thread's first: its own, another warp's, or outside
     * the grid. */
    template <enum tma_edges Edges, int Turn>
    CUDA_INLINE void find_row(int l, int at, pack &row, const pack (&level)[Rows], const T *before) const
    {
        if (at < 0)
            cuda_load_packs<Pack>(Edges == TMA_INSIDE ? row_above(l, -at, before, Turn)
                                                      : side_above(l, -at, before, Turn),
                                  row);
        else if (at >= Rows)
            cuda_load_packs<Pack>(Edges == TMA_INSIDE ? row_below(l, at - (Rows - 1), before, Turn)
                                                      : side_below(l, at - (Rows - 1), before, Turn),
                                  row);
        else
            cuda_copy(row, level[at >= 0 && at < Rows ? at : 0]);
    }

    /* Add the taps of the sums' own plane to a row's sums, whose two first taps are there. */
    template <enum tma_edges Edges, int Turn>
    CUDA_INLINE void fold_level(int l, int r, pack &sum, const planes &newer, const T *before,
                                unsigned seen) const
    {
        pack rows[5];

#pragma unroll
        for (int k = 0; k < 5; k++)
            find_row<Edges, Turn>(l, r + k - 2, rows[k], newer[l], before);
        fold<Edges>(sum, rows, seen);
    }

    /* ---- a row through all levels ---- */

    /* The beginning of the sums of the last plane; level 0 makes it now, from the plane three ago. */
    CUDA_INLINE void begun_of(int l, int r, pack &sum, const planes &older, const T *three_ago) const
    {
        pack farther;

        if (l > 0) {
            cuda_copy(sum, begun_sums[l][r]);
            return;
        }
        cuda_load_packs<Pack>(three_ago + r * Form::Pitch, farther);
        begin(sum, farther, older[0][r]);
    }

    /* `value` arrives at a level, and becomes the row that this finishes; `sum` lacks the two taps past its
     * own plane. */
    CUDA_INLINE void close_level(int l, int r, pack &value, pack &sum, planes &older, const planes &newer)
    {
        pack done;

        cuda_copy(done, waiting[l][r]);
        add(done, 12, value);
        add(sum, 11, value);
        cuda_copy(waiting[l][r], sum);
        if (l > 0)
            begin(begun_sums[l][r], older[l][r], newer[l][r]);
        cuda_copy(older[l][r], value);
        cuda_copy(value, done);
    }

    /* A row through all levels. All folds come first: they read the planes of the last step, before the
     * levels change. */
    template <enum tma_edges Edges, int Turn>
    CUDA_INLINE void take_levels(int r, planes &older, const planes &newer, const T *before,
                                 const T *three_ago, pack &value)
    {
        const unsigned seen = base::edge_bits_anew();
        pack sums[FusedSteps];

#pragma unroll
        for (int l = FusedSteps - 1; l >= 0; l--) {
            begun_of(l, r, sums[l], older, three_ago);
            fold_level<Edges, Turn>(l, r, sums[l], newer, before, seen);
        }
#pragma unroll
        for (int l = 0; l < FusedSteps; l++) {
            pack held;
            cuda_copy(held, older[l][r]);
            close_level(l, r, value, sums[l], older, newer);
            if (Edges != TMA_INSIDE && job.hold) {
                cuda_keep_branch();
                hold(r, value, held, seen);
            }
        }
    }

    /* The same at the ends of the grid, where planes that are kept take the places of those outside. Planes
       that a level has behind them do not count. */
    template <int Turn>
    CUDA_INLINE void take_ends(int r, planes &older, const planes &newer, const T *before, const T *three_ago,
                               pack &value)
    {
        const unsigned seen = base::edge_bits_anew();

#pragma unroll
        for (int l = 0; l < FusedSteps; l++) {
            const int arrived = now - 2 * l;
            pack sum, held, kept;
            if (arrived == placement().last_step + 2)
                cuda_copy(value, newer[l][r]);
            begun_of(l, r, sum, older, three_ago);
            if (arrived - 1 == placement().first_step)
                begin_first(sum, older[l][r], newer[l][r], value);
            if (l == 0 && arrived - 2 == placement().first_step)
                begin(sum, older[l][r], older[l][r]);
            fold_level<TMA_ENDS, Turn>(l, r, sum, newer, before, seen);
            cuda_copy(held, older[l][r]);
            cuda_copy(kept, value);
            if (arrived == placement().last_step + 1) {
                cuda_copy(value, newer[l][r]);
                reflect(kept, older[l][r], newer[l][r]);
            }
            close_level(l, r, value, sum, older, newer);
            cuda_copy(older[l][r], kept);
            if (job.hold) {
                cuda_keep_branch();
                hold(r, value, held, seen);
                hold_plane(arrived - 2, value, held);
            }
        }
    }

    /* The last plane is the grid's first: its chain begins with the planes outside before it, and so will
       that of the second plane. */
    CUDA_INLINE void begin_first(pack &sum, pack &older, const pack &first, const pack &second) const
    {
        pack farther;

        reflect(farther, second, first);
        begin(sum, farther, first);
        cuda_copy(older, first);
    }

    /* Held columns and rows keep what the level before has. */
    CUDA_INLINE void hold(int r, pack &value, const pack &held, unsigned seen) const
    {
        const bool row = (r < 2 && (seen & TMA_TOP) != 0) || (r >= Rows - 2 && (seen & TMA_BOTTOM) != 0);

#pragma unroll
        for (int j = 0; j < Pack; j++) {
            const bool column =
                (j < 2 && (seen & TMA_FIRST) != 0) || (j >= Pack - 2 && (seen & TMA_LAST << (Pack - 1)) != 0);
            value[j] = row || column ? held[j] : value[j];
        }
    }
    CUDA_INLINE void hold_plane(int plane, pack &value, const pack &held) const
    {
        if ((plane >= placement().first_step && plane < placement().first_step + 2) ||
            (plane > placement().last_step - 2 && plane <= placement().last_step))
            cuda_copy(value, held);
    }

    /* Row r of the plane that has arrived goes through all levels, and what it finishes is stored. */
    template <enum tma_edges Edges, int Turn>
    CUDA_INLINE void take_row(int r, planes &older, const planes &newer)
    {
        const T *const arrived = base::own(stage);
        const T *const before = base::own(stage_after(stage, Form::Stages - 1));
        const T *const three_ago = base::own(stage_after(stage, Form::Stages - 3));
        pack value;

        cuda_load_packs<Pack>(arrived + r * Form::Pitch, value);
        if (Edges == TMA_ENDS)
            take_ends<Turn>(r, older, newer, before, three_ago, value);
        else
            take_levels<Edges, Turn>(r, older, newer, before, three_ago, value);
        base::template store<Edges>(r, value);
    }

    /* ---- a plane ---- */

    /* Turn: of the two halves of the exchange, the one that this step writes. */
    template <enum tma_edges Edges, int Turn> CUDA_INLINE void step(planes &older, planes &newer)
    {
        base::template await<Edges>();
        if (Edges != TMA_INSIDE && !job.hold && base::at_edge(TMA_TOP | TMA_BOTTOM)) {
            cuda_keep_branch();
            dress(newer);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int r = k < 2 ? k : Rows - 4 + k;
            take_row<Edges, Turn>(r, older, newer);
            publish(r, older, Turn);
        }
        base::arrive();
#pragma unroll
        for (int r = 2; r < Rows - 2; r++)
            take_row<Edges, Turn>(r, older, newer);
        base::go_on();
    }
};

/* ---- the host ---- */

/* Eight warps leave a thread all registers. Of a warp's five rows, its neighbours read four; the fifth is
   computed while others arrive. */
struct star2 {
    static constexpr int Steps = 2, Radius = 2;
    static constexpr double Reached = 0;

    static bool is_for(const struct op *op)
    {
        const enum tma_rule rule = tma_rule_of(op, Radius);

        return cuda_is_star(op, 2) && (rule == TMA_NEAREST || rule == TMA_REFLECT);
    }

    template <typename T, typename Act> static auto choose(const struct op *, size_t, Act act)
    {
        return act(star2_form<T, 5, 8, Steps>());
    }
};

/* Columns of tiles outside the grid, and planes that two chunks walk, are wasted work, so that arithmetic
   binds passes of two steps, where memory binds single ones. In f32, both are as fast on an H200 where a
   third of the work is wasted, and on an H100 where half of it is; in f64, single steps are slower. If
   columns are walked whole, form->coarsen is all planes, and what the other columns walk twice is not
   counted. */
static bool star2_pays(const struct cuda_question *asked, const struct cuda_form *form)
{
    const struct cuda_limits *limits = asked->limits;
    const double columns = static_cast<double>(cuda_ceil_divide(asked->shape->nx, form->tile_x)) *
                           form->tile_x / static_cast<double>(asked->shape->nx);
    const double planes = 1 + 2.0 * star2::Steps * star2::Radius / form->coarsen;
    const double operations_a_byte = limits->operations_per_second[WORK_F32] / limits->bytes_per_second;

    return asked->op->work != WORK_F32 || columns * planes < 0.108 * operations_a_byte;
}

extern const struct fused_walk fused_star2 = tma_fused<star2>::with(star2_pays);
