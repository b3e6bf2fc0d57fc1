/* The emulated GPU: it computes what a GPU would, and finds what it is there to find. */
#include "kernels/backend.h"
#include "kernels/cuda/shared/cuda_platform.h"
#include "kernels/cuda/shared/cuda_platform.h"
#include "asan.h"
#include "assertions.h"
#include "emulation.h"
#include "poison.h"

#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static const dim3 one(1);

static void fresh()
{
    emulation_reset();
    emulation_set_order(EMULATION_FORWARD, 0);
    emulation_set_lazy_streams(false);
}

/* Device memory that a test reads as an array. */
template <typename T> class device_array
{
  public:
    explicit device_array(std::size_t count) : count_(count)
    {
        ck_assert_int_eq(cudaMalloc(&memory_, count * sizeof(T)), cudaSuccess);
    }
    explicit device_array(const std::vector<T> &values) : device_array(values.size())
    {
        ck_assert_int_eq(cudaMemcpy(memory_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
                         cudaSuccess);
    }
    ~device_array()
    {
        cudaFree(memory_);
    }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;

    operator T *() const
    {
        return memory_;
    }
    std::vector<T> values() const
    {
        std::vector<T> copy(count_);
        ck_assert_int_eq(cudaMemcpy(copy.data(), memory_, count_ * sizeof(T), cudaMemcpyDeviceToHost),
                         cudaSuccess);
        return copy;
    }

  private:
    T *memory_ = nullptr;
    std::size_t count_;
};

static void expect_complaint(cudaError_t error, const char *part)
{
    ck_assert_int_eq(error, cudaErrorLaunchFailure);
    ck_assert_msg(std::strstr(emulation_complaint(), part) != nullptr, "\"%s\" lacks \"%s\"",
                  emulation_complaint(), part);
    ck_assert_int_eq(cudaDeviceSynchronize(), cudaErrorLaunchFailure); /* until a reset */
    fresh();
}

/* How a child process ends that does something fatal: its exit status, or minus the signal. */
template <typename Action> static int end_of_child(Action action)
{
    int status = 0;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        action();
        std::exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ---------------------------------------------------------------- order and barriers */

/* Each thread sums its neighbours of the step before, in shared memory. */
template <bool Waits> __global__ static void smooth(int *values, int steps)
{
    CUDA_SHARED(int, cells);
    const unsigned n = blockDim.x, i = threadIdx.x;

    cells[i] = values[blockIdx.x * n + i];
    __syncthreads();
    for (int step = 0; step < steps; step++) {
        int sum = cells[(i + n - 1) % n] + cells[(i + 1) % n];
        if (Waits)
            __syncthreads();
        cells[i] = sum & 0xffff;
        __syncthreads();
    }
    values[blockIdx.x * n + i] = cells[i];
}

template <bool Waits> static std::vector<int> smoothed(enum emulation_order order, uint64_t seed)
{
    std::vector<int> start(3 * 96);

    for (std::size_t i = 0; i < start.size(); i++)
        start[i] = static_cast<int>(i * i % 1009);
    device_array<int> values(start);
    emulation_set_order(order, seed);
    ck_assert_int_eq(CUDA_LAUNCH(nullptr, dim3(3), dim3(96), 96 * sizeof(int), smooth<Waits>, values, 5),
                     cudaSuccess);
    return values.values();
}

static std::vector<int> smoothed_on_host()
{
    std::vector<int> cells(3 * 96), next(3 * 96);

    for (std::size_t i = 0; i < cells.size(); i++)
        cells[i] = static_cast<int>(i * i % 1009);
    for (int step = 0; step < 5; step++) {
        for (std::size_t i = 0; i < cells.size(); i++) {
            std::size_t block = i / 96 * 96, x = i % 96;
            next[i] = (cells[block + (x + 95) % 96] + cells[block + (x + 1) % 96]) & 0xffff;
        }
        cells = next;
    }
    return cells;
}

START_TEST(right_kernels_are_right_in_every_order)
{
    ck_assert(smoothed<true>(EMULATION_FORWARD, 0) == smoothed_on_host());
    ck_assert(smoothed<true>(EMULATION_REVERSED, 0) == smoothed_on_host());
    for (uint64_t seed = 1; seed <= 8; seed++)
        ck_assert(smoothed<true>(EMULATION_SHUFFLED, seed) == smoothed_on_host());
    ck_assert_uint_eq(emulation_launches(), 10);
}
END_TEST

START_TEST(a_missing_barrier_gives_wrong_bytes)
{
    ck_assert(smoothed<false>(EMULATION_FORWARD, 0) != smoothed_on_host());
    ck_assert(smoothed<false>(EMULATION_REVERSED, 0) != smoothed_on_host());
    ck_assert(smoothed<false>(EMULATION_SHUFFLED, 7) != smoothed_on_host());
}
END_TEST

/* Reads its left neighbour, which the forward order has always written before. */
__global__ static void lucky(int *values)
{
    CUDA_SHARED(int, cells);
    const unsigned i = threadIdx.x;

    cells[i] = static_cast<int>(i);
    values[i] = i == 0 ? -1 : cells[i - 1];
}

START_TEST(a_barrier_missed_by_luck_shows_in_reverse)
{
    device_array<int> values(64);

    ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, dim3(64), 64 * sizeof(int), lucky, values), cudaSuccess);
    ck_assert_int_eq(values.values()[1], 0);
    emulation_set_order(EMULATION_REVERSED, 0);
    ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, dim3(64), 64 * sizeof(int), lucky, values), cudaSuccess);
    ck_assert_int_eq(values.values()[1], static_cast<int>(emulation::poison_word));
}
END_TEST

__global__ static void leaves_early(int limit)
{
    if (static_cast<int>(threadIdx.x) >= limit)
        return;
    __syncthreads();
}

__global__ static void parts_ways()
{
    if (threadIdx.x < 16)
        __syncthreads();
    else
        __syncthreads();
}

__global__ static void barrier_against_warp()
{
    if (threadIdx.x == 3)
        __syncthreads();
    else
        __syncwarp();
}

START_TEST(divergent_barriers_are_reported)
{
    expect_complaint(CUDA_LAUNCH(nullptr, dim3(2), dim3(64), 0, leaves_early, 40),
                     "40 of 64 threads at __syncthreads");
    expect_complaint(CUDA_LAUNCH(nullptr, dim3(2, 3), dim3(64), 0, leaves_early, 40), "block (0,0,0)");
    expect_complaint(CUDA_LAUNCH(nullptr, one, dim3(64), 0, leaves_early, 40), "24 of 64 threads exited");
    expect_complaint(CUDA_LAUNCH(nullptr, one, dim3(32), 0, parts_ways), "meet at different barriers");
    expect_complaint(CUDA_LAUNCH(nullptr, one, dim3(32), 0, barrier_against_warp),
                     "kernel barrier_against_warp");
    ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, dim3(64), 0, leaves_early, 64), cudaSuccess);
}
END_TEST

/* ---------------------------------------------------------------- warps */

enum { UP, DOWN, XOR, FROM };

