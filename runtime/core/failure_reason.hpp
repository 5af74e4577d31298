// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep {

// Returns the system's text for an error number. A process of root that is refused also learns why
// root may be: file servers and containers take its rights away.
std::string failure_reason(int code);

// Returns the same for something that could not be written, and what the user can do about it.
std::string writing_failure_reason(int code);

}  // namespace lockstep
