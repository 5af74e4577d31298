// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "runtime/core/source_location.hpp"

namespace lockstep {

// The kind determines the exit code. config: the request was wrong (exit 2). peer: another rank
// failed or timed out (exit 3). All other kinds: this rank failed (exit 1). contract: a programming
// error in Lockstep itself.
enum class ErrorKind {
    config,
    contract,
    io,
    data,
    numeric,
    dnnl,
    cuda,
    hdf5,
    mpi,
    gloo,
    nccl,
    store,
    launch,
    peer
};

std::string_view name(ErrorKind kind) noexcept;

// This is the only exception type of Lockstep. what() is one line for the user: it says what is
// wrong, where, and what to do.
class Error : public std::runtime_error {
public:
    Error(ErrorKind kind, const std::string& message,
          SourceLocation where = SourceLocation::current());

    ErrorKind kind() const noexcept { return kind_; }
    SourceLocation where() const noexcept { return where_; }

private:
    ErrorKind kind_;
    SourceLocation where_;
};

// Throws a contract error when `condition` does not hold.
void require(bool condition, const char* what, SourceLocation where = SourceLocation::current());

// Throws an io error that names `path` and the text of errno, which it reads first.
[[noreturn]] void throw_errno(const std::string& what, const std::string& path,
                              SourceLocation where = SourceLocation::current());

}  // namespace lockstep
