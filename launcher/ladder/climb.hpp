// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/ladder/measurement.hpp"
#include "launcher/ladder/rungs.hpp"

namespace lockstep::launcher::ladder {

// Holds a run's measurement, or the reason why it was not measured.
struct Attempt {
    std::optional<Measurement> measured;
    std::string failure;
    int signal = 0;  // the signal from outside that stopped it; 0: none
};

// A rung that is slower, failed or absent is left out, so that the next rung builds on the one
// below. So does one that was measured for its memory.
enum class Verdict { kept, slower, failed, absent, for_memory };

struct Outcome {
    Rung rung;
    Settings settings;
    Verdict verdict = Verdict::kept;
    std::optional<Measurement> measured;
    std::string failure;
    double speed_up = 0;  // over the first rung: the product of the speed-ups so far
};

struct Climb {
    std::vector<Outcome> outcomes;
    Settings fastest;
    double speed_up = 1;  // speed-up of `fastest`
    int signal = 0;       // the signal that ended the climb early; 0: none
};

using Measure = std::function<Attempt(const Settings& settings, const std::string& folder)>;

// Measures one rung after the other and keeps the changes that make the work faster. When a rung
// differs from the one below it by less than a tenth, both run once more, alternately, and the
// shorter time of each counts. Calls `told` with each outcome. Throws when the first rung cannot be
// measured.
Climb climb(const std::vector<Rung>& rungs, const Settings& start, const Work& work,
            const Measure& measure, const std::function<void(const Outcome&)>& told);

}  // namespace lockstep::launcher::ladder
