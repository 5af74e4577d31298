// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace lockstep::launcher::report {

// The style has this many colours, `.c0` to `.c7`.
constexpr std::size_t colours = 8;

// Returns the page's CSS for light and dark, wide and narrow screens and for paper.
std::string_view style();

}  // namespace lockstep::launcher::report
