// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/batching/batching_options.hpp"
#include "launcher/command_line/compared_options.hpp"
#include "launcher/model_folder/adapters.hpp"
#include "model/config.hpp"
#include "model/decoding/generation.hpp"
#include "model/recompute.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/join/make_communicator.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::launcher {

enum class PrecisionChoice { fp32, bf16, fp16, automatic };
enum class DeviceChoice { automatic, cpu, cuda };
// mem_efficient keeps no weights besides the fp16 ones.
enum class Fp16Kind { safe, mem_efficient };

// Holds the values of --batchsize, --dynamic-batching and related options, for training and
// evaluation.
struct BatchConfig {
    std::int64_t batchsize = 1;
    std::int64_t eval_batchsize = -1;  // -1: the same as batchsize
    data::Dynamic dynamic = data::Dynamic::off;
    std::string eval_dynamic;  // empty: the same as dynamic
    std::int64_t batch_tokens = -1;
    std::int64_t truncate = -1, text_truncate = -1, label_truncate = -1;
    std::int64_t update_freq = 1;
    std::int64_t num_workers = 0;
    std::int64_t logical_shards = -1;  // lanes; -1: world x update_freq
};

// Tells whether a plan is that of the given options, or of the fastest ones that fit.
enum class Fit { given, automatic };

// Controls CUDA graphs. `automatic` captures as many shapes of work as are worth their memory.
enum class GraphChoice { automatic, on, off };

// Selects how several GPUs reduce. `automatic` takes NCCL when it is installed and supports the
// GPUs, otherwise staged.
enum class GpuBackendChoice { automatic, nccl, staged };

enum class PromptFormat { automatic, text, jsonl };
enum class LogFormat { conversations, parlai };

// These options say how contexts are joined, which format prompts and replies have, and which file
// keeps a conversation.
struct TalkConfig {
    std::int64_t history_size = -1;  // <= 0: every turn
    std::string delimiter = "\n";
    std::string input, output;         // generate; empty: standard input and output
    std::vector<std::string> prompts;  // generate: instead of `input`
    std::vector<std::string> stops;    // texts that end a reply
    PromptFormat format = PromptFormat::automatic;
    bool overwrite = false;  // the file `output`
    bool json = false;
    int n_best = 1;
    bool single_turn = false;  // interactive
    std::string system;        // interactive: the system message; empty: none
    std::string outfile;
    LogFormat save_format = LogFormat::conversations;
    std::int64_t self_chats = 1, max_turns = 6;
    std::string seed_messages;  // name of a file
    bool display = true;
};

// Only GPUs support these options.
struct GpuConfig {
    bool allow_shared = false, tf32 = false, autotune = false;
    Fp16Kind fp16 = Fp16Kind::safe;
    GraphChoice graphs = GraphChoice::automatic;
    GpuBackendChoice backend = GpuBackendChoice::automatic;
};

// Tells what of its past a continued run no longer counts because options have changed.
struct CountedAnew {
    bool validations = false;  // those without a better one: updates are made in another way
    bool best = false;         // the best validation: the metric is another one
    bool decays = false;       // those of the learning rate: another one is given
};

// Tells what kind of options a continued run is given with other values than before.
enum class ChangedOptions { none, limits, others };

// The trackers that get the metrics of a run.
struct Trackers {
    bool wandb = false, mlflow = false, comet = false;
};

// Holds all options of a training, evaluation or generation program. The initial values here are
// the options' defaults.
struct RunConfig {
    std::vector<std::string> data, eval_data;
    std::vector<double> multitask_weights;  // one for each of `data`; empty: equal weights
    bool stochastic_weights = false;        // weights are the sizes of the data sets
    bool aggregate_micro = false;           // averages of several data sets' metrics
    std::string model_file, init_model, split = "valid", trace_file, log_file;
    Trackers trackers;
    std::string checkpoint;  // whose weights evaluate or reply; empty: the best
    DeviceChoice device = DeviceChoice::automatic;
    GpuConfig gpu;
    PrecisionChoice precision = PrecisionChoice::automatic;
    bool fp16 = false;  // ParlAI's option for a precision
    model::ModelConfig model;
    LoraChoice lora;
    std::int64_t n_layers = 2, n_encoder_layers = -1, n_decoder_layers = -1, n_positions = -1;
    std::int64_t n_kv_heads = -1;  // of families with parts; -1: as many as heads
    float rope_theta = model::Rotary().theta, norm_epsilon = model::LayerParts().norm_epsilon;
    bool learned_positions = false, embeddings_scale = true;
    BatchConfig batch;
    train::TrainOptions train;
    std::optional<model::RecomputePlan> recompute = model::RecomputePlan{};  // empty: auto
    std::string ddp_backend = "ddp";      // ParlAI's word for what ranks share
    bool checkpoint_activations = false;  // ParlAI's option for a level
    double warmup_ratio = -1;             // warm-up as a share of the run's updates; -1: not given
    bool no_overlap = false;
    bool deterministic = false;  // lanes are added in a fixed order
    bool skip_generation = true;
    bool unigram_baseline = false;
    bool short_final_eval = false;
    std::string metrics = "default";  // metrics of replies
    std::string report_filename, world_logs;
    model::GenerationOptions generation{.max_length = -1};  // reply_options() sets the maximum
    TalkConfig talk;                                        // generate, interactive, self_chat
    std::int64_t threads = 0;  // threads of this rank; 0: its share of the host's cores
    bool verbose = false, quiet = false;
    int planned_stage = -1;  // of --pipeline, which a plan is for; -1: the one that needs the most
    std::int64_t world_size = -1;  // multiprocessing programs; -1: one rank per core
    int max_restarts = 0;          // multiprocessing programs
    std::int64_t rank = -1, local_rank = -1, master_port = -1;
    std::string master_addr, secret_file;
    comm::CommOptions comm;
    double timeout_s = 300;
    double data_seconds = 3;                          // doctor
    bool preflight = false;                           // doctor
    bool json = false;                                // doctor, plan, ladder
    std::int64_t memory_bytes = -1, vocabulary = -1;  // plan
    Fit fit = Fit::given;                             // plan
    std::int64_t nodes = -1, ranks_per_node = -1;     // plan
    std::set<std::string> given;  // long names of the options that the user gave
    std::string lines;            // the same with their values, as a --config file
    ComparedOptions compared;     // what has to be the same on all ranks
    std::string changes;          // of a continued run: the given options that differ from before
    ChangedOptions changed = ChangedOptions::none;  // their kind; limits: nothing else
    CountedAnew counted_anew;                       // because of them
};

}  // namespace lockstep::launcher
