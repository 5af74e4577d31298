// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/exit_reason.hpp"

#include <doctest/doctest.h>

using namespace lockstep;
using train::ExitReason;

TEST_CASE("a run that has ended says so from its state and options alone") {
    train::TrainOptions options;
    options.validation.every_n_epochs = 0.5;
    train::TrainerState state;
    state.updates = 34;
    state.epochs = 34.0 / 25;
    state.seconds = 60;
    const auto ended = [&](train::RunLimits limits) {
        options.limits = limits;
        return train::ended(options, state, 25);
    };
    CHECK(ended({-1, -1, -1}) == std::nullopt);
    CHECK(ended({1.36, -1, -1}) == ExitReason::epochs_done);
    CHECK(ended({1.37, -1, -1}) == std::nullopt);
    CHECK(ended({-1, 34, -1}) == ExitReason::steps_done);
    CHECK(ended({-1, 35, -1}) == std::nullopt);
    CHECK(ended({-1, -1, 60}) == ExitReason::time_over);
    CHECK(ended({-1, -1, 60.5}) == std::nullopt);
    state.validation.without_better = 10;
    CHECK(ended({1.36, -1, -1}) == ExitReason::patience_over);
    CHECK(train::describe(ExitReason::patience_over, state) ==
          "10 validations in a row were no better");
    state.validation.without_better = 1;
    CHECK(train::describe(ExitReason::patience_over, state) == "1 validation was no better");
}

TEST_CASE("each end has a way on, and a stop needs none") {
    for (const auto reason :
         {ExitReason::epochs_done, ExitReason::steps_done, ExitReason::time_over,
          ExitReason::patience_over, ExitReason::cutoff_reached}) {
        CHECK(train::way_on(reason).starts_with("give a "));
    }
    CHECK(train::way_on(ExitReason::stop_requested).empty());
}
