/* Samples of a file into fields, and back: types, byte order, channels, transfer curves, alpha, ranges.
 *
 * Known as: elementwise (map) kernels with a grid-stride loop; array of structures to structure of arrays.
 * Idea: a thread takes a pixel with all its channels, so that alpha is at hand for its colours, and
 *   neighbours in x take neighbouring pixels.
 * Adds: nothing; curves are arithmetic.
 * Costs: with many channels a warp's accesses to the file's samples are a pixel apart, and not coalesced.
 * Traffic per sample: what the file's type takes, and a word a channel of the field.
 * Wins when: always, against doing it on the CPU: packed samples cross the bus, not words.
 *
 * Threads stride over the pixels of some planes, each pixel by one thread, and no thread waits for another.
 * Samples that change (NaNs, cut off, infinite) are counted in registers; at the end each warp adds its
 * counts by shuffles, and one lane adds the sum to the device's counters: an atomic for each warp, and none
 * if it has nothing to add. */
#include "cuda_convert.h"

#include "cuda_sample.cuh"

#include <type_traits>

namespace
{

#define CONVERT_THREADS 256

/* An encoding as kernels read it: numbers in the work type. */
template <typename T> struct coding {
    unsigned point_count;
    cuda_point<T> points[ENCODING_POINTS];
    bool swapped;
    int channels, colours;        /* of the file; those that are not alpha */
    int work_channels;            /* of a field, that it fills */
    bool premultiply, associated; /* only with alpha */
    T opaque, alpha_factor;
    enum transfer transfer;
    T max, decode, encode; /* the type's largest value, and the exponents of TRANSFER_GAMMA */
    T low, high;           /* values between them are stored as they are, but for rounding */
    bool ranged;
    struct stretch stretch;
    struct sample_limits stretched; /* likewise of values that are stretched */
    bool missing;                   /* colours may be missing: NaN in a field */
    bool marked;                    /* and those that equal the mark in a file are */
    T mark;
    bool masked; /* behind all other channels, a field has the originals of each channel of the file; */
    bool rests;  /* and behind these, what rounding took from them */
    int original_channels;
    T scale, shift, original_mark;
    struct range counted_columns, counted_rows; /* of the pixels that count in the outcomes */

    /* All points, in turn. */
    CUDA_INLINE T after_points(T value) const
    {
#pragma unroll 1
        for (unsigned i = 0; i < point_count; i++) {
#pragma unroll 1
            for (unsigned long long n = 0; n < points[i].times; n++)
                value = cuda_pointed(points[i], value);
        }
        return value;
    }
    /* Through the transfer curve, or its inverse on the way into a file. */
    CUDA_INLINE T transferred(T value, bool into_file) const
    {
        switch (transfer) {
        case TRANSFER_SRGB:
            return into_file ? cuda_srgb_from_linear(value, max) : cuda_srgb_to_linear(value, max);
        case TRANSFER_GAMMA:
            return cuda_gamma_scaled(value, max, into_file ? encode : decode);
        default:
            return value;
        }
    }

    /* What is to be written of a sample outside the mask, as it stands in a field. */
    CUDA_INLINE T original(T value, bool colour) const
    {
        if (colour && (scale != T(1) || shift != T(0)))
            value = cuda_fma(scale, value, shift);
        return colour && marked ? cuda_unmarked(value, original_mark) : value;
    }
};

struct range counted_or_all(struct range counted)
{
    const struct range all = {0, SIZE_MAX};

