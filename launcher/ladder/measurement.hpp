// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::launcher::ladder {

// Describes the amount of work: the rows of the epochs over which a rung is measured, and the rows
// of the split `valid`.
struct Work {
    double train_rows = 0;
    std::int64_t valid_rows = 0;
};

// Records the part of the work that a rung did.
struct Measurement {
    double train_rows = 0, train_seconds = 0;
    double valid_rows = 0, valid_seconds = 0;
    std::optional<double> ppl;      // perplexity on the split `valid`
    std::int64_t memory_bytes = 0;  // the peak of rank 0 in its host's memory; 0: not known

    // Returns the seconds for all the training, extrapolated from the part that was done; 0 when
    // nothing was done.
    double train_s(const Work& work) const;
    double valid_s(const Work& work) const;  // seconds for one validation
    double total_s(const Work& work) const { return train_s(work) + valid_s(work); }
    bool trained_whole(const Work& work) const { return train_rows >= work.train_rows; }
    bool validated_whole(const Work& work) const {
        return valid_rows >= static_cast<double>(work.valid_rows);
    }
};

// Reads the metrics of a run's folder, which have a line for each step. The first step also
// allocates memory and chooses kernels. It therefore counts no more than the median of the others,
// so that short runs predict long ones. Throws a data error when the metrics contain no step.
Measurement read_measurement(const std::string& folder);

}  // namespace lockstep::launcher::ladder
