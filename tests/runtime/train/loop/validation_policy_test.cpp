// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/validation_policy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace lockstep;
using train::ExitReason;
using train::TrainerState;
using train::ValidationPolicy;
using Verdict = std::optional<ExitReason>;

namespace {

std::vector<Verdict> judge_all(const train::ValidationOptions& options,
                               const std::vector<double>& values, TrainerState& state) {
    train::ValidationOptions with_validations = options;
    with_validations.every_n_steps = 1;
    const ValidationPolicy policy(with_validations);
    std::vector<Verdict> verdicts;
    for (const double value : values) verdicts.push_back(policy.judge(value, state));
    return verdicts;
}

}  // namespace

TEST_CASE("patience counts validations without a better one") {
    train::ValidationOptions options;
    options.patience = 2;
    TrainerState state;
    const Verdict go, over = ExitReason::patience_over;
    CHECK(judge_all(options, {5, 6, 4, 4, std::nan("")}, state) ==
          std::vector{go, go, go, go, over});
    CHECK(state.validation.best == 4);
    options.patience = 0;
    CHECK(judge_all(options, {9, 9, 9}, state) == std::vector{go, go, go});
}

TEST_CASE("the metric's name says which way is better, the mode overrules it") {
    train::ValidationOptions options;
    TrainerState state;
    state.validation.best = 2.0;
    const auto better = [&](const char* metric, double value) {
        options.metric = metric;
        return ValidationPolicy(options).better(value, state.validation);
    };
    for (const char* metric : {"loss", "ppl"}) {
        CHECK(better(metric, 1.9));
        CHECK_FALSE(better(metric, 2.0));
        CHECK_FALSE(better(metric, 2.1));
    }
    CHECK(better("token_acc", 2.1));
    CHECK_FALSE(better("f1", 1.9));
    options.mode = train::Direction::minimise;
    CHECK(better("f1", 1.9));
    state.validation.best.reset();
    CHECK(better("f1", 1e9));
    CHECK_FALSE(better("f1", std::nan("")));
}

TEST_CASE("the cut-off ends the run once it is reached") {
    train::ValidationOptions options;
    options.cutoff = 3;
    options.has_cutoff = true;
    TrainerState state;
    CHECK(judge_all(options, {5, 3.1, 3}, state) ==
          std::vector<Verdict>{{}, {}, ExitReason::cutoff_reached});
    options.metric = "token_acc";
    CHECK(judge_all(options, {2.9, 3.1}, state) ==
          std::vector<Verdict>{{}, ExitReason::cutoff_reached});
}

TEST_CASE("the state says what the last validation meant, also after a restart") {
    train::ValidationOptions options;
    options.every_n_steps = 1;
    options.patience = 3;
    train::ValidationState state;
    const auto verdict = [&] { return ValidationPolicy(options).verdict(state); };
    CHECK(verdict() == Verdict());
    state.without_better = 2;
    CHECK(verdict() == Verdict());
    state.without_better = 3;
    CHECK(verdict() == ExitReason::patience_over);
    options.patience = 4;
    CHECK(verdict() == Verdict());
    options.patience = 1;
    options.every_n_steps = -1;  // no validations any more
    CHECK(verdict() == Verdict());
    options.every_n_secs = 60;
    CHECK(verdict() == ExitReason::patience_over);
    options.patience = 0;
    options.cutoff = 2.5;
    options.has_cutoff = true;
    CHECK(verdict() == Verdict());
    state.best = 2;  // one at the end of a run is not judged
    CHECK(verdict() == Verdict());
    state.last = 2.4;
    CHECK(verdict() == ExitReason::cutoff_reached);
    options.cutoff = 2.3;
    CHECK(verdict() == Verdict());
}

TEST_CASE("a validation is due by epochs, updates or seconds since the last") {
    train::ValidationOptions options;
    TrainerState state;
    state.updates = 10;
    state.epochs = 0.5;
    CHECK_FALSE(ValidationPolicy(options).on());
    CHECK_FALSE(ValidationPolicy(options).due(state, 40, 1e9));

    options.every_n_steps = 10;
    CHECK(ValidationPolicy(options).on());
    CHECK(ValidationPolicy(options).due(state, 40, 0));
    state.validation.last_updates = 1;
    CHECK_FALSE(ValidationPolicy(options).due(state, 40, 0));

    options.every_n_secs = 60;
    CHECK_FALSE(ValidationPolicy(options).due(state, 40, 59));
    CHECK(ValidationPolicy(options).due(state, 40, 60));

    options = {};
    options.every_n_epochs = 0.25;
    CHECK(ValidationPolicy(options).due(state, 40, 0));
    state.validation.last_epochs = 0.5;
    CHECK_FALSE(ValidationPolicy(options).due(state, 40, 0));
    state.validation.last_epochs = 0;
    state.validation.last_updates = state.updates;  // no updates since then
    CHECK_FALSE(ValidationPolicy(options).due(state, 40, 0));
}

TEST_CASE("validations by epochs come at multiples, whatever came between") {
    train::ValidationOptions options;
    options.every_n_epochs = 0.25;
    const ValidationPolicy policy(options);
    TrainerState state;
    // Rows of the last validation and of now, of 40 an epoch.
    const auto due = [&](int last, int now) {
        state.updates = 100;
        state.validation.last_epochs = last / 40.0;
        state.epochs = now / 40.0;
        return policy.due(state, 40, 0);
    };
    CHECK_FALSE(due(0, 9));
    CHECK(due(0, 10));
    CHECK(due(7, 10));  // one by seconds or steps, for example, was at row 7
    CHECK_FALSE(due(16, 19));
    CHECK(due(16, 24));
    CHECK(due(30, 40));
    CHECK(due(0, 400));
}

TEST_CASE("a metric that no validation gives is a config error with those there are") {
    train::ValidationOptions options;
    options.metric = "bleu";
    train::ValidationReport report;
    report.metrics = {{"loss", 1}, {"ppl", 2}};
    CHECK_THROWS_WITH_AS(ValidationPolicy(options).metric(report), doctest::Contains("loss, ppl"),
                         Error);
}
