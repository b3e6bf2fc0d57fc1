/* What depends on the compute capability that code is compiled for: how many blocks to ask a multiprocessor
 * for, and which forms of a kernel there are. */
#ifndef CUDA_CODE_CUH
#define CUDA_CODE_CUH

#include "cuda_platform.h"

/* As many of the blocks that a multiprocessor should run at once as one can that runs code for a compute
   capability. */
static __host__ __device__ constexpr int cuda_residents(int code, int threads, int blocks)
{
    const int most_threads = code == 75 ? 1024 : (code >= 86 && code <= 89) || code >= 110 ? 1536 : 2048;
    const int most_blocks = code == 75 || (code >= 86 && code <= 88) ? 16
                            : code == 89 || code >= 110              ? 24
                                                                     : 32;
    const int most = most_blocks < most_threads / threads ? most_blocks : most_threads / threads;

    return blocks < most ? blocks : most;
}

/* How many blocks a multiprocessor must be able to hold at once. 0 leaves it to the assembler, which for 10.0
   and later would spill so that one more fits. */
static constexpr int cuda_least_residents(int code)
{
    return code >= 100 ? 1 : 0;
}

/* Whether this code has a form: the body of a kernel is left out of code that it does not serve. The host
 * knows, too; should it ever choose wrongly, the kernel ends in an error and not in wrong samples. */
template <typename Form> static __device__ __forceinline__ bool cuda_code_has()
{
    if (!Form::serves(cuda_code()))
        __trap();
    return Form::serves(cuda_code());
}

#endif
