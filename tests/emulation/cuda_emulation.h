/* CUDA C++ for a host compiler: the language by macros and functions, the runtime on host memory.
 *
 * Threads of a block are fibers, see blocks.h. Names are CUDA's own, so that kernel sources compile
 * unchanged. They have C++ linkage: a program may link with the true runtime besides. */
#ifndef CUDA_EMULATION_H
#define CUDA_EMULATION_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>

#include <math.h>

/* ---------------------------------------------------------------- qualifiers */

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline /* by force, compilation takes minutes */
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(alignment) __attribute__((aligned(alignment)))

/* ---------------------------------------------------------------- vector types */

/* Vectors are aligned as a whole if their size is a power of two, up to 16. */
#define EMULATION_VECTOR2(name, scalar)                                                                      \
    struct __align__(2 * sizeof(scalar)) name##2                                                             \
    {                                                                                                        \
        scalar x, y;                                                                                         \
    };                                                                                                       \
    inline name##2 make_##name##2(scalar x, scalar y)                                                        \
    {                                                                                                        \
        return {x, y};                                                                                       \
    }
#define EMULATION_VECTOR3(name, scalar)                                                                      \
    struct name##3                                                                                           \
    {                                                                                                        \
        scalar x, y, z;                                                                                      \
    };                                                                                                       \
    inline name##3 make_##name##3(scalar x, scalar y, scalar z)                                              \
    {                                                                                                        \
        return {x, y, z};                                                                                    \
    }
#define EMULATION_VECTOR4(name, scalar)                                                                      \
    struct __align__(4 * sizeof(scalar) < 16 ? 4 * sizeof(scalar) : 16) name##4                              \
    {                                                                                                        \
        scalar x, y, z, w;                                                                                   \
    };                                                                                                       \
    inline name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w)                                    \
    {                                                                                                        \
        return {x, y, z, w};                                                                                 \
    }
#define EMULATION_VECTORS(name, scalar)                                                                      \
    EMULATION_VECTOR2(name, scalar) EMULATION_VECTOR3(name, scalar) EMULATION_VECTOR4(name, scalar)

EMULATION_VECTORS(char, signed char)
EMULATION_VECTORS(uchar, unsigned char)
EMULATION_VECTORS(short, short)
EMULATION_VECTORS(ushort, unsigned short)
EMULATION_VECTORS(int, int)
EMULATION_VECTORS(uint, unsigned int)
EMULATION_VECTORS(longlong, long long)
EMULATION_VECTORS(ulonglong, unsigned long long)
EMULATION_VECTORS(float, float)
EMULATION_VECTORS(double, double)
#undef EMULATION_VECTOR2
#undef EMULATION_VECTOR3
#undef EMULATION_VECTOR4
#undef EMULATION_VECTORS

struct dim3 {
    unsigned int x, y, z;

    constexpr dim3(unsigned int nx = 1, unsigned int ny = 1, unsigned int nz = 1) : x(nx), y(ny), z(nz)
    {
    }
    constexpr dim3(uint3 extents) : x(extents.x), y(extents.y), z(extents.z)
    {
    }
};

/* ---------------------------------------------------------------- the thread that runs */

/* Set whenever a fiber is resumed. */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace emulation
{

/* Where in the sources threads meet: the same line, or they do not meet. */
struct site {
    const char *file;
    int line;
};

enum class meeting { sync, shuffle, shuffle_up, shuffle_down, shuffle_xor, ballot, any, all };

/* What a thread brings to a meeting of its warp, and what it takes away. */
struct warp_call {
    meeting kind;
    unsigned mask;
    std::uint64_t bits;
    int argument, width; /* of a shuffle */
    std::size_t value_bytes;
    site where;
};

std::uint64_t meet_warp(const warp_call &call);
bool meet_block(site where, bool vote = false);

/* A box of a field: where its samples are, the field's extents, the strides in bytes, and the box's own. */
struct box_map {
    const unsigned char *samples;
    std::size_t sample_bytes;
    long long extents[4];
    std::size_t strides[3];
    unsigned width, height, planes;
};

void create_barrier(void *barrier, unsigned arrivals);
void arrive_at_barrier(void *barrier);
void await_barrier(void *barrier, unsigned parity, site where);
void fetch_box(void *shared, const box_map &map, const int (&origin)[4], void *barrier, unsigned bytes);

void raise_signal(unsigned *signal, unsigned number);
void await_signal(const unsigned *signal, unsigned number, site where);

void *shared_memory();
int code();
[[noreturn]] void trap(site where);
void copy_async(void *shared, const void *global, std::size_t bytes);
void commit_copies();
void await_copies(std::size_t pending);

template <typename T> T shuffle(meeting kind, unsigned mask, T value, int argument, int width, site where)
{
    static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                  "shuffles move 4 or 8 bytes");
    std::uint64_t bits = 0;

    std::memcpy(&bits, &value, sizeof value);
    bits = meet_warp({kind, mask, bits, argument, width, sizeof value, where});
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

} // namespace emulation

