// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/batch/batch.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/train/loop/step_report.hpp"

namespace lockstep::bench {

// A step's rows: what is computed for them.
struct StepWork {
    double tokens = 0, flop = 0;
};

// The timed steps of this rank.
class MeasuredSteps {
public:
    // `host_s`: until the step was queued, which on a CPU is all of it.
    void add(double step_s, double host_s, const StepWork& work, const train::StepReport& report);

    enum class Steps { alike, different };
    // The figures that the peer prints under its names, and ours. Rates are means where steps
    // differ, and else of the median step: as the peer. `ceiling` in operations a second; work and
    // ceilings are added over the ranks. Collective.
    nlohmann::ordered_json figures(Steps steps, double ceiling,
                                   comm::Communicator& communicator) const;

private:
    std::vector<double> seconds_, host_seconds_;
    StepWork work_;
    train::StepReport last_, sum_;  // sum_: seconds only
};

}  // namespace lockstep::bench
