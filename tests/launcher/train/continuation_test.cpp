// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/continuation.hpp"

#include <doctest/doctest.h>

using namespace lockstep;
using launcher::count_anew;

namespace {

train::TrainerState after_validations() {
    train::TrainerState state;
    state.validation.best = 5;
    state.validation.last = 6;
    state.validation.without_better = 2;
    state.schedule = {0.25, 3, 9, 1.5};
    return state;
}

}  // namespace

TEST_CASE("a continued run no longer counts what its changed options make another") {
    train::TrainerState state = after_validations();
    CHECK(count_anew({}, state).empty());
    CHECK(state.validation.without_better == 2);

    CHECK(count_anew({.validations = true}, state) ==
          "2 validations without a better one no longer count");
    CHECK(state.validation.without_better == 0);
    CHECK(state.schedule.bad_validations == 0);
    CHECK(state.schedule.factor == 0.25);
    CHECK(state.validation.best == 5);
    CHECK(count_anew({.validations = true}, state).empty());

    CHECK(count_anew({.decays = true}, state) ==
          "the learning rate begins without the decays so far");
    CHECK(state.schedule.factor == 1);
    CHECK(state.schedule.validations == 0);
    CHECK(state.schedule.best_loss == 1.5);

    state = after_validations();
    state.validation.without_better = 1;
    CHECK(count_anew({.validations = true, .best = true}, state) ==
          "1 validation without a better one no longer counts; the next validation is the best "
          "so far");
    CHECK_FALSE(state.validation.best.has_value());
    CHECK_FALSE(state.validation.last.has_value());
}
