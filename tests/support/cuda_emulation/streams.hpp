// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

// Declares the internals of the emulated device's streams and events.

// Collects work that is not known to be done.
class EmulatedPending {
public:
    std::vector<EmulatedWork> unfinished();
    void replace(std::vector<EmulatedWork> works);
    void add(const std::vector<EmulatedWork>& works);
    bool advance();  // returns true if all is done
    void wait();

private:
    std::mutex mutex_;
    std::vector<EmulatedWork> works_;
};

// Counts, for a point in a capture, the pieces of each stream's captured work before it.
using EmulatedProgress = std::map<cudaStream_t, int>;

// Collects the work that is queued during a capture on a stream, and on streams that are ordered
// after it. It does not run.
struct EmulatedCapture {
    struct Work {
        std::function<void()> run;
        EmulatedPiece piece;
    };

    cudaStream_t origin = nullptr;
    std::vector<Work> works;
    std::map<cudaStream_t, EmulatedProgress> streams;
    bool broken = false;
};

struct EmulatedStream {
    EmulatedStream();
    ~EmulatedStream();

    const std::thread::id device = std::this_thread::get_id();
    EmulatedPending pending;
    std::shared_ptr<EmulatedCapture> capture;  // null: work runs
};

struct EmulatedEvent {
    unsigned flags = 0;
    std::shared_ptr<double> milliseconds;  // time of the device's work at the record
    EmulatedPending pending;
    std::atomic<bool> captured{false};         // recorded last in a capture
    std::shared_ptr<EmulatedCapture> capture;  // that capture
    EmulatedProgress after;                    // progress in that capture
};

// Returns success, unless the calling thread captures: then its capture breaks.
cudaError_t emulated_unsafe_call();
// Returns true if no work is left on the calling thread's GPU.
bool emulated_idle();
// Returns true if cudaMalloc allocated this memory.
bool emulated_is_device(const void* memory);
