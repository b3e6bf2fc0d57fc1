/* The walk of rung `fused` for all 27 taps of the 3×3×3 cube: a block streams along the planes of a volume
 * and takes every sample of its tile through several levels on the way. cuda_tma_walk.cuh has what it shares
 * with other walks: tiles, boxes, and the three loops over the planes. cuda_fused.cu calls it.
 *
 * Known as: temporal blocking of a box stencil; TMA multistage pipeline with mbarriers.
 *
 * A chain of 27 taps needs the neighbours in x and y in three planes, so the plane of each level goes
 * through shared memory as a whole. When a plane arrives there, a thread reads its rows one after the other,
 * with a row above and below, and gives each to three sums: it ends the chain of the plane before, goes on
 * with that of the plane itself, and begins that of the next plane. Two open sums a sample and level are
 * what stays in registers.
 *
 * What a level finishes, the next one reads in the next step: a step has all warps wait for each other once.
 * The last level writes nothing that others read. So a warp does it after it has arrived at the barrier, and
 * planes of a level have three places: one that is written, one that is read, and one that a slow warp may
 * still read.
 *
 * Outside the grid each level reads what the edge rule has there: in x by a select, above and below from
 * another row, and at the ends of the planes from another plane. A sample that is held goes through the sums
 * as it is. */
#include "cuda_tma_walk.cuh"

#define BOX27_TAPS  27
#define BOX27_PLANE 9 /* taps of a plane */

template <typename Form> struct box27_walk;

/* Rule: what stands outside the grid. Whole: rows end with packs. */
template <typename Type, int Rows_, int Warps_, int FusedSteps_, enum tma_rule Rule_, bool Whole_>
struct box27_form
    : tma_form<Type, BOX27_TAPS, 1, Rows_, Warps_, FusedSteps_, 2 * FusedSteps_ - 1, 1, Rule_ == TMA_WRAP>
{
    using base =
        tma_form<Type, BOX27_TAPS, 1, Rows_, Warps_, FusedSteps_, 2 * FusedSteps_ - 1, 1, Rule_ == TMA_WRAP>;
    using typename base::T;
    static constexpr enum tma_rule Rule = Rule_;
    static constexpr bool Whole = Whole_;

    /* The columns of a pack that may be a row's last. Where the nearest samples stand outside, rows of whole
       packs have a form of their own. */
    static constexpr int FirstLast = Whole ? base::Pack - 1 : 0;
    static constexpr int EndLast = Whole || Rule != TMA_NEAREST ? base::Pack : base::Pack - 1;

    static constexpr int FoldDelay = 0;
    static constexpr int Places = 3; /* of a level's planes, which are laid out as stages are */
    static constexpr size_t SharedBytes =
        base::WalkBytes + (Places * (FusedSteps_ - 1) * base::StageSamples + base::Width) * sizeof(T);

    static bool takes(size_t nx)
    {
        if (Whole || base::Wraps)
            return base::takes(nx);
        return Rule != TMA_NEAREST || nx % base::Pack != 0;
    }

    using walk = box27_walk<box27_form>;
};

