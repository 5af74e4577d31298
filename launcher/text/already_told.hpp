// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/text/exit_code.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

// Ends a rank whose error this rank or another one has told or tells: the program prints nothing,
// and its exit code is that of the error.
class AlreadyTold : public Error {
public:
    explicit AlreadyTold(const Error& error) : Error(error), code_(exit_code(error)) {}
    int code() const noexcept { return code_; }

private:
    int code_;  // of the whole error, of which this object is only the base
};

}  // namespace lockstep::launcher
