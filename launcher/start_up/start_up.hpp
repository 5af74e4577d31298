// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/core/log.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::launcher {

// Divides the time from the start of this process to its first step into named parts.
class StartUp {
public:
    struct Part {
        std::string name;
        double seconds;
    };

    // The first part begins with the process, measured to 10 ms.
    StartUp();

    // Ends the current part under this name and begins the next one.
    void ended(std::string part);

    const std::vector<Part>& parts() const noexcept { return parts_; }

private:
    std::vector<Part> parts_;
    Clock::time_point since_;
};

// After the first step rank 0 reports how long each part took there and on the slowest rank.
class StartUpReport final : public train::TrainingObserver {
public:
    // The arguments must outlive this object.
    StartUpReport(StartUp& start_up, comm::Communicator& communicator, Log& log)
        : start_up_(start_up), communicator_(communicator), log_(log) {}

    // Collective in the first step; does nothing afterwards.
    void on_step(const train::StepReport& report) override;

private:
    StartUp& start_up_;
    comm::Communicator& communicator_;
    Log& log_;
    bool told_ = false;
};

}  // namespace lockstep::launcher
