// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/train/sharing/run_tensors.hpp"

namespace lockstep::train {

// The values of an owned part: one for each element, or one for each cell beside the codes.
struct PartValues {
    HostView<float> values;
    HostView<std::uint8_t> codes = {};
};

// Appends the pieces of the parameters that lie in `part`. The tensors' names end with `suffix`.
void append_pieces(std::vector<RunPiece>& pieces, const ParameterTable& table,
                   const OwnedPart& part, const std::string& suffix, const PartValues& values);

}  // namespace lockstep::train
