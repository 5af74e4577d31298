// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/run_plan.hpp"

#include <algorithm>
#include <set>

#include "launcher/model_folder/model_folder.hpp"
#include "launcher/options/batching.hpp"
#include "launcher/options/memory_options.hpp"
#include "launcher/plan/batch_search.hpp"
#include "launcher/plan/epoch_plan.hpp"
#include "launcher/plan/evaluation_rows.hpp"
#include "launcher/plan/fit.hpp"
#include "launcher/plan/open_choices.hpp"
#include "launcher/plan/plan_limits.hpp"
#include "launcher/plan/recompute_levels.hpp"
#include "launcher/plan/row_lengths.hpp"
#include "launcher/rank/compute_device.hpp"
#include "launcher/rank/data_sets.hpp"
#include "model/blocks/layout.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher::plan {

namespace {

// The search for the largest micro-batch that fits ends here: larger ones are not practical.
constexpr std::int64_t max_tokens = std::int64_t{1} << 22, max_rows = std::int64_t{1} << 20;
// This is enough to find the largest micro-batch of most epochs.
constexpr std::int64_t rows_at_start = std::int64_t{1} << 18;

class Planner {
public:
    Planner(const RunConfig& config, Scope scope) : config_(config), scope_(scope) {
        if (!config.data.empty()) data_ = open_data_sets("data", config.data);
        for (const data::Dataset& set : data_.sets) {
            if (set.split(data::format::train_split).rows > 0) continue;
            throw Error(ErrorKind::data, set.directory() +
                                             ": split 'train' has no rows; run 'lockstep prepare' "
                                             "with more text");
        }
        plan_.ranks = config.world_size > 0 ? static_cast<int>(config.world_size) : 1;
        tensor_ = config.train.tensor;
        plan_.stage = config.train.zero.stage;
        plan_.device = planned_device(config, plan_.ranks);
        plan_.model = model();
        check_tensor_ranks(config, plan_.model, plan_.ranks);
        check_pipeline_ranks(config, plan_.model, plan_.ranks);
        data_ranks_ = plan_.ranks / train::ranks_of_place(config.train);
        check_zero_ranks(config.train.zero, data_ranks_);
        if (config.recompute) model::require_layers(*config.recompute, plan_.model);
        require_countable_buckets(plan_.model, config.train.reducer.bucket_bytes);
        plan_.precision = precision();
        plan_.moments = config.train.optimizer.moments;
        plan_.offload = config.train.optimizer.offload;
        plan_.saving = saving_of(config.train);
        plan_.lanes_of_rank = (lanes() + data_ranks_ - 1) / data_ranks_;
    }

    RunPlan plan() {
        const data::BatchRules rules = this->rules(batching());
        const RankMemory keeping = memory_with({});
        plan_.parameters = config_.train.pipeline > 1 ? model::parameter_table(plan_.model).count()
                                                      : keeping.parameters();
        if (plan_.device.kind == model::DeviceKind::gpu &&
            plan_.precision != train::Precision::fp32)
            plan_.slow_shapes = model::slow_shapes(plan_.model);
        if (has_data()) add_epoch(rules, keeping);
        const bool quick = plan_.epoch && scope_ == Scope::first_epoch;
        if (quick) {
            shapes_ = epoch_shapes_;
        } else {
            lengths_ = has_data() ? row_lengths(data_, data::format::train_split, rules)
                                  : full_rows(rules);
            shapes_ = largest_batches(lengths_, rules);
            shapes_.insert(shapes_.end(), epoch_shapes_.begin(), epoch_shapes_.end());
            require_plannable(
                shapes_,
                "--batchsize or --batch-tokens, with --update-freq for as many rows an "
                "update");
            evaluation_rows_ = EvaluationRows(config_, data_, plan_.model);
            const auto evaluated = evaluation_rows_.largest(config_);
            require_plannable(evaluated, "--eval-batchsize");
            evaluated_ = keeping.evaluation(evaluated);
            plan_.evaluated = evaluated_.activations;
            plan_.evaluates_otherwise = config_.batch.eval_batchsize > 0;
        }
        choose();
        const RankMemory memory = memory_with(plan_.recompute);
        plan_.pipeline = memory.stage();
        plan_.host_bytes = memory.host_bytes();
        plan_.pinned_bytes = memory.pinned_bytes();
        plan_.disk_bytes = memory.disk_bytes();
        plan_.varying = {rows_bytes_, memory.lane_sum_bytes(), memory.copy_bytes(),
                         memory.reply_bytes()};
        if (plan_.epoch) add_activations(memory);
        plan_.batch = quick ? plan_.epoch->largest : largest(memory);
        plan_.parts = memory.parts(plan_.batch, rows_bytes_);
        plan_.sent = memory.traffic(plan_.batch.shape);
        if (quick) return plan_;
        add_levels();
        add_stages();
        add_size();
        return plan_;
    }

private:
    bool has_data() const noexcept { return !data_.sets.empty(); }