/* Default arguments are evaluated where the call stands. */
#define EMULATION_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(EMULATION_SITE)
{
    emulation::meet_block({file, line});
}

inline int __syncthreads_or(int predicate, EMULATION_SITE)
{
    return emulation::meet_block({file, line}, predicate != 0);
}

inline void __syncwarp(unsigned mask = 0xffffffff, EMULATION_SITE)
{
    emulation::meet_warp({emulation::meeting::sync, mask, 0, 0, 0, 0, {file, line}});
}

template <typename T> T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize, EMULATION_SITE)
{
    return emulation::shuffle(emulation::meeting::shuffle, mask, value, lane, width, {file, line});
}

template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize, EMULATION_SITE)
{
    return emulation::shuffle(emulation::meeting::shuffle_up, mask, value, static_cast<int>(delta), width,
                              {file, line});
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize, EMULATION_SITE)
{
    return emulation::shuffle(emulation::meeting::shuffle_down, mask, value, static_cast<int>(delta), width,
                              {file, line});
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize, EMULATION_SITE)
{
    return emulation::shuffle(emulation::meeting::shuffle_xor, mask, value, lanes, width, {file, line});
}

inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATION_SITE)
{
    return static_cast<unsigned>(
        emulation::meet_warp({emulation::meeting::ballot, mask, predicate != 0, 0, 0, 0, {file, line}}));
}

inline int __any_sync(unsigned mask, int predicate, EMULATION_SITE)
{
    return static_cast<int>(
        emulation::meet_warp({emulation::meeting::any, mask, predicate != 0, 0, 0, 0, {file, line}}));
}

inline int __all_sync(unsigned mask, int predicate, EMULATION_SITE)
{
    return static_cast<int>(
        emulation::meet_warp({emulation::meeting::all, mask, predicate != 0, 0, 0, 0, {file, line}}));
}

[[noreturn]] inline void __trap(EMULATION_SITE)
{
    emulation::trap({file, line});
}

#undef EMULATION_SITE

inline void __threadfence()
{
}

inline void __threadfence_block()
{
}

/* ---------------------------------------------------------------- arithmetic and memory */

template <typename T> T __ldg(const T *address)
{
    return *address;
}

/* Blocks and threads run one at a time, so every operation is atomic. */
#define EMULATION_ATOMIC_ADD(T)                                                                              \
    inline T atomicAdd(T *address, T value)                                                                  \
    {                                                                                                        \
        T old = *address;                                                                                    \
                                                                                                             \
        *address = old + value;                                                                              \
        return old;                                                                                          \
    }
EMULATION_ATOMIC_ADD(int)
EMULATION_ATOMIC_ADD(unsigned int)
EMULATION_ATOMIC_ADD(unsigned long long)
EMULATION_ATOMIC_ADD(float)
EMULATION_ATOMIC_ADD(double)
#undef EMULATION_ATOMIC_ADD

inline unsigned long long atomicMax(unsigned long long *address, unsigned long long value)
{
    unsigned long long old = *address;

    *address = old > value ? old : value;
    return old;
}

namespace emulation
{

template <typename To, typename From> To same_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "of one size");
    To to;

    std::memcpy(&to, &from, sizeof to);
    return to;
}

} // namespace emulation

inline int __float_as_int(float value)
{
    return emulation::same_bits<int>(value);
}

inline unsigned int __float_as_uint(float value)
{
    return emulation::same_bits<unsigned int>(value);
}

