// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/findings.hpp"
#include "launcher/doctor/probes/facts.hpp"

namespace lockstep::launcher::doctor {

// Opens CUDA's libraries and returns what this process finds. `host` names the driver, as reported
// by its management library.
GpuSoftware gpu_software(const GpuHost& host);

// A row describes one piece of the software that computing on GPUs needs.
struct SoftwareRow {
    std::string part, found;
    Severity severity = Severity::notes;
    std::string problem = "", advice = "";  // empty: no problem
};

// Returns the rows of the table. A pure function. Only the table shows rows with severity `notes`;
// judge_software() also reports the worse ones.
std::vector<SoftwareRow> software_rows(const RankFacts& rank);

// Returns the table in Markdown that is readable as plain text.
std::string software_table(const std::vector<SoftwareRow>& rows);

}  // namespace lockstep::launcher::doctor
