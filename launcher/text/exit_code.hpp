// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/error.hpp"

namespace lockstep::launcher {

// Returns the exit code of a program that an error ends: 2 means that the request was wrong, 3 that
// another rank failed, 1 that this process failed. A failure that may pass is 1, so that a launcher
// starts the program again.
int exit_code(const Error& error) noexcept;

}  // namespace lockstep::launcher
