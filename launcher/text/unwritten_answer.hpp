// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/system_failure.hpp"

namespace lockstep::launcher {

// An answer could not be written after the work had begun. Nothing is wrong with the request, so
// the exit code is 1.
class UnwrittenAnswer : public SystemFailure {
public:
    using SystemFailure::SystemFailure;
};

}  // namespace lockstep::launcher
