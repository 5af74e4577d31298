// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace lockstep::launcher {

// Returns the message for the user: an Error's own text, or what to do about an exception of the
// standard library.
std::string exception_text(const std::exception& exception);

}  // namespace lockstep::launcher
