// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/token_coordinates.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep::kernels {

namespace {

void follow(const FollowingLabels<HostSpace>& given, std::size_t s, std::int32_t first,
            std::int32_t end) {
    if (first == end) return;
    const auto start = std::min(first + given.starts[s], end);
    std::fill(given.labels.begin() + first, given.labels.begin() + start, -1);
    if (start == end) return;
    std::copy(given.tokens.begin() + start + 1, given.tokens.begin() + end,
              given.labels.begin() + start);
    given.labels[static_cast<std::size_t>(end) - 1] = given.last[s];
}

}  // namespace

void locate_tokens(CpuContext&, HostView<const std::int32_t> offsets,
                   HostView<const std::uint32_t> rows, HostView<std::int32_t> positions,
                   HostView<std::uint32_t> token_rows, const FollowingLabels<HostSpace>& labels) {
    require(offsets.size() == rows.size() + 1 && positions.size() == token_rows.size(),
            "coordinates: shapes differ");
    const auto real = static_cast<std::size_t>(offsets[rows.size()]);
    require(real <= positions.size(), "coordinates: more tokens than there is room for");
    for (std::size_t s = 0; s < rows.size(); ++s) {
        const std::int32_t first = offsets[s], end = offsets[s + 1];
        std::iota(positions.begin() + first, positions.begin() + end, 0);
        std::fill(token_rows.begin() + first, token_rows.begin() + end, rows[s]);
        if (!labels.labels.empty()) follow(labels, s, first, end);
    }
    const auto filler = static_cast<std::ptrdiff_t>(real);
    std::fill(positions.begin() + filler, positions.end(), 0);
    std::fill(token_rows.begin() + filler, token_rows.end(), 0u);
    if (!labels.labels.empty()) std::fill(labels.labels.begin() + filler, labels.labels.end(), -1);
}

}  // namespace lockstep::kernels
