// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

namespace lockstep::data {

struct InspectOptions {
    std::string data;     // path of the data directory
    int sample_rows = 3;  // rows shown of each split
    // verify: reads every row, and compares each shard with its hash in dataset.json.
    enum class Shards { read_some, verify } shards = Shards::read_some;
};

enum class Inspected { good, damaged };

// Writes counts, length histograms and sample rows of a data directory for people to read. If a
// file is damaged, lost or was made with another dictionary, throws an error that names it. With
// Shards::verify such damage is a result instead, and the last lines are the verdict.
Inspected inspect(const InspectOptions& options, std::ostream& out);

}  // namespace lockstep::data
