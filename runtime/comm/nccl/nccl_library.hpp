// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <string>

#include "runtime/device/cuda_library.hpp"

namespace lockstep::comm {

// Opens NCCL, when the first object is made, and finds the functions that the communicator uses.
class NcclLibrary {
public:
    // Throws kind nccl (kind peer if another rank is the cause) with the name of the call when
    // `result` is an error. `comm` may be null.
    void check(ncclResult_t result, const std::string& what, ncclComm_t comm) const;
    // Returns a text such as "2.28.9".
    std::string version() const;

private:
    device::CudaLibrary library_{{"libnccl.so.2"}};

    template <class Function>
    Function* find(const char* name) const {
        return library_.function<Function>(name);
    }

public:
    decltype(ncclGetUniqueId)* const get_unique_id =
        find<decltype(ncclGetUniqueId)>("ncclGetUniqueId");
    decltype(ncclCommInitRankConfig)* const init_rank =
        find<decltype(ncclCommInitRankConfig)>("ncclCommInitRankConfig");
    decltype(ncclCommSplit)* const split = find<decltype(ncclCommSplit)>("ncclCommSplit");
    decltype(ncclCommGetAsyncError)* const get_async_error =
        find<decltype(ncclCommGetAsyncError)>("ncclCommGetAsyncError");
    decltype(ncclCommUserRank)* const user_rank =
        find<decltype(ncclCommUserRank)>("ncclCommUserRank");
    decltype(ncclCommCount)* const count = find<decltype(ncclCommCount)>("ncclCommCount");
    decltype(ncclCommFinalize)* const finalize =
        find<decltype(ncclCommFinalize)>("ncclCommFinalize");
    decltype(ncclCommDestroy)* const destroy = find<decltype(ncclCommDestroy)>("ncclCommDestroy");
    decltype(ncclCommAbort)* const abort = find<decltype(ncclCommAbort)>("ncclCommAbort");
    decltype(ncclCommRegister)* const register_memory =
        find<decltype(ncclCommRegister)>("ncclCommRegister");
    decltype(ncclCommDeregister)* const deregister_memory =
        find<decltype(ncclCommDeregister)>("ncclCommDeregister");
    decltype(ncclAllReduce)* const all_reduce = find<decltype(ncclAllReduce)>("ncclAllReduce");
    decltype(ncclReduceScatter)* const reduce_scatter =
        find<decltype(ncclReduceScatter)>("ncclReduceScatter");
    decltype(ncclAllGather)* const all_gather = find<decltype(ncclAllGather)>("ncclAllGather");
    decltype(ncclBroadcast)* const broadcast = find<decltype(ncclBroadcast)>("ncclBroadcast");
    decltype(ncclSend)* const send = find<decltype(ncclSend)>("ncclSend");
    decltype(ncclRecv)* const recv = find<decltype(ncclRecv)>("ncclRecv");
};

}  // namespace lockstep::comm
