// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "launcher/evaluate/row_scores.hpp"
#include "launcher/evaluate/row_texts.hpp"
#include "runtime/comm/communicator.hpp"

namespace lockstep::launcher {

// Collects the evaluated rows for --world-logs.
class WorldLog {
public:
    void add(std::uint32_t row, const RowTexts& texts, const std::optional<std::string>& reply,
             const NamedValues& metrics);

    // Rank 0 writes the rows of all ranks in their order, one JSON object per line. An existing
    // file of that name is replaced at the end. Collective.
    void write(comm::Communicator& communicator, const std::string& path) const;

private:
    std::map<std::uint32_t, std::string> lines_;
};

}  // namespace lockstep::launcher
