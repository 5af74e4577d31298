// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda_library.hpp"

#include <dlfcn.h>

namespace lockstep::device {

namespace {

// Returns null if the library does not open. In `reason`, any other failure replaces the reason "No
// such file".
void* open_library(const std::string& file, std::string& reason) {
    for (const char* folder : {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"}) {
        // RTLD_GLOBAL is needed because the parts of cuDNN look for each other's functions.
        if (void* handle = ::dlopen((folder + file).c_str(), RTLD_NOW | RTLD_GLOBAL)) return handle;
        const std::string failure = ::dlerror();
        const bool absent = failure.find("No such file") != std::string::npos;
        if (reason.empty() || (!absent && reason.find("No such file") != std::string::npos))
            reason = failure;
    }
    return nullptr;
}

}  // namespace

OpenedLibrary open_cuda_library(const std::vector<std::string>& files) {
    std::string names, reason;
    for (const std::string& file : files) {
        if (void* handle = open_library(file, reason)) return {handle, file, ""};
        names += (names.empty() ? "" : " or ") + file;
    }
    return {nullptr, names, reason};
}

CudaLibrary::CudaLibrary(const std::vector<std::string>& files) {
    const OpenedLibrary opened = open_cuda_library(files);
    if (opened.handle == nullptr)
        throw Error(ErrorKind::cuda, "GPUs need " + opened.file + ", which cannot be opened (" +
                                         opened.problem +
                                         "): install it, or name its folder in LD_LIBRARY_PATH");
    file_ = opened.file;
    handle_ = opened.handle;
}

void* CudaLibrary::symbol(const char* name) const {
    void* found = ::dlsym(handle_, name);
    if (found == nullptr)
        throw Error(ErrorKind::cuda, file_ + " has no " + name +
                                         ": it is another version than Lockstep was built for");
    return found;
}

}  // namespace lockstep::device
