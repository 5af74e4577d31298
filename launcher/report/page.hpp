// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// What every page begins with.
constexpr std::string_view page_mark = "<!DOCTYPE html>\n<!-- lockstep report -->\n";

// Folders without what all of them begin with; a single one as it is.
std::vector<std::string> labels_of(const std::vector<std::string>& folders);

// One run, or several side by side (at most `colours`). Loads nothing and runs no script.
std::string page(const std::vector<Run>& runs);

}  // namespace lockstep::launcher::report
