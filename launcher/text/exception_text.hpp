// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace lockstep::launcher {

// What went wrong, for the user: an Error's own words, or what to do about an exception of the
// standard library.
std::string exception_text(const std::exception& exception);

}  // namespace lockstep::launcher
