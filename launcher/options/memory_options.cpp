// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/memory_options.hpp"

#include <cstdlib>

#include "launcher/options/optimizer_readers.hpp"
#include "launcher/options/tables.hpp"
#include "model/pipeline_division.hpp"
#include "model/tensor_division.hpp"

namespace lockstep::launcher {

namespace {

using model::Recompute;
using model::RecomputePlan;

constexpr const char* option = "recompute";

std::string word_of(const std::optional<RecomputePlan>& plan) {
    return plan ? model::name(*plan) : "auto";
}

RecomputePlan first_layers(const std::string& word, const std::string& count) {
    const bool digits =
        !count.empty() && count.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) OptionTable::reject(option, word, "layer:N with a whole number N");
    if (count.find_first_not_of('0') == std::string::npos)
        OptionTable::reject(option, word, "allowed: give layer:1 or more, or none");
    constexpr std::size_t max_digits = 9;  // more layers than any model has
    const std::string most(max_digits, '9');
    return {Recompute::layer, std::stoll(count.size() > max_digits ? most : count)};
}

}  // namespace

std::optional<RecomputePlan> parse_recompute(const std::string& word) {
    const std::string layers = "layer:";
    if (word == "auto") return std::nullopt;
    if (word == "none") return RecomputePlan{};
    if (word == "ffn") return RecomputePlan{Recompute::ffn};
    if (word == "layer") return RecomputePlan{Recompute::layer};
    if (word.starts_with(layers)) return first_layers(word, word.substr(layers.size()));
    OptionTable::reject(option, word, "one of none|ffn|layer|layer:N|auto");
}

bool can_code_moments(const train::OptimizerOptions& options) {
    return reads(options.kind, "moments") && !options.amsgrad;
}

void check_moments(const train::OptimizerOptions& options) {
    if (options.moments == train::Moments::fp32 || can_code_moments(options)) return;
    throw Error(ErrorKind::config,
                "--moments int8 is for --optimizer " +
                    optimizers_text([](auto kind) { return reads(kind, "moments"); }, "and") +
                    (options.amsgrad ? " without --amsgrad; leave one of the two out"
                                     : "; leave it out, or choose one of them"));
}

void check_muon(const RunConfig& config) {
    if (config.train.optimizer.kind != train::OptimizerKind::muon) return;
    const auto refuse = [](const std::string& why) {
        throw Error(ErrorKind::config, "--optimizer muon: " + why);
    };
    if (config.device == DeviceChoice::cuda)
        refuse("only CPUs update with it; give --device cpu, or --optimizer adamw");
    if (config.lora.rank > 0 || !config.lora.adapter.empty())
        refuse("it is not for adapters; give --optimizer adamw, or leave --lora-r and --lora out");
}

void check_offload(const RunConfig& config) {
    const train::OptimizerOptions& optimizer = config.train.optimizer;
    const bool on_disk = !optimizer.offload_dir.empty();
    if (on_disk && optimizer.offload == train::Offload::none)
        throw Error(ErrorKind::config,
                    "--offload-dir: nothing is offloaded there; add --offload optimizer, or leave "
                    "--offload-dir out");
    if (optimizer.offload == train::Offload::none) return;
    const auto refuse = [](const std::string& why) {
        throw Error(ErrorKind::config, "--offload optimizer: " + why);
    };
    if (train::updates_whole_matrices(optimizer.kind))
        refuse(
            "the host does not update with " + std::string(name(optimizer.kind)) +
            "; give --optimizer " +
            optimizers_text([](auto kind) { return !train::updates_whole_matrices(kind); }, "or") +
            ", or leave it out");
    if (!train::can_offload(optimizer))
        refuse("the moments that are offloaded are in fp32; give --moments fp32 or --offload none");
    if (config.gpu.fp16 == Fp16Kind::mem_efficient &&
        (config.fp16 || config.precision == PrecisionChoice::fp16))
        refuse(
            "--fp16-impl mem_efficient keeps no fp32 weights, which the host updates; leave one "
            "of the two out");
    if (config.device == DeviceChoice::cpu && !on_disk)
        refuse(
            "it is for GPUs, and this computes on the CPU; give --offload none, or --offload-dir "
            "DIR");
    if (config.device == DeviceChoice::cuda && on_disk)
        refuse("--offload-dir is for CPUs; leave it out, or give --device cpu");
}

int zero_stage(const RunConfig& config) {
    if (config.ddp_backend == "zero2") return 2;
    return config.ddp_backend == "zero3" ? 3 : config.train.zero.stage;
}

