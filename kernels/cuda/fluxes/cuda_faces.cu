/* Rungs `plane` of volumes and `strip` of pictures: nonlinear heat, one step, with each face between two
 * samples computed once.
 *
 * Known as: flux sharing (each face of a finite volume once); register tiling, 2.5D blocking in registers.
 * Idea: the conductivity of a face, c·g(q²), is most of the work, and it is the same from both sides: only
 *   the difference changes its sign.
 * Adds: a thread keeps the conductivities of the faces ahead of its samples for the samples behind them;
 *   samples go from memory to registers; one test for all samples of a plane replaces the test in each
 *   division.
 * Costs: registers; faces at the sides of a thread's rows are computed twice, and rows beside them are read
 *   again, from the first-level cache.
 * Traffic per sample: 2 words through memory.
 * Wins when: the flux is pm1, pm2 or tanh: always.
 *
 * A thread owns a pack of columns in some rows. It computes the faces ahead of its samples in x, rows and
 * planes, and those behind its first column and its first row. A face between rows serves the next row of the
 * same thread; one between planes is kept as the product with which the next plane's chain begins.
 *
 * A warp walks along the planes of a volume, or down a picture, of whose rows it takes several at a time. The
 * samples of the next step are loaded into registers while this one is computed (double buffering in
 * registers), and neighbours in x come by warp shuffles. Nothing is in shared memory, and no warp waits for
 * another. The edge rule is applied as samples are loaded: the walk itself knows no edges, but that held
 * samples stay.
 *
 * The reciprocal is the fast one, which is wrong beyond its range. The greatest magnitude of the samples of a
 * step says whether a sample may be beyond it: then the thread computes its samples of these planes again at
 * the end, one by one (take_one_by_one). */
#include "kernels/cuda/shared/cuda_march_common.cuh"
#include "kernels/cuda/shared/cuda_row_ring.cuh"

#include <algorithm>
#include <limits>

/* The constants of a walk. Rows: that a thread owns, of a volume's plane, or of a picture at a time. Joint:
   channels under one conductivity; 0: each has its own. Relaxes: a sample is relaxed more than once, or
   reacts. Blocks: that a multiprocessor should hold. */
template <typename Type, flux Flux_, bool Volume_, bool Relaxes_, int Joint_, int Rows_, int Warps_,
          int Blocks_>
struct faces_form {
    using T = Type;
    static constexpr enum flux Flux = Flux_;
    static constexpr bool Volume = Volume_, Relaxes = Relaxes_, Conducts = Flux != FLUX_TANH;
    static constexpr int Joint = Joint_, Channels = Joint > 0 ? Joint : 1;
    static constexpr int Rows = Rows_, Warps = Warps_, Blocks = Blocks_;
    static constexpr int Threads = CUDA_WARP * Warps;
    static constexpr int Pack = cuda_pack_of<T>::samples;
    static constexpr int Width = CUDA_WARP * Pack;
    static constexpr int Lines = Volume ? Rows + 2 : Rows; /* rows that a step loads */
    static constexpr int FirstOwn = Volume ? 1 : 0;        /* the first of them that is the thread's own */
    static constexpr int Planes = Volume ? 1 : Rows;       /* of a step */

    /* ptxas wants more registers for other code than 9.0, and most from 10.0 on. */
    static __host__ __device__ constexpr int residents(int code)
    {
        return cuda_residents(code, Threads, code >= 100 ? Blocks / 2 : code >= 90 ? Blocks : Blocks - 1);
    }
};

/* Keys that compare magnitudes of samples with a limit. Of doubles the upper half is enough, in which a NaN
   is beyond any limit; of floats, max() drops NaNs. */
CUDA_INLINE float faces_key(float magnitude)
{
    return magnitude;
}
CUDA_INLINE unsigned faces_key(double magnitude)
{
    return static_cast<unsigned>(arith_bits_f64(magnitude) >> 32);
}
CUDA_INLINE float faces_key_of(float value)
{
    return arith_magnitude_f32(value);
}
CUDA_INLINE unsigned faces_key_of(double value)
{
    return faces_key(value) & 0x7fffffffu;
}
template <typename T> struct faces_magnitude {
    decltype(faces_key(T())) greatest;

    CUDA_INLINE void take(T value)
    {
        greatest = max(greatest, faces_key_of(value));
    }
    CUDA_INLINE void take(faces_magnitude other)
    {
        greatest = max(greatest, other.greatest);
    }
    CUDA_INLINE bool is_beyond(T limit) const
    {
        return greatest >= faces_key(limit);
    }
};

/* The limit of magnitudes: below it, differences are finite, and 1 + Σ q² of four channels has a normal
 * reciprocal. */
template <typename T> static T faces_limit(T inverse_scale)
{
    const bool is_f32 = sizeof(T) == sizeof(float);
    const T by_scale = static_cast<T>(is_f32 ? 0x1p60 : 0x1p508) / inverse_scale;

    return std::min(by_scale, std::numeric_limits<T>::max() / 4);
}

template <typename Form> struct faces_job {
    using T = typename Form::T;

    cuda_view<T> from, to;
    T x, row, plane, centre; /* weights of faces, or taps, along each axis */
    cuda_heat<T> heat;
    T limit; /* of magnitudes, for the fast reciprocal */
    enum edge_rule rule;
    const T *outside; /* EDGE_CONSTANT: a value for each channel */
    const cuda_tap<T> *taps;
    int tap_count;
    int first_channel, groups; /* groups of Form::Channels */
    int first, end;            /* planes to compute */
    int chunk;                 /* planes that a warp computes */
    struct cuda_tiles tiles;   /* of a volume each for a block, of a picture each for a warp */
};

