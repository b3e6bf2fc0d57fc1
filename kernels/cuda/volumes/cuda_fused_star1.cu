/* The walk of rung `fused` through plain grids: a block streams along the planes of a volume and takes every
 * sample of its tile through several levels of the seven-point star on the way. cuda_tma_walk.cuh has what
 * it shares with other walks: tiles, boxes, and the three loops over the planes. cuda_fused.cu calls it.
 *
 * Known as: temporal blocking with register tiling; TMA multistage pipeline with mbarriers (split arrive and
 *   wait).
 *
 * Between planes, a thread keeps the last two planes of each level. If the registers cannot hold these, it
 * reads rows of the last plane of level 0 again. When plane p of level 0 arrives, every level finishes one
 * plane, row by row:
 *
 * - the fold: the plane before the last and the last one give all taps of a chain but the one at z + 1. x
 *   neighbours come by warp shuffles, y neighbours from the thread's own registers but for its first and
 *   last row, which go through shared memory.
 * - the cascade: the sample of level 0 that has arrived closes the chain of level 1, whose sample closes
 *   that of level 2, and so on: one multiply-add a level, which needs no neighbour. What comes out of the
 *   last level is stored.
 *
 * That the fold of a plane waits for the next one to arrive is what makes the walk fast: open sums live for
 * a row and not for a tile, and as planes are kept as they are, `hold` may ask for them. And nobody waits
 * for anybody at a barrier: a warp does its first and last row, gives them to its neighbours, arrives, does
 * its inner rows, and only then, at the next plane, waits for the others.
 *
 * Outside the grid each level reads what the edge rule has there: in x by a select, above and below where
 * the rows of another warp would be, and at the ends of the planes from another plane that is kept. Where the
 * grid wraps, all that is level 0's alone: a tile goes on at the other end of the grid, and what no box can
 * bring, some packs at the ends of rows, comes sample by sample to a place of its own. */
#include "cuda_tma_walk.cuh"

template <typename Form> struct star1_walk;

/* Which rows of the last plane of level 0 a thread reads again, instead of keeping them in registers. Their
   box is still there. */
enum star1_rereads { STAR1_NO_ROW, STAR1_INNER_ROWS, STAR1_ALL_ROWS };

/* The shape of a walk. Rule: what stands outside, TMA_REFLECT excepted. Rest: the samples of a row behind
   its last whole pack. */
template <typename Type, int Rows_, int Warps_, int FusedSteps_, enum tma_rule Rule_, int Rest_,
          enum star1_rereads Rereads_>
struct star1_form : tma_form<Type, 7, 1, Rows_, Warps_, FusedSteps_, FusedSteps_, 1, Rule_ == TMA_WRAP> {
    using base = tma_form<Type, 7, 1, Rows_, Warps_, FusedSteps_, FusedSteps_, 1, Rule_ == TMA_WRAP>;
    using typename base::T;
    static constexpr enum tma_rule Rule = Rule_;
    static constexpr int Rest = Rest_;
    static constexpr enum star1_rereads Rereads = Rereads_;
    static constexpr int Last = (Rest > 0 ? Rest : base::Pack) - 1; /* a row's last column in its pack */

    /* Whether it looks for its rows of the stages when it has awaited them: ptxas then spills nothing in
       these forms, and does in others. */
    static constexpr bool AwaitsFirst = base::Wraps || (Rule == TMA_CONSTANT && Rest > 0);

    /* For each level but 0, above, between and below the warps: the last row of the one, the first of the
       other. */
    static constexpr int BorderSamples = 2 * base::Width;
    static constexpr int LevelSamples = BorderSamples * (Warps_ + 1);
    static constexpr int ExchangeSamples = LevelSamples * (FusedSteps_ - 1);
    /* A row of the constant. */
    static constexpr int RimSamples = Rule == TMA_CONSTANT ? base::Width : 0;
    static constexpr size_t SharedBytes = base::WalkBytes + (2 * ExchangeSamples + RimSamples) * sizeof(T);

    static bool takes(size_t nx)
    {
        return Rest > 0 || base::takes(nx);
    }

    /* Chunks are as fast as whole columns, and 2 % faster under a constant. */
    static constexpr bool WalksWhole = false;