template <typename T> __global__ static void shuffle_all(T *out, int kind, int argument, int width)
{
    const T own = static_cast<T>(threadIdx.x + 1000);
    T got = kind == UP     ? __shfl_up_sync(0xffffffff, own, static_cast<unsigned>(argument), width)
            : kind == DOWN ? __shfl_down_sync(0xffffffff, own, static_cast<unsigned>(argument), width)
            : kind == XOR  ? __shfl_xor_sync(0xffffffff, own, argument, width)
                           : __shfl_sync(0xffffffff, own, argument, width);

    out[threadIdx.x] = got;
}

static int shuffle_source(int kind, int lane, int argument, int width)
{
    int first = lane / width * width, last = first + width - 1;

    switch (kind) {
    case UP:
        return lane - argument >= first ? lane - argument : lane;
    case DOWN:
        return lane + argument <= last ? lane + argument : lane;
    case XOR:
        return (lane ^ argument) <= last ? lane ^ argument : lane;
    default:
        return first + argument % width;
    }
}

template <typename T> static void check_shuffles()
{
    device_array<T> out(64);

    for (int kind = UP; kind <= FROM; kind++) {
        for (int width = 1; width <= 32; width *= 2) {
            for (int argument = 0; argument < 32; argument++) {
                ck_assert_int_eq(
                    CUDA_LAUNCH(nullptr, one, dim3(64), 0, shuffle_all<T>, out, kind, argument, width),
                    cudaSuccess);
                std::vector<T> got = out.values();
                for (int i = 0; i < 64; i++)
                    ck_assert(got[i] == static_cast<T>(1000 + i / 32 * 32 +
                                                       shuffle_source(kind, i % 32, argument, width)));
            }
        }
    }
}

START_TEST(shuffles_move_values)
{
    check_shuffles<int>();
    check_shuffles<unsigned>();
    check_shuffles<float>();
    check_shuffles<double>();
    check_shuffles<long long>();
    check_shuffles<unsigned long long>();
}
END_TEST

__global__ static void vote(unsigned *out)
{
    const unsigned i = threadIdx.x;

    out[i] = __ballot_sync(0xffffffff, i % 3 == 0);
    out[i + 32] = static_cast<unsigned>(__any_sync(0xffffffff, i == 5) * 2 + __all_sync(0xffffffff, i < 31));
    if (i < 8)
        out[i + 64] = __shfl_sync(0xffu, i, 9); /* lane 9 is not of the party */
}

START_TEST(votes_are_counted)
{
    device_array<unsigned> out(72);

    ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, dim3(32), 0, vote, out), cudaSuccess);
    std::vector<unsigned> got = out.values();
    ck_assert_uint_eq(got[17], 0x49249249u);
    ck_assert_uint_eq(got[32], 2u);
    ck_assert_uint_eq(got[64], emulation::poison_word);
}
END_TEST

struct old_form {
    static constexpr bool serves(int code)
    {
        return code < 90;
    }
};

__global__ static void tell_code(int *out)
{
    CUDA_WHERE_SERVED (old_form) {
        *out = cuda_code();
    }
}

START_TEST(code_is_that_of_the_stream_and_traps_without_a_form)
{
    struct emulation_device device = emulation_get_device();
    device_array<int> out(1);
    cudaStream_t old;

    ck_assert_int_eq(device.major, 9);
    device.major = 8;
    device.minor = 6;
    emulation_set_device(&device);
    ck_assert_int_eq(cudaStreamCreate(&old), cudaSuccess);
    device.major = 9;
    emulation_set_device(&device);
    ck_assert_int_eq(CUDA_LAUNCH(old, one, one, 0, tell_code, out), cudaSuccess);
    ck_assert_int_eq(cudaStreamSynchronize(old), cudaSuccess);
    ck_assert_int_eq(out.values()[0], 86);
    ck_assert_int_eq(cudaStreamDestroy(old), cudaSuccess);
    expect_complaint(CUDA_LAUNCH(nullptr, one, one, 0, tell_code, out), "trap at check_emulation.cpp");
}
END_TEST

/* What is wrong with the mask depends on the case. */
__global__ static void bad_mask(int which)
{
    const unsigned i = threadIdx.x;

    if (which == 0 && i == 3)
        __syncwarp(0xf0);
    if (which == 1 && i < 16)
        return;
    if (which == 1)
        (void)__shfl_sync(0xffffffff, i, 0);
    if (which == 2 && i >= 16)
        (void)__shfl_sync(0xffffffff, i, 0);
    if (which == 3)
        (void)__shfl_sync(0xffffffff, i, 0, 12);
    __syncthreads();
}

START_TEST(bad_masks_are_reported)
{
    expect_complaint(CUDA_LAUNCH(nullptr, one, dim3(32), 0, bad_mask, 0), "the mask lacks the calling lane");
    expect_complaint(CUDA_LAUNCH(nullptr, one, dim3(32), 0, bad_mask, 1), "lane 0 has exited");
    expect_complaint(CUDA_LAUNCH(nullptr, one, dim3(32), 0, bad_mask, 2), "16 of 32 threads at __shfl_sync");
    expect_complaint(CUDA_LAUNCH(nullptr, one, dim3(32), 0, bad_mask, 3), "width 12");
    ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, dim3(32), 0, bad_mask, 4), cudaSuccess);
}
END_TEST

/* ---------------------------------------------------------------- asynchronous copies */

/* Fetch two groups, wait until at most `Pending` are under way, read both. */
template <int Pending> __global__ static void fetch(const int *from, int *to)
{
    CUDA_SHARED(int, cells);
    const unsigned n = blockDim.x, i = threadIdx.x;

    cells[i] = 1;
    cells[n + i] = 2;
    cuda_copy_async<4>(cells + i, from + i);
    cuda_commit_copies();
    cuda_copy_async<4>(cells + n + i, from + n + i);
    cuda_commit_copies();
    cuda_await_copies<Pending>();
    to[i] = cells[i];
    to[n + i] = cells[n + i];
}

START_TEST(copies_happen_when_awaited)
{
    const int undefined = static_cast<int>(emulation::poison_word);
    device_array<int> from(std::vector<int>(64, 77)), to(64);

    ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, dim3(32), 256, fetch<0>, from, to), cudaSuccess);
    ck_assert(to.values()[0] == 77 && to.values()[32] == 77);
    ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, dim3(32), 256, fetch<1>, from, to), cudaSuccess);
    ck_assert(to.values()[0] == 77 && to.values()[32] == undefined);
    ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, dim3(32), 256, fetch<2>, from, to), cudaSuccess);
    ck_assert(to.values()[0] == undefined && to.values()[32] == undefined);
}
END_TEST

__global__ static void bad_copy(const char *from, int which)
{
    CUDA_SHARED(char, bytes);

    if (which == 0)
        cuda_copy_async<16>(bytes + 4, from);
    else if (which == 1)
        cuda_copy_async<16>(bytes + 64, from);
    else
        cuda_copy_async<16>(bytes, from + (which == 2 ? 64 : 1 << 20));
}

