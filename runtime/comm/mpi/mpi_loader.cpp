// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/mpi/mpi_loader.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "runtime/core/error.hpp"
#include "runtime/files/own_binary.hpp"

namespace lockstep::comm {

namespace {

constexpr const char* file_name = "liblockstep_mpi.so";
constexpr const char* variable = "LOCKSTEP_MPI_MODULE";

std::string named_module(const std::string& path) {
    const char* given = std::getenv(variable);
    return path.empty() && given != nullptr ? given : path;
}

std::filesystem::path prefix() {
    return std::filesystem::path(own_binary()).parent_path().parent_path();
}

// Returns an empty path if there is no module.
std::string module_beside_the_program() {
    std::error_code failure;
    for (const char* folder : {"lib", LOCKSTEP_LIBDIR}) {
        auto candidate = prefix() / folder / "lockstep" / file_name;
        if (std::filesystem::exists(candidate, failure)) return candidate;
    }
    return "";
}

// The module is never closed: MPI's own threads and exit handlers live in it.
void* load(const std::string& module) { return ::dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL); }

}  // namespace

bool mpi_is_here(const std::string& path) {
    if (!named_module(path).empty()) return true;
    const std::string module = module_beside_the_program();
    return !module.empty() && load(module) != nullptr;
}

std::unique_ptr<Transport> connect_mpi(const std::string& path, const MpiOptions& options,
                                       int& local_size) {
    std::string module = named_module(path);
    if (module.empty()) module = module_beside_the_program();
    if (module.empty()) {
        throw Error(ErrorKind::mpi, "MPI started this run, but the MPI module " +
                                        (prefix() / "lib/lockstep" / file_name).string() +
                                        " is not there: build Lockstep where MPI is installed, or "
                                        "name the module by " +
                                        variable);
    }
    void* handle = load(module);
    void* found = handle == nullptr ? nullptr : ::dlsym(handle, mpi_module_function);
    if (found == nullptr) {
        const char* reason = ::dlerror();
        throw Error(ErrorKind::mpi, module + " cannot be loaded (" +
                                        (reason == nullptr ? "unknown reason" : reason) +
                                        "): rebuild it against this machine's MPI");
    }
    return std::unique_ptr<Transport>(reinterpret_cast<ConnectMpi>(found)(&options, &local_size));
}

}  // namespace lockstep::comm
