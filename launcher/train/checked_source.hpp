// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/loading/step_loader.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/mesh.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::launcher {

// Verifies at the end of every epoch that all ranks together used each row of every pass over a
// data set exactly once. It logs the result and throws an error if this is not so.
class CheckedSource final : public train::StepSource {
public:
    // The referenced objects must outlive the source. All ranks must call its functions in the same
    // order between collectives. `names` are the data sets' names.
    CheckedSource(data::StepLoader& loader, std::vector<std::string> names,
                  comm::Communicator& communicator, Log& log,
                  comm::RowCounts counts = comm::RowCounts::own)
        : loader_(loader),
          names_(std::move(names)),
          communicator_(communicator),
          log_(log),
          share_(counts == comm::RowCounts::own ? 1 : 0) {}

    train::StepBatches next() override { return loader_.next(); }
    void next_epoch() override;
    // Throws a config error when the steps before `position` do not use as many rows as it says.
    void seek(train::Position position) override;
    std::int64_t rows_per_epoch() const override { return loader_.rows_per_epoch(); }

private:
    data::Usage usage_of_all() const;
    std::int64_t rows_of_all() const;

    data::StepLoader& loader_;
    std::vector<std::string> names_;
    comm::Communicator& communicator_;
    Log& log_;
    const double share_;  // of this rank's rows that it counts: 1 or 0
    std::int64_t epoch_ = 0;
};

}  // namespace lockstep::launcher