    return counted.count > 0 ? counted : all;
}

/* An encoding in numbers of the work type. */
template <typename T> coding<T> coding_of(const struct encoding *encoding)
{
    const enum work_type work = sizeof(T) == sizeof(float) ? WORK_F32 : WORK_F64;
    const struct sample_limits limits = sample_limits(encoding->type, work);
    coding<T> coding = {};

    coding.point_count = encoding->point_count;
    for (unsigned i = 0; i < encoding->point_count; i++)
        coding.points[i] = cuda_point_of<T>(encoding->points[i]);
    coding.swapped = encoding->swapped;
    coding.missing = encoding->missing;
    coding.marked = encoding->marked;
    coding.mark = static_cast<T>(encoding->mark);
    coding.masked = encoding->masked;
    coding.rests = encoding->original.rests;
    coding.original_channels = static_cast<int>(encoding_original_channels(encoding));
    coding.scale = static_cast<T>(encoding->original.scale);
    coding.shift = static_cast<T>(encoding->original.shift);
    coding.original_mark = static_cast<T>(encoding->original.mark);
    coding.low = static_cast<T>(limits.low);
    coding.high = static_cast<T>(limits.high);
    coding.ranged = encoding->ranged;
    coding.stretch = encoding_stretch(encoding);
    coding.stretched = encoding_stretched_limits(encoding);
    coding.channels = static_cast<int>(encoding->channels);
    coding.colours = static_cast<int>(encoding_colours(encoding));
    coding.work_channels = static_cast<int>(encoding_work_channels(encoding));
    coding.premultiply = encoding->alpha && encoding->premultiply;
    coding.associated = encoding->alpha && encoding->associated;
    coding.opaque = static_cast<T>(encoding->opaque);
    coding.alpha_factor = static_cast<T>(encoding_alpha_factor(encoding));
    coding.transfer = encoding->transfer;
    coding.max = static_cast<T>(sample_max(encoding->type));
    coding.decode = static_cast<T>(encoding->gamma);
    coding.encode = static_cast<T>(1.0 / encoding->gamma);
    coding.counted_columns = counted_or_all(encoding->counted_columns);
    coding.counted_rows = counted_or_all(encoding->counted_rows);
    return coding;
}

/* The pixels of a range of planes; a thread strides over them. */
struct pixels {
    long long first, count; /* planes */
    int nx, rows;

    __host__ __device__ long long total() const
    {
        return count * rows * nx;
    }
};

/* A pixel's place in a field. */
struct pixel {
    long long plane;
    int row, x;

