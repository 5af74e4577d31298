// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/core/dtype.hpp"
#include "runtime/kernels/loss_scale.hpp"
#include "runtime/train/parameters.hpp"
#include "runtime/train/pipeline_stage.hpp"
#include "runtime/train/tensor_slice.hpp"

namespace lockstep {
class ScratchFile;
}

namespace lockstep::train {

enum class OptimizerKind { sgd, adam, adamw, adafactor, lion, muon };
constexpr const char* name(OptimizerKind kind) noexcept {
    constexpr const char* names[] = {"sgd", "adam", "adamw", "adafactor", "lion", "muon"};
    return names[static_cast<int>(kind)];
}
// Tells whether the update of an element depends on the rest of its matrix.
constexpr bool updates_whole_matrices(OptimizerKind kind) noexcept {
    return kind == OptimizerKind::adafactor || kind == OptimizerKind::muon;
}
// Returns the highest stage of ZeroOptions that ranks can share with this optimizer.
constexpr int highest_zero_stage(OptimizerKind kind) noexcept {
    if (kind == OptimizerKind::adafactor) return 0;
    return kind == OptimizerKind::muon ? 1 : 3;
}
// Tells what muon's steps are scaled by, with the words of torch.optim.Muon. original: the root of
// rows / columns if that is above 1. match_rms_adamw: 0.2 times the root of the larger of the two.
enum class MuonScale { original, match_rms_adamw };
// Tells what an optimizer keeps its moments in. int8: see kernels/moment_codes.hpp.
enum class Moments { fp32, int8 };
constexpr const char* name(Moments moments) noexcept {
    return moments == Moments::int8 ? "int8" : "fp32";
}
// Tells what of the optimizer lies in the host's memory and is calculated there. optimizer: the
// moments and the fp32 weights of a GPU's run; with OptimizerOptions::offload_dir those of a CPU's
// run lie in a file.
enum class Offload { none, optimizer };
constexpr const char* name(Offload offload) noexcept {
    return offload == Offload::optimizer ? "optimizer" : "none";
}
enum class ScheduleKind { none, fixed, linear, cosine, wsd, invsqrt, reduceonplateau };
constexpr const char* name(ScheduleKind kind) noexcept {
    constexpr const char* names[] = {"none", "fixed",   "linear",         "cosine",
                                     "wsd",  "invsqrt", "reduceonplateau"};
    return names[static_cast<int>(kind)];
}
// Tells whether the rate depends on the number of the run's updates.
constexpr bool has_end(ScheduleKind kind) noexcept {
    return kind == ScheduleKind::linear || kind == ScheduleKind::cosine ||
           kind == ScheduleKind::wsd;
}
enum class Overlap { on, off };
enum class Direction { minimise, maximise };
// Tells when checkpoints are written. beside_training: a thread writes a copy that rank 0 holds.
// training_waits: no copy is held, and training goes on when they are written.
enum class Saving { beside_training, training_waits };

// The names and meanings are ParlAI's (docs/options.md lists the defaults that differ).
struct OptimizerOptions {
    OptimizerKind kind = OptimizerKind::adam;
    double learningrate = 1e-3;
    double beta1 = 0.9;
    std::optional<double> beta2;  // empty: the optimizer's own, see beta2_of()
    double adam_eps = 1e-8;
    double momentum = 0;
    bool nesterov = true;
    double weight_decay = 0;
    bool amsgrad = false;
    Moments moments = Moments::fp32;  // int8: of adam and adamw without amsgrad
    Offload offload = Offload::none;  // optimizer: of sgd, adam, adamw and lion in fp32
    std::size_t offload_bytes = std::size_t{25} << 20;  // of gradients that are copied at once
    std::string offload_dir;  // of the file that has the state; empty: it lies in memory
    double adafactor_eps1 = 1e-30, adafactor_eps2 = 1e-3;
    bool adafactor_relative_step = false, adafactor_scale_parameter = false;
    // muon updates the matrices of hidden layers, and adamw with `learningrate` the rest.
    double muon_learningrate = 0.02, muon_momentum = 0.95;
    MuonScale muon_scale = MuonScale::original;
    double gradient_clip = 0.1;  // maximum norm; <= 0: off
};
inline double beta2_of(const OptimizerOptions& options) noexcept {
    return options.beta2.value_or(options.kind == OptimizerKind::lion   ? 0.99
                                  : options.kind == OptimizerKind::muon ? 0.95
                                                                        : 0.999);
}
// Tells whether the host can update with this optimizer.
inline bool can_offload(const OptimizerOptions& options) noexcept {
    return !updates_whole_matrices(options.kind) && options.moments == Moments::fp32;
}

struct ScheduleOptions {
    ScheduleKind kind = ScheduleKind::reduceonplateau;
    std::int64_t warmup_updates = -1;
    double warmup_rate = 1e-4;
    double min_learningrate = 0;  // linear, cosine, wsd: the rate that they fall to
    std::int64_t invsqrt_lr_decay_gamma = -1;
    double decay_ratio = 0.1;  // wsd: the share of the run's updates in which the rate falls
    double lr_scheduler_decay = 0.5;
    int lr_scheduler_patience = 3;
};

// A value <= 0 means that there is no such limit.
struct RunLimits {
    double num_epochs = -1;
    std::int64_t max_train_steps = -1;  // updates
    double max_train_time_s = -1;
};

struct ValidationOptions {
    double every_n_epochs = -1;
    std::int64_t every_n_steps = -1;
    double every_n_secs = -1;
    std::int64_t max_examples = -1;
    int patience = 10;  // validations without an improvement; <= 0: no limit
    std::string metric = "ppl";
    std::optional<Direction> mode;  // empty: the metric's name decides
    double cutoff = -1;  // stop when the metric is at least as good as this; needs has_cutoff
    bool has_cutoff = false;
};

// Tells how the gradient of a tied table is summed over ranks. at_once: when it is final. in_parts:
// the loss's part early, and at the end the rows that tokens name (tied_rows.hpp).
enum class TableSum { at_once, in_parts };

// Tells in which order the gradients of the lanes are added. any: a rank adds its own lanes, and
// the communicator the ranks. fixed: as the lane tree says, whatever the ranks
// (reduction/lane_tree.hpp).
enum class LaneOrder { any, fixed };

struct ReducerOptions {
    std::size_t first_bucket_bytes = std::size_t{1} << 20;
    std::size_t bucket_bytes = std::size_t{25} << 20;
    Overlap overlap = Overlap::on;
    Dtype comm_dtype = Dtype::fp32;
    TableSum table_sum = TableSum::at_once;  // with_table_sum() chooses it for the device
    LaneOrder lane_order = LaneOrder::any;
};

// Tells what ranks share. Stage 0: nothing; each keeps everything. Stage 1: the optimizer's state
// and the master weights. Stage 2: the gradients, too. Stage 3: the weights that compute, too.
struct ZeroOptions {
    int stage = 0;
    int ranks = 0;  // that share one replica; 0: all ranks of the run
};
// Returns how many of `world` ranks share a replica; 1: each has its own.
inline int sharing_ranks(const ZeroOptions& options, int world) noexcept {
    if (options.stage == 0) return 1;
    return options.ranks > 0 ? options.ranks : world;
}

// Tells which part of a replica a rank owns. All ranks of a replica must give the same buckets.
// Ranks are those that read rows of their own (comm/mesh.hpp).
struct ReplicaShare {
    int world = 1;  // ranks of the run
    int ranks = 1;  // that share the replica
    int rank = 0;   // number of this rank among them
    ReducerOptions buckets = {};
    int stage = 1;  // what they share if there are several, see ZeroOptions
    TensorSlice tensor = {};
    PipelineStage pipeline = {};
    Gradients gradients = Gradients::kept;   // none: the model is only evaluated
    std::shared_ptr<ScratchFile> file = {};  // has the optimizer's state; null: it lies in memory
};

struct TrainOptions {
    OptimizerOptions optimizer;
    kernels::LossScaling loss_scaling;
    ScheduleOptions schedule;
    RunLimits limits;
    ValidationOptions validation;
    ReducerOptions reducer;
    ZeroOptions zero;
    int tensor = 1;    // ranks that compute each layer together
    int pipeline = 1;  // stages, each of which has some of the layers
    std::int64_t log_every_n_steps = 50;
    double log_every_n_secs = -1;
    double save_every_n_secs = 1'800;
    std::int64_t save_every_n_steps = -1;
    int keep = 2;                          // newest checkpoints that stay
    std::int64_t keep_every_n_steps = -1;  // checkpoints of multiples stay; <= 0: none
    int max_save_failures = 3;             // in a row; -1: no limit
    bool save_after_valid = true;
    bool async_save = true;                   // see Saving
    std::int64_t hash_every_n_updates = 100;  // ranks compare their parameters; <= 0: never
    std::uint64_t seed = 1;
    std::int64_t lanes = 1;
};

// A copy of a state that lies in a file would have to lie in memory.
inline Saving saving_of(const TrainOptions& options) noexcept {
    const bool copies = options.async_save && options.optimizer.offload_dir.empty();
    return copies ? Saving::beside_training : Saving::training_waits;
}

// Returns how many ranks have a model's parts together, and read the same rows.
inline int ranks_of_place(const TrainOptions& options) noexcept {
    return options.tensor * options.pipeline;
}

// Tells whether a run saves checkpoints before its end.
inline bool saves_on_the_way(const TrainOptions& options) noexcept {
    const ValidationOptions& validation = options.validation;
    const bool validates = validation.every_n_epochs > 0 || validation.every_n_steps > 0 ||
                           validation.every_n_secs > 0;
    return options.save_every_n_secs > 0 || options.save_every_n_steps > 0 ||
           (options.save_after_valid && validates);
}

}  // namespace lockstep::train