template <typename Form> struct box27_walk : tma_walk<Form> {
    using base = tma_walk<Form>;
    using base::clear, base::stage_after;
    using base::job, base::lane, base::warp, base::now, base::stage;
    using base::placement;
    using typename base::pack;
    using typename base::T;
    static constexpr int Pack = Form::Pack, Rows = Form::Rows, FusedSteps = Form::FusedSteps;
    using part = pack[Rows];
    using sums = part[FusedSteps];
    using wide_row = T[Pack + 2]; /* a row with its neighbours in x */

    T *const kept;   /* the planes of levels from 1 on */
    T *const rim;    /* a row of the value outside, TMA_CONSTANT */
    T beyond;        /* that value */
    int place;       /* of the planes that this step writes */
    sums one, other; /* of each level: those that a step ends, and those that go on; steps swap them */

    CUDA_INLINE box27_walk(const typename Form::job &job_, T *shared)
        : base(job_, shared), kept(base::rest(shared)),
          rim(kept + Form::Places * (FusedSteps - 1) * Form::StageSamples), beyond(base::outside()), place(0)
    {
        pack constant;

        clear(one);
        clear(other);
        cuda_fill(constant, beyond);
        if (warp == 0)
            cuda_put(rim + lane * Pack, constant);
    }

    /* ---- planes of levels ---- */

    /* This thread's first pack of the plane that a level had a number of steps ago (0: the last one): level 0
       has it in the stages, other levels in the places before the one that is written. */
    template <enum tma_edges Edges> CUDA_INLINE const T *plane_of(int level, int ago) const
    {
        if (level == 0)
            return base::template own<Edges>(stage_after(stage, Form::Stages - ago));
        const int at = place - 1 - ago + (place <= ago ? Form::Places : 0);
        return base::own(0) + (kept - base::stages) + ((level - 1) * Form::Places + at) * Form::StageSamples;
    }
    CUDA_INLINE T *plane_to(int level) const
    {
        return base::own(0) + (kept - base::stages) +
               ((level - 1) * Form::Places + place) * Form::StageSamples;
    }

    /* The rows above and below the thread's own; beyond the tile any row will do. */
    template <enum tma_edges Edges> CUDA_INLINE const T *above(const T *own) const
    {
        if (Edges != TMA_INSIDE && !Form::Wraps && base::at_edge(TMA_TOP))
            return Form::Rule == TMA_CONSTANT ? rim + lane * Pack
                   : Form::Rule == TMA_MIRROR ? own + Form::Pitch
                                              : own;
        return own - (warp > 0 ? Form::Pitch : 0);
    }
    template <enum tma_edges Edges> CUDA_INLINE const T *below(const T *own) const
    {
        const T *const last = own + (Rows - 1) * Form::Pitch;

        if (Edges != TMA_INSIDE && !Form::Wraps && base::at_edge(TMA_BOTTOM))
            return Form::Rule == TMA_CONSTANT ? rim + lane * Pack
                   : Form::Rule == TMA_MIRROR ? last - Form::Pitch
                                              : last;
        return last + (warp < Form::Warps - 1 ? Form::Pitch : 0);
    }

    /* The sample outside the grid beside `own`, whose neighbour inside is `opposite`. */
    CUDA_INLINE T ghost(T own, T opposite) const
    {
        return Form::Rule == TMA_CONSTANT ? beyond : Form::Rule == TMA_MIRROR ? opposite : own;
    }

    /* Load a row with its neighbours in x, from other lanes or outside the grid. */
    template <enum tma_edges Edges> CUDA_INLINE void load(wide_row &wide, const T *from) const
    {
        cuda_load_packs<Pack>(from, wide + 1);
        wide[0] = __shfl_up_sync(CUDA_ALL_LANES, wide[Pack], 1);
        wide[Pack + 1] = __shfl_down_sync(CUDA_ALL_LANES, wide[1], 1);
        if (Edges == TMA_INSIDE || Form::Wraps)
            return;
        const unsigned seen = base::edge_bits_anew();
        wide[0] = (seen & TMA_FIRST) != 0 ? ghost(wide[1], wide[2]) : wide[0];
#pragma unroll
        for (int j = Form::FirstLast; j < Form::EndLast; j++)
            wide[j + 2] = (seen & TMA_LAST << j) != 0 ? ghost(wide[j + 1], wide[j]) : wide[j + 2];
    }

    /* ---- the chain ---- */

    /* The three rows around a pack. */
    using window = wide_row[3];

    /* Nine taps of a chain: on the plane before (0), its own (1), or the plane behind (2). */
    template <int Plane> CUDA_INLINE void chain(pack &sum, const window &rows) const
    {
#pragma unroll
        for (int k = 0; k < BOX27_PLANE; k++) {
            const T weight = job.weights[Plane * BOX27_PLANE + k];
#pragma unroll
            for (int j = 0; j < Pack; j++)
                sum[j] = Plane == 0 && k == 0 ? weight * rows[k / 3][j + k % 3]
                                              : cuda_fma(weight, rows[k / 3][j + k % 3], sum[j]);
        }
    }

    /* The same on a plane of the value outside. */
    template <int Plane> CUDA_INLINE void chain_of_constants(pack &sum) const
    {
#pragma unroll
        for (int k = 0; k < BOX27_PLANE; k++) {
            const T weight = job.weights[Plane * BOX27_PLANE + k];
#pragma unroll
            for (int j = 0; j < Pack; j++)
                sum[j] = Plane == 0 && k == 0 ? weight * beyond : cuda_fma(weight, beyond, sum[j]);
        }
    }

    /* The same for row r of another plane, of which the thread's first row is given. */
    template <int Plane> CUDA_INLINE void chain_of(pack &sum, const T *first_row, int r) const
    {
        window rows;

        load<TMA_ENDS>(rows[0], r > 0 ? first_row + (r - 1) * Form::Pitch : above<TMA_ENDS>(first_row));
        load<TMA_ENDS>(rows[1], first_row + r * Form::Pitch);
        load<TMA_ENDS>(rows[2],
                       r < Rows - 1 ? first_row + (r + 1) * Form::Pitch : below<TMA_ENDS>(first_row));
        chain<Plane>(sum, rows);
    }

    /* ---- edges ---- */

    /* A sample of column j in row r is held. */
    CUDA_INLINE bool holds(int r, int j, unsigned seen) const
    {
        return (r == 0 && (seen & TMA_TOP) != 0) || (r == Rows - 1 && (seen & TMA_BOTTOM) != 0) ||
               (j == 0 && (seen & TMA_FIRST) != 0) ||
               (j >= Form::FirstLast && j < Form::EndLast && (seen & TMA_LAST << j) != 0);
    }

    /* Held samples go from sum to sum as they arrived. */
    CUDA_INLINE void hold(int r, pack &done, const pack &before, pack &own, const wide_row &arrived) const
    {
        const unsigned seen = base::edge_bits_anew();

#pragma unroll
        for (int j = 0; j < Pack; j++) {
            if (holds(r, j, seen)) {
                done[j] = before[j];
                own[j] = arrived[j + 1];
            }
        }
    }

    /* The grid's first plane has come to a level: begin its sums with the plane outside. */
    CUDA_INLINE void begin_first(pack &own, const window &rows) const
    {
        if (Form::Rule == TMA_CONSTANT)
            chain_of_constants<0>(own);
        else
            chain<0>(own, rows);
    }

    /* The second plane has come, which a mirror also has before the first: its sums begin only now. */
    CUDA_INLINE void begin_again(pack &first, const window &rows, const T *before, int r) const
    {
        chain<0>(first, rows);
        chain_of<1>(first, before, r);
    }

    /* The last plane has come: end its sums with the plane outside. */
    CUDA_INLINE void end_last(pack &own, const window &rows, const T *before, int r) const
    {
        if (Form::Rule == TMA_CONSTANT)
            chain_of_constants<2>(own);
        else if (Form::Rule == TMA_MIRROR)
            chain_of<2>(own, before, r);
        else
            chain<2>(own, rows);
    }

    /* ---- a level ---- */

    /* The rows of the plane that has come, in turn, for three sums: `done` is finished, `own` goes on, and
       `next` begins. `before` is the plane before that. */
    template <enum tma_edges Edges>
    CUDA_INLINE void take_row(int level, int r, const window &rows, const T *before, pack &done, pack &own,
                              pack &next) const
    {
        const int plane = now - 2 * level;
        pack ended, going;

        cuda_copy(ended, done);
        cuda_copy(going, own);
        if (Edges == TMA_ENDS && plane == placement().first_step) {
            cuda_keep_branch();
            begin_first(going, rows);
        }
        if (Edges == TMA_ENDS && plane == placement().first_step + 1 && Form::Rule == TMA_MIRROR) {
            cuda_keep_branch();
            begin_again(ended, rows, before, r);
        }
        chain<2>(ended, rows);
        chain<1>(going, rows);
        if (Edges == TMA_ENDS && plane == placement().last_step + 1)
            cuda_copy(ended, done);
        if (Edges == TMA_ENDS && plane == placement().last_step) {
            cuda_keep_branch();
            end_last(going, rows, before, r);
        }
        if (Edges != TMA_INSIDE && Form::Rule == TMA_NEAREST && job.hold) {
            cuda_keep_branch();
            hold(r, ended, done, going, rows[1]);
            if (Edges == TMA_ENDS)
                hold_plane(plane, ended, done, going, rows[1]);
        }
        chain<0>(next, rows);
        cuda_copy(own, going);
        cuda_copy(done, ended);
    }

    CUDA_INLINE void hold_plane(int plane, pack &ended, const pack &done, pack &going,
                                const wide_row &arrived) const
    {
        if (plane - 1 == placement().first_step || plane - 1 == placement().last_step)
            cuda_copy(ended, done);
        if (plane == placement().first_step || plane == placement().last_step)
            cuda_copy(going, reinterpret_cast<const pack &>(arrived[1]));
    }

    static CUDA_INLINE void shift(window &rows)
    {
#pragma unroll
        for (int i = 0; i < Pack + 2; i++) {
            rows[0][i] = rows[1][i];
            rows[1][i] = rows[2][i];
        }
    }

    /* All rows of the plane that a level has. closing: the sums of the plane before; opening: those of the
       plane itself. They swap their roles afterwards. */
    template <enum tma_edges Edges> CUDA_INLINE void take_level(int level, part &closing, part &opening) const
    {
        const T *const arrived = plane_of<Edges>(level, 0);
        const T *const before = plane_of<Edges>(level, 1);
        T *const to = level < FusedSteps - 1 ? plane_to(level + 1) : NULL;
        window rows;

        load<Edges>(rows[0], above<Edges>(arrived));
        load<Edges>(rows[1], arrived);
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            pack next;
            load<Edges>(rows[2], r < Rows - 1 ? arrived + (r + 1) * Form::Pitch : below<Edges>(arrived));
            take_row<Edges>(level, r, rows, before, closing[r], opening[r], next);
            if (level < FusedSteps - 1)
                cuda_put(to + r * Form::Pitch, closing[r]);
            else
                base::template store<Edges>(r, closing[r]);
            cuda_copy(closing[r], next);
            shift(rows);
        }
    }

    /* ---- a plane ---- */

    /* Warps read each other's seams of a plane that arrives: they are there when all have arrived. */
    CUDA_INLINE void start()
    {
        base::start();
        if (Form::Wraps) {
            cuda_await_copies<0>();
            __syncthreads();
        }
    }
    template <enum tma_edges Edges> CUDA_INLINE void arrive() const
    {
        if (Form::Wraps && Edges != TMA_INSIDE)
            cuda_await_copies<Form::Ahead - 1>();
        base::arrive();
    }

    template <enum tma_edges Edges, int> CUDA_INLINE void step(sums &closing, sums &opening)
    {
        base::template await<Edges>();
        cuda_launder(&place);
#pragma unroll
        for (int l = 0; l < FusedSteps - 1; l++)
            take_level<Edges>(l, closing[l], opening[l]);
        /* At the ends the last level may read the plane before, whose place is written next. */
        if (Edges != TMA_ENDS)
            arrive<Edges>();
        take_level<Edges>(FusedSteps - 1, closing[FusedSteps - 1], opening[FusedSteps - 1]);
        if (Edges == TMA_ENDS)
            arrive<Edges>();
        place = place + 1 < Form::Places ? place + 1 : 0;
        base::go_on();
    }
};