template <typename Form> struct faces_walk {
    using T = typename Form::T;
    static constexpr int Channels = Form::Channels, Rows = Form::Rows, Pack = Form::Pack;
    static constexpr int Lines = Form::Lines, FirstOwn = Form::FirstOwn;
    static constexpr bool Volume = Form::Volume, Conducts = Form::Conducts, Relaxes = Form::Relaxes;
    static constexpr bool Guarded = Form::Flux == FLUX_PM2;
    static constexpr unsigned Beside = 1u << 31;
    using pixels = T[Channels][Pack];

    /* The samples that a step loads: lines of each channel, and, in the first and the last lane of a row, the
       column beside the tile. */
    struct arrival {
        T lines[Channels][Lines][Pack];
        T beside[Channels][Rows];
        faces_magnitude<T> magnitude;
    };

    /* The neighbours of a row. */
    struct surroundings {
        T wide[Channels][Pack + 2]; /* the row itself, with a column on either side */
        pixels above, below;
        pixels before, next; /* of a volume: in the planes; `before` where Relaxes alone */
    };

    const faces_job<Form> &job;
    int lanes; /* in a row */
    int channel;
    int x, row;     /* of this lane's first sample */
    int begin, end; /* planes of the warp's chunk */
    int plane_before,
        plane_behind;       /* the planes that the edge rule puts before and behind the chunk, or −1 */
    bool whole;             /* all columns of the pack are in the grid */
    bool is_first, is_last; /* of the lanes in a row */
    int beside_shift;       /* from the pack's first column to the one beside the tile, */
    int behind_shift;       /* and to the one that the edge rule puts behind the grid's last */
    bool looks_beside,
        behind_outside; /* the lane loads a column beside the tile; the column behind is outside */
    unsigned at[Lines]; /* of a volume: bytes from a plane's start to this lane's pack of each line */
    unsigned outside;   /* a bit for each line that is outside the grid, and Beside for the column */
    unsigned wanted;    /* a bit for each row that is stored */
    unsigned held;      /* a bit for each sample that keeps its value in every plane */

    /* A step leaves to the next one: in a volume, the products with which its chains begin; in a picture, the
       conductivities of the faces above; and samples of the plane before, or the row above. */
    T products[Channels][Rows][Pack];
    T above_factors[Pack];
    pixels above;
    T before[Channels][Rows][Pack];
    faces_magnitude<T> magnitude_before;

    int wild_begin, wild_end; /* the planes among which some are computed again */

    /* ---- the place ---- */

    CUDA_INLINE faces_walk(const faces_job<Form> &job_) : job(job_)
    {
        const unsigned warp = __shfl_sync(CUDA_ALL_LANES, threadIdx.x / CUDA_WARP, 0);
        const cuda_tile_place<Volume> place(job.tiles, Volume ? blockIdx.x : blockIdx.x * Form::Warps + warp,
                                            Form::Warps, warp);

        lanes = place.lanes;
        x = place.column * Form::Width + place.lane * Pack;
        row = Volume ? place.row * Rows : 0;
        is_first = place.lane == 0;
        is_last = place.lane == lanes - 1 && x + Pack <= job.from.nx;
        place_chunk(place.rest);
        place_columns();
        place_lines();
        see_rows();
    }

    /* The warp's channels and planes. */
    CUDA_INLINE void place_chunk(unsigned rest)
    {
        const unsigned groups = static_cast<unsigned>(job.groups);
        const int planes = static_cast<int>(job.from.planes);

        channel = job.first_channel + static_cast<int>(rest % groups) * Channels;
        begin = min(job.first + static_cast<int>(rest / groups) * job.chunk, job.end);
        end = min(begin + job.chunk, job.end);
        wild_begin = end;
        wild_end = begin;
        plane_before = cuda_near_index(job.rule, begin - 1, planes);
        plane_behind = cuda_near_index(job.rule, end, planes);
    }

    /* The lane's columns, and those around the tile by the edge rule. */
    CUDA_INLINE void place_columns()
    {
        const int nx = job.from.nx;
        const int beside = cuda_near_index(job.rule, is_first ? x - 1 : x + Pack, nx);
        const int behind = cuda_near_index(job.rule, nx, nx);

        whole = x + Pack <= nx;
        looks_beside = (is_first || is_last) && beside >= 0;
        outside = (is_first || is_last) && beside < 0 ? Beside : 0;
        behind_outside = behind < 0;
        beside_shift = beside - x;
        behind_shift = (behind_outside ? nx - 1 : behind) - x;
    }

    /* The lines of a volume's plane, by the edge rule. */
    CUDA_INLINE void place_lines()
    {
        const int rows = job.from.rows;

#pragma unroll
        for (int l = 0; Volume && l < Lines; l++) {
            const int source = cuda_near_index(job.rule, min(row + l - FirstOwn, rows), rows);
            outside |= (source < 0 ? 1u : 0u) << l;
            at[l] = (static_cast<unsigned>(max(source, 0)) * static_cast<unsigned>(job.from.pitch) +
                     static_cast<unsigned>(x)) *
                    static_cast<unsigned>(sizeof(T));
        }
    }

    /* Which samples are stored, and which are held. */
    CUDA_INLINE void see_rows()
    {
        const int nx = job.from.nx, rows = job.from.rows;

        wanted = 0;
        held = 0;
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            const bool row_held = Volume && (row + r == 0 || row + r == rows - 1);
            wanted |= (x < nx && (!Volume || row + r < rows) ? 1u : 0u) << r;
#pragma unroll
            for (int j = 0; j < Pack; j++)
                held |= (row_held || x + j == 0 || x + j == nx - 1 ? 1u : 0u) << (r * Pack + j);
        }
    }

    CUDA_INLINE T outside_of(int c) const
    {
        return job.outside == NULL ? T(0) : job.outside[channel + c];
    }

    /* This lane's pack of a line, in the plane of a volume, or in the row of a picture. */
    template <typename Sample> CUDA_INLINE Sample *here(Sample *plane, int l) const
    {
        if constexpr (Volume)
            return cuda_further(plane, at[l]);
        else
            return plane + x;
    }

    /* ---- arrival ---- */

    /* Load a lane's pack of each line. Of the columns behind the grid's last, only the first one is ever
     * read. */
    template <typename Line> CUDA_INLINE void load_packs(arrival &arrived, int c, const Line &line) const
    {
        if (whole) {
#pragma unroll
            for (int l = 0; l < Lines; l++)
                cuda_load_packs<Pack>(line(l), arrived.lines[c][l]);
            return;
        }
#pragma unroll
        for (int j = 0; j < Pack; j++) {
            const int last = job.from.nx - 1 - x;
            const int shift = j == last + 1 ? behind_shift : min(j, last);
#pragma unroll
            for (int l = 0; l < Lines; l++) {
                const T value = line(l)[shift];
                arrived.lines[c][l][j] = j == last + 1 && behind_outside ? outside_of(c) : value;
            }
        }
    }

    /* Load the column beside the tile, in the lanes at its sides. */
    template <typename Line> CUDA_INLINE void load_beside(arrival &arrived, int c, const Line &line) const
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            T value = T(0);
            if (looks_beside)
                value = line(FirstOwn + r)[beside_shift];
            arrived.beside[c][r] = value;
        }
    }

    /* Put the value outside into lines, and columns beside the tile, that are not in the grid. */
    CUDA_INLINE void replace(arrival &arrived, unsigned lines) const
    {
#pragma unroll
        for (int c = 0; c < Channels; c++) {
            const T value = outside_of(c);
#pragma unroll
            for (int l = 0; l < Lines; l++) {
                const bool all = (lines >> l & 1) != 0;
#pragma unroll
                for (int j = 0; j < Pack; j++)
                    arrived.lines[c][l][j] = all ? value : arrived.lines[c][l][j];
                if (l >= FirstOwn && l < FirstOwn + Rows && (all || (lines & Beside) != 0))
                    arrived.beside[c][l - FirstOwn] = value;
            }
        }
    }

    /* Load the planes of a step. Outside the chunk only the nearest plane on either side is ever read. */
    CUDA_INLINE void load(arrival &arrived, int plane) const
    {
        unsigned lines = outside;
        int sources[Form::Planes];

#pragma unroll
        for (int l = 0; l < Form::Planes; l++) {
            const int source = plane + l < begin ? plane_before : plane + l >= end ? plane_behind : plane + l;
            lines |= source >= 0 ? 0 : Volume ? ~Beside : 1u << l;
            sources[l] = source >= 0 ? source : begin;
        }
#pragma unroll
        for (int c = 0; c < Channels; c++) {
            const auto line = [&](int l) {
                return here(job.from.row(sources[Volume ? 0 : l], channel + c, 0), l);
            };
            load_packs(arrived, c, line);
            load_beside(arrived, c, line);
        }
        if (lines != 0) {
            cuda_keep_branch();
            replace(arrived, lines);
        }
    }

    /* The greatest magnitude of the samples of a step. */
    CUDA_INLINE void measure(arrival &arrived) const
    {
        arrived.magnitude = {};
        if constexpr (Guarded) {
#pragma unroll
            for (int c = 0; c < Channels; c++) {
#pragma unroll
                for (int l = 0; l < Lines; l++) {
#pragma unroll
                    for (int j = 0; j < Pack; j++)
                        arrived.magnitude.take(arrived.lines[c][l][j]);
                }
#pragma unroll
                for (int r = 0; r < Rows; r++)
                    arrived.magnitude.take(arrived.beside[c][r]);
            }
        }
    }

    /* ---- a face ---- */

    /* c·g of the face between two samples, of all channels under one conductivity. */
    template <typename One, typename Other>
    CUDA_INLINE T factor(const One &one, const Other &other, T weight) const
    {
        T s = T(0);

#pragma unroll
        for (int c = 0; c < Channels; c++) {
            const T q = (one(c) - other(c)) * job.heat.inverse_scale;
            if constexpr (Form::Joint == 0 && Form::Flux == FLUX_PM2)
                return weight * cuda_reciprocal(cuda_fma(q, q, T(1)));
            s = c == 0 ? q * q : cuda_fma(q, q, s);
        }
        if constexpr (Form::Flux == FLUX_PM2)
            return weight * cuda_reciprocal(s + T(1));
        else
            return weight * cuda_pm1_joint(s);
    }

    /* ---- a row ---- */

    /* Gather the neighbours of a row: those in x by shuffles, the others from registers. */
    CUDA_INLINE void surround(surroundings &around, const arrival &now, const arrival &next, int r) const
    {
#pragma unroll
        for (int c = 0; c < Channels; c++) {
            const T(&own)[Pack] = now.lines[c][FirstOwn + r];
            T left = __shfl_up_sync(CUDA_ALL_LANES, own[Pack - 1], 1, lanes);
            T right = __shfl_down_sync(CUDA_ALL_LANES, own[0], 1, lanes);
            if (is_first)
                left = now.beside[c][r];
            if (is_last)
                right = now.beside[c][r];
            around.wide[c][0] = left;
            around.wide[c][Pack + 1] = right;
#pragma unroll
            for (int j = 0; j < Pack; j++) {
                around.wide[c][1 + j] = own[j];
                if constexpr (Volume) {
                    around.above[c][j] = now.lines[c][r][j];
                    around.below[c][j] = now.lines[c][r + 2][j];
                    around.next[c][j] = next.lines[c][r + 1][j];
                    if constexpr (Relaxes)
                        around.before[c][j] = before[c][r][j];
                } else {
                    around.above[c][j] = r == 0 ? above[c][j] : now.lines[c][r - 1][j];
                    around.below[c][j] = r == Rows - 1 ? next.lines[c][0][j] : now.lines[c][r + 1][j];
                }
            }
        }
    }

    /* The weight of the faces between lines: rows of a volume, or planes, which are the rows of a picture. */
    CUDA_INLINE T weight_down() const
    {
        return Volume ? job.row : job.plane;
    }

    /* A relaxation by pm1 or pm2. Each sample takes its differences itself instead of negating its
       neighbour's, since that would turn the sign of a zero. */
    CUDA_INLINE void conduct(pixels &done, const surroundings &around, int r)
    {
        T x_factors[Pack + 1], below_factors[Pack], next_factors[Pack];

#pragma unroll
        for (int j = 0; j <= Pack; j++)
            x_factors[j] = factor([&](int c) { return around.wide[c][j + 1]; },
                                  [&](int c) { return around.wide[c][j]; }, job.x);
#pragma unroll
        for (int j = 0; j < Pack; j++) {
            const auto own = [&](int c) { return around.wide[c][j + 1]; };
            below_factors[j] = factor([&](int c) { return around.below[c][j]; }, own, weight_down());
            if constexpr (Volume)
                next_factors[j] = factor([&](int c) { return around.next[c][j]; }, own, job.plane);
        }
#pragma unroll
        for (int c = 0; c < Channels; c++) {
#pragma unroll
            for (int j = 0; j < Pack; j++) {
                const T u = around.wide[c][j + 1], up = around.above[c][j] - u;
                T sum = Volume ? cuda_fma(above_factors[j], up, products[c][r][j]) : above_factors[j] * up;
                sum = cuda_fma(x_factors[j], around.wide[c][j] - u, sum);
                sum = cuda_fma(x_factors[j + 1], around.wide[c][j + 2] - u, sum);
                sum = cuda_fma(below_factors[j], around.below[c][j] - u, sum);
                if constexpr (Volume) {
                    sum = cuda_fma(next_factors[j], around.next[c][j] - u, sum);
                    products[c][r][j] = next_factors[j] * (u - around.next[c][j]);
                }
                done[c][j] = u + sum;
            }
        }
        cuda_copy(above_factors, below_factors);
    }

    /* A relaxation by tanh. */
    CUDA_INLINE void curve(pixels &done, const surroundings &around, int r)
    {
#pragma unroll
        for (int j = 0; j < Pack; j++) {
            const T u = around.wide[0][j + 1];
            T sum = Volume ? cuda_fma(job.row, around.above[0][j], products[0][r][j])
                           : job.plane * around.above[0][j];
            sum = cuda_fma(job.x, around.wide[0][j], sum);
            sum = cuda_fma(job.centre, u, sum);
            sum = cuda_fma(job.x, around.wide[0][j + 2], sum);
            sum = cuda_fma(weight_down(), around.below[0][j], sum);
            if constexpr (Volume) {
                sum = cuda_fma(job.plane, around.next[0][j], sum);
                products[0][r][j] = job.plane * u;
            }
            done[0][j] = cuda_fma(job.heat.rate, cuda_tanh(sum * job.heat.inverse_scale), u);
        }
    }

    /* Add one more neighbour to a chain, which begins with a product. */
    CUDA_INLINE T link(bool begins, T sum, T u, T neighbour, T weight) const
    {
        T value = neighbour;

        if constexpr (Conducts) {
            weight = factor([=](int) { return neighbour; }, [=](int) { return u; }, weight);
            value = neighbour - u;
        }
        return begins ? weight * value : cuda_fma(weight, value, sum);
    }

    /* A relaxation of a sample whose neighbours are frozen: of all its faces, since its own value moves. */
    CUDA_INLINE T relax(T u, const surroundings &around, int j) const
    {
        T sum = T(0);

        if constexpr (Volume)
            sum = link(true, sum, u, around.before[0][j], job.plane);
        sum = link(!Volume, sum, u, around.above[0][j], weight_down());
        sum = link(false, sum, u, around.wide[0][j], job.x);
        if constexpr (!Conducts)
            sum = link(false, sum, u, u, job.centre);
        sum = link(false, sum, u, around.wide[0][j + 2], job.x);
        sum = link(false, sum, u, around.below[0][j], weight_down());
        if constexpr (Volume)
            sum = link(false, sum, u, around.next[0][j], job.plane);
        if constexpr (Conducts)
            u = u + sum;
        else
            u = cuda_fma(job.heat.rate, cuda_tanh(sum * job.heat.inverse_scale), u);
        return job.heat.reacts ? cuda_react(u, job.heat.reaction, job.heat.remainder) : u;
    }

    /* All relaxations of a row's samples. */
    CUDA_INLINE void relax_all(pixels &own, const surroundings &around, faces_magnitude<T> &magnitude) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            own[0][j] = around.wide[0][j + 1];
