// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "data/batching/batching_options.hpp"
#include "model/config.hpp"
#include "model/decoding/generation.hpp"
#include "runtime/comm/join/make_communicator.hpp"
#include "runtime/comm/place/rank_info.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::launcher {

enum class PrecisionChoice { fp32, bf16, fp16, automatic };
enum class DeviceChoice { automatic, cpu, cuda };
// mem_efficient: the fp16 weights are the only ones.
enum class Fp16Kind { safe, mem_efficient };

// What --batchsize, --dynamic-batching and their relatives said, for training and for evaluation.
struct BatchConfig {
    std::int64_t batchsize = 1;
    std::int64_t eval_batchsize = -1;  // -1: as batchsize
    data::Dynamic dynamic = data::Dynamic::off;
    std::string eval_dynamic;  // empty: as dynamic
    std::int64_t batch_tokens = -1;
    std::int64_t truncate = -1, text_truncate = -1, label_truncate = -1;
    std::int64_t update_freq = 1;
    std::int64_t num_workers = 0;
    std::int64_t logical_shards = -1;  // lanes; -1: world x update_freq
};

// CUDA graphs. automatic: of so many shapes of work as are worth their memory.
enum class GraphChoice { automatic, on, off };

// How several GPUs reduce. automatic: by NCCL where it is there and takes them, else staged.
enum class GpuBackendChoice { automatic, nccl, staged };

enum class PromptFormat { automatic, text, jsonl };
enum class LogFormat { conversations, parlai };

// How contexts are put together, what prompts and replies are, and where a talk is kept.
struct TalkConfig {
    std::int64_t history_size = -1;  // <= 0: every turn
    std::string delimiter = "\n";
    std::string input, output;  // generate; empty: standard input and output
    PromptFormat format = PromptFormat::automatic;
    bool json = false;
    int n_best = 1;
    bool single_turn = false;  // interactive
    std::string outfile;
    LogFormat save_format = LogFormat::conversations;
    std::int64_t self_chats = 1, max_turns = 6;
    std::string seed_messages;  // a file's name
    bool display = true;
};

// What GPUs alone can do.
struct GpuConfig {
    bool allow_shared = false, tf32 = false, autotune = false;
    Fp16Kind fp16 = Fp16Kind::safe;
    GraphChoice graphs = GraphChoice::automatic;
    GpuBackendChoice backend = GpuBackendChoice::automatic;
};

// Everything that a training, evaluating or generating program was asked for. The options' defaults
// are the initial values here.
struct RunConfig {
    std::vector<std::string> data, eval_data;
    std::vector<double> multitask_weights;  // of `data`; empty: alike
    bool stochastic_weights = false;        // by the data sets' sizes
    bool aggregate_micro = false;           // averages of several data sets' metrics
    std::string model_file, init_model, split = "valid", trace_file;
    DeviceChoice device = DeviceChoice::automatic;
    GpuConfig gpu;
    PrecisionChoice precision = PrecisionChoice::automatic;
    bool fp16 = false;  // ParlAI's word for a precision
    model::ModelConfig model;
    std::int64_t n_layers = 2, n_encoder_layers = -1, n_decoder_layers = -1, n_positions = -1;
    bool learned_positions = false, embeddings_scale = true;
    BatchConfig batch;
    train::TrainOptions train;
    bool no_overlap = false;
    bool skip_generation = true;
    bool unigram_baseline = false;
    bool short_final_eval = false;
    std::string metrics = "default";  // of replies
    std::string report_filename, world_logs;
    model::GenerationOptions generation{.max_length = -1};  // reply_options() has the real one
    TalkConfig talk;                                        // generate, interactive, self_chat
    std::int64_t threads = 0;  // of this rank; 0: its share of the host's cores
    bool verbose = false, quiet = false;
    std::int64_t world_size = -1;  // multiprocessing programs; -1: one rank per core
    int max_restarts = 0;          // multiprocessing programs
    std::int64_t rank = -1, master_port = -1;
    std::string master_addr, secret_file;
    comm::CommOptions comm;
    double timeout_s = 300;
    double data_seconds = 3;                          // doctor
    bool preflight = false;                           // doctor
    bool json = false;                                // doctor, plan, ladder
    std::int64_t memory_bytes = -1, vocabulary = -1;  // plan
    std::set<std::string> given;  // long names of the options that the user gave
    std::string lines;            // the same with their values, as a --config file
};

}  // namespace lockstep::launcher
