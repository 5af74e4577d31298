// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>

#include "tests/support/cuda_emulation/streams.hpp"

namespace {

constexpr std::size_t device_bytes = std::size_t{1} << 30;
std::atomic<std::size_t> taken_bytes = 0, foreign_bytes = 0;
std::atomic<int> max_shared_bytes = 163 << 10, compute_capability = 80;
constexpr std::size_t guard_bytes = 256;  // also the alignment
constexpr unsigned char guard = 0xA5, undefined = 0xFF;

// Stores the begin and end of each piece of memory that cudaMalloc has given to any thread.
class DeviceMemory {
public:
    void add(const void* begin, std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        ends_[begin] = static_cast<const unsigned char*>(begin) + bytes;
    }
    void remove(const void* begin) {
        const std::lock_guard lock(mutex_);
        ends_.erase(begin);
    }
    bool holds(const void* memory) {
        const std::lock_guard lock(mutex_);
        const auto after = ends_.upper_bound(memory);
        return after != ends_.begin() && std::less<>()(memory, std::prev(after)->second);
    }

private:
    std::mutex mutex_;
    std::map<const void*, const void*> ends_;
};

DeviceMemory& device_memory() {
    static DeviceMemory memory;
    return memory;
}

// Precedes the memory, inside its first guard.
struct Header {
    std::size_t bytes;
};

// Returns the number of GPUs, or of parts of one. Several are for programs in which each process
// uses one of them.
int devices() {
    constexpr int most = 64;
    const char* const text = std::getenv("LOCKSTEP_EMULATED_GPUS");
    if (text == nullptr) return 1;
    int count = -1;
    const char* const end = text + std::strlen(text);
    const auto [last, error] = std::from_chars(text, end, count);
    if (error == std::errc() && last == end && count >= 0 && count <= most) return count;
    std::fprintf(stderr, "LOCKSTEP_EMULATED_GPUS=%s: give a number from 0 to %d\n", text, most);
    std::exit(2);
}
bool cut_by_mig() { return std::getenv("LOCKSTEP_EMULATED_MIG") != nullptr; }

bool is_guard(const unsigned char* from, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        if (from[i] != guard) return false;
    return true;
}

void require_idle(const char* memory) {
    if (emulated_idle()) return;
    std::fprintf(stderr, "%s memory is freed while the device works\n", memory);
    std::abort();
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
        case cudaErrorInvalidResourceHandle:
            return "cudaErrorInvalidResourceHandle";
        case cudaErrorNotReady:
            return "cudaErrorNotReady";
        case cudaErrorStreamCaptureUnsupported:
            return "cudaErrorStreamCaptureUnsupported";
        case cudaErrorStreamCaptureInvalidated:
            return "cudaErrorStreamCaptureInvalidated";
        case cudaErrorStreamCaptureMerge:
            return "cudaErrorStreamCaptureMerge";
        case cudaErrorStreamCaptureUnmatched:
            return "cudaErrorStreamCaptureUnmatched";
        case cudaErrorStreamCaptureUnjoined:
            return "cudaErrorStreamCaptureUnjoined";
        case cudaErrorStreamCaptureIsolation:
            return "cudaErrorStreamCaptureIsolation";
        case cudaErrorStreamCaptureImplicit:
            return "cudaErrorStreamCaptureImplicit";
        case cudaErrorCapturedEvent:
            return "cudaErrorCapturedEvent";
    }
    return "unknown";
}
const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaDriverGetVersion(int* version) {
    const char* given = std::getenv("EMULATED_DRIVER");
    *version = given == nullptr ? 13000 : std::atoi(given);
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    *count = driver / 1000 < CUDART_VERSION / 1000 ? 0 : devices();
    return driver / 1000 < CUDART_VERSION / 1000 ? cudaErrorInsufficientDriver : cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    return device >= 0 && device < devices() ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
    switch (which) {
        case cudaDevAttrMultiProcessorCount:
            *value = 4;  // few, so that persistent blocks loop over the work
            break;
        case cudaDevAttrL2CacheSize:
            *value = 1 << 20;
            break;
        case cudaDevAttrComputeCapabilityMajor:
            *value = compute_capability / 10;
            break;
        case cudaDevAttrComputeCapabilityMinor:
            *value = compute_capability % 10;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            *value = max_shared_bytes;
            break;
    }
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    std::strcpy(properties->name, cut_by_mig() ? "emulated MIG 1g.1gb" : "emulated");
    properties->totalGlobalMem = device_bytes;
    properties->major = 8;
    properties->minor = 0;
    for (int i = 0; i < 16; ++i) properties->uuid.bytes[i] = static_cast<char>(0x11 * i);
    properties->uuid.bytes[15] = static_cast<char>(0xff - device);
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0",
                  static_cast<unsigned>(0x1A + (cut_by_mig() ? 0 : device)));
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    *total = device_bytes;
    *free = device_bytes - taken_bytes - foreign_bytes;
    return cudaSuccess;
}
void emulated_foreign_memory(std::size_t bytes) { foreign_bytes = bytes; }
bool emulated_is_device(const void* memory) { return device_memory().holds(memory); }
void emulated_compute_capability(int times_ten) { compute_capability = times_ten; }
void emulated_shared_memory(int bytes) { max_shared_bytes = bytes; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    emulated_call(__func__);
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    if (bytes > device_bytes - taken_bytes) return cudaErrorMemoryAllocation;
    const std::size_t rounded = (bytes + guard_bytes - 1) / guard_bytes * guard_bytes;
    auto* whole =
        static_cast<unsigned char*>(std::aligned_alloc(guard_bytes, rounded + 2 * guard_bytes));
    if (whole == nullptr) return cudaErrorMemoryAllocation;
    taken_bytes += bytes;
    std::memset(whole, guard, rounded + 2 * guard_bytes);
    std::memcpy(whole, &bytes, sizeof bytes);
    std::memset(whole + guard_bytes, undefined, bytes);
    *memory = whole + guard_bytes;
    device_memory().add(*memory, bytes);
    return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
    emulated_call(__func__);
    if (memory == nullptr) return cudaSuccess;
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    require_idle("device");
    unsigned char* whole = static_cast<unsigned char*>(memory) - guard_bytes;
    Header header{};
    std::memcpy(&header, whole, sizeof header);
    if (!is_guard(whole + sizeof header, guard_bytes - sizeof header) ||
        !is_guard(whole + guard_bytes + header.bytes, guard_bytes)) {
        std::fprintf(stderr, "a kernel wrote beside %zu bytes of device memory\n", header.bytes);
        std::abort();
    }
    device_memory().remove(memory);
    taken_bytes -= header.bytes;
    std::free(whole);
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
    emulated_call(__func__);
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    *memory = std::malloc(bytes);
    return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
    emulated_call(__func__);
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    if (memory != nullptr) require_idle("pinned");
    std::free(memory);
    return cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
    return cudaMemsetAsync(memory, value, bytes, nullptr);
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
    emulated_call(__func__);
    const EmulatedPiece piece{.kind = EmulatedKind::fill, .bytes = bytes};
    return emulated_submit(stream, piece, [=] { std::memset(memory, value, bytes); });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
    emulated_call(__func__);
    const EmulatedPiece piece{.kind = EmulatedKind::copy, .bytes = bytes, .from = from, .to = to};
    return emulated_submit(stream, piece, [=] { std::memmove(to, from, bytes); });
}
