/* The walk of rung `resident`, whose card stands in cuda_resident.cu: a block takes its tile of a volume
 * through many steps, in registers. */
#ifndef CUDA_RESIDENT_CUH
#define CUDA_RESIDENT_CUH

#include "cuda_tma_walk.cuh"

#define RESIDENT_MOST_THREADS 512 /* which leaves each 128 registers */

/* Signals lie in lines of their own: whoever polls one does not slow who raises another. */
#define RESIDENT_SIGNAL_STRIDE 32

/* The most planes of a thread. In f64, addresses and sums take registers that planes have in f32; for 10.0
   and later ptxas needs more, too. */
static __host__ __device__ constexpr int resident_most_planes(size_t sample_bytes, int code)
{
    return sample_bytes == 8 ? 11 : code >= 100 ? 13 : 15;
}

/* What a launch shares out: `rows` and `planes` in so many ranges each, for each channel. */
struct resident_cut {
    int tiles_row, tiles_plane;
    int depth; /* steps between exchanges, and planes and rows of another tile that a tile has beside it */
};

/* Planes: the most of a thread. */
template <typename Type, tma_rule Rule_, int Planes_> struct resident_form {
    using T = Type;
    static constexpr tma_rule Rule = Rule_;
    static constexpr int Planes = Planes_;
    static constexpr int Pack = cuda_pack_of<T>::samples;

    /* A thread shows all its planes to the threads of other rows. Of each plane there is room for what stands
       outside. */
    static constexpr int ShownPlane = (RESIDENT_MOST_THREADS + 1) * Pack;
    static constexpr size_t SharedBytes = Planes * ShownPlane * sizeof(T);

    static __host__ __device__ constexpr bool serves(int code)
    {
        return Planes == resident_most_planes(sizeof(T), code);
    }
};

template <typename T> struct resident_job {
    cuda_view<T> from, to;
    T *borders; /* two fields of whole packs, of the planes that are computed */
    unsigned *signals;
    T weights[7]; /* in raster order */
    bool hold;
    const T *outside; /* TMA_CONSTANT: a value a channel */
    int steps;
    int packs; /* of a row */
    struct resident_cut cut;
    int begin, end;               /* planes that are computed, of the grid */
    int stored_begin, stored_end; /* of them, those that are wanted */
};

/* A range of a tile: what is its own of `extent`, and with what it overlaps. */
struct resident_span {
    int own, own_end;
    int begin, end;

    CUDA_INLINE resident_span(int index, int tiles, int depth, int extent)
        : own(static_cast<int>(static_cast<long long>(index) * extent / tiles)),
          own_end(static_cast<int>(static_cast<long long>(index + 1) * extent / tiles)),
          begin(max(own - depth, 0)), end(min(own_end + depth, extent))
    {
    }

    /* What is right after so many steps since the last exchange: less by one a step, but at the ends. */
    CUDA_INLINE int right_begin(int steps) const
    {
        return begin == 0 ? 0 : begin + steps;
    }
    CUDA_INLINE int right_end(int steps, int extent) const
    {
        return end == extent ? extent : end - steps;
    }

    /* Whether others read an index that is its own. */
    CUDA_INLINE bool is_read(int index, int depth, int extent) const
    {
        return (own > 0 && index < own + depth) || (own_end < extent && index >= own_end - depth);
    }
    CUDA_INLINE bool owns(int index) const
    {
        return index >= own && index < own_end;
    }
};