    CUDA_INLINE pixel(const pixels &all, long long index)
    {
        const long long line = index / all.nx;

        x = static_cast<int>(index - line * all.nx);
        row = static_cast<int>(line % all.rows);
        plane = all.first + line / all.rows;
    }
    template <typename T> CUDA_INLINE T &of(const cuda_view<T> &view, int channel) const
    {
        return view.row(plane, channel, row)[x];
    }
    template <typename T> CUDA_INLINE bool counts(const coding<T> &coding) const
    {
        return static_cast<size_t>(x) - coding.counted_columns.first < coding.counted_columns.count &&
               static_cast<size_t>(row) - coding.counted_rows.first < coding.counted_rows.count;
    }
};

CUDA_INLINE long long first_index()
{
    return static_cast<long long>(blockIdx.x) * CONVERT_THREADS + static_cast<long long>(threadIdx.x);
}
CUDA_INLINE long long index_stride()
{
    return static_cast<long long>(gridDim.x) * CONVERT_THREADS;
}

/* Add the counts of all threads of a block, all of which must call this: by warp shuffles, then an atomic for
   each warp that has counted something. */
CUDA_INLINE void add_count(unsigned long long *total, unsigned mine)
{
    unsigned long long sum = mine;

    if (!__any_sync(CUDA_ALL_LANES, mine != 0))
        return;
#pragma unroll
    for (int distance = CUDA_WARP / 2; distance > 0; distance /= 2)
        sum += __shfl_down_sync(CUDA_ALL_LANES, sum, distance);
    if (threadIdx.x % CUDA_WARP == 0)
        atomicAdd(total, sum);
}

/* Whether a file's sample is NaN or infinite. */
template <typename S> CUDA_INLINE bool is_stray(S stored, bool swapped)
{
    if constexpr (std::is_integral<S>::value) {
        return false;
    } else {
        typedef typename std::conditional<sizeof(S) == sizeof(double), double, float>::type number;
        const number value = cuda_number<number>(stored, swapped);
        return !(value - value == number(0));
    }
}

/* Whether rounding may take something from samples of a file that are kept for what is outside a mask. */
template <typename T, typename S> CUDA_INLINE constexpr bool has_rests()
{
    return std::is_integral<S>::value && sizeof(S) == 8 && std::is_same<T, double>::value;
}

/* What is to be added to such a sample when it is stored. */
template <typename T, typename S> CUDA_INLINE T rest_of(S sample, T value)
{
    S stored;

    cuda_store(value, &stored);
    return static_cast<T>(static_cast<long long>(static_cast<unsigned long long>(sample) -
                                                 static_cast<unsigned long long>(stored)));
}

/* In f32, a multiprocessor has registers for so many blocks, and loads wait less for memory if it has them.
 */
template <typename T> constexpr int load_residents(int code)
{
    return code >= 100 || sizeof(T) > 4 ? cuda_least_residents(code)
                                        : cuda_residents(code, CONVERT_THREADS, 6);
}

/* Pixels of a file into a field: decoded, through the points, times alpha; a premultiplied picture's colours
   are kept as they are as well, behind alpha. Pixels outside a mask are missing. */
template <typename T, typename S>
__global__ void __launch_bounds__(CONVERT_THREADS, load_residents<T>(cuda_code()))
    load_kernel(const coding<T> coding, const S *packed, const unsigned char *mask, const cuda_view<T> to,
                const pixels pixels, const struct range counted, struct cuda_outcomes *outcomes)
{
    const int first_original = to.channels - coding.original_channels;
    unsigned strays = 0, left_out = 0, missing = 0;

    for (long long index = first_index(); index < pixels.total(); index += index_stride()) {
        const pixel pixel(pixels, index);
        const S *samples = packed + index * coding.channels;
        const bool outside = coding.masked && mask[index] == 0;
        const bool counts =
            static_cast<size_t>(pixel.plane) - counted.first < counted.count && pixel.counts(coding);
        const bool asks = coding.missing && counts && !outside;
        left_out += counts && outside ? 1 : 0;
        /* Alpha is the last channel, but its colours need it first. */
        const T covered =
            cuda_cover(cuda_number<T>(samples[coding.channels - 1], coding.swapped), coding.opaque);
        for (int channel = 0; channel < coding.channels; channel++) {
            T value = cuda_number<T>(samples[channel], coding.swapped);
            if (counts && is_stray(samples[channel], coding.swapped))
                strays++;
            if (coding.masked)
                pixel.of(to, first_original + channel) =
                    outside ? coding.original(value, channel < coding.colours) : T(NAN);
            if constexpr (has_rests<T, S>()) {
                const S sample = coding.swapped ? cuda_swapped(samples[channel]) : samples[channel];
                if (coding.rests)
                    pixel.of(to, to.channels - coding.channels + channel) =
                        outside ? rest_of(sample, value) : T(0);
            }
            if (channel < coding.colours) {
                if (coding.marked && value == coding.mark)
                    value = T(NAN);
                if (asks && value != value)
                    missing++;
                value = coding.after_points(coding.transferred(value, false));
            }
            if (outside)
                value = T(NAN);
            if (coding.premultiply && channel < coding.colours) {
                pixel.of(to, coding.colours + 1 + channel) = value;
                value = value * covered;
            }
            pixel.of(to, channel) = value;
        }
        /* Channels that the field has for other reasons. */
        for (int channel = coding.work_channels; channel < first_original; channel++)
            pixel.of(to, channel) = T(0);
    }
    if constexpr (!std::is_integral<S>::value)
        add_count(&outcomes->strays, strays);
    if (coding.masked)
        add_count(&outcomes->outside, left_out);
    if (coding.missing)
        add_count(&outcomes->missing, missing);
}

/* A channel's value as it is written, if it is not outside the mask. */
template <typename T>
CUDA_INLINE T restored(const coding<T> &coding, const cuda_view<T> &from, const pixel &pixel, int channel,
                       T value)
{
    if (!coding.masked)
        return value;
    const T original = pixel.of(from, from.channels - coding.original_channels + channel);
    const bool colour = channel < coding.colours;
    if (original != original)
        return value;
    return colour && coding.marked ? cuda_unmarked(original, coding.mark) : original;
}

/* Colour as it is written: divided by alpha if it was multiplied, through the points, encoded, and times
   alpha if the file has it so; outside the mask, as it was. */
template <typename T>
CUDA_INLINE T settled_colour(const coding<T> &coding, const cuda_view<T> &from, const pixel &pixel,
                             int channel)
{
    T value = pixel.of(from, channel);

    if (coding.premultiply)
        value = cuda_uncovered(value, pixel.of(from, coding.colours + 1 + channel),
                               cuda_cover(pixel.of(from, coding.colours), coding.opaque));
    value = coding.transferred(coding.after_points(value), true);
    if (coding.associated)
        value = value * cuda_cover(pixel.of(from, coding.colours), coding.opaque);
    if (coding.marked && value != value)
        value = coding.mark;
    return restored(coding, from, pixel, channel, value);
}

/* Values that storing changes, counted by a thread. */
struct tally_of_thread {
    unsigned nans, below, above;
    bool counts; /* the pixel at hand */

