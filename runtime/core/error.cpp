// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/error.hpp"

#include <cerrno>

#include "runtime/core/failure_reason.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/system_failure.hpp"

namespace lockstep {
namespace {

// Returns the file's name with its folder. The rest of the path is of the machine that built the
// program.
std::string_view short_name(std::string_view file) {
    const std::size_t name = file.rfind('/');
    if (name == std::string_view::npos || name == 0) return file;
    const std::size_t folder = file.rfind('/', name - 1);
    return folder == std::string_view::npos ? file : file.substr(folder + 1);
}

}  // namespace

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
    : std::runtime_error(shown_message(message)), kind_(kind), where_(where) {}

void require(bool condition, const char* what, SourceLocation where) {
    if (condition) return;
    throw Error(
        ErrorKind::contract,
        std::string(short_name(where.file)) + ":" + std::to_string(where.line) + ": " + what,
        where);
}

void throw_errno(const std::string& what, const std::string& path, SourceLocation where) {
    const int code = errno;
    throw SystemFailure(path + ": " + what + ": " + failure_reason(code), code, where);
}

}  // namespace lockstep
