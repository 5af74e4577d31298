// SPDX-License-Identifier: Apache-2.0
#include "launcher/memory/evaluation_memory.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "data/loading/eval_loader.hpp"
#include "data/storage/length_index.hpp"
#include "data/storage/shard_store.hpp"
#include "launcher/evaluate/averaged_validator.hpp"
#include "launcher/memory/cpu_memory_check.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/options/batching.hpp"
#include "launcher/plan/batch_search.hpp"
#include "launcher/plan/epoch_plan.hpp"
#include "launcher/plan/rank_memory.hpp"
#include "launcher/rank/loaded_model.hpp"
#include "model/blocks/layout.hpp"
#include "model/devices/dry_model.hpp"

namespace lockstep::launcher {

namespace {

// Of more rows the largest micro-batch is seldom another one, and a million take too long.
constexpr std::int64_t max_rows = std::int64_t{1} << 18;
// Measured with `eval` on the CPU.
constexpr std::int64_t program_bytes = std::int64_t{40} << 20;

// Plans the evaluation of one rank.
class Evaluation {
public:
    Evaluation(const RunConfig& config, const DataSets& sets, const EvaluatingRank& self)
        : config_(config),
          sets_(sets),
          self_(self),
          model_(open_model_folder(config.model_file).config),
          memory_({model_, config.train, self.precision}) {}

    const model::ModelConfig& model() const noexcept { return model_; }

    // A store without gradients: flat weights in fp32, and a copy that computes in 16 bits.
    std::int64_t weights() const {
        const auto dry = model::make_dry_model(model_, self_.precision, model::DeviceKind::cpu);
        const std::size_t of_weight = self_.precision == train::Precision::fp32 ? 4 : 6;
        return static_cast<std::int64_t>(model::parameter_table(model_).flat_size() * of_weight +
                                         dry->frozen_bytes() + dry->constant_bytes());
    }

    std::int64_t activations(const RunConfig& config) const {
        std::vector<train::BatchShape> shapes;
        for (const data::Dataset& set : sets_.sets) {
            const plan::EpochPlan batches = planned(set, config);
            for (const auto& [shape, count] : batches.shapes) shapes.push_back(shape);
        }
        return memory_.evaluation(shapes).activations;
    }

private:
    // Cuts the rows as data::open_eval_source() does for this rank.
    plan::EpochPlan planned(const data::Dataset& set, const RunConfig& config) const {
        const data::SplitInfo& split = set.split(config.split);
        const data::BatchRules rules(eval_batching(config, model_, set), set.kind(), set.special());
        const data::WindowSize window = data::choose_window(split, rules, self_.ranks, 0);
        const auto rows = data::limit_rows(
            data::shard_rows(split),
            share_of_each(config.train.validation.max_examples, sets_.sets.size()));
        data::LengthIndex index(set, split);
        auto feed = std::make_unique<data::BlockFeed>(
            index, data::lane_blocks(rows, window.block_rows, {self_.rank, self_.ranks}));
        return plan::plan_lane(data::LanePlanner(std::move(feed), rules, {}, window.batches,
                                                 data::RowOrder::as_stored),
                               rules, max_rows);
    }

    const RunConfig& config_;
    const DataSets& sets_;
    const EvaluatingRank self_;
    const model::ModelConfig model_;
    const plan::RankMemory memory_;
};

struct SizeOption {
    std::string name;
    std::int64_t BatchConfig::*value;
};

SizeOption size_option(const RunConfig& config, const model::ModelConfig& model) {
    const BatchConfig& batch = config.batch;
    if (eval_batching(config, model).batch_tokens > 0)
        return {"--batch-tokens", &BatchConfig::batch_tokens};
    if (batch.eval_batchsize > 0) return {"--eval-batchsize", &BatchConfig::eval_batchsize};
    return {"--batchsize", &BatchConfig::batchsize};
}

// Returns the size of batches with which the evaluation fits, if there is one.
std::string smaller_batches(const RunConfig& config, const DataSets& sets,
                            const EvaluatingRank& self, std::int64_t bytes) {
    const Evaluation evaluation(config, sets, self);
    const SizeOption option = size_option(config, evaluation.model());
    const std::int64_t weights = evaluation.weights();
    const auto fitting = [&](std::int64_t room) {
        RunConfig tried = config;
        return plan::largest_that_fits(config.batch.*option.value, [&](std::int64_t size) {
            tried.batch.*option.value = size;
            return weights + evaluation.activations(tried) <= room;
        });
    };
    // The program itself takes some, too.
    std::int64_t fits = fitting(bytes - program_bytes);
    if (fits == 0) fits = std::min<std::int64_t>(fitting(bytes), 1);
    return fits > 0 ? "give " + option.name + " " + std::to_string(fits) : "take a smaller model";
}

// Without an index nothing is refused.
MemoryNeed need_if_known(const RunConfig& config, const DataSets& sets,
                         const EvaluatingRank& self) {
    try {
        return evaluation_need(config, sets, self);
    } catch (const Error&) {
        return {};
    }
}

}  // namespace

MemoryNeed evaluation_need(const RunConfig& config, const DataSets& sets,
                           const EvaluatingRank& self) {
    const Evaluation evaluation(config, sets, self);
    const std::int64_t bytes = evaluation.weights() + evaluation.activations(config);
    return {bytes, bytes};
}

void require_evaluation_memory(const RunConfig& config, const DataSets& sets, const Job& job,
                               const std::vector<MemoryLimit>& limits) {
    if (job.device.gpu) return;
    const EvaluatingRank self{job.device.precision, job.rank_info.rank, job.rank_info.size};
    require_memory(need_if_known(config, sets, self), limits, *job.communicator, job.rank_info,
                   [&](std::int64_t bytes) { return smaller_batches(config, sets, self, bytes); },
                   warn_on_standard_error, {"weights and activations", ""});
}

void check_evaluation_memory(const RunConfig& config, const DataSets& sets, const Job& job) {
    require_evaluation_memory(config, sets, job, memory_limits());
}

}  // namespace lockstep::launcher
