// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "launcher/options/run_config.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace lockstep::launcher {

// Runs `python3 -m lockstep.track` beside rank 0, which sends the lines of metrics.jsonl to the
// trackers of --wandb-log, --mlflow and --comet. However it ends, training goes on, and a warning
// tells it. Without finish(), it ends by itself when this process does.
class TrackerProcess {
public:
    // Starts it if this is rank 0 and the options name a tracker. LOCKSTEP_PYTHON names the Python.
    TrackerProcess(const RunConfig& config, int rank);

    // Lets it send what is left, and ends it after thirty seconds.
    void finish();

private:
    void start(const RunConfig& config);

    pid_t process_ = -1;
    std::string command_;   // that sends the rest later
    FileDescriptor input_;  // its end is the end of the process
};

}  // namespace lockstep::launcher
