/* The walk of joined passes: taps along x, along the rows and along the planes of a volume, in one trip
 * through memory. Each pass rounds to the work type and applies the edge rule along its own axis, as if what
 * it leaves were stored.
 *
 * A block streams along the planes with a tile, 32 packs of 16 bytes wide. A warp brings whole rows of an
 * arriving plane into shared memory, as many beyond the tile as the window reaches, and gives each its taps
 * along x; the rows that come out stand in shared memory, too. From there a thread reads the column of a few
 * samples that lie below each other, gives them their taps along the rows, and these values to the sums that
 * it has open along the planes, one for each tap and sample: the plane that arrives closes the oldest.
 *
 * While the rows of one plane are taken up, those of the next come to be: one barrier a plane. What lies
 * outside the grid is brought by the edge rule, so that the passes know of no edge: a row above the grid is
 * another row of the plane, whose taps along x give the same values as that row's. Where the rule has a
 * constant there is nothing to bring, and rows and planes are of that constant after each pass. */
#ifndef CUDA_SEPARABLE_3D_CUH
#define CUDA_SEPARABLE_3D_CUH

#include "kernels/cuda/shared/cuda_row_ring.cuh"
#include "kernels/cuda/shared/cuda_march_common.cuh"

/* The shape of a walk: how far all three windows reach, and the samples below each other of a thread. */
template <typename Type, int Radius_, int Samples_, int Warps_> struct separable_form {
    using T = Type;
    static constexpr int Radius = Radius_, Samples = Samples_, Taps = 2 * Radius + 1;
    static constexpr int Warps = Warps_, Threads = Warps * CUDA_WARP;
    static constexpr int Pack = cuda_pack_of<T>::samples;
    static constexpr int Columns = CUDA_WARP * Pack; /* of the tile */
    static constexpr int Wide = 8 / sizeof(T);       /* columns of a thread along the rows and planes */
    static constexpr int Across = Pack / Wide;       /* warps side by side */
    static constexpr int Rows = Warps / Across * Samples;
    static constexpr int Before = (Radius + Pack - 1) / Pack * Pack; /* columns that are brought beside it */
    static constexpr int Pitch = Before + Columns + Before;
    static constexpr int Window = Rows + 2 * Radius;           /* rows that are brought */
    static constexpr int Turns = (Window + Warps - 1) / Warps; /* by a warp */
    static constexpr bool Roomy = Warps <= 12;                 /* a thread has over 128 registers */
    static constexpr bool StoresWhole = Roomy || sizeof(T) == sizeof(float);
    static constexpr int Stages = 3; /* planes that are brought at a time */
    static constexpr int StageSamples = Window * Pitch, PassedSamples = Window * Columns;
    static constexpr size_t SharedBytes = sizeof(T) * (Stages * StageSamples + 2 * PassedSamples);

    /* Its shared memory and asynchronous copies are those of 8.0, 8.7, 9.0 and 10.x. */
    static __host__ __device__ constexpr bool serves(int code)
    {
        return code == 80 || code == 87 || (code >= 90 && code < 110);
    }
};

template <typename Form> struct separable_job {
    using T = typename Form::T;

    cuda_view<T> from, to;
    cuda_edge<T> edge;
    int first, end; /* planes to compute */
    int chunk;      /* planes a block computes */
    int chunks;
    long long to_stride;                                 /* samples from a plane to the next */
    T x[Form::Taps], row[Form::Taps], plane[Form::Taps]; /* weights */
};

