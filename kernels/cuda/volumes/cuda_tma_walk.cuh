/* What walks share that carry a sample through several levels while planes arrive as TMA boxes: where a
 * block's tile lies, which edges of the grid it has, how planes come, and how a walk is launched.
 *
 * Known as: TMA (tensor memory accelerator) multistage pipeline with mbarriers, as the mainloop of a GEMM.
 *
 * The tile is a warp's 32 packs of 16 bytes wide and Warps × Rows high; a thread owns Rows packs. Planes of
 * level 0 arrive in a ring of stages as boxes that one thread sends for, their rows widened to whole sectors
 * of the memory. Each stage has a barrier, at which all threads arrive when they have done what others wait
 * for in the step before, and which the box completes, so that a plane costs one wait.
 *
 * Samples of the tile nearer to its border than the levels reach come out wrong and are not stored. What
 * edges cost stands outside the loop over the planes, which is there three times: for warps and planes that
 * see no edge, for those at the sides, and for the ends of the grid and of a chunk. Registers are what there
 * is least of: what a loop needs of the edges is a word of bits, tested anew where it is needed, and
 * addresses are found anew for each plane. */
#ifndef CUDA_TMA_WALK_CUH
#define CUDA_TMA_WALK_CUH

#include "cuda_fused.h"
#include "kernels/cuda/shared/cuda_row_ring.cuh"
#include "kernels/cuda/shared/cuda_march_common.cuh"

/* What a thread sees of the grid's edges; a bit each. */
enum tma_edge_bits {
    TMA_TOP = 1u << 0,    /* its first row is the grid's */
    TMA_BOTTOM = 1u << 1, /* its last row is */
    TMA_FIRST = 1u << 2,  /* its first column is the grid's */
    TMA_LAST = 1u << 3,   /* a bit for each column of a pack, from here on: it is the grid's last one */
    TMA_SLOT = 3u,        /* instead of these under TMA_WRAP: the slot of its packs, counted from 1 */
    TMA_STORED = 1u << 7, /* a bit for each row, from here on: its pack is to be stored */
    TMA_LATER = 16        /* the same bits, so much higher, while no plane is finished */
};

/* Which edges a loop over the planes heeds: none; those of x and of rows; those of planes, too. */
enum tma_edges { TMA_INSIDE, TMA_SIDES, TMA_ENDS };

/* What stands outside the grid: the nearest sample, which is also what `hold` leaves unread; the samples
   beyond the outermost one, as in a mirror; a constant; the grid again. At radius 2 `reflect` is a rule of
   its own. */
enum tma_rule { TMA_NEAREST, TMA_REFLECT, TMA_MIRROR, TMA_CONSTANT, TMA_WRAP };

static inline enum tma_rule tma_rule_of(const struct op *op, int radius)
{
    switch (op->edge) {
    case EDGE_MIRROR:
        return TMA_MIRROR;
    case EDGE_CONSTANT:
        return TMA_CONSTANT;
    case EDGE_WRAP:
        return TMA_WRAP;
    case EDGE_REFLECT:
        return radius > 1 ? TMA_REFLECT : TMA_NEAREST;
    default:
        return TMA_NEAREST;
    }
}

/* Where a walk goes, which is asked once a plane or at the ends alone. Steps are counted from its first plane
   on. */
struct tma_placement {
    int first_step, last_step; /* that bring the grid's first and last plane to level 0; else out of range */
    int first_store, steps;    /* those that store planes: from the one to before the other */
    int first;                 /* the walk's first plane, counted from the field's; TMA_WRAP: the grid's */
    int x, row, channel;       /* where its boxes begin */
};

template <typename T, int Taps> struct tma_job : cuda_march_job {
    cuda_box_map boxes; /* of `from` */
    cuda_view<T> from, to;
    T weights[Taps]; /* in raster order */
    enum tma_rule rule;
    bool hold;
    const T *outside; /* TMA_CONSTANT: a value a channel */
};

/* Under TMA_WRAP, boxes of the two parts of a tile that lies at both ends of the rows. */
template <typename T, int Taps> struct tma_wrap_job : tma_job<T, Taps> {
    cuda_box_map last_rows, first_rows;
};

/* For 10.0 and later ptxas does not fit such walks into the registers. */
static __host__ __device__ constexpr bool tma_code(int code)
{
    return cuda_has_boxes(code) && code < 100;
}