#pragma unroll 1
        for (unsigned long long n = 0; n < job.heat.inner; n++) {
#pragma unroll
            for (int j = 0; j < Pack; j++) {
                own[0][j] = relax(own[0][j], around, j);
                if constexpr (Guarded)
                    magnitude.take(own[0][j]);
            }
        }
    }

    /* ---- departure ---- */

    CUDA_INLINE bool is_held(int sample, int plane) const
    {
        return (held >> sample & 1) != 0 || plane == 0 || plane == static_cast<int>(job.from.planes) - 1;
    }

    CUDA_INLINE void store(pixels &done, const surroundings &around, int r, int plane) const
    {
        const bool is_wanted = (wanted >> r & 1) != 0 && (Volume || plane < end);

        if (job.rule == EDGE_HOLD) {
            cuda_keep_branch();
#pragma unroll
            for (int c = 0; c < Channels; c++) {
#pragma unroll
                for (int j = 0; j < Pack; j++)
                    done[c][j] = is_held(r * Pack + j, plane) ? around.wide[c][j + 1] : done[c][j];
            }
        }
#pragma unroll
        for (int c = 0; c < Channels; c++)
            cuda_store_past(is_wanted, here(job.to.row(plane, channel + c, 0), FirstOwn + r), done[c]);
    }

    /* ---- samples one by one ---- */

    /* A sample of the field, by the edge rule. */
    CUDA_INLINE T read(int plane, int row_index, int column, int c) const
    {
        const int in_plane = cuda_near_index(job.rule, plane, static_cast<int>(job.from.planes));
        const int in_row = cuda_near_index(job.rule, row_index, job.from.rows);
        const int in_column = cuda_near_index(job.rule, column, job.from.nx);

        if (in_plane < 0 || in_row < 0 || in_column < 0)
            return outside_of(c);
        return job.from.row(in_plane, channel + c, in_row)[in_column];
    }

    /* A relaxation of one pixel, tap by tap, with the exact division. */
    CUDA_INLINE void relax_one(T (&own)[Channels], int plane, int row_index, int column) const
    {
        T sums[Channels] = {};

#pragma unroll 1
        for (int k = 0; k < job.tap_count; k++) {
            const cuda_tap<T> tap = job.taps[k];
            T differences[Channels], q = T(0), s = T(0);
#pragma unroll
            for (int c = 0; c < Channels; c++) {
                differences[c] = read(plane + tap.dplane, row_index + tap.drow, column + tap.dx, c) - own[c];
                q = differences[c] * job.heat.inverse_scale;
                s = c == 0 ? q * q : cuda_fma(q, q, s);
            }
            const T face = tap.weight * (Form::Joint == 0 ? cuda_pm2(q) : cuda_pm2_joint(s));
#pragma unroll
            for (int c = 0; c < Channels; c++)
                sums[c] = k == 0 ? face * differences[c] : cuda_fma(face, differences[c], sums[c]);
        }
#pragma unroll
        for (int c = 0; c < Channels; c++) {
            own[c] = own[c] + sums[c];
            if (Relaxes && job.heat.reacts)
                own[c] = cuda_react(own[c], job.heat.reaction, job.heat.remainder);
        }
    }

    /* Compute a pixel again, and write it over the first result. */
    CUDA_INLINE void take_one(int plane, int r, int j) const
    {
        const int row_index = Volume ? row + r : 0;
        const bool stays = job.rule == EDGE_HOLD && is_held(r * Pack + j, plane);
        T own[Channels];

#pragma unroll
        for (int c = 0; c < Channels; c++)
            own[c] = read(plane, row_index, x + j, c);
#pragma unroll 1
        for (unsigned long long n = stays ? job.heat.inner : 0; n < job.heat.inner; n++)
            relax_one(own, plane, row_index, x + j);
#pragma unroll
        for (int c = 0; c < Channels; c++)
            job.to.row(plane, channel + c, row_index)[x + j] = own[c];
    }

    /* Compute this lane's samples again in planes in which it, or a lane beside it, has met a magnitude
       beyond the limit. */
    CUDA_INLINE void take_one_by_one() const
    {
        const int begin_before = __shfl_up_sync(CUDA_ALL_LANES, wild_begin, 1, lanes);
        const int begin_behind = __shfl_down_sync(CUDA_ALL_LANES, wild_begin, 1, lanes);
        const int end_before = __shfl_up_sync(CUDA_ALL_LANES, wild_end, 1, lanes);
        const int end_behind = __shfl_down_sync(CUDA_ALL_LANES, wild_end, 1, lanes);
        const int first = min(wild_begin, min(begin_before, begin_behind));
        const int last = min(max(wild_end, max(end_before, end_behind)), end);

#pragma unroll 1
        for (int plane = first; plane < last; plane++) {
#pragma unroll 1
            for (int sample = 0; sample < (Volume ? Rows : 1) * Pack; sample++) {
                if ((wanted >> sample / Pack & 1) != 0 && x + sample % Pack < job.from.nx)
                    take_one(plane, sample / Pack, sample % Pack);
            }
        }
    }

    /* ---- the walk ---- */

    /* Before the first step: what a step before it would have left, from the samples `behind` it, the plane
       before or the rows above. `now` has the first step's own. */
    CUDA_INLINE void open(const arrival &behind, const arrival &now)
    {
        keep(behind);
        magnitude_before = behind.magnitude;
#pragma unroll
        for (int j = 0; j < Pack; j++) {
            if constexpr (!Volume && Conducts && !Relaxes)
                above_factors[j] = factor([&](int c) { return behind.lines[c][Rows - 1][j]; },
                                          [&](int c) { return now.lines[c][0][j]; }, job.plane);
#pragma unroll
            for (int r = 0; r < Rows && Volume && !Relaxes; r++)
                open_products(behind, now, r, j);
        }
    }

    CUDA_INLINE void open_products(const arrival &behind, const arrival &now, int r, int j)
    {
        T face = job.plane;

        if constexpr (Conducts)
            face = factor([&](int c) { return behind.lines[c][r + 1][j]; },
                          [&](int c) { return now.lines[c][r + 1][j]; }, job.plane);
#pragma unroll
        for (int c = 0; c < Channels; c++) {
            const T there = behind.lines[c][r + 1][j];
            products[c][r][j] = face * (Conducts ? there - now.lines[c][r + 1][j] : there);
        }
    }

    /* Keep samples for the next step. */
    CUDA_INLINE void keep(const arrival &now)
    {
#pragma unroll
        for (int c = 0; c < Channels; c++) {
#pragma unroll
            for (int j = 0; j < Pack; j++) {
                if constexpr (!Volume)
                    above[c][j] = now.lines[c][Rows - 1][j];
#pragma unroll
                for (int r = 0; r < Rows && Volume && Relaxes; r++)
                    before[c][r][j] = now.lines[c][FirstOwn + r][j];
            }
        }
    }

    /* The faces above a thread's rows of a plane. */
    CUDA_INLINE void open_rows(const arrival &now)
    {
#pragma unroll
        for (int j = 0; j < Pack; j++)
            above_factors[j] = factor([&](int c) { return now.lines[c][0][j]; },
                                      [&](int c) { return now.lines[c][1][j]; }, job.row);
    }

    /* Compute the rows of `now`, while the loads of `next` are under way: only the last rows need them. */
    CUDA_INLINE void step(const arrival &now, arrival &next, int plane)
    {
        faces_magnitude<T> magnitude = {};

        if constexpr (Volume && Conducts && !Relaxes)
            open_rows(now);
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            surroundings around;
            pixels done;
            surround(around, now, next, r);
            if constexpr (Relaxes)
                relax_all(done, around, magnitude);
            else if constexpr (Conducts)
                conduct(done, around, r);
            else
                curve(done, around, r);
            store(done, around, r, Volume ? plane : plane + r);
        }
        keep(now);
        /* The step has read samples of three steps; any of them beyond the limit makes its results doubtful.
         */
        measure(next);
        magnitude.take(magnitude_before);
        magnitude.take(now.magnitude);
        magnitude.take(next.magnitude);
        magnitude_before = now.magnitude;
        if (Guarded && magnitude.is_beyond(job.limit)) {
            wild_begin = min(wild_begin, plane);
            wild_end = plane + Form::Planes;
        }
    }

    CUDA_INLINE void run()
    {
        arrival now, next;

        load(next, begin - Form::Planes);
        load(now, begin);
        measure(next);
        measure(now);
        open(next, now);
#pragma unroll 1
        for (int plane = begin; plane < end; plane += Form::Planes) {
            load(next, plane + Form::Planes);
            step(now, next, plane);
            now = next;
        }
        if constexpr (Guarded)
            take_one_by_one();
    }
};

