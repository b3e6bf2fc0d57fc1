/* Passes along all three axes of a volume in one trip: what gauss, box and unsharp masks are made of.
 *
 * Known as: separable convolution, kernel fusion of its passes.
 * Idea: a block streams along the planes. Rows get their taps along x on their way through shared memory,
 *   columns of them theirs along the rows on their way into registers, and there each sample has its open
 *   sums along the planes.
 * Adds: what a pass leaves never goes to memory. The input that an unsharp mask reads again, where a plane is
 *   closed, comes by asynchronous copies a plane before.
 * Costs: the rows around a tile get their taps along x twice, and planes at the ends of a walk are taken
 *   twice; a register for each tap and sample.
 * Traffic per sample: 2 words, and what walks read twice, mostly found in the L2 cache; 1 more for
 *   an unsharp mask. Where samples are missing, 4 more, and 2 for the weights.
 * Wins when: the windows reach equally far, and the volume has so many planes that walks are long.
 *
 * Each pass rounds to the work type and applies the edge rule along its own axis, as if what it leaves were
 * stored. The tile is 32 packs of 16 bytes wide. A warp brings whole rows of an arriving plane into shared
 * memory, as many beyond the tile as the window reaches, and gives each its taps along x; the rows that come
 * out stand in shared memory, too. From there a thread reads the column of a few samples that lie below each
 * other, gives them their taps along the rows, and these values to the sums that it has open along the
 * planes, one for each tap and sample: the plane that arrives closes the oldest.
 *
 * While the rows of one plane are taken up, those of the next come to be: one barrier a plane. What lies
 * outside the grid is brought by the edge rule, so that the passes know of no edge: a row above the grid is
 * another row of the plane, whose taps along x give the same values as that row's. Where the rule has a
 * constant there is nothing to bring, and rows and planes are of that constant after each pass.
 *
 * Averages of samples some of which are missing take three turns. The first takes all samples for present. A
 * result that is a number has its usual bytes then, since every weight counts and a NaN would have spread; a
 * block that meets a NaN ends, and marks its place. The other turns are for such places alone: chains of
 * weights, which are 0 and 1, go to the channels of weights, and then those of samples, with 0 for what is
 * missing, are divided by them. */
#include "kernels/cuda/shared/cuda_march_common.cuh"
#include "kernels/cuda/shared/cuda_row_ring.cuh"

/* What a walk is for: passes; those of OP_UNSHARP; the three turns of an average. */
enum class separable_end { plain, sharpens, marks, weighs, averages };

/* The shape of a walk: how far all three windows reach, the samples below each other of a thread, and its
 * end. */
