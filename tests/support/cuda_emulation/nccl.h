// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

// Implements NCCL's names for ranks that are threads of one process. Each communicator has a thread
// that runs the operations queued on it. It is as strict as the real NCCL: nothing may be called
// while an operation is in progress, all ranks must queue the same operations, and memory must be
// deregistered before the end.

constexpr int NCCL_UNIQUE_ID_BYTES = 128;
struct ncclUniqueId {
    char internal[NCCL_UNIQUE_ID_BYTES];
};
struct ncclComm;
using ncclComm_t = ncclComm*;
enum ncclResult_t {
    ncclSuccess = 0,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7
};
enum ncclDataType_t {
    ncclUint8 = 1,
    ncclUint64 = 5,
    ncclFloat32 = 7,
    ncclFloat64 = 8,
    ncclBfloat16 = 9
};
enum ncclRedOp_t { ncclSum = 0, ncclMax = 2, ncclMin = 3 };
constexpr int NCCL_SPLIT_NOCOLOR = -1;
struct ncclConfig_t {
    int blocking = 1;
    int maxCTAs = 0;  // undefined
};
#define NCCL_CONFIG_INITIALIZER \
    {}

extern "C" {
ncclResult_t ncclGetVersion(int* version);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t comm);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config);
ncclResult_t ncclCommSplit(ncclComm_t comm, int colour, int key, ncclComm_t* part,
                           ncclConfig_t* config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error);
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank);
ncclResult_t ncclCommCount(ncclComm_t comm, int* size);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommRegister(ncclComm_t comm, void* memory, std::size_t bytes, void** handle);
ncclResult_t ncclCommDeregister(ncclComm_t comm, void* handle);
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);

// These are for tests: the first makes all communicators report that the process of another rank is
// gone, the second returns how much memory is registered over all communicators.
void emulated_nccl_remote_error();
std::size_t emulated_nccl_registered();
// Returns the number of calls of collectives, sends and receives over all communicators. NCCL
// starts a thread for each of them because they do not block.
int emulated_nccl_calls();
// Returns how many bytes the operations were given, over all ranks.
std::size_t emulated_nccl_bytes();
// Keeps operations in progress (calls), or keeps aborts from ending (aborts), until it is called
// with `nothing`.
enum class EmulatedHold { nothing, calls, aborts };
void emulated_nccl_hold(EmulatedHold what);
// Returns the maximum number of blocks of the communicator made last; 0: no limit.
int emulated_nccl_blocks();
// Returns the number of communicators that are being aborted.
int emulated_nccl_aborting();
// Returns the number of communicators that were made and neither destroyed nor aborted.
int emulated_nccl_communicators();
}
