// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/text/exit_code.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

// Ends a rank whose error another rank tells or this one has told: the program prints nothing, and
// its exit code is that of the error.
class ToldElsewhere : public Error {
public:
    explicit ToldElsewhere(const Error& error) : Error(error), code_(exit_code(error)) {}
    int code() const noexcept { return code_; }

private:
    int code_;  // of the whole error, of which this object is only the base
};

}  // namespace lockstep::launcher
