// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/train/metrics/rouge.hpp"

namespace lockstep::train {

// Returns the report names of the metrics of generated replies, which are ParlAI's.
std::vector<std::string> reply_metric_names();
// Tells whether the metric of that name needs generated replies.
bool needs_replies(std::string_view metric);

// Calculates the requested metrics of replies. One thread at a time may use it.
class ReplyMetrics {
public:
    // `list` holds names, "default" (accuracy, bleu-4, f1), "bleu", "rouge", "distinct" or "all",
    // separated by commas; rouge-1 and rouge_1 are the same. Throws kind config for any other name.
    // `wanted`, a name of a report, is added if it needs replies.
    explicit ReplyMetrics(std::string_view list, std::string_view wanted = "");

    // Returns the names of metrics that are means over rows, in the order of score()'s values.
    const std::vector<std::string>& means() const noexcept { return means_; }
    // Returns n for each requested interdistinct-n: the share of different n-grams among those of
    // all replies.
    const std::vector<int>& inter_distinct() const noexcept { return inter_distinct_; }

    // Requires at least one reference.
    std::vector<double> score(const NormalText& reply, References references) const;

private:
    std::vector<std::string> means_;
    std::vector<int> inter_distinct_;
    std::optional<RougeScorer> rouge_;
};

}  // namespace lockstep::train
