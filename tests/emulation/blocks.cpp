/* Runs the blocks of a launch, their threads as fibers: one block after another, or all of them by turns.
 *
 * A thread runs until it must wait for others; then it switches to the next one, directly: threads that wait
 * at one place return along the same calls, as the processor predicts. Who arrives last goes on at once, far
 * ahead of the others: that is what brings a missing barrier to light. Of blocks that run together, one runs
 * until all of its threads wait, for each other or for signals; then the next one does. */
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
constexpr unsigned nobody = ~0u;

/* What a barrier that was created holds in shared memory. */
constexpr std::uint64_t barrier_mark = 0x6261727269657221;

enum class status : unsigned char { ready, at_barrier, at_phase, at_warp, at_signal, exited };

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
    std::vector<unsigned> waiting; /* numbers of threads */
};

struct warp_state {
    unsigned waiting, exited; /* lanes, a bit each */
    warp_call calls[warp_lanes];
    std::uint64_t results[warp_lanes];
};

/* What a thread waits for of another block. */
struct awaited_signal {
    const unsigned *signal;
    unsigned number;

    bool is_raised() const
    {
        return *signal >= number;
    }
};

/* A thread of the block; its fiber serves one block after another. */
struct thread_state {
    unsigned number = 0;
    uint3 index = {};
    std::unique_ptr<fiber> context;
    site barrier = {};
    std::map<const void *, std::uint64_t> awaited; /* phases of each barrier */
    awaited_signal signal = {};
    copy_queue copies;
};

/* Runs one block after another, or one of several that take turns. */
class block_runner
{
  public:
    void prepare(const launch_shape &shape, const schedule &schedule, const std::function<void()> &thread);
    void start_block(std::size_t number);

    /* Let threads run until all wait or have exited, and tell whether any could. */
    bool proceed();
    void end_block();
    void release();
    std::string complaint() const;
    std::vector<std::uint32_t> arranged(std::size_t count);

    bool meet_block(site where, bool vote = false);
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
    void raise_signal(unsigned *signal, unsigned number);
    void await_signal(const unsigned *signal, unsigned number, site where);

  private:
    static void serve(void *thread);

    void prepare_threads();
    void wake_signalled();
    void check_signal(const unsigned *signal);
    void run_body();
    void abandon_threads();
    unsigned next_ready();
    void run(unsigned number, fiber &from);
    void leave(thread_state &thread);
    void wait(thread_state &thread, status reason);
    void arrange(std::vector<std::uint32_t> &sequence);

    warp_state &warp(const thread_state &of);
    unsigned lanes_that_exist(const thread_state &of) const;
    void finish_warp_call(const thread_state &thread, unsigned mask);
    void check_warp_call(const thread_state &thread, const warp_call &call);
    void finish_barrier();

    phase_barrier &find_barrier(void *barrier);
    bool has_ended(phase_barrier &barrier, std::uint64_t phase);

    [[noreturn]] void give_up(const std::string &reason);
    std::string describe_waiting() const;

    const launch_shape *shape_ = nullptr;
    const std::function<void()> *thread_body_ = nullptr;
    enum emulation_order order_ = EMULATION_FORWARD;
    std::mt19937_64 random_;
    fiber host_;
    std::vector<thread_state> pool_; /* threads that wait or exit are taken on by number: it may grow */
    std::vector<status> states_;     /* of the threads */
    std::size_t thread_count_ = 0;
    std::size_t at_barrier_ = 0, exited_ = 0;
    bool voted_ = false, outcome_ = false; /* at this barrier, and at the one before */
    site first_at_barrier_ = {};
    bool barriers_differ_ = false; /* those at which others wait, from the first one's */
    std::vector<std::uint32_t> thread_sequence_;
    std::size_t turn_ = 0; /* in the sequence */
    bool round_progresses_ = false;
    std::vector<warp_state> warps_;
    std::map<const void *, phase_barrier> barriers_;
    std::unique_ptr<guarded_memory> shared_;
    thread_state *running_ = nullptr;
    uint3 block_ = {};
    std::string complaint_;
};

/* The one whose threads run. */
thread_local block_runner *running_block;

block_runner &this_runner()
{
    return *running_block;
}