/* The shape of a walk: everything that the compiler must know. StoreDelay: the steps from a plane's arrival
   at level 0 to the one that stores the plane of that number. ReadersBehind: how many stages before the one
   that a step takes are read, by it or by a slow warp that has arrived but not ended the step before. */
template <typename Type, int Taps_, int Radius_, int Rows_, int Warps_, int FusedSteps_, int StoreDelay_,
          int ReadersBehind, bool Wraps_ = false>
struct tma_form {
    using T = Type;
    static constexpr bool Wraps = Wraps_; /* TMA_WRAP alone */
    using job = std::conditional_t<Wraps, tma_wrap_job<T, Taps_>, tma_job<T, Taps_>>;
    static constexpr int Taps = Taps_, Radius = Radius_, Rows = Rows_, Warps = Warps_,
                         FusedSteps = FusedSteps_, StoreDelay = StoreDelay_, Halo = Radius * FusedSteps;
    static constexpr int Threads = CUDA_WARP * Warps, Blocks = 1; /* of a multiprocessor */
    static constexpr int Pack = cuda_pack_of<T>::samples;
    static constexpr int Width = CUDA_WARP * Pack, Height = Rows * Warps;
    static constexpr int HaloX = (Halo + Pack - 1) / Pack * Pack;
    static constexpr int UsefulX = Width - 2 * HaloX, UsefulRows = Height - 2 * Halo;

    /* Beside a box, so that its rows begin and end with sectors. */
    static constexpr int Sector = CUDA_SECTOR / static_cast<int>(sizeof(T));
    static constexpr int Margin = (Sector - HaloX % Sector) % Sector;
    static constexpr int Pitch = Width + 2 * Margin;
    static constexpr int Unit = CUDA_BOX_ALIGNMENT / static_cast<int>(sizeof(T));
    static constexpr int StageSamples = (Pitch * Height + Unit - 1) / Unit * Unit;
    static constexpr unsigned BoxBytes = Pitch * Height * sizeof(T);

    static constexpr int Ahead = 2, Stages = Ahead + 1 + ReadersBehind;
    /* The seams of all stages, side by side in rows as long as a stage's; and for each thread where a sample
       of them comes from. */
    static constexpr int SeamSamples = Wraps ? Height * Pitch : 0;
    static constexpr size_t SeamBytes = SeamSamples * sizeof(T) + (Wraps ? Threads * sizeof(int) : 0);
    static constexpr size_t StageBytes =
        (Stages * (StageSamples * sizeof(T) + sizeof(cuda_barrier)) + sizeof(tma_placement) + 15) / 16 * 16;
    static constexpr size_t WalkBytes = StageBytes + SeamBytes;

    /* Where rows wrap, no box brings so many packs of each row: those before the grid's first column, or
       those from the grid's last column on. */
    static constexpr int Slots = HaloX / Pack + 1;
    /* The tile that lies at both ends of the grid's rows ends with so many of the first rows. */
    static constexpr int WrappedRows = 2 * Halo;

    static_assert(!Wraps || (Slots * Rows * Pack <= CUDA_WARP && Slots * Stages * Pack <= Pitch &&
                             WrappedRows % Rows == 0 && (Height - WrappedRows) * Pitch % Unit == 0),
                  "a lane for each sample of a warp's seam, and boxes that begin with a warp's rows");
    static_assert(Rows >= 2 && Warps >= 2 && FusedSteps >= 2 && UsefulX > 0 && UsefulRows > 0,
                  "a tile with something left");
    static_assert(UsefulX % Sector == 0, "all tiles begin with a sector, or none does");

    static __host__ __device__ constexpr bool serves(int code)
    {
        return tma_code(code);
    }

    /* Whether it serves rows of so many samples. Rows that wrap are so long that no tile has a seam on both
       sides. */
    static bool takes(size_t nx)
    {
        return Wraps ? nx >= static_cast<size_t>(Width - HaloX) : nx % Pack == 0;
    }

    /* The steps between a plane's arrival at a level and what that level makes of its own taps. */
    static constexpr int FoldDelay = 1;

    /* A walk looks up in shared memory where it goes, for its planes want the registers. */
    static constexpr bool PlacementInShared = true;

