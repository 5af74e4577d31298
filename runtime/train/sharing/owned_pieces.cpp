// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/sharing/owned_pieces.hpp"

#include <algorithm>

namespace lockstep::train {

void append_pieces(std::vector<RunPiece>& pieces, const ParameterTable& table,
                   const OwnedPart& part, const std::string& suffix, const PartValues& values) {
    const std::size_t part_end = part.first + part.count;
    const std::size_t cell = values.codes.empty() ? 1 : kernels::moment_cell;
    for (const Parameter& parameter : table.all()) {
        const std::size_t begin = std::max(part.first, parameter.offset);
        const std::size_t end = std::min(part_end, parameter.offset + parameter.count);
        if (begin >= end) continue;
        const std::size_t at = begin - part.first, count = end - begin;
        RunPiece piece{parameter.name + suffix, parameter.shape, begin - parameter.offset,
                       values.values.subview(at / cell, (count + cell - 1) / cell)};
        if (!values.codes.empty()) piece.codes = values.codes.subview(at, count);
        pieces.push_back(std::move(piece));
    }
}

}  // namespace lockstep::train