inline float __int_as_float(int bits)
{
    return emulation::same_bits<float>(bits);
}

inline float __uint_as_float(unsigned int bits)
{
    return emulation::same_bits<float>(bits);
}

inline long long __double_as_longlong(double value)
{
    return emulation::same_bits<long long>(value);
}

inline double __longlong_as_double(long long bits)
{
    return emulation::same_bits<double>(bits);
}

inline int __popc(unsigned int bits)
{
    return __builtin_popcount(bits);
}

inline int __ffs(int bits)
{
    return __builtin_ffs(bits);
}

inline int __clz(int bits)
{
    return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(bits));
}

/* Of floats, the one that is no NaN, as on the device. */
template <typename A, typename B,
          typename = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
std::common_type_t<A, B> min(A a, B b)
{
    using common = std::common_type_t<A, B>;

    if constexpr (std::is_floating_point_v<common>)
        return std::fmin(static_cast<common>(a), static_cast<common>(b));
    else
        return static_cast<common>(b) < static_cast<common>(a) ? static_cast<common>(b)
                                                               : static_cast<common>(a);
}

template <typename A, typename B,
          typename = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
std::common_type_t<A, B> max(A a, B b)
{
    using common = std::common_type_t<A, B>;

    if constexpr (std::is_floating_point_v<common>)
        return std::fmax(static_cast<common>(a), static_cast<common>(b));
    else
        return static_cast<common>(a) < static_cast<common>(b) ? static_cast<common>(b)
                                                               : static_cast<common>(a);
}

/* ---------------------------------------------------------------- the runtime: what it speaks of */

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidPitchValue = 12,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorInsufficientDriver = 35,
    cudaErrorDevicesUnavailable = 46,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorECCUncorrectable = 214,
    cudaErrorPeerAccessUnsupported = 217,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchTimeout = 702,
    cudaErrorPeerAccessAlreadyEnabled = 704,
    cudaErrorHostMemoryAlreadyRegistered = 712,
    cudaErrorHostMemoryNotRegistered = 713,
    cudaErrorMisalignedAddress = 716,
    cudaErrorLaunchFailure = 719,
    cudaErrorCooperativeLaunchTooLarge = 720,
    cudaErrorNotSupported = 801,
    cudaErrorUnknown = 999
};

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxBlockDimX = 2,
    cudaDevAttrMaxBlockDimY = 3,
    cudaDevAttrMaxBlockDimZ = 4,
    cudaDevAttrMaxGridDimX = 5,
    cudaDevAttrMaxGridDimY = 6,
    cudaDevAttrMaxGridDimZ = 7,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMaxRegistersPerBlock = 12,
    cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37,
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrMaxRegistersPerMultiprocessor = 82,
    cudaDevAttrSingleToDoublePrecisionPerfRatio = 87,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaDevAttrMaxBlocksPerMultiprocessor = 106,
    cudaDevAttrReservedSharedMemoryPerBlock = 111
};

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

struct cudaDeviceProp {
    char name[256];
    std::size_t totalGlobalMem, totalConstMem;
    std::size_t sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor,
        reservedSharedMemPerBlock;
    int regsPerBlock, regsPerMultiprocessor;
    int warpSize;
    int maxThreadsPerBlock, maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor;
    int maxThreadsDim[3], maxGridSize[3];
    int major, minor;
    int multiProcessorCount;
    int l2CacheSize, memoryBusWidth;
    int asyncEngineCount, concurrentKernels, unifiedAddressing, canMapHostMemory, integrated, ECCEnabled;
    int pciBusID, pciDeviceID, pciDomainID;
};

struct cudaFuncAttributes {
    std::size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion;
    int maxDynamicSharedSizeBytes, preferredShmemCarveout;
};

typedef struct cudaStream_st *cudaStream_t;
typedef struct cudaEvent_st *cudaEvent_t;

constexpr unsigned int cudaStreamDefault = 0, cudaStreamNonBlocking = 1;
constexpr unsigned int cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2;
constexpr unsigned int cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2,
                       cudaHostAllocWriteCombined = 4, cudaHostRegisterPortable = 1;
constexpr unsigned int cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1, cudaDeviceScheduleYield = 2,
                       cudaDeviceScheduleBlockingSync = 4;

