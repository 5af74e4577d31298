// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/error.hpp"

namespace lockstep::launcher {

// Ends a rank whose error another rank tells or this one has told: the program prints nothing, and
// its exit code is that of the error.
class ToldElsewhere : public Error {
public:
    explicit ToldElsewhere(const Error& error) : Error(error) {}
};

}  // namespace lockstep::launcher
