// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/doctor/findings.hpp"
#include "launcher/doctor/probes/facts.hpp"
#include "launcher/doctor/probes/probe_schedule.hpp"

namespace lockstep::launcher::doctor {

// These functions convert the values that ranks send to each other to text and back.
std::string encode(const RankFacts& facts);
std::string encode(const RankObservations& sight);
std::string encode(const std::vector<PairRate>& rates);
std::string encode(const Plan& plan);
RankFacts decode_rank(const std::string& text);
Plan decode_plan(const std::string& text);
RankObservations decode_sight(const std::string& text);
std::vector<PairRate> decode_rates(const std::string& text);

// Returns the whole report as one JSON document.
std::string report_json(const Facts& facts, const std::vector<Finding>& findings);

}  // namespace lockstep::launcher::doctor