    /* The first step that stores, of a chunk that begins within the grid, is the first of two. */
    static constexpr bool FirstStoreIsEven = (Halo + StoreDelay) % 2 == 0;

    /* How many steps a chunk takes to get going. */
    static constexpr int StartupSteps = 3;

    /* A column that is walked whole loads no plane twice. */
    static constexpr bool WalksWhole = true;

    /* For the columns that are cut. Blocks are in step, and the device takes them in rounds of `residents`.
       The slowest block of the last round ends later than the others, by the share `late` of a walk. */
    static inline long long chunk(long long planes, long long columns, long long residents, double late = 0)
    {
        return cuda_march_chunk(planes, planes, [=](long long length, long long chunks) {
            return static_cast<double>(cuda_ceil_divide(columns * chunks, residents) *
                                       (length + Halo + StoreDelay + StartupSteps)) +
                   late * static_cast<double>(length);
        });
    }
};

template <typename Form> struct tma_walk {
    using T = typename Form::T;
    using pack = T[Form::Pack];

    const typename Form::job &job;
    T *const stages;
    cuda_barrier *const barriers;
    volatile tma_placement *const shared_placement;
    tma_placement own_placement; /* placement() has the one of the two that counts */
    int lane, warp;
    T *target;          /* of the first row of the plane that is finished next */
    unsigned edge_bits; /* of enum tma_edge_bits */
    bool sides;         /* its warp sees an edge of x or, unless they wrap, of rows */

    int now;         /* the step */
    int stage;       /* of the plane that it takes, and that stage's barrier */
    unsigned parity; /* of the barrier's phase */

    /* Shared memory begins with the stages, their barriers and seams, and goes on at rest(). */
    CUDA_INLINE tma_walk(const typename Form::job &job_, T *shared)
        : job(job_), stages(shared),
          barriers(reinterpret_cast<cuda_barrier *>(shared + Form::Stages * Form::StageSamples)),
          shared_placement(reinterpret_cast<tma_placement *>(barriers + Form::Stages)),
          lane(static_cast<int>(threadIdx.x) % CUDA_WARP),
          warp(__shfl_sync(CUDA_ALL_LANES, static_cast<int>(threadIdx.x) / CUDA_WARP, 0)), now(0), stage(0),
          parity(0)
    {
        const cuda_march_place<Form::WalksWhole> place(job);

        own_placement.channel = place.channel;
        if constexpr (Form::Wraps)
            find_wrapped_tile(place.tile_x, place.tile_row);
        else
            find_tile(place.tile_x, place.tile_row);
        find_ends(place.begin, place.end);
        if (Form::PlacementInShared) {
            if (threadIdx.x == 0)
                *const_cast<tma_placement *>(shared_placement) = own_placement;
            __syncthreads();
        }
        if constexpr (Form::Wraps)
            find_seam();
    }

    /* The shared memory behind the stages, their barriers and seams. */
    static CUDA_INLINE T *rest(T *shared)
    {
        return shared + Form::WalkBytes / sizeof(T);
    }

    /* ---- where the walk goes ---- */

    CUDA_INLINE decltype(auto) placement() const
    {
        if constexpr (Form::PlacementInShared)
            return (*shared_placement);
        else
            return (own_placement);
    }

    /* Along the rows, the first tile begins with the grid and the last one ends with it, so that edges lie at
       the tile's. */
    CUDA_INLINE void find_tile(int tile_x, int tile_row)
    {
        const int rows = job.from.rows;
        const int begin_x = tile_x * Form::UsefulX, begin_row = tile_row * Form::UsefulRows;
        const int origin_x = begin_x - Form::HaloX, origin_row = min(begin_row, rows - Form::Height);
        const int x = origin_x + lane * Form::Pack, row = origin_row + warp * Form::Rows;
        const int stored_row = tile_row == 0 ? begin_row : begin_row + Form::Halo;
        const int end_row = tile_row + 1 == job.tiles_rows ? rows : begin_row + Form::Halo + Form::UsefulRows;
        const bool stored = x >= begin_x && x < min(begin_x + Form::UsefulX, job.from.nx);

        own_placement.x = origin_x - Form::Margin;
        own_placement.row = origin_row;
        target = job.to.samples + row * job.to.pitch + x;
        edge_bits = 0;
#pragma unroll
        for (int r = 0; r < Form::Rows; r++)
            note(stored && row + r >= stored_row && row + r < end_row, TMA_STORED << r << TMA_LATER);
        find_sides(x, row);
        sides =
            row == 0 || row + Form::Rows == rows || origin_x <= 0 || origin_x + Form::Width >= job.from.nx;
    }

    /* The last tile down the rows ends with the grid's first ones. Which those are is the same for all grids:
       the tile begins where as many of the last rows are left as a tile stores. */
    CUDA_INLINE void find_wrapped_tile(int tile_x, int tile_row)
    {
        const int rows = job.from.rows, nx = job.from.nx;
        const bool last = tile_row + 1 == job.tiles_rows;
        const int begin_x = tile_x * Form::UsefulX, begin_row = tile_row * Form::UsefulRows;
        const int origin_x = begin_x - Form::HaloX;
        const int origin_row = last ? rows - Form::UsefulRows : min(begin_row, rows - Form::Height);
        const int x = origin_x + lane * Form::Pack, row = origin_row + warp * Form::Rows;
        const int stored_row = min(begin_row + Form::Halo, rows - Form::Halo);
        const int end_row = last ? rows + Form::Halo : min(stored_row + Form::UsefulRows, rows - Form::Halo);
        const bool stored = x >= begin_x && x < min(begin_x + Form::UsefulX, nx);
        const int seam = seam_x(origin_x), slot = (x - seam) / Form::Pack;

        own_placement.x = origin_x - Form::Margin;
        own_placement.row = origin_row;
        target = job.to.samples + wrapped(row, rows) * job.to.pitch + x;
        edge_bits = x >= seam && slot < Form::Slots ? static_cast<unsigned>(slot) + 1 : 0;
#pragma unroll
        for (int r = 0; r < Form::Rows; r++)
            note(stored && row + r >= stored_row && row + r < end_row, TMA_STORED << r << TMA_LATER);
        sides = seam < origin_x + Form::Width;
    }

    /* Where the packs of a tile begin that do not stand together in the field; or somewhere beyond the tile.
     */
    CUDA_INLINE int seam_x(int origin_x) const
    {
        return origin_x < 0 ? origin_x : job.from.nx / Form::Pack * Form::Pack;
    }

    static CUDA_INLINE int wrapped(int index, int extent)
    {
        return cuda_near_index(EDGE_WRAP, index, extent);
    }

    CUDA_INLINE void note(bool seen, unsigned what)
    {
        edge_bits |= seen ? what : 0;
    }
    CUDA_INLINE bool at_edge(unsigned what) const
    {
        return (edge_bits_anew() & what) != 0;
    }
    CUDA_INLINE unsigned edge_bits_anew() const
    {
        unsigned seen = edge_bits;

        cuda_launder(&seen);
        return seen;
    }

    CUDA_INLINE void find_sides(int x, int row)
    {
        const int nx = job.from.nx;

        note(row == 0, TMA_TOP);
        note(row + Form::Rows == job.from.rows, TMA_BOTTOM);
        note(x == 0, TMA_FIRST);
        note(x < nx && x + Form::Pack >= nx, TMA_LAST << (nx - 1) % Form::Pack);
    }

    CUDA_INLINE void find_ends(long long begin, long long end)
    {
        const int never = 0x40000000;
        const long long extent = job.from.planes;
        const long long plane = Form::Wraps || begin > Form::Halo ? begin - Form::Halo : 0;

        own_placement.first_step = Form::Wraps || plane > 0 ? -never : 0;
        own_placement.last_step =
            Form::Wraps || extent - 1 - plane > never ? never : static_cast<int>(extent - 1 - plane);
        own_placement.first_store = static_cast<int>(begin - plane) + Form::StoreDelay;
        own_placement.steps = static_cast<int>(end - plane) + Form::StoreDelay;
        own_placement.first = static_cast<int>(Form::Wraps ? plane : plane - job.from.first);
        target += job.to.row(plane - Form::StoreDelay, own_placement.channel, 0) - job.to.samples;
    }

    CUDA_INLINE T outside() const
    {
        return job.rule == TMA_CONSTANT ? job.outside[placement().channel] : T(0);
    }

    /* ---- arrival ---- */

    /* This thread's first pack of a stage as its box brings it; and as the grid goes on. */
    CUDA_INLINE T *own(int number) const
    {
        return stages + number * Form::StageSamples + Form::Margin + warp * Form::Rows * Form::Pitch +
               lane * Form::Pack;
    }
    template <enum tma_edges Edges> CUDA_INLINE const T *own(int number) const
    {
        const int slot = static_cast<int>(edge_bits_anew() & TMA_SLOT);

        return Form::Wraps && Edges != TMA_INSIDE && slot != 0 ? seam(number, slot - 1) : own(number);
    }

    static CUDA_INLINE int stage_after(int number, int by)
    {
        return (number + by) % Form::Stages;
    }

    /* Send for the plane that a step will take, to a stage that nobody reads any more. What a field does not
       hold arrives as zeros. */
    CUDA_INLINE void fetch(int step, int to_stage) const
    {
        if (warp != 0 || lane != 0 || step >= placement().steps)
            return;
        if constexpr (Form::Wraps)
            fetch_wrapped(step, to_stage);
        else
            cuda_fetch_box(stages + to_stage * Form::StageSamples, &job.boxes,
                           {placement().x, placement().row, placement().channel, placement().first + step},
                           barriers + to_stage, Form::BoxBytes);
    }

    /* The plane that a step takes, counted from the field's first, where planes wrap. */
    CUDA_INLINE int wrapped_plane(int step) const
    {
        return wrapped(placement().first + step, static_cast<int>(job.from.planes)) -
               static_cast<int>(job.from.first);
    }

    CUDA_INLINE T *seams() const
    {
        return reinterpret_cast<T *>(barriers) + Form::StageBytes / sizeof(T) -
               Form::Stages * Form::StageSamples;
    }
    CUDA_INLINE int *seam_sources() const
    {
        return reinterpret_cast<int *>(seams() + Form::SeamSamples);
    }

    /* A lane fetches one sample of its warp's seam, in the order slot, row, column. */
    CUDA_INLINE void find_seam() const
    {
        const int slot = lane / (Form::Rows * Form::Pack), r = lane / Form::Pack % Form::Rows;
        const int x = wrapped(seam_x(placement().x + Form::Margin) + slot * Form::Pack + lane % Form::Pack,
                              job.from.nx);
        const int row = wrapped(placement().row + warp * Form::Rows + r, job.from.rows);

        seam_sources()[threadIdx.x] =
            sides && slot < Form::Slots ? static_cast<int>(row * job.from.pitch) + x : -1;
    }

    /* The warp's first pack in a slot of a stage. */
    CUDA_INLINE T *seam(int number, int slot) const
    {
        return seams() + warp * Form::Rows * Form::Pitch + (number * Form::Slots + slot) * Form::Pack;
    }

    CUDA_INLINE void fetch_seam(int step, int to_stage) const
    {
        const int source = seam_sources()[threadIdx.x];

        if (source >= 0 && step < placement().steps)
            cuda_copy_async<sizeof(T)>(seam(to_stage, lane / (Form::Rows * Form::Pack)) +
                                           lane / Form::Pack % Form::Rows * Form::Pitch + lane % Form::Pack,
                                       job.from.samples +
                                           (wrapped_plane(step) * job.from.channels + placement().channel) *
                                               (job.from.rows * job.from.pitch) +
                                           source);
        cuda_commit_copies();
    }

    CUDA_INLINE void fetch_wrapped(int step, int to_stage) const
    {
        constexpr int LastRows = Form::Height - Form::WrappedRows;
        constexpr unsigned FirstBytes = Form::BoxBytes / Form::Height * Form::WrappedRows;
        T *const to = stages + to_stage * Form::StageSamples;
        const cuda_box_place place = {placement().x, placement().row, placement().channel,
                                      wrapped_plane(step)};

        if (place.row + Form::Height <= job.from.rows) {
            cuda_fetch_box(to, &job.boxes, place, barriers + to_stage, Form::BoxBytes);
            return;
        }
        cuda_fetch_box(to, &job.last_rows, place, barriers + to_stage, Form::BoxBytes - FirstBytes);
        cuda_fetch_box(to + LastRows * Form::Pitch, &job.first_rows, {place.x, 0, place.channel, place.plane},
                       barriers + to_stage, FirstBytes);
    }

    CUDA_INLINE void arrive() const
    {
        cuda_barrier_arrive(barriers + stage_after(stage, 1));
    }

    /* The step's plane is there, its seams excepted, and all have arrived. */
    template <enum tma_edges Edges> CUDA_INLINE void await()
    {
        launder_place();
        cuda_barrier_await(barriers + stage, parity);
        fetch(now + Form::Ahead, stage_after(stage, Form::Ahead));
        if (Form::Wraps && Edges != TMA_INSIDE)
            fetch_seam(now + Form::Ahead, stage_after(stage, Form::Ahead));
    }

    /* Addresses of the thread's own, which the registers do not hold besides all else. */
    CUDA_INLINE void launder_place()
    {
        cuda_launder(&lane);
        cuda_launder(&warp);
        cuda_launder(&stage);
    }

    CUDA_INLINE void go_on()
    {
        const int next = stage_after(stage, 1);

        now++;
        target += job.to.plane_stride();
        parity ^= next == 0 ? 1 : 0;
        stage = next;
    }

    CUDA_INLINE void start()
    {
        if (warp == 0 && lane < Form::Stages)
            cuda_barrier_create(barriers + lane, Form::Threads);
        cuda_barriers_created();
#pragma unroll
        for (int n = 0; n < Form::Ahead; n++)
            fetch(n, n);
        cuda_barrier_arrive(barriers);
#pragma unroll
        for (int n = 0; n < Form::Ahead && Form::Wraps; n++)
            fetch_seam(n, n);
    }

    /* ---- departure ---- */

    CUDA_INLINE void begin_storing()
    {
        edge_bits |= edge_bits >> TMA_LATER;
    }
    CUDA_INLINE bool stores() const
    {
        return now >= placement().first_store && now < placement().steps;
    }

    template <enum tma_edges Edges> CUDA_INLINE void store(int r, const pack &value) const
    {
        cuda_store_past((Edges == TMA_INSIDE || (Edges == TMA_SIDES && !Form::Wraps) || stores()) &&
                            (edge_bits_anew() & TMA_STORED << r) != 0,
                        target + r * job.to.pitch, value);
    }

    /* ---- packs ---- */

    static CUDA_INLINE void clear(pack (&levels)[Form::FusedSteps][Form::Rows])
    {
#pragma unroll
        for (int l = 0; l < Form::FusedSteps; l++) {
#pragma unroll
            for (int r = 0; r < Form::Rows; r++)
                cuda_fill(levels[l][r], T(0));
        }
    }

    /* The steps come two at a time. */
    static CUDA_INLINE int even_above(int number)
    {
        return (number + 1) / 2 * 2;
    }
    static CUDA_INLINE int even_below(int number)
    {
        return number / 2 * 2;
    }
};

