// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/mpi_loader.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

constexpr const char* file_name = "liblockstep_mpi.so";
constexpr const char* variable = "LOCKSTEP_MPI_MODULE";

std::string find_module() {
    namespace fs = std::filesystem;
    if (const char* given = std::getenv(variable); given != nullptr && *given != '\0') return given;
    std::error_code failure;
    const fs::path prefix = fs::read_symlink("/proc/self/exe", failure).parent_path().parent_path();
    for (const char* folder : {"lib", LOCKSTEP_LIBDIR}) {
        const fs::path candidate = prefix / folder / "lockstep" / file_name;
        if (fs::exists(candidate, failure)) return candidate;
    }
    throw Error(ErrorKind::mpi, "MPI started this run, but the MPI module " +
                                    (prefix / "lib/lockstep" / file_name).string() +
                                    " is not there: build Lockstep where MPI is installed, or "
                                    "name the module by " +
                                    variable);
}

}  // namespace

std::unique_ptr<Transport> connect_mpi(const std::string& path, const MpiOptions& options,
                                       MpiLocality& locality) {
    const std::string module = path.empty() ? find_module() : path;
    // Never closed: MPI's own threads and exit handlers live in it.
    void* handle = ::dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* found = handle == nullptr ? nullptr : ::dlsym(handle, mpi_module_function);
    if (found == nullptr) {
        const char* reason = ::dlerror();
        throw Error(ErrorKind::mpi, module + " cannot be loaded (" +
                                        (reason == nullptr ? "unknown reason" : reason) +
                                        "): rebuild it against this machine's MPI");
    }
    return std::unique_ptr<Transport>(reinterpret_cast<ConnectMpi>(found)(&options, &locality));
}

}  // namespace lockstep::comm
