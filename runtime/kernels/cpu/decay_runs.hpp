// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/optimizers.hpp"

namespace lockstep::kernels::cpu {

enum class Decays { no, yes };

inline Decays decays_at(DecayLines<HostSpace> lines, std::int64_t element) {
    const auto line = static_cast<std::size_t>(element) / decay_line;
    return lines.empty() || (lines[line / 32] >> line % 32 & 1) != 0 ? Decays::yes : Decays::no;
}

// Covers [first, first + count) with the minimum number of calls body(first, count, decays).
template <class Body>
void for_each_decay_run(DecayLines<HostSpace> lines, std::int64_t first, std::int64_t count,
                        const Body& body) {
    constexpr auto line = static_cast<std::int64_t>(decay_line);
    const std::int64_t end = first + count;
    while (first < end) {
        const Decays decays = decays_at(lines, first);
        std::int64_t to = lines.empty() ? end : first / line * line + line;
        while (to < end && decays_at(lines, to) == decays) to += line;
        to = std::min(to, end);
        body(first, to - first, decays);
        first = to;
    }
}

}  // namespace lockstep::kernels::cpu
