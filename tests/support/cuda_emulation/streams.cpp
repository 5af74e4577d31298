// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_emulation/streams.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "runtime/core/philox.hpp"

std::vector<EmulatedWork> EmulatedPending::unfinished() {
    const std::lock_guard lock(mutex_);
    std::erase_if(works_, [](const EmulatedWork& work) { return work->done.load(); });
    return works_;
}
void EmulatedPending::replace(std::vector<EmulatedWork> works) {
    const std::lock_guard lock(mutex_);
    works_ = std::move(works);
}
void EmulatedPending::add(const std::vector<EmulatedWork>& works) {
    const std::lock_guard lock(mutex_);
    works_.insert(works_.end(), works.begin(), works.end());
}
bool EmulatedPending::advance() {
    const auto works = unfinished();
    return std::ranges::count_if(works, emulated_advance) == std::ssize(works);
}
void EmulatedPending::wait() {
    while (!advance()) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

namespace {

std::atomic<double> device_milliseconds{0};
std::atomic<int> graph_launches{0};

struct Streams {
    std::mutex mutex;
    std::set<EmulatedStream*> all;
};

Streams& streams() {
    static Streams only;
    return only;
}

// Protects the `before` lists of all tasks.
std::mutex& order() {
    static std::mutex mutex;
    return mutex;
}

// Returns an unfinished task that must be done before this one, or null if there is none.
EmulatedWork next_before(const EmulatedWork& task) {
    const std::lock_guard lock(order());
    auto& before = task->before;
    while (!before.empty() && before.back()->done) before.pop_back();
    return before.empty() ? nullptr : before.back();
}

void run(EmulatedTask& task) {
    try {
        task.work();
    } catch (...) {
        task.done = true;  // the next to wait for it continues
        throw;
    }
    task.work = {};
    task.done = true;
}

// Returns the calling thread's default stream. It and the streams of the backend do not wait for
// each other.
cudaStream_t default_stream() {
    static thread_local EmulatedStream stream;
    return &stream;
}

// A device may run work at once or later. The emulation alternates between both at random.
bool runs_at_once() {
    static thread_local std::uint64_t submitted = 0;
    return lockstep::mix(++submitted, 0) % 2 == 0;
}

EmulatedWork append(cudaStream_t stream, std::function<void()> work) {
    auto task = std::make_shared<EmulatedTask>();
    task->begun = false;
    task->work = std::move(work);
    task->before = stream->pending.unfinished();
    stream->pending.replace({task});
    if (runs_at_once()) emulated_advance(task);
    return task;
}

// Returns the calling thread's capture. CUDA allows several, but no test needs that.
std::shared_ptr<EmulatedCapture>& own_capture() {
    static thread_local std::shared_ptr<EmulatedCapture> capture;
    return capture;
}

cudaError_t broken(EmulatedCapture& capture, cudaError_t error) {
    capture.broken = true;
    return error;
}

// Records further work in the stream. A stream other than the first must be joined again after it.
void progress(EmulatedCapture& capture, cudaStream_t stream) { ++capture.streams[stream][stream]; }

bool joined(EmulatedCapture& capture) {
    EmulatedProgress& seen = capture.streams[capture.origin];
    for (auto& [stream, own] : capture.streams)
        if (seen[stream] != own[stream]) return false;
    return true;
}

}  // namespace

// A graph's work outlives the graph if it is destroyed while it runs.
struct EmulatedGraph {
    std::shared_ptr<const std::vector<EmulatedCapture::Work>> works;
};

EmulatedStream::EmulatedStream() {
    const std::lock_guard lock(streams().mutex);
    streams().all.insert(this);
}
EmulatedStream::~EmulatedStream() {
    const std::lock_guard lock(streams().mutex);
    streams().all.erase(this);
}

bool emulated_advance(const EmulatedWork& work) {
    std::vector<EmulatedWork> path{work};
    while (!path.empty()) {
        const EmulatedWork task = path.back();
        if (task->done) {
            path.pop_back();
        } else if (auto before = next_before(task)) {
            path.push_back(std::move(before));
        } else {
            if (task->begun.exchange(true)) return false;
            run(*task);
        }
    }
    return true;
}

bool emulated_idle() {
    const std::lock_guard lock(streams().mutex);
    return std::ranges::all_of(streams().all, [](EmulatedStream* stream) {
        return stream->device != std::this_thread::get_id() || stream->pending.unfinished().empty();
    });
}

cudaError_t emulated_unsafe_call() {
    if (!own_capture()) return cudaSuccess;
    return broken(*own_capture(), cudaErrorStreamCaptureUnsupported);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
    *lowest = 0;
    *highest = -5;
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
    emulated_call(__func__);
    *stream = new EmulatedStream;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    emulated_call(__func__);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    emulated_call(__func__);
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    stream->pending.wait();
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    emulated_call(__func__);
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    std::vector<EmulatedStream*> own;
    {
        const std::lock_guard lock(streams().mutex);
        for (EmulatedStream* stream : streams().all)
            if (stream->device == std::this_thread::get_id()) own.push_back(stream);
    }
    for (EmulatedStream* stream : own) stream->pending.wait();
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    emulated_call(__func__);
    *event = new EmulatedEvent;
    (*event)->flags = flags;
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    emulated_call(__func__);
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    emulated_call(__func__);
    const auto capture = stream == nullptr ? nullptr : stream->capture;
    if (stream == nullptr && own_capture())
        return broken(*own_capture(), cudaErrorStreamCaptureImplicit);
    event->captured = capture != nullptr;
    event->capture = capture;
    if (capture) {
        event->after = capture->streams[stream];
        return capture->broken ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    }
    event->milliseconds = std::make_shared<double>(0);
    event->pending.replace({append(stream == nullptr ? default_stream() : stream,
                                   [to = event->milliseconds] { *to = device_milliseconds; })});
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    emulated_call(__func__);
    if (!event->captured) {
        if (stream->capture) return broken(*stream->capture, cudaErrorStreamCaptureIsolation);
        stream->pending.add(event->pending.unfinished());
        return cudaSuccess;
    }
    const auto capture = event->capture;
    if (capture != own_capture()) return cudaErrorCapturedEvent;
    if (stream->capture && stream->capture != capture)
        return broken(*capture, cudaErrorStreamCaptureMerge);
    stream->capture = capture;
    EmulatedProgress& own = capture->streams[stream];
    for (const auto& [other, count] : event->after) own[other] = std::max(own[other], count);
    return capture->broken ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    emulated_call(__func__);
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    if (event->captured) return cudaErrorCapturedEvent;
    event->pending.wait();
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    emulated_call(__func__);
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    if (event->captured) return cudaErrorCapturedEvent;
    return event->pending.advance() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    emulated_call(__func__);
    for (const cudaEvent_t event : {begin, end}) {
        if (event->captured) return cudaErrorCapturedEvent;
        if (!event->milliseconds || (event->flags & cudaEventDisableTiming) != 0)
            return cudaErrorInvalidResourceHandle;
    }
    for (const cudaEvent_t event : {begin, end})
        if (!event->pending.unfinished().empty()) return cudaErrorNotReady;
    *milliseconds = static_cast<float>(*end->milliseconds - *begin->milliseconds);
    return cudaSuccess;
}
void emulated_device_work(float milliseconds) { device_milliseconds += milliseconds; }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    emulated_call(__func__);
    if (own_capture() || stream == nullptr) return cudaErrorStreamCaptureUnsupported;
    own_capture() = std::make_shared<EmulatedCapture>();
    own_capture()->origin = stream;
    own_capture()->streams[stream];
    stream->capture = own_capture();
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    emulated_call(__func__);
    *graph = nullptr;
    if (!own_capture() || stream != own_capture()->origin) return cudaErrorStreamCaptureUnmatched;
    const auto capture = std::exchange(own_capture(), nullptr);
    const bool whole = joined(*capture);
    for (const auto& [member, seen] : capture->streams) member->capture = nullptr;
    if (capture->broken) return cudaErrorStreamCaptureInvalidated;
    if (!whole) return cudaErrorStreamCaptureUnjoined;
    *graph = new EmulatedGraph{
        std::make_shared<const std::vector<EmulatedCapture::Work>>(std::move(capture->works))};
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    emulated_call(__func__);
    *status = !stream->capture          ? cudaStreamCaptureStatusNone
              : stream->capture->broken ? cudaStreamCaptureStatusInvalidated
                                        : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
    emulated_call(__func__);
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    *exec = new EmulatedGraph(*graph);
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    emulated_call(__func__);
    if (stream->capture) return broken(*stream->capture, cudaErrorStreamCaptureUnsupported);
    ++graph_launches;
    for (const auto& work : *exec->works) emulated_count(work.piece);
    append(stream, [works = exec->works] {
        for (const auto& work : *works) work.run();
    });
    return cudaSuccess;
}
int emulated_graph_launches() { return graph_launches; }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    emulated_call(__func__);
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    emulated_call(__func__);
    delete exec;
    return cudaSuccess;
}

cudaError_t emulated_submit(cudaStream_t stream, const EmulatedPiece& piece,
                            std::function<void()> work) {
    if (stream == nullptr) {
        if (own_capture()) return broken(*own_capture(), cudaErrorStreamCaptureImplicit);
        stream = default_stream();
    }
    if (const auto& capture = stream->capture) {
        if (capture->broken) return cudaErrorStreamCaptureInvalidated;
        capture->works.push_back({std::move(work), piece});
        progress(*capture, stream);
        return cudaSuccess;
    }
    emulated_count(piece);
    append(stream, std::move(work));
    return cudaSuccess;
}
std::vector<EmulatedWork> emulated_queue(cudaStream_t stream, EmulatedWork work) {
    std::vector<EmulatedWork> before = stream->pending.unfinished();
    stream->pending.add({std::move(work)});
    return before;
}