/* Fibers stay with the host thread that made them. */
const std::vector<std::unique_ptr<block_runner>> &runners(std::size_t count)
{
    static thread_local std::vector<std::unique_ptr<block_runner>> all;

    while (all.size() < count)
        all.push_back(std::make_unique<block_runner>());
    return all;
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
    for (unsigned waiting : at.waiting)
        states_[waiting] = status::ready;
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
        thread.barrier = where;
        at.waiting.push_back(thread.number);
        wait(thread, status::at_phase);
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
    if (origin[0] * static_cast<long long>(map.sample_bytes) % 16 != 0)
        give_up("a box begins at a column that is not aligned to 16 bytes");
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

/* ---------------------------------------------------------------- signals */

void block_runner::check_signal(const unsigned *signal)
{
    if (!shape_->together)
        give_up("a signal in a launch whose blocks need not run at once");
    if (reinterpret_cast<std::uintptr_t>(signal) % sizeof *signal != 0 ||
        !shape_->is_allocated(signal, sizeof *signal))
        give_up("a signal that is not aligned, or outside of any allocation");
}

void block_runner::raise_signal(unsigned *signal, unsigned number)
{
    check_signal(signal);
    if (number != *signal + 1)
        give_up("a signal rises from " + std::to_string(*signal) + " to " + std::to_string(number));
    *signal = number;
}

void block_runner::await_signal(const unsigned *signal, unsigned number, site where)
{
    thread_state &thread = *running_;

    check_signal(signal);
    thread.barrier = where;
    thread.signal = {signal, number};
    if (!thread.signal.is_raised())
        wait(thread, status::at_signal);
}

/* ---------------------------------------------------------------- blocks */

void block_runner::prepare(const launch_shape &shape, const schedule &schedule,
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
}

void block_runner::release()
{
    shared_.reset();
}

std::string block_runner::complaint() const
{
    return complaint_.empty() ? ""
                              : "kernel " + shape_->kernel + ", block " + place(block_) + ": " + complaint_;
}

void block_runner::prepare_threads()
{
    thread_count_ = volume(shape_->block);
    while (pool_.size() < thread_count_) {
        pool_.emplace_back();
        pool_.back().number = static_cast<unsigned>(pool_.size() - 1);
        pool_.back().context = std::make_unique<fiber>(serve, this);
    }
    for (std::size_t i = 0; i < thread_count_; i++)
        pool_[i].index = unravelled(i, shape_->block);
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
void block_runner::serve(void *runner)
{
    block_runner &self = *static_cast<block_runner *>(runner);

    for (;;) {
        self.run_body();
        thread_state &thread = *self.running_;
        self.states_[thread.number] = status::exited;
        self.exited_++;
        self.warp(thread).exited |= 1u << thread.number % warp_lanes;
        self.leave(thread);
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
    for (unsigned i = 0; i < thread_count_; i++) {
        if (states_[i] != status::exited)
            run(i, host_);
    }
}

void block_runner::start_block(std::size_t number)
{
    block_ = unravelled(number, shape_->grid);
    poison(shared_->begin(), shared_->bytes());
    at_barrier_ = exited_ = 0;
    barriers_differ_ = false;
    warps_.resize((thread_count_ + warp_lanes - 1) / warp_lanes);
    for (warp_state &warp : warps_)
        warp.waiting = warp.exited = 0;
    states_.assign(thread_count_, status::ready);
    for (std::size_t i = 0; i < thread_count_; i++) {
        pool_[i].copies.clear();
        pool_[i].awaited.clear();
    }
    barriers_.clear();
    turn_ = 0;
    round_progresses_ = false;
    arrange(thread_sequence_);
}

/* Threads whose signals other blocks have raised can run in a new round. */
void block_runner::wake_signalled()
{
    bool any = false;

    for (unsigned i = 0; i < thread_count_; i++) {
        if (states_[i] == status::at_signal && pool_[i].signal.is_raised()) {
            states_[i] = status::ready;
            any = true;
        }
    }
    if (!any)
        return;
    turn_ = 0;
    arrange(thread_sequence_);
}

bool block_runner::proceed()
{
    if (!complaint_.empty())
        return false;
    running_block = this;
    blockIdx = block_;
    wake_signalled();
    const unsigned next = next_ready();
    if (next == nobody)
        return false;
    run(next, host_);
    return true;
}

/* When none of its threads can run any more. */
void block_runner::end_block()
{
    running_block = this;
    if (complaint_.empty() && exited_ < thread_count_)
        complaint_ = "threads wait for others that never come: " + describe_waiting();
    if (complaint_.empty() && shared_->is_damaged())
        complaint_ = "wrote outside of its " + std::to_string(shared_->bytes()) + " bytes of shared memory";
    if (!complaint_.empty())
        abandon_threads();
}

/* The next thread of the round that can run, or of the round after it; nobody where a whole round has none.
 */
unsigned block_runner::next_ready()
{
    for (;;) {
        while (turn_ < thread_count_) {
            unsigned number = thread_sequence_[turn_++];
            if (states_[number] == status::ready) {
                round_progresses_ = true;
                if (turn_ < thread_count_)
                    pool_[thread_sequence_[turn_]].context->prefetch();
                return number;
            }
        }
        if (!round_progresses_)
            return nobody;
        round_progresses_ = false;
        turn_ = 0;
        arrange(thread_sequence_);
    }
}

void block_runner::run(unsigned number, fiber &from)
{
    running_ = &pool_[number];
    threadIdx = running_->index;
    from.switch_to(*running_->context);
}

/* Let others run, until somebody comes back to this thread: when it is ready, or the launch has failed. */
void block_runner::leave(thread_state &thread)
{
    unsigned next = complaint_.empty() ? next_ready() : nobody;

    if (next == nobody)
        thread.context->switch_to(host_);
    else
        run(next, *thread.context);
}

void block_runner::wait(thread_state &thread, status reason)
{
    states_[thread.number] = reason;
    leave(thread);
    if (!complaint_.empty())
        throw abandonment();
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

/* Returns whether any thread has voted. */
bool block_runner::meet_block(site where, bool vote)
{
    thread_state &thread = *running_;

    thread.barrier = where;
    voted_ = voted_ || vote;
    if (at_barrier_ == 0)
        first_at_barrier_ = where;
    else if (!same_site(where, first_at_barrier_))
        barriers_differ_ = true;
    states_[thread.number] = status::at_barrier;
    if (++at_barrier_ == thread_count_)
        finish_barrier();
    else
        wait(thread, status::at_barrier);
    return outcome_;
}

void block_runner::finish_barrier()
{
    if (barriers_differ_)
        give_up("threads of one block meet at different barriers: " + describe_waiting());
    std::fill(states_.begin(), states_.end(), status::ready);
    at_barrier_ = 0;
    outcome_ = voted_;
    voted_ = false;
}

warp_state &block_runner::warp(const thread_state &of)
{
    return warps_[of.number / warp_lanes];
}

/* The last warp of a block may have fewer lanes; a mask may name the missing ones. */
unsigned block_runner::lanes_that_exist(const thread_state &of) const
{
    std::size_t lanes = thread_count_ - of.number / warp_lanes * warp_lanes;

    return lanes >= warp_lanes ? 0xffffffff : (1u << lanes) - 1;
}

bool has_lane(unsigned mask, unsigned lane)
{
    return (mask >> lane & 1) != 0;
}

/* Whether all lanes of a mask wait in the call of one of them. */
bool has_warp_met(const warp_state &warp, const warp_call &call, unsigned mask)
{
    if ((mask & ~warp.waiting) != 0)
        return false;
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        if (has_lane(mask, lane) && !same_call(warp.calls[lane], call))
            return false;
    }
    return true;
}

std::uint64_t block_runner::meet_warp(const warp_call &call)
{
    thread_state &thread = *running_;
    const unsigned lane = thread.number % warp_lanes, mask = call.mask & lanes_that_exist(thread);
    warp_state &met = warp(thread);

    check_warp_call(thread, call);
    met.calls[lane] = call;
    met.waiting |= 1u << lane;
    if (has_warp_met(met, call, mask))
        finish_warp_call(thread, mask);
    else
        wait(thread, status::at_warp);
    return met.results[lane];
}

void block_runner::check_warp_call(const thread_state &thread, const warp_call &call)
{
    unsigned gone = call.mask & warp(thread).exited;

    if (!has_lane(call.mask, thread.number % warp_lanes))
        give_up(describe(call) + ": the mask lacks the calling lane");
    if (is_shuffle(call.kind) && (call.width < 1 || call.width > 32 || (call.width & (call.width - 1)) != 0))
        give_up(describe(call) + ": width " + std::to_string(call.width) + " is no power of two up to 32");
    if (gone != 0)
        give_up(describe(call) + ": lane " + std::to_string(__builtin_ctz(gone)) + " has exited");
}

/* As PTX defines shfl.sync. What comes from a lane outside the mask is undefined: poison. */
std::uint64_t shuffled_value(const warp_state &warp, unsigned lane, unsigned mask)
{
    const warp_call &call = warp.calls[lane];
    int own = static_cast<int>(lane);
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
    if (has_lane(mask, static_cast<unsigned>(source)))
        return warp.calls[source].bits;
    poison(&value, call.value_bytes);
    return value;
}

/* What every lane of a vote is told. */
std::uint64_t vote_of(const warp_state &warp, meeting kind, unsigned mask)
{
    unsigned votes = 0;

    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        if (has_lane(mask, lane) && warp.calls[lane].bits != 0)
            votes |= 1u << lane;
    }
    switch (kind) {
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

void block_runner::finish_warp_call(const thread_state &thread, unsigned mask)
{
    warp_state &met = warp(thread);
    const unsigned first = thread.number / warp_lanes * warp_lanes;
    const meeting kind = met.calls[thread.number % warp_lanes].kind;
    const std::uint64_t vote = is_shuffle(kind) ? 0 : vote_of(met, kind, mask);

    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        if (!has_lane(mask, lane))
            continue;
        met.results[lane] = is_shuffle(kind) ? shuffled_value(met, lane, mask) : vote;
        states_[first + lane] = status::ready;
    }
    met.waiting &= ~mask;
}

/* Who waits where, grouped: "200 of 256 wait at …, 56 have exited". */
std::string block_runner::describe_waiting() const
{
    std::vector<std::pair<std::string, std::vector<const thread_state *>>> groups;
    std::string text;

    for (std::size_t i = 0; i < thread_count_; i++) {
        const thread_state &thread = pool_[i];
        const warp_call &call = warps_[i / warp_lanes].calls[i % warp_lanes];
        std::string where =
            states_[i] == status::exited       ? "exited"
            : states_[i] == status::at_barrier ? "at __syncthreads at " + place(thread.barrier)
            : states_[i] == status::at_phase   ? "at a phase of a barrier at " + place(thread.barrier)
            : states_[i] == status::at_signal  ? "at a signal at " + place(thread.barrier)
            : states_[i] == status::at_warp    ? "at " + describe(call)
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

bool meet_block(site where, bool vote)
{
    return this_runner().meet_block(where, vote);
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

void raise_signal(unsigned *signal, unsigned number)
{
    this_runner().raise_signal(signal, number);
}

void await_signal(const unsigned *signal, unsigned number, site where)
{
    this_runner().await_signal(signal, number, where);
}

/* One block after another, by one runner. */
static std::string run_in_turn(block_runner &runner, std::size_t count)
{
    for (std::uint32_t number : runner.arranged(count)) {
        runner.start_block(number);
        runner.proceed();
        runner.end_block();
        if (!runner.complaint().empty())
            break;
    }
    return runner.complaint();
}

static std::string first_complaint(const std::vector<std::unique_ptr<block_runner>> &all, std::size_t count)
{
    for (std::size_t i = 0; i < count; i++) {
        if (!all[i]->complaint().empty())
            return all[i]->complaint();
    }
    return "";
}

/* All blocks, each by a runner of its own, until none can go on. */
static std::string run_together(const std::vector<std::unique_ptr<block_runner>> &all, std::size_t count)
{
    const std::vector<std::uint32_t> sequence = all[0]->arranged(count);
    std::string complaint;
    bool progress = true;

    for (std::uint32_t number : sequence)
        all[number]->start_block(number);
    while (progress) {
        progress = false;
        for (std::uint32_t number : sequence)
            progress = all[number]->proceed() || progress;
    }
    complaint = first_complaint(all, count);
    for (std::uint32_t number : sequence)
        all[number]->end_block();
    return complaint.empty() ? first_complaint(all, count) : complaint;
}

std::string run_blocks(const launch_shape &shape, const schedule &schedule,
                       const std::function<void()> &thread)
{
    const std::size_t count = volume(shape.grid), needed = shape.together ? count : 1;
    const auto &all = runners(needed);
    std::string complaint;

    for (std::size_t i = 0; i < needed; i++)
        all[i]->prepare(shape, schedule, thread);
    complaint = shape.together ? run_together(all, count) : run_in_turn(*all[0], count);
    for (std::size_t i = 0; i < needed; i++)
        all[i]->release();
    return complaint;
}

} // namespace emulation
