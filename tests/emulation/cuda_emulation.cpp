/* The CUDA runtime on host memory: allocations, streams, events, launches, and faults on demand. */
#include "asan.h"
#include "blocks.h"
#include "cuda_emulation.h"
#include "emulation.h"
#include "gpus.h"
#include "poison.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <unistd.h>

using clock_type = std::chrono::steady_clock;
using work_type = std::function<void()>;

struct cudaStream_st {
    int gpu;
    bool blocking; /* in turns with the default stream */
    int code;      /* what its kernels are said to be compiled for, as 90 */
    int multiprocessors;
    pid_t owner;
    std::deque<work_type> work; /* of a lazy stream */
};

namespace emulation
{

namespace
{

/* One recording of an event. It outlives the event for the streams that wait for it. */
struct mark {
    cudaStream_t stream;
    bool reached;
    clock_type::time_point time;
};

} // namespace

} // namespace emulation

struct cudaEvent_st {
    int gpu;
    bool timed;
    pid_t owner;
    std::shared_ptr<emulation::mark> last;
};

namespace emulation
{

namespace
{

constexpr int version = 12000; /* of the runtime */

/* Limits of today's devices, so that every rung applies, but few multiprocessors and little memory. */
constexpr struct emulation_device default_device = {
    1,       /* count */
    version, /* of the driver */
    9,
    0, /* compute capability */
    2, /* multiprocessors */
    1024,
    2048,
    32, /* threads a block, threads and blocks a multiprocessor */
    48 << 10,
    227 << 10,
    228 << 10, /* shared memory: a block, with the opt-in, a multiprocessor */
    65536,
    32,                     /* registers: a block, a thread */
    std::size_t(1) << 20,   /* L2 */
    std::size_t(256) << 20, /* memory */
    false,                  /* not apart */
    false,                  /* not mixed */
    0,                      /* not filled */
    false,                  /* not unlockable */
};

/* What a multiprocessor of other compute capabilities has instead, as CUDA's guide tells it. */
constexpr struct {
    int major, minor;
    int threads, blocks;
    std::size_t block_shared, shared; /* a block with the opt-in, a multiprocessor */
} other_capabilities[] = {
    {7, 5, 1024, 16, 64 << 10, 64 << 10},    {8, 0, 2048, 32, 163 << 10, 164 << 10},
    {8, 6, 1536, 16, 99 << 10, 100 << 10},   {8, 9, 1536, 24, 99 << 10, 100 << 10},
    {10, 0, 2048, 32, 227 << 10, 228 << 10}, {12, 0, 1536, 24, 99 << 10, 100 << 10},
};

void take_capability(struct emulation_device *device, unsigned long long code)
{
    for (const auto &other : other_capabilities) {
        if (static_cast<unsigned long long>(10 * other.major + other.minor) != code)
            continue;
        device->major = other.major;
        device->minor = other.minor;
        device->threads_per_multiprocessor = other.threads;
        device->blocks_per_multiprocessor = other.blocks;
        device->shared_per_block_opt_in = other.block_shared;
        device->shared_per_multiprocessor = other.shared;
    }
}

/* What CUDA itself keeps of a block's shared memory. */
constexpr std::size_t reserved_shared_bytes = 1024;

constexpr int most_block_z = 64;
constexpr unsigned most_grid_x = 0x7fffffff, most_grid_yz = 65535;

struct allocation {
    guarded_memory memory;
    bool on_device;
    int gpu; /* page-locked memory: that which was chosen */
    pid_t owner;
    const char *origin;
};

/* Host memory that is page-locked for a while. */
struct registration {
    const unsigned char *begin, *end;
    int gpu;
    pid_t owner;
};

struct runtime {
    std::mutex mutex;

    struct emulation_device device;
    enum emulation_order order;
    std::uint64_t seed;
    bool lazy;

    unsigned long long calls, launches, failing_call;
    cudaError_t failing_error;
    bool has_failed;
    int failed_gpu, running_gpu; /* of the call that failed, of the kernel that runs */
    std::string complaint;

    std::map<const unsigned char *, std::unique_ptr<allocation>> allocations;
    std::map<const unsigned char *, std::unique_ptr<registration>> registrations;
    std::map<cudaStream_t, std::unique_ptr<cudaStream_st>> streams;
    std::map<cudaEvent_t, std::unique_ptr<cudaEvent_st>> events;
    class gpus gpus;

