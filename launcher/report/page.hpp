// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// Every page begins with this text.
constexpr std::string_view page_mark = "<!DOCTYPE html>\n<!-- lockstep report -->\n";

// Returns the folders without their common beginning. A single folder is returned unchanged.
std::vector<std::string> labels_of(const std::vector<std::string>& folders);

// Returns a page about one run or several runs side by side (at most `colours`). The page loads
// nothing and runs no script.
std::string page(const std::vector<Run>& runs);

}  // namespace lockstep::launcher::report
