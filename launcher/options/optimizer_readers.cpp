// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/optimizer_readers.hpp"

#include <algorithm>
#include <array>

namespace lockstep::launcher {

namespace {

using train::OptimizerKind;

struct OptimizerReads {
    OptimizerKind kind;
    std::array<std::string_view, 6> options;  // the last ones may be empty
};

// A new optimizer has its row here.
constexpr std::array rows{
    OptimizerReads{OptimizerKind::sgd, {"momentum", "nesterov"}},
    OptimizerReads{OptimizerKind::adam, {"betas", "adam-eps", "amsgrad", "moments"}},
    OptimizerReads{OptimizerKind::adamw, {"betas", "adam-eps", "amsgrad", "moments"}},
    OptimizerReads{OptimizerKind::adafactor,
                   {"betas", "adafactor-eps", "adafactor-scale-parameter"}},
    OptimizerReads{OptimizerKind::lion, {"betas"}},
    OptimizerReads{
        OptimizerKind::muon,
        {"betas", "adam-eps", "nesterov", "muon-learningrate", "muon-momentum", "muon-adjust-lr"}}};

}  // namespace

std::vector<std::string> options_of_some_optimizers() {
    std::vector<std::string> names;
    for (const OptimizerReads& row : rows)
        for (const std::string_view option : row.options)
            if (!option.empty() && std::ranges::find(names, option) == names.end())
                names.emplace_back(option);
    return names;
}

bool reads(OptimizerKind kind, std::string_view option) {
    const auto row = std::ranges::find(rows, kind, &OptimizerReads::kind);
    return row != rows.end() && std::ranges::find(row->options, option) != row->options.end();
}

std::string optimizers_text(const std::function<bool(OptimizerKind)>& is_one,
                            const std::string& last) {
    std::vector<std::string> words;
    for (const OptimizerReads& row : rows)
        if (is_one(row.kind)) words.emplace_back(name(row.kind));
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) text += i + 1 == words.size() ? " " + last + " " : ", ";
        text += words[i];
    }
    return text;
}

}  // namespace lockstep::launcher