    runtime();
    ~runtime();
    void reset();
    void reset_gpu(int gpu);
};

/* Lives as long as the process: its destructor is the check for leaks. */
runtime &the()
{
    static runtime instance;

    return instance;
}

/* ---------------------------------------------------------------- environment, start, end */

unsigned long long environment_number(const char *name, unsigned long long otherwise)
{
    const char *text = std::getenv(name);

    return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 0) : otherwise;
}

bool environment_says(const char *name, const char *word)
{
    const char *text = std::getenv(name);

    return text != nullptr && std::strcmp(text, word) == 0;
}

void runtime::reset()
{
    allocations.clear();
    registrations.clear();
    streams.clear();
    events.clear();
    gpus.reset();
    last_error() = cudaSuccess;
    device = default_device;
    take_capability(&device, environment_number("CUDA_EMULATION_CAPABILITY", 90));
    device.count = static_cast<int>(
        environment_number("CUDA_EMULATION_DEVICES", static_cast<unsigned long long>(device.count)));
    device.memory_bytes = environment_number("CUDA_EMULATION_MEMORY", device.memory_bytes);
    device.apart = environment_says("CUDA_EMULATION_LINKS", "none");
    device.mixed = environment_says("CUDA_EMULATION_KINDS", "mixed");
    device.filled_bytes = environment_number("CUDA_EMULATION_FILLED", 0);
    seed = environment_number("CUDA_EMULATION_ORDER", 0);
    order = environment_says("CUDA_EMULATION_ORDER", "reversed") ? EMULATION_REVERSED
            : seed != 0                                          ? EMULATION_SHUFFLED
                                                                 : EMULATION_FORWARD;
    lazy = environment_says("CUDA_EMULATION_STREAMS", "lazy");
    calls = launches = failing_call = 0;
    failing_error = cudaSuccess;
    has_failed = false;
    failed_gpu = running_gpu = 0;
    complaint.clear();
    choose_gpu(0);
}

template <typename Map> void erase_all_of(Map *owned, int gpu)
{
    for (auto i = owned->begin(); i != owned->end();)
        i = i->second->gpu == gpu ? owned->erase(i) : std::next(i);
}

void runtime::reset_gpu(int gpu)
{
    erase_all_of(&allocations, gpu);
    erase_all_of(&registrations, gpu);
    erase_all_of(&streams, gpu);
    erase_all_of(&events, gpu);
    gpus.of(gpu) = {};
    last_error() = cudaSuccess;
}

/* A forked child inherits what its parent allocated, and is not to blame for it. */
template <typename Owned> bool is_ours(const Owned &owned)
{
    return owned.second->owner == getpid();
}

std::size_t count_leaks(const runtime &state)
{
    auto ours = [](const auto &owned) { return is_ours(owned); };

    return static_cast<std::size_t>(
        std::count_if(state.allocations.begin(), state.allocations.end(), ours) +
        std::count_if(state.registrations.begin(), state.registrations.end(), ours) +
        std::count_if(state.streams.begin(), state.streams.end(), ours) +
        std::count_if(state.events.begin(), state.events.end(), ours));
}

runtime::runtime()
{
    reset();
}

runtime::~runtime()
{
    if (count_leaks(*this) == 0)
        return;
    for (const auto &owned : allocations) {
        if (is_ours(owned))
            std::fprintf(stderr, "cuda_emulation: %zu bytes from %s are never freed\n",
                         owned.second->memory.bytes(), owned.second->origin);
    }
    std::fprintf(stderr, "cuda_emulation: %zu allocations, streams and events left at exit\n",
                 count_leaks(*this));
    std::fflush(nullptr);
    _exit(EMULATION_LEAK_STATUS);
}

/* ---------------------------------------------------------------- errors */

/* After these a GPU does nothing more until it is reset. */
bool lasts(cudaError_t error)
{
    return error == cudaErrorIllegalAddress || error == cudaErrorLaunchTimeout ||
           error == cudaErrorMisalignedAddress || error == cudaErrorLaunchFailure ||
           error == cudaErrorECCUncorrectable;
}

cudaError_t &lasting_error_of(int gpu)
{
    return the().gpus.of(gpu).lasting_error;
}

cudaError_t remember(int gpu, cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last_error() = error;
    if (lasts(error))
        lasting_error_of(gpu) = error;
    return error;
}

/* A stream stays on the GPU that it was created on; the default stream is that of the chosen one. */
int gpu_of(cudaStream_t stream)
{
    auto owned = the().streams.find(stream);

    return owned == the().streams.end() ? current_gpu() : owned->second->gpu;
}

int gpu_of(int gpu)
{
    return gpu;
}

int gpu_of(cudaEvent_t event)
{
    auto owned = the().events.find(event);

    return owned == the().events.end() ? current_gpu() : owned->second->gpu;
}

/* Count a call; why it cannot be served. */
cudaError_t refusal(int gpu)
{
    runtime &state = the();

    if (++state.calls == state.failing_call) {
        state.has_failed = true;
        state.failed_gpu = gpu;
        return state.failing_error;
    }
    return lasting_error_of(gpu);
}

template <typename Body> cudaError_t answer(int gpu, Body body)
{
    cudaError_t error = refusal(gpu);

    return remember(gpu, error != cudaSuccess ? error : body());
}

/* What is asked of the chosen GPU, or else of that of a stream or an event. */
template <typename Body> cudaError_t serve(Body body)
{
    std::lock_guard<std::mutex> lock(the().mutex);

    return answer(current_gpu(), body);
}

template <typename Owned, typename Body> cudaError_t serve_for(Owned owned, Body body)
{
    std::lock_guard<std::mutex> lock(the().mutex);

    return answer(gpu_of(owned), body);
}

/* What gives back does so even where it fails: the caller has no second chance. */
template <typename Body> cudaError_t serve_release(Body body)
{
    std::lock_guard<std::mutex> lock(the().mutex);
    cudaError_t error = refusal(current_gpu()), release_error = body();

    return remember(current_gpu(), error != cudaSuccess ? error : release_error);
}

/* Why there is no device for anyone; cudaSuccess where there is one. */
cudaError_t absence()
{
    const struct emulation_device &device = the().device;

    if (device.driver < version)
        return cudaErrorInsufficientDriver;
    return device.count == 0 ? cudaErrorNoDevice : cudaSuccess;
}

struct error_text {
    cudaError_t error;
    const char *name, *text;
};

constexpr error_text error_texts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const error_text *find_text(cudaError_t error)
{
    for (const error_text &candidate : error_texts) {
        if (candidate.error == error)
            return &candidate;
    }
    return nullptr;
}

cudaError_t take_last_error()
{
    cudaError_t lasting_error = lasting_error_of(current_gpu());
    cudaError_t error = lasting_error != cudaSuccess ? lasting_error : last_error();

    last_error() = cudaSuccess;
    return error;
}

void complain(const std::string &complaint)
{
    std::fprintf(stderr, "cuda_emulation: %s\n", complaint.c_str());
    the().complaint = complaint;
}

/* ---------------------------------------------------------------- streams */

void perform_next(cudaStream_t stream)
{
    work_type work = std::move(stream->work.front());

    stream->work.pop_front();
    if (lasting_error_of(stream->gpu) == cudaSuccess)
        work();
}

void drain(cudaStream_t stream)
{
    while (!stream->work.empty())
        perform_next(stream);
}

/* Those of the chosen GPU. */
void drain_blocking_streams()
{
    for (auto &[stream, owned] : the().streams) {
        if (stream->blocking && stream->gpu == current_gpu())
            drain(stream);
    }
}

void drain_streams_of(int gpu)
{
    for (auto &[stream, owned] : the().streams) {
        if (stream->gpu == gpu)
            drain(stream);
    }
}

void drain_all_streams()
{
    for (auto &[stream, owned] : the().streams)
        drain(stream);
}

bool is_stream(cudaStream_t stream)
{
    return stream == nullptr || the().streams.count(stream) != 0;
}

bool is_event(cudaEvent_t event)
{
    return the().events.count(event) != 0;
}

/* Whether nothing orders what the default stream does and what another one does. */
bool has_free_streams()
{
    for (auto &[stream, owned] : the().streams) {
        if (!stream->blocking && stream->gpu == current_gpu())
            return true;
    }
    return false;
}

/* The default stream is never behind. On a device it may be, by itself, where a copy from pageable memory
   returns: beside streams that do not wait for it, it is refused. */
cudaError_t submit(cudaStream_t stream, work_type work)
{
    if (!is_stream(stream))
        return cudaErrorInvalidResourceHandle;
    if (stream == nullptr && has_free_streams())
        return cudaErrorNotSupported;
    if (stream != nullptr && the().lazy) {
        stream->work.push_back(std::move(work));
        return cudaSuccess;
    }
    if (stream == nullptr)
        drain_blocking_streams();
    const int gpu = gpu_of(stream);
    if (lasting_error_of(gpu) == cudaSuccess)
        work();
    return lasting_error_of(gpu);
}

void reach(const std::shared_ptr<mark> &mark)
{
    while (!mark->reached && is_stream(mark->stream) && !mark->stream->work.empty())
        perform_next(mark->stream);
}

/* ---------------------------------------------------------------- memory */

/* The allocation that holds an address, or NULL. */
allocation *find_allocation(const void *memory)
{
    auto &allocations = the().allocations;
    auto after = allocations.upper_bound(static_cast<const unsigned char *>(memory));

    if (after == allocations.begin())
        return nullptr;
    allocation *candidate = std::prev(after)->second.get();
    return candidate->memory.contains(memory, 0) ? candidate : nullptr;
}

/* Whether work on a GPU may use the memory. */
bool is_reachable(int gpu, const allocation &owner)
{
    return !owner.on_device || the().gpus.reaches(gpu, owner.gpu);
}

/* For the kernel that runs. */
bool is_allocated(const void *memory, std::size_t bytes)
{
    const allocation *owner = find_allocation(memory);

    return owner != nullptr && owner->memory.contains(memory, bytes) &&
           is_reachable(the().running_gpu, *owner);
}

/* The host may not touch the device's memory; kernels and copies open it for themselves. */
void close(const allocation &owned)
{
    if (owned.on_device)
        forbid(owned.memory.begin(), owned.memory.bytes());
}

void open(const allocation &owned)
{
    allow(owned.memory.begin(), owned.memory.bytes());
}

void close_all()
{
    for (const auto &owned : the().allocations)
        close(*owned.second);
}

void open_all_for(int gpu)
{
    for (const auto &owned : the().allocations) {
        if (is_reachable(gpu, *owned.second))
            open(*owned.second);
    }
}

/* Of the chosen one's memory. */
std::size_t free_bytes()
{
    const struct emulation_device &device = the().device;
    const std::size_t taken = current_gpu() == device.count - 1 ? device.filled_bytes : 0;

    return device.memory_bytes - std::min(device.memory_bytes, the().gpus.of(current_gpu()).bytes + taken);
}

cudaError_t allocate(void **memory, std::size_t bytes, bool on_device)
{
    runtime &state = the();

    if (memory == nullptr)
        return cudaErrorInvalidValue;
    *memory = nullptr;
    if (absence() != cudaSuccess)
        return absence();
    if (bytes == 0)
        return cudaSuccess;
    if (on_device && bytes > free_bytes())
        return cudaErrorMemoryAllocation;
    try {
        std::unique_ptr<allocation> owned(new allocation{guarded_memory(bytes), on_device, current_gpu(),
                                                         getpid(),
                                                         on_device ? "cudaMalloc" : "cudaMallocHost"});
        unsigned char *begin = owned->memory.begin();
        close(*owned);
        state.allocations[begin] = std::move(owned);
        *memory = begin;
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
    state.gpus.of(current_gpu()).bytes += on_device ? bytes : 0;
    return cudaSuccess;
}

cudaError_t deallocate(void *memory, bool on_device)
{
    runtime &state = the();

    if (memory == nullptr)
        return cudaSuccess;
    drain_all_streams();
    auto owned = state.allocations.find(static_cast<unsigned char *>(memory));
    if (owned == state.allocations.end() || owned->second->on_device != on_device)
        return cudaErrorInvalidValue;
    bool damaged = owned->second->memory.is_damaged();
    state.gpus.of(owned->second->gpu).bytes -= on_device ? owned->second->memory.bytes() : 0;
    state.allocations.erase(owned);
    if (damaged)
        complain("memory that is freed was written outside of its bounds");
    return damaged ? cudaErrorIllegalAddress : cudaSuccess;
}

/* The registration that shares bytes with a range, or NULL. */
const registration *find_registration(const unsigned char *begin, std::size_t bytes)
{
    for (const auto &owned : the().registrations) {
        if (begin < owned.second->end && owned.second->begin < begin + bytes)
            return owned.second.get();
    }
    return nullptr;
}

cudaError_t register_host(void *memory, std::size_t bytes)
{
    auto *begin = static_cast<unsigned char *>(memory);

    if (memory == nullptr || bytes == 0)
        return cudaErrorInvalidValue;
    if (absence() != cudaSuccess)
        return absence();
    if (the().device.unlockable && current_gpu() == the().device.count - 1)
        return cudaErrorNotSupported;
    if (find_allocation(memory) != nullptr || find_registration(begin, bytes) != nullptr)
        return cudaErrorHostMemoryAlreadyRegistered;
    the().registrations[begin] =
        std::unique_ptr<registration>(new registration{begin, begin + bytes, current_gpu(), getpid()});
    return cudaSuccess;
}

cudaError_t unregister_host(void *memory)
{
    drain_all_streams();
    return the().registrations.erase(static_cast<unsigned char *>(memory)) == 1
               ? cudaSuccess
               : cudaErrorHostMemoryNotRegistered;
}

/* Rows of bytes, as a 2D copy has on each side. */
struct rows {
    unsigned char *begin;
    std::size_t pitch, width, height;

    std::size_t bytes() const
    {
        return height == 0 || width == 0 ? 0 : (height - 1) * pitch + width;
    }
};

enum class side { host, device, any };

side to_side(cudaMemcpyKind kind)
{
    return kind == cudaMemcpyDefault                                            ? side::any
           : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ? side::device
                                                                                : side::host;
}

side from_side(cudaMemcpyKind kind)
{
    return kind == cudaMemcpyDefault                                            ? side::any
           : kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ? side::device
                                                                                : side::host;
}

/* Whether the rows lie where the copy's direction says, as a whole. */
bool is_within(const rows &area, side where)
{
    const allocation *owner = find_allocation(area.begin);

    if (area.bytes() == 0)
        return true;
    if (owner == nullptr)
        return where != side::device;
    if (where != side::any && owner->on_device != (where == side::device))
        return false;
    return owner->memory.contains(area.begin, area.bytes());
}

/* Whether work in the stream may use what the rows lie in. */
bool is_reachable_in(cudaStream_t stream, const rows &area)
{
    const allocation *owner = find_allocation(area.begin);

    return owner == nullptr || is_reachable(gpu_of(stream), *owner);
}

bool is_on(int gpu, const rows &area)
{
    const allocation *owner = find_allocation(area.begin);

    return owner != nullptr && owner->on_device && owner->gpu == gpu;
}

/* Do something to memory that may be the device's. */
template <typename Action> void with_open(std::initializer_list<const void *> places, Action action)
{
    for (const void *place : places) {
        if (const allocation *owner = find_allocation(place))
            open(*owner);
    }
    action();
    for (const void *place : places) {
        if (const allocation *owner = find_allocation(place))
            close(*owner);
    }
}

/* What a copy reads: device memory and page-locked memory when its turn comes, pageable memory when it is
 * asked for. */
class copy_source
{
  public:
    explicit copy_source(const rows &area) : area_(area)
    {
        if (area.bytes() > 0 && find_allocation(area.begin) == nullptr &&
            find_registration(area.begin, area.bytes()) == nullptr)
            staging_ =
                std::make_shared<const std::vector<unsigned char>>(area.begin, area.begin + area.bytes());
    }
    const unsigned char *row(std::size_t index) const
    {
        return (staging_ != nullptr ? staging_->data() : area_.begin) + index * area_.pitch;
    }

  private:
    rows area_;
    std::shared_ptr<const std::vector<unsigned char>> staging_;
};

cudaError_t submit_copy(const rows &to, const rows &from, cudaStream_t stream)
{
    return submit(stream, [to, from, source = copy_source(from)] {
        with_open({to.begin, from.begin}, [&] {
            for (std::size_t row = 0; row < to.height && to.width > 0; row++)
                std::memcpy(to.begin + row * to.pitch, source.row(row), to.width);
        });
    });
}

/* From the memory of one GPU to that of another, in a stream of either. They need not reach each other. */
cudaError_t copy_to_peer(const rows &to, int to_gpu, const rows &from, int from_gpu, cudaStream_t stream)
{
    const int gpu = gpu_of(stream);

    if (!is_within(to, side::device) || !is_within(from, side::device) || !is_on(to_gpu, to) ||
        !is_on(from_gpu, from))
        return cudaErrorInvalidValue;
    if (gpu != to_gpu && gpu != from_gpu)
        return cudaErrorInvalidResourceHandle;
    return submit_copy(to, from, stream);
}

cudaError_t copy_rows(const rows &to, const rows &from, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (to.width > to.pitch || from.width > from.pitch)
        return cudaErrorInvalidPitchValue;
    if (!is_within(to, to_side(kind)) || !is_within(from, from_side(kind)) || !is_reachable_in(stream, to) ||
        !is_reachable_in(stream, from))
        return cudaErrorInvalidValue;
    return submit_copy(to, from, stream);
}

rows rows_of(const void *memory, std::size_t pitch, std::size_t width, std::size_t height)
{
    return {static_cast<unsigned char *>(const_cast<void *>(memory)), pitch, width, height};
}

cudaError_t set_rows(const rows &to, int value, cudaStream_t stream)
{
    if (to.width > to.pitch || !is_within(to, side::device) || !is_reachable_in(stream, to))
        return cudaErrorInvalidValue;
    return submit(stream, [=] {
        with_open({to.begin}, [&] {
            for (std::size_t row = 0; row < to.height && to.width > 0; row++)
                std::memset(to.begin + row * to.pitch, value, to.width);
        });
    });
}

/* ---------------------------------------------------------------- launches */

std::size_t shared_limit(const void *kernel)
{
    const auto &limits = the().gpus.of(current_gpu()).shared_limits;
    auto limit = limits.find(kernel);

    return limit == limits.end() ? the().device.shared_per_block : static_cast<std::size_t>(limit->second);
}

bool is_extent(dim3 extents, unsigned most_x, unsigned most_y, unsigned most_z)
{
    return extents.x >= 1 && extents.x <= most_x && extents.y >= 1 && extents.y <= most_y && extents.z >= 1 &&
           extents.z <= most_z;
}

/* Blocks of so many threads that one multiprocessor holds at once. */
int resident_blocks(const struct emulation_device &device, int threads, std::size_t shared_bytes)
{
    int whole_warps = (threads + warpSize - 1) / warpSize * warpSize;
    int blocks = device.blocks_per_multiprocessor;

    if (threads < 1 || threads > device.threads_per_block || shared_bytes > device.shared_per_block_opt_in)
        return 0;
    blocks = std::min(blocks, device.threads_per_multiprocessor / whole_warps);
    blocks = std::min(blocks, device.registers_per_block / (whole_warps * device.registers_per_thread));
    return std::min(
        blocks, static_cast<int>(device.shared_per_multiprocessor / (shared_bytes + reserved_shared_bytes)));
}

int multiprocessors_of(cudaStream_t stream)
{
    auto owned = the().streams.find(stream);

    return owned == the().streams.end() ? the().device.multiprocessors : owned->second->multiprocessors;
}

bool fits_at_once(const launch_request &request)
{
    const unsigned threads = request.block.x * request.block.y * request.block.z;
    const int blocks = multiprocessors_of(request.stream) *
                       resident_blocks(the().device, static_cast<int>(threads), request.shared_bytes);

    return 1ull * request.grid.x * request.grid.y * request.grid.z <= static_cast<unsigned>(blocks);
}

cudaError_t check_launch(const launch_request &request)
{
    const struct emulation_device &device = the().device;
    unsigned most_threads = static_cast<unsigned>(device.threads_per_block);
    unsigned long long threads = 1ull * request.block.x * request.block.y * request.block.z;

    if (absence() != cudaSuccess)
        return absence();
    if (request.kernel == nullptr)
        return cudaErrorInvalidDeviceFunction;
    if (gpu_of(request.stream) != current_gpu())
        return cudaErrorInvalidResourceHandle;
    if (!is_extent(request.grid, most_grid_x, most_grid_yz, most_grid_yz) ||
        !is_extent(request.block, most_threads, most_threads, most_block_z) || threads > most_threads)
        return cudaErrorInvalidConfiguration;
    if (request.shared_bytes > shared_limit(request.kernel))
        return cudaErrorInvalidValue;
    if (threads * static_cast<unsigned>(device.registers_per_thread) >
        static_cast<unsigned>(device.registers_per_block))
        return cudaErrorLaunchOutOfResources;
    if (request.together && !fits_at_once(request))
        return cudaErrorCooperativeLaunchTooLarge;
    return cudaSuccess;
}

/* What the kernel did wrong in memory that no sanitizer watches. */
std::string find_damage(const std::string &kernel)
{
    for (const auto &owned : the().allocations) {
        if (owned.second->memory.is_damaged())
            return "kernel " + kernel + ": wrote outside of an allocation of " +
                   std::to_string(owned.second->memory.bytes()) + " bytes";
    }
    return "";
}

int code_of(const struct emulation_device &device)
{
    return device.major * 10 + device.minor;
}

/* A stream stays on the device that it was created on, as that was then. */
int code_of(cudaStream_t stream)
{
    auto owned = the().streams.find(stream);

    return owned == the().streams.end() ? code_of(the().device) : owned->second->code;
}

/* What a kernel must not use: memory of other GPUs. AddressSanitizer watches it without this. */
std::vector<secluded_memory> seclude_from(int gpu)
{
    std::vector<secluded_memory> secluded;

    for (const auto &owned : the().allocations) {
        if (!EMULATION_ASAN && !is_reachable(gpu, *owned.second))
            secluded.emplace_back(owned.second->memory.begin(), owned.second->memory.bytes());
    }
    return secluded;
}

std::string restore_all(std::vector<secluded_memory> *secluded, const std::string &kernel)
{
    bool whole = true;

    for (secluded_memory &memory : *secluded)
        whole = memory.restore() && whole;
    return whole ? "" : "kernel " + kernel + ": wrote into the memory of another GPU";
}

void run_launch(int gpu, const launch_shape &shape, const work_type &thread)
{
    runtime &state = the();
    std::vector<secluded_memory> secluded = seclude_from(gpu);

    open_all_for(gpu);
    state.running_gpu = gpu;
    std::string complaint = run_blocks(shape, {state.order, state.seed}, thread);
    close_all();
    std::string trespass = restore_all(&secluded, shape.kernel);
    if (complaint.empty())
        complaint = trespass;
    if (complaint.empty())
        complaint = find_damage(shape.kernel);
    if (complaint.empty()) {
        state.launches++;
        return;
    }
    complain(complaint);
    remember(gpu, cudaErrorLaunchFailure);
}

/* A template instance is named in parentheses, for its commas. */
std::string name_of(const launch_request &request)
{
    std::string name = request.name;

    if (name.size() > 2 && name.front() == '(' && name.back() == ')')
        name = name.substr(1, name.size() - 2);
    return name + " launched at " + place(request.where);
}

} // namespace

cudaError_t launch(const launch_request &request, std::function<void()> thread)
{
    std::lock_guard<std::mutex> lock(the().mutex);
    const int gpu = gpu_of(request.stream);
    cudaError_t error = refusal(gpu);

    if (error == cudaSuccess)
        error = check_launch(request);
    if (error == cudaSuccess) {
        launch_shape shape = {name_of(request),        request.grid, request.block,   request.shared_bytes,
                              code_of(request.stream), is_allocated, request.together};
        error = submit(request.stream, [gpu, shape, thread] { run_launch(gpu, shape, thread); });
    }
    remember(gpu, error);
    return take_last_error(); /* as the macro for a GPU does, with what an earlier call may have left */
}

} // namespace emulation

