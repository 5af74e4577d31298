// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/rank_memory.hpp"

#include <algorithm>
#include <utility>

#include "launcher/plan/dry_traffic.hpp"
#include "launcher/plan/nccl_memory.hpp"
#include "model/architectures.hpp"
#include "model/blocks/layout.hpp"
#include "model/parts.hpp"
#include "runtime/batch/lane_range.hpp"
#include "runtime/comm/owner_sums.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/train/optim/state_bytes.hpp"

namespace lockstep::launcher::plan {

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
// Measured with `train` on the CPU: the program, its libraries, compiled kernels and their scratch.
constexpr std::int64_t program_bytes = 80 * mebibyte;
// An estimate, not a measurement: CUDA's context with the loaded kernels.
constexpr std::int64_t context_bytes = 600 * mebibyte;
constexpr int usual_gpus_of_host = 8;

std::int64_t signed_of(std::size_t bytes) { return static_cast<std::int64_t>(bytes); }

// Returns the shapes without those that another shape covers in every dimension.
std::vector<train::BatchShape> largest_of(const std::vector<train::BatchShape>& shapes) {
    const auto below = [](const train::BatchShape& a, const train::BatchShape& b) {
        return a.source_total <= b.source_total && a.target_total <= b.target_total &&
               a.sequences <= b.sequences;
    };
    std::vector<train::BatchShape> left;
    for (const train::BatchShape& shape : shapes) {
        const auto covers = [&](const auto& other) { return below(shape, other); };
        if (std::any_of(left.begin(), left.end(), covers)) continue;
        std::erase_if(left, [&](const auto& other) { return below(other, shape); });
        left.push_back(shape);
    }
    return left;
}

template <class Activations>
BatchMemory worst(const std::vector<train::BatchShape>& shapes, model::DryModel& dry,
                  const Activations& activations) {
    BatchMemory most;
    for (const train::BatchShape& shape : shapes)
        most.scratch = std::max(most.scratch, signed_of(dry.scratch_bytes(shape)));
    for (const train::BatchShape& shape : largest_of(shapes)) {
        const std::int64_t bytes = signed_of(activations(shape));
        if (bytes > most.activations) {
            most.shape = shape;
            most.activations = bytes;
        }
        const std::size_t held =
            device::uploads_held * device::upload_capacity(dry.batch_bytes(shape));
        most.arrays = std::max(most.arrays, signed_of(held));
    }
    return most;
}

train::ParameterTable shared_table(const PlannedRun& run) {
    train::ParameterTable table =
        model::parameter_table(run.model, {0, run.train.tensor}, run.stage);
    const int sharing = train::sharing_ranks(run.train.zero, run.ranks);
    if (run.ranks > 1) table.pad_for(run.ranks);
    table.share_among(sharing, run.train.zero.stage);
    return table;
}

std::string named(const char* what, train::Precision precision) {
    return std::string(what) + ", " + train::name(precision);
}

}  // namespace

BatchMemory larger(const BatchMemory& trained, const BatchMemory& evaluated) {
    if (evaluated.activations <= trained.activations) return trained;
    BatchMemory both = evaluated;
    both.scratch = trained.scratch;
    return both;
}

std::int64_t total(const std::vector<Part>& parts) {
    std::int64_t bytes = 0;
    for (const Part& part : parts) bytes += part.bytes;
    return bytes;
}

RankMemory::RankMemory(const PlannedRun& run)
    : run_(run),
      table_(shared_table(run)),
      dry_(model::make_dry_model(run.model, run.precision, run.device, run.recompute,
                                 {0, run.train.tensor}, run.stage)) {
    const int rank = adds_in_order() ? train::rank_with_most_kept(run.train.lanes, run.ranks) : 0;
    weights_ =
        dry_->step(with_few_lanes(run.train, run.ranks), run.master, {rank, run.ranks}).memory;
}