template <typename Form> struct resident_walk {
    using T = typename Form::T;
    static constexpr int Pack = Form::Pack, Planes = Form::Planes;
    using pack = T[Pack];

    const resident_job<T> &job;
    T *const shown;
    const int thread, lane, warp;
    const int tile_row, tile_plane, channel;
    const resident_span rows, planes; /* planes: counted from job.begin */
    const int x, row;                 /* of this thread's packs; the row may lie beyond the tile */
    const int last;                   /* the grid's last column, counted from x */
    pack state[Planes];               /* planes.begin and on */

    CUDA_INLINE resident_walk(const resident_job<T> &job_, T *shared)
        : job(job_), shown(shared), thread(static_cast<int>(threadIdx.x)), lane(thread % CUDA_WARP),
          warp(thread / CUDA_WARP), tile_row(static_cast<int>(blockIdx.x)),
          tile_plane(static_cast<int>(blockIdx.y)), channel(static_cast<int>(blockIdx.z)),
          rows(tile_row, job.cut.tiles_row, job.cut.depth, job.from.rows),
          planes(tile_plane, job.cut.tiles_plane, job.cut.depth, job.end - job.begin),
          x(thread % job.packs * Pack), row(rows.begin + thread / job.packs), last(job.from.nx - 1 - x)
    {
    }

    CUDA_INLINE int extent() const
    {
        return job.end - job.begin;
    }
    CUDA_INLINE bool exists() const
    {
        return row < rows.end;
    }
    /* Of the grid's planes, whose ends are its edges. */
    CUDA_INLINE bool is_first(int plane) const
    {
        return job.begin + plane == 0;
    }
    CUDA_INLINE bool is_last(int plane) const
    {
        return job.begin + plane + 1 == job.from.planes;
    }

    static CUDA_INLINE void copy(pack &to, const pack &from)
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            to[j] = from[j];
    }
    static CUDA_INLINE void put(T *to, const pack &from)
    {
        *reinterpret_cast<typename cuda_pack_of<T>::vector *>(to) = cuda_pack(from);
    }

    /* ---- between blocks ---- */

    /* This thread's pack of a plane in one of the two fields of borders. */
    CUDA_INLINE T *border(int plane, unsigned round) const
    {
        const long long planes_before =
            (round % 2 * static_cast<long long>(extent()) + plane) * job.from.channels + channel;

        return job.borders + ((planes_before * job.from.rows + row) * job.packs) * Pack + x;
    }

    CUDA_INLINE void publish(unsigned round) const
    {
        const bool read = rows.is_read(row, job.cut.depth, job.from.rows);

#pragma unroll
        for (int p = 0; p < Planes; p++) {
            const int plane = planes.begin + p;
            if (rows.owns(row) && planes.owns(plane) &&
                (read || planes.is_read(plane, job.cut.depth, extent())))
                put(border(plane, round), state[p]);
        }
    }

    CUDA_INLINE void receive(unsigned round)
    {
#pragma unroll
        for (int p = 0; p < Planes; p++) {
            const int plane = planes.begin + p;
            if (exists() && plane < planes.end && !(rows.owns(row) && planes.owns(plane)))
                cuda_load_signalled(border(plane, round), state[p]);
        }
    }

    CUDA_INLINE unsigned *signal_of(int of_row, int of_plane) const
    {
        const int tiles_before = (channel * job.cut.tiles_plane + of_plane) * job.cut.tiles_row + of_row;

        return job.signals + tiles_before * RESIDENT_SIGNAL_STRIDE;
    }

    /* One thread for each of the nine tiles around. */
    CUDA_INLINE void await_neighbours(unsigned round) const
    {
        const int of_row = tile_row + thread % 3 - 1, of_plane = tile_plane + thread / 3 - 1;

        if (thread < 9 && of_row >= 0 && of_row < job.cut.tiles_row && of_plane >= 0 &&
            of_plane < job.cut.tiles_plane)
            cuda_await_signal(signal_of(of_row, of_plane), round);
    }

    CUDA_INLINE void exchange(unsigned round)
    {
        publish(round);
        __syncthreads();
        if (thread == 0)
            cuda_raise_signal(signal_of(tile_row, tile_plane), round);
        await_neighbours(round);
        __syncthreads();
        receive(round);
    }

    /* ---- between threads ---- */

    CUDA_INLINE T *shown_plane(int p) const
    {
        return shown + p * Form::ShownPlane;
    }

    /* Where a constant stands in a shown plane. */
    static constexpr int beyond = RESIDENT_MOST_THREADS * Pack;

    CUDA_INLINE T outside() const
    {
        return Form::Rule == TMA_CONSTANT ? job.outside[channel] : T(0);
    }

    CUDA_INLINE void show_outside() const
    {
        pack constant;

#pragma unroll
        for (int j = 0; j < Pack; j++)
            constant[j] = outside();
        if (Form::Rule == TMA_CONSTANT && thread < Planes)
            put(shown_plane(thread) + beyond, constant);
    }

    CUDA_INLINE void show() const
    {
#pragma unroll
        for (int p = 0; p < Planes; p++) {
            if (planes.begin + p < planes.end)
                put(shown_plane(p) + thread * Pack, state[p]);
        }
    }

    /* What the neighbouring packs of the row have next to this one. Of a row's ends, and of threads without a
       pack, anything. */
    CUDA_INLINE T left_of(int p) const
    {
        const T beside = __shfl_up_sync(CUDA_ALL_LANES, state[p][Pack - 1], 1);

        return lane > 0 || warp == 0 ? beside : shown_plane(p)[thread * Pack - 1];
    }
    CUDA_INLINE T right_of(int p) const
    {
        const T beside = __shfl_down_sync(CUDA_ALL_LANES, state[p][0], 1);

        return lane < CUDA_WARP - 1 || thread + 1 == static_cast<int>(blockDim.x)
                   ? beside
                   : shown_plane(p)[thread * Pack + Pack];
    }

    /* Where the rows above and below stand in a shown plane. Those of the tile's border read themselves: they
       come out wrong, and are not used. */
    CUDA_INLINE int place_beside(int step) const
    {
        const int beside = row + step;
        const bool out = beside < 0 || beside >= job.from.rows;
        const int from = thread + (!out ? step : Form::Rule == TMA_MIRROR ? -step : 0) * job.packs;

        if (out && Form::Rule == TMA_CONSTANT)
            return beyond;
        return (from < 0 || from >= static_cast<int>(blockDim.x) ? thread : from) * Pack;
    }

    /* ---- a step ---- */

    /* What stands outside next to `own`, whose neighbour on the other side is `opposite`. */
    CUDA_INLINE T ghost(T own, T opposite) const
    {
        return Form::Rule == TMA_CONSTANT ? outside() : Form::Rule == TMA_MIRROR ? opposite : own;
    }
    CUDA_INLINE void ghost_pack(pack &to, const pack &own, const pack &opposite) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            to[j] = ghost(own[j], opposite[j]);
    }

    static CUDA_INLINE void choose(T &value, bool other, T otherwise)
    {
        const T one = cuda_in_register(value), two = cuda_in_register(otherwise);

        value = other ? two : one;
    }

    /* A pack with its neighbours in x, the first and the last one. */
    CUDA_INLINE void widen(T (&wide)[Pack + 2], int p) const
    {
        wide[0] = left_of(p);
        wide[Pack + 1] = right_of(p);
#pragma unroll
        for (int j = 0; j < Pack; j++)
            wide[j + 1] = state[p][j];
        choose(wide[0], x == 0, ghost(wide[1], wide[2]));
#pragma unroll
        for (int j = 0; j < Pack; j++)
            choose(wide[j + 2], j == last, ghost(wide[j + 1], wide[j]));
    }

    CUDA_INLINE void chain(pack &sum, const pack &before, const pack &above, const T (&wide)[Pack + 2],
                           const pack &below, const pack &after) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++) {
            T value = cuda_fma(job.weights[1], above[j], job.weights[0] * before[j]);
            value = cuda_fma(job.weights[2], wide[j], value);
            value = cuda_fma(job.weights[3], wide[j + 1], value);
            value = cuda_fma(job.weights[4], wide[j + 2], value);
            value = cuda_fma(job.weights[5], below[j], value);
            sum[j] = cuda_fma(job.weights[6], after[j], value);
        }
    }
    /* Samples with a tap outside the grid keep their values. */
    CUDA_INLINE void hold(pack &fresh, int p) const
    {
        const int plane = planes.begin + p;
        const bool all = is_first(plane) || is_last(plane) || row == 0 || row + 1 == job.from.rows;

#pragma unroll
        for (int j = 0; j < Pack; j++) {
            if (all || (j == 0 && x == 0) || j == last)
                fresh[j] = state[p][j];
        }
    }

    /* A plane of the thread; `before` is what the one before it was, and becomes what this one was. */
    CUDA_INLINE void advance_plane(int p, pack &before, int above_at, int below_at)
    {
        const int next = p + 1 < Planes ? p + 1 : p, plane = planes.begin + p;
        T wide[Pack + 2];
        pack above, below, after, fresh;

        widen(wide, p);
        copy(after, state[next]);
        if (is_last(plane))
            ghost_pack(after, state[p], before);
        cuda_load_packs<Pack>(shown_plane(p) + above_at, above);
        cuda_load_packs<Pack>(shown_plane(p) + below_at, below);
        chain(fresh, before, above, wide, below, after);
        if (job.hold)
            hold(fresh, p);
        copy(before, state[p]);
        copy(state[p], fresh);
    }

    /* `taken` steps after an exchange. Planes that are no longer right are left alone. */
    CUDA_INLINE void advance(int taken)
    {
        const int begin = planes.right_begin(taken + 1), end = planes.right_end(taken + 1, extent());
        const int above_at = place_beside(-1), below_at = place_beside(1);
        pack before;

        ghost_pack(before, state[0], state[1]);
#pragma unroll
        for (int p = 0; p < Planes; p++) {
            if (planes.begin + p >= begin && planes.begin + p < end)
                advance_plane(p, before, above_at, below_at);
            else
                copy(before, state[p]);
        }
    }

    /* Whether a lane of the warp has a row that is right after the step. */
    CUDA_INLINE bool has_work(int taken) const
    {
        return __any_sync(CUDA_ALL_LANES, row >= rows.right_begin(taken + 1) &&
                                              row < rows.right_end(taken + 1, job.from.rows)) != 0;
    }

    CUDA_INLINE void step(int taken)
    {
        show();
        __syncthreads();
        if (has_work(taken))
            advance(taken);
        __syncthreads();
    }

    /* ---- from the first step to the last ---- */

    CUDA_INLINE void load()
    {
#pragma unroll
        for (int p = 0; p < Planes; p++) {
#pragma unroll
            for (int j = 0; j < Pack; j++)
                state[p][j] = T(0);
            if (exists() && planes.begin + p < planes.end)
                cuda_load_packs<Pack>(job.from.row(job.begin + planes.begin + p, channel, row) + x, state[p]);
        }
    }

    CUDA_INLINE void store() const
    {
#pragma unroll
        for (int p = 0; p < Planes; p++) {
            const int plane = job.begin + planes.begin + p;
            if (rows.owns(row) && planes.owns(planes.begin + p) && plane >= job.stored_begin &&
                plane < job.stored_end)
                put(job.to.row(plane, channel, row) + x, state[p]);
        }
    }

    CUDA_INLINE void run()
    {
        unsigned round = 0;
        int taken = 0;

        show_outside();
        load();
#pragma unroll 1
        for (int done = 0; done < job.steps; done++) {
            if (taken == job.cut.depth) {
                exchange(++round);
                taken = 0;
            }
            step(taken++);
        }
        store();
    }
};

template <typename Form>
__global__ void __launch_bounds__(RESIDENT_MOST_THREADS, 1)
    resident_kernel(const __grid_constant__ resident_job<typename Form::T> job)
{
    CUDA_SHARED(typename Form::T, shared);

    if (!cuda_code_has<Form>())
        return;
    resident_walk<Form> walk(job, shared);
    walk.run();
}

#endif
