/* Bytes that nobody has written yet, and memory whose edges notice. */
#ifndef EMULATION_POISON_H
#define EMULATION_POISON_H

#include <cstddef>
#include <cstdint>

namespace emulation
{

/* Read as f32 this is a NaN, two of them as f64 another; as an integer it is large. */
constexpr std::uint32_t poison_word = 0x7ff4a5a5;

void poison(void *memory, std::size_t bytes);

/* Poisoned memory of exactly so many bytes, with guards on both sides. */
class guarded_memory
{
  public:
    explicit guarded_memory(std::size_t bytes); /* throws std::bad_alloc */
    ~guarded_memory();
    guarded_memory(const guarded_memory &) = delete;
    guarded_memory &operator=(const guarded_memory &) = delete;

    unsigned char *begin() const
    {
        return begin_;
    }
    std::size_t bytes() const
    {
        return bytes_;
    }
    bool contains(const void *memory, std::size_t bytes) const;

    /* Whether a guard was overwritten. AddressSanitizer finds that, and reads too, when it happens. */
    bool is_damaged() const;

  private:
    std::size_t tail_bytes() const;

    std::size_t bytes_;
    unsigned char *block_, *begin_;
};

} // namespace emulation

#endif
