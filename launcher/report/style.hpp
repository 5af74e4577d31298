// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace lockstep::launcher::report {

// The colours of `.c0` to `.c7`.
constexpr std::size_t colours = 8;

// The page's CSS: light and dark, wide and narrow, on paper.
std::string_view style();

}  // namespace lockstep::launcher::report
