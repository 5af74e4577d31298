// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/files.hpp"
#include "tests/support/running_job.hpp"

namespace lockstep::tests {

// Holds what was left of a disturbed run.
struct DisturbedEnd {
    ProgramResult result;
    nlohmann::json failure;  // failure.json; null where there is none
    bool started = false;
    int left_behind = 0;  // processes
    double seconds = 0;   // from the fault to the launcher's end
};

// The same small data set, with a file for each of three ranks, for all runs of a test program. It
// holds more than the readers keep in memory.
class DisturbedData {
public:
    DisturbedData();

    std::string path() const { return folder_ / "data"; }
    // A copy in the folder `to`, to be damaged.
    std::string copy(const std::string& to) const;

private:
    ScratchFolder folder_;
};

// Trains some ranks until `disturb` has been called in the midst of it.
class DisturbedRun {
public:
    // `ranks` starts them; `options` come after those of a tiny model.
    DisturbedRun(const DisturbedData& data, std::string ranks, std::string options = "");

    using Disturb = std::function<void(const RunningJob& job)>;
    DisturbedEnd run(const Disturb& disturb) const;
    // The same where a script disturbs the ranks that it runs.
    DisturbedEnd run_by(const std::string& script) const;

    // Returns a copy of the data that only this run uses.
    const std::string& damageable_data();
    void environment(const std::string& name, const std::string& value) {
        environment_[name] = value;
    }
    std::string flag() const { return scratch_ / "flag"; }
    std::string model() const { return scratch_ / "model"; }

private:
    const DisturbedData& all_data_;
    std::string data_, ranks_, options_;
    ScratchFolder scratch_;
    std::map<std::string, std::string> environment_;
};

// Options of a model that computes a step in a moment and trains without an end.
extern const std::string tiny_model;

std::string build_bin();

}  // namespace lockstep::tests