/* ---------------------------------------------------------------- hooks for tests */

using namespace emulation;

void emulation_set_order(enum emulation_order order, uint64_t seed)
{
    the().order = order;
    the().seed = seed;
}

void emulation_set_lazy_streams(bool lazy)
{
    std::lock_guard<std::mutex> lock(the().mutex);

    drain_all_streams();
    the().lazy = lazy;
}

struct emulation_device emulation_get_device(void)
{
    return the().device;
}

void emulation_set_device(const struct emulation_device *device)
{
    the().device = *device;
}

void emulation_fail_call(unsigned long long call, int error)
{
    runtime &state = the();

    state.failing_call = call == 0 ? 0 : state.calls + call;
    state.failing_error = static_cast<cudaError_t>(error);
    state.has_failed = false;
}

bool emulation_has_failed(void)
{
    return the().has_failed;
}

int emulation_failed_device(void)
{
    return the().failed_gpu;
}

unsigned long long emulation_calls(void)
{
    return the().calls;
}

unsigned long long emulation_launches(void)
{
    return the().launches;
}

size_t emulation_leaks(void)
{
    return count_leaks(the());
}

const char *emulation_complaint(void)
{
    return the().complaint.c_str();
}

void emulation_reset(void)
{
    std::lock_guard<std::mutex> lock(the().mutex);

    the().reset();
}