    model::ModelConfig model() const {
        const ModelSource source = source_of(config_.model_file, config_.init_model);
        return with_adapters(agreed(source), source, config_.lora, config_.given);
    }

    model::ModelConfig agreed(const ModelSource& source) const {
        if (has_data()) return agree_on_model(source, config_.model, config_.given, data_.first());
        model::ModelConfig wanted = config_.model;
        if (!holds_model(source.folder) && config_.vocabulary < 0)
            throw Error(ErrorKind::config,
                        "--vocabulary: give the number of the dictionary's entries, or --data, "
                        "which tells it");
        wanted.vocabulary = config_.vocabulary;
        return agree_on_model(source, wanted, config_.given);
    }

    train::Precision precision() const {
        if (plan_.device.kind == model::DeviceKind::cpu) return precision_of(config_.precision, {});
        return precision_of(config_.precision, GpuAssignment{});
    }

    comm::GpuBackend backend() const {
        return config_.gpu.backend == GpuBackendChoice::staged ? comm::GpuBackend::staged
                                                               : comm::GpuBackend::nccl;
    }

    std::int64_t lanes() const {
        const BatchConfig& batch = config_.batch;
        return batch.logical_shards > 0 ? batch.logical_shards : data_ranks_ * batch.update_freq;
    }

    data::BatchingOptions batching() const { return batching(config_); }
    data::BatchingOptions batching(const RunConfig& config) const {
        return has_data() ? train_batching(config, plan_.model, data_.first())
                          : train_batching(config, plan_.model);
    }

    data::BatchRules rules(const data::BatchingOptions& options) const {
        if (!has_data()) return {options, data::DatasetKind::dialogue};
        return {options, data_.first().kind(), data_.first().special()};
    }

    RankMemory memory_with(const model::RecomputePlan& recompute) const {
        return memory_with(recompute, {plan_.stage, config_.train.zero.ranks});
    }
    RankMemory memory_with(const model::RecomputePlan& recompute,
                           const train::ZeroOptions& zero) const {
        train::TrainOptions options = config_.train;
        options.zero = zero;
        options.lanes = lanes();
        options.optimizer.moments = plan_.moments;
        options.optimizer.offload = plan_.offload;
        options.async_save = plan_.saving == train::Saving::beside_training;
        const auto of_stage = [&](int stage) {
            return RankMemory({plan_.model,
                               options,
                               plan_.precision,
                               master(),
                               plan_.device.kind,
                               data_ranks_,
                               backend(),
                               recompute,
                               config_.skip_generation ? Replies::none : Replies::generated,
                               {stage, options.pipeline}});
        };
        return of_stage(config_.planned_stage >= 0 ? config_.planned_stage
                                                   : stage_with_most(options.pipeline, of_stage));
    }

    template <class OfStage>
    int stage_with_most(int stages, const OfStage& of_stage) const {
        int found = 0;
        std::int64_t most = 0;
        for (int stage = 0; stages > 1 && stage < stages; ++stage) {
            const RankMemory memory = of_stage(stage);
            const std::int64_t bytes = total(memory.parts(memory.training(shapes_), rows_bytes_));
            if (bytes <= most) continue;
            most = bytes;
            found = stage;
        }
        return found;
    }

    train::Master master() const {
        RunConfig planned = config_;
        planned.train.optimizer.offload = plan_.offload;
        return gpu_settings(planned, {}).master;
    }

    // Evaluation borrows no memory of gradients, so that it may take more than training where both
    // use the same batches.
    BatchMemory largest(const RankMemory& memory) const {
        return larger(memory.training(shapes_), evaluated_);
    }

