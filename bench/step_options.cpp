// SPDX-License-Identifier: Apache-2.0
#include "bench/step_options.hpp"

#include <boost/program_options.hpp>
#include <iostream>

#include "launcher/options/memory_options.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::bench {

namespace {

namespace po = boost::program_options;

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::config, what); }

void set_kind(const std::string& name, StepOptions& o) {
    if (name == "seq2seq") return;
    if (name != "gpt2") refuse("--model " + name + ": it is seq2seq or gpt2");
    o.kind = model::Kind::gpt2;
    o.layers = 12, o.d = 768, o.ffn = 3072, o.heads = 12, o.vocabulary = 50304;
    o.batch = 2, o.source = 0, o.target = 512;
}

train::Precision precision_of(const std::string& name) {
    if (name == "fp32") return train::Precision::fp32;
    if (name == "bf16") return train::Precision::bf16;
    if (name == "fp16") return train::Precision::fp16;
    refuse("--dtype " + name + ": it is fp32, bf16 or fp16");
}

launcher::DeviceChoice device_of(const std::string& name) {
    if (name == "auto") return launcher::DeviceChoice::automatic;
    if (name == "cpu") return launcher::DeviceChoice::cpu;
    if (name == "cuda") return launcher::DeviceChoice::cuda;
    refuse("--device " + name + ": it is auto, cpu or cuda");
}

// These options have words as values.
struct Words {
    std::string kind, dtype, device, recompute;
};

po::options_description description(StepOptions& o, Words& words) {
    po::options_description options("bench_train_step [options]: times training steps");
    auto add = options.add_options();
    add("help,h", "this list");
    add("model", po::value(&words.kind)->default_value("seq2seq"), "seq2seq or gpt2");
    add("dtype", po::value(&words.dtype)->default_value("fp32"), "fp32, bf16 or fp16");
    add("device", po::value(&words.device)->default_value("auto"), "auto, cpu or cuda");
    add("layers", po::value(&o.layers), "layers (of each stack)");
    add("d", po::value(&o.d), "embedding size");
    add("ffn", po::value(&o.ffn), "feed-forward size");
    add("heads", po::value(&o.heads), "attention heads");
    add("vocab", po::value(&o.vocabulary), "vocabulary");
    add("batch", po::value(&o.batch), "rows of a micro-batch");
    add("src", po::value(&o.source), "source tokens of a row");
    add("tgt", po::value(&o.target), "target tokens of a row");
    add("lengths", po::value(&o.lengths), "file of `source target` lengths, one row a line");
    add("passes", po::value(&o.passes), "with --lengths: how often all its rows are timed");
    add("warmup-passes", po::value(&o.warmup_passes),
        "with --lengths: how often all its rows are taken before that");
    add("update-freq", po::value(&o.update_freq), "micro-batches of a step");
    add("steps", po::value(&o.steps), "timed steps");
    add("warmup", po::value(&o.warmup), "steps before them");
    add("dropout", po::value(&o.dropout), "dropout, at every place");
    add("threads", po::value(&o.threads), "threads of a rank");
    add("recompute", po::value(&words.recompute)->default_value("none"),
        "none, ffn, layer or layer:N");
    add("ranks", po::value(&o.ranks), "ranks on this machine, started by the program itself");
    add("zero", po::value(&o.zero), "what the ranks share: stage 0, 1, 2 or 3 of ZeRO");
    add("compile", po::bool_switch(&o.compile), "ignored: what PyTorch compiles is compiled here");
    add("ceiling", "measure only the rate of a large product");
    add("no-ceiling", "measure all but that, for a profile of the steps");
    add("trace", po::value(&o.trace), "write a Perfetto trace of the steps");
    return options;
}

}  // namespace

std::optional<StepOptions> parse_step_options(const std::vector<std::string>& arguments) {
    StepOptions o;
    Words words;
    const auto options = description(o, words);
    try {
        po::variables_map given;
        po::store(po::command_line_parser(arguments).options(options).run(), given);
        if (given.count("help") > 0) {
            std::cout << options;
            return std::nullopt;
        }
        set_kind(given["model"].as<std::string>(), o);  // sets defaults that later options override
        po::notify(given);
        const bool ceiling = given.count("ceiling") > 0, none = given.count("no-ceiling") > 0;
        if (ceiling && none) refuse("--ceiling and --no-ceiling: give one of them");
        if (ceiling) o.task = StepOptions::Task::ceiling;
        if (none) o.task = StepOptions::Task::only_steps;
    } catch (const po::error& error) {
        refuse(error.what());
    }
    o.precision = precision_of(words.dtype);
    o.device = device_of(words.device);
    const auto recompute = launcher::parse_recompute(words.recompute);
    if (!recompute) refuse("--recompute auto: name a level, so that times can be compared");
    o.recompute = *recompute;
    if (o.steps < 1 || o.passes < 1 || o.warmup < 0 || o.warmup_passes < 0 || o.batch < 1 ||
        o.update_freq < 1 || o.ranks < 1 || o.zero < 0 || o.zero > 3)
        refuse(
            "--steps, --passes, --batch, --update-freq and --ranks are at least 1, --warmup and "
            "--warmup-passes 0; --zero is 0, 1, 2 or 3");
    return o;
}

model::ModelConfig model_config(const StepOptions& options, std::int64_t longest) {
    model::ModelConfig config;
    if (options.kind == model::Kind::gpt2) config = model::gpt2_config();
    config.positions = model::Positions::learned;
    config.embedding_scale = model::EmbeddingScale::none;
    config.vocabulary = options.vocabulary;
    config.embedding_size = options.d;
    config.ffn_size = options.ffn;
    config.heads = options.heads;
    config.encoder_layers = options.kind == model::Kind::gpt2 ? 0 : options.layers;
    config.decoder_layers = options.layers;
    config.n_positions = longest;
    config.dropout = config.attention_dropout = config.relu_dropout = options.dropout;
    return config;
}

}  // namespace lockstep::bench
