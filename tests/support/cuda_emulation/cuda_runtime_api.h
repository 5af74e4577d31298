// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tests/support/cuda_emulation/work_log.hpp"

// Implements CUDA's names with the calling processor as the GPU. A kernel or copy runs either at
// the call, after the work it is ordered after, or only when something waits for it. Each thread
// that makes streams has a GPU of its own. Only the parts that the backend uses exist. Environment
// variables give a process several GPUs (LOCKSTEP_EMULATED_GPUS=2), make them parts of one GPU
// (LOCKSTEP_EMULATED_MIG=1), or limit what it can pin (LOCKSTEP_EMULATED_PINNED_BYTES=65536).

#define CUDART_VERSION 12040

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureMerge = 902,
    cudaErrorStreamCaptureUnmatched = 903,
    cudaErrorStreamCaptureUnjoined = 904,
    cudaErrorStreamCaptureIsolation = 905,
    cudaErrorStreamCaptureImplicit = 906,
    cudaErrorCapturedEvent = 907
};
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();

struct EmulatedStream;
struct EmulatedEvent;
using cudaStream_t = EmulatedStream*;
using cudaEvent_t = EmulatedEvent*;
enum : unsigned { cudaEventDefault = 0, cudaEventDisableTiming = 2, cudaStreamNonBlocking = 1 };
enum cudaMemcpyKind { cudaMemcpyDefault = 4 };
enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount,
    cudaDevAttrL2CacheSize,
    cudaDevAttrComputeCapabilityMajor,
    cudaDevAttrComputeCapabilityMinor,
    cudaDevAttrMaxSharedMemoryPerBlockOptin
};

// The version is 13.0 unless EMULATED_DRIVER gives another: 12020 is 12.2, 0 is no driver.
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device);
cudaError_t cudaDeviceSynchronize();
struct cudaUUID_t {
    char bytes[16];
};
struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
    size_t totalGlobalMem;
    int major, minor;
};
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
// This is for tests: it pretends that another process has taken this much memory.
void emulated_foreign_memory(std::size_t bytes);
// These are for tests: pinned memory of all threads together is limited to this much, and has so
// much now. No limit is the default.
void emulated_pinned_limit(std::size_t bytes);
std::size_t emulated_pinned_bytes();
// These are for tests: they return whether cudaMallocHost allocated this memory, and whether
// nothing was written beside memory of either kind.
bool emulated_is_pinned(const void* memory);
bool emulated_guards_are_whole();
// This is for tests: it sets the maximum shared memory of a block, which is initially 163 KiB.
void emulated_shared_memory(int bytes);
// This is for tests: it sets the compute capability, initially 80, for contexts that are made
// afterwards.
void emulated_compute_capability(int times_ten);
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device);

// Memory of both kinds lies between guards, which are checked when it is freed, and is initially
// NaN. Freeing it while the device works ends the test: CUDA may wait then, but does not have to.
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMallocHost(void** memory, std::size_t bytes);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes);
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);

cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
// The time between two events is the sum of the emulated_device_work() calls between them.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);
void emulated_device_work(float milliseconds);

// A capture belongs to one thread, as with cudaStreamCaptureModeThreadLocal. Captured work runs in
// the order in which it was queued, with the arguments it was queued with.
struct EmulatedGraph;
using cudaGraph_t = EmulatedGraph*;
using cudaGraphExec_t = EmulatedGraph*;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone = 0,
    cudaStreamCaptureStatusActive = 1,
    cudaStreamCaptureStatusInvalidated = 2
};
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

// This is for tests: the number of launches over all threads.
int emulated_graph_launches();

// Returns true if a kernel may use the address: null, or memory of the device or pinned memory.
bool emulated_reaches(const void* address);

// Queues the work, or adds it to the stream's capture. It is counted when a device receives it.
cudaError_t emulated_submit(cudaStream_t stream, const EmulatedPiece& piece,
                            std::function<void()> work);

// A task is work that was queued on a stream. A task without `work` is done elsewhere.
struct EmulatedTask {
    std::atomic<bool> done{false}, begun{true};
    std::function<void()> work;
    std::vector<std::shared_ptr<EmulatedTask>> before;
};
using EmulatedWork = std::shared_ptr<EmulatedTask>;
// Queues work that is done elsewhere. Returns the work that must be done before it.
std::vector<EmulatedWork> emulated_queue(cudaStream_t stream, EmulatedWork work);
// Runs the work and all work before it, except parts that are done elsewhere or by another thread.
// Returns true if the work is then done. Safe from any thread.
bool emulated_advance(const EmulatedWork& work);
