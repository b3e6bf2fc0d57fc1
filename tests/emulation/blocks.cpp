/* Runs the blocks of a launch, one after another, their threads as fibers.
 *
 * A thread runs until it must wait for others; then the next one runs. Who arrives last goes on at once, far
 * ahead of the others: that is what brings a missing barrier to light. */
#include "blocks.h"
#include "fiber.h"
#include "poison.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulation
{

std::string place(site at)
{
    std::string file = at.file;

    return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(at.line);
}

namespace
{

constexpr unsigned warp_lanes = 32;

/* What a barrier that was created holds in shared memory. */
constexpr std::uint64_t barrier_mark = 0x6261727269657221;

enum class status { ready, at_barrier, at_phase, at_warp, exited };

/* Thrown through a thread that must end because its launch has failed. */
struct abandonment {
};

/* What asynchronous copies a thread has under way, oldest first. */
struct copy {
    void *to;
    const void *from;
    std::size_t bytes;
    std::size_t group;
};

struct copy_queue {
    std::vector<copy> copies;
    std::size_t groups_closed = 0;

    void clear();
    void perform_all_but(std::size_t pending_groups);
};

/* A box under way to shared memory. */
struct box {
    unsigned char *to;
    box_map map;
    int origin[4];

    std::size_t bytes() const
    {
        return std::size_t(map.width) * map.height * map.planes * map.sample_bytes;
    }
};

/* A barrier at which threads arrive before they wait. A phase that all have arrived at ends when it is
   awaited: that late its boxes come. */
struct phase_barrier {
    unsigned arrivals, arrived; /* wanted, and so far */
    std::uint64_t phases;       /* that have ended */
    std::vector<box> boxes;
    std::vector<struct thread_state *> waiting;
};

/* Lanes of a warp, a bit each. */
struct warp_state {
    unsigned waiting, exited;
};

/* A thread of the block; its fiber serves one block after another. */
struct thread_state {
    unsigned number = 0;
    uint3 index = {};
    status state = status::exited;
    site barrier = {};
    std::map<const void *, std::uint64_t> awaited; /* phases of each barrier */
    warp_call call = {};
    std::uint64_t result = 0;
    copy_queue copies;
    std::unique_ptr<fiber> context;
};

class block_runner
{
  public:
    std::string run(const launch_shape &shape, const schedule &schedule, const std::function<void()> &thread);

    void meet_block(site where);
    std::uint64_t meet_warp(const warp_call &call);
    void *shared_memory() const;
    int code() const;
    [[noreturn]] void trap(site where);
    void copy_async(void *shared, const void *global, std::size_t bytes);
    copy_queue &copies();
    void create_barrier(void *barrier, unsigned arrivals);
    void arrive_at_barrier(void *barrier);
    void await_barrier(void *barrier, unsigned parity, site where);
    void fetch_box(void *shared, const box_map &map, const int (&origin)[4], void *barrier, unsigned bytes);

  private:
    static void serve(void *thread);

    void prepare_threads();
    void run_block(std::size_t number);
    void start_block(std::size_t number);
    void run_body();
    void abandon_threads();
    bool run_ready_threads();
    void resume(thread_state &thread);
    void wait(thread_state &thread);
    void arrange(std::vector<std::uint32_t> &sequence);
    std::vector<std::uint32_t> arranged(std::size_t count);

    warp_state &warp(const thread_state &of);
    thread_state *lane(const thread_state &of, unsigned number);
    unsigned lanes_that_exist(const thread_state &of) const;
    bool has_warp_met(const thread_state &thread, unsigned mask);
    void finish_warp_call(const thread_state &thread, unsigned mask);
    std::uint64_t result_of(const thread_state &thread, unsigned mask);
    std::uint64_t shuffled_value(const thread_state &thread, unsigned mask);
    void check_warp_call(const thread_state &thread);
    void finish_barrier();

    phase_barrier &find_barrier(void *barrier);
    bool has_ended(phase_barrier &barrier, std::uint64_t phase);

    [[noreturn]] void give_up(const std::string &reason);
    std::string describe_waiting() const;

    const launch_shape *shape_ = nullptr;
    const std::function<void()> *thread_body_ = nullptr;
    enum emulation_order order_ = EMULATION_FORWARD;
    std::mt19937_64 random_;
    std::vector<std::unique_ptr<thread_state>> pool_;
    std::size_t thread_count_ = 0;
    std::size_t at_barrier_ = 0, exited_ = 0;
    std::vector<std::uint32_t> thread_sequence_;
    std::vector<warp_state> warps_;
    std::map<const void *, phase_barrier> barriers_;
    std::unique_ptr<guarded_memory> shared_;
    thread_state *running_ = nullptr;
    std::string complaint_;
};

/* Fibers stay with the host thread that made them. */
block_runner &this_runner()
{
    static thread_local block_runner runner;

    return runner;
}

std::string place(uint3 at)
{
    return "(" + std::to_string(at.x) + "," + std::to_string(at.y) + "," + std::to_string(at.z) + ")";
}

uint3 unravelled(std::size_t number, dim3 extents)
{
    std::size_t row = number / extents.x;

    return {static_cast<unsigned>(number % extents.x), static_cast<unsigned>(row % extents.y),
            static_cast<unsigned>(row / extents.y)};
}

std::size_t volume(dim3 extents)
{
    return std::size_t(extents.x) * extents.y * extents.z;
}

bool same_site(site a, site b)
{
    return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

bool same_call(const warp_call &a, const warp_call &b)
{
    return a.kind == b.kind && a.mask == b.mask && same_site(a.where, b.where);
}

bool is_shuffle(meeting kind)
{
    return kind == meeting::shuffle || kind == meeting::shuffle_up || kind == meeting::shuffle_down ||
           kind == meeting::shuffle_xor;
}

const char *name_of(meeting kind)
{
    switch (kind) {
    case meeting::sync:
        return "__syncwarp";
    case meeting::shuffle:
        return "__shfl_sync";
    case meeting::shuffle_up:
        return "__shfl_up_sync";
    case meeting::shuffle_down:
        return "__shfl_down_sync";
    case meeting::shuffle_xor:
        return "__shfl_xor_sync";
    case meeting::ballot:
        return "__ballot_sync";
    case meeting::any:
        return "__any_sync";
    case meeting::all:
        return "__all_sync";
    }
    return "?";
}

std::string describe(const warp_call &call)
{
    char mask[16];

    std::snprintf(mask, sizeof mask, "%08x", call.mask);
    return std::string(name_of(call.kind)) + " with mask " + mask + " at " + place(call.where);
}

/* ---------------------------------------------------------------- copies */

void copy_queue::clear()
{
    copies.clear();
    groups_closed = 0;
}

void copy_queue::perform_all_but(std::size_t pending_groups)
{
    std::size_t done = 0;

    for (; done < copies.size() && copies[done].group + pending_groups < groups_closed; done++)
        std::memcpy(copies[done].to, copies[done].from, copies[done].bytes);
    copies.erase(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(done));
}

copy_queue &block_runner::copies()
{
    return running_->copies;
}

void block_runner::copy_async(void *shared, const void *global, std::size_t bytes)
{
    if (reinterpret_cast<std::uintptr_t>(shared) % bytes != 0 ||
        reinterpret_cast<std::uintptr_t>(global) % bytes != 0)
        give_up("asynchronous copy of " + std::to_string(bytes) +
                " bytes that are not aligned to their size");
    if (!shared_->contains(shared, bytes))
        give_up("asynchronous copy to outside of the block's " + std::to_string(shared_->bytes()) +
                " bytes of shared memory");
    if (!shape_->is_allocated(global, bytes))
        give_up("asynchronous copy from outside of any allocation");
    poison(shared, bytes);
    copies().copies.push_back({shared, global, bytes, copies().groups_closed});
}

/* ---------------------------------------------------------------- barriers with phases, and boxes */

/* The samples of a row of a plane of the box; those outside the field are zeros. */
void fetch_row(const box &fetched, unsigned row, unsigned plane, unsigned char *to)
{
    const box_map &map = fetched.map;
    const long long at[] = {fetched.origin[1] + static_cast<long long>(row), fetched.origin[2],
                            fetched.origin[3] + static_cast<long long>(plane)};
    const unsigned char *from = map.samples;

    std::memset(to, 0, map.width * map.sample_bytes);
    for (int axis = 0; axis < 3; axis++) {
        if (at[axis] < 0 || at[axis] >= map.extents[axis + 1])
            return;
        from += static_cast<std::size_t>(at[axis]) * map.strides[axis];
    }
    const long long first = std::max(0, fetched.origin[0]);
    const long long end = std::min(fetched.origin[0] + static_cast<long long>(map.width), map.extents[0]);
    if (first < end)
        std::memcpy(to + static_cast<std::size_t>(first - fetched.origin[0]) * map.sample_bytes,
                    from + static_cast<std::size_t>(first) * map.sample_bytes,
                    static_cast<std::size_t>(end - first) * map.sample_bytes);
}

void perform(const box &fetched)
{
    const unsigned height = fetched.map.height;

    for (unsigned row = 0; row < height * fetched.map.planes; row++)
        fetch_row(fetched, row % height, row / height,
                  fetched.to + row * fetched.map.width * fetched.map.sample_bytes);
}

void block_runner::create_barrier(void *barrier, unsigned arrivals)
{
    if (reinterpret_cast<std::uintptr_t>(barrier) % sizeof barrier_mark != 0 ||
        !shared_->contains(barrier, sizeof barrier_mark))
        give_up("a barrier is created that is not aligned, or outside of shared memory");
    std::memcpy(barrier, &barrier_mark, sizeof barrier_mark);
    barriers_[barrier] = {arrivals, 0, 0, {}, {}};
}

phase_barrier &block_runner::find_barrier(void *barrier)
{
    auto found = barriers_.find(barrier);

    if (found == barriers_.end())
        give_up("a barrier is used that was never created");
    if (std::memcmp(barrier, &barrier_mark, sizeof barrier_mark) != 0)
        give_up("a barrier was overwritten");
    return found->second;
}

/* Code before 8.0 has no such barriers, as cuda_platform.h says. */
void block_runner::arrive_at_barrier(void *barrier)
{
    phase_barrier &at = find_barrier(barrier);

    if (code() < 80)
        return;
    if (at.arrived == at.arrivals)
        give_up("arrival at a phase of a barrier at which all have arrived");
    if (++at.arrived < at.arrivals)
        return;
    for (thread_state *waiting : at.waiting)
        waiting->state = status::ready;
    at.waiting.clear();
}

bool block_runner::has_ended(phase_barrier &barrier, std::uint64_t phase)
{
    if (barrier.phases == phase && barrier.arrived == barrier.arrivals) {
        for (const box &fetched : barrier.boxes)
            perform(fetched);
        barrier.boxes.clear();
        barrier.arrived = 0;
        barrier.phases++;
    }
    return barrier.phases > phase;
}

void block_runner::await_barrier(void *barrier, unsigned parity, site where)
{
    thread_state &thread = *running_;
    phase_barrier &at = find_barrier(barrier);
    const std::uint64_t phase = thread.awaited[barrier]++;

    if (parity != (phase & 1))
        give_up("waits for another phase of a barrier than the next at " + place(where));
    if (at.phases > phase + 1)
        give_up("a phase of a barrier is over before this one was awaited at " + place(where));
    if (code() < 80) {
        meet_block(where);
        return;
    }
    while (!has_ended(at, phase)) {
        thread.state = status::at_phase;
        thread.barrier = where;
        at.waiting.push_back(&thread);
        wait(thread);
    }
}

void block_runner::fetch_box(void *shared, const box_map &map, const int (&origin)[4], void *barrier,
                             unsigned bytes)
{
    phase_barrier &at = find_barrier(barrier);
    box fetched = {static_cast<unsigned char *>(shared), map, {origin[0], origin[1], origin[2], origin[3]}};

    if (code() < 90)
        give_up("code before 9.0 fetches no boxes");
    if (reinterpret_cast<std::uintptr_t>(shared) % 128 != 0)
        give_up("a box goes to shared memory that is not aligned to 128 bytes");
    if (!shared_->contains(shared, fetched.bytes()))
        give_up("a box goes outside of the block's " + std::to_string(shared_->bytes()) +
                " bytes of shared memory");
    if (bytes != fetched.bytes())
        give_up("a barrier waits for " + std::to_string(bytes) + " bytes of a box of " +
                std::to_string(fetched.bytes()));
    if (at.arrived == at.arrivals)
        give_up("a box is sent for that a phase at which all have arrived does not wait for");
    poison(shared, fetched.bytes());
    at.boxes.push_back(fetched);
}

/* ---------------------------------------------------------------- blocks */

std::string block_runner::run(const launch_shape &shape, const schedule &schedule,
                              const std::function<void()> &thread)
{
    shape_ = &shape;
    thread_body_ = &thread;
    order_ = schedule.order;
    random_.seed(schedule.seed);
    complaint_.clear();
    blockDim = shape.block;
    gridDim = shape.grid;
    shared_ = std::make_unique<guarded_memory>(shape.shared_bytes);
    prepare_threads();
    for (std::uint32_t number : arranged(volume(shape.grid))) {
        run_block(number);
        if (!complaint_.empty())
            break;
    }
    shared_.reset();
    return complaint_.empty() ? ""
                              : "kernel " + shape.kernel + ", block " + place(blockIdx) + ": " + complaint_;
}

void block_runner::prepare_threads()
{
    thread_count_ = volume(shape_->block);
    while (pool_.size() < thread_count_) {
        pool_.push_back(std::make_unique<thread_state>());
        pool_.back()->number = static_cast<unsigned>(pool_.size() - 1);
        pool_.back()->context = std::make_unique<fiber>(serve, pool_.back().get());
    }
    for (std::size_t i = 0; i < thread_count_; i++)
        pool_[i]->index = unravelled(i, shape_->block);
    thread_sequence_ = arranged(thread_count_);
}

void block_runner::arrange(std::vector<std::uint32_t> &sequence)
{
    if (order_ == EMULATION_SHUFFLED)
        std::shuffle(sequence.begin(), sequence.end(), random_);
}

std::vector<std::uint32_t> block_runner::arranged(std::size_t count)
{
    std::vector<std::uint32_t> sequence(count);

    std::iota(sequence.begin(), sequence.end(), 0u);
    if (order_ == EMULATION_REVERSED)
        std::reverse(sequence.begin(), sequence.end());
    arrange(sequence);
    return sequence;
}

/* The life of a fiber: a thread of one block after another. */
void block_runner::serve(void *argument)
{
    thread_state *thread = static_cast<thread_state *>(argument);

    for (;;) {
        this_runner().run_body();
        thread->state = status::exited;
        this_runner().exited_++;
        this_runner().warp(*thread).exited |= 1u << thread->number % warp_lanes;
        thread->context->yield();
    }
}

void block_runner::run_body()
{
    if (!complaint_.empty())
        return;
    try {
        (*thread_body_)();
    } catch (const abandonment &) {
    }
}

/* Lead every thread out of the kernel, so that its fiber can serve another one. */
void block_runner::abandon_threads()
{
    for (std::size_t i = 0; i < thread_count_; i++) {
        if (pool_[i]->state != status::exited)
            resume(*pool_[i]);
    }
}

void block_runner::start_block(std::size_t number)
{
    blockIdx = unravelled(number, shape_->grid);
    poison(shared_->begin(), shared_->bytes());
    at_barrier_ = exited_ = 0;
    warps_.assign((thread_count_ + warp_lanes - 1) / warp_lanes, {0, 0});
    for (std::size_t i = 0; i < thread_count_; i++) {
        pool_[i]->state = status::ready;
        pool_[i]->copies.clear();
        pool_[i]->awaited.clear();
    }
    barriers_.clear();
}

void block_runner::run_block(std::size_t number)
{
    start_block(number);
    while (run_ready_threads()) {
    }
    if (complaint_.empty() && exited_ < thread_count_)
        complaint_ = "threads wait for others that never come: " + describe_waiting();
    if (complaint_.empty() && shared_->is_damaged())
        complaint_ = "wrote outside of its " + std::to_string(shared_->bytes()) + " bytes of shared memory";
    if (!complaint_.empty())
        abandon_threads();
}

/* Whether there were any, and nothing went wrong. */
bool block_runner::run_ready_threads()
{
    bool progress = false;

    arrange(thread_sequence_);
    for (std::uint32_t number : thread_sequence_) {
        if (pool_[number]->state != status::ready)
            continue;
        resume(*pool_[number]);
        if (!complaint_.empty())
            return false;
        progress = true;
    }
    return progress;
}

void block_runner::resume(thread_state &thread)
{
    running_ = &thread;
    threadIdx = thread.index;
    thread.context->resume();
    running_ = nullptr;
}

void block_runner::wait(thread_state &thread)
{
    while (thread.state != status::ready) {
        thread.context->yield();
        if (!complaint_.empty())
            throw abandonment();
    }
}

/* Ends the launch from within a thread. */
void block_runner::give_up(const std::string &reason)
{
    complaint_ = "thread " + place(running_->index) + ": " + reason;
    throw abandonment();
}

void *block_runner::shared_memory() const
{
    return shared_->begin();
}

int block_runner::code() const
{
    return shape_->code;
}

void block_runner::trap(site where)
{
    give_up("trap at " + place(where));
}

/* ---------------------------------------------------------------- meetings */

void block_runner::meet_block(site where)
{
    thread_state &thread = *running_;

    thread.state = status::at_barrier;
    thread.barrier = where;
    if (++at_barrier_ == thread_count_)
        finish_barrier();
    wait(thread);
}

void block_runner::finish_barrier()
{
    for (std::size_t i = 1; i < thread_count_; i++) {
        if (!same_site(pool_[i]->barrier, pool_[0]->barrier))
            give_up("threads of one block meet at different barriers: " + describe_waiting());
    }
    for (std::size_t i = 0; i < thread_count_; i++)
        pool_[i]->state = status::ready;
    at_barrier_ = 0;
}

warp_state &block_runner::warp(const thread_state &of)
{
    return warps_[of.number / warp_lanes];
}

thread_state *block_runner::lane(const thread_state &of, unsigned number)
{
    return pool_[of.number / warp_lanes * warp_lanes + number].get();
}

/* The last warp of a block may have fewer lanes; a mask may name the missing ones. */
unsigned block_runner::lanes_that_exist(const thread_state &of) const
{
    std::size_t lanes = thread_count_ - of.number / warp_lanes * warp_lanes;

    return lanes >= warp_lanes ? 0xffffffff : (1u << lanes) - 1;
}

std::uint64_t block_runner::meet_warp(const warp_call &call)
{
    thread_state &thread = *running_;
    unsigned mask = call.mask & lanes_that_exist(thread);

    thread.call = call;
    check_warp_call(thread);
    thread.state = status::at_warp;
    warp(thread).waiting |= 1u << thread.number % warp_lanes;
    if (has_warp_met(thread, mask))
        finish_warp_call(thread, mask);
    wait(thread);
    return thread.result;
}

void block_runner::check_warp_call(const thread_state &thread)
{
    const warp_call &call = thread.call;
    unsigned gone = call.mask & warp(thread).exited;

    if ((call.mask >> thread.number % warp_lanes & 1) == 0)
        give_up(describe(call) + ": the mask lacks the calling lane");
    if (is_shuffle(call.kind) && (call.width < 1 || call.width > 32 || (call.width & (call.width - 1)) != 0))
        give_up(describe(call) + ": width " + std::to_string(call.width) + " is no power of two up to 32");
    if (gone != 0)
        give_up(describe(call) + ": lane " + std::to_string(__builtin_ctz(gone)) + " has exited");
}

bool block_runner::has_warp_met(const thread_state &thread, unsigned mask)
{
    if ((mask & ~warp(thread).waiting) != 0)
        return false;
    for (unsigned number = 0; number < warp_lanes; number++) {
        if ((mask >> number & 1) != 0 && !same_call(lane(thread, number)->call, thread.call))
            return false;
    }
    return true;
}

void block_runner::finish_warp_call(const thread_state &thread, unsigned mask)
{
    for (unsigned number = 0; number < warp_lanes; number++) {
        if ((mask >> number & 1) != 0)
            lane(thread, number)->result = result_of(*lane(thread, number), mask);
    }
    for (unsigned number = 0; number < warp_lanes; number++) {
        if ((mask >> number & 1) != 0)
            lane(thread, number)->state = status::ready;
    }
    warp(thread).waiting &= ~mask;
}

std::uint64_t block_runner::result_of(const thread_state &thread, unsigned mask)
{
    unsigned votes = 0;

    if (is_shuffle(thread.call.kind))
        return shuffled_value(thread, mask);
    for (unsigned number = 0; number < warp_lanes; number++) {
        if ((mask >> number & 1) != 0 && lane(thread, number)->call.bits != 0)
            votes |= 1u << number;
    }
    switch (thread.call.kind) {
    case meeting::ballot:
        return votes;
    case meeting::any:
        return votes != 0;
    case meeting::all:
        return votes == mask;
    default:
        return 0;
    }
}

/* As PTX defines shfl.sync. What comes from a lane outside the mask is undefined: poison. */
std::uint64_t block_runner::shuffled_value(const thread_state &thread, unsigned mask)
{
    const warp_call &call = thread.call;
    int own = static_cast<int>(thread.number % warp_lanes);
    int first = own & ~(call.width - 1), last = first + call.width - 1;
    int source = own, argument = call.argument & 31;
    std::uint64_t value = 0;

    if (call.kind == meeting::shuffle)
        source = first + (argument & (call.width - 1));
    else if (call.kind == meeting::shuffle_up)
        source = own - argument < first ? own : own - argument;
    else if (call.kind == meeting::shuffle_down)
        source = own + argument > last ? own : own + argument;
    else
        source = (own ^ argument) > last ? own : own ^ argument;
    if ((mask >> source & 1) != 0)
        return lane(thread, static_cast<unsigned>(source))->call.bits;
    poison(&value, call.value_bytes);
    return value;
}

/* Who waits where, grouped: "200 of 256 wait at …, 56 have exited". */
std::string block_runner::describe_waiting() const
{
    std::vector<std::pair<std::string, std::vector<const thread_state *>>> groups;
    std::string text;

    for (std::size_t i = 0; i < thread_count_; i++) {
        const thread_state &thread = *pool_[i];
        std::string where =
            thread.state == status::exited       ? "exited"
            : thread.state == status::at_barrier ? "at __syncthreads at " + place(thread.barrier)
            : thread.state == status::at_phase   ? "at a phase of a barrier at " + place(thread.barrier)
            : thread.state == status::at_warp    ? "at " + describe(thread.call)
                                                 : "running";
        auto group =
            std::find_if(groups.begin(), groups.end(), [&](auto &known) { return known.first == where; });
        if (group == groups.end())
            group = groups.insert(groups.end(), {where, {}});
        group->second.push_back(&thread);
    }
    for (const auto &[where, threads] : groups)
        text += (text.empty() ? "" : ", ") + std::to_string(threads.size()) + " of " +
                std::to_string(thread_count_) + " threads " + where + " (first " +
                place(threads.front()->index) + ")";
    return text;
}

} // namespace

/* ---------------------------------------------------------------- what kernels call */

void meet_block(site where)
{
    this_runner().meet_block(where);
}

std::uint64_t meet_warp(const warp_call &call)
{
    return this_runner().meet_warp(call);
}

void *shared_memory()
{
    return this_runner().shared_memory();
}

int code()
{
    return this_runner().code();
}

void trap(site where)
{
    this_runner().trap(where);
}

void copy_async(void *shared, const void *global, std::size_t bytes)
{
    this_runner().copy_async(shared, global, bytes);
}

void commit_copies()
{
    this_runner().copies().groups_closed++;
}

void await_copies(std::size_t pending)
{
    this_runner().copies().perform_all_but(pending);
}

void create_barrier(void *barrier, unsigned arrivals)
{
    this_runner().create_barrier(barrier, arrivals);
}

void arrive_at_barrier(void *barrier)
{
    this_runner().arrive_at_barrier(barrier);
}

void await_barrier(void *barrier, unsigned parity, site where)
{
    this_runner().await_barrier(barrier, parity, where);
}

void fetch_box(void *shared, const box_map &map, const int (&origin)[4], void *barrier, unsigned bytes)
{
    this_runner().fetch_box(shared, map, origin, barrier, bytes);
}

std::string run_blocks(const launch_shape &shape, const schedule &schedule,
                       const std::function<void()> &thread)
{
    return this_runner().run(shape, schedule, thread);
}

} // namespace emulation