    /* Under these rules the slowest block takes 15 % longer than most. */
    static inline long long chunk(long long planes, long long columns, long long residents)
    {
        return base::chunk(planes, columns, residents, Rule == TMA_CONSTANT || Rule == TMA_MIRROR ? 0.15 : 0);
    }

    using walk = star1_walk<star1_form>;
};

template <typename Form> struct star1_walk : tma_walk<Form> {
    using base = tma_walk<Form>;
    using base::clear, base::stage_after;
    using base::job, base::lane, base::warp, base::now, base::stage;
    using base::placement;
    using typename base::pack;
    using typename base::T;
    static constexpr int Pack = Form::Pack, Rows = Form::Rows, FusedSteps = Form::FusedSteps;
    using planes = pack[FusedSteps][Rows]; /* a plane of each level */

    T *const exchange, *const rim;
    T beyond;          /* TMA_CONSTANT */
    planes one, other; /* the two last planes of each level, by turns */

    CUDA_INLINE star1_walk(const typename Form::job &job_, T *shared)
        : base(job_, shared), exchange(base::rest(shared)), rim(exchange + 2 * Form::ExchangeSamples),
          beyond(Form::Rule == TMA_CONSTANT ? base::outside() : T(0))
    {
        clear(one);
        clear(other);
        if (Form::Rule == TMA_CONSTANT)
            fill_rim();
    }

    /* In a plane that arrives, a thread reads no seam but its warp's. */
    template <enum tma_edges Edges> CUDA_INLINE void await()
    {
        base::template await<Edges>();
        if (!Form::Wraps || Edges == TMA_INSIDE)
            return;
        cuda_await_copies<Form::Ahead>();
        __syncwarp();
    }

    /* ---- rows of other warps ---- */

    /* This lane's pack of the last row above the warp, at level 1; that of the warp's own first row is a
       Width behind. */
    CUDA_INLINE T *border_above(int turn) const
    {
        return exchange + turn * Form::ExchangeSamples + warp * Form::BorderSamples + lane * Pack;
    }
    /* The same of the warp's own last row and the first one below. */
    CUDA_INLINE T *border_below(int turn) const
    {
        return border_above(turn) + Form::BorderSamples;
    }
    static CUDA_INLINE constexpr int level_offset(int level)
    {
        return (level - 1) * Form::LevelSamples;
    }

    /* Of the planes that the last step brought, the row above the thread's first and that below its last one.
       `before`: this thread's first pack of the stage of that step. */
    CUDA_INLINE const T *row_above(int l, const T *before, int turn) const
    {
        return l == 0 ? before - (warp > 0 ? Form::Pitch : 0) : border_above(1 - turn) + level_offset(l);
    }
    CUDA_INLINE const T *row_below(int l, const T *before, int turn) const
    {
        return l == 0 ? before + (warp < Form::Warps - 1 ? Rows : Rows - 1) * Form::Pitch
                      : border_below(1 - turn) + level_offset(l) + Form::Width;
    }

    /* A warp gives its first and last rows to its neighbours. Where it has none, its row stands outside the
       tile, too: at the grid's edge, that is the nearest one; elsewhere, no matter. */
    CUDA_INLINE void publish_first(const planes &fresh, int turn) const
    {
        T *const to = border_above(turn) + (warp > 0 ? Form::Width : 0);

#pragma unroll
        for (int l = 1; l < FusedSteps; l++)
            cuda_put(to + level_offset(l), fresh[l][0]);
    }
    CUDA_INLINE void publish_last(const planes &fresh, int turn) const
    {
        T *const to = border_below(turn) + (warp < Form::Warps - 1 ? 0 : Form::Width);

#pragma unroll
        for (int l = 1; l < FusedSteps; l++)
            cuda_put(to + level_offset(l), fresh[l][Rows - 1]);
    }
    /* A mirror shows the row behind the outermost one. No other warp reads these. */
    CUDA_INLINE void publish_mirrored(const planes &fresh, int turn) const
    {
        if (warp > 0 && warp < Form::Warps - 1)
            return;
#pragma unroll
        for (int l = 1; l < FusedSteps; l++) {
            if (warp == 0)
                cuda_put(border_above(turn) + level_offset(l), fresh[l][1]);
            else
                cuda_put(border_below(turn) + level_offset(l) + Form::Width, fresh[l][Rows - 2]);
        }
    }

    /* ---- the chain ---- */

    /* What stands outside next to `own`, whose neighbour on the other side is `opposite`. */
    CUDA_INLINE T ghost(T own, T opposite) const
    {
        return Form::Rule == TMA_CONSTANT ? beyond : Form::Rule == TMA_MIRROR ? opposite : own;
    }
    CUDA_INLINE void ghost_pack(pack &to, const pack &own, const pack &opposite) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            to[j] = ghost(own[j], opposite[j]);
    }

    /* A row with its neighbours in x, the first and the last one. */
    using wide_row = T[Pack + 2];

    template <enum tma_edges Edges>
    CUDA_INLINE void widen(wide_row &wide, const pack &row, unsigned seen) const
    {
        wide[0] = __shfl_up_sync(CUDA_ALL_LANES, row[Pack - 1], 1);
        wide[Pack + 1] = __shfl_down_sync(CUDA_ALL_LANES, row[0], 1);
        cuda_copy(reinterpret_cast<pack &>(wide[1]), row);
        if (Edges == TMA_INSIDE || Form::Wraps)
            return;
        wide[0] = (seen & TMA_FIRST) != 0 ? ghost(row[0], row[1]) : wide[0];
        wide[Form::Last + 2] = (seen & TMA_LAST << Form::Last) != 0
                                   ? ghost(wide[Form::Last + 1], wide[Form::Last])
                                   : wide[Form::Last + 2];
    }

    /* All of a row's chains but the last tap: `before` is of the plane before, `row` of the sums' own. */
    template <enum tma_edges Edges>
    CUDA_INLINE void fold(pack &sum, const pack &before, const pack &above, const pack &row,
                          const pack &below, unsigned seen) const
    {
        wide_row wide;

        widen<Edges>(wide, row, seen);
#pragma unroll
        for (int j = 0; j < Pack; j++)
            sum[j] = cuda_fma(job.weights[1], above[j], job.weights[0] * before[j]);
#pragma unroll
        for (int j = 0; j < Pack; j++) {
            T value = cuda_fma(job.weights[2], wide[j], sum[j]);
            value = cuda_fma(job.weights[3], row[j], value);
            value = cuda_fma(job.weights[4], wide[j + 2], value);
            sum[j] = cuda_fma(job.weights[5], below[j], value);
        }
    }

    CUDA_INLINE void close(pack &sum, const pack &arrived) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            sum[j] = cuda_fma(job.weights[6], arrived[j], sum[j]);
    }

    /* ---- edges ---- */

    /* This lane's pack of the row outside the grid: no other thread reads it. */
    CUDA_INLINE T *rim_row() const
    {
        return rim + lane * Pack;
    }
    CUDA_INLINE void fill_rim() const
    {
        pack constant;

        cuda_fill(constant, beyond);
        cuda_put(rim_row(), constant);
    }

    /* The rows above and below where they may be the grid's edge. */
    CUDA_INLINE const T *side_above(int l, const T *before, int turn) const
    {
        if (Form::Rule == TMA_CONSTANT && base::at_edge(TMA_TOP))
            return rim_row();
        return Form::Rule == TMA_MIRROR && l == 0 && base::at_edge(TMA_TOP) ? before + Form::Pitch
                                                                            : row_above(l, before, turn);
    }
    CUDA_INLINE const T *side_below(int l, const T *before, int turn) const
    {
        if (Form::Rule == TMA_CONSTANT && base::at_edge(TMA_BOTTOM))
            return rim_row();
        return Form::Rule == TMA_MIRROR && l == 0 && base::at_edge(TMA_BOTTOM)
                   ? before + (Rows - 2) * Form::Pitch
                   : row_below(l, before, turn);
    }

    /* What is held has the value of the level before: in the planes that a step has brought to row r, and in
       what it finished. */
    CUDA_INLINE void hold(int r, planes &older, const planes &newer, pack &value) const
    {
        const unsigned seen = base::edge_bits_anew();
        const bool row = (r == 0 && (seen & TMA_TOP) != 0) || (r == Rows - 1 && (seen & TMA_BOTTOM) != 0);

#pragma unroll
        for (int j = 0; j < Pack; j++) {
            const bool last = j == Form::Last && (seen & TMA_LAST << j) != 0;
            if (row || (j == 0 && (seen & TMA_FIRST) != 0) || last)
                hold_column(r, j, older, newer, value);
        }
    }
    static CUDA_INLINE void hold_column(int r, int j, planes &older, const planes &newer, pack &value)
    {
#pragma unroll
        for (int l = 1; l < FusedSteps; l++)
            older[l][r][j] = newer[l - 1][r][j];
        value[j] = newer[FusedSteps - 1][r][j];
    }

    /* ---- a row through all levels ---- */

    /* Whether a thread reads a row of the last plane of level 0 again. If so, `older` keeps the plane before
       that one, and not the one that arrives. */
    static CUDA_INLINE constexpr bool rereads(int r)
    {
        return Form::Rereads == STAR1_ALL_ROWS ||
               (Form::Rereads == STAR1_INNER_ROWS && r > 0 && r < Rows - 1);
    }
    static CUDA_INLINE void reread(planes &newer, const T *before)
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            if (rereads(r))
                cuda_load_packs<Pack>(before + r * Form::Pitch, newer[0][r]);
        }
    }

    static CUDA_INLINE const pack &either(bool first, const pack &one_row, const pack &other_row)
    {
        return first ? one_row : other_row;
    }

    template <enum tma_edges Edges, int Turn>
    CUDA_INLINE void fold_level(int l, int r, pack &sum, const pack &oldest, const pack (&level)[Rows],
                                const T *before, unsigned seen) const
    {
        pack above, below;

        if (r == 0)
            cuda_load_packs<Pack>(
                Edges == TMA_INSIDE ? row_above(l, before, Turn) : side_above(l, before, Turn), above);
        if (r == Rows - 1)
            cuda_load_packs<Pack>(
                Edges == TMA_INSIDE ? row_below(l, before, Turn) : side_below(l, before, Turn), below);
        fold<Edges>(sum, oldest, either(r > 0, level[r > 0 ? r - 1 : 0], above), level[r],
                    either(r < Rows - 1, level[r < Rows - 1 ? r + 1 : 0], below), seen);
    }

    /* `value` arrives, and becomes what it finishes. */
    template <enum tma_edges Edges, int Turn>
    CUDA_INLINE void take_levels(int r, planes &older, const planes &newer, const T *before,
                                 pack &value) const
    {
        pack sums[FusedSteps];
        const unsigned seen = base::edge_bits_anew();

#pragma unroll
        for (int l = FusedSteps - 1; l >= 0; l--)
            fold_level<Edges, Turn>(l, r, sums[l], older[l][r], newer[l], before, seen);
#pragma unroll
        for (int l = 0; l < FusedSteps; l++) {
            close(sums[l], value);
            if (l > 0 || !rereads(r))
                cuda_copy(older[l][r], value);
            cuda_copy(value, sums[l]);
        }
    }

    /* At the ends of the grid some plane that is kept stands in for the one before the first, and for the one
       past the last: one level after the other. What a level has after its last plane counts for nothing. */
    template <int Turn>
    CUDA_INLINE void take_ends(int r, planes &older, const planes &newer, const T *before, pack &value) const
    {
        const unsigned seen = base::edge_bits_anew();

#pragma unroll
        for (int l = 0; l < FusedSteps; l++) {
            const int plane = now - 1 - l;
            pack sum, passing;
            pack &next = l == 0 && rereads(r) ? passing : older[l][r];
            if (plane == placement().first_step) {
                cuda_keep_branch();
                ghost_pack(older[l][r], newer[l][r], value);
            }
            fold_level<TMA_ENDS, Turn>(l, r, sum, older[l][r], newer[l], before, seen);
            if (plane == placement().last_step)
                ghost_pack(next, newer[l][r], older[l][r]);
            else
                cuda_copy(next, value);
            close(sum, next);
            cuda_copy(value, sum);
            if (holds() && (plane == placement().first_step || plane == placement().last_step)) {
                cuda_keep_branch();
                cuda_copy(value, newer[l][r]);
            }
        }
    }

    /* Row r of the plane that has arrived goes through all levels, and what it finishes is stored. */
    template <enum tma_edges Edges, int Turn>
    CUDA_INLINE void take_row(int r, planes &older, const planes &newer, const T *arrived,
                              const T *before) const
    {
        pack value;

        cuda_load_packs<Pack>(arrived + r * Form::Pitch, value);
        if (Edges == TMA_ENDS)
            take_ends<Turn>(r, older, newer, before, value);
        else
            take_levels<Edges, Turn>(r, older, newer, before, value);
        if (Edges != TMA_INSIDE && holds()) {
            cuda_keep_branch();
            hold(r, older, newer, value);
        }
        base::template store<Edges>(r, value);
    }

    CUDA_INLINE bool holds() const
    {
        return !Form::Wraps && job.hold;
    }

    /* ---- a plane ---- */

    /* Turn: of the two halves of the exchange, the one that this step writes. */
    template <enum tma_edges Edges, int Turn> CUDA_INLINE void step(planes &older, planes &newer)
    {
        if (Form::AwaitsFirst)
            await<Edges>();
        const T *const arrived = base::template own<Edges>(stage);
        const T *const before = base::template own<Edges>(stage_after(stage, Form::Stages - 1));
        if (!Form::AwaitsFirst)
            await<Edges>();

        reread(newer, before);
        take_row<Edges, Turn>(0, older, newer, arrived, before);
        publish_first(older, Turn);
        take_row<Edges, Turn>(Rows - 1, older, newer, arrived, before);
        publish_last(older, Turn);
        base::arrive();
#pragma unroll
        for (int r = 1; r < Rows - 1; r++)
            take_row<Edges, Turn>(r, older, newer, arrived, before);
        if (Form::Rule == TMA_MIRROR)
            publish_mirrored(older, Turn);
        base::go_on();
    }
};