template <typename Form>
__global__ void __launch_bounds__(Form::Threads, Form::residents(cuda_code()))
    faces_kernel(const faces_job<Form> job)
{
    faces_walk<Form> walk(job);

    if (walk.begin < walk.end && __any_sync(CUDA_ALL_LANES, walk.wanted != 0))
        walk.run();
}

/* ---- the host ---- */

/* Whether an op's taps are those of a star, with all its faces, and those on both sides of a sample weigh the
   same. The tap in the middle is the sample itself, which has no face. */
template <size_t Count> static bool has_taps(const struct op *op, const int (&places)[Count])
{
    const size_t absent = op->flux == FLUX_TANH ? Count : Count / 2;
    size_t k = 0;

    if (op->tap_count != (absent < Count ? Count - 1 : Count))
        return false;
    for (size_t i = 0; i < Count; i++) {
        if (i == absent)
            continue;
        if (cuda_box_index(&op->taps[k]) != places[i] ||
            op->taps[k].weight != op->taps[op->tap_count - 1 - k].weight)
            return false;
        k++;
    }
    return true;
}

/* Whether an op has the faces of a volume, or of a picture. */
static bool is_volume(const struct op *op)
{
    return has_taps(op, cuda_star_places);
}

static bool is_picture(const struct op *op, const struct shape *shape)
{
    static const int cross_places[] = {4, 12, 13, 14, 22};

    return shape->rows == 1 && has_taps(op, cross_places);
}

