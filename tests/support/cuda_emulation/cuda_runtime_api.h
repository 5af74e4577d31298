// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tests/support/cuda_emulation/work_log.hpp"

// CUDA's names for a GPU that is the calling processor: kernels and copies run sometimes at the
// call, after what they are ordered behind, and sometimes only when something waits for them. Each
// thread that makes streams has a GPU of its own. Only what the backend uses is here. The
// environment may say that a process sees several (LOCKSTEP_EMULATED_GPUS=2), or that they are
// parts of one GPU (LOCKSTEP_EMULATED_MIG=1).

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

// 13.0, unless EMULATED_DRIVER names another: 12020 is 12.2, 0 is no driver.
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
// For tests: as if another process had taken so much.
void emulated_foreign_memory(std::size_t bytes);
// For tests: how much shared memory a block may ask for, 163 KiB at first.
void emulated_shared_memory(int bytes);
// For tests: what contexts that are made from now on take the GPU for, 80 at first.
void emulated_compute_capability(int times_ten);
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device);

// Device memory lies between guards, which are looked at when it is freed, and begins as NaN.
// Freeing memory of either kind while the device works ends the test: CUDA may wait then, and need
// not.
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
// The sum of what emulated_device_work() was told before the one and not before the other.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);
void emulated_device_work(float milliseconds);

// Captures are of one thread, as with cudaStreamCaptureModeThreadLocal. What was captured runs in
// the order in which it was queued, with the arguments that it was queued with.
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

// For tests: how many were launched, over all threads.
int emulated_graph_launches();

// Queues the work, or takes it into the stream's capture. It is counted when a device gets it.
cudaError_t emulated_submit(cudaStream_t stream, const EmulatedPiece& piece,
                            std::function<void()> work);

// What was queued on a stream; by itself something that is done elsewhere.
struct EmulatedTask {
    std::atomic<bool> done{false}, begun{true};
    std::function<void()> work;
    std::vector<std::shared_ptr<EmulatedTask>> before;
};
using EmulatedWork = std::shared_ptr<EmulatedTask>;
// Queues work that is done elsewhere, after what is returned.
std::vector<EmulatedWork> emulated_queue(cudaStream_t stream, EmulatedWork work);
// Runs the work and all before it as far as nothing has to be done elsewhere or by another thread;
// whether it is done then. From any thread.
bool emulated_advance(const EmulatedWork& work);
