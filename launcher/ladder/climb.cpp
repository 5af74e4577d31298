// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/climb.hpp"

#include <utility>

#include "runtime/core/error.hpp"

namespace lockstep::launcher::ladder {

namespace {

// Before anything is measured every rung is faster.
struct Best {
    double first_s = 0, fastest_s = 0;
    bool any() const { return first_s > 0; }
};

void judge(Outcome& outcome, const Work& work, Best& best) {
    const double total_s = outcome.measured->total_s(work);
    if (!best.any()) best = {total_s, total_s};
    outcome.speed_up = best.first_s / total_s;
    outcome.verdict = total_s <= best.fastest_s ? Verdict::kept : Verdict::slower;
    if (outcome.verdict == Verdict::kept) best.fastest_s = total_s;
}

}  // namespace

Climb climb(const std::vector<Rung>& rungs, const Settings& start, const Work& work,
            const Measure& measure, const std::function<void(const Outcome&)>& told) {
    Climb climb;
    climb.fastest = start;
    Best best;
    for (const Rung& rung : rungs) {
        Outcome outcome{rung, climb.fastest, Verdict::absent, std::nullopt, rung.absent, 0};
        if (rung.absent.empty()) {
            rung.change(outcome.settings);
            Attempt attempt = measure(outcome.settings, rung.folder);
            climb.signal = attempt.signal;
            if (climb.signal != 0) return climb;
            outcome.measured = std::move(attempt.measured);
            outcome.failure = std::move(attempt.failure);
            outcome.verdict = Verdict::failed;
            if (outcome.measured) judge(outcome, work, best);
        }
        if (!best.any())
            throw Error(ErrorKind::config, "the " + rung.name + " did not run: " + outcome.failure);
        if (outcome.verdict == Verdict::kept) {
            climb.fastest = outcome.settings;
            climb.speed_up = outcome.speed_up;
        }
        told(outcome);
        climb.outcomes.push_back(std::move(outcome));
    }
    return climb;
}

}  // namespace lockstep::launcher::ladder