    template <typename V> CUDA_INLINE void note(V value, V low, V high)
    {
        nans += counts && value != value ? 1 : 0;
        below += counts && value < low ? 1 : 0;
        above += counts && value > high ? 1 : 0;
    }
    CUDA_INLINE void add_to(struct cuda_outcomes *outcomes) const
    {
        add_count(&outcomes->nans, nans);
        add_count(&outcomes->below, below);
        add_count(&outcomes->above, above);
    }
};

/* A sample stretched into the encoding's range, in double; and one as it is. */
template <typename T, typename S>
CUDA_INLINE S stretched_sample(const coding<T> &coding, T value, tally_of_thread *tally)
{
    const struct stretch &to = coding.stretch;
    const double v = arith_stretch_f64(static_cast<double>(value), to.low, to.span, to.least, to.width);
    S stored;

    tally->note(v, coding.stretched.low, coding.stretched.high);
    cuda_store(arith_clamp_f64(v, to.least, to.greatest), &stored);
    return stored;
}

template <typename T, typename S>
CUDA_INLINE S plain_sample(const coding<T> &coding, T value, tally_of_thread *tally)
{
    S stored;

    tally->note(value, coding.low, coding.high);
    cuda_store(value, &stored);
    return stored;
}

/* A sample as it is stored: one outside is what it was. */
template <typename T, typename S> CUDA_INLINE S with_rest(S stored, T rest)
{
    return static_cast<S>(static_cast<unsigned long long>(stored) +
                          static_cast<unsigned long long>(static_cast<long long>(rest)));
}

/* Pixels of a field into a file. */
template <typename T, typename S>
__global__ void __launch_bounds__(CONVERT_THREADS)
    store_kernel(const coding<T> coding, const cuda_view<T> from, S *packed, const pixels pixels,
                 struct cuda_outcomes *outcomes)
{
    tally_of_thread tally = {0, 0, 0, true};

    for (long long index = first_index(); index < pixels.total(); index += index_stride()) {
        const pixel pixel(pixels, index);
        S *samples = packed + index * coding.channels;
        tally.counts = pixel.counts(coding);
        for (int channel = 0; channel < coding.channels; channel++) {
            const bool colour = channel < coding.colours;
            const T value = colour ? settled_colour(coding, from, pixel, channel)
                                   : restored(coding, from, pixel, channel, pixel.of(from, channel)) *
                                         coding.alpha_factor;
            S stored = colour && coding.ranged ? stretched_sample<T, S>(coding, value, &tally)
                                               : plain_sample<T, S>(coding, value, &tally);
            if constexpr (has_rests<T, S>()) {
                if (coding.rests)
                    stored = with_rest(stored, pixel.of(from, from.channels - coding.channels + channel));
            }
            samples[channel] = coding.swapped ? cuda_swapped(stored) : stored;
        }
    }
    tally.add_to(outcomes);
}

/* Raise a peak to the greatest rank of a block's threads: by warp shuffles, then an atomic for each warp that
   would change it. */
CUDA_INLINE void raise_peak(unsigned long long *peak, unsigned long long mine)
{
#pragma unroll
    for (int distance = CUDA_WARP / 2; distance > 0; distance /= 2) {
        const unsigned long long other = __shfl_down_sync(CUDA_ALL_LANES, mine, distance);
        mine = other > mine ? other : mine;
    }
    if (threadIdx.x % CUDA_WARP == 0 && mine > *static_cast<volatile unsigned long long *>(peak))
        atomicMax(peak, mine);
}

/* The extremes of the colours that store_kernel would write. */
template <typename T>
__global__ void __launch_bounds__(CONVERT_THREADS, cuda_least_residents(cuda_code()))
    measure_kernel(const coding<T> coding, const cuda_view<T> from, const pixels pixels,
                   struct cuda_peaks *peaks)
{
    unsigned long long least = 0, greatest = 0;