START_TEST(bad_copies_are_reported)
{
    device_array<char> from(64);

    expect_complaint(CUDA_LAUNCH(nullptr, one, one, 64, bad_copy, from, 0), "not aligned");
    device_array<char> again(64);
    expect_complaint(CUDA_LAUNCH(nullptr, one, one, 64, bad_copy, again, 1), "64 bytes of shared memory");
    for (int which = 2; which <= 3; which++) {
        device_array<char> small(64);
        expect_complaint(CUDA_LAUNCH(nullptr, one, one, 64, bad_copy, small, which), "any allocation");
    }
}
END_TEST

/* ---------------------------------------------------------------- barriers with phases, and boxes */

/* Each warp passes its number on to the next, round by round, and does not wait where it arrives. */
template <bool Waits> __global__ static void pass_on(int *values, int rounds)
{
    CUDA_SHARED(cuda_barrier, barrier);
    int *const cells = reinterpret_cast<int *>(barrier + 1);
    const unsigned warps = blockDim.x / 32, warp = threadIdx.x / 32;
    int own = static_cast<int>(warp);

    if (threadIdx.x == 0)
        cuda_barrier_create(barrier, blockDim.x);
    cuda_barriers_created();
    for (int round = 0; round < rounds; round++) {
        int *const cell = cells + static_cast<unsigned>(round & 1) * warps;
        if (threadIdx.x % 32 == 31)
            cell[warp] = own;
        cuda_barrier_arrive(barrier);
        if (Waits)
            cuda_barrier_await(barrier, static_cast<unsigned>(round) & 1);
        own = cell[(warp + 1) % warps];
    }
    values[threadIdx.x] = own;
}

static void check_passing(int code)
{
    const struct emulation_device usual = emulation_get_device();
    struct emulation_device device = usual;
    device_array<int> values(128);

    device.major = code / 10;
    emulation_set_device(&device);
    for (int order = EMULATION_FORWARD; order <= EMULATION_SHUFFLED; order++) {
        emulation_set_order(static_cast<enum emulation_order>(order), 3);
        ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, dim3(128), 64, pass_on<true>, values, 3), cudaSuccess);
        for (int i = 0; i < 128; i++)
            ck_assert_int_eq(values.values()[static_cast<std::size_t>(i)], (i / 32 + 3) % 4);
    }
    emulation_set_device(&usual);
    emulation_set_order(EMULATION_FORWARD, 0);
}

START_TEST(warps_arrive_before_they_wait)
{
    check_passing(70);
    check_passing(80);
    check_passing(90);
}
END_TEST

/* ---------------------------------------------------------------- blocks that await each other */

constexpr unsigned ring_blocks = 7;

/* Each block passes its number on to the next, round by round. */
template <bool Waits>
__global__ static void pass_around(int *cells, unsigned *signals, int *values, unsigned rounds)
{
    const unsigned block = blockIdx.x, before = (block + gridDim.x - 1) % gridDim.x;
    int own = static_cast<int>(block);

    for (unsigned round = 1; round <= rounds; round++) {
        int *const row = cells + (round - 1) * gridDim.x;
        if (threadIdx.x == 5)
            row[block] = own;
        __syncthreads();
        if (threadIdx.x == 0) {
            cuda_raise_signal(signals + block, round);
            if (Waits)
                cuda_await_signal(signals + before, round);
        }
        __syncthreads();
        own = row[before];
    }
    values[block * blockDim.x + threadIdx.x] = own;
}

/* Whether the numbers come where they belong. */
template <bool Waits> static bool passes_around(enum emulation_order order, uint64_t seed, unsigned rounds)
{
    device_array<int> cells((rounds + 1) * ring_blocks), values(ring_blocks * 64);
    device_array<unsigned> signals{std::vector<unsigned>(ring_blocks)};
    bool right = true;

    emulation_set_order(order, seed);
    ck_assert_int_eq(cuda_launch_together(nullptr, dim3(ring_blocks), dim3(64), 0, pass_around<Waits>, cells,
                                          signals, values, rounds),
                     cudaSuccess);
    for (unsigned i = 0; i < ring_blocks * 64; i++)
        right = right && values.values()[i] ==
                             static_cast<int>((i / 64 + ring_blocks * rounds - rounds) % ring_blocks);
    return right;
}

START_TEST(blocks_await_each_other)
{
    for (unsigned rounds = 0; rounds < 12; rounds++) {
        ck_assert(passes_around<true>(EMULATION_FORWARD, 0, rounds));
        ck_assert(passes_around<true>(EMULATION_REVERSED, 0, rounds));
        ck_assert(passes_around<true>(EMULATION_SHUFFLED, rounds + 1, rounds));
    }
    ck_assert(!passes_around<false>(EMULATION_FORWARD, 0, 3));
    ck_assert(!passes_around<false>(EMULATION_REVERSED, 0, 3));
}
END_TEST

enum { SIGNAL_UNRAISED, SIGNAL_SKIPPED, SIGNAL_ELSEWHERE, SIGNAL_TRAPS, SIGNAL_ALONE };

__global__ static void bad_signal(unsigned *signal, int which)
{
    if (which == SIGNAL_TRAPS && blockIdx.x == 1)
        __trap();
    if (which == SIGNAL_SKIPPED)
        cuda_raise_signal(signal, 2);
    if (which == SIGNAL_ELSEWHERE)
        cuda_raise_signal(signal + 1, 1);
    cuda_await_signal(signal, 1);
}

static cudaError_t launch_bad_signal(unsigned *signal, unsigned blocks, int which)
{
    if (which == SIGNAL_ALONE)
        return CUDA_LAUNCH(nullptr, dim3(blocks), one, 0, bad_signal, signal, which);
    return cuda_launch_together(nullptr, dim3(blocks), one, 0, bad_signal, signal, which);
}

START_TEST(bad_signals_are_reported)
{
    static const char *const words[] = {"at a signal at check_emulation.cpp", "rises from 0 to 2",
                                        "outside of any allocation", "trap at", "need not run at once"};

    for (int which = SIGNAL_UNRAISED; which <= SIGNAL_ALONE; which++) {
        device_array<unsigned> signal{std::vector<unsigned>(1)};
        expect_complaint(launch_bad_signal(signal, 2, which), words[which]);
    }
}
END_TEST

/* A multiprocessor holds 32 blocks of a thread, and there are two. */
START_TEST(blocks_that_do_not_run_at_once_are_refused)
{
    device_array<unsigned> signals{std::vector<unsigned>(65, 1)};

    ck_assert_int_eq(launch_bad_signal(signals, 64, -1), cudaSuccess);
    ck_assert_int_eq(launch_bad_signal(signals, 65, -1), cudaErrorCooperativeLaunchTooLarge);
}
END_TEST

/* ---------------------------------------------------------------- barriers that are used wrongly, and boxes
 */

__global__ static void bad_barrier(int which)
{
    CUDA_SHARED(cuda_barrier, barriers);

    if (threadIdx.x == 0)
        cuda_barrier_create(barriers, which == 1 ? 2 : 1);
    cuda_barriers_created();
    if (which == 4 && threadIdx.x == 0)
        barriers[0].state = 0;
    __syncthreads();
    if (threadIdx.x == 0 && which < 2)
        cuda_barrier_arrive(barriers + (which == 0 ? 1 : 0));
    if (threadIdx.x == 0 && which == 2) {
        cuda_barrier_arrive(barriers);
        cuda_barrier_arrive(barriers);
    }
    cuda_barrier_await(barriers, which == 3 ? 1 : 0);
}