/* ---------------------------------------------------------------- errors */

cudaError_t cudaGetLastError()
{
    std::lock_guard<std::mutex> lock(the().mutex);

    return take_last_error();
}

cudaError_t cudaPeekAtLastError()
{
    std::lock_guard<std::mutex> lock(the().mutex);

    cudaError_t lasting_error = lasting_error_of(current_gpu());

    return lasting_error != cudaSuccess ? lasting_error : last_error();
}

const char *cudaGetErrorName(cudaError_t error)
{
    const error_text *text = find_text(error);

    return text != nullptr ? text->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    const error_text *text = find_text(error);

    return text != nullptr ? text->text : "unrecognized error code";
}

/* ---------------------------------------------------------------- devices */

static bool is_device(int device)
{
    return absence() == cudaSuccess && device >= 0 && device < the().device.count;
}

static cudaError_t put(int *place, int value)
{
    if (place == nullptr)
        return cudaErrorInvalidValue;
    *place = value;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version_number)
{
    return serve([=] { return put(version_number, the().device.driver); });
}

cudaError_t cudaRuntimeGetVersion(int *version_number)
{
    return serve([=] { return put(version_number, version); });
}

cudaError_t cudaGetDeviceCount(int *count)
{
    static std::once_flag started;

    std::call_once(started, [] {
        std::this_thread::sleep_for(std::chrono::milliseconds(environment_number("CUDA_EMULATION_START", 0)));
    });
    return serve([=] {
        cudaError_t error = put(count, absence() == cudaSuccess ? the().device.count : 0);
        return error == cudaSuccess ? absence() : error;
    });
}

