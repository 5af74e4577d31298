// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/buckets.hpp"

#include <algorithm>

#include "runtime/core/error.hpp"

namespace lockstep::train {
namespace {

std::size_t start_of_last_block(const ParameterTable& table) {
    const auto& all = table.all();
    if (all.empty()) return 0;
    const int last = all.back().block;
    const auto in_last = [last](const Parameter& p) { return p.block == last; };
    return std::find_if(all.begin(), all.end(), in_last)->offset;
}

// Finds where buckets of a padded table end. Everything is a multiple of `unit`.
class SharedBorders {
public:
    explicit SharedBorders(const ParameterTable& table)
        : unit_(static_cast<std::size_t>(table.padded_for()) * grain) {
        const auto& all = table.all();
        for (std::size_t i = 1; i < all.size(); ++i)
            if (all[i].block != all[i - 1].block)
                block_ends_.push_back(all[i].offset / unit_ * unit_);
    }

    // Returns the last end of a block, rounded down, that is at most `limit` elements behind
    // `first`; if there is none, as many elements as the limit allows, but at least one unit.
    std::size_t after(std::size_t first, std::size_t limit) const {
        const auto beyond = std::upper_bound(block_ends_.begin(), block_ends_.end(), first + limit);
        if (beyond != block_ends_.begin() && *(beyond - 1) > first) return *(beyond - 1);
        return first + std::max(unit_, limit / unit_ * unit_);
    }

private:
    std::size_t unit_;
    std::vector<std::size_t> block_ends_;
};

}  // namespace

std::vector<Bucket> plan_buckets(const ParameterTable& table, const ReducerOptions& options) {
    const auto elements = [](std::size_t bytes) {
        return std::max<std::size_t>(1, bytes / sizeof(float));
    };
    const std::size_t size = table.flat_size();
    const std::size_t last_block = start_of_last_block(table);
    const SharedBorders borders(table);
    std::vector<Bucket> buckets;
    std::size_t limit = elements(options.first_bucket_bytes);
    for (std::size_t at = 0; at < last_block; limit = elements(options.bucket_bytes)) {
        const std::size_t end = table.padded_for() == 1 ? at + limit : borders.after(at, limit);
        buckets.push_back({at, std::min(end, last_block) - at});
        at += buckets.back().count;
    }
    if (last_block < size && (last_block > 0 || !table.all().empty()))
        buckets.push_back({last_block, size - last_block});
    return buckets;
}

std::vector<OwnedPart> owned_parts(const std::vector<Bucket>& buckets, int rank, int ranks) {
    const auto all = static_cast<std::size_t>(ranks), own = static_cast<std::size_t>(rank);
    std::vector<OwnedPart> parts;
    std::size_t packed = 0;
    for (const Bucket& bucket : buckets) {
        require(own < all && bucket.count % all == 0, "a bucket does not divide into equal parts");
        const std::size_t count = bucket.count / all;
        parts.push_back({bucket.first + own * count, count, packed});
        packed += count;
    }
    return parts;
}

std::vector<OwnedPart> owned_parts(const ParameterTable& table, const ReducerOptions& options,
                                   int rank) {
    if (table.sharing() == 1) return {{0, table.flat_size(), 0}};
    return owned_parts(plan_buckets(table, options), rank, table.sharing());
}

std::size_t largest(const std::vector<Bucket>& buckets) {
    std::size_t count = 0;
    for (const Bucket& bucket : buckets) count = std::max(count, bucket.count);
    return count;
}

}  // namespace lockstep::train
