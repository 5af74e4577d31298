// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/plan_limits.hpp"

#include <algorithm>

#include "launcher/text/units.hpp"
#include "model/blocks/layout.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher::plan {

namespace {

constexpr std::int64_t max_planned_tokens = std::int64_t{1} << 24;
constexpr double max_buckets = 1 << 20;

}  // namespace

std::int64_t tokens_of_largest(const std::vector<train::BatchShape>& shapes) {
    std::int64_t most = 0;
    for (const train::BatchShape& shape : shapes)
        most = std::max(most, shape.source_total + shape.target_total);
    return most;
}

bool plannable(const std::vector<train::BatchShape>& shapes) {
    return tokens_of_largest(shapes) <= max_planned_tokens;
}

void require_plannable(const std::vector<train::BatchShape>& shapes, const std::string& options) {
    if (plannable(shapes)) return;
    throw Error(ErrorKind::data, "a micro-batch may have " + grouped(tokens_of_largest(shapes)) +
                                     " tokens, more than the " + grouped(max_planned_tokens) +
                                     " that can be planned; give a smaller " + options);
}

void require_countable_buckets(const model::ModelConfig& model, std::size_t bucket_bytes) {
    const auto elements = static_cast<double>(model::parameter_table(model).flat_size());
    if (elements * sizeof(float) / static_cast<double>(bucket_bytes) <= max_buckets) return;
    throw Error(ErrorKind::config,
                "this model would have more than 1,048,576 buckets of gradients, which cannot be "
                "planned; give a larger --bucket-mb or a smaller model");
}

}  // namespace lockstep::launcher::plan
