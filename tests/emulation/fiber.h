/* Fibers: functions with stacks of their own that one host thread switches between. */
#ifndef EMULATION_FIBER_H
#define EMULATION_FIBER_H

#include <cstddef>

#if defined(EMULATION_UCONTEXT) || !(defined(__x86_64__) || defined(__aarch64__)) || defined(__ILP32__)
#undef EMULATION_UCONTEXT
#define EMULATION_UCONTEXT 1
#include <ucontext.h>
#else
#define EMULATION_UCONTEXT 0
#endif

namespace emulation
{

class fiber
{
  public:
    fiber(); /* the host thread itself, for others to switch back to */

    /* work never returns: it switches away for the last time. */
    fiber(void (*work)(void *), void *argument);
    ~fiber();
    fiber(const fiber &) = delete;
    fiber &operator=(const fiber &) = delete;

    /* From this one, which runs, to another. Returns when another switches back to this one. */
    void switch_to(fiber &next);

    /* Whoever runs soon should have the top of the stack in the cache. */
    void prefetch() const
    {
#if !EMULATION_UCONTEXT
        __builtin_prefetch(context_);
        __builtin_prefetch(static_cast<const unsigned char *>(context_) + 64);
#endif
    }

  private:
#if EMULATION_UCONTEXT
    using context = ucontext_t;
#else
    using context = void *; /* the stack pointer; the registers lie on the stack */
#endif

    static void enter();
    static void switch_context(context &from, context &to);
    void prepare();
    void arrive();

    void (*work_)(void *) = nullptr;
    void *argument_ = nullptr;
    unsigned char *pages_ = nullptr; /* of its own stack: a page that faults, then the stack */
    context context_;

    /* For AddressSanitizer. The host thread's stack is unknown until somebody has come from there. */
    void *fake_stack_ = nullptr;
    const void *stack_ = nullptr;
    std::size_t stack_bytes_ = 0;
};

} // namespace emulation

#endif
