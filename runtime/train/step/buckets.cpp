// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/buckets.hpp"

#include <algorithm>

namespace lockstep::train {
namespace {

std::size_t start_of_last_block(const ParameterTable& table) {
    const auto& all = table.all();
    if (all.empty()) return 0;
    const int last = all.back().block;
    const auto in_last = [last](const Parameter& p) { return p.block == last; };
    return std::find_if(all.begin(), all.end(), in_last)->offset;
}

}  // namespace

std::vector<Bucket> plan_buckets(const ParameterTable& table, const ReducerOptions& options) {
    const auto elements = [](std::size_t bytes) {
        return std::max<std::size_t>(1, bytes / sizeof(float));
    };
    const std::size_t size = table.flat_size();
    const std::size_t last_block = start_of_last_block(table);
    std::vector<Bucket> buckets;
    std::size_t limit = elements(options.first_bucket_bytes);
    for (std::size_t at = 0; at < last_block; limit = elements(options.bucket_bytes)) {
        buckets.push_back({at, std::min(limit, last_block - at)});
        at += buckets.back().count;
    }
    if (last_block < size && (last_block > 0 || !table.all().empty()))
        buckets.push_back({last_block, size - last_block});
    return buckets;
}

std::size_t largest(const std::vector<Bucket>& buckets) {
    std::size_t count = 0;
    for (const Bucket& bucket : buckets) count = std::max(count, bucket.count);
    return count;
}

}  // namespace lockstep::train