/* ---------------------------------------------------------------- the runtime: what it does */

cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaMemGetInfo(std::size_t *available, std::size_t *total);

cudaError_t cudaMalloc(void **memory, std::size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocHost(void **memory, std::size_t bytes, unsigned int flags = cudaHostAllocDefault);
cudaError_t cudaHostAlloc(void **memory, std::size_t bytes, unsigned int flags);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaHostRegister(void *memory, std::size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void *memory);

template <typename T> cudaError_t cudaMalloc(T **memory, std::size_t bytes)
{
    return cudaMalloc(reinterpret_cast<void **>(memory), bytes);
}

template <typename T>
cudaError_t cudaMallocHost(T **memory, std::size_t bytes, unsigned int flags = cudaHostAllocDefault)
{
    return cudaMallocHost(reinterpret_cast<void **>(memory), bytes, flags);
}

template <typename T> cudaError_t cudaHostAlloc(T **memory, std::size_t bytes, unsigned int flags)
{
    return cudaHostAlloc(reinterpret_cast<void **>(memory), bytes, flags);
}

cudaError_t cudaMemcpy(void *to, const void *from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2D(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, std::size_t bytes,
                                cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void *memory, int value, std::size_t bytes);
cudaError_t cudaMemsetAsync(void *memory, int value, std::size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemset2DAsync(void *memory, std::size_t pitch, int value, std::size_t width,
                              std::size_t height, cudaStream_t stream = nullptr);

cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);

cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t stop);

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *kernel);
cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads,
                                                          std::size_t shared_bytes);
cudaError_t cudaOccupancyMaxPotentialBlockSize(int *blocks, int *threads, const void *kernel,
                                               std::size_t shared_bytes = 0, int most_threads = 0);

template <typename... P>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, void (*kernel)(P...))
{
    return cudaFuncGetAttributes(attributes, reinterpret_cast<const void *>(kernel));
}

template <typename... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value)
{
    return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), attribute, value);
}

template <typename... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*kernel)(P...), int threads,
                                                          std::size_t shared_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void *>(kernel),
                                                         threads, shared_bytes);
}

template <typename... P>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int *blocks, int *threads, void (*kernel)(P...),
                                               std::size_t shared_bytes = 0, int most_threads = 0)
{
    return cudaOccupancyMaxPotentialBlockSize(blocks, threads, reinterpret_cast<const void *>(kernel),
                                              shared_bytes, most_threads);
}

/* ---------------------------------------------------------------- launches */

namespace emulation
{

struct launch_request {
    const char *name;
    site where;
    const void *kernel;
    cudaStream_t stream;
    dim3 grid, block;
    std::size_t shared_bytes;
    bool together; /* all blocks run at once */
};

cudaError_t launch(const launch_request &request, std::function<void()> thread);

/* A kernel with its configuration, waiting for its arguments, which convert as in a call. */
template <typename... Parameters> class configured_kernel
{
  public:
    configured_kernel(const launch_request &request, void (*kernel)(Parameters...))
        : request_(request), kernel_(kernel)
    {
    }

    cudaError_t operator()(Parameters... arguments) const
    {
        auto *kernel = kernel_;

        return launch(request_, [=] { kernel(arguments...); });
    }

  private:
    launch_request request_;
    void (*kernel_)(Parameters...);
};

template <typename... Parameters>
configured_kernel<Parameters...> configure(const char *name, site where, cudaStream_t stream, dim3 grid,
                                           dim3 block, std::size_t shared_bytes,
                                           void (*kernel)(Parameters...))
{
    return {{name, where, reinterpret_cast<const void *>(kernel), stream, grid, block, shared_bytes, false},
            kernel};
}

} // namespace emulation

/* ---------------------------------------------------------------- what cuda_platform.h offers besides */

#define CUDA_SHARED(T, name) T *const name = static_cast<T *>(emulation::shared_memory())

#define CUDA_LAUNCH(stream, grid, block, shared_bytes, kernel, ...)                                          \
    emulation::configure(#kernel, {__FILE__, __LINE__}, (stream), (grid), (block), (shared_bytes),           \
                         kernel)(__VA_ARGS__)

inline int cuda_code()
{
    return emulation::code();
}

/* Code for any compute capability is there. */
#define CUDA_IF_CONSTANT if