/* ---- the host ---- */

/* Many warps of few rows beat few of many: the waits of one are filled by others. Twelve leave a thread 168
   registers. These hold two planes of each of four levels of four rows, but not what a mirror, rows that end
   within a pack or wrap, or a constant in f64 need as well. If the inner rows are read again, all fit but a
   constant in f64 or beside a pack's last column. To read all rows again is slower. */
template <typename T, enum tma_rule Rule, int Rest> static constexpr enum star1_rereads rereads_of()
{
    if (Rule == TMA_CONSTANT && (sizeof(T) == sizeof(double) || Rest == 3))
        return STAR1_ALL_ROWS;
    return Rule == TMA_MIRROR || Rule == TMA_WRAP || Rest > 0 ? STAR1_INNER_ROWS : STAR1_NO_ROW;
}

struct star1 {
    static constexpr int Steps = 4, Radius = 1;
    static constexpr double Reached = 0.32; /* by runs of an H100 and an H200 */

    template <typename T, enum tma_rule Rule, int Rest>
    using form_of = star1_form<T, 4, 12, Steps, Rule, Rest, rereads_of<T, Rule, Rest>()>;

    static bool is_for(const struct op *op)
    {
        return cuda_is_star(op, 1);
    }

    template <typename T, enum tma_rule Rule, typename Act> static auto choose_rest(size_t nx, Act act)
    {
        if constexpr (sizeof(T) == sizeof(float)) {
            switch (nx % 4) {
            case 2:
                return act(form_of<T, Rule, 2>());
            case 3:
                return act(form_of<T, Rule, 3>());
            }
        }
        return nx % cuda_pack_of<T>::samples == 0 ? act(form_of<T, Rule, 0>()) : act(form_of<T, Rule, 1>());
    }

    template <typename T, typename Act> static auto choose(const struct op *op, size_t nx, Act act)
    {
        switch (tma_rule_of(op, Radius)) {
        case TMA_MIRROR:
            return choose_rest<T, TMA_MIRROR>(nx, act);
        case TMA_CONSTANT:
            return choose_rest<T, TMA_CONSTANT>(nx, act);
        case TMA_WRAP:
            return act(form_of<T, TMA_WRAP, 0>());
        default:
            return choose_rest<T, TMA_NEAREST>(nx, act);
        }
    }
};

extern const struct fused_walk fused_star1 = tma_fused<star1>::with(NULL);
