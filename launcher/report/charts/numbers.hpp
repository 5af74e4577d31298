// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

// These functions give the same text in every locale.
namespace lockstep::launcher::report {

std::string number_text(double value);    // four significant digits: "0.1234", "13,222", "3.2e-5"
std::string tick_text(double value);      // a round value: "0.002", "2e-4", "250", "20k"
std::string percent_text(double share);   // "34.2 %"
std::string coordinate(double position);  // one decimal, unless it is 0

// Returns nothing when the word is not a number.
std::optional<double> number_of(std::string_view word);

}  // namespace lockstep::launcher::report
