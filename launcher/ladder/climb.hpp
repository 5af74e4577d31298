// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/ladder/measurement.hpp"
#include "launcher/ladder/rungs.hpp"

namespace lockstep::launcher::ladder {

// A run that was measured, or why not.
struct Attempt {
    std::optional<Measurement> measured;
    std::string failure;
    int signal = 0;  // that stopped it from outside
};

// slower, failed, absent: left out, so that the next rung stands on the one below.
enum class Verdict { kept, slower, failed, absent };

struct Outcome {
    Rung rung;
    Settings settings;
    Verdict verdict = Verdict::kept;
    std::optional<Measurement> measured;
    std::string failure;
    double speed_up = 0;  // over the first rung: the product of each over the one below it
};

struct Climb {
    std::vector<Outcome> outcomes;
    Settings fastest;
    double speed_up = 1;  // of it
    int signal = 0;       // that ended the climb early
};

using Measure = std::function<Attempt(const Settings& settings, const std::string& folder)>;

// Measures rung after rung and keeps what makes the work faster. Where a rung and the one below it
// differ by less than a tenth, both are run once more, in turn, and the shorter time of each
// counts. `told` is called as each is known. Throws where the first rung cannot be measured.
Climb climb(const std::vector<Rung>& rungs, const Settings& start, const Work& work,
            const Measure& measure, const std::function<void(const Outcome&)>& told);

}  // namespace lockstep::launcher::ladder
