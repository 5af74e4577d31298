// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/reduction/weight_labels.hpp"

#include <string_view>

namespace lockstep::train {

namespace {

// Returns the name of the layer that a parameter belongs to, or its own without the last word.
std::string block_name(std::string_view parameter) {
    constexpr std::string_view layers = ".layers.";
    const auto layer = parameter.find(layers);
    const auto end = layer == std::string_view::npos ? parameter.rfind('.')
                                                     : parameter.find('.', layer + layers.size());
    return std::string(parameter.substr(0, end));
}

std::string blocks_of(const ParameterTable& table, const Bucket& bucket) {
    std::string first, last;
    for (const Parameter& parameter : table.all()) {
        const bool before = parameter.offset + parameter.count <= bucket.first;
        if (before || parameter.offset >= bucket.first + bucket.count) continue;
        last = block_name(parameter.name);
        if (first.empty()) first = last;
    }
    return first == last ? first : first + " to " + last;
}

}  // namespace

std::vector<std::string> weight_labels(const ParameterTable& table,
                                       const std::vector<Bucket>& buckets) {
    std::vector<std::string> labels;
    for (const Bucket& bucket : buckets)
        labels.push_back(weights_label + std::to_string(labels.size()) + " of " +
                         blocks_of(table, bucket));
    return labels;
}

}  // namespace lockstep::train
