/* All of CUDA that kernels and their host code may use, in one place, so that tests can emulate a GPU.
 *
 * With nvcc these are CUDA itself. With CUDA_EMULATION the same sources compile as C++ for the host, where
 * tests run blocks of fibers: every launch, every piece of shared memory and every asynchronous copy passes
 * through here.
 *
 * Rules for kernels: shared memory is dynamic alone, one CUDA_SHARED a kernel, carved by hand; launches go
 * through CUDA_LAUNCH alone; asynchronous copies through cuda_copy_async, cuda_copy_async_if and
 * cuda_fetch_box alone; barriers at which threads arrive before they wait through cuda_barrier alone; blocks
 * that await each other through cuda_launch_together and signals alone.
 * Everything else of CUDA that they may use by its own name: threadIdx, blockIdx, blockDim, gridDim,
 * __syncthreads, __syncwarp, __shfl_sync, __shfl_up_sync, __shfl_down_sync, __shfl_xor_sync, __ballot_sync,
 * __any_sync, __ldg, __trap, atomicAdd, atomicMax, vector types. */
#ifndef CUDA_PLATFORM_H
#define CUDA_PLATFORM_H

#ifdef CUDA_EMULATION
#include "cuda_emulation.h"
#else

#include <cuda_runtime.h>
#include <type_traits>
#if CUDART_VERSION >= 12000
#include <cuda.h>
#endif

/* The dynamic shared memory of a block as an array of T. */
#define CUDA_SHARED(T, name)                                                                                 \
    extern __shared__ __align__(128) unsigned char cuda_shared_bytes[];                                      \
    T *const name = reinterpret_cast<T *>(cuda_shared_bytes)

/* Launch a kernel and return the error of the launch. */
#define CUDA_LAUNCH(stream, grid, block, shared_bytes, kernel, ...)                                          \
    (kernel<<<(grid), (block), (shared_bytes), (stream)>>>(__VA_ARGS__), cudaGetLastError())

/* A condition that the compiler knows. */
#define CUDA_IF_CONSTANT if constexpr

/* The compute capability that this code is compiled for, as 90. A newer device may run it. */
static __device__ __forceinline__ constexpr int cuda_code()
{
#ifdef __CUDA_ARCH__
    return __CUDA_ARCH__ / 10;
#else
    return 0;
#endif
}

/* Start to copy 16 (or 8, or 4) bytes from global to shared memory, past the registers; both aligned to the
   size. Before 8.0 there are only ordinary copies. */
template <int Bytes> static __device__ __forceinline__ void cuda_copy_async(void *shared, const void *global)
{
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "the hardware copies 4, 8 or 16 bytes");
#if __CUDA_ARCH__ >= 800
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    if constexpr (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(Bytes)
                     : "memory");
#else
    if constexpr (Bytes == 16)
        *static_cast<int4 *>(shared) = *static_cast<const int4 *>(global);
    else if constexpr (Bytes == 8)
        *static_cast<int2 *>(shared) = *static_cast<const int2 *>(global);
    else
        *static_cast<int *>(shared) = *static_cast<const int *>(global);
#endif
}

/* The same if it is wanted, by a predicate: a branch would cost more than the copy. */
template <int Bytes>
static __device__ __forceinline__ void cuda_copy_async_if(bool wanted, void *shared, const void *global)
{
#if __CUDA_ARCH__ >= 800
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    if constexpr (Bytes == 16)
        asm volatile(
            "{ .reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async.cg.shared.global [%0], [%1], 16; }" ::"r"(to),
            "l"(global), "r"(static_cast<unsigned>(wanted))
            : "memory");
    else
        asm volatile(
            "{ .reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], %3; }" ::"r"(to),
            "l"(global), "r"(static_cast<unsigned>(wanted)), "n"(Bytes)
            : "memory");
#else
    if (wanted)
        cuda_copy_async<Bytes>(shared, global);
#endif
}

/* Close a group of this thread's copies. */
static __device__ __forceinline__ void cuda_commit_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Wait until at most `Pending` of this thread's newest groups are under way. Others see the data after a
 * barrier. */
template <int Pending> static __device__ __forceinline__ void cuda_await_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

/* Let L2 fetch the line of an address. */
static __device__ __forceinline__ void cuda_prefetch(const void *global)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
}

/* Let the compiler keep a branch around the code that follows, instead of computing both ways and selecting:
   for code that runs seldom, and for a whole warp at once. */
static __device__ __forceinline__ void cuda_keep_branch()
{
    asm volatile("");
}

/* Let the compiler compute again what depends on a number, instead of keeping it in registers. */
template <typename T> static __device__ __forceinline__ void cuda_launder(T *number)
{
    asm volatile("" : "+r"(*number));
}
template <typename T> static __device__ __forceinline__ void cuda_launder(T **address)
{
    asm volatile("" : "+l"(*address));
}

/* A value that is in a register: to choose between two elements of arrays, compilers would choose between
   their addresses, and keep the arrays in memory. */
