/* The door to CUDA: what kernels and their host code may use of it, so that tests can stand in for a GPU.
 *
 * With nvcc these are CUDA itself. With CUDA_EMULATION the same sources compile as C++ for the host, where
 * tests run blocks of fibers: every launch, every piece of shared memory and every asynchronous copy passes
 * through here.
 *
 * Rules for kernels: shared memory is dynamic alone, one CUDA_SHARED a kernel, carved by hand; launches go
 * through CUDA_LAUNCH alone; asynchronous copies through cuda_copy_async and cuda_copy_row_async alone.
 * Everything else of CUDA that they may use by its own name: threadIdx, blockIdx, blockDim, gridDim,
 * __syncthreads, __syncwarp, __shfl_sync, __shfl_up_sync, __shfl_down_sync, __shfl_xor_sync, __ballot_sync,
 * __any_sync, __ldg, __trap, atomicAdd, atomicMax, vector types. */
#ifndef CUDA_PLATFORM_H
#define CUDA_PLATFORM_H

#ifdef CUDA_EMULATION
#include "cuda_emulation.h"
#else

#include <cuda_runtime.h>

/* The dynamic shared memory of a block as an array of T. */
#define CUDA_SHARED(T, name)                                                                                 \
    extern __shared__ __align__(128) unsigned char cuda_shared_bytes[];                                      \
    T *const name = reinterpret_cast<T *>(cuda_shared_bytes)

/* Launch a kernel and return the error of the launch. */
#define CUDA_LAUNCH(stream, grid, block, shared_bytes, kernel, ...)                                          \
    (kernel<<<(grid), (block), (shared_bytes), (stream)>>>(__VA_ARGS__), cudaGetLastError())

/* The compute capability that this code is compiled for, as 90. A newer device may run it. */
static __device__ __forceinline__ constexpr int cuda_code()
{
#ifdef __CUDA_ARCH__
    return __CUDA_ARCH__ / 10;
#else
    return 0;
#endif
}

/* Copy 16 (or 8, or 4) bytes from global to shared memory without a register; both aligned to the size. Where
   the architecture has no such copy, an ordinary one is made. */
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

/* The same for 16 bytes of a row that is read whole: L2 fetches the 256 bytes around them together. */
static __device__ __forceinline__ void cuda_copy_row_async(void *shared, const void *global)
{
#if __CUDA_ARCH__ >= 800
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
#else
    cuda_copy_async<16>(shared, global);
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

#endif
#endif
