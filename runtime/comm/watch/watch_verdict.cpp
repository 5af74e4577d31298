// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/watch/watch_verdict.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <functional>

#include "runtime/comm/watch/rank_progress.hpp"

namespace lockstep::comm {

namespace {

constexpr std::array causes = {Cause::failed, Cause::lost, Cause::silent, Cause::stuck,
                               Cause::unknown};

using Ranks = std::vector<Sighting>;

std::optional<Verdict> first(const Ranks& ranks, Cause cause,
                             const std::function<bool(const Sighting&)>& matches) {
    const auto found = std::find_if(ranks.begin(), ranks.end(), matches);
    if (found == ranks.end()) return std::nullopt;
    return Verdict{static_cast<int>(found - ranks.begin()), cause};
}

bool in(const Sighting& rank, Condition condition) {
    return rank.record && rank.record->condition == condition;
}

std::int64_t age_ms(const Sighting& rank) {
    return rank.silent_ms + (rank.record ? rank.record->still_ms : 0);
}

// A rank must give signs and read its data in time. Computing, validating and saving may take
// longer unless others wait.
bool overdue(const Sighting& rank, const WatchLimits& limits) {
    if (!rank.record) return rank.silent_ms >= limits.timeout_ms;
    if (in(rank, Condition::left)) return false;
    const bool reads = !rank.record->waiting && rank.record->phase == name(Phase::data);
    return rank.silent_ms >= limits.timeout_ms || (reads && age_ms(rank) >= limits.timeout_ms);
}

// Tells whether the rank is not where others may wait for it.
bool absent(const Sighting& rank) { return in(rank, Condition::running) && !rank.record->waiting; }

// Ranks may wait for any time for one that makes progress. They wait in vain when a rank is absent
// and stands still, or when no rank has made progress for the time-out.
bool wait_in_vain(const Ranks& ranks, const WatchLimits& limits) {
    const auto still = [&](const Sighting& rank) { return age_ms(rank) >= limits.timeout_ms; };
    const auto present = [](const Sighting& rank) { return !in(rank, Condition::left); };
    const bool waiting = std::ranges::any_of(ranks, [&](const Sighting& rank) {
        return present(rank) && rank.record && rank.record->waiting && still(rank);
    });
    if (!waiting) return false;
    return std::ranges::any_of(ranks, [&](auto& rank) { return absent(rank) && still(rank); }) ||
           std::ranges::all_of(ranks, [&](auto& rank) { return !present(rank) || still(rank); });
}

// All ranks are connected to rank 0, so that all of them lose the connection when rank 0 does.
std::optional<Verdict> whose_connections_were_reset(const Ranks& ranks) {
    const auto broken = [](const Sighting& rank) { return rank.broken; };
    if (ranks.size() > 2 && std::all_of(ranks.begin() + 1, ranks.end(), broken))
        return Verdict{0, Cause::lost};
    return first(ranks, Cause::lost, broken);
}

// Finds the rank that the others cannot name because they all wait.
std::optional<Verdict> culprit(const Ranks& ranks, const WatchLimits& limits) {
    const int silence_ms = std::min(limits.timeout_ms / 2, 4 * limits.beat_ms);
    const auto silence_of = [](const Sighting& rank) {
        return in(rank, Condition::left) ? 0 : rank.silent_ms;
    };
    const auto longest = std::max_element(
        ranks.begin(), ranks.end(),
        [&](const Sighting& a, const Sighting& b) { return silence_of(a) < silence_of(b); });
    const auto heard_by_rank_0 = [&](const Sighting& rank) {
        return silence_of(rank) < silence_ms;
    };
    if (ranks.size() > 2 && std::none_of(ranks.begin() + 1, ranks.end(), heard_by_rank_0)) {
        return Verdict{0, Cause::silent};  // rank 0 itself is cut off
    }
    // A heartbeat may come late on a busy host, so a rank that is heard and stands still comes
    // first.
    for (const bool by_itself : {true, false}) {
        const auto late = first(ranks, Cause::stuck, [&](const Sighting& rank) {
            const bool still = age_ms(rank) >= limits.timeout_ms;
            return absent(rank) && silence_of(rank) < silence_ms &&
                   (by_itself ? overdue(rank, limits) : still);
        });
        if (late && silence_of(*longest) < limits.timeout_ms) return late;
    }
    if (silence_of(*longest) >= silence_ms) {
        return Verdict{static_cast<int>(longest - ranks.begin()), Cause::silent};
    }
    if (const auto stuck = first(ranks, Cause::stuck, absent)) return stuck;
    const auto behind =
        std::min_element(ranks.begin(), ranks.end(), [](const Sighting& a, const Sighting& b) {
            return (a.record ? a.record->completed : 0) < (b.record ? b.record->completed : 0);
        });
    return Verdict{static_cast<int>(behind - ranks.begin()), Cause::unknown};
}

}  // namespace

const char* name(Cause cause) noexcept {
    switch (cause) {
        case Cause::failed:
            return "failed";
        case Cause::lost:
            return "lost";
        case Cause::silent:
            return "silent";
        case Cause::stuck:
            return "stuck";
        case Cause::unknown:
            return "unknown";
    }
    return "unknown";
}

std::string encode(const Verdict& verdict) {
    return std::to_string(verdict.rank) + " " + name(verdict.cause);
}

std::optional<Verdict> decode_verdict(std::string_view text) {
    Verdict verdict;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), verdict.rank);
    if (error != std::errc() || verdict.rank < 0) return std::nullopt;
    const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const Cause cause : causes) {
        verdict.cause = cause;
        if (rest == std::string(" ") + name(cause)) return verdict;
    }
    return std::nullopt;
}

std::optional<Verdict> judge(const std::vector<Sighting>& ranks, const WatchLimits& limits) {
    const auto failed =
        first(ranks, Cause::failed, [](const auto& rank) { return in(rank, Condition::failed); });
    if (failed) return failed;
    const auto lost = first(ranks, Cause::lost, [](const auto& rank) { return rank.lost; });
    if (lost) return lost;
    const int patience_ms = std::min(limits.timeout_ms / 2, 2 * limits.beat_ms);
    const bool told = std::any_of(ranks.begin(), ranks.end(), [&](const Sighting& rank) {
        return in(rank, Condition::cut_off) && age_ms(rank) >= patience_ms;
    });
    // The collectives have lost their connections too.
    if (const auto reset = told ? whose_connections_were_reset(ranks) : std::nullopt) return reset;
    const bool late = std::any_of(ranks.begin(), ranks.end(), [&](const Sighting& rank) {
        return rank.unreachable || overdue(rank, limits);
    });
    return told || late || wait_in_vain(ranks, limits) ? culprit(ranks, limits) : std::nullopt;
}

}  // namespace lockstep::comm
