// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "tests/support/cuda_emulation/guarded_memory.hpp"
#include "tests/support/cuda_emulation/streams.hpp"

namespace {

constexpr std::size_t device_bytes = std::size_t{1} << 30;
std::atomic<std::size_t> foreign_bytes = 0;
std::atomic<int> max_shared_bytes = 163 << 10, compute_capability = 80;

// Returns the whole number from 0 to `most` that an environment variable gives, else `usual`. Any
// other text ends the program.
std::size_t number_given_by(const char* variable, std::size_t usual, std::size_t most) {
    const char* const text = std::getenv(variable);
    if (text == nullptr) return usual;
    std::size_t number = 0;
    const char* const end = text + std::strlen(text);
    const auto [last, error] = std::from_chars(text, end, number);
    if (error == std::errc() && last == end && number <= most) return number;
    std::fprintf(stderr, "%s=%s: give a number from 0 to %zu\n", variable, text, most);
    std::exit(2);
}

GuardedMemory& device_memory() {
    static GuardedMemory memory("device", device_bytes, EmulatedGuards::checked);
    return memory;
}
GuardedMemory& pinned_memory() {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    static GuardedMemory memory("pinned",
                                number_given_by("LOCKSTEP_EMULATED_PINNED_BYTES", most, most),
                                EmulatedGuards::poisoned);
    return memory;
}

// Returns the number of GPUs, or of parts of one. Several are for programs in which each process
// uses one of them.
int devices() { return static_cast<int>(number_given_by("LOCKSTEP_EMULATED_GPUS", 1, 64)); }
bool cut_by_mig() { return std::getenv("LOCKSTEP_EMULATED_MIG") != nullptr; }

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
        case cudaErrorIllegalAddress:
            return "cudaErrorIllegalAddress";
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
    *free = device_bytes - device_memory().taken_bytes() - foreign_bytes;
    return cudaSuccess;
}
void emulated_foreign_memory(std::size_t bytes) { foreign_bytes = bytes; }
bool emulated_is_device(const void* memory) { return device_memory().holds(memory); }
void emulated_pinned_limit(std::size_t bytes) { pinned_memory().limit(bytes); }
std::size_t emulated_pinned_bytes() { return pinned_memory().taken_bytes(); }
bool emulated_is_pinned(const void* memory) { return pinned_memory().holds(memory); }
bool emulated_reaches(const void* address) {
    return address == nullptr || emulated_is_device(address) || emulated_is_pinned(address);
}
bool emulated_guards_are_whole() {
    return device_memory().guards_are_whole() && pinned_memory().guards_are_whole();
}
void emulated_compute_capability(int times_ten) { compute_capability = times_ten; }
void emulated_shared_memory(int bytes) { max_shared_bytes = bytes; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    emulated_call(__func__);
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    *memory = device_memory().allocate(bytes);
    return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
    emulated_call(__func__);
    if (memory == nullptr) return cudaSuccess;
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    require_idle("device");
    device_memory().free(memory);
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
    emulated_call(__func__);
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    *memory = pinned_memory().allocate(bytes);
    return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
    emulated_call(__func__);
    if (const cudaError_t error = emulated_unsafe_call(); error != cudaSuccess) return error;
    if (memory == nullptr) return cudaSuccess;
    require_idle("pinned");
    pinned_memory().free(memory);
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