static bool relaxes(const struct op *op)
{
    return op->inner > 1 || op->reacts;
}

/* ---- forms ---- */

/* Rows of a thread, and blocks of a multiprocessor, with which an H100 is fastest and nothing spills. */
template <typename T, enum flux Flux, bool Volume, bool Relaxes> static constexpr int separate_rows()
{
    if (!Volume)
        return 4;
    return sizeof(T) == sizeof(double) || Relaxes ? 2 : Flux == FLUX_TANH ? 4 : 3;
}

template <typename T, enum flux Flux, bool Volume, bool Relaxes> static constexpr int separate_blocks()
{
    if (sizeof(T) == sizeof(float))
        return Relaxes && !Volume ? 3 : 4;
    if (Flux == FLUX_PM1)
        return Relaxes && Volume ? 2 : 3;
    return Relaxes ? 3 : Volume ? 5 : 4;
}

template <typename T, enum flux Flux, bool Volume, bool Relaxes>
using separate_form = faces_form<T, Flux, Volume, Relaxes, 0, separate_rows<T, Flux, Volume, Relaxes>(), 4,
                                 separate_blocks<T, Flux, Volume, Relaxes>()>;

template <typename T, enum flux Flux, bool Volume, int Joint>
using joint_form = faces_form<T, Flux, Volume, false, Joint, 1, 4,
                              Joint == 4 ? 2
                              : Volume   ? 3
                                         : 4>;