START_TEST(bad_barriers_are_reported)
{
    expect_complaint(CUDA_LAUNCH(nullptr, one, dim3(32), 16, bad_barrier, 0), "never created");
    expect_complaint(CUDA_LAUNCH(nullptr, one, dim3(32), 16, bad_barrier, 1), "at a phase of a barrier");
    expect_complaint(CUDA_LAUNCH(nullptr, one, dim3(32), 16, bad_barrier, 2), "at which all have arrived");
    expect_complaint(CUDA_LAUNCH(nullptr, one, dim3(32), 16, bad_barrier, 3), "another phase");
    expect_complaint(CUDA_LAUNCH(nullptr, one, dim3(32), 16, bad_barrier, 4), "overwritten");
    expect_complaint(CUDA_LAUNCH(nullptr, one, dim3(32), 4, bad_barrier, 0), "outside of shared memory");
}
END_TEST

/* A box of 4 × 2 samples, or 4 of either plane, to shared memory and from there to `to`; what is wrong with
   it depends on the case. */
enum {
    BOX_RIGHT,
    BOX_OF_PLANES,
    BOX_UNAWAITED,
    BOX_SHIFTED,
    BOX_BEYOND,
    BOX_FEWER_BYTES,
    BOX_LATE,
    BOX_AT_ODD_COLUMN
};

__global__ static void fetch_box(const cuda_box_map map, cuda_box_place place, float *to, int which)
{
    CUDA_SHARED(unsigned char, shared);
    cuda_barrier *const barrier = reinterpret_cast<cuda_barrier *>(shared + 128);
    const float *const box = reinterpret_cast<const float *>(shared);

    if (threadIdx.x == 0)
        cuda_barrier_create(barrier, 1);
    cuda_barriers_created();
    if (threadIdx.x == 0) {
        if (which == BOX_LATE)
            cuda_barrier_arrive(barrier);
        cuda_fetch_box(shared + (which == BOX_SHIFTED  ? 16
                                 : which == BOX_BEYOND ? 128
                                                       : 0),
                       &map, place, barrier, which == BOX_FEWER_BYTES ? 16 : 32);
        cuda_barrier_arrive(barrier);
    }
    if (which != BOX_UNAWAITED)
        cuda_barrier_await(barrier, 0);
    if (threadIdx.x < 8)
        to[threadIdx.x] = box[threadIdx.x];
}

/* Two planes of 5 × 3, a row 32 bytes, numbered from 1 on by hundreds, tens and ones. */
static cuda_boxed_field numbered_field(std::vector<float> *samples)
{
    samples->assign(2 * 3 * 8, -1.0f);
    for (std::size_t plane = 0; plane < 2; plane++) {
        for (std::size_t row = 0; row < 3; row++) {
            for (std::size_t x = 0; x < 5; x++)
                (*samples)[(plane * 3 + row) * 8 + x] =
                    static_cast<float>(100 * (plane + 1) + 10 * (row + 1) + x + 1);
        }
    }
    return {nullptr, 4, 5, 3, 1, 2, 32, 96, 96};
}

static cudaError_t fetch_from(const device_array<float> &samples, cuda_boxed_field field,
                              const cuda_box_place &place, const device_array<float> &to, int which)
{
    cuda_box_map map;

    field.samples = samples;
    ck_assert_int_eq(which == BOX_OF_PLANES ? cuda_map_boxes(&map, &field, 4, 1, 2)
                                            : cuda_map_boxes(&map, &field, 4, 2, 1),
                     cudaSuccess);
    return CUDA_LAUNCH(nullptr, one, dim3(32), 136, fetch_box, map, place, to, which);
}

START_TEST(boxes_come_with_zeros_around_the_field)
{
    std::vector<float> numbers;
    const cuda_boxed_field field = numbered_field(&numbers);
    device_array<float> samples(numbers), to(8);

    ck_assert_int_eq(fetch_from(samples, field, {0, 1, 0, 1}, to, BOX_RIGHT), cudaSuccess);
    ck_assert(to.values() == std::vector<float>({221, 222, 223, 224, 231, 232, 233, 234}));
    ck_assert_int_eq(fetch_from(samples, field, {4, -1, 0, 0}, to, BOX_RIGHT), cudaSuccess);
    ck_assert(to.values() == std::vector<float>({0, 0, 0, 0, 115, 0, 0, 0}));
    ck_assert_int_eq(fetch_from(samples, field, {-4, 2, 0, 0}, to, BOX_RIGHT), cudaSuccess);
    ck_assert(to.values() == std::vector<float>(8, 0.0f));
    ck_assert_int_eq(fetch_from(samples, field, {0, 0, 0, 2}, to, BOX_RIGHT), cudaSuccess);
    ck_assert(to.values() == std::vector<float>(8, 0.0f));
    ck_assert_int_eq(fetch_from(samples, field, {0, 2, 0, 0}, to, BOX_OF_PLANES), cudaSuccess);
    ck_assert(to.values() == std::vector<float>({131, 132, 133, 134, 231, 232, 233, 234}));
    ck_assert_int_eq(fetch_from(samples, field, {0, 2, 0, -1}, to, BOX_OF_PLANES), cudaSuccess);
    ck_assert(to.values() == std::vector<float>({0, 0, 0, 0, 131, 132, 133, 134}));
    ck_assert_int_eq(fetch_from(samples, field, {0, 0, 0, 0}, to, BOX_UNAWAITED), cudaSuccess);
    for (float value : to.values())
        ck_assert(value != value);
}
END_TEST

static void expect_bad_box(int which, int major, const char *part)
{
    struct emulation_device device = emulation_get_device();
    std::vector<float> numbers;
    const cuda_boxed_field field = numbered_field(&numbers);
    device_array<float> samples(numbers), to(8);

    device.major = major;
    emulation_set_device(&device);
    expect_complaint(fetch_from(samples, field, {which == BOX_AT_ODD_COLUMN ? 2 : 0, 0, 0, 0}, to, which),
                     part);
}

START_TEST(bad_boxes_are_reported)
{
    std::vector<float> numbers;
    cuda_boxed_field field = numbered_field(&numbers);
    device_array<float> samples(numbers);
    cuda_box_map map;

    field.samples = samples;
    ck_assert_int_eq(cuda_map_boxes(&map, &field, 5, 2, 1), cudaErrorInvalidValue);
    ck_assert_int_eq(cuda_map_boxes(&map, &field, 4, 257, 1), cudaErrorInvalidValue);
    ck_assert_int_eq(cuda_map_boxes(&map, &field, 4, 2, 0), cudaErrorInvalidValue);
    field.planes = 3;
    ck_assert_int_eq(cuda_map_boxes(&map, &field, 4, 2, 1), cudaErrorInvalidValue);
    field.planes = 2;
    field.row_stride = 24;
    ck_assert_int_eq(cuda_map_boxes(&map, &field, 4, 2, 1), cudaErrorInvalidValue);
    expect_bad_box(BOX_SHIFTED, 9, "not aligned to 128 bytes");
    expect_bad_box(BOX_AT_ODD_COLUMN, 9, "not aligned to 16 bytes");
    expect_bad_box(BOX_BEYOND, 9, "136 bytes of shared memory");
    expect_bad_box(BOX_FEWER_BYTES, 9, "waits for 16 bytes of a box of 32");
    expect_bad_box(BOX_LATE, 9, "does not wait for");
    expect_bad_box(BOX_RIGHT, 8, "before 9.0");
}
END_TEST