/* Copies happen when they are awaited. Until then what they are to overwrite is poison. */
template <int Bytes> void cuda_copy_async(void *shared, const void *global)
{
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "the hardware copies 4, 8 or 16 bytes");
    emulation::copy_async(shared, global, Bytes);
}

template <int Bytes> void cuda_copy_async_if(bool wanted, void *shared, const void *global)
{
    if (wanted)
        cuda_copy_async<Bytes>(shared, global);
}

inline void cuda_commit_copies()
{
    emulation::commit_copies();
}

template <int Pending> void cuda_await_copies()
{
    static_assert(Pending >= 0, "a number of groups");
    emulation::await_copies(Pending);
}

inline void cuda_prefetch(const void *)
{
}

inline void cuda_keep_branch()
{
}

template <typename T> void cuda_launder(T *)
{
}

template <typename T> T cuda_in_register(T value)
{
    return value;
}

inline void cuda_store_past(bool wanted, float *to, const float (&pack)[4])
{
    if (wanted)
        *reinterpret_cast<float4 *>(to) = make_float4(pack[0], pack[1], pack[2], pack[3]);
}
inline void cuda_store_past(bool wanted, double *to, const double (&pack)[2])
{
    if (wanted)
        *reinterpret_cast<double2 *>(to) = make_double2(pack[0], pack[1]);
}

struct cuda_barrier {
    unsigned long long state;
};

inline void cuda_barrier_create(cuda_barrier *barrier, unsigned arrivals)
{
    emulation::create_barrier(barrier, arrivals);
}

inline void cuda_barriers_created(const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    __syncthreads(file, line);
}

inline void cuda_barrier_arrive(cuda_barrier *barrier)
{
    emulation::arrive_at_barrier(barrier);
}

inline void cuda_barrier_await(cuda_barrier *barrier, unsigned parity, const char *file = __builtin_FILE(),
                               int line = __builtin_LINE())
{
    emulation::await_barrier(barrier, parity, {file, line});
}

/* Refused where the device does not hold all blocks at once. A signal rises by one at a time. */
template <typename... Parameters>
cudaError_t cuda_launch_together(cudaStream_t stream, dim3 grid, dim3 block, std::size_t shared_bytes,
                                 void (*kernel)(Parameters...), std::decay_t<Parameters>... arguments)
{
    return emulation::launch({"a kernel",
                              {__FILE__, __LINE__},
                              reinterpret_cast<const void *>(kernel),
                              stream,
                              grid,
                              block,
                              shared_bytes,
                              true},
                             [=] { kernel(arguments...); });
}

inline void cuda_raise_signal(unsigned *signal, unsigned number)
{
    emulation::raise_signal(signal, number);
}

inline void cuda_await_signal(const unsigned *signal, unsigned number, const char *file = __builtin_FILE(),
                              int line = __builtin_LINE())
{
    emulation::await_signal(signal, number, {file, line});
}

inline void cuda_load_signalled(const float *from, float (&pack)[4])
{
    std::memcpy(pack, from, sizeof pack);
}
inline void cuda_load_signalled(const double *from, double (&pack)[2])
{
    std::memcpy(pack, from, sizeof pack);
}

constexpr bool cuda_has_boxes(int code)
{
    return code >= 90;
}

struct cuda_boxed_field {
    const void *samples;
    std::size_t sample_bytes;
    std::size_t nx, rows, channels, planes;
    std::size_t row_stride, channel_stride, plane_stride;
};

typedef emulation::box_map cuda_box_map;

/* Refuses what cuTensorMapEncodeTiled does. */
cudaError_t cuda_map_boxes(cuda_box_map *map, const cuda_boxed_field *field, unsigned width, unsigned height,
                           unsigned planes);

struct cuda_box_place {
    int x, row, channel, plane;
};

/* Boxes come when the phase that waits for them is awaited. Until then what they are to overwrite is poison.
 */
inline void cuda_fetch_box(void *shared, const cuda_box_map *map, const cuda_box_place &place,
                           cuda_barrier *barrier, unsigned bytes)
{
    emulation::fetch_box(shared, *map, {place.x, place.row, place.channel, place.plane}, barrier, bytes);
}

inline void cuda_boxes_follow()
{
}

#endif
