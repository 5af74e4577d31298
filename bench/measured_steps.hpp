// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "runtime/batch/batch.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/train/loop/step_report.hpp"

namespace lockstep::bench {

// The work of a step is given by the tokens and floating-point operations of its rows.
struct StepWork {
    double tokens = 0, flop = 0;
};

// Collects the timed steps of this rank.
class MeasuredSteps {
public:
    // `host_s` is the time until the step was queued. On a CPU this is the whole step.
    void add(double step_s, double host_s, const StepWork& work, const train::StepReport& report);

    enum class Steps { alike, different };
    // Returns the peer's figures under the peer's names, and our additional ones. If the steps
    // differ, rates are means; otherwise they are those of the median step. The peer does the same.
    // `ceiling` is in operations per second; it is left out if it was not measured. Work and
    // ceilings are summed over the ranks. Collective.
    nlohmann::ordered_json figures(Steps steps, std::optional<double> ceiling,
                                   comm::Communicator& communicator) const;

private:
    std::vector<double> seconds_, host_seconds_;
    StepWork work_;
    train::StepReport last_, sum_;  // sum_: seconds only
};

}  // namespace lockstep::bench
