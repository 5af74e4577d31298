// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/error.hpp"

#include <cerrno>
#include <system_error>

#include "runtime/core/system_failure.hpp"

namespace lockstep {

std::string_view name(ErrorKind kind) noexcept {
    switch (kind) {
        case ErrorKind::config:
            return "config";
        case ErrorKind::contract:
            return "contract";
        case ErrorKind::io:
            return "io";
        case ErrorKind::data:
            return "data";
        case ErrorKind::numeric:
            return "numeric";
        case ErrorKind::dnnl:
            return "dnnl";
        case ErrorKind::cuda:
            return "cuda";
        case ErrorKind::hdf5:
            return "hdf5";
        case ErrorKind::mpi:
            return "mpi";
        case ErrorKind::gloo:
            return "gloo";
        case ErrorKind::nccl:
            return "nccl";
        case ErrorKind::store:
            return "store";
        case ErrorKind::launch:
            return "launch";
        case ErrorKind::peer:
            return "peer";
    }
    return "unknown";
}

Error::Error(ErrorKind kind, const std::string& message, SourceLocation where)
    : std::runtime_error(message), kind_(kind), where_(where) {}

void require(bool condition, const char* what, SourceLocation where) {
    if (condition) return;
    throw Error(ErrorKind::contract,
                std::string(where.file) + ":" + std::to_string(where.line) + ": " + what, where);
}

void throw_errno(const std::string& what, const std::string& path, SourceLocation where) {
    const int code = errno;
    throw SystemFailure(path + ": " + what + ": " + std::generic_category().message(code), code,
                        where);
}

}  // namespace lockstep
