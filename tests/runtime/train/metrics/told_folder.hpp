// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>

#include "runtime/core/log.hpp"
#include "tests/support/files.hpp"

namespace lockstep::tests {

// A folder for metrics, and what their writer logs.
struct ToldFolder : ScratchFolder {
    std::ostringstream told;
    Log log{told, Verbosity::normal, 0, ""};
};

}  // namespace lockstep::tests