/* ---------------------------------------------------------------- memory */

__global__ static void write_shared(int index)
{
    CUDA_SHARED(volatile int, cells);

    cells[index] = 1;
}

__global__ static void read_shared(int *out)
{
    CUDA_SHARED(int, cells);

    *out = cells[blockIdx.x];
    cells[blockIdx.x] = 5;
}

__global__ static void write_global(volatile int *values, int index)
{
    values[index] = 1;
}

template <typename Launch> static void expect_out_of_bounds(Launch launch, const char *complaint)
{
    if (EMULATION_ASAN)
        ck_assert_int_ne(end_of_child([=] { (void)launch(); }), 0);
    else
        expect_complaint(launch(), complaint);
}

START_TEST(out_of_bounds_is_found)
{
    ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, one, 40, write_shared, 9), cudaSuccess);
    expect_out_of_bounds([] { return CUDA_LAUNCH(nullptr, one, one, 40, write_shared, 10); },
                         "shared memory");
    expect_out_of_bounds([] { return CUDA_LAUNCH(nullptr, one, one, 40, write_shared, -1); },
                         "shared memory");

    int *values = nullptr;
    ck_assert_int_eq(cudaMalloc(&values, 12), cudaSuccess);
    expect_out_of_bounds([=] { return CUDA_LAUNCH(nullptr, one, one, 0, write_global, values, 3); },
                         "allocation of 12 bytes");
    fresh();
}
END_TEST

START_TEST(reads_out_of_bounds_and_by_the_host_are_found)
{
    if (!EMULATION_ASAN)
        return;
    int *values = nullptr;
    ck_assert_int_eq(cudaMalloc(&values, 12), cudaSuccess);
    ck_assert_int_ne(end_of_child([=] { (void)CUDA_LAUNCH(nullptr, one, one, 0, read_shared, values); }), 0);
    ck_assert_int_ne(end_of_child([=] { *values = 1; }), 0);
    fresh();
}
END_TEST

START_TEST(unwritten_memory_is_poison)
{
    const int undefined = static_cast<int>(emulation::poison_word);
    device_array<int> out(3);
    double as_double;

    ck_assert(out.values() == std::vector<int>(3, undefined));
    ck_assert_int_eq(CUDA_LAUNCH(nullptr, dim3(2), one, 8, read_shared, out), cudaSuccess);
    ck_assert_int_eq(out.values()[0], undefined);
    ck_assert(std::isnan(__int_as_float(undefined)));
    emulation::poison(&as_double, sizeof as_double);
    ck_assert(std::isnan(as_double));
}
END_TEST

START_TEST(memory_is_limited)
{
    struct emulation_device device = emulation_get_device();
    void *first = nullptr, *second = nullptr;
    std::size_t available = 0, total = 0;

    device.memory_bytes = 1000;
    emulation_set_device(&device);
    ck_assert_int_eq(cudaMalloc(&first, 600), cudaSuccess);
    ck_assert_int_eq(cudaMemGetInfo(&available, &total), cudaSuccess);
    ck_assert(available == 400 && total == 1000);
    ck_assert_int_eq(cudaMalloc(&second, 401), cudaErrorMemoryAllocation);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorMemoryAllocation);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    ck_assert_int_eq(cudaFree(first), cudaSuccess);
    ck_assert_int_eq(cudaMalloc(&second, 1000), cudaSuccess);
    ck_assert_int_eq(cudaFree(second), cudaSuccess);
    ck_assert_int_eq(cudaFree(second), cudaErrorInvalidValue);
}
END_TEST

START_TEST(copies_must_fit_and_know_their_direction)
{
    device_array<char> memory(100);
    char host[200] = {}, back[60] = {};

    for (int i = 0; i < 60; i++)
        host[i] = static_cast<char>(i);
    ck_assert_int_eq(cudaMemcpy(memory, host, 101, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemcpy(memory, host, 100, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemcpy2D(memory, 40, host, 20, 21, 2, cudaMemcpyHostToDevice),
                     cudaErrorInvalidPitchValue);
    ck_assert_int_eq(cudaMemcpy2D(memory, 40, host, 20, 20, 4, cudaMemcpyHostToDevice),
                     cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemcpy2D(memory, 40, host, 20, 20, 3, cudaMemcpyHostToDevice), cudaSuccess);
    ck_assert_int_eq(cudaMemcpy2D(back, 20, memory, 40, 20, 3, cudaMemcpyDeviceToHost), cudaSuccess);
    ck_assert_int_eq(std::memcmp(host, back, 60), 0);
    ck_assert_int_eq(cudaMemset(memory, 7, 100), cudaSuccess);
    ck_assert_int_eq(memory.values()[99], 7);
    cudaGetLastError();
}
END_TEST

/* ---------------------------------------------------------------- launches */

__global__ static void nothing()
{
}

template <typename T, int Factor> __global__ static void scale(T *values, const T offset)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    values[i] = values[i] * Factor + offset;
}

START_TEST(launches_beyond_the_limits_are_refused)
{
    struct {
        dim3 grid, block;
        std::size_t shared_bytes;
        cudaError_t error;
    } cases[] = {
        {one, dim3(1024), 0, cudaSuccess},
        {one, dim3(34, 34), 0, cudaErrorInvalidConfiguration},
        {one, dim3(1, 1, 65), 0, cudaErrorInvalidConfiguration},
        {dim3(0), one, 0, cudaErrorInvalidConfiguration},
        {one, dim3(0), 0, cudaErrorInvalidConfiguration},
        {dim3(1, 65536), one, 0, cudaErrorInvalidConfiguration},
        {one, one, 48 << 10, cudaSuccess},
        {one, one, (48 << 10) + 1, cudaErrorInvalidValue},
    };

    for (const auto &launch : cases)
        ck_assert_int_eq(CUDA_LAUNCH(nullptr, launch.grid, launch.block, launch.shared_bytes, nothing),
                         launch.error);
    ck_assert_uint_eq(emulation_launches(), 2);

    ck_assert_int_eq(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 << 10),
                     cudaSuccess);
    ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, one, 227 << 10, nothing), cudaSuccess);
    ck_assert_int_eq(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 << 10),
                     cudaErrorInvalidValue);
    cudaGetLastError();
}
END_TEST

