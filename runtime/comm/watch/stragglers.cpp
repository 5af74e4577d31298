// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/watch/stragglers.hpp"

#include <algorithm>
#include <array>

#include "runtime/comm/watch/rank_progress.hpp"

namespace lockstep::comm {

namespace {

constexpr double slow = 1.2;
// Differences in shorter windows come from the operating system.
constexpr std::int64_t shortest_us = 1'000'000;

using Part = std::int64_t (*)(const WindowPace&);

struct NamedPart {
    Phase phase;
    Part of;
};

constexpr std::array parts = {
    NamedPart{Phase::data, [](const WindowPace& pace) { return pace.data_us; }},
    NamedPart{Phase::computing, [](const WindowPace& pace) { return pace.computing_us; }},
    NamedPart{Phase::optimizer, [](const WindowPace& pace) { return pace.optimizer_us; }},
};

// Returns the lower median of an even number: with two ranks, the slower one is compared with the
// faster one.
std::int64_t median(const std::vector<Sighting>& ranks, Part part) {
    std::vector<std::int64_t> values;
    for (const auto& rank : ranks) values.push_back(part(rank.record->window));
    const auto middle = values.begin() + (static_cast<std::ptrdiff_t>(values.size()) - 1) / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

Phase largest_excess(const std::vector<Sighting>& ranks, const WindowPace& pace) {
    const auto excess = [&](const NamedPart& part) {
        return part.of(pace) - median(ranks, part.of);
    };
    return std::max_element(parts.begin(), parts.end(),
                            [&](const auto& a, const auto& b) { return excess(a) < excess(b); })
        ->phase;
}

}  // namespace

std::vector<Straggler> Stragglers::look(const std::vector<Sighting>& ranks) {
    if (ranks.size() < 2 || !ranks.front().record) return {};
    const std::int64_t window = ranks.front().record->window.last_step;
    const bool same = std::all_of(ranks.begin(), ranks.end(), [&](const Sighting& rank) {
        return rank.record && rank.record->window.last_step == window;
    });
    if (!same || window <= seen_) return {};
    seen_ = window;
    const std::int64_t usual =
        median(ranks, [](const WindowPace& pace) { return pace.total_us(); });
    std::vector<Straggler> found;
    for (std::size_t i = 0; i < ranks.size() && usual >= shortest_us; ++i) {
        const WindowPace& pace = ranks[i].record->window;
        const double ratio = static_cast<double>(pace.total_us()) / static_cast<double>(usual);
        const int rank = static_cast<int>(i);
        if (ratio < slow || !named_.insert(rank).second) continue;
        found.push_back(
            {rank, ranks[i].record->host, pace, ratio - 1, name(largest_excess(ranks, pace))});
    }
    return found;
}

}  // namespace lockstep::comm