/* Channels under one conductivity that a thread has registers for. */
static constexpr size_t most_joint(bool volume)
{
    return volume ? 3 : 4;
}

/* Call act with the form that a group of so many channels needs. */
template <typename T, enum flux Flux, bool Volume, typename Act>
static auto choose_channels(const struct op *op, size_t channels, Act act)
{
    if constexpr (Flux != FLUX_TANH) {
        /* Under pm1 a group of one has the bits of a channel without group; pm2 rounds once more. */
        constexpr size_t Fewest = Flux == FLUX_PM1 ? 2 : 1;
        if (op->joint > 0 && channels >= Fewest)
            return cuda_with_number<Fewest, most_joint(Volume), 1>(
                static_cast<int>(channels),
                [&](auto joint) { return act(joint_form<T, Flux, Volume, joint()>()); });
    }
    return relaxes(op) ? act(separate_form<T, Flux, Volume, true>())
                       : act(separate_form<T, Flux, Volume, false>());
}
template <typename T, bool Volume, typename Act>
static auto choose_flux(const struct op *op, size_t channels, Act act)
{
    switch (op->flux) {
    case FLUX_PM1:
        return choose_channels<T, FLUX_PM1, Volume>(op, channels, act);
    case FLUX_PM2:
        return choose_channels<T, FLUX_PM2, Volume>(op, channels, act);
    default:
        return choose_channels<T, FLUX_TANH, Volume>(op, channels, act);
    }
}
template <typename T, typename Act> static auto choose(const struct op *op, size_t channels, Act act)
{
    return is_volume(op) ? choose_flux<T, true>(op, channels, act) : choose_flux<T, false>(op, channels, act);
}

