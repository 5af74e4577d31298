// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/mesh.hpp"
#include "runtime/comm/watch/rank_progress.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/device/readback.hpp"
#include "runtime/device/replay.hpp"
#include "runtime/train/forward_backward.hpp"
#include "runtime/train/optim/optimizer.hpp"
#include "runtime/train/reduction/gradient_reducer.hpp"
#include "runtime/train/reduction/lane_sums.hpp"
#include "runtime/train/reduction/slot_reducer.hpp"
#include "runtime/train/reduction/stage_sums.hpp"
#include "runtime/train/reduction/tensor_sums.hpp"
#include "runtime/train/reduction/tied_rows.hpp"
#include "runtime/train/sharing/host_tensors.hpp"
#include "runtime/train/sharing/owned_tensors.hpp"
#include "runtime/train/sharing/shared_tensors.hpp"
#include "runtime/train/sharing/slot_weights.hpp"
#include "runtime/train/sharing/weight_gather.hpp"
#include "runtime/train/sharing/weight_hash.hpp"
#include "runtime/train/step/engine.hpp"
#include "runtime/train/step/stage_passes.hpp"
#include "runtime/train/step/stage_turns.hpp"

namespace lockstep::train {

// Lists the objects that an engine works with. All are borrowed.
template <class Ctx>
struct EngineParts {
    using Space = typename Ctx::Space;

    Ctx& context;
    comm::Communicator& communicator;
    comm::Collectives<Space>& collectives;  // among the same ranks
    Trace& trace;
    ForwardBackward& model;
    const ParameterStore<Space>& store;      // its table says how many ranks share a replica
    comm::RankProgress* progress = nullptr;  // null: no watchdog
    // The ranks that compute each layer together; the communicators are then among those that read
    // other rows and have the same part of the parameters.
    TensorGroup<Space> tensor = {};
    // The stages that compute the same micro-batches, if this rank has some of the layers. `passes`
    // is the model then, and `messages` are among the stages.
    StageGroup<Space> stages = {};
    StagePasses<Space>* passes = nullptr;
    comm::Communicator* messages = nullptr;
};

template <class Ctx>
class DeviceEngine final : public Engine {
public:
    using Space = typename Ctx::Space;

    DeviceEngine(const TrainOptions& options, const EngineParts<Ctx>& parts);
    ~DeviceEngine() override;
    DeviceEngine(const DeviceEngine&) = delete;
    DeviceEngine& operator=(const DeviceEngine&) = delete;

    const ParameterTable& parameters() const noexcept override { return parts_.model.parameters(); }
    RunTensors fetch() override {
        optimizer_->check_readable();
        return shared_ ? shared_->tensors.fetch() : tensors_.fetch();
    }
    RunTensors copy_for_save() override;
    RunTensors reserve_copy() override {
        return shared_ ? shared_->tensors.reserve() : tensors_.reserve_copy();
    }
    void write_back() override { shared_ ? shared_->tensors.write_back() : tensors_.write_back(); }
    OwnedAccess* owned() noexcept override { return shared_ ? &shared_->owned : nullptr; }
    WeightSource& weights() override;
    void finish_weights() override;
    void share_weights() override;
    void share_optimizer() override;
    void hash_weights() override;
    void check_weights_alike(std::int64_t updates) override;
    void restore(const kernels::Step& before, std::int64_t lanes) override;
    // The host waits in every step for what it updates itself.
    std::size_t steps_ahead() const noexcept override {
        return optimizer_->updated_by() == UpdatedBy::host ? 0 : Ctx::steps_ahead;
    }
    void queue(const kernels::StepOrder& order, const std::vector<Batch>& lanes) override;
    StepResult take_result() override;
    WeightMemory memory() const override;
    std::string nonfinite_gradient() override;

private:
    enum class MoreFollow : std::int64_t { no, yes };  // micro-batches of the same step

    struct Spans {
        std::vector<device::Span> lanes;     // forward and backward of each lane
        std::vector<device::Span> replayed;  // those of `lanes` for which the model has no spans
        ModelSpans model;
        device::Span optimizer;
    };