cudaError_t cudaGetDevice(int *device)
{
    return serve([=] { return absence() != cudaSuccess ? absence() : put(device, current_gpu()); });
}

static cudaError_t missing_device()
{
    return absence() != cudaSuccess ? absence() : cudaErrorInvalidDevice;
}

/* To choose what is chosen is no call that could fail: it is made before most others. */
cudaError_t cudaSetDevice(int device)
{
    if (device == current_gpu() && is_device(device))
        return cudaSuccess;
    return serve_for(device, [=] {
        if (!is_device(device))
            return missing_device();
        choose_gpu(device);
        return cudaSuccess;
    });
}

static bool may_reach(int device, int peer)
{
    return device != peer && !the().device.apart;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    return serve([=] {
        return is_device(device) && is_device(peer) ? put(can, may_reach(device, peer)) : missing_device();
    });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    return serve([=] {
        if (flags != 0)
            return cudaErrorInvalidValue;
        if (!is_device(peer))
            return missing_device();
        if (!may_reach(current_gpu(), peer))
            return cudaErrorPeerAccessUnsupported;
        return the().gpus.of(current_gpu()).peers.insert(peer).second ? cudaSuccess
                                                                      : cudaErrorPeerAccessAlreadyEnabled;
    });
}

cudaError_t cudaSetDeviceFlags(unsigned int)
{
    return serve([] { return cudaSuccess; });
}

