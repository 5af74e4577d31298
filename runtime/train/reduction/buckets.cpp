// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/reduction/buckets.hpp"

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

// Returns where blocks begin, and the end of the flat buffer.
std::vector<std::size_t> block_borders(const ParameterTable& table) {
    std::vector<std::size_t> borders;
    int block = -1;
    for (const Parameter& parameter : table.all()) {
        if (parameter.block != block) borders.push_back(parameter.offset);
        block = parameter.block;
    }
    borders.push_back(table.flat_size());
    return borders;
}

// Finds where buckets of a padded table end. Everything is a multiple of `unit`.
class SharedBorders {
public:
    explicit SharedBorders(const ParameterTable& table)
        : unit_(static_cast<std::size_t>(table.padded_for()) * grain),
          borders_(block_borders(table)) {}

    // Returns the end of as many whole blocks as fit `limit` elements behind `first`. If not one
    // fits, or `first` is inside of a block, it returns the end of a part of that block.
    std::size_t after(std::size_t first, std::size_t limit) const {
        const auto next = std::ranges::upper_bound(borders_, first);
        const bool begins_block = *(next - 1) == first;
        if (*next - first > limit) return first + std::max(unit_, limit / unit_ * unit_);
        if (!begins_block) return *next;
        return *(std::ranges::upper_bound(borders_, first + limit) - 1);
    }

private:
    std::size_t unit_;
    std::vector<std::size_t> borders_;
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

std::vector<Segment> plan_segments(const ParameterTable& table, const ReducerOptions& options) {
    std::vector<Segment> segments;
    if (table.stage() < 2) return segments;
    const std::vector<std::size_t> borders = block_borders(table);
    std::size_t first = 0;
    for (const Bucket& bucket : plan_buckets(table, options)) {
        const std::size_t end = bucket.first + bucket.count;
        if (!std::ranges::binary_search(borders, end)) continue;
        segments.push_back({first, end - first});
        first = end;
    }
    return segments;
}

std::vector<Segment> packed_gaps(const ParameterTable& table, const std::vector<OwnedPart>& owned) {
    const auto& all = table.all();
    std::vector<Segment> gaps;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t begin = all[i].offset + all[i].count;
        const std::size_t end = i + 1 < all.size() ? all[i + 1].offset : table.flat_size();
        for (const OwnedPart& part : owned) {
            const std::size_t first = std::max(begin, part.first);
            const std::size_t behind = std::min(end, part.first + part.count);
            if (first < behind) gaps.push_back({part.packed + first - part.first, behind - first});
        }
    }
    return gaps;
}

std::size_t largest(const std::vector<Bucket>& buckets) {
    std::size_t count = 0;
    for (const Bucket& bucket : buckets) count = std::max(count, bucket.count);
    return count;
}

}  // namespace lockstep::train
