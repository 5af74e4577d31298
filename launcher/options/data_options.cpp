// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "launcher/options/tables.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* weights_name = "multitask-weights";

// ParlAI separates the numbers by commas, Lockstep takes a list of words. This function accepts
// both, also mixed.
std::vector<double> numbers_of(const std::vector<std::string>& words) {
    std::vector<double> numbers;
    for (const std::string& word : words) {
        std::istringstream in(word);
        for (std::string number; std::getline(in, number, ',');) {
            const double weight = parse_number(weights_name, number);
            if (weight < 0) OptionTable::reject(weights_name, number, "a number of 0 or more");
            numbers.push_back(weight);
        }
    }
    return numbers;
}

std::string weights_text(const RunConfig& config) {
    if (config.stochastic_weights) return "stochastic";
    std::string text;
    for (const double weight : config.multitask_weights)
        text += (text.empty() ? "" : " ") + number_word(weight);
    return text.empty() ? "alike" : text;
}

}  // namespace

OptionTable data_table(RunConfig& config) {
    OptionTable table("Several data sets");
    table.add(std::string(weights_name) + ",mtw", Arity::many, "W...",
              "how much of an epoch each data set has: a number for each, or stochastic: by their "
              "sizes",
              weights_text(config), [&config](const std::vector<std::string>& words) {
                  config.stochastic_weights = words == std::vector<std::string>{"stochastic"};
                  if (!config.stochastic_weights) config.multitask_weights = numbers_of(words);
              });
    table
        .texts("eval-data,evaltask,et", config.eval_data, "DIR...",
               "data sets of the validations (default: those of --data)")
        .with(Trait::paths);
    return table;
}

}  // namespace lockstep::launcher