void check_zero(const RunConfig& config) {
    train::ZeroOptions zero = config.train.zero;
    zero.stage = zero_stage(config);
    const std::string given = "--zero " + std::to_string(zero.stage);
    const int by_word = config.ddp_backend == "ddp" ? 0 : zero.stage;
    if (config.given.contains("zero") && config.given.contains("ddp-backend") &&
        config.train.zero.stage != by_word)
        throw Error(ErrorKind::config, "--zero " + std::to_string(config.train.zero.stage) +
                                           " contradicts --ddp-backend " + config.ddp_backend +
                                           ", which is --zero " + std::to_string(by_word) +
                                           "; leave one out");
    const bool chosen_later = config.fit == Fit::automatic && !config.given.contains("zero") &&
                              !config.given.contains("ddp-backend");
    if (zero.stage == 0 && zero.ranks > 0 && !chosen_later)
        throw Error(ErrorKind::config,
                    "--zero-ranks: ranks share something only with --zero 1, 2 or 3; add it, or "
                    "leave --zero-ranks out");
    const train::OptimizerKind kind = config.train.optimizer.kind;
    const int highest = train::highest_zero_stage(kind);
    if (zero.stage > highest)
        throw Error(
            ErrorKind::config,
            given + ": " + name(kind) + " updates whole matrices, " +
                (highest == 0 ? "which ranks cannot share" : "whose gradients are then gone") +
                "; give --zero " + std::to_string(highest) + " or another --optimizer");
    if (zero.stage > 1 && config.deterministic)
        throw Error(ErrorKind::config,
                    given +
                        ": --deterministic adds whole gradients, which no rank has then; give "
                        "--zero 1 or leave one of the two out");
    if (zero.stage == 3 && config.precision == PrecisionChoice::fp16 &&
        config.gpu.fp16 == Fp16Kind::mem_efficient)
        throw Error(ErrorKind::config,
                    given +
                        ": --fp16-impl mem_efficient keeps no fp32 weights to share; give --zero 2 "
                        "or leave --fp16-impl out");
}

void check_tensor(const RunConfig& config) {
    const int tensor = config.train.tensor;
    if (tensor == 1) return;
    const std::string given = "--tensor " + std::to_string(tensor);
    const auto refuse = [&](const std::string& why) {
        throw Error(ErrorKind::config, given + ": " + why);
    };
    constexpr int most = 16;  // the tokens of a micro-batch are a multiple of it
    if (tensor > most)
        refuse("at most " + std::to_string(most) + " ranks compute a layer together; give 16");
    if (config.device == DeviceChoice::cuda)
        refuse("only CPUs divide layers; give --tensor 1, or --device cpu");
    if (config.fp16 || config.precision == PrecisionChoice::fp16)
        refuse("ranks do not add rows in fp16; give --tensor 1, or --precision bf16");
    if (config.deterministic)
        refuse(
            "--deterministic does not hold, because the order of sums depends on the tensor ranks; "
            "give --tensor 1, or leave --deterministic out");
    if (train::updates_whole_matrices(config.train.optimizer.kind))
        refuse(std::string(name(config.train.optimizer.kind)) +
               " updates whole matrices, which no rank has; give --tensor 1, or another "
               "--optimizer");
    if (config.train.optimizer.moments == train::Moments::int8)
        refuse(
            "moments in int8 have cells of whole parameters; give --tensor 1, or --moments fp32");
    if (zero_stage(config) == 3 && !config.skip_generation)
        refuse(
            "validations with replies need whole weights, which tensor ranks do not gather at "
            "--zero 3; give --zero 2, or --skip-generation true");
    if (config.lora.rank > 0 || !config.lora.adapter.empty())
        refuse("adapters are not divided; give --tensor 1, or leave --lora-r and --lora out");
}

void check_pipeline(const RunConfig& config) {
    const int stages = config.train.pipeline;
    if (stages == 1) return;
    const auto refuse = [&](const std::string& why) {
        throw Error(ErrorKind::config, "--pipeline " + std::to_string(stages) + ": " + why);
    };
    const std::string other = "; give --pipeline 1, or ";
    if (config.train.tensor > 1)
        refuse("stages have no tensor ranks; give --pipeline 1, or --tensor 1");
    if (zero_stage(config) > 1)
        refuse(
            "the ranks of a stage share the optimizer's state alone, because others would come "
            "and go with each micro-batch; give --zero 1");
    if (config.device == DeviceChoice::cuda)
        refuse("only CPUs have stages" + other + "--device cpu");
    if (config.fp16 || config.precision == PrecisionChoice::fp16)
        refuse("stages do not compute in fp16" + other + "--precision bf16");
    if (config.deterministic)
        refuse(
            "--deterministic keeps the gradients of single lanes, and stages add them as they "
            "come" +
            other + "leave --deterministic out");
    if (config.train.optimizer.kind == train::OptimizerKind::adafactor)
        refuse("checkpoints of stages have no state of adafactor" + other + "another --optimizer");
    if (config.train.optimizer.moments == train::Moments::int8)
        refuse("checkpoints of stages have no moments in int8" + other + "--moments fp32");
    if (config.lora.rank > 0 || !config.lora.adapter.empty())
        refuse("adapters have no stages" + other + "leave --lora-r and --lora out");
}