static void describe_device(const struct emulation_device &device, int index, cudaDeviceProp *properties)
{
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "%s",
                  device.mixed && index % 2 == 1 ? "Other emulated GPU" : "Emulated GPU");
    properties->totalGlobalMem = device.memory_bytes;
    properties->totalConstMem = 65536;
    properties->sharedMemPerBlock = device.shared_per_block;
    properties->sharedMemPerBlockOptin = device.shared_per_block_opt_in;
    properties->sharedMemPerMultiprocessor = device.shared_per_multiprocessor;
    properties->reservedSharedMemPerBlock = reserved_shared_bytes;
    properties->regsPerBlock = device.registers_per_block;
    properties->regsPerMultiprocessor = device.registers_per_block;
    properties->warpSize = warpSize;
    properties->maxThreadsPerBlock = device.threads_per_block;
    properties->maxThreadsPerMultiProcessor = device.threads_per_multiprocessor;
    properties->maxBlocksPerMultiProcessor = device.blocks_per_multiprocessor;
    properties->maxThreadsDim[0] = device.threads_per_block;
    properties->maxThreadsDim[1] = device.threads_per_block;
    properties->maxThreadsDim[2] = most_block_z;
    properties->maxGridSize[0] = static_cast<int>(most_grid_x);
    properties->maxGridSize[1] = static_cast<int>(most_grid_yz);
    properties->maxGridSize[2] = static_cast<int>(most_grid_yz);
    properties->major = device.major;
    properties->minor = device.minor;
    properties->multiProcessorCount = device.multiprocessors;
    properties->l2CacheSize = static_cast<int>(device.l2_bytes);
    properties->memoryBusWidth = 128;
    properties->asyncEngineCount = 2;
    properties->concurrentKernels = 1;
    properties->unifiedAddressing = 1;
    properties->canMapHostMemory = 1;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    return serve([=] {
        if (properties == nullptr)
            return cudaErrorInvalidValue;
        if (!is_device(device))
            return missing_device();
        describe_device(the().device, device, properties);
        return cudaSuccess;
    });
}

