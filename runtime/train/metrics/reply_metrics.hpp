// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/train/metrics/rouge.hpp"

namespace lockstep::train {

// The names that reports give to metrics of generated replies, ParlAI's.
std::vector<std::string> reply_metric_names();
// Whether a metric of that name needs generated replies.
bool needs_replies(std::string_view metric);

// The metrics of replies that were asked for. Used by one thread at a time.
class ReplyMetrics {
public:
    // `list`: names and "default" (accuracy, bleu-4, f1), "bleu", "rouge", "distinct", "all",
    // separated by commas; rouge-1 and rouge_1 are the same. Throws a config error for another
    // name. Also those of `wanted`, a name of a report, where it needs replies.
    explicit ReplyMetrics(std::string_view list, std::string_view wanted = "");

    // Those that are means over rows, in the order of score()'s values.
    const std::vector<std::string>& means() const noexcept { return means_; }
    // n where interdistinct-n was asked for: different n-grams among those of all replies.
    const std::vector<int>& inter_distinct() const noexcept { return inter_distinct_; }

    // There is at least one reference.
    std::vector<double> score(const NormalText& reply, References references) const;

private:
    std::vector<std::string> means_;
    std::vector<int> inter_distinct_;
    std::optional<RougeScorer> rouge_;
};

}  // namespace lockstep::train
