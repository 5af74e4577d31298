// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_emulation/streams.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

std::vector<EmulatedWork> EmulatedPending::unfinished() {
    const std::lock_guard lock(mutex_);
    std::erase_if(works_, [](const EmulatedWork& work) { return work->load(); });
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
void EmulatedPending::wait() {
    while (!unfinished().empty()) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

namespace {

std::atomic<double> device_milliseconds{0};
std::atomic<int> graph_launches{0};

// The calling thread's; CUDA knows more than one, of which nobody makes use here.
std::shared_ptr<EmulatedCapture>& own_capture() {
    static thread_local std::shared_ptr<EmulatedCapture> capture;
    return capture;
}

cudaError_t broken(EmulatedCapture& capture, cudaError_t error) {
    capture.broken = true;
    return error;
}

// Something more in the stream; another than the first has to be joined again after it.
void progress(EmulatedCapture& capture, cudaStream_t stream) { ++capture.streams[stream][stream]; }

bool joined(EmulatedCapture& capture) {
    EmulatedProgress& seen = capture.streams[capture.origin];
    for (auto& [stream, own] : capture.streams)
        if (seen[stream] != own[stream]) return false;
    return true;
}

}  // namespace

struct EmulatedGraph {
    std::vector<std::function<void()>> works;
};

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
    *stream = new EmulatedStream;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    emulated_wait(stream);
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return emulated_unsafe_call(); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    *event = new EmulatedEvent;
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const auto capture = stream == nullptr ? nullptr : stream->capture;
    if (stream == nullptr && own_capture())
        return broken(*own_capture(), cudaErrorStreamCaptureImplicit);
    event->captured = capture != nullptr;
    event->capture = capture;
    if (capture) {
        event->after = capture->streams[stream];
        return capture->broken ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    }
    event->pending.replace(stream == nullptr ? std::vector<EmulatedWork>{}
                                             : stream->pending.unfinished());
    event->milliseconds = device_milliseconds;
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
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
    for (const auto& [other, count] : event->after) {
        int& seen = capture->streams[stream][other];
        seen = std::max(seen, count);
    }
    if (stream != capture->origin) progress(*capture, stream);
    return capture->broken ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    if (event->captured) return cudaErrorCapturedEvent;
    event->pending.wait();
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    if (event->captured) return cudaErrorCapturedEvent;
    return event->pending.unfinished().empty() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    if (begin->captured || end->captured) return cudaErrorCapturedEvent;
    *milliseconds = static_cast<float>(end->milliseconds - begin->milliseconds);
    return cudaSuccess;
}
void emulated_device_work(float milliseconds) { device_milliseconds += milliseconds; }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    if (own_capture() || stream == nullptr) return cudaErrorStreamCaptureUnsupported;
    own_capture() = std::make_shared<EmulatedCapture>();
    own_capture()->origin = stream;
    own_capture()->streams[stream];
    stream->capture = own_capture();
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    *graph = nullptr;
    if (!own_capture() || stream != own_capture()->origin) return cudaErrorStreamCaptureUnmatched;
    const auto capture = std::exchange(own_capture(), nullptr);
    const bool whole = joined(*capture);
    for (const auto& [member, seen] : capture->streams) member->capture = nullptr;
    if (capture->broken) return cudaErrorStreamCaptureInvalidated;
    if (!whole) return cudaErrorStreamCaptureUnjoined;
    *graph = new EmulatedGraph{std::move(capture->works)};
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    *status = !stream->capture          ? cudaStreamCaptureStatusNone
              : stream->capture->broken ? cudaStreamCaptureStatusInvalidated
                                        : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    *exec = new EmulatedGraph(*graph);
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    if (stream->capture) return broken(*stream->capture, cudaErrorStreamCaptureUnsupported);
    ++graph_launches;
    emulated_wait(stream);
    for (const auto& work : exec->works) work();
    return cudaSuccess;
}
int emulated_graph_launches() { return graph_launches; }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    delete exec;
    return cudaSuccess;
}

cudaError_t emulated_submit(cudaStream_t stream, std::function<void()> work) {
    if (stream == nullptr) {
        if (own_capture()) return broken(*own_capture(), cudaErrorStreamCaptureImplicit);
        work();
        return cudaSuccess;
    }
    if (const auto& capture = stream->capture) {
        if (capture->broken) return cudaErrorStreamCaptureInvalidated;
        capture->works.push_back(std::move(work));
        progress(*capture, stream);
        return cudaSuccess;
    }
    emulated_wait(stream);
    work();
    return cudaSuccess;
}
std::vector<EmulatedWork> emulated_queue(cudaStream_t stream, EmulatedWork work) {
    std::vector<EmulatedWork> before = stream->pending.unfinished();
    stream->pending.add({std::move(work)});
    return before;
}
void emulated_wait(cudaStream_t stream) {
    if (stream != nullptr) stream->pending.wait();
}
