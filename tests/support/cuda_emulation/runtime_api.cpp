// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

namespace {

// Not done yet, as far as known.
class Pending {
public:
    std::vector<EmulatedWork> unfinished() {
        const std::lock_guard lock(mutex_);
        std::erase_if(works_, [](const EmulatedWork& work) { return work->load(); });
        return works_;
    }
    void replace(std::vector<EmulatedWork> works) {
        const std::lock_guard lock(mutex_);
        works_ = std::move(works);
    }
    void add(const std::vector<EmulatedWork>& works) {
        const std::lock_guard lock(mutex_);
        works_.insert(works_.end(), works.begin(), works.end());
    }
    void wait() {
        while (!unfinished().empty()) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }

private:
    std::mutex mutex_;
    std::vector<EmulatedWork> works_;
};

}  // namespace

struct EmulatedStream {
    Pending pending;
};
struct EmulatedEvent {
    double milliseconds = 0;  // of the device's work when it was recorded
    Pending pending;
};

namespace {

constexpr std::size_t guard_bytes = 256;  // also the alignment
constexpr unsigned char guard = 0xA5, undefined = 0xFF;

std::atomic<double> device_milliseconds{0};

// Stands in front of the memory, inside its first guard.
struct Header {
    std::size_t bytes;
};

bool is_guard(const unsigned char* from, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        if (from[i] != guard) return false;
    return true;
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
        case cudaSuccess:
            return "cudaSuccess";
        case cudaErrorInvalidValue:
            return "cudaErrorInvalidValue";
        case cudaErrorMemoryAllocation:
            return "cudaErrorMemoryAllocation";
        case cudaErrorInsufficientDriver:
            return "cudaErrorInsufficientDriver";
        case cudaErrorNoDevice:
            return "cudaErrorNoDevice";
        case cudaErrorInvalidDevice:
            return "cudaErrorInvalidDevice";
        case cudaErrorNotReady:
            return "cudaErrorNotReady";
    }
    return "unknown";
}
const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
    switch (which) {
        case cudaDevAttrMultiProcessorCount:
            *value = 4;  // few, so that blocks which go on until the work is done do so
            break;
        case cudaDevAttrL2CacheSize:
            *value = 1 << 20;
            break;
        case cudaDevAttrComputeCapabilityMajor:
            *value = 8;
            break;
        case cudaDevAttrComputeCapabilityMinor:
            *value = 0;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            *value = 163 << 10;
            break;
    }
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
    std::strcpy(properties->name, "emulated");
    for (int i = 0; i < 16; ++i) properties->uuid.bytes[i] = static_cast<char>(0x11 * i);
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int) {
    std::snprintf(text, static_cast<std::size_t>(length), "0000:1A:00.0");
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    const std::size_t rounded = (bytes + guard_bytes - 1) / guard_bytes * guard_bytes;
    auto* whole =
        static_cast<unsigned char*>(std::aligned_alloc(guard_bytes, rounded + 2 * guard_bytes));
    if (whole == nullptr) return cudaErrorMemoryAllocation;
    std::memset(whole, guard, rounded + 2 * guard_bytes);
    std::memcpy(whole, &bytes, sizeof bytes);
    std::memset(whole + guard_bytes, undefined, bytes);
    *memory = whole + guard_bytes;
    return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
    if (memory == nullptr) return cudaSuccess;
    unsigned char* whole = static_cast<unsigned char*>(memory) - guard_bytes;
    Header header{};
    std::memcpy(&header, whole, sizeof header);
    if (!is_guard(whole + sizeof header, guard_bytes - sizeof header) ||
        !is_guard(whole + guard_bytes + header.bytes, guard_bytes)) {
        std::fprintf(stderr, "a kernel wrote beside %zu bytes of device memory\n", header.bytes);
        std::abort();
    }
    std::free(whole);
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
    *memory = std::malloc(bytes);
    return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
    std::free(memory);
    return cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
    std::memset(memory, value, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
    emulated_wait(stream);
    return cudaMemset(memory, value, bytes);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
    emulated_wait(stream);
    std::memmove(to, from, bytes);
    return cudaSuccess;
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
    emulated_wait(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    stream->pending.add(event->pending.unfinished());
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    *event = new EmulatedEvent;
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    event->pending.replace(stream == nullptr ? std::vector<EmulatedWork>{}
                                             : stream->pending.unfinished());
    event->milliseconds = device_milliseconds;
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    event->pending.wait();
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    return event->pending.unfinished().empty() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    *milliseconds = static_cast<float>(end->milliseconds - begin->milliseconds);
    return cudaSuccess;
}
void emulated_device_work(float milliseconds) { device_milliseconds += milliseconds; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
    *status = cudaStreamCaptureStatusNone;
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
