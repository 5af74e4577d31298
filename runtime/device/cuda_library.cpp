// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda_library.hpp"

#include <dlfcn.h>

namespace lockstep::device {

namespace {

void* open_library(const std::string& file) {
    std::string reason;
    for (const char* folder : {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"}) {
        // Global, since cuDNN's parts look for each other's functions.
        if (void* handle = ::dlopen((folder + file).c_str(), RTLD_NOW | RTLD_GLOBAL)) return handle;
        if (reason.empty()) reason = ::dlerror();
    }
    throw Error(ErrorKind::cuda, "GPUs need " + file + ", which cannot be opened (" + reason +
                                     "): install it, or name its folder in LD_LIBRARY_PATH");
}

}  // namespace

CudaLibrary::CudaLibrary(const std::string& file) : file_(file), handle_(open_library(file)) {}

void* CudaLibrary::symbol(const char* name) const {
    void* found = ::dlsym(handle_, name);
    if (found == nullptr)
        throw Error(ErrorKind::cuda, file_ + " has no " + name +
                                         ": it is another version than Lockstep was built for");
    return found;
}

}  // namespace lockstep::device
