/* Bytes that nobody has written yet, and memory whose edges notice. */
#include "asan.h"
#include "poison.h"

#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>

#if EMULATION_ASAN
/* Kernels trap where UBSan finds something: that is to be told, with the line. */
extern "C" const char *__asan_default_options()
{
    return "handle_sigill=1";
}
#endif

namespace emulation
{

/* As wide as an alignment that cudaMalloc grants, which it thereby keeps. */
static constexpr std::size_t guard_bytes = 256;

void poison(void *memory, std::size_t bytes)
{
    unsigned char *bytewise = static_cast<unsigned char *>(memory);
    std::size_t done = bytes < sizeof poison_word ? bytes : sizeof poison_word;

    std::memcpy(bytewise, &poison_word, done);
    while (done < bytes) {
        std::size_t more = done < bytes - done ? done : bytes - done;
        std::memcpy(bytewise + done, bytewise, more);
        done += more;
    }
}

/* Of no more than the widest guard. */
static bool is_poison(const unsigned char *memory, std::size_t bytes)
{
    static const struct guard {
        unsigned char bytes[2 * guard_bytes];

        guard()
        {
            poison(bytes, sizeof bytes);
        }
    } untouched;

    return std::memcmp(memory, untouched.bytes, bytes) == 0;
}

guarded_memory::guarded_memory(std::size_t bytes) : bytes_(bytes)
{
    /* Tests make posix_memalign fail, which is the host's. */
    void *block = bytes > SIZE_MAX / 2 ? nullptr : memalign(guard_bytes, guard_bytes + bytes + tail_bytes());

    if (block == nullptr)
        throw std::bad_alloc();
    block_ = static_cast<unsigned char *>(block);
    begin_ = block_ + guard_bytes;
    poison(block_, guard_bytes);
    poison(begin_, bytes);
    poison(begin_ + bytes, tail_bytes());
    forbid(block_, guard_bytes);
    forbid(begin_ + bytes, tail_bytes());
}

guarded_memory::~guarded_memory()
{
    allow(block_, guard_bytes + bytes_ + tail_bytes());
    free(block_);
}

/* Up to a whole number of guards, so that AddressSanitizer's granules end with it. */
std::size_t guarded_memory::tail_bytes() const
{
    return 2 * guard_bytes - bytes_ % guard_bytes;
}

bool guarded_memory::contains(const void *memory, std::size_t bytes) const
{
    const unsigned char *from = static_cast<const unsigned char *>(memory);

    return from >= begin_ && from <= begin_ + bytes_ &&
           bytes <= static_cast<std::size_t>(begin_ + bytes_ - from);
}

bool guarded_memory::is_damaged() const
{
    if (EMULATION_ASAN)
        return false;
    return !is_poison(block_, guard_bytes) || !is_poison(begin_ + bytes_, tail_bytes());
}

} // namespace emulation
