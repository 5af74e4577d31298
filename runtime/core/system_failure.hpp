// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/core/error.hpp"

namespace lockstep {

// An io error with the number (errno) that the system gave for it.
class SystemFailure : public Error {
public:
    SystemFailure(const std::string& message, int code,
                  SourceLocation where = SourceLocation::current())
        : Error(ErrorKind::io, message, where), code_(code) {}

    int code() const noexcept { return code_; }

private:
    int code_;
};

// A system failure that says nothing about the file and that several attempts met.
class TransientFailure : public SystemFailure {
public:
    using SystemFailure::SystemFailure;
};

// Tells whether the same call may succeed later: the file server or the limits of the process
// failed, and the file may be sound.
bool is_transient(int code) noexcept;
// Tells whether a disk or a quota is full.
bool disk_is_full(int code) noexcept;

}  // namespace lockstep
