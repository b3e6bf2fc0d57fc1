/* Fibers: functions with stacks of their own that one host thread switches between. */
#include "asan.h"
#include "fiber.h"

#include <cstdint>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

/* Room for the frames of an unoptimised, sanitized kernel. Untouched pages cost nothing. */
static constexpr std::size_t stack_bytes = std::size_t(256) << 10;

#if !EMULATION_UCONTEXT
/* Save what a call preserves, exchange the stack pointers, restore. swapcontext does the same and two system
   calls besides. */
extern "C" void emulation_switch_stack(void **from, void *to);

#if defined(__x86_64__)
asm(R"(
    .text
    .p2align 4
    .globl emulation_switch_stack
    .hidden emulation_switch_stack
    .type emulation_switch_stack, @function
emulation_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size emulation_switch_stack, . - emulation_switch_stack
)");
#else
asm(R"(
    .text
    .p2align 4
    .globl emulation_switch_stack
    .hidden emulation_switch_stack
    .type emulation_switch_stack, %function
emulation_switch_stack:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size emulation_switch_stack, . - emulation_switch_stack
)");
#endif
#endif

namespace emulation
{

/* Whom the switch under way leads from, and to. */
static thread_local fiber *leaving, *coming;

static std::size_t page_bytes()
{
    static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

    return bytes;
}

/* A page that faults. Since Linux 6.13 one costs no mapping of its own, of which a launch would need
 * hundreds. */
static void guard(unsigned char *page)
{
    constexpr int guard_install = 102; /* MADV_GUARD_INSTALL, which headers may lack */

    if (madvise(page, page_bytes(), guard_install) != 0)
        mprotect(page, page_bytes(), PROT_NONE);
}

/* Stacks that no fiber has. The next one takes them, whatever its thread: to map and unmap one takes longer
   than many a kernel. Threads may end after static objects have. */
static std::mutex idle_mutex;
static std::vector<unsigned char *> &idle = *new std::vector<unsigned char *>;

static void map_stacks()
{
    constexpr std::size_t count = 64;
    const std::size_t each = page_bytes() + stack_bytes;
    void *pages = mmap(nullptr, count * each, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (pages == MAP_FAILED)
        throw std::bad_alloc();
    for (std::size_t i = count; i-- > 0;) {
        idle.push_back(static_cast<unsigned char *>(pages) + i * each);
        guard(idle.back());
    }
}

static void leave_pages(unsigned char *pages)
{
    const std::lock_guard<std::mutex> lock(idle_mutex);

    idle.push_back(pages);
}

static unsigned char *take_pages()
{
    const std::lock_guard<std::mutex> lock(idle_mutex);
    unsigned char *pages;

    if (idle.empty())
        map_stacks();
    pages = idle.back();
    idle.pop_back();
    return pages;
}

fiber::fiber() = default;

fiber::fiber(void (*work)(void *), void *argument)
    : work_(work), argument_(argument), pages_(take_pages()), stack_(pages_ + page_bytes()),
      stack_bytes_(stack_bytes)
{
    prepare();
}

fiber::~fiber()
{
    if (pages_ == nullptr)
        return;
    allow(stack_, stack_bytes_); /* frames that were never left */
    leave_pages(pages_);
}

void fiber::enter()
{
    fiber *self = coming;

    self->arrive();
    self->work_(self->argument_);
}

void fiber::arrive()
{
    const void *stack = nullptr;
    std::size_t bytes = 0;

    after_switch(fake_stack_, &stack, &bytes);
    if (leaving->pages_ == nullptr) {
        leaving->stack_ = stack;
        leaving->stack_bytes_ = bytes;
    }
}

void fiber::switch_to(fiber &next)
{
    leaving = this;
    coming = &next;
    before_switch(&fake_stack_, next.stack_, next.stack_bytes_);
    switch_context(context_, next.context_);
    arrive();
}

#if EMULATION_UCONTEXT

void fiber::prepare()
{
    getcontext(&context_);
    context_.uc_stack.ss_sp = pages_ + page_bytes();
    context_.uc_stack.ss_size = stack_bytes;
    context_.uc_link = nullptr;
    makecontext(&context_, enter, 0);
}

void fiber::switch_context(context &from, context &to)
{
    swapcontext(&from, &to);
}

#else

/* Stacks that begin at one place of their pages would have their hot lines in a few sets of the cache. */
static std::size_t next_stagger()
{
    constexpr std::size_t line = 64, lines = 64, stride = 9; /* without a common divisor */
    static thread_local std::size_t stacks;

    return stacks++ * stride % lines * line;
}

/* As if enter() had called emulation_switch_stack just before its first instruction. */
void fiber::prepare()
{
#if defined(__x86_64__)
    constexpr std::size_t saved_words = 8,
                          return_word = 6; /* then the return address of enter() itself: none */
#else
    constexpr std::size_t saved_words = 20, return_word = 11;
#endif
    std::uintptr_t *frame =
        reinterpret_cast<std::uintptr_t *>(pages_ + page_bytes() + stack_bytes - next_stagger()) -
        saved_words;

    frame[return_word] = reinterpret_cast<std::uintptr_t>(&fiber::enter);
    context_ = frame;
}

void fiber::switch_context(context &from, context &to)
{
    emulation_switch_stack(&from, to);
}

#endif

} // namespace emulation
