// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/climb.hpp"

#include <cmath>
#include <utility>

#include "runtime/core/error.hpp"

namespace lockstep::launcher::ladder {

namespace {

// Two runs of the same command may differ by several percent on a shared host.
constexpr double doubtful = 0.1;

class Climber {
public:
    Climber(const Settings& start, const Work& work, const Measure& measure)
        : work_(work), measure_(measure) {
        climb.fastest = start;
    }

    // Measures one rung. Returns false when a signal ended the climb.
    bool take(Outcome& outcome) {
        Attempt attempt = run(outcome.settings, outcome.rung.folder);
        outcome.measured = std::move(attempt.measured);
        outcome.failure = std::move(attempt.failure);
        outcome.verdict = Verdict::failed;
        if (!outcome.measured) return climb.signal == 0;
        if (below_ && std::abs(seconds(outcome.measured) / seconds(below_) - 1) < doubtful)
            once_more(outcome);
        const double factor = below_ ? seconds(below_) / seconds(outcome.measured) : 1;
        outcome.speed_up = climb.speed_up * factor;
        outcome.verdict = outcome.rung.purpose == Purpose::memory ? Verdict::for_memory
                          : factor >= 1                           ? Verdict::kept
                                                                  : Verdict::slower;
        return climb.signal == 0;
    }

    void stand_on(const Outcome& outcome) {
        climb.fastest = outcome.settings;
        climb.speed_up = outcome.speed_up;
        below_ = outcome.measured;
    }

    Climb climb;

private:
    double seconds(const std::optional<Measurement>& run) const { return run->total_s(work_); }

    Attempt run(const Settings& settings, const std::string& folder) {
        Attempt attempt = measure_(settings, folder);
        climb.signal = attempt.signal;
        return attempt;
    }

    // Repeats the rung below and this rung. Disturbances make a run longer, never shorter, so the
    // shorter time counts.
    void once_more(Outcome& outcome) {
        const auto improve = [&](std::optional<Measurement>& best, const Settings& settings,
                                 const std::string& folder) {
            if (climb.signal != 0) return;
            const Attempt again = run(settings, folder);
            if (again.measured && seconds(again.measured) < seconds(best)) best = again.measured;
        };
        improve(below_, climb.fastest, outcome.rung.folder + "-below");
        improve(outcome.measured, outcome.settings, outcome.rung.folder + "-again");
    }

    const Work& work_;
    const Measure& measure_;
    std::optional<Measurement> below_;
};

}  // namespace

Climb climb(const std::vector<Rung>& rungs, const Settings& start, const Work& work,
            const Measure& measure, const std::function<void(const Outcome&)>& told) {
    Climber climber(start, work, measure);
    for (const Rung& rung : rungs) {
        Outcome outcome{rung, climber.climb.fastest, Verdict::absent, std::nullopt, rung.absent, 0};
        if (rung.absent.empty()) {
            rung.change(outcome.settings);
            if (!climber.take(outcome)) break;
        }
        if (climber.climb.outcomes.empty() && !outcome.measured)
            throw Error(ErrorKind::config, "the " + rung.name + " did not run: " + outcome.failure);
        if (outcome.verdict == Verdict::kept) climber.stand_on(outcome);
        told(outcome);
        climber.climb.outcomes.push_back(std::move(outcome));
    }
    return std::move(climber.climb);
}

}  // namespace lockstep::launcher::ladder