/* ---- how a launch is cut ---- */

/* The most planes of a walk. In longer ones warps drift apart, above all warps that take few rows at a time,
   and no longer find in the caches the rows that they share. */
template <typename Form> static constexpr int most_planes()
{
    return Form::Volume ? 32 : Form::Rows == 1 ? 64 : 128;
}

/* How tiles cover a plane of a volume, where the column behind the last one has a place in a lane, too; or a
   row of a picture. */
template <typename Form> static struct cuda_tiles tile(long long nx, long long rows)
{
    if (Form::Volume)
        return cuda_tiles_of<Form>(nx, rows, cuda_lanes_for(nx % Form::Width + 1, Form::Pack));
    const unsigned across = static_cast<unsigned>(cuda_ceil_divide(nx, Form::Width));
    return {across, across, 0, CUDA_WARP, 0};
}

/* Blocks that a device runs at once. */
template <typename Form> static int residents_on(const struct cuda_limits *limits)
{
    return limits->multiprocessors * Form::residents(limits->code);
}

/* Rows of a walk through a picture that relaxes samples by faces. Multiprocessors are busy with arithmetic,
   so what counts is the rows of the busiest one. A walk also takes the time of half a row to start. Blocks
   that are fewer than a multiprocessor runs at once take longer each; and those that do not all begin at once
   end at different times. */
template <typename Form>
static long long relaxed_rows(const struct cuda_limits *limits, long long rows, long long columns)
{
    const long long most = most_planes<Form>() / Form::Rows, at_once = Form::residents(limits->code);
    const auto cost = [=](long long turns, long long walks) {
        const long long blocks = cuda_ceil_divide(columns * walks, Form::Warps);
        const long long each = cuda_ceil_divide(blocks, limits->multiprocessors), left = each % at_once;
        const double time =
            static_cast<double>(each - left) + (left > 0 ? 1 + 0.6 * left : 0) + (each > at_once ? 0.3 : 0);
        return time * (static_cast<double>(turns * Form::Rows) + 0.5);
    };

    return Form::Rows * cuda_march_chunk(cuda_ceil_divide(rows, Form::Rows), most, cost);
}

/* Planes of a walk, if `columns` tiles cover a plane's channels. */
template <typename Form>
static long long chunk_of(const struct cuda_limits *limits, long long planes, long long columns)
{
    const long long residents = residents_on<Form>(limits);

    if (Form::Volume)
        return cuda_march_chunk(planes, most_planes<Form>(), [=](long long length, long long chunks) {
            return static_cast<double>(cuda_ceil_divide(columns * chunks, residents) * (length + 1));
        });
    if (Form::Relaxes && Form::Conducts)
        return relaxed_rows<Form>(limits, planes, columns);
    /* Beside relaxations, what is read twice takes no time. Warps that compute this much end at almost the
       same time. */
    return cuda_strip_rows(columns, planes, Form::Rows, Form::Relaxes ? 0 : Form::Rows,
                           residents * Form::Warps, most_planes<Form>(), 0.1);
}

template <typename Form> static long long blocks_of(long long planes, long long columns, long long chunk)
{
    const long long walks = columns * cuda_ceil_divide(planes, chunk);

    return Form::Volume ? walks : cuda_ceil_divide(walks, Form::Warps);
}

/* ---- the rung ---- */

/* Groups of channels that one launch computes: all if each channel is one. */
static long long groups_of(const struct op *op)
{
    return op->joint > 0 ? 1 : static_cast<long long>(op->channels);
}

/* Each face serves two samples, but for relaxations after the first. */
template <typename Form> static double operations(const struct op *op)
{
    return cuda_operations(op) - (Form::Conducts && !Form::Relaxes ? cuda_flux_operations(op) / 2 : 0);
}

