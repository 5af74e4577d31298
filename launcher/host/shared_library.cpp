// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/shared_library.hpp"

#include <dlfcn.h>

#include <array>

namespace lockstep::launcher {

SharedLibrary::SharedLibrary(std::initializer_list<std::string> names) {
    for (const std::string& name : names) {
        handle_ = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
        if (handle_ != nullptr) return;
        if (!problem_.empty()) continue;
        const char* reason = ::dlerror();
        problem_ = reason == nullptr ? name + " does not open" : reason;
        if (problem_.find("No such file") != std::string::npos) problem_ = name + " is not there";
    }
}

void* SharedLibrary::symbol(const char* name) const {
    return handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
}

std::string mpi_version() {
    const SharedLibrary library{"libmpi.so.40", "libmpi.so.12", "libmpi.so"};
    auto* const version = library.find<int(char*, int*)>("MPI_Get_library_version");
    constexpr std::size_t longest = 8192;  // the largest MPI_MAX_LIBRARY_VERSION_STRING
    std::array<char, longest> text{};
    int length = 0;
    if (version == nullptr || version(text.data(), &length) != 0) return "none";
    // The text is "Open MPI v4.1.4, package: ..." or "MPICH Version:\t4.0\n...".
    const std::string whole(text.data());
    return whole.substr(0, whole.find_first_of(",\n"));
}

std::string nccl_version() {
    const SharedLibrary library{"libnccl.so.2"};
    auto* const version = library.find<int(int*)>("ncclGetVersion");
    int number = 0;  // 21903 is 2.19.3
    if (version == nullptr || version(&number) != 0) return "none";
    return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
           std::to_string(number % 100);
}

}  // namespace lockstep::launcher