/* Two steps at a time, so that what a walk keeps of its two last planes changes its role and not its
   registers. */
template <enum tma_edges Edges, typename Walk> CUDA_INLINE void tma_advance(Walk &walk, int until)
{
#pragma unroll 1
    while (walk.now < until) {
        walk.template step<Edges, 0>(walk.one, walk.other);
        walk.template step<Edges, 1>(walk.other, walk.one);
    }
}

/* Three parts: until planes are stored and all levels are past what the grid's first planes need; until some
   level comes to the last plane, or all planes are stored; and the rest. A chunk that begins within the grid
   and ends nowhere near it sees no end in the first part, which then stores nothing. Walk: a tma_walk with
   `one` and `other`, what it keeps of planes by turns, and step<Edges, Turn>(older, newer). */
template <typename Form, typename Walk> CUDA_INLINE void tma_run(Walk &walk)
{
    const int first_store = walk.placement().first_store, steps = walk.placement().steps;
    const int entered = Walk::even_above(
        walk.placement().first_step == 0 ? max(first_store, Form::StoreDelay + Form::Radius) : first_store);
    const int ending = Walk::even_below(min(steps, walk.placement().last_step + Form::FoldDelay));
    const int left = max(ending, entered);
    const bool within = Form::FirstStoreIsEven && walk.placement().first_step != 0 && ending >= entered;

    if (!within)
        walk.begin_storing();
    walk.start();
#pragma unroll 1
    for (int part = 0; part < 3; part++) {
        walk.launder_place();
        const int until = part == 0 ? entered : part == 1 ? left : steps;
        if (part == 1 && within)
            walk.begin_storing();
        const bool ends = part == 2 || (part == 0 && !within);
        if (ends && !Form::Wraps)
            tma_advance<TMA_ENDS>(walk, until);
        else if (walk.sides || (ends && Form::Wraps))
            tma_advance<TMA_SIDES>(walk, until);
        else
            tma_advance<TMA_INSIDE>(walk, until);
    }
}

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, 1) tma_kernel(const __grid_constant__ typename Form::job job)
{
    CUDA_SHARED(typename Form::T, shared);

    CUDA_WHERE_SERVED (Form) {
        typename Form::walk walk(job, shared);
        tma_run<Form>(walk);
    }
}

