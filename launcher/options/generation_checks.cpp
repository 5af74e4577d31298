// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/generation_checks.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "launcher/options/run_checks.hpp"

namespace lockstep::launcher {

namespace {

using model::Inference;

const char* name(Inference inference) noexcept {
    switch (inference) {
        case Inference::greedy:
            return "greedy";
        case Inference::beam:
            return "beam";
        case Inference::topk:
            return "topk";
        case Inference::nucleus:
            break;
    }
    return "nucleus";
}

// Names the ways of inference that read an option, the one first that its user most likely means.
struct Readers {
    const char* option;
    std::vector<Inference> inferences;
};

// These are the options that another --inference ignores. Those of n-grams count for each of them.
std::vector<Readers> readers() {
    return {{"topk", {Inference::topk}},
            {"topp", {Inference::nucleus}},
            {"min-p", {Inference::nucleus, Inference::topk}},
            {"temperature", {Inference::nucleus, Inference::topk, Inference::beam}},
            {"beam-min-length", {Inference::beam, Inference::nucleus, Inference::topk}}};
}

// At these values an option asks for what greedy search does anyway.
bool asks_nothing(const std::string& option, const model::GenerationOptions& generation) {
    return (option == "temperature" && generation.temperature == 1) ||
           (option == "min-p" && generation.min_p == 0) ||
           (option == "beam-min-length" && generation.beam_min_length <= 1);
}

}  // namespace

void check_generation(const RunConfig& config) {
    const model::GenerationOptions& generation = config.generation;
    for (const auto& [option, inferences] : readers()) {
        const bool read = std::ranges::find(inferences, generation.inference) != inferences.end();
        if (read || !config.given.contains(option) || asks_nothing(option, generation)) continue;
        std::string ways;
        for (const Inference inference : inferences)
            ways += (ways.empty()                     ? ""
                     : inference == inferences.back() ? " or "
                                                      : ", ") +
                    std::string(name(inference));
        config_error("--" + std::string(option) + " has no effect: it is for --inference " + ways +
                     ", and replies are chosen by --inference " + name(generation.inference) +
                     ": add --inference " + name(inferences.front()) + ", or leave it out");
    }
}

}  // namespace lockstep::launcher
