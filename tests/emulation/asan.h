/* AddressSanitizer's view of memory and stacks; without it, nothing. EMULATION_ASAN=1 says that the program
   has it, although the file that includes this is compiled without its checks. */
#ifndef EMULATION_ASAN_H
#define EMULATION_ASAN_H

#include <cstddef>

#ifndef EMULATION_ASAN
#if defined(__SANITIZE_ADDRESS__)
#define EMULATION_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATION_ASAN 1
#endif
#endif
#endif
#ifndef EMULATION_ASAN
#define EMULATION_ASAN 0
#endif

#if EMULATION_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulation
{

#if EMULATION_ASAN

inline void forbid(const void *memory, std::size_t bytes)
{
    __asan_poison_memory_region(memory, bytes);
}

inline void allow(const void *memory, std::size_t bytes)
{
    __asan_unpoison_memory_region(memory, bytes);
}

inline void before_switch(void **fake_stack, const void *bottom, std::size_t bytes)
{
    __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
}

inline void after_switch(void *fake_stack, const void **bottom, std::size_t *bytes)
{
    __sanitizer_finish_switch_fiber(fake_stack, bottom, bytes);
}

#else

inline void forbid(const void *, std::size_t)
{
}

inline void allow(const void *, std::size_t)
{
}

inline void before_switch(void **, const void *, std::size_t)
{
}

inline void after_switch(void *, const void **, std::size_t *)
{
}

#endif

} // namespace emulation

#endif