START_TEST(too_many_registers_are_refused)
{
    struct emulation_device device = emulation_get_device();
    cudaFuncAttributes attributes;
    int blocks = 0, threads = 0;

    device.registers_per_thread = 128;
    emulation_set_device(&device);
    ck_assert_int_eq(cudaFuncGetAttributes(&attributes, nothing), cudaSuccess);
    ck_assert_int_eq(attributes.maxThreadsPerBlock, 512);
    ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, dim3(544), 0, nothing), cudaErrorLaunchOutOfResources);
    ck_assert_int_eq(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 256, 100 << 10),
                     cudaSuccess);
    ck_assert_int_eq(blocks, 2);
    ck_assert_int_eq(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 544, 0), cudaSuccess);
    ck_assert_int_eq(blocks, 0);
    ck_assert_int_eq(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, nothing), cudaSuccess);
    ck_assert_int_eq(threads, 512);
}
END_TEST

START_TEST(template_kernels_take_arguments_as_calls_do)
{
    device_array<double> values(std::vector<double>(8, 2));
    void (*kernel)(double *, double) = scale<double, 5>;

    ck_assert_int_eq(CUDA_LAUNCH(nullptr, dim3(2), dim3(4), 0, (scale<double, 3>), values, 1), cudaSuccess);
    ck_assert_int_eq(CUDA_LAUNCH(nullptr, 2, 4, 0, kernel, values, 1.5f), cudaSuccess);
    ck_assert_double_eq(values.values()[7], 36.5);
}
END_TEST

START_TEST(a_launch_reports_errors_left_behind)
{
    void *memory;

    ck_assert_int_eq(cudaMalloc(&memory, std::size_t(1) << 40), cudaErrorMemoryAllocation);
    ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, one, 0, nothing), cudaErrorMemoryAllocation);
    ck_assert_uint_eq(emulation_launches(), 1);
    ck_assert_int_eq(CUDA_LAUNCH(nullptr, one, one, 0, nothing), cudaSuccess);
}
END_TEST

__global__ static void add_up(int *whole, float *real)
{
    atomicAdd(whole, static_cast<int>(threadIdx.x));
    atomicAdd(real, 0.5f);
}

START_TEST(atomics_add)
{
    device_array<int> whole(std::vector<int>(1));
    device_array<float> real(std::vector<float>(1));

    ck_assert_int_eq(CUDA_LAUNCH(nullptr, dim3(3), dim3(10), 0, add_up, whole, real), cudaSuccess);
    ck_assert_int_eq(whole.values()[0], 135);
    ck_assert(real.values()[0] == 15.0f);
}
END_TEST

/* ---------------------------------------------------------------- streams, faults, leaks */

START_TEST(lazy_streams_show_missing_waits)
{
    device_array<float> values(std::vector<float>(4, 1));
    std::vector<float> seen(4);
    cudaStream_t first, second;
    cudaEvent_t event;

    emulation_set_lazy_streams(true);
    ck_assert_int_eq(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), cudaSuccess);
    ck_assert_int_eq(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), cudaSuccess);
    ck_assert_int_eq(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    ck_assert_int_eq(CUDA_LAUNCH(first, one, dim3(4), 0, (scale<float, 6>), values, 0), cudaSuccess);
    ck_assert_int_eq(cudaEventRecord(event, first), cudaSuccess);
    ck_assert_int_eq(cudaMemcpyAsync(seen.data(), values, 16, cudaMemcpyDeviceToHost, second), cudaSuccess);
    ck_assert(seen[0] == 0.0f); /* nobody has waited */
    ck_assert_int_eq(cudaStreamSynchronize(second), cudaSuccess);
    ck_assert(seen[0] == 1.0f); /* nor has the second stream for the first */
    ck_assert_int_eq(cudaStreamWaitEvent(second, event), cudaSuccess);
    ck_assert_int_eq(cudaMemcpyAsync(seen.data(), values, 16, cudaMemcpyDeviceToHost, second), cudaSuccess);
    ck_assert_int_eq(cudaStreamQuery(second), cudaErrorNotReady);
    ck_assert_int_eq(cudaStreamSynchronize(second), cudaSuccess);
    ck_assert(seen[0] == 6.0f);

    ck_assert_int_eq(CUDA_LAUNCH(first, one, dim3(64), 0, leaves_early, 40), cudaSuccess);
    expect_complaint(cudaStreamSynchronize(first), "leaves_early");
}
END_TEST

START_TEST(the_default_stream_needs_an_order)
{
    device_array<int> values(std::vector<int>(1));
    cudaStream_t waiting, free;
    int value = 1;

    ck_assert_int_eq(cudaStreamCreate(&waiting), cudaSuccess);
    ck_assert_int_eq(cudaMemcpy(values, &value, sizeof value, cudaMemcpyHostToDevice), cudaSuccess);
    ck_assert_int_eq(cudaStreamCreateWithFlags(&free, cudaStreamNonBlocking), cudaSuccess);
    ck_assert_int_eq(cudaMemcpy(values, &value, sizeof value, cudaMemcpyHostToDevice), cudaErrorNotSupported);
    ck_assert_int_eq(cudaStreamDestroy(free), cudaSuccess);
    ck_assert_int_eq(cudaMemcpy(values, &value, sizeof value, cudaMemcpyHostToDevice), cudaSuccess);
    ck_assert_int_eq(cudaStreamDestroy(waiting), cudaSuccess);
}
END_TEST

START_TEST(pageable_memory_is_read_at_once)
{
    device_array<int> values(std::vector<int>(1));
    cudaStream_t stream;
    int pageable = 1, *locked, seen = 0;

    emulation_set_lazy_streams(true);
    ck_assert_int_eq(cudaStreamCreate(&stream), cudaSuccess);
    ck_assert_int_eq(cudaMallocHost(&locked, sizeof *locked), cudaSuccess);
    *locked = 1;
    ck_assert_int_eq(cudaMemcpyAsync(values, &pageable, sizeof(int), cudaMemcpyHostToDevice, stream),
                     cudaSuccess);
    ck_assert_int_eq(cudaMemcpyAsync(&seen, values, sizeof(int), cudaMemcpyDeviceToHost, stream),
                     cudaSuccess);
    ck_assert_int_eq(cudaMemcpyAsync(values, locked, sizeof(int), cudaMemcpyHostToDevice, stream),
                     cudaSuccess);
    pageable = 2;
    *locked = 2;
    ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
    ck_assert_int_eq(seen, 1);
    ck_assert_int_eq(values.values()[0], 2);
    ck_assert_int_eq(cudaFreeHost(locked), cudaSuccess);
}
END_TEST

/* A copy reads page-locked memory of the host when its turn comes, not at once. No memory can be page-locked
   twice. */
START_TEST(registered_memory_is_page_locked)
{
    device_array<int> values(std::vector<int>(1));
    cudaStream_t stream;
    int own[2] = {1, 1};

    emulation_set_lazy_streams(true);
    ck_assert_int_eq(cudaStreamCreate(&stream), cudaSuccess);
    ck_assert_int_eq(cudaHostRegister(own, sizeof own, cudaHostRegisterPortable), cudaSuccess);
    ck_assert_int_eq(cudaHostRegister(own + 1, sizeof *own, cudaHostRegisterPortable),
                     cudaErrorHostMemoryAlreadyRegistered);
    ck_assert_int_eq(cudaMemcpyAsync(values, own + 1, sizeof(int), cudaMemcpyHostToDevice, stream),
                     cudaSuccess);
    own[1] = 2;
    ck_assert_int_eq(cudaHostUnregister(own), cudaSuccess);
    ck_assert_int_eq(values.values()[0], 2);
    ck_assert_int_eq(cudaHostUnregister(own), cudaErrorHostMemoryNotRegistered);
    ck_assert_int_eq(cudaHostRegister(NULL, 1, cudaHostRegisterPortable), cudaErrorInvalidValue);
}
END_TEST