bool RankMemory::adds_in_order() const noexcept {
    return run_.train.reducer.lane_order == train::LaneOrder::fixed;
}

// From stage 2 on gradients have slots.
bool RankMemory::each_overwrites() const noexcept {
    const bool one = train::lanes_of_rank(run_.train.lanes, 0, run_.ranks).count() <= 1;
    return table_.stage() < 2 && (one || adds_in_order());
}

BatchMemory RankMemory::training(const std::vector<train::BatchShape>& shapes) const {
    const kernels::Into into = each_overwrites() ? kernels::Into::overwrite : kernels::Into::add;
    const std::int64_t lanes = train::lanes_of_rank(run_.train.lanes, 0, run_.ranks).count();
    return worst(shapes, *dry_,
                 [&](const auto& shape) { return dry_->training_bytes(shape, into, lanes); });
}

BatchMemory RankMemory::evaluation(const std::vector<train::BatchShape>& shapes) const {
    return worst(shapes, *dry_, [&](const auto& shape) { return dry_->evaluation_bytes(shape); });
}

train::BatchShape RankMemory::launched(const train::BatchShape& shape) const {
    return dry_->launched(shape);
}

train::StepTraffic RankMemory::traffic(const train::BatchShape& shape) const {
    const int rank = adds_in_order() ? train::rank_with_most_sent(run_.train.lanes, run_.ranks) : 0;
    const bool staged =
        run_.device == model::DeviceKind::gpu && run_.backend == comm::GpuBackend::staged;
    train::StepTraffic sent =
        traffic_in_step(*dry_, run_.train,
                        {{rank, run_.ranks},
                         run_.master,
                         staged ? comm::HalfSums::as_whole_ones : comm::HalfSums::halves});
    const std::int64_t lanes = train::lanes_of_rank(run_.train.lanes, 0, run_.ranks).count();
    if (run_.train.tensor > 1) sent.tensor += lanes * dry_->row_bytes(shape);
    if (!run_.stage.is_whole()) sent.pipeline += lanes * dry_->row_bytes(shape);
    return sent;
}

std::vector<Part> RankMemory::parts(const BatchMemory& batch, std::int64_t rows_bytes) const {
    const train::WeightMemory& weights = weights_;
    const bool on_gpu = run_.device == model::DeviceKind::gpu;
    const bool shares = table_.sharing() > 1;
    std::string optimizer = "optimizer";
    if (run_.train.optimizer.moments == train::Moments::int8) optimizer += ", moments in int8";
    if (weights.disk > 0)
        optimizer += ", chunks on their way from and to the disk";
    else if (shares)
        optimizer += ", of this rank's part";
    std::vector<Part> parts{
        {shares && (run_.precision != train::Precision::fp32 || table_.stage() == 3)
             ? "weights, fp32, of this rank's part"
             : "weights, fp32",
         signed_of(weights.master)},
        {named("weights that compute", run_.precision), signed_of(weights.compute)},
        {named("weights of the base, which stay as they are", run_.precision),
         signed_of(dry_->frozen_bytes())},
        {"gradients, fp32", signed_of(weights.gradient)},
        {optimizer, signed_of(weights.optimizer)},
        {"conversion of gradients to bf16", signed_of(weights.narrowing)},
        {"rows of the tied table", signed_of(weights.tied_rows)},
        {"sums of what tensor ranks share", signed_of(weights.tensor_sums)},
        {"gradients of single lanes, fp32", signed_of(weights.lane_sums)},
        {"gradients of cross-attention's biases", memory_bias_bytes()},
        {"positions", signed_of(dry_->constant_bytes())},
        {"weights that replies are generated with", reply_bytes()},
        {"activations of the largest micro-batch", batch.activations},
    };
    if (on_gpu) {
        parts.push_back({"micro-batches on their way", batch.arrays});
        parts.push_back({"products' and attention's workspace", batch.scratch});
        parts.push_back({"CUDA's context and kernels", context_bytes, Known::about});
        if (run_.backend == comm::GpuBackend::nccl)
            parts.push_back({"NCCL", all_nccl_bytes(), Known::about});
    } else {
        parts.push_back({"rows read ahead", rows_bytes});
        parts.push_back({"sums of bf16 gradients", narrow_sum_bytes()});
        parts.push_back({shares ? "copy of this rank's part that checkpoints are written from"
                                : "copy of rank 0 that checkpoints are written from",
                         copy_bytes()});
        parts.push_back({"program and libraries", program_bytes, Known::about});
    }
    std::erase_if(parts, [](const Part& part) { return part.bytes == 0; });
    return parts;
}

