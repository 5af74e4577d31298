// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/nccl/nccl_library.hpp"

namespace lockstep::comm {

void NcclLibrary::check(ncclResult_t result, const std::string& what, ncclComm_t comm) const {
    if (result == ncclSuccess || result == ncclInProgress) return;
    std::string message =
        what + ": NCCL: " + find<decltype(ncclGetErrorString)>("ncclGetErrorString")(result);
    const char* last = find<decltype(ncclGetLastError)>("ncclGetLastError")(comm);
    if (last != nullptr && *last != '\0') message += std::string(" (") + last + ")";
    throw Error(result == ncclRemoteError ? ErrorKind::peer : ErrorKind::nccl, message);
}

std::string NcclLibrary::version() const {
    int version = 0;
    check(find<decltype(ncclGetVersion)>("ncclGetVersion")(&version), "ncclGetVersion", nullptr);
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

}  // namespace lockstep::comm
