// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_context.hpp"

#include <string>

#include "runtime/device/cuda/cuda_check.hpp"
#include "runtime/device/cuda/cuda_clock.hpp"

namespace lockstep::device {

namespace {

int attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
}

GpuProperties properties_of(int device) {
    GpuProperties p;
    p.compute_capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
                           attribute(cudaDevAttrComputeCapabilityMinor, device);
    p.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, device);
    p.max_shared_bytes =
        static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    p.l2_bytes = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, device));
    return p;
}

enum class Priority { normal, high };

// Makes a stream that neither waits for the default stream nor makes it wait.
Stream make_stream(Priority priority) {
    int lowest = 0, highest = 0;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
    cudaStream_t raw = nullptr;
    check(cudaStreamCreateWithPriority(&raw, cudaStreamNonBlocking,
                                       priority == Priority::high ? highest : lowest),
          "cudaStreamCreateWithPriority");
    return Stream(raw);
}

}  // namespace

CudaContext::CudaContext(int device) : device_(device) {
    check(cudaSetDevice(device), "cudaSetDevice");
    properties_ = properties_of(device);
    constexpr int oldest = 80;
    if (properties_.compute_capability < oldest)
        throw Error(ErrorKind::config,
                    "GPU " + std::to_string(device) + " is too old: its compute capability is " +
                        std::to_string(properties_.compute_capability / 10) + "." +
                        std::to_string(properties_.compute_capability % 10) +
                        ", 8.0 is needed; choose another by CUDA_VISIBLE_DEVICES, or --device cpu");
    compute_ = make_stream(Priority::normal);
    // Collectives get free multiprocessors first: a reduction that starts late is not hidden by
    // computation.
    communication_ = make_stream(Priority::high);
    copy_ = make_stream(Priority::normal);
    order_ = make_event();
}

CudaContext::~CudaContext() {
    // Memory must not be freed while a kernel uses it. An earlier wait has already reported any
    // failure.
    for (const auto* stream : {&compute_, &communication_, &copy_})
        if (*stream) cudaStreamSynchronize(stream->raw());
}

void CudaContext::synchronize() {
    for (const auto* stream : {&compute_, &communication_, &copy_})
        check(cudaStreamSynchronize(stream->raw()), "cudaStreamSynchronize");
}

void CudaContext::order(cudaStream_t earlier, cudaStream_t later) {
    check(cudaEventRecord(order_.raw(), earlier), "cudaEventRecord");
    check(cudaStreamWaitEvent(later, order_.raw(), 0), "cudaStreamWaitEvent");
}

DeviceTimestamp CudaContext::mark() {
    if (is_captured(stream())) return {};
    return {cached<CudaClock>().mark(stream())};
}

Clock::time_point CudaContext::time_of(DeviceTimestamp mark) {
    return cached<CudaClock>().time_of(mark.value);
}

std::byte* CudaContext::scratch_bytes(std::size_t bytes) {
    if (scratch_.size() < bytes)
        replace_scratch([&] {
            scratch_ = Buffer<std::byte, CudaSpace>();  // the old and new memory never exist at
                                                        // once
            scratch_ = Buffer<std::byte, CudaSpace>(bytes);
        });
    return scratch_.view().data();
}

void CudaContext::wait_for_scratch() {
    check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
}

int visible_gpus() noexcept {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

}  // namespace lockstep::device
