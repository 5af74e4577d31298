// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

namespace lockstep::data {

struct InspectOptions {
    std::string data;     // the directory
    int sample_rows = 3;  // rows shown of each split
};

// Writes counts, length histograms and sample rows of a data directory, for people. Throws a data
// error that names the file when a shard is damaged or was made with another dictionary.
void inspect(const InspectOptions& options, std::ostream& out);

}  // namespace lockstep::data