template <typename Type, int Radius_, int Samples_, int Warps_, separable_end End> struct separable_form {
    using T = Type;
    static constexpr bool Sharpens = End == separable_end::sharpens, Marks = End == separable_end::marks,
                          Weighs = End == separable_end::weighs, Averages = End == separable_end::averages;
    static constexpr bool Holds = Sharpens || End == separable_end::plain; /* serves EDGE_HOLD */
    template <separable_end Other> using with = separable_form<T, Radius_, Samples_, Warps_, Other>;
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
    static constexpr int Brought = Stages * StageSamples + 2 * PassedSamples;
    static constexpr int TileSamples = Rows * Columns;
    static constexpr int Tiles = Sharpens + 2 * Averages; /* where planes close: of the input, of weights */
    static constexpr size_t SampleBytes = sizeof(T) * (Brought + 2 * Tiles * TileSamples);
    static constexpr size_t SharedBytes = SampleBytes + (Marks ? 2 * sizeof(int) : 0);

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
    T amount;                                            /* OP_UNSHARP */
    int weighed;                                         /* channels */
    int *marks;                                          /* of blocks that met a NaN */
    T whole;                                             /* weight, where nothing is missing */
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
    T *const stages, *const passed, *const originals;
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
          originals(shared + Form::Brought), lane(static_cast<int>(threadIdx.x) % CUDA_WARP),
          warp(static_cast<int>(threadIdx.x) / CUDA_WARP), sums()
    {
        const int z = static_cast<int>(blockIdx.z);
        const bool holds = may_hold();

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

    /* Whether samples may be held. They are not in an average; but for others than 9.0, ptxas would spill in
       its first turn without the code that holds them. */
    CUDA_INLINE bool may_hold() const
    {
        return (Form::Holds || (Form::Marks && cuda_code() != 90)) && job.edge.rule == EDGE_HOLD;
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
        const int to = channel + (Form::Weighs ? job.weighed : 0);
        target = job.to.row(begin, to, row + own_row()) + x + own_column();
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

    /* ---- OP_UNSHARP and OP_AVERAGE ---- */

    /* What samples count for: nothing where they are missing. A warp changes rows that it has brought. */
    CUDA_INLINE void weigh_rows(T *stage) const
    {
#pragma unroll
        for (int turn = 0; turn < Form::Turns; turn++) {
            T *const cells = stage + (warp + turn * Form::Warps) * Form::Pitch;
#pragma unroll 1
            for (int i = lane * Pack; sources[turn] >= 0 && i < Form::Pitch; i += CUDA_WARP * Pack) {
                T values[Pack];
                cuda_load_packs<Pack>(cells + i, values);
#pragma unroll
                for (T &value : values)
                    value = cuda_present(Form::Weighs && value == value ? T(1) : value, T(0));
                cuda_put(cells + i, values);
            }
        }
        __syncwarp();
    }

    CUDA_INLINE const T *own_samples(int plane) const
    {
        return job.from.row(plane, channel, row + own_row()) + x + own_column();
    }
    CUDA_INLINE const T *own_weights(int plane) const
    {
        return job.to.row(plane, channel + job.weighed, row + own_row()) + x + own_column();
    }

    /* Send for the step's input where the thread's samples are, and for their weights, in a plane that will
       be closed. */
    CUDA_INLINE void fetch_originals(int plane, T *tile) const
    {
        const bool closes = plane >= begin && plane < end && stored_columns > 0;
        const T *const from = own_samples(plane), *const weights = own_weights(plane);

#pragma unroll
        for (int o = 0; o < Samples; o++) {
            T *const to = tile + column_at + o * Form::Columns;
            cuda_copy_async_if<sizeof(beside)>(closes && o < stored_rows, to, from + o * job.from.pitch);
            if constexpr (Form::Averages)
                cuda_copy_async_if<sizeof(beside)>(closes && o < stored_rows, to + Form::TileSamples,
                                                   weights + o * job.to.pitch);
        }
    }

    /* Samples of a plane, whose input is in such rows. */
    CUDA_INLINE void sharpen(const T *rows, long long pitch, part &values) const
    {
#pragma unroll
        for (int o = 0; o < Samples; o++) {
            if (o >= stored_rows || stored_columns <= 0)
                continue;
            const beside came = *reinterpret_cast<const beside *>(rows + o * pitch);
#pragma unroll
            for (int i = 0; i < Wide; i++)
                values[o][i] = cuda_unsharp(job.amount, came.values[i], values[o][i]);
        }
    }

    /* Samples of a plane, whose input and weights are in such rows. */
    CUDA_INLINE void average(const T *rows, const T *weights, part &values) const
    {
#pragma unroll
        for (int o = 0; o < Samples; o++) {
            if (o >= stored_rows || stored_columns <= 0)
                continue;
            const beside came = *reinterpret_cast<const beside *>(rows + o * Form::Columns);
            const beside weight = *reinterpret_cast<const beside *>(weights + o * Form::Columns);
#pragma unroll
            for (int i = 0; i < Wide; i++)
                values[o][i] = came.values[i] == came.values[i]
                                   ? cuda_average(values[o][i], weight.values[i], job.whole)
                                   : came.values[i];
        }
    }

    /* Whether a NaN was met, of planes of even and odd numbers. */
    CUDA_INLINE int *flags() const
    {
        return reinterpret_cast<int *>(reinterpret_cast<char *>(stages) + Form::SampleBytes);
    }

    CUDA_INLINE void look_for_nan(int plane, const part &values) const
    {
        bool met = false;

#pragma unroll
        for (int o = 0; o < Samples; o++) {
#pragma unroll
            for (int i = 0; i < Wide; i++)
                met |= values[o][i] != values[o][i];
        }
        if (met)
            flags()[plane & 1] = 1;
    }

    /* ---- storing ---- */

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

        cuda_copy(going.values, values);
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
    CUDA_INLINE void store_ready(int plane, const T *tile, part &values)
    {
        const bool holds = may_hold();
        const int closed = plane - Radius, planes = static_cast<int>(job.from.planes);

        if (holds && plane >= begin && plane < end && is_held(plane, planes)) {
            if constexpr (Form::Sharpens)
                sharpen(own_samples(plane), job.from.pitch, values);
            store(target + (plane - max(closed, begin)) * job.to_stride, values);
        }
        if (closed < begin)
            return;
        if constexpr (Form::Sharpens)
            sharpen(tile + column_at, Form::Columns, sums[0]);
        if constexpr (Form::Averages)
            average(tile + column_at, tile + Form::TileSamples + column_at, sums[0]);
        if (Form::StoresWhole && stored_columns == Wide && stored_rows == Samples && !holds)
            store_whole(target, sums[0]);
        else if (!holds || !is_held(closed, planes))
            store(target, sums[0]);
        target += job.to_stride;
    }

    CUDA_INLINE void take(int plane, bool came, const T *rows, const T *tile)
    {
        part values;

        if (came) {
            pass_columns(rows, values);
        } else {
#pragma unroll
            for (int o = 0; o < Samples; o++)
                cuda_fill(values[o], outside);
        }
        chain_planes(values);
        if constexpr (Form::Marks)
            look_for_nan(plane, values);
        store_ready(plane, tile, values);
    }

    /* ---- the walk ---- */

    /* What no row brings is of the constant. */
    CUDA_INLINE void fill() const
    {
        for (int i = static_cast<int>(threadIdx.x); i < Form::Brought; i += Form::Threads)
            stages[i] = outside;
        if (Form::Marks && threadIdx.x == 0)
            flags()[0] = flags()[1] = 0;
        __syncthreads();
    }

    static CUDA_INLINE int next_stage(int stage)
    {
        return stage == Form::Stages - 1 ? 0 : stage + 1;
    }

    /* Of the plane that is taken, the next one and the one after it: whether they came. The next one's rows
       pass while the warps take what has passed before. */
    CUDA_INLINE void take_planes()
    {
        int next = 1, sent = 2; /* stages */
        unsigned side = 0;      /* of what has passed */

        fill();
        bool came = fetch(begin - Radius, stages);
        bool comes = fetch(begin - Radius + 1, stages + Form::StageSamples);
        cuda_await_copies<1>();
        __syncwarp(); /* a warp passes rows that it has brought */
        if constexpr (Form::Weighs || Form::Averages)
            weigh_rows(stages);
        if (came)
            pass_rows(stages, passed);
#pragma unroll 1
        for (int plane = begin - Radius; plane < end + Radius; plane++) {
            if constexpr (Form::Tiles > 0)
                fetch_originals(plane + 1 - Radius, originals + (side ^ 1) * Form::Tiles * Form::TileSamples);
            const bool will_come = fetch(plane + 2, stages + sent * Form::StageSamples);
            cuda_await_copies<1>();
            __syncthreads();
            if (Form::Marks && flags()[(plane + 1) & 1] != 0)
                break;
            if constexpr (Form::Weighs || Form::Averages)
                weigh_rows(stages + next * Form::StageSamples);
            if (comes)
                pass_rows(stages + next * Form::StageSamples, passed + (side ^ 1) * Form::PassedSamples);
            take(plane, came, passed + side * Form::PassedSamples,
                 originals + side * Form::Tiles * Form::TileSamples);
            side ^= 1;
            next = sent;
            sent = next_stage(sent);
            came = comes;
            comes = will_come;
        }
        cuda_await_copies<0>();
    }

    /* Of an average, the first turn marks the blocks that the others are for. */
    CUDA_INLINE void run()
    {
        int *const mark = job.marks + (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;

        if ((Form::Weighs || Form::Averages) && *mark == 0)
            return;
        take_planes();
        if constexpr (Form::Marks) {
            __syncthreads();
            if (threadIdx.x == 0)
                *mark = flags()[0] | flags()[1];
        }
    }
};

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, 1)
    separable_kernel(const __grid_constant__ separable_job<Form> job)
{
    CUDA_SHARED(typename Form::T, shared);

    CUDA_WHERE_SERVED (Form) {
        separable_walk<Form>(job, shared).run();
    }
}

/* ---- the host ---- */

/* Windows up to this radius have a form; passes one by one are faster than larger ones would be. */
#define MOST_RADIUS 6

/* As many warps as share the registers, and samples below each other as these hold sums of. */
template <typename T, int Radius, separable_end End>
using form_for =
    separable_form<T, Radius,
                   (Radius <= 3 ? 5 : 4) - (End == separable_end::sharpens && sizeof(T) == sizeof(double)) -
                       (End == separable_end::marks && Radius == 3),
                   Radius + (End == separable_end::marks || sizeof(T) == sizeof(double)) <= 4 ? 16 : 12, End>;

static bool reaches(struct reach reach, int radius)
{
    return reach.low == -radius && reach.high == radius;
}

/* Whether a pass has all taps that reach so far along x, the rows or the planes, and no others. */
static bool is_whole(const struct op *pass, int x, int row, int plane)
{
    const size_t taps = static_cast<size_t>(2 * (x + row + plane) + 1);

    return op_is_chain(pass) && pass->tap_count == taps && reaches(pass->x, x) && reaches(pass->row, row) &&
           reaches(pass->plane, plane);
}

/* How far windows along x, the rows and the planes reach, all alike and without gaps; 0 otherwise. */
static int separable_radius(const struct op *op)
{
    const int radius = op->x.high;
    const struct op *passes = cuda_passes_of(op);

    return op->pass_count == (op->weighed > 0 ? 5 : 3) && radius >= 1 && radius <= MOST_RADIUS &&
                   is_whole(&passes[0], radius, 0, 0) && is_whole(&passes[1], 0, radius, 0) &&
                   is_whole(&passes[2], 0, 0, radius)
               ? radius
               : 0;
}

/* Call act with the form for an op that has a radius. */
template <typename T, typename Act> static auto choose_form(const struct op *op, Act act)
{
    return cuda_with_number<1, MOST_RADIUS, 1>(separable_radius(op), [=](auto chosen) {
        constexpr int Radius = decltype(chosen)::value;
        if constexpr (sizeof(T) == sizeof(float)) {
            if (op->weighed > 0)
                return act(form_for<T, Radius, separable_end::marks>());
        }
        return op_sharpens(op) ? act(form_for<T, Radius, separable_end::sharpens>())
                               : act(form_for<T, Radius, separable_end::plain>());
    });
}

/* How walks of a form cover so many planes of a shape. */
template <typename Form> struct separable_cover {
    long long across, down; /* tiles */
    long long channels, planes;
    long long residents; /* blocks that run at once */
    long long chunk;     /* planes of a walk */

    separable_cover(const struct cuda_limits *limits, const struct op *op, const struct shape *shape,
                    long long count)
        : across(cuda_ceil_divide(static_cast<long long>(shape->nx), Form::Columns)),
          down(cuda_ceil_divide(static_cast<long long>(shape->rows), Form::Rows)), channels(op->channels),
          planes(count), residents(limits->multiprocessors)
    {
        chunk = cuda_march_chunk(planes, planes, [this](long long each, long long) { return time(each); });
    }

    long long chunks() const
    {
        return cuda_ceil_divide(planes, chunk);
    }

    /* In planes of a tile: rounds of walks, each with the planes before and behind its own and its start. */
    double time(long long each) const
    {
        const long long start = 4;
        const long long walks = across * down * channels * cuda_ceil_divide(planes, each);

        return static_cast<double>(cuda_ceil_divide(walks, residents) * (each + 2 * Form::Radius + start));
    }

    /* Samples that the device could compute in that time, by those that it shall. */
    double waste(const struct shape *shape) const
    {
        const double tile = static_cast<double>(Form::Columns) * Form::Rows;
        const double wanted = static_cast<double>(shape->nx) * static_cast<double>(shape->rows) *
                              static_cast<double>(channels * planes);

        return time(chunk) * static_cast<double>(residents) * tile / wanted;
    }

    dim3 grid() const
    {
        return dim3(static_cast<unsigned>(across), static_cast<unsigned>(down),
                    static_cast<unsigned>(channels * chunks()));
    }
};

/* Passes one by one waste nothing, but take three trips: on an H200 they take as long as joined ones that
   compute so many samples for each. */
#define MOST_WASTE 1.5

/* Of the walks of an average, the last one takes the most. */
template <typename Form> static constexpr size_t greatest_shared()
{
    return Form::Marks ? Form::template with<separable_end::averages>::SharedBytes : Form::SharedBytes;
}

template <typename Form> static bool describe(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct shape *shape = asked->shape;
    const long long most = 65535, samples = 0x7fffffff;
    const separable_cover<Form> cover(asked->limits, asked->op, shape, static_cast<long long>(shape->planes));
    const dim3 grid = cover.grid();
    const size_t shared = greatest_shared<Form>();

    if (!Form::serves(asked->limits->code) || shared > asked->limits->shared_per_block)
        return cuda_refuse(asked->refusal, "joined passes take %zu bytes of shared memory, a block has %zu",
                           shared, asked->limits->shared_per_block);
    if (grid.y > most || grid.z > most || static_cast<long long>(shape->planes) > samples ||
        static_cast<long long>(shape->rows * (shape->nx + CUDA_ROW_ALIGNMENT)) > samples)
        return cuda_refuse(asked->refusal, "the grid is too large for joined passes");
    if (asked->wish->rung == NULL && cover.waste(shape) > MOST_WASTE)
        return cuda_refuse(asked->refusal, "the volume is too small for passes to be joined");
    form->tile_x = Form::Columns;
    form->tile_y = Form::Rows;
    form->coarsen = static_cast<int>(cover.chunk);
    form->block = dim3(Form::Threads);
    form->grid = grid;
    form->shared_bytes = Form::SharedBytes;
    form->kernel = reinterpret_cast<const void *>(&separable_kernel<Form>);
    form->bytes_per_update = sizeof(typename Form::T) *
                             (2 + Form::Sharpens + 2.0 * Form::Radius / static_cast<double>(cover.chunk));
    if (Form::Marks) {
        /* Where no sample is missing, weights move nothing. A chunk may be as short as a plane. */
        form->bytes_per_update *= 1.0 * asked->op->channels / shape->channels;
        form->scratch_bytes = sizeof(int) * grid.x * grid.y * asked->op->weighed * shape->planes;
    }
    form->operations_per_update = cuda_operations(asked->op);
    form->reached = 0.24;
    return true;
}

template <typename T>
static bool separable_3d_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    if (separable_radius(asked->op) == 0)
        return cuda_refuse(asked->refusal,
                           "joined windows have no gaps and equal reach along three axes, up to %d samples",
                           MOST_RADIUS);
    if (asked->op->weighed > 0 && (sizeof(T) != sizeof(float) || asked->op->edge == EDGE_HOLD))
        return cuda_refuse(asked->refusal,
                           "averages of what is there are joined in f32, where no sample is held");
    return choose_form<T>(asked->op, [=](auto chosen) { return describe<decltype(chosen)>(asked, form); });
}

template <typename Form> static cudaError_t launch(const struct cuda_job *from)
{
    using T = typename Form::T;
    const struct op *op = from->op->op;
    const struct op *const passes = cuda_passes_of(op);
    const auto kernel = separable_kernel<Form>;
    separable_job<Form> job = separable_job<Form>();

    if (from->planes.count == 0)
        return cudaSuccess;
    job.from = *static_cast<const cuda_view<T> *>(from->from);
    job.to = *static_cast<const cuda_view<T> *>(from->to);
    const struct shape shape = cuda_shape_of(from);
    const separable_cover<Form> cover(from->limits, op, &shape, static_cast<long long>(from->planes.count));
    job.edge = cuda_edge_of<T>(from->op);
    job.first = static_cast<int>(from->planes.first);
    job.end = job.first + static_cast<int>(from->planes.count);
    job.chunk = static_cast<int>(cover.chunk);
    job.chunks = static_cast<int>(cover.chunks());
    job.amount = static_cast<T>(passes[2].amount);
    job.weighed = static_cast<int>(op->weighed);
    job.marks = static_cast<int *>(from->scratch);
    job.whole = static_cast<T>(op->whole[0]);
    job.to_stride = job.to.plane_stride();
    cuda_copy_weights(&passes[0], job.x);
    cuda_copy_weights(&passes[1], job.row);
    cuda_copy_weights(&passes[2], job.plane);
    cudaError_t error = cuda_permit_shared(kernel, Form::SharedBytes);
    if (error == cudaSuccess)
        error = CUDA_LAUNCH(from->stream, cover.grid(), dim3(Form::Threads), Form::SharedBytes, kernel, job);
    if constexpr (Form::Marks) {
        if (error == cudaSuccess)
            error = launch<typename Form::template with<separable_end::weighs>>(from);
        if (error == cudaSuccess)
            error = launch<typename Form::template with<separable_end::averages>>(from);
    }
    return error;
}

template <typename T> static cudaError_t separable_3d_launch(const struct cuda_job *job)
{
    return choose_form<T>(job->op->op, [=](auto chosen) { return launch<decltype(chosen)>(job); });
}

CUDA_RUNG(separable_3d, false, false, false);
