/* Packs of 16 bytes, in which samples are loaded and stored; and the common part of the streaming rungs of
 * pictures.
 *
 * A warp walks down a column strip of a picture. The rows ahead of it arrive by asynchronous copies in a ring
 * of stages in shared memory, which no other warp uses (a multistage pipeline, cp.async). Each row is one
 * group of copies, so that waiting for a group is waiting for a row. Lanes copy for one another: after the
 * wait, __syncwarp() lets all lanes see the row, and only then is the stage of the row before overwritten.
 * There is no barrier of the block.
 *
 * Columns and rows outside the grid are filled by the edge rule as they are fetched. */
#ifndef CUDA_ROW_RING_CUH
#define CUDA_ROW_RING_CUH

#include "cuda_chain.cuh"

/* Stages of the ring: the row that is being read, and the rows whose copies are under way. */
#define CUDA_RING_STAGES 4

/* The vector type of 16 bytes of samples. */
template <typename T> struct cuda_pack_of;
template <> struct cuda_pack_of<float> {
    typedef float4 vector;
    enum { samples = 4 };
};
template <> struct cuda_pack_of<double> {
    typedef double2 vector;
    enum { samples = 2 };
};

CUDA_INLINE void cuda_unpack(float4 vector, float *samples)
{
    samples[0] = vector.x;
    samples[1] = vector.y;
    samples[2] = vector.z;
    samples[3] = vector.w;
}
CUDA_INLINE void cuda_unpack(double2 vector, double *samples)
{
    samples[0] = vector.x;
    samples[1] = vector.y;
}
CUDA_INLINE float4 cuda_pack(const float *samples)
{
    return make_float4(samples[0], samples[1], samples[2], samples[3]);
}
CUDA_INLINE double2 cuda_pack(const double *samples)
{
    return make_double2(samples[0], samples[1]);
}

/* Count samples, a multiple of a pack, from 16-byte aligned memory. */
template <int Count, typename T> CUDA_INLINE void cuda_load_packs(const T *from, T *samples)
{
    typedef typename cuda_pack_of<T>::vector vector;

#pragma unroll
    for (int i = 0; i < Count; i += cuda_pack_of<T>::samples)
        cuda_unpack(*reinterpret_cast<const vector *>(from + i), samples + i);
}

/* Count samples: one, or 8 aligned bytes, or whole packs. */
template <int Count, typename T> CUDA_INLINE void cuda_load_aligned(const T *from, T *samples)
{
    if constexpr (Count == 1) {
        samples[0] = *from;
    } else if constexpr (Count * sizeof(T) == 8) {
        const float2 pair = *reinterpret_cast<const float2 *>(from);
        samples[0] = pair.x;
        samples[1] = pair.y;
    } else {
        cuda_load_packs<Count>(from, samples);
    }
}

/* The address `bytes` bytes past base. */
template <typename T> CUDA_INLINE T *cuda_further(T *base, unsigned bytes)
{
    typedef typename std::conditional<std::is_const<T>::value, const char, char>::type byte;

    return reinterpret_cast<T *>(reinterpret_cast<byte *>(base) + bytes);
}

/* The fewest lanes side by side, a power of 2, whose packs make up so many columns. */
static inline unsigned cuda_lanes_for(long long columns, int pack)
{
    unsigned lanes = CUDA_WARP;

    while (lanes > 1 && lanes / 2 * pack >= columns)
        lanes /= 2;
    return lanes;
}

/* Lanes side by side for the last columns of rows, with the other lanes of the warp below them. Lanes that
   the columns just fill are slower where they read less than a line of the memory, 128 bytes. */
static inline unsigned cuda_last_lanes(long long columns, int pack)
{
    const int line = 8 * pack;

    return cuda_lanes_for(columns < line ? columns + 1 : columns, pack);
}

/* Store whole packs, to memory aligned for them. */
template <typename T, int Count> CUDA_INLINE void cuda_put(T *to, const T (&samples)[Count])
{
#pragma unroll
    for (int i = 0; i < Count; i += cuda_pack_of<T>::samples)
        *reinterpret_cast<typename cuda_pack_of<T>::vector *>(to + i) = cuda_pack(samples + i);
}