/* Fill in the form of a launch over the whole grid. */
template <typename Form> static void describe(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct shape *shape = asked->shape;
    const long long planes = static_cast<long long>(shape->planes);
    const long long columns =
        tile<Form>(static_cast<long long>(shape->nx), static_cast<long long>(shape->rows)).count() *
        groups_of(asked->op);

    form->tile_x = Form::Width;
    form->tile_y = Form::Volume ? Form::Warps * Form::Rows : Form::Rows;
    form->tile_z = Form::Volume ? 1 : 0;
    form->resident_blocks = asked->wish->coarsen > 0 ? 0 : residents_on<Form>(asked->limits);
    form->coarsen = asked->wish->coarsen > 0
                        ? asked->wish->coarsen
                        : static_cast<int>(chunk_of<Form>(asked->limits, planes, columns));
    form->grid = dim3(cuda_blocks(blocks_of<Form>(planes, columns, form->coarsen)));
    form->block = dim3(Form::Threads);
    form->kernel = reinterpret_cast<const void *>(&faces_kernel<Form>);
    form->bytes_per_update = 2.0 * sizeof(typename Form::T);
    form->operations_per_update = operations<Form>(asked->op);
    form->reached = Form::Relaxes ? 0.64 : sizeof(typename Form::T) == sizeof(float) ? 0.45 : 0.36;
}

template <typename T> static bool faces_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct op *op = asked->op;
    const struct shape *shape = asked->shape;

    if (op->kind != OP_HEAT || (op->flux != FLUX_PM1 && op->flux != FLUX_PM2 && op->flux != FLUX_TANH))
        return cuda_refuse(asked->refusal, "only heat under pm1, pm2 or tanh");
    if (asked->wish->steps > 1)
        return cuda_refuse(asked->refusal, "it takes one step a pass");
    if (!is_volume(op) && !is_picture(op, shape))
        return cuda_refuse(asked->refusal, "the flux has no faces along some axis");
    if (op_group_most(op) > most_joint(is_volume(op)))
        return cuda_refuse(asked->refusal, "more than %zu channels have one conductivity",
                           most_joint(is_volume(op)));
    if (op->joint > 0 && relaxes(op))
        return cuda_refuse(asked->refusal, "channels under one conductivity that relax more than once");
    if (cuda_is_beyond_32_bits(asked))
        return false;
    choose<T>(op, op_group(op, 0).count, [&](auto chosen) { describe<decltype(chosen)>(asked, form); });
    return true;
}

/* The weight of the face, or tap, ahead along an axis. */
static double weight_of(const struct op *op, int dx, int drow, int dplane)
{
    for (size_t k = 0; k < op->tap_count; k++) {
        const struct op_tap *tap = &op->taps[k];
        if (tap->dx == dx && tap->drow == drow && tap->dplane == dplane)
            return tap->weight;
    }
    return 0;
}

template <typename Form> static faces_job<Form> job_of(const struct cuda_job *from)
{
    using T = typename Form::T;
    const struct op *op = from->op->op;
    faces_job<Form> job = {};

    job.from = *static_cast<const cuda_view<T> *>(from->from);
    job.to = *static_cast<const cuda_view<T> *>(from->to);
    job.x = static_cast<T>(weight_of(op, 1, 0, 0));
    job.row = static_cast<T>(weight_of(op, 0, 1, 0));
    job.plane = static_cast<T>(weight_of(op, 0, 0, 1));
    job.centre = static_cast<T>(weight_of(op, 0, 0, 0));
    job.heat = cuda_heat_of<T>(op);
    job.limit = faces_limit(job.heat.inverse_scale);
    job.rule = op->edge;
    job.outside = static_cast<const T *>(from->op->outside);
    job.taps = static_cast<const cuda_tap<T> *>(from->op->taps);
    job.tap_count = static_cast<int>(op->tap_count);
    job.first = static_cast<int>(from->planes.first);
    job.end = static_cast<int>(from->planes.first + from->planes.count);
    return job;
}

/* Groups from a channel on. */
template <typename Form> static cudaError_t launch(const struct cuda_job *from, int first_channel, int groups)
{
    faces_job<Form> job = job_of<Form>(from);
    const long long planes = job.end - job.first;
    const bool chooses = from->form->resident_blocks > 0;

    if (planes == 0)
        return cudaSuccess;
    job.first_channel = first_channel;
    job.groups = groups;
    job.tiles = tile<Form>(job.from.nx, job.from.rows);
    const long long columns = static_cast<long long>(job.tiles.count()) * groups;
    job.chunk =
        chooses ? static_cast<int>(chunk_of<Form>(from->limits, planes, columns)) : from->form->coarsen;
    job.tiles.all_last = job.tiles.last * static_cast<unsigned>(groups * cuda_ceil_divide(planes, job.chunk));
    return CUDA_LAUNCH(from->stream, dim3(cuda_blocks(blocks_of<Form>(planes, columns, job.chunk))),
                       dim3(Form::Threads), 0, faces_kernel<Form>, job);
}

template <typename T> static cudaError_t faces_launch(const struct cuda_job *job)
{
    const struct op *op = job->op->op;
    cudaError_t status = cudaSuccess;

    for (size_t i = 0; i < (op->joint > 0 ? op_group_count(op) : 1) && status == cudaSuccess; i++) {
        const struct range group = op_group(op, i);
        status = choose<T>(op, group.count, [&](auto chosen) {
            return launch<decltype(chosen)>(job, static_cast<int>(group.first),
                                            static_cast<int>(groups_of(op)));
        });
    }
    return status;
}

CUDA_RUNG(faces, false, true, true);