    // What an engine has in addition if ranks share a replica. Weights are gathered after an
    // update, or where they lie in slots when they are needed.
    struct Shared {
        SharedTensors<Ctx> tensors;
        OwnedTensors<Ctx> owned;
        WeightGather<Ctx> gather;
        std::optional<SlotWeights<Ctx>> slots;
        // Say what every rank has written into its own part since the ranks shared it last.
        bool weights_written = false, optimizer_written = false;
    };
    // Lets an evaluation need weights at once.
    struct NeededAtOnce final : WeightSource {
        SlotWeights<Ctx>* slots = nullptr;
        void need(std::size_t first) override {
            if (slots != nullptr) slots->need(first);
        }
        void pass() override {
            if (slots != nullptr) slots->pass_forward();
        }
    };

    // Rows of this rank for another stage, or memory for those of another stage.
    struct SentRows {
        comm::Range<Space> rows;
        int stage;
    };

    BucketOrder bucket_order() const noexcept;  // of this step
    void share_replica();
    void use_owned(OwnedAccess::Written what);
    void share_state_of_host();
    void accumulate(const std::vector<Batch>& lanes, Spans& spans);
    void accumulate_one_by_one(const std::vector<Batch>& lanes, Spans& spans);
    void accumulate_in_slots(const std::vector<Batch>& lanes, Spans& spans);
    void accumulate_by_turns(const std::vector<Batch>& lanes, Spans& spans);
    void exchange(const std::optional<SentRows>& sent, const std::optional<SentRows>& received);
    comm::Range<Space> take_turn(const StageTurn& turn, const Batch& batch, std::size_t slot);
    void pass_without_rows();
    void allow_in_flight(const UploadedShape& shape);
    Reducer<Ctx>& reducer() noexcept;
    const Reducer<Ctx>& reducer() const noexcept;
    View<double, Space> loss_sums();
    void add_nothing();
    void train(const Batch& batch, kernels::Into into, MoreFollow more_follow, Spans& spans);
    void reduce();
    void update(Spans& spans);
    void add_over_model(kernels::Step* step);
    void gather_gradient();
    void gather_weights();
    void trace_sharing();
    void split(const Spans& spans, StepResult& result);
    // Leaves out what of the spans are waits.
    double seconds_of(const std::vector<device::Span>& spans,
                      const std::vector<Wait>& waits = {}) const;
    void trace(const char* name, device::Span span) const;
    // Returns the groups of the ranks among which the model is divided.
    std::vector<std::pair<comm::Collectives<Space>*, const char*>> model_groups() const;
    // Adds to the result what was exchanged among these ranks since the last call, and returns
    // when.
    std::vector<Wait> take_exchanges(StepResult& result);
    // Does the same, and counts it as waits for other ranks.
    std::vector<Wait> count_exchanges(StepResult& result);
    comm::Activity activity() const;  // of all groups

    EngineParts<Ctx> parts_;
    comm::Mesh<Space> mesh_;
    int unwinding_ = std::uncaught_exceptions();  // when the engine was made
    kernels::StepRules rules_;
    std::unique_ptr<Optimizer<Space>> optimizer_;
    HostTensors<Ctx> tensors_;
    ReducerOptions reducer_options_;
    std::optional<GradientReducer<Ctx>> flat_reducer_;  // of flat gradients
    std::optional<SlotReducer<Ctx>> slot_reducer_;      // of gradients in slots
    std::optional<Shared> shared_;                      // none: every rank owns everything
    NeededAtOnce needed_at_once_;
    std::set<BatchShape> seen_;  // the shapes of micro-batches so far, where gradients have slots
    std::int64_t passes_ = 1;    // of every rank in a step, where gradients have slots
    bool weights_due_ = false;   // no forward of this step has waited for weights yet
    std::optional<LaneSums<Ctx>> lane_sums_;      // none: the order of the lanes is any
    std::optional<TensorSums<Ctx>> tensor_sums_;  // none: this rank computes its layers alone
    std::optional<StageSums<Ctx>> stage_sums_;    // none: this rank has all layers
    std::optional<TiedRows<Ctx>> tied_;           // none: a tied table is summed at once
    device::Replay<Ctx> replay_;
    device::Buffer<kernels::Step, Space> step_;  // one element
    device::Readback<kernels::Step, Ctx> results_;
    std::optional<WeightHash<Ctx>> hash_;       // empty: one rank has nothing to compare with
    std::optional<ReductionTiming> reduction_;  // of the step, where the host updates
    std::deque<Spans> spans_;                   // of the steps whose result was not taken yet
    double forward_share_ = 0;  // forward's share of forward and backward, last measured
};

}  // namespace lockstep::train
