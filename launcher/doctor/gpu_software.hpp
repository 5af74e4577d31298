// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/facts.hpp"
#include "launcher/doctor/findings.hpp"

namespace lockstep::launcher::doctor {

// What this process finds. The driver is `host`'s, as its management library tells. Opens CUDA's
// libraries.
GpuSoftware gpu_software(const GpuHost& host);

// A row of the table of what computing on GPUs takes.
struct SoftwareRow {
    std::string part, found;
    Severity severity = Severity::notes;
    std::string problem = "", advice = "";  // empty: nothing is wrong
};

// Notes are for the table alone; what is worse is found by judge_software() too. Pure.
std::vector<SoftwareRow> software_rows(const RankFacts& rank);

// The table, in Markdown that is read as it is.
std::string software_table(const std::vector<SoftwareRow>& rows);

}  // namespace lockstep::launcher::doctor