/* Whether walks know what stands outside a grid: a mirror and a reflection need as many samples as the taps
   reach. */
static inline bool tma_has_edges(const struct op *op, size_t radius, const struct shape *shape)
{
    const enum tma_rule rule = tma_rule_of(op, static_cast<int>(radius));

    return rule == TMA_NEAREST || rule == TMA_WRAP || (shape->nx > radius && shape->planes > radius);
}

template <typename Form> static inline cudaError_t tma_launch(const struct cuda_job *from)
{
    const struct op *op = from->op->op;
    typename Form::job job = typename Form::job();

    job.rule = tma_rule_of(op, Form::Radius);
    job.outside = static_cast<const typename Form::T *>(from->op->outside);
    job.hold = op->edge == EDGE_HOLD;
    cuda_copy_weights(op, job.weights);
    const struct cuda_boxed_field field =
        cuda_boxed(*static_cast<const cuda_view<typename Form::T> *>(from->from));
    cudaError_t status = cuda_map_boxes(&job.boxes, &field, Form::Pitch, Form::Height, 1);
    if constexpr (Form::Wraps) {
        if (status == cudaSuccess)
            status = cuda_map_boxes(&job.last_rows, &field, Form::Pitch, Form::Height - Form::WrappedRows, 1);
        if (status == cudaSuccess)
            status = cuda_map_boxes(&job.first_rows, &field, Form::Pitch, Form::WrappedRows, 1);
    }
    if (status != cudaSuccess)
        return status;
    return cuda_march_launch<Form>(from, &job, tma_kernel<Form>, Form::Wraps, from->form->resident_blocks);
}