void check_pipeline_ranks(const RunConfig& config, const model::ModelConfig& model, int ranks) {
    const int stages = config.train.pipeline;
    if (stages == 1) return;
    model::require_stages(model, stages);
    if (ranks % stages == 0) return;
    throw Error(ErrorKind::config,
                "--pipeline " + std::to_string(stages) + ": does not divide the " +
                    std::to_string(ranks) + (ranks == 1 ? " rank; give " : " ranks; give ") +
                    std::to_string(model::nearest_stages(model, stages, ranks)) + ", or start " +
                    std::to_string((ranks / stages + 1) * stages) + " ranks");
}

void check_tensor_ranks(const RunConfig& config, const model::ModelConfig& model, int ranks) {
    const int tensor = config.train.tensor;
    if (tensor == 1) return;
    model::require_divisible(model, tensor);
    if (ranks % tensor == 0) return;
    throw Error(ErrorKind::config,
                "--tensor " + std::to_string(tensor) + ": does not divide the " +
                    std::to_string(ranks) + (ranks == 1 ? " rank; give " : " ranks; give ") +
                    std::to_string(model::nearest_tensor(model, tensor, ranks)) + ", or start " +
                    std::to_string((ranks / tensor + 1) * tensor) + " ranks");
}

void check_zero_ranks(const train::ZeroOptions& options, int ranks) {
    const int sharing = train::sharing_ranks(options, ranks);
    if (ranks % sharing == 0) return;
    int nearest = 1;
    for (int divisor = 1; divisor <= ranks; ++divisor)
        if (ranks % divisor == 0 && std::abs(divisor - sharing) <= std::abs(nearest - sharing))
            nearest = divisor;
    throw Error(ErrorKind::config, "--zero-ranks " + std::to_string(sharing) +
                                       ": does not divide the " + std::to_string(ranks) +
                                       " ranks; give " + std::to_string(nearest));
}

OptionTable memory_table(RunConfig& config) {
    OptionTable table("Memory");
    table
        .add(option, Arity::one, "none|ffn|layer[:N]|auto",
             "what backward calculates again instead of keeping it; the results are the same. "
             "ffn: the inside of feed-forward blocks; layer: that of layers (N: of the first N of "
             "each stack); auto: the least that fits",
             word_of(config.recompute),
             [&config](const auto& given) { config.recompute = parse_recompute(given.front()); })
        .in_place_of({"checkpoint-activations"});
    table
        .flag("checkpoint-activations", config.checkpoint_activations,
              "the same as --recompute layer")
        .in_place_of({"recompute"});
    table
        .choice<int>(
            "zero", config.train.zero.stage, {{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}},
            "what ranks share; the results are the same. 1: each keeps and updates a part of the "
            "optimizer's state and of the fp32 weights of 16-bit precisions; 2: and a part of the "
            "gradients; 3: and of the weights, which come when they are needed")
        .in_place_of({"ddp-backend"});
    table
        .choice<train::Offload>(
            "offload", config.train.optimizer.offload,
            {{"none", train::Offload::none}, {"optimizer", train::Offload::optimizer}},
            "optimizer: the moments and fp32 weights of a GPU's run lie in the host's memory and "
            "are updated there, which frees 12 of 18 bytes a parameter; the results are the same")
        .in_place_of({"offload-dir"});
    table
        .text("offload-dir", config.train.optimizer.offload_dir, "DIR",
              "with --offload optimizer on CPUs: the moments, and in bf16 the fp32 weights, lie in "
              "a file there, best on an NVMe disk of the rank's host; the results are the same")
        .on_each_rank("hosts have disks of their own")
        .with(Trait::paths);
    table
        .integer("zero-ranks", config.train.zero.ranks,
                 "ranks that share, of which each group is a replica (0: all)", 0)
        .with(Trait::launch);
    table
        .integer("tensor", config.train.tensor,
                 "neighbouring ranks that compute each layer together: each has some of the heads "
                 "and feed-forward columns, and they read the same rows",
                 1)
        .with(Trait::launch);
    table
        .integer("pipeline", config.train.pipeline,
                 "stages of layers, through which micro-batches (--update-freq) go one after the "
                 "other: ranks of one stage are neighbours, and those that have all layers "
                 "together read the same rows",
                 1)
        .with(Trait::launch);
    table
        .add("ddp-backend", Arity::one, "ddp|zero2|zero3", "ParlAI's words for --zero 0, 2 and 3",
             config.ddp_backend,
             [&config](const auto& given) {
                 const std::string& word = given.front();
                 if (word != "ddp" && word != "zero2" && word != "zero3")
                     OptionTable::reject("ddp-backend", word, "one of ddp|zero2|zero3");
                 config.ddp_backend = word;
             })
        .in_place_of({"zero"});
    return table;
}

}  // namespace lockstep::launcher
