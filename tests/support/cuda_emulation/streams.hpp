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

// What streams and events of the emulated device are made of.

// Work that is not done yet as far as known.
class EmulatedPending {
public:
    std::vector<EmulatedWork> unfinished();
    void replace(std::vector<EmulatedWork> works);
    void add(const std::vector<EmulatedWork>& works);
    bool advance();  // whether all is done
    void wait();

private:
    std::mutex mutex_;
    std::vector<EmulatedWork> works_;
};

// How much of each stream's captured work something comes after.
using EmulatedProgress = std::map<cudaStream_t, int>;

// What is queued on a stream, and on those that were ordered behind it, instead of running.
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
    std::shared_ptr<double> milliseconds;  // of the device's work when it came to the record
    EmulatedPending pending;
    std::atomic<bool> captured{false};         // recorded last in a capture
    std::shared_ptr<EmulatedCapture> capture;  // that one
    EmulatedProgress after;                    // in it
};

// Success, unless the calling thread captures: then its capture is broken.
cudaError_t emulated_unsafe_call();
// Whether nothing is left to do on the calling thread's GPU.
bool emulated_idle();
// Whether cudaMalloc gave this memory.
bool emulated_is_device(const void* memory);