template <typename Form> struct separable_walk {
    using T = typename Form::T;
    static constexpr int Radius = Form::Radius, Samples = Form::Samples, Taps = Form::Taps;
    static constexpr int Pack = Form::Pack, Before = Form::Before, Wide = Form::Wide;
    using part = T[Samples][Wide];
    struct alignas(8) beside {
        T values[Wide];
    };

    const separable_job<Form> &job;
    T *const stages, *const passed;
    const int lane, warp;
    int channel, x, row; /* of the tile's first sample */
    int begin, end;
    T outside;
    bool holds_x, holds_row;  /* the tile has samples that keep their value along that axis */
    int sources[Form::Turns]; /* where rows that the warp brings are in a plane; −1: nowhere */

    /* What the lane brings of a row, packs and a column that comes alone: whether, from which place in the
       row and to which in a stage, for the warp's first row. */
    bool brings_own, brings_side, brings_lone, has_lone;
    int own_from, side_from, lone_from, own_to, side_to, lone_to;

    int cells_at, passed_at, column_at; /* the thread's places in a stage, and among rows that have passed */
    T *target;                          /* of its first sample, in the plane that is closed next */
    int stored_columns, stored_rows;    /* of its samples those that are of the grid */
    T sums[Taps][Samples][Wide];

    CUDA_INLINE separable_walk(const separable_job<Form> &job_, T *shared)
        : job(job_), stages(shared), passed(shared + Form::Stages * Form::StageSamples),
          lane(static_cast<int>(threadIdx.x) % CUDA_WARP), warp(static_cast<int>(threadIdx.x) / CUDA_WARP),
          sums()
    {
        const int z = static_cast<int>(blockIdx.z);
        const bool holds = job.edge.rule == EDGE_HOLD;

        channel = z / job.chunks;
        x = static_cast<int>(blockIdx.x) * Form::Columns;
        row = static_cast<int>(blockIdx.y) * Form::Rows;
        begin = job.first + z % job.chunks * job.chunk;
        end = min(begin + job.chunk, job.end);
        outside = job.edge.rule == EDGE_CONSTANT ? job.edge.outside[channel] : T(0);
        holds_x = holds && (x < Radius || x + Form::Columns + Radius > job.from.nx);
        holds_row = holds && (row < Radius || row + Form::Rows + Radius > job.from.rows);
        find_rows();
        find_columns();
        find_places();
        find_stored();
    }

    /* Places are kept in registers, where there are enough: compilers would find them anew for each plane,
       from the thread's number. */
    CUDA_INLINE void find_places()
    {
        cells_at = warp * Form::Pitch + lane * Pack;
        passed_at = warp * Form::Columns + lane * Pack;
        column_at = own_row() * Form::Columns + own_column();
        if (!Form::Roomy)
            return;
        int *const places[] = {&own_from, &side_from, &lone_from, &own_to,   &side_to,
                               &lone_to,  &cells_at,  &passed_at, &column_at};
#pragma unroll
        for (int *place : places)
            cuda_launder(place);
    }

    /* ---- what is brought ---- */

    CUDA_INLINE void find_rows()
    {
#pragma unroll
        for (int turn = 0; turn < Form::Turns; turn++) {
            const int number = warp + turn * Form::Warps, y = row - Radius + number;
            const bool wanted = number < Form::Window && y < job.from.rows + Radius;
            const int source = wanted ? cuda_near_index(job.edge.rule, y, job.from.rows) : -1;

            sources[turn] = source < 0 ? -1 : source * static_cast<int>(job.from.pitch);
        }
    }

    /* Whether a pack that begins at a column of the grid is whole. */
    CUDA_INLINE bool is_whole(int column) const
    {
        return column >= 0 && column + Pack <= job.from.nx;
    }

    /* Columns outside the grid, and those of a pack that the grid's end divides, come one by one. */
    CUDA_INLINE void find_columns()
    {
        const int nx = job.from.nx, row_at = warp * Form::Pitch;
        const int own = Before + lane * Pack;
        const int side = lane * Pack < Before ? lane * Pack : Form::Columns + lane * Pack;
        const int lone = lane < Before ? lane - Before : nx / Pack * Pack + lane - Before;
        const int place = lone - x + Before;

        own_from = x - Before + own;
        own_to = row_at + own;
        brings_own = is_whole(own_from);
        side_from = x - Before + side;
        side_to = row_at + side;
        brings_side = side < Form::Pitch && is_whole(side_from);
        lone_from = lone < nx + Radius ? cuda_near_index(job.edge.rule, lone, nx) : -1;
        lone_to = row_at + place;
        brings_lone = lone_from >= 0 && place >= 0 && place < Form::Pitch;
        has_lone = x < Before || x + Form::Columns + Before > nx;
    }

    CUDA_INLINE int source_plane(int plane) const
    {
        const int planes = static_cast<int>(job.from.planes);

        if (plane >= end + Radius)
            return -1;
        return plane >= 0 && plane < planes ? plane : cuda_near_index(job.edge.rule, plane, planes);
    }

    /* Send for the warp's rows of a plane; false if there is none. */
    CUDA_INLINE bool fetch(int plane, T *stage) const
    {
        const int source = source_plane(plane);

        if (source >= 0) {
            const T *const rows = job.from.row(source, channel, 0);
#pragma unroll
            for (int turn = 0; turn < Form::Turns; turn++) {
                const bool there = sources[turn] >= 0;
                const T *const from = rows + sources[turn];
                T *const to = stage + turn * Form::Warps * Form::Pitch;
                cuda_copy_async_if<16>(there && brings_own, to + own_to, from + own_from);
                cuda_copy_async_if<16>(there && brings_side, to + side_to, from + side_from);
                if (has_lone)
                    cuda_copy_async_if<sizeof(T)>(there && brings_lone, to + lone_to, from + lone_from);
            }
        }
        cuda_commit_copies();
        return source >= 0;
    }

    /* ---- along x ---- */

    static CUDA_INLINE bool is_held(int place, int extent)
    {
        return place < Radius || place + Radius >= extent;
    }

    /* The first tap of a chain is a product. */
    static CUDA_INLINE T chained(int tap, T weight, T value, T chain)
    {
        return tap == 0 ? weight * value : cuda_fma(weight, value, chain);
    }

    /* All rows of the warp together, so that they share each weight; taps are taken pack by pack as they
       come, so that few values live. */
    CUDA_INLINE void pass_rows(const T *stage, T *to) const
    {
        T chains[Form::Turns][Pack];

#pragma unroll
        for (int first = 0; first < Before + Pack + Before; first += Pack) {
            T values[Form::Turns][Pack];
#pragma unroll
            for (int turn = 0; turn < Form::Turns; turn++)
                cuda_load_packs<Pack>(own_cells(stage, turn) + first, values[turn]);
#pragma unroll
            for (int k = 0; k < Pack; k++)
                chain_column(first + k, k, values, chains);
        }
#pragma unroll
        for (int turn = 0; turn < Form::Turns; turn++) {
            if (sources[turn] < 0)
                continue;
            if (holds_x)
                hold_columns(own_cells(stage, turn) + Before, chains[turn]);
            *reinterpret_cast<typename cuda_pack_of<T>::vector *>(
                to + passed_at + turn * Form::Warps * Form::Columns) = cuda_pack(chains[turn]);
        }
    }

    /* The lane's cells of a row of the warp; behind the last row of the window those of the one before it,
       whose chains are not stored. */
    CUDA_INLINE const T *own_cells(const T *stage, int turn) const
    {
        const bool exists =
            (turn + 1) * Form::Warps <= Form::Window || turn * Form::Warps + warp < Form::Window;

        return stage + cells_at + (exists ? turn : turn - 1) * Form::Warps * Form::Pitch;
    }

    CUDA_INLINE void chain_column(int column, int k, const T (&values)[Form::Turns][Pack],
                                  T (&chains)[Form::Turns][Pack]) const
    {
#pragma unroll
        for (int i = 0; i < Pack; i++) {
            const int tap = column - i - (Before - Radius);
            if (tap < 0 || tap >= Taps)
                continue;
#pragma unroll
            for (int turn = 0; turn < Form::Turns; turn++)
                chains[turn][i] = chained(tap, job.x[tap], values[turn][k], chains[turn][i]);
        }
    }

    CUDA_INLINE void hold_columns(const T *old, T (&values)[Pack]) const
    {
#pragma unroll
        for (int i = 0; i < Pack; i++) {
            if (is_held(x + lane * Pack + i, job.from.nx))
                values[i] = old[i];
        }
    }

    /* ---- along the rows and the planes ---- */

    CUDA_INLINE int own_column() const
    {
        return (warp % Form::Across * CUDA_WARP + lane) * Wide;
    }
    CUDA_INLINE int own_row() const
    {
        return warp / Form::Across * Samples;
    }

    CUDA_INLINE void find_stored()
    {
        stored_columns = min(job.from.nx - (x + own_column()), Wide);
        stored_rows = min(job.from.rows - (row + own_row()), Samples);
        target = job.to.row(begin, channel, row + own_row()) + x + own_column();
    }

    CUDA_INLINE void pass_columns(const T *rows, part &values) const
    {
        const T *const own = rows + column_at;

#pragma unroll
        for (int number = 0; number < Samples + 2 * Radius; number++) {
            const beside came = *reinterpret_cast<const beside *>(own + number * Form::Columns);
#pragma unroll
            for (int o = 0; o < Samples; o++) {
                const int tap = number - o;
                if (tap < 0 || tap >= Taps)
                    continue;
#pragma unroll
                for (int i = 0; i < Wide; i++)
                    values[o][i] = chained(tap, job.row[tap], came.values[i], values[o][i]);
            }
        }
        if (holds_row)
            hold_rows(own + Radius * Form::Columns, values);
    }

    CUDA_INLINE void hold_rows(const T *old, part &values) const
    {
#pragma unroll
        for (int o = 0; o < Samples; o++) {
#pragma unroll
            for (int i = 0; i < Wide; i++) {
                if (is_held(row + own_row() + o, job.from.rows))
                    values[o][i] = old[o * Form::Columns + i];
            }
        }
    }

    /* The sums move to the place before theirs. */
    CUDA_INLINE void chain_planes(const part &values)
    {
#pragma unroll
        for (int j = 0; j < Taps; j++) {
#pragma unroll
            for (int o = 0; o < Samples; o++) {
#pragma unroll
                for (int i = 0; i < Wide; i++)
                    sums[j][o][i] = cuda_fma(job.plane[Taps - 1 - j], values[o][i],
                                             j + 1 < Taps ? sums[(j + 1) % Taps][o][i] : -T(0));
            }
        }
    }

    static CUDA_INLINE void store_row(T *to, const T (&values)[Wide])
    {
        beside going;

#pragma unroll
        for (int i = 0; i < Wide; i++)
            going.values[i] = values[i];
        *reinterpret_cast<beside *>(to) = going;
    }

    CUDA_INLINE void store(T *to, const part &values) const
    {
#pragma unroll
        for (int o = 0; o < Samples; o++) {
            if (o < stored_rows && stored_columns == Wide)
                store_row(to, values[o]);
            else if (o < stored_rows && stored_columns > 0)
                to[0] = values[o][0];
            to += job.to.pitch;
        }
    }

    CUDA_INLINE void store_whole(T *to, const part &values) const
    {
#pragma unroll
        for (int o = 0; o < Samples; o++) {
            store_row(to, values[o]);
            to += job.to.pitch;
        }
    }

    /* Under `hold` the first and last planes are what came; what has been closed for them is not stored. */
    CUDA_INLINE void store_ready(int plane, const part &values)
    {
        const bool holds = job.edge.rule == EDGE_HOLD;
        const int closed = plane - Radius, planes = static_cast<int>(job.from.planes);

        if (holds && plane >= begin && plane < end && is_held(plane, planes))
            store(target + (plane - max(closed, begin)) * job.to_stride, values);
        if (closed < begin)
            return;
        if (Form::StoresWhole && stored_columns == Wide && stored_rows == Samples && !holds)
            store_whole(target, sums[0]);
        else if (!holds || !is_held(closed, planes))
            store(target, sums[0]);
        target += job.to_stride;
    }

    CUDA_INLINE void take(int plane, bool came, const T *rows)
    {
        part values;

        if (came) {
            pass_columns(rows, values);
        } else {
#pragma unroll
            for (int o = 0; o < Samples; o++) {
#pragma unroll
                for (int i = 0; i < Wide; i++)
                    values[o][i] = outside;
            }
        }
        chain_planes(values);
        store_ready(plane, values);
    }

    /* ---- the walk ---- */

    /* What no row brings is of the constant. */
    CUDA_INLINE void fill() const
    {
        for (int i = static_cast<int>(threadIdx.x);
             i < Form::Stages * Form::StageSamples + 2 * Form::PassedSamples; i += Form::Threads)
            stages[i] = outside;
        __syncthreads();
    }

    static CUDA_INLINE int next_stage(int stage)
    {
        return stage == Form::Stages - 1 ? 0 : stage + 1;
    }

    /* Of the plane that is taken, the next one and the one after it: whether they came. The next one's rows
       pass while the warps take what has passed before. */
    CUDA_INLINE void run()
    {
        int next = 1, sent = 2; /* stages */
        unsigned side = 0;      /* of what has passed */

        fill();
        bool came = fetch(begin - Radius, stages);
        bool comes = fetch(begin - Radius + 1, stages + Form::StageSamples);
        cuda_await_copies<1>();
        __syncwarp(); /* a warp passes rows that it has brought */
        if (came)
            pass_rows(stages, passed);
#pragma unroll 1
        for (int plane = begin - Radius; plane < end + Radius; plane++) {
            const bool will_come = fetch(plane + 2, stages + sent * Form::StageSamples);
            cuda_await_copies<1>();
            __syncthreads();
            if (comes)
                pass_rows(stages + next * Form::StageSamples, passed + (side ^ 1) * Form::PassedSamples);
            take(plane, came, passed + side * Form::PassedSamples);
            side ^= 1;
            next = sent;
            sent = next_stage(sent);
            came = comes;
            comes = will_come;
        }
    }
};

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, 1)
    separable_kernel(const __grid_constant__ separable_job<Form> job)
{
    CUDA_SHARED(typename Form::T, shared);

    if (cuda_code_has<Form>())
        separable_walk<Form>(job, shared).run();
}

#endif
