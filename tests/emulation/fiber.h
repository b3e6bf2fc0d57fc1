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
    /* work never returns: it yields for the last time. */
    fiber(void (*work)(void *), void *argument);
    ~fiber();
    fiber(const fiber &) = delete;
    fiber &operator=(const fiber &) = delete;

    /* From outside: run the fiber until it yields. */
    void resume();

    /* From inside: go back to who resumed it. */
    void yield();

  private:
#if EMULATION_UCONTEXT
    using context = ucontext_t;
#else
    using context = void *; /* the stack pointer; the registers lie on the stack */
#endif

    static void enter();
    static void switch_context(context &from, context &to);
    void prepare();

    void (*work_)(void *);
    void *argument_;
    unsigned char *stack_; /* above a page that faults */
    context inside_, outside_;

    /* For AddressSanitizer. */
    void *inside_fake_stack_ = nullptr, *outside_fake_stack_ = nullptr;
    const void *outside_stack_ = nullptr;
    std::size_t outside_stack_bytes_ = 0;
};

} // namespace emulation

#endif
