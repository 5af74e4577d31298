// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/step_loader.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::launcher {

// A step source that proves at the end of every epoch that all ranks together used each row
// exactly once: the log says so, and anything else is an error.
class CheckedSource final : public train::StepSource {
public:
    // References outlive the source; it is used between collectives, by all ranks alike.
    CheckedSource(data::StepLoader& loader, comm::Communicator& communicator, Log& log)
        : loader_(loader), communicator_(communicator), log_(log) {}

    train::StepBatches next() override { return loader_.next(); }
    void next_epoch() override;
    void seek(train::Position position) override { loader_.seek(position); }
    std::int64_t rows_per_epoch() const override { return loader_.rows_per_epoch(); }

private:
    data::StepLoader& loader_;
    comm::Communicator& communicator_;
    Log& log_;
};

}  // namespace lockstep::launcher
