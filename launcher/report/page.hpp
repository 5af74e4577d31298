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

// Returns the same page as `lockstep report --serve` serves it, with a script of the server that
// refreshes it in place. `above` is HTML that stands above the runs, which may be none.
std::string live_page(const std::vector<Run>& runs, const std::string& above);

}  // namespace lockstep::launcher::report