/* A walk as rung `fused` finds it. Walk has Steps, Radius, the share of its peak that a device Reached in it
   (0: what it reaches in other chains), is_for(op), and choose<T>(op, nx, act), which calls act with the form
   for rows of nx samples. */
template <typename Walk> struct tma_fused {
    template <typename Act> static auto choose(const struct op *op, size_t nx, Act act)
    {
        return cuda_with_work(
            op->work, [=](auto sample) { return Walk::template choose<decltype(sample)>(op, nx, act); });
    }

    /* Whether the code and the shared memory of its form are there, it takes such rows, and the grid is as
       high as the tile. */
    static bool serves(const struct cuda_limits *limits, const struct op *op, const struct shape *shape)
    {
        return Walk::is_for(op) && tma_has_edges(op, Walk::Radius, shape) &&
               choose(op, shape->nx, [=](auto chosen) {
                   using Form = decltype(chosen);
                   return Form::serves(limits->code) && Form::SharedBytes <= limits->shared_per_block &&
                          Form::takes(shape->nx) && shape->rows >= static_cast<size_t>(Form::Height);
               });
    }

    static void describe(const struct cuda_question *asked, struct cuda_form *form)
    {
        choose(asked->op, asked->shape->nx, [=](auto chosen) {
            using chosen_form = decltype(chosen);
            cuda_march_describe<chosen_form>(asked, form, tma_kernel<chosen_form>, chosen_form::Wraps);
        });
        form->reached = Walk::Reached;
    }

    static cudaError_t launch(const struct cuda_job *job)
    {
        return choose(job->op->op, cuda_shape_of(job).nx,
                      [=](auto form) { return tma_launch<decltype(form)>(job); });
    }

    static constexpr struct fused_walk with(bool (*pays)(const struct cuda_question *asked,
                                                         const struct cuda_form *form))
    {
        return {Walk::Steps, serves, describe, pays, launch};
    }
};

#endif
