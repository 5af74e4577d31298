// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/kernels/loss_sums.hpp"
#include "runtime/train/metrics/reply_metrics.hpp"

namespace lockstep::launcher {

using NamedValues = std::map<std::string, double>;

// What an evaluation measures of each row, and what follows of all rows: the same numbers, to the
// last bit, however the rows are divided among ranks. What was not measured is not there.
class RowScores {
public:
    // The metrics outlive the scores.
    explicit RowScores(const train::ReplyMetrics& metrics) : metrics_(metrics) {}

    // A row of this rank, by its number in the split; then its reply, if there is one. Returns the
    // row's own metrics.
    NamedValues add(std::uint32_t row, const kernels::LossSums& losses);
    NamedValues add_reply(const std::string& reply, const std::vector<std::string>& references);

    // Returns the figures of all ranks' rows. Collective.
    NamedValues of_all(comm::Communicator& communicator) const;

private:
    std::size_t width() const noexcept;

    const train::ReplyMetrics& metrics_;
    std::vector<double> table_;                       // width() values a row
    std::vector<std::vector<std::uint64_t>> ngrams_;  // for each of metrics_.inter_distinct()
};

}  // namespace lockstep::launcher