static __device__ __forceinline__ float cuda_in_register(float value)
{
    asm("" : "+f"(value));
    return value;
}
static __device__ __forceinline__ double cuda_in_register(double value)
{
    asm("" : "+d"(value));
    return value;
}

/* Store 16 aligned bytes that no other thread of the kernel reads, if they are wanted: L2 drops them before
   lines that will be read again. By a predicate, since compilers duplicate the code before a branch. */
static __device__ __forceinline__ void cuda_store_past(bool wanted, float *to, const float (&pack)[4])
{
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.cs.v4.f32 [%1], {%2, %3, %4, %5}; }" ::"r"(
            static_cast<unsigned>(wanted)),
        "l"(to), "f"(pack[0]), "f"(pack[1]), "f"(pack[2]), "f"(pack[3])
        : "memory");
}
static __device__ __forceinline__ void cuda_store_past(bool wanted, double *to, const double (&pack)[2])
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.cs.v2.f64 [%1], {%2, %3}; }" ::"r"(
                     static_cast<unsigned>(wanted)),
                 "l"(to), "d"(pack[0]), "d"(pack[1])
                 : "memory");
}

/* ---- barriers at which threads arrive before they wait ----
 *
 * In shared memory (mbarrier). A phase ends when as many threads have arrived as the barrier was created for,
 * and all expected bytes have come. Whoever has awaited the phase sees what each thread did before it
 * arrived; if a lane arrives for its warp, that covers this lane only. Every thread of the block awaits every
 * phase, one after another; parity is that of the phase, from 0 on. Code before 8.0 has no such barriers:
 * there a wait is __syncthreads. */
struct cuda_barrier {
    unsigned long long state;
};

static __device__ __forceinline__ unsigned cuda_shared_address(const void *shared)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

/* By one thread. */
static __device__ __forceinline__ void cuda_barrier_create(cuda_barrier *barrier, unsigned arrivals)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(cuda_shared_address(barrier)), "r"(arrivals)
                 : "memory");
#endif
}

/* By all threads, before anybody uses the barriers. */
static __device__ __forceinline__ void cuda_barriers_created()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
    __syncthreads();
}

/* By each thread that the barrier counts. */
static __device__ __forceinline__ void cuda_barrier_arrive(cuda_barrier *barrier)
{
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(cuda_shared_address(barrier))
        : "memory");
#endif
}

/* Wait for the end of the phase of a parity. */
static __device__ __forceinline__ void cuda_barrier_await(cuda_barrier *barrier, unsigned parity)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("{ .reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
                 "@!done bra again; }" ::"r"(cuda_shared_address(barrier)),
                 "r"(parity)
                 : "memory");
#elif __CUDA_ARCH__ >= 800
    asm volatile("{ .reg .pred done;\n"
                 "again: mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
                 "@!done bra again; }" ::"r"(cuda_shared_address(barrier)),
                 "r"(parity)
                 : "memory");
#else
    __syncthreads();
#endif
}

/* ---- boxes ----
 *
 * TMA: from 9.0 on, with toolkits from 12 on, one thread starts the copy of a box of a field, Width × Height
 * samples of some planes of one channel. The hardware finds the addresses; parts outside the field arrive as
 * zeros. */
static __host__ __device__ constexpr bool cuda_has_boxes(int code)
{
    return code >= 90 && CUDART_VERSION >= 12000;
}

/* A field as boxes are cut from it: extents in samples, strides in bytes. */
struct cuda_boxed_field {
    const void *samples;
    size_t sample_bytes; /* 4: f32, 8: f64 */
    size_t nx, rows, channels, planes;
    size_t row_stride, channel_stride, plane_stride; /* multiples of 16 */
};

#if CUDART_VERSION >= 12000

typedef CUtensorMap cuda_box_map;

/* The driver's function that encodes maps: it is found at run time, so that no driver is linked. */
static inline cudaError_t cuda_find_encoder(void **encoder)
{
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", encoder, 12000, cudaEnableDefault, &found);
#else
    const cudaError_t error =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", encoder, cudaEnableDefault, &found);
#endif

    return error == cudaSuccess && found != cudaDriverEntryPointSuccess ? cudaErrorNotSupported : error;
}

