// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/run_updates.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "launcher/options/batching.hpp"
#include "launcher/plan/epoch_plan.hpp"
#include "runtime/train/loop/epoch_share.hpp"

namespace lockstep::launcher::plan {

namespace {

// What a step counts as that uses more rows than are asked for.
enum class LastStep { counts, left_out };

class PlannedEpochs {
public:
    explicit PlannedEpochs(const CountedRun& run)
        : sets_(run.data.sets),
          rules_(train_batching(run.config, run.model, run.data.first()), run.data.first().kind()),
          options_{run.seed, run.lanes, run.weights},
          first_(plan_epoch(sets_, rules_, options_)),
          planned_(std::max<std::int64_t>(
              1, options_.max_rows / std::max<std::int64_t>(1, first_.rows))) {}

    std::int64_t rows_per_epoch() const noexcept {
        return std::max<std::int64_t>(1, first_.all_rows);
    }

    // Returns the updates of so many whole epochs and of the first rows of the next one.
    std::int64_t updates(std::int64_t whole, std::int64_t rows, LastStep last) {
        std::int64_t sum = std::max<std::int64_t>(0, whole - planned_) * first_.steps;
        for (std::int64_t epoch = 0; epoch < std::min(whole, planned_); ++epoch)
            sum += plan_of(epoch).steps;
        return rows > 0 ? sum + updates_in(plan_of(whole), rows, last) : sum;
    }

private:
    EpochPlan plan_of(std::int64_t epoch) {
        if (epoch == 0 || epoch >= planned_) return first_;
        options_.epoch = epoch;
        return plan_epoch(sets_, rules_, options_);
    }

    static std::int64_t updates_in(const EpochPlan& plan, std::int64_t rows, LastStep last) {
        if (plan.rows < plan.all_rows) {
            const double share = static_cast<double>(rows) / static_cast<double>(plan.all_rows);
            const double steps = share * static_cast<double>(plan.steps);
            return static_cast<std::int64_t>(last == LastStep::counts ? std::ceil(steps)
                                                                      : std::floor(steps));
        }
        std::int64_t used = 0, steps = 0;
        for (const std::int64_t more : plan.step_rows) {
            if (used >= rows || (last == LastStep::left_out && used + more > rows)) break;
            used += more;
            ++steps;
        }
        return steps;
    }

    std::span<const data::Dataset> sets_;
    data::BatchRules rules_;
    EpochOptions options_;
    EpochPlan first_;
    std::int64_t planned_;
};

}  // namespace

std::int64_t updates_of_epochs(const CountedRun& run) {
    PlannedEpochs epochs(run);
    const std::int64_t all = epochs.rows_per_epoch();
    const std::int64_t rows = train::EpochShare(run.config.train.limits.num_epochs).rows(all);
    return epochs.updates(rows / all, rows % all, LastStep::counts);
}

std::int64_t updates_before(const CountedRun& run, const train::Position& position) {
    return PlannedEpochs(run).updates(position.epoch, position.rows_in_epoch, LastStep::left_out);
}

}  // namespace lockstep::launcher::plan
