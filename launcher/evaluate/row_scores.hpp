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

// Collects the measured values of each row and calculates the metrics of all rows. The metrics are
// equal to the last bit for any division of the rows among ranks. Values that were not measured are
// left out.
class RowScores {
public:
    // The metrics must outlive the scores.
    explicit RowScores(const train::ReplyMetrics& metrics) : metrics_(metrics) {}

    // add() takes a row of this rank, with its number in the split; add_reply() then takes its
    // reply, if there is one. Both return the row's own metrics.
    NamedValues add(std::uint32_t row, const kernels::LossSums& losses);
    NamedValues add_reply(const std::string& reply, const std::vector<std::string>& references);

    // Returns the metrics of all ranks' rows. Collective.
    NamedValues of_all(comm::Communicator& communicator) const;

private:
    std::size_t width() const noexcept;

    const train::ReplyMetrics& metrics_;
    std::vector<double> table_;                       // width() values per row
    std::vector<std::vector<std::uint64_t>> ngrams_;  // indexed like metrics_.inter_distinct()
};

}  // namespace lockstep::launcher