/* Rows of a box are a multiple of 16 bytes; no extent is beyond 256. */
static inline cudaError_t cuda_map_boxes(cuda_box_map *map, const struct cuda_boxed_field *field,
                                         unsigned width, unsigned height, unsigned planes)
{
    const cuuint64_t extents[] = {field->nx, field->rows, field->channels, field->planes};
    const cuuint64_t strides[] = {field->row_stride, field->channel_stride, field->plane_stride};
    const cuuint32_t box[] = {width, height, 1, planes}, steps[] = {1, 1, 1, 1};
    void *encoder = NULL;
    const cudaError_t error = cuda_find_encoder(&encoder);

    if (error != cudaSuccess)
        return error;
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encoder)(
               map,
               field->sample_bytes == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
               4, const_cast<void *>(field->samples), extents, strides, box, steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

#else

struct cuda_box_map {
};

static inline cudaError_t cuda_map_boxes(cuda_box_map *, const struct cuda_boxed_field *, unsigned, unsigned,
                                         unsigned)
{
    return cudaErrorNotSupported;
}

#endif

/* The first sample of a box. */
struct cuda_box_place {
    int x, row, channel, plane; /* counted from the field's first plane */
};

/* Start the copy of a box; the barrier's phase, which is under way, then waits for its bytes, too. Kernels
   take the map as a parameter, or part of one, that is __grid_constant__. The place in shared memory is a
   multiple of 128 bytes; the caller has awaited a phase at which all its readers arrived. The box stays in L2
   as long as it can, since neighbouring tiles read part of it, too. */
static __device__ __forceinline__ void cuda_fetch_box(void *shared, const cuda_box_map *map,
                                                      const cuda_box_place &place, cuda_barrier *barrier,
                                                      unsigned bytes)
{
#if __CUDA_ARCH__ >= 900 && CUDART_VERSION >= 12000
    const unsigned long long evict_last = 0x14f0000000000000;
    const unsigned to = cuda_shared_address(shared), when = cuda_shared_address(barrier);

    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(when), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(to),
                 "l"(map), "r"(place.x), "r"(place.row), "r"(place.channel), "r"(place.plane), "r"(when),
                 "l"(evict_last)
                 : "memory");
#endif
}

/* By each thread that has stored to where a box will come, before it arrives at the barrier behind which that
   box is sent for. Stores and boxes reach shared memory by different ways. */
static __device__ __forceinline__ void cuda_boxes_follow()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* ---- blocks that await each other ----
 *
 * All blocks of such a launch run at once, or it is refused (cooperative launch). A signal is a number in the
 * device's memory that one block raises and others await. Stores, __syncthreads, raise; await, __syncthreads,
 * cuda_load_signalled: in this order all threads of one block see what all threads of the other have stored.
 */
template <typename... Parameters>
static inline cudaError_t cuda_launch_together(cudaStream_t stream, dim3 grid, dim3 block,
                                               size_t shared_bytes, void (*kernel)(Parameters...),
                                               std::decay_t<Parameters>... arguments)
{
    void *pointers[] = {&arguments...};

    return cudaLaunchCooperativeKernel(reinterpret_cast<const void *>(kernel), grid, block, pointers,
                                       shared_bytes, stream);
}

/* Each by one thread of a block. Numbers rise by one at a time. */
static __device__ __forceinline__ void cuda_raise_signal(unsigned *signal, unsigned number)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(signal), "r"(number) : "memory");
}

static __device__ __forceinline__ void cuda_await_signal(const unsigned *signal, unsigned number)
{
    unsigned found;

    do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(found) : "l"(signal) : "memory");
    } while (found < number);
}

/* Load 16 bytes that another block has stored: from L2, since this multiprocessor's own cache may have older
 * ones. */
static __device__ __forceinline__ void cuda_load_signalled(const float *from, float (&pack)[4])
{
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(pack[0]), "=f"(pack[1]), "=f"(pack[2]), "=f"(pack[3])
                 : "l"(from)
                 : "memory");
}
static __device__ __forceinline__ void cuda_load_signalled(const double *from, double (&pack)[2])
{
    asm volatile("ld.global.cg.v2.f64 {%0, %1}, [%2];" : "=d"(pack[0]), "=d"(pack[1]) : "l"(from) : "memory");
}

#endif

/* ---- what depends on the compute capability that code is compiled for ---- */

/* As many of the wished blocks as a multiprocessor can run at once (occupancy), with code for a compute
 * capability. */
static __host__ __device__ constexpr int cuda_residents(int code, int threads, int blocks)
{
    const int most_threads = code == 75 ? 1024 : (code >= 86 && code <= 89) || code >= 110 ? 1536 : 2048;
    const int most_blocks = code == 75 || (code >= 86 && code <= 88) ? 16
                            : code == 89 || code >= 110              ? 24
                                                                     : 32;
    const int most = most_blocks < most_threads / threads ? most_blocks : most_threads / threads;

    return blocks < most ? blocks : most;
}

/* The blocks that a multiprocessor must be able to hold at once. 0 leaves it to ptxas, which for 10.0 and
   later would spill registers so that one more fits. */
static constexpr int cuda_least_residents(int code)
{
    return code >= 100 ? 1 : 0;
}

/* The body of a kernel, for code that has the form: other code is spared the templates that it is made of.
 * The host knows what is there; should it ever choose wrongly, the kernel ends with an error instead of wrong
 * samples. */
#define CUDA_WHERE_SERVED(Form)                                                                              \
    CUDA_IF_CONSTANT (!Form::serves(cuda_code()))                                                            \
        __trap();                                                                                            \
    else

#endif