static cudaError_t find_attribute(int *value, cudaDeviceAttr attribute)
{
    const struct emulation_device &device = the().device;

    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
        return put(value, device.threads_per_block);
    case cudaDevAttrMaxBlockDimZ:
        return put(value, most_block_z);
    case cudaDevAttrMaxGridDimX:
        return put(value, static_cast<int>(most_grid_x));
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
        return put(value, static_cast<int>(most_grid_yz));
    case cudaDevAttrMaxSharedMemoryPerBlock:
        return put(value, static_cast<int>(device.shared_per_block));
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        return put(value, static_cast<int>(device.shared_per_block_opt_in));
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        return put(value, static_cast<int>(device.shared_per_multiprocessor));
    case cudaDevAttrReservedSharedMemoryPerBlock:
        return put(value, static_cast<int>(reserved_shared_bytes));
    case cudaDevAttrWarpSize:
        return put(value, warpSize);
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
        return put(value, device.registers_per_block);
    case cudaDevAttrMultiProcessorCount:
        return put(value, device.multiprocessors);
    case cudaDevAttrClockRate:
        return put(value, 1000000);
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
        return put(value, 2);
    case cudaDevAttrMemoryClockRate:
        return put(value, 1000000);
    case cudaDevAttrGlobalMemoryBusWidth:
        return put(value, 128);
    case cudaDevAttrL2CacheSize:
        return put(value, static_cast<int>(device.l2_bytes));
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        return put(value, device.threads_per_multiprocessor);
    case cudaDevAttrMaxBlocksPerMultiprocessor:
        return put(value, device.blocks_per_multiprocessor);
    case cudaDevAttrComputeCapabilityMajor:
        return put(value, device.major);
    case cudaDevAttrComputeCapabilityMinor:
        return put(value, device.minor);
    }
    return cudaErrorInvalidValue;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    return serve([=] { return is_device(device) ? find_attribute(value, attribute) : missing_device(); });
}

cudaError_t cudaDeviceSynchronize()
{
    return serve([] {
        drain_streams_of(current_gpu());
        return lasting_error_of(current_gpu());
    });
}

cudaError_t cudaDeviceReset()
{
    return serve_release([] {
        the().reset_gpu(current_gpu());
        return cudaSuccess;
    });
}

cudaError_t cudaMemGetInfo(std::size_t *available, std::size_t *total)
{
    return serve([=] {
        if (available == nullptr || total == nullptr)
            return cudaErrorInvalidValue;
        *total = the().device.memory_bytes;
        *available = free_bytes();
        return cudaSuccess;
    });
}

/* ---------------------------------------------------------------- memory */

cudaError_t cudaMalloc(void **memory, std::size_t bytes)
{
    return serve([=] { return allocate(memory, bytes, true); });
}

cudaError_t cudaFree(void *memory)
{
    return serve_release([=] { return deallocate(memory, true); });
}

cudaError_t cudaMallocHost(void **memory, std::size_t bytes, unsigned int)
{
    return serve([=] { return allocate(memory, bytes, false); });
}

cudaError_t cudaHostAlloc(void **memory, std::size_t bytes, unsigned int flags)
{
    return cudaMallocHost(memory, bytes, flags);
}

cudaError_t cudaFreeHost(void *memory)
{
    return serve_release([=] { return deallocate(memory, false); });
}

cudaError_t cudaHostRegister(void *memory, std::size_t bytes, unsigned int)
{
    return serve([=] { return register_host(memory, bytes); });
}

cudaError_t cudaHostUnregister(void *memory)
{
    return serve_release([=] { return unregister_host(memory); });
}

cudaError_t cudaMemcpy2DAsync(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    return serve_for(stream, [=] {
        return copy_rows(rows_of(to, to_pitch, width, height), rows_of(from, from_pitch, width, height), kind,
                         stream);
    });
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, std::size_t bytes,
                                cudaStream_t stream)
{
    return serve_for(stream, [=] {
        return copy_to_peer(rows_of(to, bytes, bytes, 1), to_device, rows_of(from, bytes, bytes, 1),
                            from_device, stream);
    });
}