template <typename T, int Count> CUDA_INLINE void cuda_copy(T (&to)[Count], const T (&from)[Count])
{
#pragma unroll
    for (int i = 0; i < Count; i++)
        to[i] = from[i];
}

template <typename T, int Count> CUDA_INLINE void cuda_fill(T (&samples)[Count], T value)
{
#pragma unroll
    for (int i = 0; i < Count; i++)
        samples[i] = value;
}

/* Store a lane's samples to columns [x, x + Count) of a row, but only to those in [begin, end). */
template <int Count, typename T>
CUDA_INLINE void cuda_store_columns(T *row, int x, int begin, int end, const T *samples)
{
    typedef typename cuda_pack_of<T>::vector vector;
    const int pack = cuda_pack_of<T>::samples;

#pragma unroll
    for (int i = 0; i < Count; i += pack) {
        if (x + i >= begin && x + i + pack <= end) {
            *reinterpret_cast<vector *>(row + x + i) = cuda_pack(samples + i);
        } else {
#pragma unroll
            for (int k = 0; k < pack; k++) {
                if (x + i + k >= begin && x + i + k < end)
                    row[x + i + k] = samples[i + k];
            }
        }
    }
}

/* arith_edge_index for indices near the grid, without a division: an index is folded until it is inside. */
CUDA_INLINE int cuda_near_index(enum edge_rule rule, int i, int n)
{
    while (i < 0 || i >= n) {
        switch (rule) {
        case EDGE_NEAREST:
            return i < 0 ? 0 : n - 1;
        case EDGE_REFLECT:
            i = i < 0 ? -1 - i : 2 * n - 1 - i;
            break;
        case EDGE_MIRROR:
            i = n == 1 ? 0 : i < 0 ? -i : 2 * n - 2 - i;
            break;
        case EDGE_WRAP:
            i = i < 0 ? i + n : i - n;
            break;
        default:
            return -1;
        }
    }
    return i;
}

/* One channel of a picture: row y begins at base + y · stride. */
template <typename T> struct cuda_channel {
    T *base;
    long long stride;

    CUDA_INLINE cuda_channel(const cuda_view<T> &view, int channel)
        : base(view.row(0, channel, 0)), stride(view.plane_stride())
    {
    }
    CUDA_INLINE T *row(int y) const
    {
        return base + y * stride;
    }
};

/* A column strip of one channel: columns [begin, begin + Width) of a picture's rows, Width and begin
   multiples of a pack. */
template <typename T, int Width> struct cuda_strip {
    cuda_channel<T> from;
    enum edge_rule rule;
    T outside; /* the value of EDGE_CONSTANT */
    int nx, rows;
    int begin;
    bool inside; /* all columns are in the grid */

    CUDA_INLINE cuda_strip(const cuda_view<T> &view, const cuda_edge<T> &edge, int channel, int first_column)
        : from(view, channel), rule(edge.rule),
          outside(edge.rule == EDGE_CONSTANT ? edge.outside[channel] : T(0)), nx(view.nx),
          rows(static_cast<int>(view.planes)), begin(first_column),
          inside(first_column >= 0 && first_column + Width <= view.nx)
    {
    }

    /* Start the copy of a row, by the whole warp. */
    CUDA_INLINE void fetch(int y, T *stage, int lane) const
    {
        const int source = cuda_near_index(rule, y, rows);

        if (source < 0)
            fill(stage, lane);
        else if (inside)
            fetch_packs(from.row(source) + begin, stage, lane);
        else
            fetch_samples(from.row(source), stage, lane);
    }

  private:
    CUDA_INLINE void fill(T *stage, int lane) const
    {
#pragma unroll 1
        for (int i = lane; i < Width; i += CUDA_WARP)
            stage[i] = outside;
    }

    CUDA_INLINE void fetch_packs(const T *row, T *stage, int lane) const
    {
        const int pack = cuda_pack_of<T>::samples;

#pragma unroll
        for (int i = 0; i < Width; i += CUDA_WARP * pack) {
            if (i + CUDA_WARP * pack <= Width || i + lane * pack < Width)
                cuda_copy_async<16>(stage + i + lane * pack, row + i + lane * pack);
        }
    }

    CUDA_INLINE void fetch_samples(const T *row, T *stage, int lane) const
    {
#pragma unroll 1
        for (int i = lane; i < Width; i += CUDA_WARP) {
            const int x = cuda_near_index(rule, begin + i, nx);
            if (x < 0)
                stage[i] = outside;
            else
                cuda_copy_async<sizeof(T)>(stage + i, row + x);
        }
    }
};

