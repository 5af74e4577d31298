// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/findings.hpp"
#include "launcher/doctor/probes/facts.hpp"

namespace lockstep::launcher::doctor {

// Returns the whole report for people: the facts, the problems and the verdict.
std::string report_text(const Facts& facts, const std::vector<Finding>& findings);

// These functions print the parts of the report.
std::string rank_table(const Facts& facts);
std::string host_lines(const Facts& facts);
std::string storage_lines(const Facts& facts);
std::string finding_lines(const std::vector<Finding>& findings);

}  // namespace lockstep::launcher::doctor
