// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::launcher::ladder {

// How much there is to do: rows of the epochs that a rung is measured by, and of the split `valid`.
struct Work {
    double train_rows = 0;
    std::int64_t valid_rows = 0;
};

// What a rung did of it.
struct Measurement {
    double train_rows = 0, train_seconds = 0;
    double valid_rows = 0, valid_seconds = 0;
    std::optional<double> ppl;  // of the split `valid`

    // Of all the work, reckoned from the part that was done; 0 where there is none.
    double train_s(const Work& work) const;
    double valid_s(const Work& work) const;  // one validation
    double total_s(const Work& work) const { return train_s(work) + valid_s(work); }
    bool trained_whole(const Work& work) const { return train_rows >= work.train_rows; }
    bool validated_whole(const Work& work) const {
        return valid_rows >= static_cast<double>(work.valid_rows);
    }
};

// From the metrics of a run's folder, which have a line for each step. The first step, which also
// makes room for the others and chooses their kernels, counts as one of them does, so that short
// runs tell of long ones. Throws a data error where the metrics tell of no step.
Measurement read_measurement(const std::string& folder);

}  // namespace lockstep::launcher::ladder