START_TEST(events_measure_time)
{
    cudaEvent_t start, stop;
    float milliseconds = -1;

    ck_assert_int_eq(cudaEventCreate(&start), cudaSuccess);
    ck_assert_int_eq(cudaEventCreate(&stop), cudaSuccess);
    ck_assert_int_eq(cudaEventRecord(start), cudaSuccess);
    usleep(2000);
    ck_assert_int_eq(cudaEventRecord(stop), cudaSuccess);
    ck_assert_int_eq(cudaEventSynchronize(stop), cudaSuccess);
    ck_assert_int_eq(cudaEventElapsedTime(&milliseconds, start, stop), cudaSuccess);
    ck_assert(milliseconds >= 2);
    ck_assert_int_eq(cudaEventDestroy(start), cudaSuccess);
    ck_assert_int_eq(cudaEventDestroy(stop), cudaSuccess);
}
END_TEST

/* What a backend does, in small; gives back what it took, whatever happens. */
static cudaError_t little_backend()
{
    float *values = nullptr;
    cudaStream_t stream = nullptr;
    float host[4] = {1, 2, 3, 4};
    cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

    if (error == cudaSuccess)
        error = cudaMalloc(&values, sizeof host);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(values, host, sizeof host, cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess)
        error = CUDA_LAUNCH(stream, one, dim3(4), 0, (scale<float, 2>), values, 0);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    cudaError_t freed = cudaFree(values);
    cudaError_t destroyed = stream != nullptr ? cudaStreamDestroy(stream) : cudaSuccess;
    return error != cudaSuccess ? error : freed != cudaSuccess ? freed : destroyed;
}

START_TEST(every_call_can_fail)
{
    unsigned long long calls;

    ck_assert_int_eq(little_backend(), cudaSuccess);
    calls = emulation_calls();
    ck_assert_uint_eq(calls, 7);
    for (unsigned long long call = 1; call <= calls; call++) {
        fresh();
        emulation_fail_call(call, cudaErrorUnknown);
        ck_assert_int_eq(little_backend(), cudaErrorUnknown);
        ck_assert(emulation_has_failed());
        ck_assert_uint_eq(emulation_leaks(), 0);
    }
    fresh();
    emulation_fail_call(calls + 1, cudaErrorUnknown);
    ck_assert_int_eq(little_backend(), cudaSuccess);
    ck_assert(!emulation_has_failed());
}
END_TEST

START_TEST(leaks_are_found)
{
    int clean = end_of_child([] {});
    int leaky = end_of_child([] {
        void *memory = nullptr;
        (void)cudaMalloc(&memory, 10);
    });

    ck_assert_int_eq(clean, 0);
    ck_assert_int_eq(leaky, EMULATION_LEAK_STATUS);
}
END_TEST

START_TEST(there_may_be_no_device)
{
    char line[256];
    struct emulation_device device = emulation_get_device();
    void *memory;

    unsetenv("CUDA_VISIBLE_DEVICES");
    ck_assert_uint_eq(backend_cuda.count(), 1);
    backend_cuda.describe(0, line, sizeof line);
    ck_assert_ptr_nonnull(std::strstr(line, "Emulated GPU"));
    device.count = 0;
    emulation_set_device(&device);
    ck_assert_uint_eq(backend_cuda.count(), 0);
    backend_cuda.describe(0, line, sizeof line);
    ck_assert_str_eq(line, "the NVIDIA driver finds no GPU");
    ck_assert_int_eq(cudaMalloc(&memory, 1), cudaErrorNoDevice);
    ck_assert_int_eq(cudaSetDevice(0), cudaErrorNoDevice);
    ck_assert_str_eq(cudaGetErrorString(cudaErrorNoDevice), "no CUDA-capable device is detected");
}
END_TEST

START_TEST(there_may_be_no_driver_that_serves)
{
    static const struct {
        int driver;
        const char *line;
    } machines[] = {
        {0, "no NVIDIA driver is installed"},
        {11080,
         "the NVIDIA driver is too old: it supports CUDA 11.8, but this program was built with CUDA 12.0"},
    };
    char line[256];
    struct emulation_device device = emulation_get_device();
    void *memory;

    for (const auto &machine : machines) {
        device.driver = machine.driver;
        emulation_set_device(&device);
        ck_assert_uint_eq(backend_cuda.count(), 0);
        backend_cuda.describe(0, line, sizeof line);
        ck_assert_str_eq(line, machine.line);
        ck_assert_int_eq(cudaMalloc(&memory, 1), cudaErrorInsufficientDriver);
        ck_assert_int_eq(cudaSetDevice(0), cudaErrorInsufficientDriver);
    }
}
END_TEST

/* ---------------------------------------------------------------- several GPUs */

static void have_gpus(int count, bool apart)
{
    struct emulation_device device = emulation_get_device();

    device.count = count;
    device.apart = apart;
    emulation_set_device(&device);
}

/* A stream and a number in the memory of a GPU, which is chosen then. */
struct on_gpu {
    explicit on_gpu(int index, int value)
    {
        ck_assert_int_eq(cudaSetDevice(index), cudaSuccess);
        ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
        ck_assert_int_eq(cudaEventCreate(&event), cudaSuccess);
        ck_assert_int_eq(cudaMalloc(&number, sizeof *number), cudaSuccess);
        ck_assert_int_eq(cudaMemcpyAsync(number, &value, sizeof value, cudaMemcpyHostToDevice, stream),
                         cudaSuccess);
        ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
    }
    int value() const
    {
        int seen = 0;
        ck_assert_int_eq(cudaMemcpyAsync(&seen, number, sizeof seen, cudaMemcpyDeviceToHost, stream),
                         cudaSuccess);
        ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
        return seen;
    }

    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    int *number = nullptr;
};

__global__ static void copy_number(int *to, const int *from)
{
    *to = *from;
}

