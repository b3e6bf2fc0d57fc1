/* What ISA-L leaves behind in vector registers. */
#ifndef VECTORS_H
#define VECTORS_H

/* To be called after functions of ISA-L that compute with AVX. Some of them return with the upper halves of
   its registers in use. Until these are cleared, every SSE instruction waits for them: zlib then takes half
   as long again. */
static inline void vectors_clear(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper" ::
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                               "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#endif
}

#endif
