// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/settings.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "launcher/command_line/command_line.hpp"

namespace lockstep::launcher::ladder {

namespace {

// These options are written anew: the rungs set them, or they fit only some of the rungs.
constexpr std::array<std::string_view, 14> rungs_options{"batchsize",
                                                         "eval-batchsize",
                                                         "skip-generation",
                                                         "dynamic-batching",
                                                         "precision",
                                                         "fp16",
                                                         "fp16-impl",
                                                         "num-workers",
                                                         "model-file",
                                                         "max-train-time",
                                                         "num-epochs",
                                                         "distributed-world-size",
                                                         "json",
                                                         "validation-max-exs"};

const char* word_of(data::Dynamic dynamic) {
    return dynamic == data::Dynamic::full ? "full" : "batchsort";
}

}  // namespace

std::vector<std::string> command_of(const Settings& settings, const RunConfig& config) {
    const bool several = settings.ranks > 1;
    std::vector<std::string> words{several ? "multiprocessing_train" : "train"};
    const auto add = [&words](const std::string& name, const std::string& value) {
        words.insert(words.end(), {"--" + name, value});
    };
    std::string last;  // the values of a list follow each other
    for (const auto& [name, value] : dumped_options(config.lines)) {
        if (std::ranges::find(rungs_options, name) != rungs_options.end()) continue;
        if (name == last)
            words.push_back(value);
        else
            add(name, value);
        last = name;
    }
    add("batchsize", std::to_string(settings.batchsize));
    if (settings.eval_batchsize > 0) add("eval-batchsize", std::to_string(settings.eval_batchsize));
    if (settings.generation == Generation::on) add("skip-generation", "false");
    if (settings.dynamic != data::Dynamic::off) add("dynamic-batching", word_of(settings.dynamic));
    add("precision", train::name(settings.precision));
    if (settings.precision == train::Precision::fp16 && config.gpu.fp16 == Fp16Kind::mem_efficient)
        add("fp16-impl", "mem_efficient");
    if (settings.num_workers > 0) add("num-workers", std::to_string(settings.num_workers));
    if (several) add("distributed-world-size", std::to_string(settings.ranks));
    if (settings.stage > 0) add("zero", std::to_string(settings.stage));
    return words;
}

}  // namespace lockstep::launcher::ladder