    LevelMemory level_memory(const model::RecomputePlan& recompute) const {
        const RankMemory memory = memory_with(recompute);
        const BatchMemory batch = largest(memory);
        return {recompute, batch.activations, total(memory.parts(batch, rows_bytes_))};
    }

    void choose() {
        if (config_.fit == Fit::given) {
            plan_.recompute = config_.recompute ? *config_.recompute : least();
            return;
        }
        const FitChoices choices = fit_choices();
        const auto bytes = [this](const Savings& tried) {
            take(tried);
            return level_memory(tried.recompute).total;
        };
        take(fastest_that_fits(choices, bytes, plan_.device.bytes));
        plan_.fitted = true;
        plan_.tried = name(choices);
    }

    void take(const Savings& savings) {
        plan_.moments = savings.moments;
        plan_.recompute = savings.recompute;
        plan_.saving = savings.saving;
        plan_.stage = savings.stage;
        plan_.offload = savings.offload;
    }

    FitChoices fit_choices() const {
        FitChoices choices = open_choices(config_, plan_.device.kind, data_ranks_, master());
        choices.layers = model::stack_layers(plan_.model);
        const RankMemory keeping = memory_with({});
        const train::BatchShape shape = keeping.training(shapes_).shape;
        const double kept = keeping.multiply_adds(shape);
        const train::PipelineStage keeping_stage = keeping.stage();
        choices.calculated_again = [this, shape, kept,
                                    keeping_stage](const model::RecomputePlan& recompute) {
            const auto dry = model::make_dry_model(plan_.model, plan_.precision, plan_.device.kind,
                                                   recompute, {0, tensor_}, keeping_stage);
            return dry->multiply_adds(shape) / kept - 1;
        };
        return choices;
    }

    model::RecomputePlan least() const {
        const auto bytes = [this](const model::RecomputePlan& recompute) {
            return level_memory(recompute).total;
        };
        return least_that_fits(model::stack_layers(plan_.model), bytes, plan_.device.bytes);
    }

    void add_levels() {
        for (const model::RecomputePlan& recompute : compared_levels(plan_.recompute))
            plan_.levels.push_back(level_memory(recompute));
    }

    void add_stages() {
        const std::vector<int> stages = possible_stages(config_, data_ranks_, master());
        if (stages.size() == 1) return;
        for (const int stage : stages) {
            const int sharing = config_.train.zero.ranks;
            const RankMemory memory = memory_with(plan_.recompute, {stage, sharing});
            plan_.stages.push_back({stage, total(memory.parts(largest(memory), rows_bytes_)),
                                    memory.traffic(plan_.batch.shape).total()});
        }
    }

    void add_epoch(const data::BatchRules& rules, const RankMemory& memory) {
        EpochOptions options{config_.train.seed, lanes(), weights_of(config_, data_)};
        if (scope_ == Scope::first_epoch) options.max_rows = rows_at_start;
        const EpochPlan epoch = plan_epoch(data_.sets, rules, options);
        rows_bytes_ = windows_at_once * plan_.lanes_of_rank * epoch.largest_window_bytes;
        EpochFacts facts;
        for (const data::Dataset& set : data_.sets)
            facts.rows += static_cast<std::int64_t>(set.split(data::format::train_split).rows);
        facts.planned_rows = epoch.rows;
        facts.truncated_rows = epoch.truncated_rows;
        facts.steps = epoch.steps;
        facts.tokens = epoch.tokens;
        facts.filler = epoch.filler;
        std::set<train::BatchShape> launched;
        for (const auto& [shape, count] : epoch.shapes) {
            facts.micro_batches += count;
            epoch_shapes_.push_back(shape);
            launched.insert(memory.launched(shape));
        }
        facts.shapes = static_cast<std::int64_t>(launched.size());
        rank_batches_ = batches_of_rank(facts);
        met_for_certain_ = met_for_certain(epoch, rank_batches_);
        plan_.epoch = facts;
    }

    void add_activations(const RankMemory& memory) {
        EpochFacts& epoch = *plan_.epoch;
        epoch.largest = memory.training(epoch_shapes_);
        if (rank_batches_ >= epoch.micro_batches)
            epoch.on_every_rank = epoch.largest.activations;
        else if (rank_batches_ > 0)
            epoch.on_every_rank = memory.training({met_for_certain_}).activations;
    }