/* ---- the host ---- */

struct box27 {
    static constexpr int Steps = 2, Radius = 1;
    static constexpr double Reached = 0.46; /* by an H100 */

    /* Twelve warps leave a thread 168 registers. A constant in f64 needs more. */
    template <typename T, enum tma_rule Rule, bool Whole>
    using form_of =
        std::conditional_t<sizeof(T) == sizeof(float) || Rule != TMA_CONSTANT,
                           box27_form<T, 4, 12, Steps, Rule, Whole>, box27_form<T, 6, 8, Steps, Rule, Whole>>;

    static bool is_for(const struct op *op)
    {
        return cuda_is_full_box(op);
    }

    /* Rows of whole packs have a form of their own only where the nearest samples stand outside, which is
       what most grids have: a form in both types is a fiftieth of all machine code. */
    template <typename T, typename Act> static auto choose(const struct op *op, size_t nx, Act act)
    {
        switch (tma_rule_of(op, Radius)) {
        case TMA_MIRROR:
            return act(form_of<T, TMA_MIRROR, false>());
        case TMA_CONSTANT:
            return act(form_of<T, TMA_CONSTANT, false>());
        case TMA_WRAP:
            return act(form_of<T, TMA_WRAP, false>());
        default:
            return nx % cuda_pack_of<T>::samples == 0 ? act(form_of<T, TMA_NEAREST, true>())
                                                      : act(form_of<T, TMA_NEAREST, false>());
        }
    }
};

extern const struct fused_walk fused_box27 = tma_fused<box27>::with(NULL);