/* The ring of a warp: rows of its strip, one after another. */
template <typename T, int Width> struct cuda_ring {
    const cuda_strip<T, Width> &strip;
    T *stages;
    int lane;
    int sent, end;  /* the next row that is sent for, and the first one that is not */
    unsigned stage; /* of the row that is received next */

    CUDA_INLINE cuda_ring(const cuda_strip<T, Width> &of_strip, T *memory, int of_lane, int first, int last)
        : strip(of_strip), stages(memory), lane(of_lane), sent(first), end(last), stage(0)
    {
#pragma unroll 1
        for (unsigned i = 0; i < CUDA_RING_STAGES - 1; i++)
            send(i);
    }

    /* The next row. It stays until the call after this one. */
    CUDA_INLINE const T *receive()
    {
        const T *row = stages + stage * Width;

        cuda_await_copies<CUDA_RING_STAGES - 2>(); /* this lane's part of the row is here */
        __syncwarp();                              /* and every lane's; all have read the row before */
        send((stage + CUDA_RING_STAGES - 1) % CUDA_RING_STAGES);
        stage = (stage + 1) % CUDA_RING_STAGES;
        return row;
    }

  private:
    /* Start the copy of the next row. The group is closed even if it is empty, so that there is one for each
     * row. */
    CUDA_INLINE void send(unsigned to)
    {
        if (sent < end)
            strip.fetch(sent, stages + to * Width, lane);
        sent++;
        cuda_commit_copies();
    }
};

static inline size_t cuda_ring_bytes(int width, size_t sample)
{
    return static_cast<size_t>(CUDA_RING_STAGES) * static_cast<size_t>(width) * sample;
}

/* The rows of a strip, a multiple of `unit`. Each strip also walks `extra` rows that its neighbours have. Few
   rows mean more such rows, many leave multiprocessors idle at the end, and with more than `most` the warps
   that run at the same time read far apart. The device runs `warps` at once, a round. They do not all end
   together, which takes `tail` of a round more. */
static inline long long cuda_strip_rows(long long columns, long long rows, int unit, int extra,
                                        long long warps, int most, double tail = 0.3)
{
    const long long fewest = cuda_ceil_divide(rows, most);
    long long best = most < rows ? most : rows;
    double least = 0;

    for (long long strips = fewest; strips <= rows; strips++) {
        const long long height = cuda_ceil_divide(cuda_ceil_divide(rows, strips), unit) * unit;
        const long long walks = columns * cuda_ceil_divide(rows, height);
        const double rounds = static_cast<double>(cuda_ceil_divide(walks, warps)) + tail;
        const double cost = rounds * static_cast<double>(height + extra);
        if (strips == fewest || cost < least) {
            least = cost;
            best = height;
        }
        if (height <= (unit > 8 ? unit : 8) || columns * strips > 64 * warps)
            break;
    }
    return best;
}

/* The place of a warp: neighbours in x first, so that warps that run at the same time read the same rows. */
struct cuda_place {
    int column, channel, strip;
};

CUDA_INLINE cuda_place cuda_place_of(unsigned block, int columns, int strips)
{
    const unsigned across = static_cast<unsigned>(columns), down = static_cast<unsigned>(strips);

    return {static_cast<int>(block % across), static_cast<int>(block / across / down),
            static_cast<int>(block / across % down)};
}

/* Whether a grid is a picture to an op: its rows are planes, and no tap leaves a plane's only row. */
static inline bool cuda_is_picture(const struct op *op, const struct shape *shape)
{
    return shape->rows == 1 && op->row.low == 0 && op->row.high == 0;
}

#endif