    // Returns how many of the planned micro-batches each rank gets at least.
    std::int64_t batches_of_rank(const EpochFacts& epoch) const {
        const train::RunLimits& limits = config_.train.limits;
        if (lanes() < data_ranks_) return 0;  // ranks divide micro-batches
        auto batches = static_cast<double>(epoch.micro_batches / data_ranks_);
        if (limits.num_epochs > 0) batches *= std::min(limits.num_epochs, 1.0);
        if (limits.max_train_steps > 0)
            batches = std::min(batches, static_cast<double>(limits.max_train_steps) *
                                            static_cast<double>(lanes() / data_ranks_));
        return static_cast<std::int64_t>(batches);
    }

    void add_size() {
        const data::BatchingOptions asked = batching();
        const bool by_tokens = asked.batch_tokens > 0;
        plan_.size.option = by_tokens ? "--batch-tokens" : "--batchsize";
        plan_.size.asked = by_tokens ? asked.batch_tokens : asked.batchsize;
        const std::int64_t rows = plan_.epoch ? std::min(max_rows, plan_.epoch->rows) : max_rows;
        plan_.size.max_tried = by_tokens ? max_tokens : rows;
        const std::vector<RankMemory> levels = levels_to_choose();
        RunConfig tried = config_;
        plan_.size.fits = largest_that_fits(plan_.size.max_tried, [&](std::int64_t size) {
            (by_tokens ? tried.batch.batch_tokens : tried.batch.batchsize) = size;
            return fits_at_one_of(levels, tried);
        });
    }

    // Returns what the run takes at the levels of --recompute that it may have.
    std::vector<RankMemory> levels_to_choose() const {
        std::vector<RankMemory> levels;
        if (config_.recompute)
            levels.push_back(memory_with(plan_.recompute));
        else
            for (const model::RecomputePlan& recompute : compared_levels({}))
                levels.push_back(memory_with(recompute));
        return levels;
    }

    bool fits_at_one_of(const std::vector<RankMemory>& levels, const RunConfig& tried) const {
        const auto trained = largest_batches(lengths_, rules(batching(tried)));
        const auto evaluated = evaluation_rows_.largest(tried);
        if (tokens_of_largest(trained) > max_tokens || !plannable(evaluated)) return false;
        const BatchMemory evaluation = levels.front().evaluation(evaluated);
        return std::ranges::any_of(levels, [&](const RankMemory& memory) {
            const BatchMemory batch = larger(memory.training(trained), evaluation);
            return total(memory.parts(batch, rows_bytes_)) <= plan_.device.bytes;
        });
    }

    static constexpr std::int64_t windows_at_once = 2;

    const RunConfig& config_;
    const Scope scope_;
    int tensor_ = 1, data_ranks_ = 1;  // plan_.ranks is their product
    DataSets data_;                    // empty: the rows are not known
    RowLengths lengths_;
    std::vector<train::BatchShape> epoch_shapes_;  // those of the planned rows
    std::vector<train::BatchShape> shapes_;        // the largest one is among them
    EvaluationRows evaluation_rows_;
    BatchMemory evaluated_;
    std::int64_t rows_bytes_ = 0;
    std::int64_t rank_batches_ = 0;  // of the planned micro-batches
    train::BatchShape met_for_certain_;
    RunPlan plan_;
};

}  // namespace

std::int64_t RunPlan::certain_bytes() const {
    std::int64_t bytes = epoch ? epoch->largest.activations : batch.activations;
    for (const Part& part : parts)
        if (part.known == Known::exactly) bytes += part.bytes;
    return bytes - batch.activations;
}

std::string RunPlan::fitting_level() const {
    for (const LevelMemory& level : levels)
        if (level.total <= device.bytes) return model::name(level.plan);
    return "";
}

RunConfig with_model(RunConfig config, const model::ModelConfig& model) {
    config.model = model;
    config.model_file.clear();
    config.init_model.clear();
    return config;
}

RunPlan plan_run(const RunConfig& config, Scope scope) { return Planner(config, scope).plan(); }

}  // namespace lockstep::launcher::plan