    for (long long index = first_index(); index < pixels.total(); index += index_stride()) {
        const pixel pixel(pixels, index);
        for (int channel = 0; channel < coding.colours; channel++) {
            const double value = static_cast<double>(settled_colour(coding, from, pixel, channel));
            const unsigned long long rank = arith_rank_f64(value), rest = ~rank;
            /* Infinities and NaNs do not count. */
            if (!(value - value == 0.0))
                continue;
            greatest = rank > greatest ? rank : greatest;
            least = rest > least ? rest : least;
        }
    }
    raise_peak(&peaks->least, least);
    raise_peak(&peaks->greatest, greatest);
}

template <typename T> pixels pixels_of(const cuda_view<T> &view, struct range planes)
{
    return {static_cast<long long>(planes.first), static_cast<long long>(planes.count), view.nx, view.rows};
}

dim3 convert_grid(const pixels &pixels)
{
    const long long most = 1 << 20; /* threads stride over the rest */
    const long long blocks = cuda_ceil_divide(pixels.total(), CONVERT_THREADS);

    return dim3(static_cast<unsigned>(blocks < most ? blocks : most));
}

} // namespace

template <typename T>
cudaError_t cuda_load_planes(const struct encoding *encoding, const void *packed, const cuda_view<T> &to,
                             struct range planes, struct range counted, struct cuda_outcomes *outcomes,
                             cudaStream_t stream)
{
    const pixels pixels = pixels_of(to, planes);
    const unsigned char *mask = static_cast<const unsigned char *>(packed) +
                                encoding_mask_place(encoding, static_cast<size_t>(pixels.total()));

    return cuda_with_sample(encoding->type, [&](auto sample) {
        typedef decltype(sample) S;
        const auto kernel = load_kernel<T, S>;
        return CUDA_LAUNCH(stream, convert_grid(pixels), dim3(CONVERT_THREADS), 0, kernel,
                           coding_of<T>(encoding), static_cast<const S *>(packed), mask, to, pixels, counted,
                           outcomes);
    });
}

template <typename T>
cudaError_t cuda_store_planes(const struct encoding *encoding, const cuda_view<T> &from, void *packed,
                              struct range planes, struct cuda_outcomes *outcomes, cudaStream_t stream)
{
    const pixels pixels = pixels_of(from, planes);

    return cuda_with_sample(encoding->type, [&](auto sample) {
        typedef decltype(sample) S;
        const auto kernel = store_kernel<T, S>;
        return CUDA_LAUNCH(stream, convert_grid(pixels), dim3(CONVERT_THREADS), 0, kernel,
                           coding_of<T>(encoding), from, static_cast<S *>(packed), pixels, outcomes);
    });
}

template <typename T>
cudaError_t cuda_measure_planes(const struct encoding *encoding, const cuda_view<T> &from,
                                struct range planes, struct cuda_peaks *peaks, cudaStream_t stream)
{
    const pixels pixels = pixels_of(from, planes);
    const auto kernel = measure_kernel<T>;

    return CUDA_LAUNCH(stream, convert_grid(pixels), dim3(CONVERT_THREADS), 0, kernel, coding_of<T>(encoding),
                       from, pixels, peaks);
}

#define INSTANTIATE(T)                                                                                       \
    template cudaError_t cuda_load_planes(const struct encoding *encoding, const void *packed,               \
                                          const cuda_view<T> &to, struct range planes, struct range counted, \
                                          struct cuda_outcomes *outcomes, cudaStream_t stream);              \
    template cudaError_t cuda_store_planes(const struct encoding *encoding, const cuda_view<T> &from,        \
                                           void *packed, struct range planes,                                \
                                           struct cuda_outcomes *outcomes, cudaStream_t stream);             \
    template cudaError_t cuda_measure_planes(const struct encoding *encoding, const cuda_view<T> &from,      \
                                             struct range planes, struct cuda_peaks *peaks,                  \
                                             cudaStream_t stream);

INSTANTIATE(float)
INSTANTIATE(double)