// A sum has a piece from each rank of its group twice.
std::int64_t RankMemory::narrow_sum_bytes() const {
    if (run_.ranks == 1 || weights_.narrowing == 0) return 0;
    const int group = table_.sharing() > 1 ? table_.sharing() : run_.ranks;
    return signed_of(comm::owner_scratch_bytes(group, comm::owner_piece(group)));
}

// TransformerWeights::memory_biases.
std::int64_t RankMemory::memory_bias_bytes() const {
    const bool kept_apart = run_.device == model::DeviceKind::cpu || table_.stage() >= 2;
    if (!model::has_encoder(run_.model) || !kept_apart) return 0;
    return run_.model.decoder_layers *
           model::widths(run_.model, {0, run_.train.tensor}).key_value() *
           static_cast<std::int64_t>(sizeof(float));
}

// Validations with replies need whole weights.
std::int64_t RankMemory::reply_bytes() const {
    const bool one_place = train::ranks_of_place(run_.train) == 1;
    const bool has_all = table_.stage() < 3 && one_place;
    if (has_all || run_.replies == Replies::none) return 0;
    const std::size_t elements =
        one_place ? table_.flat_size() : model::parameter_table(run_.model).flat_size();
    return signed_of(elements * (run_.precision == train::Precision::fp32 ? 4 : 2));
}

// The ranks of a replica, and those that hold the same part of each, are communicators of their
// own.
std::int64_t RankMemory::all_nccl_bytes() const {
    const auto of = [](int ranks) {
        return nccl_bytes(ranks, std::min(ranks, usual_gpus_of_host));
    };
    const int sharing = table_.sharing(), replicas = run_.ranks / sharing;
    if (sharing == 1 || replicas == 1) return of(run_.ranks);
    return of(run_.ranks) + of(sharing) + of(replicas);
}

std::int64_t RankMemory::copy_bytes() const {
    const bool in_place = run_.device == model::DeviceKind::cpu &&
                          saving_of(run_.train) == train::Saving::training_waits;
    if (!run_.stage.is_first()) return 0;
    // Rank 0 puts the parts of tensor ranks, or of stages, together.
    if (train::ranks_of_place(run_.train) > 1) {
        const train::ParameterTable whole = model::parameter_table(run_.model);
        std::size_t elements = 0;
        for (const train::Parameter& parameter : whole.all()) elements += parameter.count;
        const std::size_t states =
            train::state_bytes(run_.train.optimizer, whole) / sizeof(float) / whole.flat_size();
        return signed_of((whole.flat_size() + states * elements) * sizeof(float));
    }
    if (in_place) return 0;
    const std::size_t all =
        table_.flat_size() * sizeof(float) + train::state_bytes(run_.train.optimizer, table_);
    return signed_of(all / static_cast<std::size_t>(table_.sharing()));
}

std::int64_t RankMemory::pinned_bytes() const { return signed_of(weights_.pinned); }

std::int64_t RankMemory::disk_bytes() const { return signed_of(weights_.disk); }

std::int64_t RankMemory::host_bytes() const {
    return run_.device == model::DeviceKind::cpu ? 0 : copy_bytes();
}

}  // namespace lockstep::launcher::plan