START_TEST(streams_events_and_memory_are_of_a_gpu)
{
    have_gpus(2, false);
    const on_gpu first(0, 1), second(1, 2);
    std::size_t available = 0, total = 0;
    float milliseconds;
    int seen;

    ck_assert_int_eq(cudaSetDevice(2), cudaErrorInvalidDevice);
    ck_assert_int_eq(cudaMemGetInfo(&available, &total), cudaSuccess);
    ck_assert_uint_eq(total - available, sizeof(int));
    ck_assert_int_eq(CUDA_LAUNCH(first.stream, one, one, 0, copy_number, first.number, first.number),
                     cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(CUDA_LAUNCH(second.stream, one, one, 0, copy_number, second.number, second.number),
                     cudaSuccess);
    ck_assert_int_eq(cudaEventRecord(first.event, second.stream), cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(cudaEventRecord(first.event, first.stream), cudaSuccess);
    ck_assert_int_eq(cudaEventRecord(second.event, second.stream), cudaSuccess);
    ck_assert_int_eq(cudaEventElapsedTime(&milliseconds, first.event, second.event),
                     cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(cudaStreamWaitEvent(second.stream, first.event), cudaSuccess);
    ck_assert_int_eq(cudaMemcpyAsync(&seen, first.number, sizeof seen, cudaMemcpyDeviceToHost, second.stream),
                     cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemsetAsync(first.number, 0, sizeof(int), second.stream), cudaErrorInvalidValue);
    ck_assert_int_eq(first.value(), 1);
    fresh();
}
END_TEST

/* Of another GPU a kernel sees nothing, until it is given access. */
START_TEST(kernels_keep_to_the_memory_of_their_gpu)
{
    int can = 0;

    have_gpus(3, false);
    const on_gpu first(0, 1), second(1, 2);
    if (!EMULATION_ASAN) {
        ck_assert_int_eq(CUDA_LAUNCH(second.stream, one, one, 0, copy_number, second.number, first.number),
                         cudaSuccess);
        ck_assert_int_eq(second.value(), static_cast<int>(emulation::poison_word));
    }
    ck_assert_int_eq(cudaDeviceCanAccessPeer(&can, 1, 0), cudaSuccess);
    ck_assert_int_eq(can, 1);
    ck_assert_int_eq(cudaDeviceCanAccessPeer(&can, 1, 1), cudaSuccess);
    ck_assert_int_eq(can, 0);
    ck_assert_int_eq(cudaDeviceEnablePeerAccess(0, 0), cudaSuccess);
    ck_assert_int_eq(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorPeerAccessAlreadyEnabled);
    ck_assert_int_eq(CUDA_LAUNCH(second.stream, one, one, 0, copy_number, second.number, first.number),
                     cudaSuccess);
    ck_assert_int_eq(second.value(), 1);
    fresh();
    have_gpus(2, true);
    const on_gpu alone(0, 1), apart(1, 2);
    ck_assert_int_eq(cudaDeviceCanAccessPeer(&can, 1, 0), cudaSuccess);
    ck_assert_int_eq(can, 0);
    ck_assert_int_eq(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);
    if (!EMULATION_ASAN)
        expect_complaint(CUDA_LAUNCH(apart.stream, one, one, 0, copy_number, alone.number, apart.number),
                         "wrote into the memory of another GPU");
    fresh();
}
END_TEST

/* With access to each other or without, and behind the event alone that they wait for. */
START_TEST(copies_go_from_gpu_to_gpu)
{
    emulation_set_lazy_streams(true);
    have_gpus(3, _i == 1);
    const on_gpu from(2, 1), to(1, 5);

    ck_assert_int_eq(cudaMemcpyPeerAsync(to.number, 2, from.number, 2, sizeof(int), from.stream),
                     cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemcpyPeerAsync(to.number, 1, from.number, 2, sizeof(int), from.stream),
                     cudaSuccess);
    ck_assert_int_eq(cudaEventRecord(from.event, from.stream), cudaSuccess);
    ck_assert_int_eq(to.value(), 5);
    ck_assert_int_eq(cudaStreamWaitEvent(to.stream, from.event), cudaSuccess);
    ck_assert_int_eq(to.value(), 1);
    const on_gpu other(0, 7);
    ck_assert_int_eq(cudaMemcpyPeerAsync(to.number, 1, from.number, 2, sizeof(int), other.stream),
                     cudaErrorInvalidResourceHandle);
    fresh();
}
END_TEST

START_TEST(a_gpu_fails_alone)
{
    have_gpus(2, false);
    const on_gpu first(0, 1), second(1, 2);

    emulation_fail_call(1, cudaErrorIllegalAddress);
    ck_assert_int_eq(cudaStreamSynchronize(first.stream), cudaErrorIllegalAddress);
    ck_assert_int_eq(emulation_failed_device(), 0);
    ck_assert_int_eq(cudaStreamSynchronize(second.stream), cudaSuccess);
    ck_assert_int_eq(cudaStreamSynchronize(first.stream), cudaErrorIllegalAddress);
    ck_assert_int_eq(second.value(), 2);
    fresh();
}
END_TEST

static void add_tests(TCase *cases)
{
    tcase_add_test(cases, right_kernels_are_right_in_every_order);
    tcase_add_test(cases, a_missing_barrier_gives_wrong_bytes);
    tcase_add_test(cases, a_barrier_missed_by_luck_shows_in_reverse);
    tcase_add_test(cases, divergent_barriers_are_reported);
    tcase_add_test(cases, shuffles_move_values);
    tcase_add_test(cases, votes_are_counted);
    tcase_add_test(cases, code_is_that_of_the_stream_and_traps_without_a_form);
    tcase_add_test(cases, bad_masks_are_reported);
    tcase_add_test(cases, copies_happen_when_awaited);
    tcase_add_test(cases, bad_copies_are_reported);
    tcase_add_test(cases, warps_arrive_before_they_wait);
    tcase_add_test(cases, bad_barriers_are_reported);
    tcase_add_test(cases, blocks_await_each_other);
    tcase_add_test(cases, bad_signals_are_reported);
    tcase_add_test(cases, blocks_that_do_not_run_at_once_are_refused);
    tcase_add_test(cases, boxes_come_with_zeros_around_the_field);
    tcase_add_test(cases, bad_boxes_are_reported);
    tcase_add_test(cases, out_of_bounds_is_found);
    tcase_add_test(cases, reads_out_of_bounds_and_by_the_host_are_found);
    tcase_add_test(cases, unwritten_memory_is_poison);
    tcase_add_test(cases, memory_is_limited);
    tcase_add_test(cases, copies_must_fit_and_know_their_direction);
    tcase_add_test(cases, launches_beyond_the_limits_are_refused);
    tcase_add_test(cases, too_many_registers_are_refused);
    tcase_add_test(cases, template_kernels_take_arguments_as_calls_do);
    tcase_add_test(cases, a_launch_reports_errors_left_behind);
    tcase_add_test(cases, atomics_add);
    tcase_add_test(cases, lazy_streams_show_missing_waits);
    tcase_add_test(cases, the_default_stream_needs_an_order);
    tcase_add_test(cases, pageable_memory_is_read_at_once);
    tcase_add_test(cases, registered_memory_is_page_locked);
    tcase_add_test(cases, events_measure_time);
    tcase_add_test(cases, every_call_can_fail);
    tcase_add_test(cases, leaks_are_found);
    tcase_add_test(cases, there_may_be_no_device);
    tcase_add_test(cases, there_may_be_no_driver_that_serves);
    tcase_add_test(cases, streams_events_and_memory_are_of_a_gpu);
    tcase_add_test(cases, kernels_keep_to_the_memory_of_their_gpu);
    tcase_add_loop_test(cases, copies_go_from_gpu_to_gpu, 0, 2);
    tcase_add_test(cases, a_gpu_fails_alone);
}

int main()
{
    Suite *suite = suite_create("emulation");
    TCase *cases = tcase_create("emulation");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(cases, fresh, emulation_reset);
    tcase_set_timeout(cases, 60);
    add_tests(cases);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