cudaError_t cudaMemcpy2D(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind)
{
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, std::size_t bytes, cudaMemcpyKind kind)
{
    return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

cudaError_t cudaMemset2DAsync(void *memory, std::size_t pitch, int value, std::size_t width,
                              std::size_t height, cudaStream_t stream)
{
    return serve_for(stream, [=] { return set_rows(rows_of(memory, pitch, width, height), value, stream); });
}

cudaError_t cudaMemsetAsync(void *memory, int value, std::size_t bytes, cudaStream_t stream)
{
    return cudaMemset2DAsync(memory, bytes, value, bytes, 1, stream);
}

cudaError_t cudaMemset(void *memory, int value, std::size_t bytes)
{
    return cudaMemsetAsync(memory, value, bytes, nullptr);
}

/* ---------------------------------------------------------------- streams and events */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    return serve([=] {
        if (stream == nullptr || flags > cudaStreamNonBlocking)
            return cudaErrorInvalidValue;
        if (absence() != cudaSuccess)
            return absence();
        std::unique_ptr<cudaStream_st> owned(new cudaStream_st{current_gpu(),
                                                               flags == cudaStreamDefault,
                                                               code_of(the().device),
                                                               the().device.multiprocessors,
                                                               getpid(),
                                                               {}});
        *stream = owned.get();
        the().streams[*stream] = std::move(owned);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return serve_release([=] {
        if (stream == nullptr || !is_stream(stream))
            return cudaErrorInvalidResourceHandle;
        drain(stream);
        the().streams.erase(stream);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return serve_for(stream, [=] {
        if (!is_stream(stream))
            return cudaErrorInvalidResourceHandle;
        if (stream != nullptr)
            drain(stream);
        else
            drain_blocking_streams();
        return lasting_error_of(gpu_of(stream));
    });
}

/* Asking brings a lazy stream one step on, so that who asks in a loop gets to the end. */
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return serve_for(stream, [=] {
        if (!is_stream(stream))
            return cudaErrorInvalidResourceHandle;
        if (stream == nullptr || stream->work.empty())
            return cudaSuccess;
        perform_next(stream);
        return cudaErrorNotReady;
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int)
{
    return serve_for(stream, [=] {
        if (!is_event(event))
            return cudaErrorInvalidResourceHandle;
        std::shared_ptr<mark> last = event->last;
        if (last == nullptr)
            return cudaSuccess;
        return submit(stream, [last] { reach(last); });
    });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    return serve([=] {
        if (event == nullptr)
            return cudaErrorInvalidValue;
        if (absence() != cudaSuccess)
            return absence();
        std::unique_ptr<cudaEvent_st> owned(
            new cudaEvent_st{current_gpu(), (flags & cudaEventDisableTiming) == 0, getpid(), nullptr});
        *event = owned.get();
        the().events[*event] = std::move(owned);
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    return serve_release(
        [=] { return the().events.erase(event) != 0 ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return serve_for(stream, [=] {
        if (!is_event(event) || gpu_of(event) != gpu_of(stream))
            return cudaErrorInvalidResourceHandle;
        auto recorded = std::make_shared<mark>(mark{stream, false, {}});
        event->last = recorded;
        return submit(stream, [recorded] {
            recorded->time = clock_type::now();
            recorded->reached = true;
        });
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return serve_for(event, [=] {
        if (!is_event(event))
            return cudaErrorInvalidResourceHandle;
        if (event->last != nullptr)
            reach(event->last);
        return lasting_error_of(gpu_of(event));
    });
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return serve_for(event, [=] {
        if (!is_event(event))
            return cudaErrorInvalidResourceHandle;
        if (event->last == nullptr || event->last->reached)
            return cudaSuccess;
        perform_next(event->last->stream);
        return cudaErrorNotReady;
    });
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t stop)
{
    return serve([=] {
        if (milliseconds == nullptr)
            return cudaErrorInvalidValue;
        if (!is_event(start) || !is_event(stop) || start->gpu != stop->gpu || !start->timed || !stop->timed ||
            !start->last || !stop->last)
            return cudaErrorInvalidResourceHandle;
        if (!start->last->reached || !stop->last->reached)
            return cudaErrorNotReady;
        *milliseconds =
            std::chrono::duration<float, std::milli>(stop->last->time - start->last->time).count();
        return cudaSuccess;
    });
}

/* ---------------------------------------------------------------- kernels */

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *kernel)
{
    return serve([=] {
        const struct emulation_device &device = the().device;
        if (attributes == nullptr)
            return cudaErrorInvalidValue;
        if (kernel == nullptr)
            return cudaErrorInvalidDeviceFunction;
        *attributes = {};
        attributes->maxThreadsPerBlock =
            std::min(device.threads_per_block, device.registers_per_block / device.registers_per_thread);
        attributes->numRegs = device.registers_per_thread;
        attributes->ptxVersion = attributes->binaryVersion = code_of(device);
        attributes->maxDynamicSharedSizeBytes = static_cast<int>(shared_limit(kernel));
        return cudaSuccess;
    });
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value)
{
    return serve([=] {
        if (kernel == nullptr)
            return cudaErrorInvalidDeviceFunction;
        if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
            return value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
        if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
            static_cast<std::size_t>(value) > the().device.shared_per_block_opt_in)
            return cudaErrorInvalidValue;
        the().gpus.of(current_gpu()).shared_limits[kernel] = value;
        return cudaSuccess;
    });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads,
                                                          std::size_t shared_bytes)
{
    return serve([=] {
        if (kernel == nullptr)
            return cudaErrorInvalidDeviceFunction;
        if (threads < 1)
            return cudaErrorInvalidValue;
        return put(blocks, resident_blocks(the().device, threads, shared_bytes));
    });
}

cudaError_t cudaOccupancyMaxPotentialBlockSize(int *blocks, int *threads, const void *kernel,
                                               std::size_t shared_bytes, int most_threads)
{
    return serve([=] {
        const struct emulation_device &device = the().device;
        int most =
            most_threads > 0 ? std::min(most_threads, device.threads_per_block) : device.threads_per_block;
        int best_threads = 0, best_blocks = 0;
        if (kernel == nullptr)
            return cudaErrorInvalidDeviceFunction;
        for (int candidate = most / warpSize * warpSize; candidate > 0; candidate -= warpSize) {
            int resident = resident_blocks(device, candidate, shared_bytes);
            if (resident * candidate > best_blocks * best_threads) {
                best_threads = candidate;
                best_blocks = resident;
            }
        }
        cudaError_t error = put(blocks, best_blocks * device.multiprocessors);
        return error == cudaSuccess ? put(threads, best_threads) : error;
    });
}

/* ---------------------------------------------------------------- boxes */

static bool is_stride(std::size_t bytes, std::size_t least)
{
    return bytes % 16 == 0 && bytes >= least && bytes < (std::size_t(1) << 40);
}

static bool is_field(const cuda_boxed_field &field)
{
    const std::size_t extents[] = {field.nx, field.rows, field.channels, field.planes};
    const std::size_t bytes = (field.planes - 1) * field.plane_stride +
                              (field.channels - 1) * field.channel_stride +
                              (field.rows - 1) * field.row_stride + field.nx * field.sample_bytes;

    for (std::size_t extent : extents) {
        if (extent < 1 || extent > UINT32_MAX)
            return false;
    }
    return (field.sample_bytes == 4 || field.sample_bytes == 8) &&
           reinterpret_cast<std::uintptr_t>(field.samples) % 16 == 0 &&
           is_stride(field.row_stride, field.nx * field.sample_bytes) &&
           is_stride(field.channel_stride, field.rows * field.row_stride) &&
           is_stride(field.plane_stride, field.channels * field.channel_stride) &&
           is_within(rows_of(field.samples, bytes, bytes, 1), side::device);
}

static bool is_box(const cuda_boxed_field &field, unsigned width, unsigned height, unsigned planes)
{
    return width >= 1 && width <= 256 && height >= 1 && height <= 256 && planes >= 1 && planes <= 256 &&
           width * field.sample_bytes % 16 == 0;
}

cudaError_t cuda_map_boxes(cuda_box_map *map, const cuda_boxed_field *field, unsigned width, unsigned height,
                           unsigned planes)
{
    return serve([=] {
        if (map == nullptr || !is_field(*field) || !is_box(*field, width, height, planes))
            return cudaErrorInvalidValue;
        *map = {static_cast<const unsigned char *>(field->samples),
                field->sample_bytes,
                {static_cast<long long>(field->nx), static_cast<long long>(field->rows),
                 static_cast<long long>(field->channels), static_cast<long long>(field->planes)},
                {field->row_stride, field->channel_stride, field->plane_stride},
                width,
                height,
                planes};
        return cudaSuccess;
    });
}
