// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "data/templates/machine.hpp"

namespace lockstep::data::jinja {

// Returns what strftime() gives for the begin of the day, in English. Fails for other codes than
// those of days, months, years and times.
std::string date_text(Machine& machine, const Date& date, std::string_view format);

}  // namespace lockstep::data::jinja
